//! Walking the tree: checks what the table says of each directive, then calls its setter.

use std::collections::HashMap;

use super::args::Args;
use super::build::MAX_COMPLAINTS;
use super::diagnostic::nearest;
use super::dump::HIDDEN;
use super::frame::{Build, Scope};
use super::layer::Layer;
use super::modules;
use super::registry::{self, ArgSpec, Class, Directive, Opener, foreign};
use super::settings::{Matcher, SectionKind};
use super::tree::Node;
use crate::ids::ServerNo;

/// Executes a tree. What is wrong is added to `build.complaints`.
pub fn run(build: &mut Build, tree: &[Node]) {
    let mut walk = Walk {
        build,
        parents: Vec::new(),
        told: HashMap::new(),
    };
    walk.nodes(tree);
}

struct Walk<'a> {
    build: &'a mut Build,
    /// Names of the open sections, outermost first.
    parents: Vec<&'static str>,
    /// Directives without effect: which note tells of them, and how often each stands.
    told: HashMap<&'static str, (usize, String, u32)>,
}

impl Walk<'_> {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            if self.build.complaints.len() >= MAX_COMPLAINTS {
                return;
            }
            self.node(node);
        }
    }

    fn node(&mut self, node: &Node) {
        self.build.span = node.span.clone();
        self.build.directive = node.directive.map_or("", |d| d.name);
        let Some(d) = node.directive else {
            return self.build.complain(unknown(node));
        };
        if let Some(text) = self.not_loaded(node, d) {
            return self.build.complain(text);
        }
        if let Class::NotThere = d.class {
            return self.build.complain(not_there(node, d));
        }
        if let Some(fault) = d.places.fault(&d.shown(), &self.parents) {
            return self
                .build
                .complain(format!("{fault}; it may stand in {}", d.places));
        }
        match arguments(node, d) {
            Ok(args) => self.take(node, d, &args),
            Err(fault) => self.build.complain(fault + comment_hint(node)),
        }
    }

    fn take(&mut self, node: &Node, d: &'static Directive, args: &Args) {
        match d.class {
            Class::Works(setter) => {
                if let Err(text) = setter(self.build, args) {
                    self.build.complain(text + comment_hint(node));
                }
            }
            Class::Opens(opener) => self.section(node, d, opener, args),
            Class::NoMeaning(reason) => {
                self.tell(
                    d,
                    false,
                    format!("{} has no meaning here: {reason}", d.name),
                );
            }
            Class::NotYet(reason) => {
                let text = format!("{} is accepted but has no effect yet: {reason}", d.name);
                self.tell(d, true, text);
            }
            // Those whose module is loaded never come here.
            Class::OnRead | Class::NotThere => {}
        }
    }

    fn section(&mut self, node: &Node, d: &'static Directive, opener: Opener, args: &Args) {
        let depth = self.build.scopes.len();
        let opened = (opener.open)(self.build, args);
        let failed = opened.is_err();
        if let Err(text) = opened {
            self.build.complain(text);
        }
        // Faults inside are told in the same run, so a section that failed is entered too.
        if failed && self.build.scopes.len() == depth && d.name != "VirtualHost" {
            let scope = placeholder(d, &self.build.span);
            self.build.open(scope);
        }
        self.parents.push(d.name);
        self.nodes(&node.children);
        self.parents.pop();
        self.build.span = node.span.clone();
        self.build.directive = d.name;
        let scope = match self.build.scopes.len() > depth {
            true => self.build.scopes.pop(),
            false => None,
        };
        self.build.scopes.truncate(depth);
        let scope = scope.unwrap_or_else(|| placeholder(d, &self.build.span));
        if failed && d.name != "VirtualHost" {
            return;
        }
        if let Err(text) = (opener.close)(self.build, scope) {
            self.build.complain(text);
        }
        if d.name == "VirtualHost" {
            self.build.server = ServerNo(0);
        }
    }

    /// Says something once per directive, with the number of lines that it holds for.
    fn tell(&mut self, d: &'static Directive, warning: bool, text: String) {
        if let Some((at, text, lines)) = self.told.get_mut(d.name) {
            *lines += 1;
            self.build.notes[*at].text = format!("{text} ({lines} lines)");
            return;
        }
        let at = self.build.notes.len();
        if warning {
            self.build.warn(&text);
        } else {
            self.build.note(&text);
        }
        self.told.insert(d.name, (at, text, 1));
    }

    /// A directive of a module that is not loaded is as unknown as it is to httpd.
    fn not_loaded(&self, node: &Node, d: &Directive) -> Option<String> {
        let module = modules::of(d)?;
        let loads = self.build.facts.modules.iter().any(|(_, fixed)| !fixed);
        if !loads && !matches!(d.class, Class::OnRead) {
            return None;
        }
        if module.is_mpm() || self.build.loaded(module.id) {
            return None;
        }
        Some(format!(
            "{}: it belongs to {}_module, for which there is no LoadModule line",
            invalid(node),
            module.id
        ))
    }
}

