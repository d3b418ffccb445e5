//! Characters of an expression. What a `/` or a `-` means depends on what the parser expects, so
//! it asks for one kind of token at a time.

use super::parser::SyntaxError;

/// A place in the text.
#[derive(Clone, Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0 }
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// One character, whatever it is.
    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Takes exactly this, behind blanks.
    pub(super) fn take(&mut self, token: &str) -> bool {
        self.blanks();
        self.take_here(token)
    }

    /// Takes exactly this, here.
    pub(super) fn take_here(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// As many characters as fit, possibly none.
    pub(super) fn while_it(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A name: a letter or `_`, then those and digits; behind blanks.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        self.blanks();
        let first = self.peek()?;
        if !first.is_ascii_alphabetic() && first != '_' {
            return None;
        }
        Some(self.while_it(|c| c.is_ascii_alphanumeric() || c == '_'))
    }

    /// `-name`, behind blanks; nothing is taken when there is none.
    pub(super) fn dashed(&mut self) -> Option<&'a str> {
        self.blanks();
        let rest = self.rest().strip_prefix('-')?;
        let end = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        self.at += 1 + end;
        Some(&rest[..end])
    }

    /// Up to `end`, which is taken too and may stand in the text behind a backslash.
    pub(super) fn until(&mut self, end: char) -> Option<String> {
        let mut out = String::new();
        loop {
            match self.next()? {
                '\\' if self.peek() == Some(end) => {
                    self.next();
                    out.push(end);
                }
                '\\' => {
                    out.push('\\');
                    out.extend(self.next());
                }
                c if c == end => return Some(out),
                c => out.push(c),
            }
        }
    }

    /// An error here.
    pub(super) fn error(&self, what: impl Into<String>) -> SyntaxError {
        let rest: String = self.rest().chars().take(20).collect();
        SyntaxError {
            what: what.into(),
            near: rest,
            column: self.text[..self.at].chars().count() + 1,
        }
    }
}
