//! The configuration: text, then a tree with file and line on every node, then [`settings`].
//!
//! `build::load` is the way in: `resolve` reads (lines by `lexer`, files by `include`, guards by
//! `condition`, `macros`, `variables`, `modules`) into a `tree`; `execute` walks it, checks each
//! directive against the `registry` and calls its setter in `directive`, which fills the `draft`;
//! `settle` makes [`settings`] of that. What is wrong becomes a `diagnostic::Complaint`.
//!
//! Called by `cli` and `supervisor`. Never opens sockets or logs, never changes a file; reads only
//! the configuration's own files, and looks whether the directories that it names are there.

pub mod accepted;
pub mod args;
pub mod bare;
pub mod beacon;
mod beacon_allow;
pub mod build;
pub mod condition;
pub mod diagnostic;
pub mod directive;
pub mod draft;
pub mod dump;
pub mod execute;
pub mod frame;
pub mod glob;
pub mod health;
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
