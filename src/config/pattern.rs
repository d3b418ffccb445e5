//! Regular expressions over bytes, the way httpd uses PCRE.
//!
//! Requests are bytes, not text: a byte is matched as the character of the same number (Latin-1),
//! so nothing is ever refused for not being UTF-8. `.` matches a line feed and `$` only the very
//! end (httpd's `RegexDefaultOptions DOTALL DOLLAR_ENDONLY`). Matching has a bounded number of
//! steps; where they are used up the answer is `Err`, never a stuck child.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Steps that one match may take before it is given up.
const STEPS: usize = 200_000;

/// A compiled expression with the text it was made of.
#[derive(Clone)]
pub struct Pattern {
    text: Arc<str>,
    ignore_case: bool,
    regex: Arc<fancy_regex::Regex>,
}

/// Byte ranges of group 0 (the whole match) to 9; `None` for a group that took no part.
pub type Groups = [Option<(usize, usize)>; 10];

/// The match needed more steps than are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the expression needed too many steps")]
pub struct TooManySteps;

/// What is wrong, with the position in what people wrote: without the flags in front of it.
fn fault(error: &fancy_regex::Error, flags: usize) -> String {
    match error {
        fancy_regex::Error::ParseError(at, what) => {
            format!("at character {}: {what}", at.saturating_sub(flags) + 1)
        }
        e => e.to_string(),
    }
}

impl Pattern {
    /// Compiles an expression; the error is for people.
    pub fn new(text: &str, ignore_case: bool) -> Result<Pattern, String> {
        let flags = if ignore_case { "(?si)" } else { "(?s)" };
        let source = latin1(text.as_bytes()).into_owned();
        let regex = fancy_regex::RegexBuilder::new(&format!("{flags}{source}"))
            .backtrack_limit(STEPS)
            .build()
            .map_err(|e| fault(&e, flags.len()))?;
        Ok(Pattern {
            text: Arc::from(text),
            ignore_case,
            regex: Arc::new(regex),
        })
    }

    /// The text it was made of.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Does it match anywhere in `subject`?
    pub fn is_match(&self, subject: &[u8]) -> Result<bool, TooManySteps> {
        self.regex
            .is_match(&*latin1(subject))
            .map_err(|_| TooManySteps)
    }

    /// The first match with its groups, as byte ranges of `subject`.
    pub fn groups(&self, subject: &[u8]) -> Result<Option<Groups>, TooManySteps> {
        let text = latin1(subject);
        let Some(found) = self.regex.captures(&*text).map_err(|_| TooManySteps)? else {
            return Ok(None);
        };
        let ascii = matches!(text, Cow::Borrowed(_));
        // In the widened text every byte above 0x7f takes two; count characters to come back.
        let back = |i: usize| if ascii { i } else { text[..i].chars().count() };
        let mut out = [None; 10];
        for (i, slot) in out.iter_mut().enumerate() {
            *slot = found.get(i).map(|m| (back(m.start()), back(m.end())));
        }
        Ok(Some(out))
    }

    /// Named groups with their numbers, for `MATCH_NAME` variables.
    pub fn names(&self) -> Vec<(String, usize)> {
        self.regex
            .capture_names()
            .enumerate()
            .filter_map(|(i, n)| n.map(|n| (n.to_string(), i)))
            .collect()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "/{}/{}",
            self.text,
            if self.ignore_case { "i" } else { "" }
        )
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text && self.ignore_case == other.ignore_case
    }
}

/// Puts `$0` to `$9` of a match into `template`; `\$` and `\\` give the plain character.
pub fn substitute(template: &[u8], subject: &[u8], groups: &Groups) -> Vec<u8> {
    let mut out = Vec::with_capacity(template.len() + subject.len());
    let mut i = 0;
    while i < template.len() {
        match (template[i], template.get(i + 1)) {
            (b'$', Some(d)) if d.is_ascii_digit() => {
                if let Some((a, b)) = groups[usize::from(d - b'0')] {
                    out.extend_from_slice(&subject[a..b]);
                }
                i += 2;
            }
            (b'\\', Some(&c)) if c == b'$' || c == b'\\' => {
                out.push(c);
                i += 2;
            }
            (c, _) => {
                out.push(c);
                i += 1;
            }
        }
    }
    out
}

fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|&b| char::from(b)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_byte_ranges_even_behind_high_bytes() {
        let p = Pattern::new("^/(.*)/x(.)$", false).unwrap();
        let g = p.groups(b"/a\xe9\xff/x\xe4").unwrap().unwrap();
        assert_eq!(g[1], Some((1, 4)));
        assert_eq!(g[2], Some((6, 7)));
    }

    #[test]
    fn look_ahead_works_and_dot_matches_newline() {
        let p = Pattern::new("^/(?!api)", false).unwrap();
        assert!(p.is_match(b"/x").unwrap());
        assert!(!p.is_match(b"/api").unwrap());
        assert!(
            Pattern::new("^a.b$", true)
                .unwrap()
                .is_match(b"A\nB")
                .unwrap()
        );
    }

    #[test]
    fn a_runaway_expression_is_given_up() {
        let p = Pattern::new("(?=x)(x+x+)+y|(x+x+)+(?=z)y", false).unwrap();
        let r = p.is_match(&[b'x'; 4000]);
        assert!(matches!(r, Ok(false) | Err(TooManySteps)));
    }

    #[test]
    fn substitution_knows_escapes() {
        let p = Pattern::new("(b+)", false).unwrap();
        let g = p.groups(b"abbc").unwrap().unwrap();
        assert_eq!(substitute(b"<$1|\\$1|$2>", b"abbc", &g), b"<bb|$1|>");
    }
}
