//! What the access log sees of a finished exchange (spec: logging 2 and 3).

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use crate::clock::{self, Mono, Wall};
use crate::codec::fields::Fields;
use crate::codec::target::{canonical_escape, for_the_log};
use crate::log::access::{Record, Side};

use super::names;
use super::request::Request;
use super::room::{Room, Routes};
use super::setenv::joined;

/// The target URL with its path as it went to the backend, where it was escaped for it.
fn escaped(req: &Request) -> Option<Cow<'_, [u8]>> {
    let target = req.proxy_to.as_ref().filter(|t| !t.encoded)?;
    let url = &target.url;
    let authority = memchr::memmem::find(url, b"://")? + 3;
    let path = authority + memchr::memchr(b'/', &url[authority..])?;
    let mut out = b"proxy:".to_vec();
    out.extend_from_slice(&url[..path]);
    out.extend_from_slice(&canonical_escape(&url[path..]));
    if let Some(query) = &target.query {
        out.push(b'?');
        out.extend_from_slice(query);
    }
    Some(Cow::Owned(out))
}

/// What the connection knows at the end of an exchange.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    /// The status that the client got.
    pub status: u16,
    /// Fields of the answer.
    pub fields: &'a Fields,
    /// Body bytes sent, without framing.
    pub body_sent: u64,
    /// All bytes read for it, head included.
    pub bytes_in: u64,
    /// All bytes written for it, head included.
    pub bytes_out: u64,
    /// When the first byte of the answer went out.
    pub first_byte: Option<Mono>,
    /// The client went away before the answer was complete (`%X` X).
    pub aborted: bool,
    /// The connection is kept (`%X` +).
    pub kept: bool,
}

/// Writes the access-log lines of a finished exchange: every log of its virtual host whose
/// condition holds.
pub fn write_logs(room: &Room, req: &Request, outcome: &Outcome<'_>) {
    room.logs.access(
        req.server,
        &Exchange {
            routes: &room.routes,
            req,
            outcome,
        },
    );
}

/// A request and what became of it.
struct Exchange<'a> {
    routes: &'a Routes,
    req: &'a Request,
    outcome: &'a Outcome<'a>,
}

impl Exchange<'_> {
    /// The request that failed, where another one made the page for it. An index file or a fallback
    /// takes the place of what was asked for, as httpd's "fast redirect" does.
    fn original(&self, side: Side) -> Option<&super::request::Original> {
        if side == Side::Final {
            return None;
        }
        let chain = std::iter::successors(self.req.original.as_deref(), |o| o.before.as_deref());
        chain.filter(|o| o.status != 200).last()
    }
}

