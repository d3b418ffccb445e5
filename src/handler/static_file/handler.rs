//! From a mapped request to a file, an index, a redirect or an error.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use crate::codec::http1::head::Method;
use crate::config::layer::Options;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::log::level;
use crate::request::alias::escaped;
use crate::request::answer::{self, Answer};
use crate::request::names;
use crate::request::say::say;
use crate::request::{Handler, Handling, Request, RequestBody, Room};

use super::answering;
use super::lookup::{Denial, Found, Links, find};

/// The handler of files.
#[derive(Clone, Copy, Debug, Default)]
pub struct StaticFiles;

impl Handler for StaticFiles {
    fn handle<'a>(
        &'a self,
        room: &'a Room,
        req: &'a mut Request,
        _: &'a mut RequestBody,
    ) -> Handling<'a> {
        // Nothing here waits: what a client may send with its request is for the connection to skip.
        Box::pin(async move { serve(room, req) })
    }
}

fn serve(room: &Room, req: &mut Request) -> Result<Answer, Fault> {
    if !matches!(req.head.method, Method::Get | Method::Head | Method::Post) {
        let detail = "a method that files do not take";
        return Err(Fault::new(
            Origin::Client,
            Phase::Mapping,
            Kind::Status(405),
            detail,
        ));
    }
    let place = req.document_root.clone().and_then(|root| {
        let rest = req.filename.strip_prefix(root.as_os_str().as_bytes())?;
        Some((root.clone(), rest.to_vec()))
    });
    let Some((root, rest)) = place else {
        return Err(Fault::status(404, "the path is mapped to no file"));
    };
    match find(&root, &rest, &|directory| links(room, req, directory)) {
        Found::File(open) => {
            let accepts = req.layer.accept_path_info.unwrap_or(false);
            if !open.path_info.is_empty() && !accepts {
                return missing(req, "AH00130: File does not exist");
            }
            req.path_info.clone_from(&open.path_info);
            answering::answer(room, req, open)
        }
        Found::Directory => directory(room, req, &root, &rest),
        Found::Missing => missing(req, "AH00128: File does not exist"),
        Found::Denied(denial) => Err(denied(room, req, denial)),
    }
}

/// A directory: its address with a slash, its index, or nothing.
fn directory(
    room: &Room,
    req: &mut Request,
    root: &Rc<Path>,
    rest: &[u8],
) -> Result<Answer, Fault> {
    let layer = req.layer.clone();
    let path = req.path.decoded.clone();
    if path.last() != Some(&b'/') {
        if layer.directory_slash == Some(false) {
            return missing(req, "AH00129: Attempt to serve directory");
        }
        let mut location = names::self_url(&room.routes, req, &escaped(&path));
        location.push(b'/');
        push_query(req, &mut location);
        return Ok(answer::redirect(room, req, 301, &location));
    }
    let usual = ["index.html".to_string()];
    let indexes = layer.directory_index.as_deref().unwrap_or(&usual);
    let mut trouble = None;
    for name in indexes {
        if name.starts_with('/') {
            // Somewhere else on this server; whether it is there shows when it is asked for. Not
            // for the address itself, which would go round in circles.
            if name.as_bytes() != path {
                return Err(elsewhere(req, name.as_bytes().to_vec()));
            }
            continue;
        }
        let inside = [rest, b"/", name.as_bytes()].concat();
        match find(root, &inside, &|directory| links(room, req, directory)) {
            Found::File(open) if open.path_info.is_empty() => {
                let target = [escaped(&path), escaped(name.as_bytes())].concat();
                return Err(elsewhere(req, target));
            }
            Found::Denied(denial) => trouble = Some(denial),
            _ => {}
        }
    }
    if let Some(denial) = trouble {
        return Err(denied(room, req, denial));
    }
    if let Some(fault) = fallback(req) {
        return Err(fault);
    }
    // As httpd: without mod_autoindex nothing is there, with it listing is not allowed.
    let listing = room.settings.modules.iter().any(|(m, _)| m == "autoindex");
    if !listing {
        return missing(req, "AH00129: Attempt to serve directory");
    }
    let text = format!(
        "AH01276: Cannot serve directory {}: No matching DirectoryIndex ({}) found, and server-generated directory index forbidden by Options directive",
        String::from_utf8_lossy(&req.filename),
        indexes.join(",")
    );
    say(room, req, level::ERROR, "autoindex", None, &text);
    Err(Fault::status(403, ""))
}

/// 404, or FallbackResource where there is one.
fn missing(req: &mut Request, what: &str) -> Result<Answer, Fault> {
    if let Some(fault) = fallback(req) {
        return Err(fault);
    }
    let name = String::from_utf8_lossy(&req.filename);
    Err(Fault::status(404, format!("{what}: {name}")))
}

fn fallback(req: &mut Request) -> Option<Fault> {
    let target = req.layer.fallback_resource.clone()?;
    // The resource itself is missing: that is a plain 404.
    if target.is_empty() || target.as_bytes() == req.path.decoded || req.is_error_document() {
        return None;
    }
    Some(elsewhere(req, target.into_bytes()))
}

/// Goes on with another path, the query with it.
fn elsewhere(req: &mut Request, mut target: Vec<u8>) -> Fault {
    if !target.contains(&b'?') {
        push_query(req, &mut target);
    }
    answer::elsewhere(req, target)
}

fn push_query(req: &Request, target: &mut Vec<u8>) {
    if let Some(query) = &req.target.query {
        target.push(b'?');
        target.extend_from_slice(query);
    }
}

/// What Options say of links in a directory. As in httpd, `<Location>`s have no say in it.
fn links(room: &Room, req: &Request, directory: &Path) -> Links {
    let routes = &room.routes;
    let server = routes.server(req.server);
    let table = routes.table(req.server);
    let name = directory.as_os_str().as_bytes();
    let Ok(set) = table.files(server, name, &req.head.method, None, &routes.trace) else {
        return Links::Never;
    };
    let layer = table.layer(server, &set);
    allowed(layer.options)
}

fn allowed(options: Option<Options>) -> Links {
    let Some(o) = options else {
        return Links::Inside;
    };
    if o.on & Options::FOLLOW != 0 {
        Links::Always
    } else if o.on & Options::OWNER != 0 {
        Links::SameOwner
    } else if o.relative && o.off & Options::FOLLOW == 0 {
        Links::Inside
    } else {
        Links::Never
    }
}

/// Logs why and gives the answer: 403, or 503 where the machine is short of something.
fn denied(room: &Room, req: &Request, denial: Denial) -> Fault {
    let file = String::from_utf8_lossy(&req.filename);
    let (os, text) = match denial {
        Denial::Link => (
            None,
            format!("AH00037: Symbolic link not allowed or link target not accessible: {file}"),
        ),
        Denial::Kind => (
            None,
            format!("AH00038: object is not a file, directory or symlink: {file}"),
        ),
        Denial::System(errno) if matches!(errno, libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
            let text = format!("AH00132: cannot open {file}");
            say(room, req, level::ERROR, "core", Some(errno), &text);
            return Fault::new(Origin::Own, Phase::Mapping, Kind::Resources, "");
        }
        Denial::System(errno) => (
            Some(errno),
            format!("AH00132: file permissions deny server access: {file}"),
        ),
    };
    say(room, req, level::ERROR, "core", os, &text);
    Fault::status(403, "")
}

#[cfg(test)]
mod tests;
