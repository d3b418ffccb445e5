//! The configuration as read: conditionals, includes, variables and macros are gone, every
//! directive knows where it stands, and nothing has been executed yet.

use super::registry::Directive;
use super::span::Span;

/// A directive or section.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name as written; of a section without `<`.
    pub name: String,
    /// Whether it was written with `<`.
    pub section: bool,
    /// The rest of the line, variables replaced, not split; of a section with its `>`.
    pub rest: String,
    /// Where it stands.
    pub span: Span,
    /// Its entry in the table; `None`: unknown.
    pub directive: Option<&'static Directive>,
    /// The line of a section's closing tag, in the same file; 0 without one.
    pub end: u32,
    /// What stands inside a section.
    pub children: Vec<Node>,
}

impl Node {
    /// The name as messages show it: `<Location` for a section.
    pub fn shown(&self) -> String {
        let bracket = if self.section { "<" } else { "" };
        format!("{bracket}{}", self.name)
    }
}
