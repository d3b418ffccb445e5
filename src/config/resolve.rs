//! Reading: from files to a tree without conditionals, includes, variables and macros.
//!
//! What acts while reading acts here, from its line on, whatever section it stands in. Faults do
//! not end the reading: each is noted and the rest is read as well as can be.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::build::{Invocation, MAX_COMPLAINTS};
use super::diagnostic::{Complaint, Shape};
use super::include;
use super::lexer::{Line, Lines, next_word};
use super::macros::Macro;
use super::modules;
use super::registry::{self, Class};
use super::settings::Note;
use super::span::{COMMAND_LINE, Span};
use super::tree::Node;
use super::variables;

mod on_read;
mod section;

/// The most directives of one configuration.
const MAX_NODES: usize = 1_000_000;
/// The most uses of macros.
const MAX_USES: usize = 100_000;
/// How deep sections may be nested.
const MAX_NESTING: usize = 128;

/// The outcome of reading.
#[derive(Debug, Default)]
pub struct Resolved {
    /// The directives.
    pub tree: Vec<Node>,
    /// `Define`d and `-D` names with their values.
    pub defines: Vec<(String, Option<String>)>,
    /// Where each of them got its value last: a span's file.
    pub defined_in: Vec<(String, std::sync::Arc<str>)>,
    /// Modules that count as loaded, and whether static.
    pub modules: Vec<(String, bool)>,
    /// Files: how deep, the line of the Include, the path.
    pub files: Vec<(u32, u32, PathBuf)>,
    /// `ServerRoot`.
    pub server_root: PathBuf,
    /// `DefaultRuntimeDir`, if stated.
    pub runtime_dir: Option<PathBuf>,
    /// Faults.
    pub complaints: Vec<Complaint>,
    /// Warnings and notes.
    pub notes: Vec<Note>,
}

/// Reads a configuration.
///
/// Whether a configuration has LoadModule lines at all decides what counts as loaded from the
/// first line on, so it is read a second time when the first reading came upon one.
pub fn resolve(invocation: &Invocation, main_file: &Path) -> Resolved {
    let mut reader = Reader::new(invocation, Mode::default());
    reader.read_all(main_file);
    if reader.seen != Mode::default() {
        let mode = reader.seen;
        reader = Reader::new(invocation, mode);
        reader.read_all(main_file);
    }
    reader.out
}

/// What is known of LoadModule lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mode {
    /// There is at least one.
    loads: bool,
    /// One of them loads a multi-processing module.
    loads_mpm: bool,
}

/// A section or guard that is open.
struct Open {
    /// Its name as written, without `<`.
    name: String,
    span: Span,
    /// The section with what it holds so far; `None` for a guard, whose lines go one level up.
    node: Option<Node>,
}

/// Where lines come from.
struct Source<'a> {
    name: Arc<str>,
    lines: Box<dyn Iterator<Item = Line> + 'a>,
}

struct Reader<'a> {
    invocation: &'a Invocation,
    environment: HashMap<&'a str, &'a str>,
    mode: Mode,
    seen: Mode,
    out: Resolved,
    open: Vec<Open>,
    /// Include lines that led here, outermost first.
    chain: Vec<Span>,
    macros: HashMap<String, Macro>,
    /// Macros in use, so that none uses itself.
    using: Vec<String>,
    any_macro: bool,
    empty_arguments: bool,
    bytes: usize,
    nodes: usize,
    uses: usize,
    /// Too much went wrong, or there is too much of it: reading has ended.
    stopped: bool,
}

