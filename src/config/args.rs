//! What stands behind a directive's name.

/// The arguments of one directive, variables replaced, split by httpd's word rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// The rest of the line as it stands, trimmed (for a section: without the closing `>`).
    pub raw: String,
    /// The words, quotes removed.
    pub words: Vec<String>,
}

impl Args {
    /// Splits the rest of a line.
    pub fn new(raw: &str) -> Args {
        Args {
            raw: raw.trim().to_string(),
            words: super::lexer::words(raw),
        }
    }

    /// The word with this index; empty when there is none (the table has checked the count).
    pub fn get(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }

    /// The word with this index, if it was written.
    pub fn opt(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Nothing was written.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words from this index on.
    pub fn rest(&self, index: usize) -> &[String] {
        self.words.get(index..).unwrap_or(&[])
    }

    /// The value of a flag: true for `On`. Only for [`super::registry::ArgSpec::Flag`], which has
    /// checked that the word is On or Off.
    pub fn flag(&self) -> bool {
        self.get(0).eq_ignore_ascii_case("on")
    }
}
