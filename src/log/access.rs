//! What an access log may ask of a finished exchange.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

pub use super::format::Format;
use crate::clock::Wall;

/// Which request of an internal redirect is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that the client sent (`<`).
    Original,
    /// The one that made the answer (`>`).
    Final,
}

/// What a format may ask of a finished exchange. Values are raw: the format escapes them.
#[allow(missing_docs)]
pub trait Record {
    /// `%a`, `%h`: the client (as a trusted proxy's field may have changed it).
    fn client(&self) -> SocketAddr;
    /// `%{c}a`, `%{remote}p`: the other end of the connection.
    fn peer(&self) -> SocketAddr {
        self.client()
    }
    /// `%A`, `%{local}p`.
    fn local(&self) -> SocketAddr;
    /// `%h`: the client's name where one was looked up.
    fn client_name(&self) -> Option<&str> {
        None
    }
    /// `%u`
    fn user(&self) -> Option<&[u8]> {
        None
    }
    /// `%t`: when the request was received.
    fn received(&self) -> Wall;
    /// `%D`, `%T`: from then to the end of the answer; also gives `%{end:...}t`.
    fn duration(&self) -> Duration;
    /// `%^FB`: from then to the answer's first byte.
    fn first_byte(&self) -> Option<Duration> {
        None
    }
    /// `%r`: the request line as received; empty where there was none.
    fn line(&self, side: Side) -> &[u8];
    /// `%s`
    fn status(&self, side: Side) -> u16;
    /// `%b`, `%B`: bytes of the body sent.
    fn body_bytes(&self) -> u64;
    /// `%f`
    fn filename(&self, side: Side) -> Option<Cow<'_, [u8]>>;
    /// `%U`: the decoded path.
    fn path(&self, side: Side) -> Option<Cow<'_, [u8]>>;
    /// `%q`: without the question mark.
    fn query(&self, side: Side) -> Option<&[u8]>;
    /// `%m`
    fn method(&self, side: Side) -> &str;
    /// `%H`
    fn protocol(&self) -> &str;
    /// `%v`: ServerName of the server.
    fn server_name(&self) -> &str;
    /// `%V`: the name by UseCanonicalName.
    fn canonical_name(&self) -> Cow<'_, str>;
    /// `%p`
    fn canonical_port(&self) -> u16;
    /// `%X`: aborted before its end.
    fn aborted(&self) -> bool;
    /// `%X`: the connection was kept.
    fn kept(&self) -> bool;
    /// `%k`: requests before it on the connection.
    fn served(&self) -> u32;
    /// `%R`
    fn handler(&self, side: Side) -> Option<&str>;
    /// `%L` and (`connection`) `%{c}L`.
    fn log_id(&self, connection: bool) -> Option<&str> {
        let _ = connection;
        None
    }
    /// `%{N}i`: joined with `, ` where there are several.
    fn request_field(&self, side: Side, name: &str) -> Option<Cow<'_, [u8]>>;
    /// `%{N}o`: joined likewise.
    fn response_field(&self, side: Side, name: &str) -> Option<Cow<'_, [u8]>>;
    /// `%{N}^ti`
    fn request_trailer(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }
    /// `%{N}^to`
    fn response_trailer(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }
    /// `%{N}e`, and the conditions `env=`.
    fn env(&self, side: Side, name: &str) -> Option<Cow<'_, [u8]>>;
    /// `%{N}n`
    fn note(&self, side: Side, name: &str) -> Option<Cow<'_, [u8]>>;
    /// `%I`: bytes received for it, head included.
    fn bytes_in(&self) -> u64;
    /// `%O`: bytes sent for it, head included.
    fn bytes_out(&self) -> u64;
}