fn invalid(node: &Node) -> String {
    format!(
        "Invalid command '{}', perhaps misspelled or defined by a module not included in the server configuration",
        without_secret(&node.shown())
    )
}

/// A name with a secret glued to it (`ProxyBeaconSecret=...`) is shown without it.
fn without_secret(name: &str) -> String {
    const SECRET: &str = "ProxyBeaconSecret";
    let glued = |c: char| !c.is_ascii_alphanumeric();
    match name.get(..SECRET.len()) {
        Some(start) if start.eq_ignore_ascii_case(SECRET) => match name.find(glued) {
            Some(at) => format!("{}{HIDDEN}", &name[..=at]),
            None => name.to_owned(),
        },
        _ => name.to_owned(),
    }
}

/// The commonest cause of a word too many.
fn comment_hint(node: &Node) -> &'static str {
    let commented = node
        .rest
        .split_ascii_whitespace()
        .any(|w| w.starts_with('#'));
    // What Error says is its own.
    match commented && !node.section && !node.name.eq_ignore_ascii_case("Error") {
        true => " (a comment must stand on a line of its own)",
        false => "",
    }
}

fn unknown(node: &Node) -> String {
    let head = invalid(node);
    if node.name.starts_with('\u{feff}') {
        return format!("{head}; in front of it stands a byte order mark: save the file without");
    }
    if let Some(about) = foreign::about(&node.name) {
        return format!("{head}: {about}");
    }
    let names = registry::all().filter(|d| d.section == node.section);
    if let Some(near) = nearest(&node.name, names.map(|d| d.name)) {
        let bracket = if node.section { "<" } else { "" };
        return format!("{head}; did you mean {bracket}{near}?");
    }
    match registry::find(&node.name, !node.section) {
        Some(d) if d.section => format!("{head}; it is a section: <{}>", d.name),
        Some(d) => format!("{head}; it is no section: {}", d.name),
        None => head,
    }
}

fn not_there(node: &Node, d: &Directive) -> String {
    let (first, rest) = d.help.split_at(1);
    let bracket = if d.section { ">" } else { "" };
    let extent = match node.end {
        0 => String::new(),
        // Taken out by itself, the opening line would leave its rules to the section around it.
        end => format!("; with all that it holds it ends on line {end}"),
    };
    format!(
        "{}{bracket} ({}) is not there in muster yet: it would {}{rest}{extent}",
        d.shown(),
        d.module,
        first.to_lowercase()
    )
}

/// The words, when their number is right.
fn arguments(node: &Node, d: &Directive) -> Result<Args, String> {
    if d.section {
        let Some(end) = node.rest.rfind('>') else {
            return Err(format!("<{}> directive missing closing '>'", d.name));
        };
        let args = Args::new(&node.rest[..end]);
        let takes_none = d.name.starts_with("Require");
        if args.is_empty() && !takes_none {
            return Err(format!(
                "<{}> directive requires additional arguments",
                d.name
            ));
        }
        return Ok(args);
    }
    let args = Args::new(&node.rest);
    if let Some(fault) = d.args.fault(args.len()) {
        return Err(format!("{} {fault}, {}", d.name, d.help));
    }
    let word = args.get(0);
    let is_flag = word.eq_ignore_ascii_case("on") || word.eq_ignore_ascii_case("off");
    if d.args == ArgSpec::Flag && !is_flag {
        return Err(format!("{} must be On or Off", d.name));
    }
    Ok(args)
}

/// Stands for a section that could not be opened, so that its lines have somewhere to go.
fn placeholder(d: &Directive, span: &super::span::Span) -> Scope {
    let kind = match d.name {
        "Location" | "LocationMatch" => Some(SectionKind::Location),
        "Directory" => Some(SectionKind::Directory),
        "DirectoryMatch" => Some(SectionKind::DirectoryMatch),
        "Files" | "FilesMatch" => Some(SectionKind::Files),
        "Proxy" | "ProxyMatch" => Some(SectionKind::Proxy),
        "Limit" | "LimitExcept" => Some(SectionKind::Limit),
        _ => None,
    };
    Scope {
        name: d.name,
        kind,
        matcher: Matcher::Prefix(Vec::new()),
        argument: String::new(),
        layer: Layer::default(),
        inner: Vec::new(),
        span: span.clone(),
    }
}
