//! The value of an expression at one moment.

use std::borrow::Cow;
use std::net::IpAddr;

use super::tree::{Expression, Glob, Template, Test, Word};
use crate::config::pattern::{Groups, substitute};

/// What the names in an expression stand for now.
pub trait Facts {
    /// `%{NAME}`, in capitals; `None` counts as empty.
    fn variable(&self, name: &str) -> Option<Cow<'_, [u8]>>;

    /// A function that the vocabulary knows, in lower case; `None` counts as empty.
    fn function(&self, name: &str, argument: &[u8]) -> Option<Cow<'_, [u8]>>;

    /// A test that the vocabulary knows.
    fn test(&self, _letter: u8, _word: &[u8]) -> bool {
        false
    }
}

/// The expression has no value: what depends on it must take the safe way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A regular expression ran too long.
    #[error("the regular expression /{0}/ needed too many steps")]
    TooManySteps(String),
    /// A value became too long.
    #[error("a value became longer than {LONGEST} bytes")]
    TooLong,
}

/// No value becomes longer.
const LONGEST: usize = 16 << 20;

impl Expression {
    /// Whether it is true.
    ///
    /// # Errors
    /// [`EvalError`]
    pub fn holds(&self, facts: &dyn Facts) -> Result<bool, EvalError> {
        Evaluator::new(facts).test(&self.test)
    }
}

impl Template {
    /// Its text.
    ///
    /// # Errors
    /// [`EvalError`]
    pub fn value(&self, facts: &dyn Facts) -> Result<Vec<u8>, EvalError> {
        let value = Evaluator::new(facts).word(&self.word)?;
        Ok(value.into_owned())
    }
}

struct Evaluator<'f> {
    facts: &'f dyn Facts,
    /// The subject and groups of the last regular expression that matched.
    matched: Option<(Vec<u8>, Groups)>,
}

impl<'f> Evaluator<'f> {
    fn new(facts: &'f dyn Facts) -> Self {
        Evaluator {
            facts,
            matched: None,
        }
    }

    fn test(&mut self, test: &Test) -> Result<bool, EvalError> {
        Ok(match test {
            Test::Constant(value) => *value,
            Test::Not(test) => !self.test(test)?,
            Test::And(a, b) => self.test(a)? && self.test(b)?,
            Test::Or(a, b) => self.test(a)? || self.test(b)?,
            Test::Compare(a, how, b) => {
                let (a, b) = (self.word(a)?, self.word(b)?);
                let order = match how.numeric {
                    true => number(&a).cmp(&number(&b)),
                    false => a.cmp(&b),
                };
                how.relation.holds(order)
            }
            Test::Match {
                word,
                pattern,
                negated,
            } => {
                let subject = self.word(word)?.into_owned();
                let groups = pattern
                    .groups(&subject)
                    .map_err(|_| EvalError::TooManySteps(pattern.text().into()))?;
                let found = groups.is_some();
                if let Some(groups) = groups {
                    self.matched = Some((subject, groups));
                }
                found != *negated
            }
            Test::In(word, list) => {
                let word = self.word(word)?.into_owned();
                for other in list {
                    if *self.word(other)? == *word {
                        return Ok(true);
                    }
                }
                false
            }
            Test::Glob(word, how, pattern) => {
                let word = self.word(word)?.into_owned();
                let pattern = self.word(pattern)?;
                like(&pattern, &word, *how)
            }
            Test::IpMatch(word, network) => {
                let word = self.word(word)?;
                std::str::from_utf8(&word)
                    .ok()
                    .and_then(|t| t.parse::<IpAddr>().ok())
                    .is_some_and(|ip| network.contains(&ip))
            }
            Test::Unary(letter, word) => {
                let word = self.word(word)?;
                match letter {
                    b'n' => !word.is_empty(),
                    b'z' => word.is_empty(),
                    b'T' => is_true(&word),
                    letter => self.facts.test(*letter, &word),
                }
            }
        })
    }

