//! What a message is about.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;

/// What a message is about, besides its text.
#[derive(Clone, Copy, Default)]
pub struct Subject<'a> {
    /// The client: `[client ip:port]`.
    pub client: Option<SocketAddr>,
    /// The backend's end, where the message is about a backend connection: `[remote ip:port]`.
    pub remote: Option<SocketAddr>,
    /// Our end of the client's connection.
    pub local: Option<SocketAddr>,
    /// The request's Referer.
    pub referer: Option<&'a [u8]>,
    /// The operating system's error number.
    pub os_error: Option<i32>,
    /// Source file and line (`file!()`, `line!()`), shown from level debug on.
    pub source: Option<(&'a str, u32)>,
    /// Requests served before on the connection.
    pub served: Option<u32>,
    /// For an `ErrorLogFormat` with `%{N}i`, `%{N}e` or `%{N}n`.
    pub request: Option<&'a dyn About>,
}

/// What an `ErrorLogFormat` may ask of a request.
pub trait About {
    /// A request field.
    fn field(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// A variable of its environment.
    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// A note.
    fn note(&self, name: &str) -> Option<Cow<'_, [u8]>>;
}

impl fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("client", &self.client)
            .field("remote", &self.remote)
            .field("os_error", &self.os_error)
            .finish_non_exhaustive()
    }
}
