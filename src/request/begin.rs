//! The first look at a request: target, Host, virtual host, normalised path (spec: config 6, 9.2).

use std::borrow::Cow;

use crate::codec::fields::Fields;
use crate::codec::host::{self, Authority};
use crate::codec::http1::head::{HeadError, Method, RequestHead, Version, glance};
use crate::codec::target::{self, ParsedTarget, Path, Target};
use crate::config::settings::EncodedSlashes;
use crate::fault::{Fault, Kind, Origin, Phase};

use super::env::Env;
use super::request::{ConnInfo, Effects, Request, Sections};
use super::room::Routes;

/// Makes a request of a parsed head. What is wrong with it is left in `refused`.
pub fn begin(routes: &Routes, head: RequestHead, info: ConnInfo) -> Request {
    let mut req = blank(routes, head, info);
    if let Err(fault) = open(routes, &mut req) {
        req.refused = Some(fault);
    }
    req
}

/// Makes a request of a head that could not be parsed.
pub fn begin_refused(routes: &Routes, error: HeadError, info: ConnInfo) -> Request {
    // What its first line says, for the log and so that a HEAD gets no body.
    let (method, raw, version) = glance(&error.line);
    let path = raw.split(|&b| b == b'?').next().unwrap_or_default();
    let path = target::normalise(path, EncodedSlashes::NoDecode, true);
    let head = RequestHead {
        method,
        target: Vec::new(),
        version,
        fields: Fields::default(),
        line: error.line,
    };
    let mut req = blank(routes, head, info);
    req.path.decoded = path.map_or_else(|_| b"/".to_vec(), |path| path.decoded);
    req.broken = true;
    req.refused = Some(malformed(error.status, error.reason));
    req
}

fn blank(routes: &Routes, head: RequestHead, info: ConnInfo) -> Request {
    let server = routes.hosts.default_server(info.local);
    let canonical = |mut address: std::net::SocketAddr| {
        address.set_ip(address.ip().to_canonical());
        address
    };
    Request {
        head,
        target: ParsedTarget {
            form: Target::Origin,
            raw_path: Vec::new(),
            query: None,
        },
        path: Path::default(),
        host: None,
        server,
        layer: routes.table(server).base().clone(),
        client: canonical(info.client),
        local: canonical(info.local),
        served: info.served,
        received: info.received,
        env: Env::default(),
        notes: Env::default(),
        filename: Vec::new(),
        document_root: None,
        path_info: Vec::new(),
        handler: Cow::Borrowed(""),
        proxy_to: None,
        original: None,
        link: info.link,
        body_length: info.body_length,
        remote_host: None,
        local_name: None,
        broken: false,
        path_refused: None,
        sections: Sections::default(),
        error_fields: Fields::default(),
        effects: Effects::default(),
        refused: None,
        elsewhere: None,
        overridden_reason: None,
    }
}

fn open(routes: &Routes, req: &mut Request) -> Result<(), Fault> {
    req.target = target::parse_target(&req.head.method, &req.head.target).map_err(refuse)?;
    let field = host_field(req)?;
    match &req.target.form {
        Target::Absolute { scheme, authority } => {
            // ftp and friends are nobody's business here; their path would be served as if it were ours.
            if scheme != "http" && scheme != "https" {
                return Err(malformed(400, "the target's scheme is not http"));
            }
            req.host = Some(host::parse_host(authority).map_err(refuse)?);
            // RFC 9112 3.2.2: the target decides, and what is passed on must agree with it.
            req.head.fields.set("Host", authority);
        }
        Target::Authority { host, port } => {
            req.host = Some(Authority {
                host: host.clone(),
                port: Some(*port),
            });
        }
        Target::Origin | Target::Asterisk => req.host = field,
    }
    choose(routes, req)?;
    if req.head.method == Method::Connect {
        return Err(Fault::status(405, "CONNECT is for forward proxies"));
    }
    expectation(req)?;
    normalise(routes, req, None)
}

/// Exactly one Host field in HTTP/1.1, at most one in 1.0 (RFC 9112 3.2).
fn host_field(req: &Request) -> Result<Option<Authority>, Fault> {
    let mut all = req.head.fields.get_all("Host");
    match (all.next(), all.next()) {
        (None, _) if req.head.version == Version::Http10 => Ok(None),
        (None, _) => Err(malformed(400, "an HTTP/1.1 request without Host")),
        (Some(_), Some(_)) => Err(malformed(400, "more than one Host field")),
        (Some(value), None) => host::parse_host(value).map(Some).map_err(refuse),
    }
}

/// The virtual host.
fn choose(routes: &Routes, req: &mut Request) -> Result<(), Fault> {
    let name = req.host.as_ref().map(|h| h.host.as_str());
    let (server, found) = routes.hosts.find(req.local, name, &req.target.raw_path);
    req.server = server;
    req.layer = routes.table(server).base().clone();
    let settings = routes.server(server);
    routes
        .trace
        .step(Some(&settings.span), super::trace::Verdict::Matched, || {
            format!("{}, {}", settings.name, found.words())
        });
    if let Some(name) = name
        && settings.strict_host_check
        && !routes.hosts.knows(&routes.settings, req.local, name)
    {
        return Err(malformed(
            400,
            "no server here has that name (StrictHostCheck)",
        ));
    }
    Ok(())
}

/// RFC 9110 10.1.1: an expectation that is not understood is answered 417.
fn expectation(req: &Request) -> Result<(), Fault> {
    let unknown = req
        .head
        .fields
        .get_all("Expect")
        .any(|e| !e.is_empty() && !e.eq_ignore_ascii_case(b"100-continue"));
    if unknown {
        return Err(malformed(
            417,
            "AH00570: client sent an unrecognized expectation value",
        ));
    }
    Ok(())
}

/// Brings the path into its normal form; `raw`: another path than the target's.
pub(super) fn normalise(
    routes: &Routes,
    req: &mut Request,
    raw: Option<&[u8]>,
) -> Result<(), Fault> {
    if req.target.form == Target::Asterisk {
        req.path.decoded = b"*".to_vec();
        return Ok(());
    }
    let server = routes.server(req.server);
    let raw = raw.unwrap_or(&req.target.raw_path);
    match target::normalise(raw, server.encoded_slashes, server.merge_slashes) {
        Ok(path) => req.path = path,
        Err(e) if e.status == 404 && routes.has_early_rules(req.server) => {
            req.path = target::normalise(raw, EncodedSlashes::NoDecode, server.merge_slashes)
                .map_err(|e| bad_path(raw, e.status, e.reason))?;
            req.path_refused = Some(bad_path(raw, e.status, e.reason));
        }
        Err(e) => return Err(bad_path(raw, e.status, e.reason)),
    }
    routes.trace.note(|| {
        format!(
            "path: {} (encoded {})",
            super::trace::shown(&req.path.decoded),
            super::trace::shown(&req.path.encoded)
        )
    });
    Ok(())
}

fn bad_path(raw: &[u8], status: u16, reason: &str) -> Fault {
    let shown = raw.escape_ascii();
    let detail = match status {
        404 => format!("AH00026: invalid URI path ({shown}): {reason}"),
        _ => format!("AH10244: invalid URI path ({shown}): {reason}"),
    };
    Fault::new(
        Origin::Client,
        Phase::Mapping,
        Kind::Malformed(status),
        detail,
    )
}

fn refuse(error: HeadError) -> Fault {
    malformed(error.status, error.reason)
}

fn malformed(status: u16, reason: &str) -> Fault {
    Fault::new(
        Origin::Client,
        Phase::RequestHead,
        Kind::Malformed(status),
        reason,
    )
}
