//! The configuration: text, then a tree with file and line on every node, then [`settings`].
//!
//! Called by `main` and `supervisor`. Never touches sockets; reads files only in `resolve`.

pub mod layer;
pub mod pattern;
pub mod settings;
pub mod span;
