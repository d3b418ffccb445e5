//! Writing an answer: the head made anew with framing and connection fields of our own, then the
//! body in the framing that the client understands.
//!
//! Small parts are put together with the head, so that most answers are one write. What is larger
//! is written from where it lies. A counted body that comes straight from a socket or a file is
//! spliced. A body that fails midway is left looking cut.

use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::wire::Wire;
use crate::body::{Length, Source};
use crate::clock::{self, Mono};
use crate::codec::http1::encode;
use crate::fault::Fault;
use crate::reactor::Timer;
use crate::reactor::splice::Pipe;
use crate::reactor::task;
use crate::request::AnswerBody;

/// Body parts up to this size are copied behind what is to be written already.
const COPY: usize = 4096;

/// What is put together before it is written.
const TOGETHER: usize = 16 * 1024;

/// Shorter remainders are not worth a pipe.
const SPLICE: u64 = 64 * 1024;

/// Parts that are moved before the other connections have their turn.
const TURNS: u32 = 8;

/// One call moves at most this much.
const SPLICE_STEP: usize = 1024 * 1024;

/// How the client learns the body's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delimited {
    /// There is no body, or its length stands in the head.
    Counted,
    /// Chunked.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// Why an answer was not sent whole.
#[derive(Debug)]
pub(super) enum Cut {
    /// The body's source failed.
    Source(Fault),
    /// The client is gone, or does not take its answer.
    Client(io::Error),
}

/// An answer on its way.
pub(super) struct Reply<'a> {
    wire: &'a Wire,
    delimited: Delimited,
    /// Head, chunk framing and small parts.
    out: Vec<u8>,
    /// How much is written of `out` and what is written with it.
    at: usize,
    /// The source's data is being written from where it lies.
    in_place: bool,
    pipe: Option<Pipe>,
    /// The source's end was met and its framing stands in `out`.
    finished: bool,
    /// Why the source gave up, while what it gave before is still being written.
    failed: Option<Fault>,
    /// `Timeout`: how long the client may take nothing.
    patience: Duration,
    stall: Option<Timer>,
    body_sent: u64,
    first_byte: Option<Mono>,
}

