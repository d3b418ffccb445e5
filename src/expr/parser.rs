//! From text to tree, by recursive descent. `!` binds tighter than `&&`, that tighter than `||`.

use ipnet::IpNet;

use super::function::Pure;
use super::scanner::Scanner;
use super::tree::{Comparison, Glob, Relation, Test, Word};
use super::vocabulary::{FILE_TESTS, Vocabulary};
use crate::config::pattern::Pattern;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    pub(super) what: String,
    pub(super) near: String,
    pub(super) column: usize,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "syntax error, {} at column {}", self.what, self.column)?;
        match self.near.as_str() {
            "" => f.write_str(" (at the end)"),
            near => write!(f, " (near \"{near}\")"),
        }
    }
}

impl std::error::Error for SyntaxError {}

/// Brackets and negations within each other.
const DEEPEST: usize = 50;

type Parsed<T> = Result<T, SyntaxError>;

/// A whole text as a condition.
pub(super) fn condition(text: &str, names: &dyn Vocabulary) -> Parsed<Test> {
    let mut p = Parser::new(text, names);
    let test = p.or()?;
    p.s.blanks();
    match p.s.is_at_end() {
        true => Ok(test),
        false => Err(p.s.error("an operator (&&, ||) or the end was expected")),
    }
}

/// A whole text as the inside of a string.
pub(super) fn template(text: &str, names: &dyn Vocabulary) -> Parsed<Word> {
    Parser::new(text, names).string(None)
}

