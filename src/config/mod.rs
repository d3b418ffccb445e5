//! The configuration: text, then a tree with file and line on every node, then [`settings`].
//!
//! Called by `main` and `supervisor`. Never touches sockets; reads files only in `resolve`.

pub mod args;
pub mod bare;
pub mod build;
pub mod diagnostic;
pub mod directive;
pub mod draft;
pub mod frame;
pub mod layer;
pub mod lexer;
pub mod pattern;
pub mod registry;
pub mod settings;
pub mod settle;
pub mod span;
pub mod status;
pub mod worker_url;
