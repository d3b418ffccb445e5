//! Internal redirects: a request that goes on as another one (ErrorDocument, a handler's wish).

use std::borrow::Cow;

use crate::body::Length;
use crate::codec::http1::head::Method;
use crate::codec::target::{ParsedTarget, Target, for_the_log};
use crate::fault::Fault;

use super::begin;
use super::env::Env;
use super::request::{Original, Request, Sections};
use super::room::Routes;

/// Fields that make no sense for the page about an error: it is always sent whole.
const CONDITIONS: [&str; 6] = [
    "If-Match",
    "If-None-Match",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "If-Range",
    "Range",
];

/// Makes `req` a request for `target`, a local path with perhaps a query. `status`: of the error
/// that it is for, 200 for none. Fails when LimitInternalRecursion is used up or the path is bad;
/// the request is then left as it was.
pub fn internal(
    routes: &Routes,
    req: &mut Request,
    target: &[u8],
    status: u16,
) -> Result<(), Fault> {
    let depth = req.original.as_ref().map_or(0, |o| o.depth());
    if depth >= routes.server(req.server).internal_recursion {
        return Err(Fault::status(
            500,
            format!(
                "AH00124: Request exceeded the limit of {depth} internal redirects due to probable configuration error. Use 'LimitInternalRecursion' to increase the limit if necessary."
            ),
        ));
    }
    let (path, query) = match memchr::memchr(b'?', target) {
        Some(i) => (&target[..i], Some(target[i + 1..].to_vec())),
        None => (target, None),
    };
    let old_path = std::mem::take(&mut req.path);
    let old_raw = std::mem::take(&mut req.target.raw_path);
    req.path_refused = None;
    if let Err(fault) = begin::normalise(routes, req, Some(path)) {
        req.path = old_path;
        req.target.raw_path = old_raw;
        return Err(Fault::status(500, fault.detail));
    }
    let old = match old_path.decoded.is_empty() {
        // It was refused.
        true => for_the_log(&old_raw),
        false => old_path.decoded,
    };
    if status != 200 {
        req.env = renamed(req, &old, status);
    }
    let filename = req.file_or_url().into_owned();
    // The backend's phrase belongs to our own page; another document has the standard one.
    req.overridden_reason = None;
    req.original = Some(Box::new(Original {
        status,
        path: old,
        query: req.target.query.take(),
        handler: std::mem::replace(&mut req.handler, Cow::Borrowed("")),
        filename,
        before: req.original.take(),
    }));
    req.target = ParsedTarget {
        form: Target::Origin,
        raw_path: path.to_vec(),
        query,
    };
    if status != 200 {
        req.body_length = Length::None;
        if req.head.method != Method::Head {
            req.head.method = Method::Get;
        }
        req.head.fields.retain(|name, _| {
            !CONDITIONS
                .iter()
                .any(|c| name.eq_ignore_ascii_case(c.as_bytes()))
        });
    }
    req.notes = Env::default();
    req.filename.clear();
    req.path_info.clear();
    req.document_root = None;
    req.proxy_to = None;
    req.sections = Sections::default();
    req.layer = routes.table(req.server).base().clone();
    Ok(())
}

/// The variables as the new request sees them: each with `REDIRECT_` in front, and three more.
fn renamed(req: &Request, path: &[u8], status: u16) -> Env {
    let mut env = Env::default();
    for (name, value) in req.env.iter() {
        env.set(format!("REDIRECT_{name}"), value);
    }
    env.set("REDIRECT_STATUS", status.to_string());
    env.set("REDIRECT_URL", path);
    if let Some(query) = &req.target.query {
        env.set("REDIRECT_QUERY_STRING", query.as_slice());
    }
    env
}
