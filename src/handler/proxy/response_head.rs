//! A backend's head made fit for the client (spec: proxy 7): what was between the two of us goes,
//! dates get one form, URLs and cookies become public.

use std::time::Duration;

use super::{cookies, dates, request_head, reverse};
use crate::balancer::Balancing;
use crate::codec::fields::{Fields, tokens};
use crate::codec::http1::head::{Method, ResponseHead, Version};
use crate::config::settings::{Server, Via};
use crate::request::{Request, Room, answer, names};
use crate::upstream::keep_alive_timeout;

/// What the head said about its connection, read before that is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The backend keeps it open.
    pub persistent: bool,
    /// For so long.
    pub timeout: Option<Duration>,
}

impl Connection {
    /// Of a head as received. An HTTP/1.0 answer never leaves a connection that is used again.
    pub fn of(head: &ResponseHead) -> Connection {
        Connection {
            persistent: head.version == Version::Http11
                && !head.fields.has_token("Connection", "close"),
            timeout: head.fields.get("Keep-Alive").and_then(keep_alive_timeout),
        }
    }
}

/// Changes `head` into what the client gets. Framing and connection fields are the client side's
/// business, except for what a head without a body says of the body it would have had.
pub fn make_public(
    room: &Room,
    balancing: &Balancing,
    server: &Server,
    req: &Request,
    head: &mut ResponseHead,
) {
    let has_body = has_body(&req.head.method, head.status);
    let of_head = req.head.method == Method::Head && !matches!(head.status, 204 | 304);
    let old_client = req.head.version == Version::Http10;
    remove_hop_by_hop(&mut head.fields, |name| {
        // Of a HEAD these describe the body that a GET would get.
        of_head
            && !has_body
            && (name.eq_ignore_ascii_case(b"Content-Length")
                || (name.eq_ignore_ascii_case(b"Transfer-Encoding") && !old_client))
    });
    head.version = Version::Http11;
    for name in ["Date", "Expires", "Last-Modified"] {
        let fixed = match head.fields.get(name) {
            Some(value) if !dates::is_normal(value) => dates::normal(value).into_owned(),
            _ => continue,
        };
        head.fields.set(name, &fixed);
    }
    own_names(&mut head.fields);
    rewrite_urls(room, balancing, server, req, &mut head.fields);
    set_cookies(req, &mut head.fields);
    add_via(room, server, req, &mut head.fields);
}

/// `ProxyVia`, with the client's version as httpd has it.
pub fn add_via(room: &Room, server: &Server, req: &Request, fields: &mut Fields) {
    if matches!(server.proxy.via, Via::On | Via::Full) {
        let mut via = Vec::new();
        let name = via_name(room, req);
        request_head::write_via(&mut via, req.head.version, &name, server.proxy.via);
        fields.push(b"Via", &via);
    }
}

/// Whether an answer with this status to this method has a body.
pub fn has_body(method: &Method, status: u16) -> bool {
    *method != Method::Head && !matches!(status, 204 | 304) && status >= 200
}

/// `ServerName[:port]`, as Via shows it.
pub fn via_name(room: &Room, req: &Request) -> String {
    let server = room.settings.server(req.server);
    let port = names::self_port(&room.routes, req);
    match port == names::default_port(&server.scheme) {
        true => server.name.clone(),
        false => format!("{}:{port}", server.name),
    }
}

/// Removes what concerns one connection only, and what Connection names. `keep` may save framing.
pub fn remove_hop_by_hop(fields: &mut Fields, keep: impl Fn(&[u8]) -> bool) {
    let nominated: Vec<Vec<u8>> = fields
        .get_all("Connection")
        .flat_map(tokens)
        .filter(|t| !is_usual(t) && !is_protected(t))
        .map(<[u8]>::to_vec)
        .collect();
    fields.retain(|name, _| {
        let gone = is_hop_by_hop(name) || nominated.iter().any(|n| n.eq_ignore_ascii_case(name));
        !gone || keep(name)
    });
}

fn is_usual(token: &[u8]) -> bool {
    token.eq_ignore_ascii_case(b"keep-alive") || token.eq_ignore_ascii_case(b"close")
}

