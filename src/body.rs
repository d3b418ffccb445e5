//! The body seam: a [`Source`] yields the bytes of a message body with backpressure. The client
//! side, filters, scheme handlers, files and error pages meet only here.

use std::os::fd::RawFd;
use std::task::{Context, Poll};

use crate::fault::Fault;

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// There is none (not even an empty one: HEAD, 204, 304, a request without framing fields).
    None,
    /// This many bytes are still to come.
    Exact(u64),
    /// Known only at its end.
    Unknown,
}

/// Bytes that come one after the other.
///
/// `poll_fill` then `data` then `consume`, again and again, until `poll_fill` gives `false`.
pub trait Source {
    /// `Ready(Ok(true))`: `data` is not empty. `Ready(Ok(false))`: the body ended as it should.
    /// A body that ends otherwise is an error, and the message must then look cut to its receiver.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Fault>>;

    /// What has been filled and not consumed.
    fn data(&self) -> &[u8];

    /// Gives back the first `n` bytes of `data`.
    fn consume(&mut self, n: usize);

    /// How much is still to come, `data` included.
    fn length(&self) -> Length;

    /// The socket or file whose next bytes are this body's bytes as they are, for `splice` or
    /// `sendfile`: only while `data` is empty and at least one byte is to come.
    fn raw(&self) -> Option<Raw> {
        None
    }

    /// Tells the source that `n` bytes were taken from `raw`'s descriptor.
    /// `drained`: a read there would block now.
    fn took_raw(&mut self, n: u64, drained: bool) {
        let _ = (n, drained);
    }

    /// True once an end was seen in such a way that nothing more needs to be polled.
    fn ended(&self) -> bool {
        self.length() == Length::Exact(0) || self.length() == Length::None
    }
}

/// A descriptor behind a body.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// Borrowed from the source: valid until the source is polled or dropped.
    pub fd: RawFd,
    /// At most this many bytes belong to the body.
    pub remaining: u64,
    /// Where in a file to start; `None` for a socket.
    pub offset: Option<u64>,
}

/// A body that is there already.
#[derive(Debug, Default)]
pub struct Bytes {
    bytes: Vec<u8>,
    at: usize,
}

impl Bytes {
    /// All of `bytes`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Bytes {
        Bytes {
            bytes: bytes.into(),
            at: 0,
        }
    }
}

impl Source for Bytes {
    fn poll_fill(&mut self, _: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        Poll::Ready(Ok(self.at < self.bytes.len()))
    }

    fn data(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn consume(&mut self, n: usize) {
        self.at = (self.at + n).min(self.bytes.len());
    }

    fn length(&self) -> Length {
        Length::Exact((self.bytes.len() - self.at) as u64)
    }
}