impl Record for Exchange<'_> {
    fn client(&self) -> SocketAddr {
        self.req.client
    }

    fn local(&self) -> SocketAddr {
        self.req.local
    }

    fn client_name(&self) -> Option<&str> {
        self.req.remote_host.as_ref()?.as_deref()
    }

    fn received(&self) -> Wall {
        self.req.received.1
    }

    fn duration(&self) -> Duration {
        clock::now() - self.req.received.0
    }

    fn first_byte(&self) -> Option<Duration> {
        self.outcome.first_byte.map(|at| at - self.req.received.0)
    }

    fn line(&self, _: Side) -> &[u8] {
        &self.req.head.line
    }

    fn status(&self, side: Side) -> u16 {
        match self.original(side) {
            Some(original) if original.status != 200 => original.status,
            _ => self.outcome.status,
        }
    }

    fn body_bytes(&self) -> u64 {
        self.outcome.body_sent
    }

    fn filename(&self, side: Side) -> Option<Cow<'_, [u8]>> {
        let name = match self.original(side) {
            Some(original) => Cow::Borrowed(original.filename.as_slice()),
            None => escaped(self.req).unwrap_or_else(|| self.req.file_or_url()),
        };
        (!name.is_empty()).then_some(name)
    }

    fn path(&self, side: Side) -> Option<Cow<'_, [u8]>> {
        let path = match self.original(side) {
            Some(original) => Cow::Borrowed(original.path.as_slice()),
            None if self.req.path.decoded.is_empty() => {
                Cow::Owned(for_the_log(&self.req.target.raw_path))
            }
            None => Cow::Borrowed(self.req.path.decoded.as_slice()),
        };
        (!path.is_empty()).then_some(path)
    }

    fn query(&self, side: Side) -> Option<&[u8]> {
        match self.original(side) {
            Some(original) => original.query.as_deref(),
            None => self.req.target.query.as_deref(),
        }
    }

    fn method(&self, side: Side) -> &str {
        match self.original(side) {
            // The page for an error is asked for with GET, whatever the client's method was.
            Some(_) => {
                first_word(&self.req.head.line).unwrap_or_else(|| self.req.head.method.as_str())
            }
            None if self.req.broken => first_word(&self.req.head.line).unwrap_or("-"),
            None => self.req.head.method.as_str(),
        }
    }

    fn protocol(&self) -> &str {
        self.req.head.version.as_str()
    }

    fn server_name(&self) -> &str {
        &self.routes.server(self.req.server).name
    }

    fn canonical_name(&self) -> Cow<'_, str> {
        names::canonical_name(self.routes, self.req)
    }

    fn canonical_port(&self) -> u16 {
        // ServerName's port, else the scheme's: what the client wrote does not count here.
        let server = self.routes.server(self.req.server);
        server
            .port
            .unwrap_or_else(|| names::default_port(&server.scheme))
    }

    fn aborted(&self) -> bool {
        self.outcome.aborted
    }

    fn kept(&self) -> bool {
        self.outcome.kept
    }

    fn served(&self) -> u32 {
        self.req.served
    }

    fn handler(&self, side: Side) -> Option<&str> {
        let name = match self.original(side) {
            Some(original) => &original.handler,
            None => &self.req.handler,
        };
        // httpd has no name for what serves files.
        (!matches!(&**name, "" | "default-handler")).then_some(name)
    }

    fn request_field(&self, _: Side, name: &str) -> Option<Cow<'_, [u8]>> {
        joined(&self.req.head.fields, name)
    }

    fn response_field(&self, _: Side, name: &str) -> Option<Cow<'_, [u8]>> {
        joined(self.outcome.fields, name)
    }

    fn env(&self, _: Side, name: &str) -> Option<Cow<'_, [u8]>> {
        self.req.env.get(name).map(Cow::Borrowed)
    }

    fn note(&self, _: Side, name: &str) -> Option<Cow<'_, [u8]>> {
        self.req.notes.get(name).map(Cow::Borrowed)
    }

    fn bytes_in(&self) -> u64 {
        self.outcome.bytes_in
    }

    fn bytes_out(&self) -> u64 {
        self.outcome.bytes_out
    }
}

/// The method of a request line, where it looks like one.
fn first_word(line: &[u8]) -> Option<&str> {
    let word = line.split(|c| *c == b' ').next()?;
    (!word.is_empty() && word.iter().all(u8::is_ascii_graphic))
        .then(|| std::str::from_utf8(word).ok())?
}

#[cfg(test)]
mod tests {
    use super::super::phases::explain;
    use super::super::tests::{head, info, pass, routes};
    use super::*;
    use crate::log::access::Format;

    #[test]
    fn a_proxied_exchange_is_logged_with_its_target() {
        let routes = routes(|s| s.proxy.rules = vec![pass("/b/", "http://back.test/x/")]);
        let fields = [("Host", "h.test:81"), ("Accept", "a"), ("Accept", "b")];
        let (mut req, ..) = explain(&routes, head("GET", "/b/a%0ab?q=1", &fields), info());
        req.env.set("BALANCER_NAME", "balancer://c");
        let mut sent = Fields::default();
        sent.push(b"Content-Type", b"text/html");
        let outcome = Outcome {
            status: 200,
            fields: &sent,
            body_sent: 7,
            bytes_in: 100,
            bytes_out: 207,
            first_byte: None,
            aborted: false,
            kept: true,
        };
        let exchange = Exchange {
            routes: &routes,
            req: &req,
            outcome: &outcome,
        };
        let format = "%h \"%r\" %>s %b %f %U%q %m %v %V:%p %X %k %R %I %O %{Accept}i \
                      %{Content-Type}o %{BALANCER_NAME}e %{none}n";
        let mut line = Vec::new();
        Format::compile(format).unwrap().write(&mut line, &exchange);
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "192.0.2.1 \"GET /b/a%0ab?q=1 HTTP/1.1\" 200 7 \
             proxy:http://back.test/x/a%0Ab?q=1 /b/a\\nb?q=1 GET front.test h.test:80 + 0 \
             proxy-server 100 207 a, b text/html balancer://c -\n"
        );
    }
}
