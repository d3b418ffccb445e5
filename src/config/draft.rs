//! Values as they were written, before defaults and inheritance: what setters fill in and
//! `directive::finish` makes [`super::settings::Settings`] of.

use super::layer::Layer;
use super::settings::{HostAddress, Section};
use super::span::Span;

/// Everything that was said.
#[derive(Debug, Default)]
pub struct Draft {
    /// The main server, then virtual hosts in file order.
    pub servers: Vec<ServerDraft>,
}

/// What was said in one server.
#[derive(Debug, Default)]
pub struct ServerDraft {
    /// The `<VirtualHost` line, or the main file's first.
    pub span: Span,
    /// The addresses of the `<VirtualHost` line.
    pub addresses: Vec<HostAddress>,
    /// What stands directly in it.
    pub base: Layer,
    /// Its sections, in file order.
    pub sections: Vec<Section>,
}
