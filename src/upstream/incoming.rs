//! The bytes that a backend sent and nobody used yet.

use std::io;
use std::task::{Context, Poll, ready};

use crate::reactor::buffers::{self, Buf};
use crate::reactor::stream::Stream;

/// A window of received bytes: a pooled buffer, and a growing one for the rare head that does not
/// fit. While nothing is there no buffer is held, so that a request that waits costs none.
#[derive(Debug, Default)]
pub struct Incoming {
    /// Invariant: `None` when it would be empty.
    buf: Option<Buf>,
    /// Invariant: while this holds unused bytes, there is no `buf`.
    long: Vec<u8>,
    long_at: usize,
}

/// How much a read into the growing part asks for.
const STEP: usize = 16 * 1024;

impl Incoming {
    /// The unused bytes.
    pub fn data(&self) -> &[u8] {
        match &self.buf {
            Some(buf) => buf.data(),
            None => &self.long[self.long_at..],
        }
    }

    /// Drops the first `n` unused bytes.
    pub fn consume(&mut self, n: usize) {
        match &mut self.buf {
            Some(buf) => {
                buf.consume(n);
                if buf.is_empty() {
                    self.buf = None;
                }
            }
            None => {
                self.long_at += n.min(self.long.len() - self.long_at);
                if self.long_at == self.long.len() {
                    self.long = Vec::new();
                    self.long_at = 0;
                }
            }
        }
    }

    /// The unused bytes, to be rearranged in place.
    pub fn data_mut(&mut self) -> &mut [u8] {
        match &mut self.buf {
            Some(buf) => buf.data_mut(),
            None => &mut self.long[self.long_at..],
        }
    }

    /// Keeps only the first `len` unused bytes.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.buf {
            Some(buf) if len > 0 => buf.truncate(len),
            Some(_) => self.buf = None,
            None => self.long.truncate(self.long_at + len),
        }
    }

    /// Reads once. `Ok(0)` is the peer's end. When the pooled buffer is full the bytes move to a
    /// buffer that grows; the caller bounds how often that may happen.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, from: &Stream) -> Poll<io::Result<usize>> {
        ready!(from.poll_readable(cx));
        if let Some(buf) = self.buf.take_if(|buf| buf.is_full()) {
            self.long = buf.data().to_vec();
            self.long_at = 0;
        }
        if self.long_at < self.long.len() {
            let filled = self.long.len();
            self.long.resize(filled + STEP, 0);
            let read = from.poll_read(cx, &mut self.long[filled..]);
            self.long.truncate(filled + count(&read));
            return read;
        }
        let buf = self.buf.get_or_insert_with(buffers::take);
        let read = from.poll_read(cx, buf.spare());
        buf.filled(count(&read));
        if buf.is_empty() {
            self.buf = None;
        }
        read
    }
}

fn count(read: &Poll<io::Result<usize>>) -> usize {
    match read {
        Poll::Ready(Ok(n)) => *n,
        _ => 0,
    }
}
