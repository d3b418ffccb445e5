//! The configuration: text, then a tree with file and line on every node, then [`settings`].
//!
//! Called by `main` and `supervisor`. Never touches sockets; reads files only in `resolve`.

pub mod accepted;
pub mod args;
pub mod bare;
pub mod build;
pub mod condition;
pub mod diagnostic;
pub mod directive;
pub mod draft;
pub mod dump;
pub mod execute;
pub mod frame;
pub mod glob;
pub mod include;
pub mod layer;
pub mod lexer;
pub mod log_directories;
pub mod macros;
pub mod modules;
pub mod pattern;
pub mod registry;
pub mod resolve;
pub mod settings;
pub mod settle;
pub mod span;
pub mod status;
pub mod tree;
pub mod variables;
pub mod worker_url;
