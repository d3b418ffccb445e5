//! What is still to be written of a request: head, the part of the body that was kept, the rest.

use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use crate::body::Source;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::reactor::splice::Pipe;
use crate::reactor::stream::Stream;
use crate::reactor::task;

/// Shorter remainders of a body are not worth a pipe.
const SPLICE: u64 = 64 * 1024;

/// One call moves at most this much into a pipe.
const SPLICE_STEP: u64 = 1024 * 1024;

/// Parts that are moved before the other connections have their turn.
const TURNS: u32 = 32;

/// How the body goes to the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// There is none.
    None,
    /// With Content-Length.
    Length(u64),
    /// Chunked, made anew.
    Chunked,
}

/// Why sending stopped.
#[derive(Debug)]
pub enum SendError {
    /// The connection to the backend broke.
    Write(io::Error),
    /// The body's source failed: the client's fault.
    Body(Fault),
}

/// A request on its way out. `head` and `kept` stay, so that it can be started again as long as
/// [`Sending::repeatable`] says so.
#[derive(Debug, Default)]
pub struct Sending {
    /// The head with its empty line.
    pub head: Vec<u8>,
    /// The first part of the body, as data.
    kept: Vec<u8>,
    /// `kept` is all of the body.
    whole: bool,
    framing: Option<BodyFraming>,
    head_at: usize,
    lead: Lead,
    part: Part,
    kept_done: bool,
    /// Of a counted body: bytes not yet handed to a part.
    to_come: u64,
    last: bool,
    held: bool,
    rest_touched: bool,
    /// Bytes written to the present connection.
    written: u64,
    waits_for_body: bool,
    /// Boxed: few requests have one.
    pipe: Option<Box<Pipe>>,
}

/// The body bytes that are being written.
#[derive(Clone, Copy, Debug, Default)]
enum Part {
    #[default]
    Nothing,
    /// `kept` from here on.
    Kept(usize),
    /// So many bytes at the front of the source's data.
    Rest(usize),
    /// What the pipe holds.
    Pipe,
}

/// A few framing bytes in front of body bytes.
#[derive(Debug, Default)]
struct Lead {
    bytes: [u8; 24],
    len: u8,
    at: u8,
}

impl Lead {
    fn left(&self) -> &[u8] {
        &self.bytes[usize::from(self.at)..usize::from(self.len)]
    }

    fn put(&mut self, text: &[u8]) {
        self.at = 0;
        self.len = text.len() as u8;
        self.bytes[..text.len()].copy_from_slice(text);
    }

    /// A chunk's line; the line end of the chunk before it goes with it.
    fn chunk(&mut self, len: usize, first: bool) {
        use std::io::Write;
        let end = if first { "" } else { "\r\n" };
        let mut text = [0; 24];
        let mut room = &mut text[..];
        // 2 + 16 + 2 bytes at most.
        let _ = write!(room, "{end}{len:x}\r\n");
        let left = room.len();
        self.put(&text[..24 - left]);
    }
}

impl Sending {
    /// A request whose body begins with `kept`. `whole`: that is all of it.
    pub fn new(kept: Vec<u8>, whole: bool) -> Sending {
        Sending {
            kept,
            whole,
            ..Sending::default()
        }
    }

    /// The kept part of the body.
    pub fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// The kept part, taken out.
    pub fn take_kept(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }

    /// The kept part is the whole body.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Starts (again) at the beginning, with `head` filled in. `hold`: the body waits for
    /// [`Sending::release`].
    pub fn begin(&mut self, framing: BodyFraming, hold: bool) {
        self.framing = Some(framing);
        self.head_at = 0;
        self.lead = Lead::default();
        self.part = Part::Nothing;
        self.kept_done = self.kept.is_empty();
        self.to_come = match framing {
            BodyFraming::Length(n) => n,
            _ => 0,
        };
        self.last = framing == BodyFraming::None;
        self.held = hold && !self.last;
        self.written = 0;
        self.waits_for_body = false;
    }

