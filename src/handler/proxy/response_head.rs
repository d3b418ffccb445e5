//! A backend's head made fit for the client (spec: proxy 7): what was between the two of us goes,
//! dates get one form, URLs and cookies become public.

use std::time::Duration;

use super::{cookies, dates, request_head, reverse};
use crate::balancer::Balancing;
use crate::codec::fields::{Fields, same_name, tokens};
use crate::codec::http1::head::{Method, ResponseHead, Version};
use crate::config::settings::{Server, Via};
use crate::request::{Request, Room, answer, names};
use crate::upstream::keep_alive_timeout;

/// What a field is to a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Passed on as it is.
    Other = 0,
    Connection,
    KeepAlive,
    ContentLength,
    TransferEncoding,
    /// Any other field that concerns one connection only.
    HopByHop,
    Date,
    /// `Expires`, `Last-Modified`.
    Stamp,
    Server,
    SetCookie,
    ContentType,
    /// Holds a URL that ProxyPassReverse may change.
    Url,
}

impl Class {
    fn of(name: &[u8]) -> Class {
        let (class, full): (Class, &[u8]) = match (name.len(), name.first().map_or(0, |b| b | 0x20))
        {
            (10, b'c') => (Class::Connection, b"Connection"),
            (10, b'k') => (Class::KeepAlive, b"Keep-Alive"),
            (14, b'c') => (Class::ContentLength, b"Content-Length"),
            (17, b't') => (Class::TransferEncoding, b"Transfer-Encoding"),
            (16, b'p') => (Class::HopByHop, b"Proxy-Connection"),
            (18, b'p') => (Class::HopByHop, b"Proxy-Authenticate"),
            (2, b't') => (Class::HopByHop, b"TE"),
            (7, b't') => (Class::HopByHop, b"Trailer"),
            (7, b'u') => (Class::HopByHop, b"Upgrade"),
            (4, b'd') => (Class::Date, b"Date"),
            (7, b'e') => (Class::Stamp, b"Expires"),
            (13, b'l') => (Class::Stamp, b"Last-Modified"),
            (6, b's') => (Class::Server, b"Server"),
            (10, b's') => (Class::SetCookie, b"Set-Cookie"),
            (12, b'c') => (Class::ContentType, b"Content-Type"),
            (8, b'l') => (Class::Url, b"Location"),
            (16, b'c') => (Class::Url, b"Content-Location"),
            (3, b'u') => (Class::Url, b"URI"),
            (11, b'd') => (Class::Url, b"Destination"),
            _ => return Class::Other,
        };
        match same_name(name, full) {
            true => class,
            false => Class::Other,
        }
    }

    fn ends_here(self) -> bool {
        use Class::{Connection, ContentLength, HopByHop, KeepAlive, TransferEncoding};
        matches!(
            self,
            Connection | KeepAlive | ContentLength | TransferEncoding | HopByHop
        )
    }
}

/// One look over all fields of a head as received, so that most heads need no second one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// A bit for each class that is there.
    seen: u16,
    /// The backend says that it closes.
    closes: bool,
    /// A date is not in the preferred form.
    odd_date: bool,
    /// There is more than one Content-Type.
    many_types: bool,
    /// Fields that Connection names, framing and the like aside.
    nominated: Vec<Vec<u8>>,
    /// How long the backend keeps the connection.
    pub keep_alive: Option<Duration>,
}

impl Survey {
    /// Of a list of fields.
    pub fn of(fields: &Fields) -> Survey {
        let mut survey = Survey::default();
        for (name, value) in fields.iter() {
            let class = Class::of(name);
            survey.many_types |= class == Class::ContentType && survey.has(class);
            survey.seen |= 1 << class as u16;
            match class {
                Class::Connection => survey.take_connection(value),
                Class::KeepAlive => survey.keep_alive = keep_alive_timeout(value),
                Class::Date | Class::Stamp => survey.odd_date |= !dates::is_normal(value),
                _ => {}
            }
        }
        survey
    }

    /// The backend keeps the connection open. An HTTP/1.0 answer never leaves one that is used again.
    pub fn persistent(&self, version: Version) -> bool {
        version == Version::Http11 && !self.closes
    }

    fn take_connection(&mut self, value: &[u8]) {
        for token in tokens(value) {
            if same_name(token, b"close") {
                self.closes = true;
            } else if !same_name(token, b"keep-alive") && !is_protected(token) {
                self.nominated.push(token.to_vec());
            }
        }
    }

