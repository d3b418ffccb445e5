//! What a setter sees while the tree is walked: where it stands, what is known so far, and where
//! its value goes.

use std::path::{Path, PathBuf};

use super::diagnostic::Complaint;
use super::draft::{Draft, ServerDraft};
use super::layer::Layer;
use super::settings::{Matcher, Note, Section, SectionKind};
use super::span::Span;
use crate::ids::ServerNo;

/// The state of building [`super::settings::Settings`] out of a tree.
#[derive(Debug)]
pub struct Build {
    /// The directive that is being executed: where.
    pub span: Span,
    /// The directive that is being executed: its name as the table spells it (sections without `<`).
    pub directive: &'static str,
    /// The current server: 0 outside of any `<VirtualHost>`.
    pub server: ServerNo,
    /// The open sections inside the current server, outermost first. `<VirtualHost>` is not among
    /// them and neither are `<If...>` guards of the parse phase (they have been resolved).
    pub scopes: Vec<Scope>,
    /// What is known from outside the directives.
    pub facts: Facts,
    /// The values collected so far.
    pub draft: Draft,
    /// Faults so far. A setter that returns `Err(text)` gets one made of it; `complain` adds more.
    pub complaints: Vec<Complaint>,
    /// Notes and warnings so far.
    pub notes: Vec<Note>,
}

/// What setters may ask beside the directives that were executed before.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// argv[0]'s last component, for messages.
    pub program: String,
    /// `ServerRoot`, absolute.
    pub server_root: PathBuf,
    /// `DefaultRuntimeDir`, absolute (`ServerRoot/run`'s place when not stated).
    pub runtime_dir: PathBuf,
    /// DefaultRuntimeDir was written: relative run-time files stand below it, else below ServerRoot.
    pub runtime_dir_is_set: bool,
    /// `Define`d and `-D` names with values.
    pub defines: Vec<(String, Option<String>)>,
    /// Where each of them got its value last: a span's file.
    pub defined_in: Vec<(String, std::sync::Arc<str>)>,
    /// Modules that count as loaded: identifier without `_module`, and whether static.
    pub modules: Vec<(String, bool)>,
    /// The environment, for PassEnv and `${}`.
    pub environment: Vec<(String, String)>,
    /// Whether paths like DocumentRoot are to be looked for (`-T` switches it off).
    pub check_paths: bool,
    /// The main configuration file.
    pub main_file: PathBuf,
}

/// An open section inside a server.
#[derive(Debug)]
pub struct Scope {
    /// Its name as the table spells it: `Location`, `RequireAll` ...
    pub name: &'static str,
    /// The kind of [`Section`] that it becomes; `None` for groups such as `<RequireAny>` that
    /// change no layer of their own (their closer says what becomes of them).
    pub kind: Option<SectionKind>,
    /// What it matches, where `kind` is set.
    pub matcher: Matcher,
    /// Its argument as written, without quotes.
    pub argument: String,
    /// What has been said inside it.
    pub layer: Layer,
    /// Sections inside it that were closed.
    pub inner: Vec<Section>,
    /// Its opening line.
    pub span: Span,
}

impl Build {
    /// The layer that a directive of class D writes to: that of the innermost section with a
    /// layer, else the current server's own.
    pub fn layer(&mut self) -> &mut Layer {
        let inner = self.scopes.iter().rposition(|s| s.kind.is_some());
        match inner {
            Some(i) => &mut self.scopes[i].layer,
            None => &mut self.draft.servers[self.server.index()].base,
        }
    }

    /// The current server's values.
    pub fn server(&mut self) -> &mut ServerDraft {
        &mut self.draft.servers[self.server.index()]
    }

    /// The main server's values.
    pub fn main(&mut self) -> &mut ServerDraft {
        &mut self.draft.servers[0]
    }

    /// The innermost open section.
    pub fn scope(&self) -> Option<&Scope> {
        self.scopes.last()
    }

    /// The innermost open section of one kind.
    pub fn within(&self, kind: SectionKind) -> Option<&Scope> {
        self.scopes.iter().rev().find(|s| s.kind == Some(kind))
    }

    /// Whether the directive stands in no section but perhaps a `<VirtualHost>`.
    pub fn at_server_level(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Opens a section: openers call it.
    pub fn open(&mut self, scope: Scope) {
        self.scopes.push(scope);
    }

    /// A path as ServerRoot makes it absolute.
    pub fn path(&self, text: &str) -> PathBuf {
        self.facts.server_root.join(text)
    }

    /// A path as DefaultRuntimeDir makes it absolute (PidFile, ScoreBoardFile).
    pub fn runtime_path(&self, text: &str) -> PathBuf {
        self.facts.runtime_dir.join(Path::new(text))
    }

    /// Whether a module counts as loaded: the identifier without `_module` (`proxy_http`).
    pub fn loaded(&self, module: &str) -> bool {
        self.facts.modules.iter().any(|(m, _)| m == module)
    }

    /// For information at start.
    pub fn note(&mut self, text: impl Into<String>) {
        self.push_note(false, text.into());
    }

    /// A warning at start and in `-t`.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.push_note(true, text.into());
    }

    /// A fault of the current directive beside the one that a setter may return.
    pub fn complain(&mut self, text: impl Into<String>) {
        let complaint = Complaint::execute(&self.span, self.directive, text.into());
        self.complaints.push(complaint);
    }

    fn push_note(&mut self, warning: bool, text: String) {
        self.notes.push(Note {
            span: self.span.clone(),
            warning,
            text,
        });
    }
}
