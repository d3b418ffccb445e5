//! Where something stands in the configuration.

use std::fmt;
use std::sync::Arc;

/// What the words behind `-c` and `-C` have for a file.
pub const COMMAND_LINE: &str = "-c/-C directives";

/// A file and a line, as messages name them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file as it was opened, `-c/-C directives`, or a macro's description.
    pub file: Arc<str>,
    /// The line, counted from 1; of a continued line the last.
    pub line: u32,
}

impl Default for Span {
    fn default() -> Span {
        Span {
            file: Arc::from("built in"),
            line: 0,
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
