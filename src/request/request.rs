//! One request: its head, what became of it on its way through the phases, and where it came from.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::rc::Rc;

use crate::body::Length;
use crate::clock::{Mono, Wall};
use crate::codec::fields::Fields;
use crate::codec::host::Authority;
use crate::codec::http1::head::RequestHead;
use crate::codec::target::{ParsedTarget, Path};
use crate::config::layer::Layer;
use crate::config::span::Span;
use crate::fault::Fault;
use crate::ids::ServerNo;
use crate::shm::WorkerRow;

use super::env::Env;
use super::sections::Set;

/// A request on its way. Made by `phases::begin`, driven by `phases::run`.
pub struct Request {
    /// The head as received; Host is rewritten from an absolute target.
    pub head: RequestHead,
    /// The parsed target.
    pub target: ParsedTarget,
    /// The normalised path: the one that every rule looks at.
    pub path: Path,
    /// Host and port that the client asked for.
    pub host: Option<Authority>,
    /// The virtual host.
    pub server: ServerNo,
    /// What holds for this request, all matching sections merged.
    pub layer: Rc<Layer>,
    /// The client's address (as the access rules and `%a` see it).
    pub client: SocketAddr,
    /// The address that the client connected to.
    pub local: SocketAddr,
    /// Requests before this one on the connection.
    pub served: u32,
    /// When the head was complete.
    pub received: (Mono, Wall),
    /// Environment variables.
    pub env: Env,
    /// Notes between modules (`%{..}n`).
    pub notes: Env,
    /// The file that the path was mapped to; empty before the mapping and for proxied requests (see `file_or_url`).
    pub filename: Vec<u8>,
    /// What was mapped by an alias or the document root: the directory that must not be left.
    pub document_root: Option<Rc<std::path::Path>>,
    /// What is behind the file's name in the path; filled in by the static handler.
    pub path_info: Vec<u8>,
    /// The handler's name (`proxy-server`, `server-status`, `default-handler`); empty before it is chosen.
    pub handler: Cow<'static, str>,
    /// Where a proxied request goes.
    pub proxy_to: Option<ProxyTarget>,
    /// The request that an internal redirect (an ErrorDocument, a directory index) came from.
    pub original: Option<Box<Original>>,
    /// The way back to the client for interim responses.
    pub link: Rc<dyn ClientLink>,
    /// How long the body was said to be.
    pub body_length: Length,
    /// The client's name where it was looked up: `Some(None)` has none.
    pub remote_host: Option<Option<String>>,
    /// The name of the local address where UseCanonicalName is DNS.
    pub local_name: Option<String>,
    /// The head could not be parsed: method, target and fields are made up.
    pub broken: bool,
    /// A refusal that holds unless a `mapping=encoded` rule takes the path first.
    pub(super) path_refused: Option<Fault>,
    /// The sections that hold, as numbers; kept for the second look of access control.
    pub(super) sections: Sections,
    /// Fields that error pages and redirects carry as well (`Header always`, Allow, WWW-Authenticate).
    pub error_fields: Fields,
    /// The wanted client-visible effects of `nokeepalive` and friends, read after the phases.
    pub effects: Effects,
    /// What `begin` found wrong; answered by `run`.
    pub refused: Option<Fault>,
    /// A handler's wish to go on with another path (see [`super::answer::elsewhere`]).
    pub elsewhere: Option<Vec<u8>>,
    /// The reason phrase of a backend's answer that our own page stands in for.
    pub overridden_reason: Option<Vec<u8>>,
}

/// Which sections were found to hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Sections {
    /// `<Proxy>`, or `<Directory>` and `<Files>`.
    pub(super) inner: Set,
    /// `<Location>`.
    pub(super) locations: Set,
}

impl Request {
    /// What the request was mapped to, for messages and `%f`: a file's name, or `proxy:URL?query`.
    pub fn file_or_url(&self) -> Cow<'_, [u8]> {
        let Some(target) = &self.proxy_to else {
            return Cow::Borrowed(&self.filename);
        };
        let mut out = b"proxy:".to_vec();
        out.extend_from_slice(&target.url);
        if let Some(query) = &target.query {
            out.push(b'?');
            out.extend_from_slice(query);
        }
        Cow::Owned(out)
    }

    /// True while the answer to an error is being made by an ErrorDocument: no conditions, no ranges.
    pub fn is_error_document(&self) -> bool {
        self.original.as_ref().is_some_and(|o| o.status != 200)
    }
}

/// What variables and faults ask of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Answer and treat as HTTP/1.0 (`downgrade-1.0`).
    pub downgrade: bool,
    /// Write `HTTP/1.0` in the status line (`force-response-1.0`, for 1.0 clients and downgraded ones).
    pub response_10: bool,
    /// No keep-alive (`nokeepalive`).
    pub no_keep_alive: bool,
}

/// What an internal redirect keeps of the request before it.
#[derive(Clone, Debug)]
pub struct Original {
    /// Its status so far (the error that the document is for).
    pub status: u16,
    /// Its decoded path.
    pub path: Vec<u8>,
    /// Its query.
    pub query: Option<Vec<u8>>,
    /// Its handler.
    pub handler: Cow<'static, str>,
    /// Its file name.
    pub filename: Vec<u8>,
    /// Its own original.
    pub before: Option<Box<Original>>,
}

impl Original {
    /// How many internal redirects led here, this one included.
    pub fn depth(&self) -> u32 {
        let mut n = 1;
        let mut at = &self.before;
        while let Some(o) = at {
            n += 1;
            at = &o.before;
        }
        n
    }

    /// The first request of the chain: what the client asked for.
    pub fn first(&self) -> &Original {
        let mut at = self;
        while let Some(o) = &at.before {
            at = o;
        }
        at
    }
}

/// Where a proxied request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyTarget {
    /// The URL as the rule gave it, path decoded, without the query: what `<Proxy>` sections and the
    /// search for a worker look at. `unix:PATH|` stays in front.
    pub url: Vec<u8>,
    /// The path needs no encoding any more (`nocanon`, `mapping=encoded`): it is sent as it stands.
    pub encoded: bool,
    /// The path was normalised with AllowEncodedSlashes NoDecode: a `%2f` in it stays (`canonical_escape_kept`).
    pub kept_slashes: bool,
    /// The query to send, as received.
    pub query: Option<Vec<u8>>,
    /// The rule.
    pub span: Span,
}

/// The way back to the client while its request is being handled.
pub trait ClientLink {
    /// Sends an interim response (1xx) at once; dropped for HTTP/1.0 clients.
    fn interim(&self, status: u16, reason: &[u8], fields: &Fields);

    /// The client is known to be gone: its answer would go nowhere.
    fn gone(&self) -> bool;

    /// A worker serves the request from now on: the status page and `scoreboard` show it.
    fn at_worker(&self, worker: WorkerRow) {
        let _ = worker;
    }
}

/// A link that leads nowhere: for `--explain` and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLink;

impl ClientLink for NoLink {
    fn interim(&self, _: u16, _: &[u8], _: &Fields) {}

    fn gone(&self) -> bool {
        false
    }
}

/// What `phases::begin` must know of the connection.
#[derive(Clone)]
pub struct ConnInfo {
    /// The client.
    pub client: SocketAddr,
    /// The address that it connected to.
    pub local: SocketAddr,
    /// Requests before this one on the connection.
    pub served: u32,
    /// When the head was complete.
    pub received: (Mono, Wall),
    /// The body's length by its framing.
    pub body_length: Length,
    /// For interim responses.
    pub link: Rc<dyn ClientLink>,
}