impl<'a> Reply<'a> {
    /// `out` holds the head and what must go in front of it.
    pub(super) fn new(
        wire: &'a Wire,
        delimited: Delimited,
        out: Vec<u8>,
        patience: Duration,
    ) -> Reply<'a> {
        Reply {
            wire,
            delimited,
            out,
            at: 0,
            in_place: false,
            pipe: None,
            finished: false,
            failed: None,
            patience,
            stall: None,
            body_sent: 0,
            first_byte: None,
        }
    }

    /// Sends everything.
    pub(super) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        body: &mut AnswerBody,
    ) -> Poll<Result<(), Cut>> {
        match body {
            AnswerBody::None => self.poll_write(cx, &[], &[]).map_err(Cut::Client),
            AnswerBody::Bytes(bytes) => {
                if !self.in_place {
                    self.in_place = true;
                    self.body_sent = bytes.len() as u64;
                    if bytes.len() <= COPY {
                        self.out.append(bytes);
                    }
                }
                self.poll_write(cx, bytes, &[]).map_err(Cut::Client)
            }
            AnswerBody::Source(source) => self.poll_source(cx, &mut **source),
        }
    }

    /// Body bytes taken for writing, without framing.
    pub(super) fn body_sent(&self) -> u64 {
        self.body_sent
    }

    /// When the first byte was written.
    pub(super) fn first_byte(&self) -> Option<Mono> {
        self.first_byte
    }

    /// The output buffer, for the next answer.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.out
    }

    fn poll_source(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut dyn Source,
    ) -> Poll<Result<(), Cut>> {
        // The descriptor behind the source had nothing: ask the source itself.
        let mut dry = false;
        for _ in 0..TURNS {
            // A part that is being written from where it lies comes first.
            if self.in_place {
                let end: &[u8] = match self.delimited {
                    Delimited::Chunked => b"\r\n",
                    _ => b"",
                };
                let data = source.data();
                let len = data.len();
                ready!(self.poll_write(cx, data, end)).map_err(Cut::Client)?;
                source.consume(len);
                self.body_sent += len as u64;
                self.in_place = false;
                if source.ended() {
                    self.finish();
                }
            }
            if self.pipe.as_ref().is_some_and(|p| p.held() > 0) {
                ready!(self.poll_drain(cx)).map_err(Cut::Client)?;
            }
            if self.finished {
                return self.poll_write(cx, &[], &[]).map_err(Cut::Client);
            }
            if self.failed.is_some() {
                ready!(self.poll_write(cx, &[], &[])).map_err(Cut::Client)?;
                if let Some(fault) = self.failed.take() {
                    return Poll::Ready(Err(Cut::Source(fault)));
                }
            }
            if !dry && self.may_splice(source) {
                ready!(self.poll_write(cx, &[], &[])).map_err(Cut::Client)?;
                dry = !self.splice_in(source)?;
                continue;
            }
            match source.poll_fill(cx) {
                Poll::Ready(Ok(true)) => self.take(source),
                Poll::Ready(Ok(false)) => self.finish(),
                // Before its first byte another answer can stand in for this one; after that the
                // client gets what was there, and sees that it is cut.
                Poll::Ready(Err(fault)) if self.body_sent == 0 => {
                    return Poll::Ready(Err(Cut::Source(fault)));
                }
                Poll::Ready(Err(fault)) => self.failed = Some(fault),
                Poll::Pending => {
                    // The head and what is there already must not wait for more.
                    return match ready!(self.poll_write(cx, &[], &[])) {
                        Ok(()) => Poll::Pending,
                        Err(e) => Poll::Ready(Err(Cut::Client(e))),
                    };
                }
            }
        }
        // Two fast ends must not keep the loop from the others.
        task::queue(task::current());
        Poll::Pending
    }

    /// Takes what the source has filled.
    fn take(&mut self, source: &mut dyn Source) {
        let data = source.data();
        let len = data.len();
        if self.delimited == Delimited::Chunked {
            encode::chunk_head(&mut self.out, len);
        }
        if len > COPY || self.out.len() + len > TOGETHER {
            self.in_place = true;
            return;
        }
        self.out.extend_from_slice(data);
        if self.delimited == Delimited::Chunked {
            self.out.extend_from_slice(b"\r\n");
        }
        self.body_sent += len as u64;
        source.consume(len);
        if source.ended() {
            self.finish();
        }
    }

    fn finish(&mut self) {
        if self.delimited == Delimited::Chunked {
            self.out.extend_from_slice(encode::LAST_CHUNK);
        }
        self.finished = true;
    }

    fn may_splice(&self, source: &dyn Source) -> bool {
        self.delimited != Delimited::Chunked
            && matches!(source.length(), Length::Exact(n) if n >= SPLICE)
            && source.data().is_empty()
            && source.raw().is_some()
    }

    /// Fills the pipe from the source's descriptor; false when nothing came, and what the source
    /// says at its next `poll_fill` (wait, end, error) holds.
    fn splice_in(&mut self, source: &mut dyn Source) -> Result<bool, Cut> {
        let Some(raw) = source.raw() else {
            return Ok(false);
        };
        let pipe = match &mut self.pipe {
            Some(pipe) => pipe,
            None => self.pipe.insert(Pipe::take().map_err(Cut::Client)?),
        };
        let most = usize::try_from(raw.remaining).unwrap_or(usize::MAX);
        match pipe.fill(raw.fd, raw.offset, most.min(SPLICE_STEP)) {
            Ok(n) => {
                source.took_raw(n as u64, false);
                self.body_sent += n as u64;
                if source.ended() {
                    self.finish();
                }
                Ok(n > 0)
            }
            Err(e) => {
                source.took_raw(0, e.kind() == io::ErrorKind::WouldBlock);
                Ok(false)
            }
        }
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(pipe) = &mut self.pipe else {
            return Poll::Ready(Ok(()));
        };
        let stream = &self.wire.stream;
        while pipe.held() > 0 {
            if stream.poll_writable(cx).is_pending() {
                return poll_stall(&mut self.stall, self.patience, cx);
            }
            match pipe.drain(stream.raw_fd(), false) {
                Ok(n) => {
                    self.wire.sent(n);
                    self.stall = None;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => stream.clear_writable(),
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes `out`, then `data`, then `end`; called again with the same ones until it is ready.
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
        end: &[u8],
    ) -> Poll<io::Result<()>> {
        let all = self.out.len() + data.len() + end.len();
        while self.at < all {
            let mut skip = self.at;
            let mut slices = [IoSlice::new(&[]); 3];
            let mut count = 0;
            for part in [&self.out, data, end] {
                if skip < part.len() {
                    slices[count] = IoSlice::new(&part[skip..]);
                    count += 1;
                }
                skip = skip.saturating_sub(part.len());
            }
            let written = match count {
                1 => self.wire.stream.poll_write(cx, &slices[0]),
                _ => self.wire.stream.poll_writev(cx, &slices[..count]),
            };
            match written {
                Poll::Ready(Ok(n)) => {
                    self.at += n;
                    self.wire.sent(n);
                    self.stall = None;
                    self.first_byte.get_or_insert_with(clock::now);
                }
                Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
                Poll::Pending => return poll_stall(&mut self.stall, self.patience, cx),
            }
        }
        self.out.clear();
        self.at = 0;
        Poll::Ready(Ok(()))
    }
}

/// The socket is full: waits, but not for ever.
fn poll_stall(
    stall: &mut Option<Timer>,
    patience: Duration,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let timer = stall.get_or_insert_with(|| Timer::new(patience));
    timer
        .poll_elapsed(cx)
        .map(|()| Err(io::ErrorKind::TimedOut.into()))
}
