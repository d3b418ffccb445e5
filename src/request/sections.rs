//! Which sections hold for a request, in httpd's order (spec: config 4.1), and what they say
//! together. The merged layer is kept per set of sections, so that no request merges anything that
//! an earlier one merged.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::codec::http1::head::Method;
use crate::config::layer::{Compat, Layer, Require};
use crate::config::pattern::{Pattern, TooManySteps};
use crate::config::settings::{Matcher, Section, SectionKind, Server};

use super::env::Env;
use super::trace::{Trace, shown};
use crate::config::glob;

/// At most so many merged layers are kept per server; then all are forgotten.
const MEMO: usize = 4096;

/// The sections of one server, sorted by kind.
pub struct Table {
    /// What holds without any section.
    base: Rc<Layer>,
    /// Every section with those inside it, the place as indices from the outside in.
    flat: Vec<Flat>,
    directories: Vec<u16>,
    files: Vec<u16>,
    locations: Vec<u16>,
    proxies: Vec<u16>,
    memo: RefCell<HashMap<Box<[u16]>, Rc<Layer>>>,
}

struct Flat {
    /// Indices: of the section, then of one inside it and so on; `u16::MAX` where it ends.
    at: [u16; 3],
    /// Numbers of the `<Limit>`s inside.
    limits: Vec<u16>,
    /// Numbers of the `<Files>` inside.
    files: Vec<u16>,
    /// Named groups of its expression: the variable and the group's number.
    names: Vec<(String, usize)>,
}

/// The sections that hold, by number, in the order in which they apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set(Vec<u16>);

impl Set {
    /// No section.
    pub fn new() -> Set {
        Set::default()
    }

    /// The sections of `self`, then those of `other`.
    pub fn joined(mut self, other: &Set) -> Set {
        self.0.extend_from_slice(&other.0);
        self
    }

    /// True when no section holds.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Table {
    /// Sorts a server's sections.
    pub fn new(server: &Server) -> Table {
        let mut table = Table {
            base: Rc::new(server.base.clone()),
            flat: Vec::new(),
            directories: Vec::new(),
            files: Vec::new(),
            locations: Vec::new(),
            proxies: Vec::new(),
            memo: RefCell::new(HashMap::new()),
        };
        let mut matches = Vec::new();
        for (i, section) in server.sections.iter().enumerate() {
            let no = table.add(section, &[i]);
            match section.kind {
                SectionKind::Directory => table.directories.push(no),
                SectionKind::DirectoryMatch => matches.push(no),
                SectionKind::Files => table.files.push(no),
                SectionKind::Location => table.locations.push(no),
                SectionKind::Proxy => table.proxies.push(no),
                // Not allowed outside other sections; the configuration refuses it.
                SectionKind::Limit => {}
            }
        }
        // Shortest first, in file order among equals; expressions after all others.
        let mut directories = std::mem::take(&mut table.directories);
        directories.sort_by_key(|no| depth(&table.section(server, *no).matcher));
        directories.extend(matches);
        table.directories = directories;
        table
    }

    fn add(&mut self, section: &Section, at: &[usize]) -> u16 {
        let mut place = [u16::MAX; 3];
        for (slot, i) in place.iter_mut().zip(at) {
            *slot = *i as u16;
        }
        let no = self.flat.len() as u16;
        self.flat.push(Flat {
            at: place,
            limits: Vec::new(),
            files: Vec::new(),
            names: match &section.matcher {
                Matcher::Regex(pattern) => variables(pattern),
                _ => Vec::new(),
            },
        });
        for (i, inner) in section.inner.iter().enumerate() {
            if at.len() == place.len() {
                break;
            }
            let mut inside = at.to_vec();
            inside.push(i);
            let inner_no = self.add(inner, &inside);
            let flat = &mut self.flat[usize::from(no)];
            match inner.kind {
                SectionKind::Limit => flat.limits.push(inner_no),
                SectionKind::Files => flat.files.push(inner_no),
                _ => {}
            }
        }
        no
    }

