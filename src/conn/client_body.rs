//! A request's body as it comes from the client's connection, counted or chunked.

use std::os::fd::RawFd;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::deadline::Deadline;
use super::wire::{BodyState, Wire};
use crate::body::{Length, Raw, Source};
use crate::clock;
use crate::codec::http1::chunked::{Chunked, Step};
use crate::config::settings::ReadStage;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::reactor::Timer;
use crate::reactor::buffers::Buf;

/// How the body is delimited.
pub(super) enum Coding {
    /// So many bytes are still to come.
    Counted(u64),
    /// Chunked, with a decoder at its present place.
    Chunked(Box<Chunked>),
}

/// See the module. Dropping it gives back to the connection what was read beyond the body.
pub(super) struct ClientBody {
    wire: Rc<Wire>,
    buf: Option<Buf>,
    coding: Coding,
    /// Bytes at the front of `buf` that are body.
    window: usize,
    ended: bool,
    /// `RequestReadTimeout`'s body stage.
    deadline: Deadline,
    /// `Timeout`, between two reads.
    patience: Duration,
    stall: Option<Timer>,
}

impl ClientBody {
    /// The body that begins with the connection's next byte.
    pub(super) fn new(
        wire: Rc<Wire>,
        coding: Coding,
        stage: &ReadStage,
        patience: Duration,
    ) -> ClientBody {
        let ended = matches!(coding, Coding::Counted(0));
        wire.body.set(if ended {
            BodyState::Read
        } else {
            BodyState::Open
        });
        let buf = wire.take_buf();
        wire.count_in(buf.as_ref().map_or(0, |b| b.len()));
        ClientBody {
            buf,
            wire,
            coding,
            window: 0,
            ended,
            deadline: Deadline::new(stage, clock::now()),
            patience,
            stall: None,
        }
    }

    /// Finds body bytes in what has been read. True when there are some, or the end was found.
    fn look(&mut self) -> Result<bool, Fault> {
        let Some(buf) = &mut self.buf else {
            return Ok(self.ended);
        };
        while self.window == 0 && !self.ended && !buf.is_empty() {
            match &mut self.coding {
                Coding::Counted(left) => {
                    self.window = buf.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                }
                Coding::Chunked(chunked) => match chunked.step(buf) {
                    Ok(Step::More { used }) => {
                        buf.consume(used);
                        break;
                    }
                    Ok(Step::Data { skip, len }) => {
                        buf.consume(skip);
                        self.window = len;
                    }
                    Ok(Step::End { used }) => {
                        buf.consume(used);
                        self.end();
                        break;
                    }
                    Err(e) => return Err(self.broken(Kind::BadBody, e.0)),
                },
            }
        }
        Ok(self.window > 0 || self.ended)
    }

    fn end(&mut self) {
        self.ended = true;
        self.stall = None;
        self.wire.body.set(BodyState::Read);
        self.give_back();
    }

    /// What was read beyond the body belongs to the next request.
    fn give_back(&mut self) {
        if let Some(buf) = self.buf.take() {
            self.wire
                .bytes_in
                .set(self.wire.bytes_in.get().saturating_sub(buf.len() as u64));
            self.wire.put_buf(Some(buf));
        }
    }

    fn broken(&mut self, kind: Kind, detail: &str) -> Fault {
        self.wire.body.set(BodyState::Broken);
        Fault::new(
            Origin::Client,
            Phase::Sending,
            kind,
            format!("reading the request's body: {detail}"),
        )
    }

    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        match self.wire.poll_fill(cx, &mut self.buf) {
            Poll::Ready(Ok(0)) => {
                Poll::Ready(Err(self.broken(Kind::Eof, "the client ended it too early")))
            }
            Poll::Ready(Ok(n)) => {
                self.deadline.received(n);
                self.stall = None;
                if self.deadline.passed() {
                    return Poll::Ready(Err(self.too_slow()));
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(e)) => {
                let fault = self.broken(Kind::Broken, "the client's connection broke");
                Poll::Ready(Err(fault.with_os(&e)))
            }
            Poll::Pending => {
                if self.deadline.poll_passed(cx).is_ready() {
                    return Poll::Ready(Err(self.too_slow()));
                }
                let patience = self.patience;
                let stall = self.stall.get_or_insert_with(|| Timer::new(patience));
                ready!(stall.poll_elapsed(cx));
                let silent = "nothing came for as long as Timeout allows";
                Poll::Ready(Err(self.broken(Kind::Timeout, silent)))
            }
        }
    }

    fn too_slow(&mut self) -> Fault {
        self.broken(Kind::Timeout, "slower than RequestReadTimeout allows")
    }

    fn socket(&self) -> RawFd {
        self.wire.stream.raw_fd()
    }
}

impl Source for ClientBody {
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        loop {
            if self.window > 0 {
                return Poll::Ready(Ok(true));
            }
            if self.ended {
                return Poll::Ready(Ok(false));
            }
            if self.wire.body.get() == BodyState::Broken {
                return Poll::Ready(Err(self.broken(Kind::BadBody, "it failed before")));
            }
            if !self.look()? {
                ready!(self.poll_more(cx))?;
            }
        }
    }

    fn data(&self) -> &[u8] {
        match &self.buf {
            Some(buf) => &buf[..self.window],
            None => &[],
        }
    }

    fn consume(&mut self, n: usize) {
        let n = n.min(self.window);
        self.window -= n;
        if let Some(buf) = &mut self.buf {
            buf.consume(n);
        }
        match &mut self.coding {
            Coding::Counted(left) => {
                *left -= n as u64;
                if *left == 0 && !self.ended {
                    self.end();
                }
            }
            Coding::Chunked(chunked) => {
                chunked.took(n);
                if self.window == 0 {
                    // The end is often there already; finding it now lets the request be sent whole.
                    // A broken remainder is met by the next `poll_fill`.
                    let _ = self.look();
                }
            }
        }
        if self.window == 0 && self.buf.as_ref().is_some_and(|b| b.is_empty()) {
            self.buf = None;
        }
    }

    fn length(&self) -> Length {
        match &self.coding {
            Coding::Counted(left) => Length::Exact(*left),
            Coding::Chunked(_) if self.ended => Length::Exact(0),
            Coding::Chunked(_) => Length::Unknown,
        }
    }

    fn raw(&self) -> Option<Raw> {
        if self.ended || self.buf.is_some() || self.wire.body.get() != BodyState::Open {
            return None;
        }
        let remaining = match &self.coding {
            Coding::Counted(left) => *left,
            Coding::Chunked(chunked) => chunked.left(),
        };
        (remaining > 0).then(|| Raw {
            fd: self.socket(),
            remaining,
            offset: None,
        })
    }

    fn took_raw(&mut self, n: u64, drained: bool) {
        self.wire.count_in(usize::try_from(n).unwrap_or(usize::MAX));
        self.deadline
            .received(usize::try_from(n).unwrap_or(usize::MAX));
        if n > 0 {
            self.stall = None;
        }
        if drained {
            self.wire.stream.clear_readable();
        }
        match &mut self.coding {
            Coding::Counted(left) => {
                *left = left.saturating_sub(n);
                if *left == 0 && !self.ended {
                    self.end();
                }
            }
            Coding::Chunked(chunked) => chunked.took(usize::try_from(n).unwrap_or(usize::MAX)),
        }
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        // Unread body bytes stay in front; the connection discards them or closes.
        self.give_back();
    }
}
