//! What is taken and works, and surely does not do what was meant: rules behind one that covers
//! them, managers that are open to everybody.

use std::collections::HashMap;

use crate::config::frame::Build;
use crate::config::glob;
use crate::config::layer::{Compat, HostRule, Layer, Order, Require};
use crate::config::settings::{
    Mapping, Matcher, Note, ProxyRule, RuleFrom, RuleTo, Section, SectionKind, Server,
};
use crate::config::span::Span;

/// Warns of ProxyPass lines that no request can reach: the first line that fits counts.
pub fn unreachable_rules(build: &mut Build, servers: &[Server]) {
    // A virtual host's list begins with the main server's, which is judged once.
    let main = servers.first().map_or(0, |s| s.proxy.rules.len());
    let mut found = Vec::new();
    for (i, server) in servers.iter().enumerate() {
        let judged = if i == 0 { 0 } else { main };
        let mut before = Before::default();
        for (k, rule) in server.proxy.rules.iter().enumerate() {
            if k >= judged
                && let Some(first) = before.covering(rule)
            {
                let from_main =
                    i > 0 && servers[0].proxy.rules.iter().any(|r| r.span == first.span);
                let remedy = match from_main {
                    false => "write this line above that one",
                    true => {
                        "the main server's lines come before all of a virtual host, so move that one into a virtual host"
                    }
                };
                let text = format!(
                    "{} is never reached: {} at {} covers it, and the first line that fits counts; {remedy}",
                    shown(rule),
                    shown(first),
                    first.span
                );
                found.push(Note {
                    span: rule.span.clone(),
                    warning: true,
                    text,
                });
            }
            before.add(rule);
        }
    }
    let more = found.len().saturating_sub(MOST);
    build.notes.extend(found.into_iter().take(MOST));
    if more > 0 {
        build.notes.push(Note {
            span: Span::default(),
            warning: true,
            text: format!("{more} more ProxyPass lines are never reached"),
        });
    }
}

/// One line of the main server may cover those of a thousand virtual hosts.
const MOST: usize = 50;

/// The rules above one.
#[derive(Default)]
struct Before<'a> {
    prefixes: HashMap<(bool, &'a [u8]), &'a ProxyRule>,
    /// Those that fit every path.
    all: HashMap<bool, &'a ProxyRule>,
}

impl<'a> Before<'a> {
    fn add(&mut self, rule: &'a ProxyRule) {
        let Some(early) = plain(rule) else {
            return;
        };
        match &rule.from {
            RuleFrom::Prefix(path) if path == b"/" => {
                self.all.entry(early).or_insert(rule);
            }
            RuleFrom::Prefix(path) => {
                self.prefixes.entry((early, path)).or_insert(rule);
            }
            RuleFrom::Match(pattern) => {
                let fits_all = ["^", "^/", "^/.*", "^/.*$", "^/(.*)", "^/(.*)$", "^(/.*)$"];
                if fits_all.contains(&pattern.text()) {
                    self.all.entry(early).or_insert(rule);
                }
            }
        }
    }

    /// The one that fits whatever this rule fits, and does something else with it.
    fn covering(&self, rule: &ProxyRule) -> Option<&'a ProxyRule> {
        let early = plain(rule)?;
        let other = |first: &&ProxyRule| {
            first.to != rule.to || matches!(rule.to, RuleTo::Url(_)) && first.span != rule.span
        };
        if let Some(first) = self.all.get(&early) {
            return Some(*first).filter(other);
        }
        let RuleFrom::Prefix(path) = &rule.from else {
            return None;
        };
        let ends = (0..path.len()).filter(|i| path[*i] == b'/');
        let ends = ends.flat_map(|i| [i, i + 1]).chain([path.len()]);
        ends.filter_map(|end| self.prefixes.get(&(early, &path[..end])).copied())
            .find(other)
    }
}

/// Whether a rule is one of those that see the path early; `None` for rules that may fit more or
/// less than they say.
fn plain(rule: &ProxyRule) -> Option<bool> {
    let odd = match &rule.from {
        RuleFrom::Prefix(path) => {
            !path.starts_with(b"/") || path.windows(2).any(|pair| pair == b"//")
        }
        RuleFrom::Match(_) => false,
    };
    match rule.mapping {
        _ if odd || rule.interpolate => None,
        Mapping::Decoded => Some(false),
        Mapping::Encoded => Some(true),
        Mapping::Servlet => None,
    }
}

fn shown(rule: &ProxyRule) -> String {
    let (name, from) = match &rule.from {
        RuleFrom::Prefix(path) => ("ProxyPass", String::from_utf8_lossy(path).into_owned()),
        RuleFrom::Match(pattern) => ("ProxyPassMatch", pattern.text().to_string()),
    };
    match &rule.to {
        RuleTo::Exclude => format!("{name} {from} !"),
        RuleTo::Url(url) => format!("{name} {from} {url}"),
    }
}

