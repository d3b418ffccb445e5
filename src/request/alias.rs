//! From a path to another address or to a file: Redirect, Alias, DocumentRoot (spec: modules 3).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use crate::config::layer::{Alias, Redirect, RedirectFrom};
use crate::config::pattern::{Groups, TooManySteps, substitute};

use super::map::{Mapped, match_prefix};
use super::names;
use super::request::Request;
use super::room::Routes;
use super::trace::shown;

/// The redirects of a list that stands in sections, in the server, or in both.
pub fn redirect(routes: &Routes, req: &Request, list: &[Redirect]) -> Result<Mapped, TooManySteps> {
    for rule in list {
        let found = redirected(req, rule)?;
        routes.trace.tried(&rule.span, found.is_some(), || {
            let from = match &rule.from {
                RedirectFrom::Prefix(prefix) => shown(prefix),
                RedirectFrom::Match(pattern) => format!("~ {}", pattern.text()),
                RedirectFrom::Section => "(all of the section)".into(),
            };
            let to = rule.to.as_deref().unwrap_or("");
            format!("Redirect {} {from} {to}", rule.status)
        });
        let Some(target) = found else {
            continue;
        };
        if !matches!(rule.status, 300..=399) {
            return Ok(Mapped::Status(rule.status));
        }
        let mut location = match target.first() {
            Some(b'/') => names::self_url(routes, req, &target),
            _ => target,
        };
        if let Some(query) = &req.target.query
            && !location.contains(&b'?')
        {
            let fragment = memchr::memchr(b'#', &location)
                .map(|i| location.split_off(i))
                .unwrap_or_default();
            location.push(b'?');
            location.extend_from_slice(query);
            location.extend_from_slice(&fragment);
        }
        return Ok(Mapped::Redirect(rule.status, location));
    }
    Ok(Mapped::No)
}

/// A file's name and the directory that must not be left.
type File = (Vec<u8>, Rc<Path>);

/// The target of a redirect when it applies; what comes from the path is escaped.
fn redirected(req: &Request, rule: &Redirect) -> Result<Option<Vec<u8>>, TooManySteps> {
    let path = &req.path.decoded;
    let to = rule.to.as_deref().unwrap_or_default().as_bytes();
    Ok(match &rule.from {
        RedirectFrom::Section => Some(to.to_vec()),
        RedirectFrom::Prefix(prefix) => match match_prefix(prefix, path) {
            0 => None,
            length => Some([to, &escaped(&path[length..])].concat()),
        },
        RedirectFrom::Match(pattern) => match pattern.groups(path)? {
            None => None,
            Some(groups) => {
                // The groups are escaped before they are put in: a decoded `?`, `#` or line end in
                // the path must not become one of the target's own.
                let (subject, groups) = escaped_groups(path, &groups);
                Some(substitute(to, &subject, &groups))
            }
        },
    })
}

fn escaped_groups(path: &[u8], groups: &Groups) -> (Vec<u8>, Groups) {
    let mut subject = Vec::new();
    let mut out: Groups = [None; 10];
    for (slot, group) in out.iter_mut().zip(groups) {
        if let Some((from, to)) = *group {
            let at = subject.len();
            subject.extend_from_slice(&escaped(&path[from..to]));
            *slot = Some((at, subject.len()));
        }
    }
    (subject, out)
}

/// A decoded path as it may stand in a Location field (httpd's os_escape_path, lower-case digits).
pub fn escaped(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    for &b in path {
        if b.is_ascii_alphanumeric() || b"$-_.+!*'(),:;@&=/~".contains(&b) {
            out.push(b);
        } else {
            out.push(b'%');
            out.push(b"0123456789abcdef"[usize::from(b >> 4)]);
            out.push(b"0123456789abcdef"[usize::from(b & 15)]);
        }
    }
    out
}

/// Alias lines of sections and of the server, then the document root: sets the file's name.
pub fn file(routes: &Routes, req: &mut Request) -> Result<Mapped, TooManySteps> {
    if req.path.decoded.first() != Some(&b'/') {
        return Ok(Mapped::No);
    }
    let layer = req.layer.clone();
    for rule in &layer.aliases {
        let found = aliased(req, rule)?;
        routes.trace.tried(&rule.span, found.is_some(), || {
            format!("Alias to {}", rule.to.display())
        });
        if let Some((filename, root)) = found {
            req.filename = filename;
            req.document_root = Some(root);
            return Ok(Mapped::Yes);
        }
    }
    let root = &routes.server(req.server).document_root;
    let directory = root.as_os_str().as_bytes();
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    req.filename = [directory, &req.path.decoded].concat();
    req.document_root = Some(routes.document_root(req.server));
    routes
        .trace
        .note(|| format!("a file: {}", shown(&req.filename)));
    Ok(Mapped::Yes)
}

fn aliased(req: &Request, rule: &Alias) -> Result<Option<File>, TooManySteps> {
    let path = &req.path.decoded;
    let to = rule.to.as_os_str().as_bytes();
    Ok(match &rule.from {
        RedirectFrom::Section => Some((to.to_vec(), Rc::from(&*rule.to))),
        RedirectFrom::Prefix(prefix) => match match_prefix(prefix, path) {
            0 => None,
            length => Some(([to, &path[length..]].concat(), Rc::from(&*rule.to))),
        },
        RedirectFrom::Match(pattern) => pattern.groups(path)?.map(|groups| {
            let fixed = memchr::memchr(b'$', to).unwrap_or(to.len());
            let root = memchr::memrchr(b'/', &to[..fixed]).map_or(&to[..0], |i| &to[..i.max(1)]);
            (
                substitute(to, path, &groups),
                Rc::from(Path::new(OsStr::from_bytes(root))),
            )
        }),
    })
}