    fn has(&self, class: Class) -> bool {
        self.seen & (1 << class as u16) != 0
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
    survey: &Survey,
) {
    // Of a HEAD these describe the body that a GET would get.
    let of_head = req.head.method == Method::Head && !matches!(head.status, 204 | 304);
    let old_client = req.head.version == Version::Http10;
    let mut lengths = 0;
    remove_hop_by_hop(&mut head.fields, survey, |class| match class {
        Class::ContentLength => {
            lengths += 1;
            of_head && lengths == 1
        }
        Class::TransferEncoding => of_head && !old_client,
        _ => false,
    });
    head.version = Version::Http11;
    if survey.odd_date {
        for name in ["Date", "Expires", "Last-Modified"] {
            if let Some(value) = head.fields.get(name) {
                let fixed = dates::normal(value).into_owned();
                head.fields.set(name, &fixed);
            }
        }
    }
    if survey.many_types {
        // Clients disagree on which one counts: like httpd the first.
        let mut types = 0;
        head.fields.retain(|name, _| {
            types += i32::from(Class::of(name) == Class::ContentType);
            Class::of(name) != Class::ContentType || types == 1
        });
    }
    own_names(&mut head.fields, survey);
    if survey.has(Class::Url) {
        rewrite_urls(room, balancing, server, req, &mut head.fields);
    }
    if survey.has(Class::SetCookie) {
        set_cookies(req, &mut head.fields);
    }
    add_via(room, server, req, &mut head.fields);
}

/// An interim response's fields for the client.
pub fn make_interim(room: &Room, server: &Server, req: &Request, head: &ResponseHead) -> Fields {
    let mut fields = head.fields.clone();
    remove_hop_by_hop(&mut fields, &Survey::of(&head.fields), |_| false);
    add_via(room, server, req, &mut fields);
    fields
}

/// `ProxyVia`, with the client's version as httpd has it.
fn add_via(room: &Room, server: &Server, req: &Request, fields: &mut Fields) {
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

/// Removes what concerns one connection only, and what Connection names. `keep` may save some.
fn remove_hop_by_hop(fields: &mut Fields, survey: &Survey, mut keep: impl FnMut(Class) -> bool) {
    fields.retain(|name, _| {
        let class = Class::of(name);
        match class.ends_here() {
            true => keep(class),
            false => !survey.nominated.iter().any(|n| same_name(n, name)),
        }
    });
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

/// The backend's Date and Server stand; what it did not send is ours, in front.
fn own_names(fields: &mut Fields, survey: &Survey) {
    let (date, server) = (survey.has(Class::Date), survey.has(Class::Server));
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

    fn without_hops(mut f: Fields) -> Fields {
        let survey = Survey::of(&f);
        remove_hop_by_hop(&mut f, &survey, |_| false);
        f
    }

    #[test]
    fn hop_by_hop_fields_end_here() {
        let f = without_hops(fields(&[
            ("Connection", "X-Int, keep-alive"),
            ("Keep-Alive", "timeout=5"),
            ("X-Int", "secret"),
            ("Proxy-Authenticate", "Basic"),
            ("Transfer-Encoding", "chunked"),
            ("TE", "x"),
            ("Trailer", "x"),
            ("upgrade", "h2c"),
            ("content-length", "1"),
            ("X-Stay", "1"),
        ]));
        assert_eq!(f.len(), 1);
        assert!(f.contains("X-Stay"));
    }

    #[test]
    fn a_backend_cannot_hide_the_content_type() {
        let f = without_hops(fields(&[
            ("Connection", "Content-Type"),
            ("Content-Type", "text/html"),
        ]));
        assert!(f.contains("Content-Type"));
    }

    #[test]
    fn one_look_tells_all() {
        let survey = Survey::of(&fields(&[
            ("Date", "Sunday, 06-Nov-94 08:49:37 GMT"),
            ("Keep-Alive", "timeout=7"),
            ("LOCATION", "/x"),
        ]));
        assert!(survey.odd_date && survey.has(Class::Url) && survey.has(Class::Date));
        assert!(!survey.has(Class::Server) && !survey.has(Class::SetCookie));
        assert_eq!(survey.keep_alive, Some(Duration::from_secs(7)));
        assert!(survey.persistent(Version::Http11) && !survey.persistent(Version::Http10));
        let closing = Survey::of(&fields(&[("connection", "x-a, Close")]));
        assert!(!closing.persistent(Version::Http11));
        assert_eq!(closing.nominated, [b"x-a".to_vec()]);
    }
}