    fn section<'a>(&self, server: &'a Server, no: u16) -> &'a Section {
        let [outer, rest @ ..] = self.flat[usize::from(no)].at;
        let mut section = &server.sections[usize::from(outer)];
        for i in rest.iter().filter(|i| **i != u16::MAX) {
            section = &section.inner[usize::from(*i)];
        }
        section
    }

    /// What holds without any section.
    pub fn base(&self) -> &Rc<Layer> {
        &self.base
    }

    /// The `<Location>`s that match a decoded path; named groups become variables in `env`.
    pub fn locations(
        &self,
        server: &Server,
        path: &[u8],
        method: &Method,
        mut env: Option<&mut Env>,
        trace: &Trace,
    ) -> Result<Set, TooManySteps> {
        let mut set = Set::new();
        for &no in &self.locations {
            let section = self.section(server, no);
            let matched = match &section.matcher {
                Matcher::Prefix(prefix) => at_boundary(prefix, path),
                Matcher::Wild(pattern) => glob::matches(pattern, path, true),
                Matcher::Regex(pattern) => {
                    self.expression(no, pattern, path, env.as_deref_mut())?
                }
                Matcher::Methods { .. } => false,
            };
            trace.tried(&section.span, matched, || {
                format!("<Location {}>", shown_matcher(&section.matcher))
            });
            if matched {
                self.take(&mut set, server, no, method);
            }
        }
        Ok(set)
    }

    /// The `<Proxy>` sections that match a target URL.
    pub fn proxies(
        &self,
        server: &Server,
        url: &[u8],
        method: &Method,
        mut env: Option<&mut Env>,
        trace: &Trace,
    ) -> Result<Set, TooManySteps> {
        let mut set = Set::new();
        for &no in &self.proxies {
            let section = self.section(server, no);
            let matched = match &section.matcher {
                Matcher::Prefix(prefix) => url.starts_with(prefix),
                Matcher::Wild(pattern) => glob::matches(pattern, url, false),
                Matcher::Regex(pattern) => self.expression(no, pattern, url, env.as_deref_mut())?,
                Matcher::Methods { .. } => false,
            };
            trace.tried(&section.span, matched, || {
                format!("<Proxy {}>", shown_matcher(&section.matcher))
            });
            if matched {
                self.take(&mut set, server, no, method);
            }
        }
        Ok(set)
    }

    /// The `<Directory>` sections that match a file's name, then the `<Files>` ones of the server
    /// and of those directories.
    pub fn files(
        &self,
        server: &Server,
        filename: &[u8],
        method: &Method,
        mut env: Option<&mut Env>,
        trace: &Trace,
    ) -> Result<Set, TooManySteps> {
        let mut set = Set::new();
        let mut files = self.files.clone();
        for &no in &self.directories {
            let section = self.section(server, no);
            let matched = match &section.matcher {
                Matcher::Prefix(prefix) => in_directory(prefix, filename),
                Matcher::Wild(pattern) => wild_directory(pattern, filename),
                // An expression sees directories with a slash at their end.
                Matcher::Regex(pattern) => {
                    let end = memchr::memrchr(b'/', filename).map_or(filename.len(), |i| i + 1);
                    let whole = [filename, b"/"].concat();
                    self.expression(no, pattern, &filename[..end], env.as_deref_mut())?
                        || self.expression(no, pattern, &whole, env.as_deref_mut())?
                }
                Matcher::Methods { .. } => false,
            };
            trace.tried(&section.span, matched, || {
                format!("<Directory {}>", shown_matcher(&section.matcher))
            });
            if matched {
                self.take(&mut set, server, no, method);
                files.extend_from_slice(&self.flat[usize::from(no)].files);
            }
        }
        let base = memchr::memrchr(b'/', filename).map_or(filename, |i| &filename[i + 1..]);
        for no in files {
            let section = self.section(server, no);
            let matched = match &section.matcher {
                Matcher::Prefix(name) => name == base,
                Matcher::Wild(pattern) => glob::matches(pattern, base, true),
                Matcher::Regex(pattern) => {
                    self.expression(no, pattern, base, env.as_deref_mut())?
                }
                Matcher::Methods { .. } => false,
            };
            trace.tried(&section.span, matched, || {
                format!("<Files {}>", shown_matcher(&section.matcher))
            });
            if matched {
                self.take(&mut set, server, no, method);
            }
        }
        Ok(set)
    }

    /// Adds a section and those of its `<Limit>`s that cover the method.
    fn take(&self, set: &mut Set, server: &Server, no: u16, method: &Method) {
        set.0.push(no);
        for &limit in &self.flat[usize::from(no)].limits {
            if covers(&self.section(server, limit).matcher, method) {
                set.0.push(limit);
            }
        }
    }

    fn expression(
        &self,
        no: u16,
        pattern: &Pattern,
        subject: &[u8],
        env: Option<&mut Env>,
    ) -> Result<bool, TooManySteps> {
        let names = &self.flat[usize::from(no)].names;
        let (false, Some(env)) = (names.is_empty(), env) else {
            return pattern.is_match(subject);
        };
        let Some(groups) = pattern.groups(subject)? else {
            return Ok(false);
        };
        for (name, i) in names {
            if let Some((from, to)) = groups.get(*i).copied().flatten() {
                env.set(name.clone(), &subject[from..to]);
            }
        }
        Ok(true)
    }

    /// What the base and the sections of `set` say together.
    pub fn layer(&self, server: &Server, set: &Set) -> Rc<Layer> {
        if set.is_empty() {
            return self.base.clone();
        }
        if let Some(known) = self.memo.borrow().get(set.0.as_slice()) {
            return known.clone();
        }
        let mut layer = Layer::clone(&self.base);
        let mut rest = set.0.as_slice();
        while let [no, behind @ ..] = rest {
            let section = self.section(server, *no);
            let limits = &self.flat[usize::from(*no)].limits;
            let count = behind
                .iter()
                .take_while(|next| limits.contains(next))
                .count();
            if limits.is_empty() {
                layer = layer.merged(&section.layer);
            } else {
                let applying = behind[..count]
                    .iter()
                    .map(|no| &self.section(server, *no).layer);
                layer = layer.merged(&limited(section, applying));
            }
            rest = &behind[count..];
        }
        let layer = Rc::new(layer);
        let mut memo = self.memo.borrow_mut();
        if memo.len() >= MEMO {
            memo.clear();
        }
        memo.insert(set.0.clone().into_boxed_slice(), layer.clone());
        layer
    }
}