/// Warns of managers that anybody may use: their page changes the proxy.
pub fn open_managers(build: &mut Build, servers: &[Server]) {
    let mut told: Vec<&Span> = Vec::new();
    for server in servers {
        for section in &server.sections {
            if section.layer.handler.as_deref() == Some("balancer-manager")
                && !told.contains(&&section.span)
                && is_open(server, section)
            {
                told.push(&section.span);
                build.notes.push(Note {
                    span: section.span.clone(),
                    warning: true,
                    text: "SetHandler balancer-manager without a Require that restricts it: everybody who reaches this address may change balancers; write for example Require local or Require ip".into(),
                });
            }
        }
    }
}

/// Whether everybody gets to the section's own path, as far as that is certain.
fn is_open(server: &Server, section: &Section) -> bool {
    if section.inner.iter().any(|s| !grants(&s.layer)) {
        return false;
    }
    let path = path_of(section);
    let file = path.as_ref().map(|path| {
        let root = server.document_root.to_string_lossy();
        [root.trim_end_matches('/').as_bytes(), path].concat()
    });
    let of = |kind: SectionKind| server.sections.iter().filter(move |s| s.kind == kind);
    let mut directories: Vec<&Section> = of(SectionKind::Directory).collect();
    directories.sort_by_key(|s| match &s.matcher {
        Matcher::Prefix(p) | Matcher::Wild(p) => p.split(|c| *c == b'/').count(),
        _ => 0,
    });
    let order = directories
        .into_iter()
        .chain(of(SectionKind::DirectoryMatch))
        .chain(of(SectionKind::Files))
        .chain(of(SectionKind::Location));
    let mut holds = server.base.clone();
    let mut sure = true;
    for s in order {
        let layer = &s.layer;
        if layer.require.is_none() && layer.compat.is_none() {
            continue;
        }
        let fits = match std::ptr::eq(s, section) {
            true => Some(true),
            false => fits(s, path.as_deref(), file.as_deref()),
        };
        match fits {
            Some(true) => {
                holds = Layer {
                    require: holds.merged(layer).require,
                    compat: layer.compat.clone().or(holds.compat),
                    ..Layer::default()
                };
                sure |= layer.require.is_some();
            }
            Some(false) => {}
            None => sure &= grants(layer),
        }
    }
    sure && grants(&holds)
}

/// A path that the section is for; `None` where that takes guessing.
fn path_of(section: &Section) -> Option<Vec<u8>> {
    match &section.matcher {
        Matcher::Prefix(path) => Some(path.clone()),
        Matcher::Regex(pattern) => {
            let text = pattern.text();
            let plain = text.trim_start_matches('^').trim_end_matches('$');
            let fits = plain.starts_with('/') && pattern.is_match(plain.as_bytes()).ok()?;
            fits.then(|| plain.as_bytes().to_vec())
        }
        _ => None,
    }
}

/// Whether another section holds for this path and file; `None`: perhaps.
fn fits(section: &Section, path: Option<&[u8]>, file: Option<&[u8]>) -> Option<bool> {
    let below = |prefix: &[u8], subject: &[u8]| {
        let prefix = prefix.strip_suffix(b"/").unwrap_or(prefix);
        let rest = subject.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    match (section.kind, &section.matcher) {
        (SectionKind::Location | SectionKind::Directory, Matcher::Prefix(p)) if p == b"/" => {
            Some(true)
        }
        (SectionKind::Location, Matcher::Prefix(p)) => {
            let path = path?;
            let fits = below(p, path) && (!p.ends_with(b"/") || path.starts_with(p));
            Some(fits)
        }
        (SectionKind::Location, Matcher::Wild(p)) => Some(glob::matches(p, path?, true)),
        (SectionKind::Location, Matcher::Regex(p)) => p.is_match(path?).ok(),
        (SectionKind::Directory, Matcher::Prefix(p)) => Some(below(p, file?)),
        (SectionKind::Files, matcher) => {
            let name = file?.rsplit(|c| *c == b'/').next()?;
            match matcher {
                Matcher::Prefix(p) => Some(p == name),
                Matcher::Wild(p) => Some(glob::matches(p, name, true)),
                Matcher::Regex(p) => p.is_match(name).ok(),
                Matcher::Methods { .. } => None,
            }
        }
        _ => None,
    }
}

/// Whether a layer lets everybody in.
fn grants(layer: &Layer) -> bool {
    layer.require.as_deref().is_none_or(lets_all) && layer.compat.as_deref().is_none_or(allows_all)
}

fn lets_all(require: &Require) -> bool {
    match require {
        Require::All(granted) => *granted,
        Require::AnyOf(list) => list.iter().any(lets_all),
        Require::AllOf(list) => list.iter().all(lets_all),
        _ => false,
    }
}

fn allows_all(compat: &Compat) -> bool {
    let allowed = compat.allow.iter().any(|r| matches!(r, HostRule::All));
    compat.deny.is_empty() && (allowed || compat.order == Order::DenyAllow)
}