    /// The body may go out now.
    pub fn release(&mut self) {
        self.held = false;
    }

    /// Nothing beyond the kept part was taken from the source.
    pub fn repeatable(&self) -> bool {
        !self.rest_touched
    }

    /// Bytes written to the connection so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// There is a body, and nothing of it went out.
    pub fn body_unsent(&self) -> bool {
        !matches!(
            self.framing,
            None | Some(BodyFraming::None | BodyFraming::Length(0))
        ) && self.written <= self.head.len() as u64
    }

    /// All was written.
    pub fn done(&self) -> bool {
        self.last
            && self.head_at == self.head.len()
            && self.lead.left().is_empty()
            && matches!(self.part, Part::Nothing)
    }

    /// Nothing can be written since the client has not sent more (or the body is held back).
    pub fn waits_for_body(&self) -> bool {
        self.waits_for_body
    }

    /// Writes what can be written; `Ready(Ok)` when all was. `rest`: the body behind the kept part.
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        to: &Stream,
        mut rest: Option<&mut (dyn Source + '_)>,
    ) -> Poll<Result<(), SendError>> {
        for _ in 0..TURNS {
            self.waits_for_body = false;
            if matches!(self.part, Part::Nothing) && self.lead.left().is_empty() && !self.last {
                self.waits_for_body = self.next_part(cx, &mut rest)?.is_pending();
            }
            let head = &self.head[self.head_at..];
            let lead = self.lead.left();
            let body = match (self.part, &rest) {
                (Part::Kept(at), _) => &self.kept[at..],
                (Part::Rest(n), Some(rest)) => &rest.data()[..n],
                _ => &[],
            };
            let n = if !lead.is_empty() || !body.is_empty() {
                let slices = [IoSlice::new(head), IoSlice::new(lead), IoSlice::new(body)];
                let first = usize::from(head.is_empty());
                to.poll_writev(cx, &slices[first..])
            } else if !head.is_empty() {
                to.poll_write(cx, head)
            } else if matches!(self.part, Part::Pipe) {
                self.poll_drain(cx, to)
            } else {
                return match self.done() {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Pending,
                };
            };
            let n = match n {
                Poll::Ready(Ok(n)) => n,
                Poll::Ready(Err(e)) => return Poll::Ready(Err(SendError::Write(e))),
                Poll::Pending => {
                    self.waits_for_body = false;
                    return Poll::Pending;
                }
            };
            self.wrote(n, rest.as_deref_mut());
        }
        // Two fast ends must not keep the loop from the others.
        task::queue(task::current());
        Poll::Pending
    }