/// A section's layer with the access control of its `<Limit>`s that cover the method. One whose
/// rules all stand in a `<Limit>` that does not cover it restricts nothing, and replaces what
/// stands further out all the same.
fn limited<'a>(section: &'a Section, applying: impl Iterator<Item = &'a Layer>) -> Layer {
    let mut layer = section.layer.clone();
    let mut rules: Vec<Require> = layer.require.iter().map(|r| Require::clone(r)).collect();
    let mut compat = layer.compat.as_deref().cloned();
    for limit in applying {
        rules.extend(limit.require.iter().map(|r| Require::clone(r)));
        if let Some(inner) = &limit.compat {
            let sum = compat.get_or_insert_with(Compat::default);
            sum.order = inner.order;
            sum.allow.extend_from_slice(&inner.allow);
            sum.deny.extend_from_slice(&inner.deny);
        }
        layer.satisfy_all = limit.satisfy_all.or(layer.satisfy_all);
    }
    let inside = |f: fn(&Layer) -> bool| {
        section
            .inner
            .iter()
            .any(|s| s.kind == SectionKind::Limit && f(&s.layer))
    };
    layer.require = match rules.len() {
        0 if inside(|l| l.require.is_some()) => Some(Arc::new(Require::All(true))),
        0 => None,
        1 => rules.pop().map(Arc::new),
        _ => Some(Arc::new(Require::AnyOf(rules))),
    };
    if compat.is_none() && inside(|l| l.compat.is_some()) {
        compat = Some(Compat::default());
    }
    layer.compat = compat.map(Arc::new);
    layer
}

/// Does a `<Limit>` or `<LimitExcept>` cover the method? Naming GET covers HEAD.
fn covers(matcher: &Matcher, method: &Method) -> bool {
    let Matcher::Methods { names, except } = matcher else {
        return false;
    };
    let name = match method {
        Method::Head => "GET",
        other => other.as_str(),
    };
    let listed = names.iter().any(|n| n == name || n == method.as_str());
    listed != *except
}

/// A prefix that ends at a segment: `/a` holds for `/a` and `/a/x`, `/a/` only for `/a/x`.
pub fn at_boundary(prefix: &[u8], path: &[u8]) -> bool {
    path.starts_with(prefix)
        && (prefix.ends_with(b"/") || matches!(path.get(prefix.len()), None | Some(b'/')))
}

/// The same for directories, where a slash at the prefix's end means nothing.
fn in_directory(prefix: &[u8], filename: &[u8]) -> bool {
    match prefix.strip_suffix(b"/") {
        Some([]) | None => at_boundary(prefix, filename),
        Some(dir) => at_boundary(dir, filename),
    }
}

/// A wildcard names a directory of as many components as itself.
fn wild_directory(pattern: &[u8], filename: &[u8]) -> bool {
    let pattern = pattern.strip_suffix(b"/").unwrap_or(pattern);
    let slashes = pattern.iter().filter(|c| **c == b'/').count();
    let end = memchr::memchr_iter(b'/', filename)
        .nth(slashes)
        .unwrap_or(filename.len());
    glob::matches(pattern, &filename[..end], true)
}

/// How many components a `<Directory>` names.
fn depth(matcher: &Matcher) -> usize {
    match matcher {
        Matcher::Prefix(text) | Matcher::Wild(text) => text
            .split(|c| *c == b'/')
            .filter(|part| !part.is_empty())
            .count(),
        _ => usize::MAX,
    }
}

fn variables(pattern: &Pattern) -> Vec<(String, usize)> {
    pattern
        .names()
        .into_iter()
        .map(|(name, i)| (format!("MATCH_{}", name.to_ascii_uppercase()), i))
        .collect()
}

fn shown_matcher(matcher: &Matcher) -> String {
    match matcher {
        Matcher::Prefix(text) | Matcher::Wild(text) => shown(text),
        Matcher::Regex(pattern) => format!("~ {}", pattern.text()),
        Matcher::Methods { names, .. } => names.join(" "),
    }
}