    fn word<'w>(&mut self, word: &'w Word) -> Result<Cow<'w, [u8]>, EvalError>
    where
        'f: 'w,
    {
        let value = match word {
            Word::Text(text) => Cow::Borrowed(text.as_slice()),
            Word::Variable(name) => text(self.facts.variable(name)),
            Word::Group(n) => Cow::Owned(self.group(*n)),
            Word::Pure(function, argument) => {
                let argument = self.word(argument)?;
                text(function.of(&argument).map(Cow::Owned))
            }
            Word::Ask(name, argument) => {
                let argument = self.word(argument)?;
                text(self.facts.function(name, &argument))
            }
            Word::Join(words) => {
                let mut out = Vec::new();
                for word in words {
                    out.extend_from_slice(&self.word(word)?);
                }
                Cow::Owned(out)
            }
            Word::Replace {
                pattern,
                with,
                all,
                word,
            } => {
                let subject = self.word(word)?;
                let too_many = |_| EvalError::TooManySteps(pattern.text().into());
                let mut out = Vec::new();
                let mut rest = &*subject;
                while let Some(groups) = pattern.groups(rest).map_err(too_many)? {
                    let (from, to) = groups[0].unwrap_or((0, 0));
                    out.extend_from_slice(&rest[..from]);
                    out.extend_from_slice(&substitute(with, rest, &groups));
                    if from == to {
                        // An empty match: one byte on, or it would be found for ever.
                        out.extend(rest.get(to));
                    }
                    let next = if from == to { to + 1 } else { to };
                    rest = rest.get(next..).unwrap_or(&[]);
                    if !all || rest.is_empty() {
                        break;
                    }
                }
                out.extend_from_slice(rest);
                Cow::Owned(out)
            }
        };
        match value.len() > LONGEST {
            true => Err(EvalError::TooLong),
            false => Ok(value),
        }
    }

    fn group(&self, n: u8) -> Vec<u8> {
        let Some((subject, groups)) = &self.matched else {
            return Vec::new();
        };
        let range = groups.get(usize::from(n)).copied().flatten();
        range.map_or_else(Vec::new, |(from, to)| subject[from..to].to_vec())
    }
}

/// Values are C strings in httpd: what stands behind a NUL is not seen.
fn text(value: Option<Cow<'_, [u8]>>) -> Cow<'_, [u8]> {
    let value = value.unwrap_or_default();
    match memchr::memchr(0, &value) {
        None => value,
        Some(end) => match value {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..end]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(end);
                Cow::Owned(bytes)
            }
        },
    }
}

/// Leading blanks, a sign and digits; what follows does not count, nor does a text without digits.
fn number(bytes: &[u8]) -> i128 {
    let bytes = bytes.trim_ascii_start();
    let (negative, digits) = match bytes.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, bytes),
    };
    let value = digits
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .fold(0i128, |n, b| {
            n.saturating_mul(10).saturating_add(i128::from(b - b'0'))
        });
    if negative { -value } else { value }
}

fn is_true(word: &[u8]) -> bool {
    let no: [&[u8]; 4] = [b"0", b"off", b"false", b"no"];
    !word.is_empty() && !no.iter().any(|n| word.eq_ignore_ascii_case(n))
}

/// `*`, `?` and `\x`, in time proportional to both lengths multiplied.
fn like(pattern: &[u8], text: &[u8], how: Glob) -> bool {
    let same = |a: u8, b: u8| match how.ignore_case {
        true => a.eq_ignore_ascii_case(&b),
        false => a == b,
    };
    let wild = |b: u8| !(how.path && b == b'/');
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
                continue;
            }
            Some(b'?') if wild(text[t]) => 1,
            Some(b'\\') if pattern.get(p + 1).is_some_and(|c| same(*c, text[t])) => 2,
            Some(&c) if c != b'?' && c != b'\\' && same(c, text[t]) => 1,
            _ => 0,
        };
        if step > 0 {
            p += step;
            t += 1;
            continue;
        }
        match star {
            // The last star takes one byte more.
            Some((at, from)) if wild(text[from]) => {
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}