    /// Moves what the pipe holds to the backend.
    fn poll_drain(&mut self, cx: &mut Context<'_>, to: &Stream) -> Poll<io::Result<usize>> {
        let Some(pipe) = &mut self.pipe else {
            return Poll::Ready(Ok(0));
        };
        loop {
            ready!(to.poll_writable(cx));
            match pipe.drain(to.raw_fd(), false) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => to.clear_writable(),
                drained => return Poll::Ready(drained),
            }
        }
    }

    /// Lets the kernel move a part of a large counted body; false when nothing came that way.
    fn splice_in(&mut self, rest: &mut (dyn Source + '_)) -> Result<bool, SendError> {
        if self.to_come < SPLICE || !rest.data().is_empty() {
            return Ok(false);
        }
        let Some(raw) = rest.raw().filter(|r| r.remaining >= SPLICE) else {
            return Ok(false);
        };
        let pipe = match &mut self.pipe {
            Some(pipe) => pipe,
            None => match Pipe::take() {
                Ok(pipe) => self.pipe.insert(Box::new(pipe)),
                // Out of descriptors: it goes the other way.
                Err(_) => return Ok(false),
            },
        };
        let most = raw.remaining.min(self.to_come).min(SPLICE_STEP);
        match pipe.fill(raw.fd, raw.offset, most as usize) {
            Ok(0) => Ok(false),
            Ok(n) => {
                rest.took_raw(n as u64, false);
                self.rest_touched = true;
                self.part = Part::Pipe;
                self.frame(n, false)?;
                Ok(true)
            }
            Err(e) => {
                rest.took_raw(0, e.kind() == io::ErrorKind::WouldBlock);
                Ok(false)
            }
        }
    }

    /// Finds the next piece of the body. Pending when the client has not sent it yet.
    fn next_part(
        &mut self,
        cx: &mut Context<'_>,
        rest: &mut Option<&mut (dyn Source + '_)>,
    ) -> Result<Poll<()>, SendError> {
        if self.held {
            return Ok(Poll::Pending);
        }
        let first = !self.rest_touched && (!self.kept_done || self.kept.is_empty());
        if !self.kept_done {
            self.kept_done = true;
            self.part = Part::Kept(0);
            self.frame(self.kept.len(), true)?;
            if self.whole {
                self.finish_if_counted();
            }
            return Ok(Poll::Ready(()));
        }
        if let (false, Some(rest), Some(BodyFraming::Length(_))) =
            (self.whole, &mut *rest, self.framing)
            && self.splice_in(&mut **rest)?
        {
            return Ok(Poll::Ready(()));
        }
        let more = match (self.whole, rest) {
            (false, Some(rest)) => match rest.poll_fill(cx) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Ok(true)) => rest.data().len(),
                Poll::Ready(Ok(false)) => 0,
                Poll::Ready(Err(fault)) => return Err(SendError::Body(fault)),
            },
            _ => 0,
        };
        if more > 0 {
            self.rest_touched = true;
            self.part = Part::Rest(more);
            self.frame(more, first)?;
            return Ok(Poll::Ready(()));
        }
        match self.framing {
            Some(BodyFraming::Chunked) if first => self.lead.put(b"0\r\n\r\n"),
            Some(BodyFraming::Chunked) => self.lead.put(b"\r\n0\r\n\r\n"),
            _ if self.to_come > 0 => return Err(SendError::Body(cut())),
            _ => {}
        }
        self.last = true;
        Ok(Poll::Ready(()))
    }

    /// Frames `len` body bytes.
    fn frame(&mut self, len: usize, first: bool) -> Result<(), SendError> {
        match self.framing {
            Some(BodyFraming::Length(_)) => {
                // The client side bounds a counted body; more would be a second request for the
                // backend, so never trust it.
                self.to_come = self
                    .to_come
                    .checked_sub(len as u64)
                    .ok_or_else(|| SendError::Body(cut()))?;
                self.finish_if_counted();
            }
            Some(BodyFraming::Chunked) => self.lead.chunk(len, first),
            _ => return Err(SendError::Body(cut())),
        }
        Ok(())
    }

    fn finish_if_counted(&mut self) {
        if let Some(BodyFraming::Length(_)) = self.framing {
            self.last |= self.to_come == 0;
        }
    }

    fn wrote(&mut self, n: usize, rest: Option<&mut (dyn Source + '_)>) {
        self.written += n as u64;
        let of_head = n.min(self.head.len() - self.head_at);
        self.head_at += of_head;
        let of_lead = (n - of_head).min(self.lead.left().len());
        self.lead.at += of_lead as u8;
        let of_body = n - of_head - of_lead;
        self.part = match self.part {
            Part::Kept(at) if at + of_body < self.kept.len() => Part::Kept(at + of_body),
            Part::Rest(left) => {
                if let Some(rest) = rest {
                    rest.consume(of_body);
                }
                match left - of_body {
                    0 => Part::Nothing,
                    left => Part::Rest(left),
                }
            }
            Part::Pipe if self.pipe.as_ref().is_some_and(|p| p.held() > 0) => Part::Pipe,
            _ => Part::Nothing,
        };
    }
}

fn cut() -> Fault {
    Fault::new(
        Origin::Client,
        Phase::Sending,
        Kind::BadBody,
        "the request's body is not as long as its Content-Length says",
    )
}