/// A backend cannot nominate these away: they belong to the message.
fn is_protected(token: &[u8]) -> bool {
    const NAMES: &[&str] = &[
        "Content-Type",
        "Content-Encoding",
        "Set-Cookie",
        "Location",
        "Date",
    ];
    NAMES
        .iter()
        .any(|n| token.eq_ignore_ascii_case(n.as_bytes()))
}

fn is_hop_by_hop(name: &[u8]) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    match name.first().map(u8::to_ascii_lowercase) {
        Some(b'c') => is("Connection") || is("Content-Length"),
        Some(b'k') => is("Keep-Alive"),
        Some(b'p') => is("Proxy-Connection") || is("Proxy-Authenticate"),
        Some(b't') => is("Transfer-Encoding") || is("TE") || is("Trailer"),
        Some(b'u') => is("Upgrade"),
        _ => false,
    }
}

/// The backend's Date and Server stand; what it did not send is ours, in front.
fn own_names(fields: &mut Fields) {
    let (date, server) = (fields.contains("Date"), fields.contains("Server"));
    if date && server {
        return;
    }
    let own = answer::head(200).fields;
    let mut all = Fields::default();
    for (name, there) in [("Date", date), ("Server", server)] {
        if let (Some(value), false) = (own.get(name), there) {
            all.push(name.as_bytes(), value);
        }
    }
    for (name, value) in fields.iter() {
        all.push(name, value);
    }
    *fields = all;
}

fn rewrite_urls(
    room: &Room,
    balancing: &Balancing,
    server: &Server,
    req: &Request,
    fields: &mut Fields,
) {
    let rules = &req.layer.reverse;
    if rules.is_empty() {
        return;
    }
    let env = (req.layer.interpolate_env == Some(true)).then_some(&req.env);
    for name in reverse::FIELDS {
        let Some(path) = fields
            .get(name)
            .and_then(|v| reverse::public_path(balancing, server, rules, env, v))
        else {
            continue;
        };
        let url = match path.starts_with(b"/") {
            true => names::self_url(&room.routes, req, &path),
            false => path,
        };
        fields.set(name, &url);
    }
}

/// Set-Cookie lines stand last, with public domains and paths.
fn set_cookies(req: &Request, fields: &mut Fields) {
    if !fields.contains("Set-Cookie") {
        return;
    }
    let layer = &req.layer;
    let cookies: Vec<Vec<u8>> = fields
        .get_all("Set-Cookie")
        .map(|v| cookies::public(v, &layer.cookie_domain, &layer.cookie_path).into_owned())
        .collect();
    fields.remove("Set-Cookie");
    for cookie in cookies {
        fields.push(b"Set-Cookie", &cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(list: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::default();
        for (name, value) in list {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    #[test]
    fn hop_by_hop_fields_end_here() {
        let mut f = fields(&[
            ("Connection", "X-Int, keep-alive"),
            ("Keep-Alive", "timeout=5"),
            ("X-Int", "secret"),
            ("Proxy-Authenticate", "Basic"),
            ("Transfer-Encoding", "chunked"),
            ("X-Stay", "1"),
        ]);
        remove_hop_by_hop(&mut f, |_| false);
        assert_eq!(f.len(), 1);
        assert!(f.contains("X-Stay"));
    }

    #[test]
    fn a_backend_cannot_hide_the_content_type() {
        let mut f = fields(&[
            ("Connection", "Content-Type"),
            ("Content-Type", "text/html"),
        ]);
        remove_hop_by_hop(&mut f, |_| false);
        assert!(f.contains("Content-Type"));
    }

    #[test]
    fn what_the_connection_promised() {
        let mut head = ResponseHead {
            status: 200,
            reason: Vec::new(),
            version: Version::Http11,
            fields: fields(&[("Keep-Alive", "timeout=7")]),
        };
        let c = Connection::of(&head);
        assert!(c.persistent && c.timeout == Some(Duration::from_secs(7)));
        head.version = Version::Http10;
        assert!(!Connection::of(&head).persistent);
        head.version = Version::Http11;
        head.fields.push(b"connection", b"Close");
        assert!(!Connection::of(&head).persistent);
    }
}
