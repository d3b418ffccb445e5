//! An expression as parsed.

use ipnet::IpNet;

use super::function::Pure;
use super::parser::{self, SyntaxError};
use super::vocabulary::{FILE_TESTS, Vocabulary};
use crate::config::pattern::Pattern;

/// A condition.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    pub(super) test: Test,
}

/// A text with variables in it (`%{NAME}`), as in `ErrorDocument` and `Header`.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    pub(super) word: Word,
}

impl Expression {
    /// Parses a whole text.
    ///
    /// # Errors
    /// What is wrong and where, for people.
    pub fn parse(text: &str, names: &dyn Vocabulary) -> Result<Expression, SyntaxError> {
        Ok(Expression {
            text: text.to_string(),
            test: parser::condition(text, names)?,
        })
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it looks at files, which may take long.
    pub fn looks_at_files(&self) -> bool {
        self.test.looks_at_files()
    }
}

impl Test {
    fn looks_at_files(&self) -> bool {
        match self {
            Test::Not(test) => test.looks_at_files(),
            Test::And(a, b) | Test::Or(a, b) => a.looks_at_files() || b.looks_at_files(),
            Test::Unary(letter, _) => FILE_TESTS.contains(letter),
            _ => false,
        }
    }
}

impl Template {
    /// Parses a text as it would stand between quotes.
    ///
    /// # Errors
    /// What is wrong and where, for people.
    pub fn parse(text: &str, names: &dyn Vocabulary) -> Result<Template, SyntaxError> {
        Ok(Template {
            text: text.to_string(),
            word: parser::template(text, names)?,
        })
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Something true or false.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Constant(bool),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
    /// `==`, `-lt` and their kin.
    Compare(Word, Comparison, Word),
    /// `=~`, and `!~` when `negated`.
    Match {
        word: Word,
        pattern: Pattern,
        negated: bool,
    },
    /// `-in {a, b}`
    In(Word, Vec<Word>),
    /// `-strmatch`, `-strcmatch`, `-fnmatch`
    Glob(Word, Glob, Word),
    /// `-ipmatch`
    IpMatch(Word, IpNet),
    /// `-n`, `-z`, `-T`, and what the facts test.
    Unary(u8, Word),
}

/// How two words are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    /// As numbers (`-eq`), not as texts (`==`).
    pub numeric: bool,
    pub relation: Relation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Relation {
    pub(super) fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Relation::Equal => order.is_eq(),
            Relation::NotEqual => order.is_ne(),
            Relation::Less => order.is_lt(),
            Relation::LessEqual => order.is_le(),
            Relation::Greater => order.is_gt(),
            Relation::GreaterEqual => order.is_ge(),
        }
    }
}

/// Kinds of wildcards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    pub ignore_case: bool,
    /// `*` and `?` stop at slashes.
    pub path: bool,
}

/// Something with a text as its value.
#[derive(Clone, Debug)]
pub(super) enum Word {
    Text(Vec<u8>),
    Variable(String),
    Group(u8),
    Pure(Pure, Box<Word>),
    Ask(String, Box<Word>),
    Join(Vec<Word>),
    Replace {
        pattern: Pattern,
        with: Vec<u8>,
        all: bool,
        word: Box<Word>,
    },
}
