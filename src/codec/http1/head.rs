//! Request and response heads (RFC 9112 2 to 5).

use std::fmt;

pub use super::request_head::parse_request;
pub use super::response_head::parse_response;
use crate::codec::fields::{Fields, valid_name};

/// The protocol's version as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1, and what calls itself 1.2 to 1.9.
    Http11,
}

impl Version {
    /// `HTTP/1.0` or `HTTP/1.1`.
    pub fn as_str(self) -> &'static str {
        match self {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        }
    }
}

/// A request's method. Letter case matters: `get` is not `GET`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Trace,
    Connect,
    Patch,
    /// Any other token.
    Other(Box<str>),
}

impl Method {
    /// The method with this name, which must be a token.
    pub fn new(name: &str) -> Method {
        match name {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            "TRACE" => Method::Trace,
            "CONNECT" => Method::Connect,
            "PATCH" => Method::Patch,
            other => Method::Other(other.into()),
        }
    }

    /// Its name as received.
    pub fn as_str(&self) -> &str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
            Method::Trace => "TRACE",
            Method::Connect => "CONNECT",
            Method::Patch => "PATCH",
            Method::Other(name) => name,
        }
    }

    /// Asks for nothing to be changed (RFC 9110 9.2.1).
    pub fn is_safe(&self) -> bool {
        matches!(
            self,
            Method::Get | Method::Head | Method::Options | Method::Trace
        )
    }

    /// May be repeated without changing more than once would (RFC 9110 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        self.is_safe() || matches!(self, Method::Put | Method::Delete)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request's head.
#[derive(Clone, Debug)]
pub struct RequestHead {
    /// Its method.
    pub method: Method,
    /// The target as received: visible ASCII, not yet parsed.
    pub target: Vec<u8>,
    /// Its version.
    pub version: Version,
    /// Its fields, values trimmed.
    pub fields: Fields,
    /// The request line as received without its end, for logs.
    pub line: Vec<u8>,
}

/// A response's head.
#[derive(Clone, Debug)]
pub struct ResponseHead {
    /// 100 to 999.
    pub status: u16,
    /// The reason phrase, possibly empty; no control bytes.
    pub reason: Vec<u8>,
    /// Its version.
    pub version: Version,
    /// Its fields, values trimmed.
    pub fields: Fields,
}

/// What a request line seems to say, for the log's line about a head that was refused: method,
/// target and version, as far as they can be told apart. HTTP/1.0 where there is no version.
pub fn glance(line: &[u8]) -> (Method, &[u8], Version) {
    let mut words = line.split(|&b| b == b' ');
    let name = words.next().filter(|name| valid_name(name));
    let name = name.and_then(|name| std::str::from_utf8(name).ok());
    let method = Method::new(name.unwrap_or("-"));
    let target = words.next().unwrap_or_default();
    let version = match words.next() {
        Some([b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1'..=b'9']) => Version::Http11,
        _ => Version::Http10,
    };
    (method, target, version)
}

/// What parsing gave.
#[derive(Clone, Debug)]
pub enum Parsed<T> {
    /// The end is not there yet; nothing wrong so far.
    Incomplete,
    /// A whole head.
    Done {
        /// It.
        head: T,
        /// How many bytes of the input it took, empty lines before it included.
        used: usize,
    },
}

/// A head that is refused. The connection must be closed after the answer, since where the message
/// ends is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct HeadError {
    /// The answer's status: 400, 414, 501 or 505 for requests, 502 for responses.
    pub status: u16,
    /// Why, for the log and the error page; holds nothing of the message.
    pub reason: &'static str,
    /// The request line as far as it is known, at most as long as the limit; may hold any byte.
    pub line: Vec<u8>,
}

impl HeadError {
    pub(crate) fn new(status: u16, reason: &'static str) -> HeadError {
        HeadError {
            status,
            reason,
            line: Vec::new(),
        }
    }
}
