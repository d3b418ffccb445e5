//! Expressions over a request or a response (httpd's `ap_expr`): text in, a truth or a text out.
//!
//! [`Expression::parse`] is called while the configuration is read and refuses names that the place
//! it stands in does not know ([`Vocabulary`]); [`Expression::holds`] is called with the facts of one
//! moment ([`Facts`]). Nothing here reads a socket, a file or a clock: what a name stands for is the
//! caller's answer. Used by health checks; `<If>`, `Require expr` and `Header expr=` are to come here.

mod eval;
mod function;
mod parser;
mod scanner;
mod tree;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use eval::{EvalError, Facts};
pub use parser::SyntaxError;
pub use tree::{Expression, Template};
pub use vocabulary::{FILE_TESTS, FUNCTIONS, VARIABLES, Vocabulary};
