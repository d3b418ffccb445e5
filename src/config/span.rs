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

impl Span {
    /// The files that the line was read from: of a macro's line where the macro is defined and where
    /// it is used.
    pub fn files(&self) -> Vec<&str> {
        files_in(&self.file)
    }
}

/// As [`Span::files`], of a span's file.
pub fn files_in(file: &str) -> Vec<&str> {
    if !file.starts_with("macro '") {
        return vec![file];
    }
    // Descriptions may stand in each other, where the inner one is taken for a file too: no file
    // has its name.
    let pieces: Vec<&str> = file.split('"').collect();
    let named = pieces.windows(2).filter(|p| p[0].ends_with(" of "));
    named.map(|p| p[1]).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macros_line_comes_from_two_files() {
        assert_eq!(files_in("/etc/a b.conf"), ["/etc/a b.conf"]);
        let used = "macro 'm' (defined on line 4 of \"F\") used on line 9 of \"G\"";
        assert_eq!(files_in(used), ["F", "G"]);
        let nested = format!("macro 'n' (defined on line 1 of \"D\") used on line 2 of \"{used}\"");
        let files = files_in(&nested);
        assert!(
            ["D", "F", "G"].iter().all(|f| files.contains(f)),
            "{files:?}"
        );
    }
}