struct Parser<'a> {
    s: Scanner<'a>,
    names: &'a dyn Vocabulary,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, names: &'a dyn Vocabulary) -> Parser<'a> {
        Parser {
            s: Scanner::new(text),
            names,
            depth: 0,
        }
    }

    fn or(&mut self) -> Parsed<Test> {
        let mut test = self.and()?;
        while self.s.take("||") {
            test = Test::Or(Box::new(test), Box::new(self.and()?));
        }
        Ok(test)
    }

    fn and(&mut self) -> Parsed<Test> {
        let mut test = self.not()?;
        while self.s.take("&&") {
            test = Test::And(Box::new(test), Box::new(self.not()?));
        }
        Ok(test)
    }

    fn not(&mut self) -> Parsed<Test> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.s.error("too many brackets or negations"));
        }
        let test = if self.s.take("!") {
            Test::Not(Box::new(self.not()?))
        } else if self.s.take("(") {
            let test = self.or()?;
            if !self.s.take(")") {
                return Err(self.s.error("a closing bracket was expected"));
            }
            test
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(test)
    }

    fn comparison(&mut self) -> Parsed<Test> {
        if let Some(test) = self.constant() {
            return Ok(test);
        }
        let before = self.s.clone();
        if let Some(letter) = self.s.dashed() {
            return self.unary(letter, before);
        }
        let word = self.word()?;
        if self.s.take("=~") {
            return self.matching(word, false);
        }
        if self.s.take("!~") {
            return self.matching(word, true);
        }
        // The longer ones first.
        let signs = [
            ("==", Relation::Equal),
            ("!=", Relation::NotEqual),
            ("<=", Relation::LessEqual),
            (">=", Relation::GreaterEqual),
            ("=", Relation::Equal),
            ("<", Relation::Less),
            (">", Relation::Greater),
        ];
        for (sign, relation) in signs {
            if self.s.take(sign) {
                return self.compare(word, false, relation);
            }
        }
        let before = self.s.clone();
        match self.s.dashed() {
            Some(name) => self.dashed(word, name, &before),
            None => Err(self
                .s
                .error("a comparison (==, =~, -eq, -in ...) was expected")),
        }
    }

    /// `true` and `false`, where no function's bracket follows.
    fn constant(&mut self) -> Option<Test> {
        let before = self.s.clone();
        let value = match self.s.name() {
            Some("true") => true,
            Some("false") => false,
            _ => {
                self.s = before;
                return None;
            }
        };
        Some(Test::Constant(value))
    }

    fn compare(&mut self, left: Word, numeric: bool, relation: Relation) -> Parsed<Test> {
        let how = Comparison { numeric, relation };
        Ok(Test::Compare(left, how, self.word()?))
    }

    fn dashed(&mut self, word: Word, name: &str, before: &Scanner<'a>) -> Parsed<Test> {
        let relation = match name {
            "eq" => Relation::Equal,
            "ne" => Relation::NotEqual,
            "lt" => Relation::Less,
            "le" => Relation::LessEqual,
            "gt" => Relation::Greater,
            "ge" => Relation::GreaterEqual,
            "in" => return Ok(Test::In(word, self.list()?)),
            "strmatch" | "strcmatch" | "fnmatch" => {
                let glob = Glob {
                    ignore_case: name == "strcmatch",
                    path: name == "fnmatch",
                };
                return Ok(Test::Glob(word, glob, self.word()?));
            }
            "ipmatch" => return Ok(Test::IpMatch(word, self.network()?)),
            _ => return Err(before.error(format!("the operator -{name} is unknown"))),
        };
        self.compare(word, true, relation)
    }

    fn unary(&mut self, letter: &str, before: Scanner<'a>) -> Parsed<Test> {
        let &[byte] = letter.as_bytes() else {
            return Err(before.error(format!("a word was expected before -{letter}")));
        };
        if !b"nzT".contains(&byte) && !self.names.test(byte) {
            let why = match byte {
                b'F' | b'U' | b'A' => {
                    "asks this server for a page of its own, which is not done here"
                }
                b'R' => "looks at a client, and there is none here; -ipmatch looks at any address",
                _ => "is unknown here",
            };
            return Err(before.error(format!("the test -{letter} {why}")));
        }
        let before = self.s.clone();
        let word = self.word()?;
        if FILE_TESTS.contains(&byte)
            && let Word::Text(text) = &word
            && !text.starts_with(b"/")
        {
            return Err(before.error(format!("-{letter} takes a whole path, from the first /")));
        }
        Ok(Test::Unary(byte, word))
    }

    fn matching(&mut self, word: Word, negated: bool) -> Parsed<Test> {
        let (text, flags) = self.regex()?;
        let pattern = self.pattern(&text, &flags)?;
        Ok(Test::Match {
            word,
            pattern,
            negated,
        })
    }

    /// `/re/flags` or `m#re#flags`.
    fn regex(&mut self) -> Parsed<(String, String)> {
        self.s.blanks();
        let before = self.s.clone();
        self.s.take_here("m");
        let delimiter = self.s.next().filter(char::is_ascii_punctuation);
        let text = delimiter.and_then(|d| self.s.until(d));
        match text {
            Some(text) => Ok((text, self.flags())),
            None => Err(before.error("a regular expression /.../ was expected")),
        }
    }

    fn flags(&mut self) -> String {
        self.s
            .while_it(|c| matches!(c, 'i' | 's' | 'm' | 'g'))
            .to_string()
    }

    fn pattern(&self, text: &str, flags: &str) -> Parsed<Pattern> {
        let text = match flags.contains('m') {
            true => format!("(?m){text}"),
            false => text.to_string(),
        };
        Pattern::new(&text, flags.contains('i')).map_err(|e| {
            self.s
                .error(format!("the regular expression is wrong: {e}"))
        })
    }

    /// `{ word, word ... }`
    fn list(&mut self) -> Parsed<Vec<Word>> {
        if !self.s.take("{") {
            return Err(self.s.error("a list { 'a', 'b' } was expected"));
        }
        let mut words = vec![self.word()?];
        while self.s.take(",") {
            words.push(self.word()?);
        }
        match self.s.take("}") {
            true => Ok(words),
            false => Err(self
                .s
                .error("a comma or the list's closing brace was expected")),
        }
    }

    /// An address or a network, written out.
    fn network(&mut self) -> Parsed<IpNet> {
        let before = self.s.clone();
        let word = self.word()?;
        let text = match &word {
            Word::Text(text) => std::str::from_utf8(text).unwrap_or(""),
            _ => "",
        };
        let address = || text.parse::<std::net::IpAddr>().ok().map(IpNet::from);
        text.parse()
            .ok()
            .or_else(address)
            .ok_or_else(|| before.error("an address or network like '10.0.0.0/8' was expected"))
    }

    /// Words joined by dots.
    fn word(&mut self) -> Parsed<Word> {
        let mut words = vec![self.atom()?];
        while self.s.take(".") {
            words.push(self.atom()?);
        }
        Ok(joined(words))
    }

    fn atom(&mut self) -> Parsed<Word> {
        self.s.blanks();
        match self.s.peek() {
            Some(quote @ ('"' | '\'')) => {
                self.s.next();
                self.string(Some(quote))
            }
            Some('%') => self.variable(),
            Some('$') => self
                .group()
                .ok_or_else(|| self.s.error("$ must stand before a digit")),
            Some(c) if c.is_ascii_digit() || c == '-' => self.digits(),
            _ => self.call(),
        }
    }

    fn digits(&mut self) -> Parsed<Word> {
        let minus = self.s.take_here("-");
        let digits = self.s.while_it(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.s.error("a word was expected"));
        }
        let text = format!("{}{digits}", if minus { "-" } else { "" });
        Ok(Word::Text(text.into_bytes()))
    }

    /// The inside of a string up to its quote (`None`: to the end of the text).
    fn string(&mut self, quote: Option<char>) -> Parsed<Word> {
        let mut words = Vec::new();
        let mut text = String::new();
        loop {
            let rest = self.s.rest();
            if rest.starts_with("%{") {
                words.push(Word::Text(std::mem::take(&mut text).into_bytes()));
                words.push(self.variable()?);
                continue;
            }
            if let Some(group) = self.group() {
                words.push(Word::Text(std::mem::take(&mut text).into_bytes()));
                words.push(group);
                continue;
            }
            match self.s.next() {
                None if quote.is_none() => break,
                None => return Err(self.s.error("a string has no closing quote")),
                Some(c) if Some(c) == quote => break,
                Some('\\') => match self.s.next() {
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some('f') => text.push('\x0c'),
                    Some('b') => text.push('\x08'),
                    Some(c) => text.push(c),
                    None => text.push('\\'),
                },
                Some(c) => text.push(c),
            }
        }
        words.push(Word::Text(text.into_bytes()));
        words.retain(|w| !matches!(w, Word::Text(t) if t.is_empty()));
        Ok(joined(words))
    }

    /// `$0` to `$9`; nothing is taken otherwise.
    fn group(&mut self) -> Option<Word> {
        let mut chars = self.s.rest().chars();
        if chars.next() != Some('$') {
            return None;
        }
        let digit = chars.next()?.to_digit(10)?;
        self.s.next();
        self.s.next();
        Some(Word::Group(digit as u8))
    }

    /// `%{NAME}` or `%{function:argument}`.
    fn variable(&mut self) -> Parsed<Word> {
        let before = self.s.clone();
        if !self.s.take_here("%{") {
            return Err(before.error("a variable is written %{NAME}"));
        }
        let name = self.s.while_it(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.s.take_here(":") {
            let argument = self.s.while_it(|c| c != '}').as_bytes().to_vec();
            if self.s.take_here("}") {
                return self.function(name, Word::Text(argument), &before);
            }
        } else if self.s.take_here("}") {
            if !self.names.variable(name) {
                return Err(before.error(format!("variable '{name}' does not exist")));
            }
            return Ok(Word::Variable(name.to_ascii_uppercase()));
        }
        Err(before.error("a variable has no closing brace"))
    }

    /// `function(word)`, `sub(s/re/text/, word)`.
    fn call(&mut self) -> Parsed<Word> {
        let before = self.s.clone();
        let Some(name) = self.s.name() else {
            return Err(before.error("a word was expected (texts stand between quotes)"));
        };
        if !self.s.take("(") {
            return Err(before.error(format!(
                "{name} is no function here (texts stand between quotes)"
            )));
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(before.error("too many functions within each other"));
        }
        let word = if name.eq_ignore_ascii_case("sub") {
            self.replacing()?
        } else {
            let argument = self.word()?;
            self.function(name, argument, &before)?
        };
        self.depth -= 1;
        match self.s.take(")") {
            true => Ok(word),
            false => Err(self.s.error("a closing bracket was expected")),
        }
    }

    fn function(&self, name: &str, argument: Word, before: &Scanner<'a>) -> Parsed<Word> {
        let name = name.to_ascii_lowercase();
        if let Some(pure) = Pure::find(&name) {
            return Ok(Word::Pure(pure, Box::new(argument)));
        }
        if !self.names.function(&name) {
            return Err(before.error(format!("function '{name}' does not exist")));
        }
        Ok(Word::Ask(name, Box::new(argument)))
    }

    /// `s/re/text/flags, word`
    fn replacing(&mut self) -> Parsed<Word> {
        let before = self.s.clone();
        if !self.s.take("s") {
            return Err(before.error("sub takes s/expression/text/ and a word"));
        }
        let delimiter = self.s.next().filter(char::is_ascii_punctuation);
        let parts = delimiter.and_then(|d| Some((self.s.until(d)?, self.s.until(d)?)));
        let Some((text, with)) = parts else {
            return Err(before.error("sub takes s/expression/text/ and a word"));
        };
        let flags = self.flags();
        let pattern = self.pattern(&text, &flags)?;
        if !self.s.take(",") {
            return Err(self.s.error("a comma was expected"));
        }
        Ok(Word::Replace {
            pattern,
            with: with.into_bytes(),
            all: flags.contains('g'),
            word: Box::new(self.word()?),
        })
    }
}

fn joined(mut words: Vec<Word>) -> Word {
    match words.len() {
        0 => Word::Text(Vec::new()),
        1 => words.remove(0),
        _ => Word::Join(words),
    }
}
