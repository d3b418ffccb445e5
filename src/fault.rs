//! What can go wrong with one request: who is at fault, when it happened, and whether the request
//! may be sent again. `request::answer` is the only place that makes a status of it.

use std::fmt;
use std::io;

/// Who broke the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The client: never marks a member.
    Client,
    /// The backend.
    Upstream,
    /// muster itself or its machine (descriptors, ports, a bug).
    Own,
}

/// How far the exchange had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading the request's head.
    RequestHead,
    /// Finding the virtual host, mapping, access, fix-ups.
    Mapping,
    /// Choosing a member or waiting for a free connection.
    Choosing,
    /// Resolving the name or connecting.
    Connecting,
    /// Sending the request's head or body.
    Sending,
    /// Waiting for or reading the response's head.
    ResponseHead,
    /// Passing on the response's body.
    ResponseBody,
}

/// May the request be sent again?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Never: the backend may have acted on it.
    No,
    /// On a fresh connection to the same member, since a reused connection turned out to be dead
    /// and either nothing was sent or the method is idempotent.
    Fresh,
    /// On another member: nothing of it can have been acted on.
    Elsewhere,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message that breaks the rules; the status for the client (400, 413, 414, 431, 501, 505 ...).
    Malformed(u16),
    /// A body that breaks its framing (bad chunk, too much, cut).
    BadBody,
    /// More than a limit allows, with the status to tell.
    TooLarge(u16),
    /// The peer closed too early.
    Eof,
    /// The peer reset the connection, or another I/O error.
    Broken,
    /// It took too long.
    Timeout,
    /// Connection refused, unreachable, or no such socket.
    Refused,
    /// The name did not resolve.
    Resolve,
    /// No connection of the pool became free in time.
    PoolFull,
    /// No usable member.
    NoMember,
    /// Nobody handles the target's scheme.
    Scheme,
    /// Refused by the rules, with the status.
    Denied(u16),
    /// Out of descriptors, ports or memory.
    Resources,
    /// The answer is this status, plainly (handlers use it for 404, 403, 405 ...).
    Status(u16),
}

/// A failed request.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Who broke it.
    pub origin: Origin,
    /// When.
    pub phase: Phase,
    /// What.
    pub kind: Kind,
    /// Whether it may be repeated.
    pub retry: Retry,
    /// For the log: one line, no client-controlled bytes that are not escaped.
    pub detail: String,
    /// The operating system's error, when there was one.
    pub os: Option<i32>,
}

impl Fault {
    /// A fault that must not be retried.
    pub fn new(origin: Origin, phase: Phase, kind: Kind, detail: impl Into<String>) -> Fault {
        Fault {
            origin,
            phase,
            kind,
            retry: Retry::No,
            detail: detail.into(),
            os: None,
        }
    }

    /// A plain status of our own.
    pub fn status(code: u16, detail: impl Into<String>) -> Fault {
        Fault::new(Origin::Own, Phase::Mapping, Kind::Status(code), detail)
    }

    /// The same with an operating system error remembered.
    pub fn with_os(mut self, e: &io::Error) -> Fault {
        self.os = e.raw_os_error();
        self
    }

    /// The same, repeatable.
    pub fn with_retry(mut self, retry: Retry) -> Fault {
        self.retry = retry;
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(os) = self.os {
            write!(f, "{}: ", io::Error::from_raw_os_error(os))?;
        }
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Fault {}
