//! A connection's bytes: its socket, what was read ahead, what interim responses still wait to be
//! written, and how the current request's body stands. Shared by the connection's task, the
//! request's body and the link that handlers send interim responses over.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use crate::codec::fields::Fields;
use crate::codec::http1::encode;
use crate::codec::http1::head::Version;
use crate::ids::ServerNo;
use crate::reactor::buffers::{self, Buf};
use crate::reactor::stream::Stream;
use crate::request::ClientLink;
use crate::shm::{RecordMarker, WorkerRow};

/// Interim responses that a client does not take are dropped beyond this.
const MOST_INTERIM: usize = 16 * 1024;

/// How far the current request's body was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyState {
    /// There is none, or its end was read: the next byte begins another request.
    Read,
    /// Bytes of it are still to come. The flag: the client was never told to go on (Expect).
    Open,
    /// It broke its framing, came too slowly or ended early: nothing after it can be trusted.
    Broken,
}

/// See the module.
pub(super) struct Wire {
    pub(super) stream: Stream,
    pub(super) client: SocketAddr,
    pub(super) local: SocketAddr,
    /// Read and not yet consumed. No buffer is held while nothing is in it and nothing is read.
    buf: RefCell<Option<Buf>>,
    interim: RefCell<Vec<u8>>,
    pub(super) body: Cell<BodyState>,
    /// Interim responses may be sent: an HTTP/1.1 client whose answer has not begun.
    pub(super) takes_interim: Cell<bool>,
    /// The virtual host of the last request: its KeepAliveTimeout is what the client was told.
    pub(super) server: Cell<ServerNo>,
    /// Bytes read for the current request.
    pub(super) bytes_in: Cell<u64>,
    /// Bytes written for it.
    pub(super) bytes_out: Cell<u64>,
    /// The current request's record, while a handler has the request.
    pub(super) record: RefCell<Option<RecordMarker>>,
}

impl Wire {
    pub(super) fn new(stream: Stream, client: SocketAddr, local: SocketAddr) -> Wire {
        Wire {
            stream,
            client,
            local,
            buf: RefCell::new(None),
            interim: RefCell::new(Vec::new()),
            body: Cell::new(BodyState::Read),
            takes_interim: Cell::new(false),
            server: Cell::new(ServerNo(0)),
            bytes_in: Cell::new(0),
            bytes_out: Cell::new(0),
            record: RefCell::new(None),
        }
    }

    /// Bytes were read ahead.
    pub(super) fn has_bytes(&self) -> bool {
        self.buf.borrow().as_ref().is_some_and(|b| !b.is_empty())
    }

    /// The buffer with what was read ahead, taken out.
    pub(super) fn take_buf(&self) -> Option<Buf> {
        self.buf.borrow_mut().take()
    }

    /// Gives it back; an empty one goes to the pool at once.
    pub(super) fn put_buf(&self, buf: Option<Buf>) {
        *self.buf.borrow_mut() = buf.filter(|b| !b.is_empty());
    }

    /// Reads more behind what `buf` holds; a buffer is taken only when the socket may have
    /// something, and given back when it had nothing. `Ok(0)`: the peer's end, or a full buffer.
    pub(super) fn poll_fill(
        &self,
        cx: &mut Context<'_>,
        buf: &mut Option<Buf>,
    ) -> Poll<io::Result<usize>> {
        if self.stream.poll_readable(cx).is_pending() {
            return Poll::Pending;
        }
        let into = buf.get_or_insert_with(buffers::take);
        let read = self.stream.poll_read(cx, into.spare());
        match &read {
            Poll::Ready(Ok(n)) => {
                into.filled(*n);
                self.count_in(*n);
            }
            Poll::Pending if into.is_empty() => *buf = None,
            _ => {}
        }
        read
    }

    /// Counts bytes read.
    pub(super) fn count_in(&self, n: usize) {
        self.bytes_in.set(self.bytes_in.get() + n as u64);
    }

    /// Counts bytes written.
    pub(super) fn sent(&self, n: usize) {
        self.bytes_out.set(self.bytes_out.get() + n as u64);
    }

    /// Interim responses that could not be written at once; they go in front of the answer.
    pub(super) fn take_interim(&self) -> Vec<u8> {
        std::mem::take(&mut *self.interim.borrow_mut())
    }
}

impl ClientLink for Wire {
    fn interim(&self, status: u16, reason: &[u8], fields: &Fields) {
        if !self.takes_interim.get() {
            return;
        }
        let mut waiting = self.interim.borrow_mut();
        if waiting.len() > MOST_INTERIM {
            return;
        }
        encode::write_response_head(&mut waiting, Version::Http11, status, reason, fields);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        // What is not taken now goes out in front of the answer; so does what an error left, and
        // the answer then meets that error.
        if let Poll::Ready(Ok(n)) = self.stream.poll_write(&mut cx, &waiting) {
            waiting.drain(..n);
            self.sent(n);
        }
    }

    fn gone(&self) -> bool {
        self.stream.is_broken()
    }

    fn at_worker(&self, worker: WorkerRow) {
        if let Some(record) = &*self.record.borrow() {
            record.member(worker);
        }
    }
}
