//! What is wrong with a configuration, and how httpd would say it.

use super::span::Span;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where it stands.
    pub span: Span,
    /// The directive, as the table or the file spells it; empty where no directive is to blame.
    pub directive: String,
    /// What is wrong and what would be right.
    pub text: String,
    /// How it is shown.
    pub shape: Shape,
}

/// httpd's forms of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// While reading: one line, with the chain of includes in front (outermost first).
    Parse(Vec<Span>),
    /// While executing: a header line with file and line, then the text.
    Execute,
    /// The text as it is.
    Plain,
}

impl Complaint {
    /// A fault found while executing a directive.
    pub fn execute(span: &Span, directive: &str, text: String) -> Complaint {
        Complaint {
            span: span.clone(),
            directive: directive.to_string(),
            text,
            shape: Shape::Execute,
        }
    }
}