impl<'a> Reader<'a> {
    fn new(invocation: &'a Invocation, mode: Mode) -> Reader<'a> {
        let root = invocation.server_root.as_deref();
        let root = root.unwrap_or(Path::new(super::build::SERVER_ROOT));
        let counts = |m: &modules::Module| match m.standing {
            modules::Standing::Static => true,
            modules::Standing::Done => !mode.loads || (m.is_mpm() && !mode.loads_mpm),
            modules::Standing::Known => false,
        };
        let loaded = modules::all().iter().filter(|m| counts(m));
        Reader {
            invocation,
            environment: invocation
                .environment
                .iter()
                .map(|(n, v)| (n.as_str(), v.as_str()))
                .collect(),
            mode,
            seen: Mode::default(),
            out: Resolved {
                defines: invocation
                    .defines
                    .iter()
                    .map(|d| (d.clone(), None))
                    .collect(),
                modules: loaded.map(|m| (m.id.to_string(), true)).collect(),
                server_root: absolute(&invocation.directory, root),
                ..Resolved::default()
            },
            open: Vec::new(),
            chain: Vec::new(),
            macros: HashMap::new(),
            using: Vec::new(),
            any_macro: false,
            empty_arguments: true,
            bytes: 0,
            nodes: 0,
            uses: 0,
            stopped: false,
        }
    }

    fn read_all(&mut self, main_file: &Path) {
        self.read_lines(&self.invocation.before);
        self.read_main(main_file);
        self.read_lines(&self.invocation.after);
    }

    /// `-C` and `-c`.
    fn read_lines(&mut self, lines: &'a [String]) {
        let numbered = lines.iter().zip(1..).flat_map(|(text, number)| {
            let parts = Lines::new(text.as_bytes());
            parts.map(move |part| Line { number, ..part })
        });
        self.read(Source {
            name: Arc::from(COMMAND_LINE),
            lines: Box::new(numbered),
        });
    }

    /// The main file. With -C or -c lines the usual one need not be there.
    fn read_main(&mut self, path: &Path) {
        let lines = [&self.invocation.before, &self.invocation.after];
        let given = lines.iter().any(|l| !l.is_empty());
        if self.invocation.file.is_none() && given && !path.exists() {
            return;
        }
        match include::read(path, include::MAX_BYTES) {
            Ok(text) => self.read_file(path, 0, &text),
            Err(text) => {
                let program = &self.invocation.program;
                let complaint = Complaint::plain(format!("{program}: {text}"));
                self.out.complaints.push(complaint);
            }
        }
    }

    /// A file's lines; `line` is that of the Include, 0 for the main file.
    fn read_file(&mut self, path: &Path, line: u32, text: &[u8]) {
        self.bytes += text.len();
        let depth = self.chain.len() as u32;
        self.out.files.push((depth, line, path.to_path_buf()));
        self.read(Source {
            name: Arc::from(path.to_string_lossy()),
            lines: Box::new(Lines::new(text)),
        });
    }

    /// All lines of a source. Sections that it opens must end in it.
    fn read(&mut self, mut source: Source<'_>) {
        let base = self.open.len();
        while !self.stopped
            && let Some(line) = source.lines.next()
        {
            self.line(line, &mut source, base);
        }
        let left: Vec<Open> = self.open.drain(base..).collect();
        for open in left.into_iter().rev() {
            self.never_closed(open);
        }
    }

    fn line(&mut self, line: Line, source: &mut Source<'_>, base: usize) {
        let span = Span {
            file: source.name.clone(),
            line: line.number,
        };
        if let Some(fault) = line.fault {
            self.complain(span, "", fault.to_string());
            return;
        }
        if line.text.is_empty() || line.text.starts_with('#') {
            return;
        }
        let text = self.expanded(&line.text, &span);
        self.bytes += text.len().saturating_sub(line.text.len());
        if text.len() > super::lexer::MAX_LINE || self.bytes > include::MAX_BYTES {
            self.stop(
                Some(&span),
                "variables make the configuration too large".to_string(),
            );
            return;
        }
        let Some((word, rest)) = next_word(&text) else {
            return;
        };
        match (word.strip_prefix("</"), word.strip_prefix('<')) {
            (Some(name), _) => self.close(name, &word, span, base),
            (None, Some(name)) => self.opening(name, rest, span, source),
            (None, None) if word.is_empty() => {}
            (None, None) => self.plain(word, rest, span),
        }
    }

    fn plain(&mut self, name: String, rest: &str, span: Span) {
        let directive = registry::find(&name, false);
        if let Some(d) = directive
            && matches!(d.class, Class::OnRead)
            && self.defined(d)
        {
            self.act(d.name, rest, span);
            return;
        }
        self.push(Node {
            name,
            section: false,
            rest: rest.to_string(),
            span,
            directive,
            end: 0,
            children: Vec::new(),
        });
    }

    /// Adds a finished directive or section where it belongs.
    fn push(&mut self, node: Node) {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            self.stop(
                Some(&node.span),
                format!("more than {MAX_NODES} directives are read"),
            );
            return;
        }
        let inner = self.open.iter_mut().rev().find_map(|o| o.node.as_mut());
        match inner {
            Some(section) => section.children.push(node),
            None => self.out.tree.push(node),
        }
    }

    fn expanded(&mut self, text: &str, span: &Span) -> String {
        if !text.contains("${") {
            return text.to_string();
        }
        let mut missing = Vec::new();
        let lookup = |name: &str| self.value(name);
        let out = variables::expand(text, &lookup, &mut |n| missing.push(n.to_string()));
        for name in missing {
            self.warn(
                span,
                format!("AH00111: Config variable ${{{name}}} is not defined"),
            );
        }
        out
    }

    /// The value of `${NAME}`.
    fn value(&self, name: &str) -> Option<String> {
        let defined = self.out.defines.iter().rev().find(|(n, _)| n == name);
        if let Some((_, Some(value))) = defined {
            return Some(value.clone());
        }
        let given = self.environment.get(name).copied();
        given.or(variables::debian(name)).map(str::to_string)
    }

    /// Whether a directive's module counts as loaded here.
    fn defined(&self, directive: &registry::Directive) -> bool {
        modules::of(directive).is_none_or(|m| m.is_mpm() || self.is_loaded(m))
    }

    fn is_loaded(&self, module: &modules::Module) -> bool {
        self.out.modules.iter().any(|(id, _)| id == module.id)
    }

    fn complain(&mut self, span: Span, directive: &str, text: String) {
        if self.out.complaints.len() >= MAX_COMPLAINTS {
            self.stopped = true;
            return;
        }
        self.out.complaints.push(Complaint {
            span,
            directive: directive.to_string(),
            text,
            shape: Shape::Parse(self.chain.clone()),
        });
    }

    fn stop(&mut self, span: Option<&Span>, text: String) {
        if !self.stopped {
            self.complain(span.cloned().unwrap_or_default(), "", text);
        }
        self.stopped = true;
    }

    fn warn(&mut self, span: &Span, text: String) {
        let note = Note {
            span: span.clone(),
            warning: true,
            text,
        };
        if self.out.notes.len() < MAX_COMPLAINTS && !self.out.notes.contains(&note) {
            self.out.notes.push(note);
        }
    }
}

/// Absolute, seen from `directory`, without `.` components and final slash.
fn absolute(directory: &Path, path: &Path) -> PathBuf {
    let path = directory.join(path);
    let path = std::path::absolute(&path).unwrap_or(path);
    path.components().collect()
}

#[cfg(test)]
mod tests;
