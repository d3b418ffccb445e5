//! The bytes that a backend sent and nobody used yet.

use std::io;
use std::task::{Context, Poll};

use crate::reactor::buffers::{self, Buf};
use crate::reactor::stream::Stream;

/// A window of received bytes: a pooled buffer, and a growing one behind it for the rare head
/// that does not fit.
#[derive(Debug)]
pub struct Incoming {
    buf: Buf,
    /// Invariant: while this holds unused bytes, `buf` is empty.
    long: Vec<u8>,
    long_at: usize,
}

/// How much a read into the growing part asks for.
const STEP: usize = 16 * 1024;

impl Incoming {
    /// Empty, with a buffer of the pool.
    pub fn new() -> Incoming {
        Incoming {
            buf: buffers::take(),
            long: Vec::new(),
            long_at: 0,
        }
    }

    /// The unused bytes.
    pub fn data(&self) -> &[u8] {
        if self.long_at < self.long.len() {
            &self.long[self.long_at..]
        } else {
            self.buf.data()
        }
    }

    /// Drops the first `n` unused bytes.
    pub fn consume(&mut self, n: usize) {
        if self.long_at < self.long.len() {
            self.long_at += n.min(self.long.len() - self.long_at);
            if self.long_at == self.long.len() {
                self.long = Vec::new();
                self.long_at = 0;
            }
        } else {
            self.buf.consume(n);
        }
    }

    /// The unused bytes, to be rearranged in place.
    pub fn data_mut(&mut self) -> &mut [u8] {
        if self.long_at < self.long.len() {
            &mut self.long[self.long_at..]
        } else {
            self.buf.data_mut()
        }
    }

    /// Keeps only the first `len` unused bytes.
    pub fn truncate(&mut self, len: usize) {
        if self.long_at < self.long.len() {
            self.long.truncate(self.long_at + len);
        } else {
            self.buf.truncate(len);
        }
    }

    /// No room for another byte without growing.
    pub fn is_full(&self) -> bool {
        self.long_at == self.long.len() && self.buf.is_full()
    }

    /// Reads once. `Ok(0)` is the peer's end. When the pooled buffer is full the bytes move to a
    /// buffer that grows; the caller bounds how often that may happen.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, from: &Stream) -> Poll<io::Result<usize>> {
        if self.is_full() {
            self.long = self.buf.data().to_vec();
            self.long_at = 0;
            let n = self.long.len();
            self.buf.consume(n);
        }
        if self.long_at < self.long.len() {
            let filled = self.long.len();
            self.long.resize(filled + STEP, 0);
            let read = from.poll_read(cx, &mut self.long[filled..]);
            let n = match &read {
                Poll::Ready(Ok(n)) => *n,
                _ => 0,
            };
            self.long.truncate(filled + n);
            return read;
        }
        let read = from.poll_read(cx, self.buf.spare());
        if let Poll::Ready(Ok(n)) = &read {
            self.buf.filled(*n);
        }
        read
    }
}
