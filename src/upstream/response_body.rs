//! The body of an answer, and the end of its exchange.

use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::incoming::Incoming;
use super::reslist::Lease;
use super::sending::Sending;
use crate::balancer::{Balancing, Busy};
use crate::body::{Length, Raw, Source};
use crate::codec::http1::chunked::{Chunked, Step};
use crate::codec::http1::framing::Framing;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::reactor::timer::Timer;

/// A request at a worker: counted as busy until this is dropped, with its traffic.
pub struct Tally(Option<(Rc<Balancing>, Busy)>);

impl Tally {
    /// For a request that counts.
    pub fn new(balancing: Rc<Balancing>, busy: Busy) -> Tally {
        Tally(Some((balancing, busy)))
    }

    /// For the generic worker, which nobody counts.
    pub fn none() -> Tally {
        Tally(None)
    }

    /// Bytes handed to the backend connection.
    pub fn sent(&self, n: u64) {
        if let (Some((balancing, busy)), true) = (&self.0, n > 0) {
            balancing.add_sent(busy.worker(), n);
            busy.moved(n);
        }
    }

    /// Bytes read from it.
    pub fn read(&self, n: u64) {
        if let (Some((balancing, busy)), true) = (&self.0, n > 0) {
            balancing.add_read(busy.worker(), n);
            busy.moved(n);
        }
    }
}

/// The body of an answer as a source. As soon as its last byte was read from the backend the
/// connection goes back to its reslist, if it may be used again; a body that is dropped earlier
/// closes it.
pub struct ResponseBody {
    lease: Option<Lease>,
    incoming: Incoming,
    /// Body bytes, decoded, at the front of `incoming`.
    ready: usize,
    frame: Frame,
    reusable: bool,
    timeout: Duration,
    timer: Option<Timer>,
    /// A request whose answer came before it was sent whole.
    upload: Option<Upload>,
    /// Not yet counted.
    read: u64,
    /// Not yet counted.
    sent: u64,
    /// `length` may be told: the backend's framing said it.
    counted: bool,
    tally: Tally,
}

/// The rest of a request that is sent while its answer is passed on.
struct Upload {
    sending: Sending,
    rest: Box<dyn Source>,
    begun: u64,
}

enum Frame {
    /// So many bytes behind those that are ready.
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    /// All was read.
    Done,
}

impl ResponseBody {
    /// The body behind a head. `reusable`: head and worker allow another request on the connection.
    /// What is in `incoming` already is taken in at once, so a short answer frees its connection here.
    pub fn new(
        lease: Lease,
        incoming: Incoming,
        framing: Framing,
        reusable: bool,
        timeout: Duration,
        tally: Tally,
    ) -> ResponseBody {
        let frame = match framing {
            Framing::None => Frame::Length(0),
            Framing::Length(n) => Frame::Length(n),
            Framing::Chunked => Frame::Chunked(Chunked::new()),
            Framing::UntilClose => Frame::UntilClose,
        };
        ResponseBody {
            lease: Some(lease),
            incoming,
            ready: 0,
            frame,
            reusable,
            timeout,
            timer: None,
            upload: None,
            read: 0,
            sent: 0,
            counted: matches!(framing, Framing::None | Framing::Length(_)),
            tally,
        }
    }

    /// The request was not sent whole: goes on sending it while the body is read. The connection
    /// will not be used again.
    pub fn with_upload(mut self, sending: Sending, rest: Box<dyn Source>) -> ResponseBody {
        self.reusable = false;
        self.upload = Some(Upload {
            begun: sending.written(),
            sending,
            rest,
        });
        self
    }

    /// Takes in what has arrived with the head.
    pub fn start(&mut self) -> Result<(), Fault> {
        self.decode()?;
        self.report();
        Ok(())
    }

    /// Nothing is to come and nothing is there.
    pub fn is_empty(&self) -> bool {
        self.ready == 0 && matches!(self.frame, Frame::Done)
    }

    /// Turns received bytes into body bytes.
    fn decode(&mut self) -> Result<(), Fault> {
        let before = self.ready;
        let whole = match &mut self.frame {
            Frame::Done => false,
            Frame::UntilClose => {
                self.ready = self.incoming.data().len();
                false
            }
            Frame::Length(left) => {
                let here = self.incoming.data().len() - self.ready;
                let take = u64::try_from(here).unwrap_or(u64::MAX).min(*left);
                self.ready += take as usize;
                *left -= take;
                *left == 0
            }
            Frame::Chunked(chunked) => decode_chunks(chunked, &mut self.incoming, &mut self.ready)?,
        };
        self.read += (self.ready - before) as u64;
        if whole {
            self.finish();
        }
        Ok(())
    }

    /// The last byte was read.
    fn finish(&mut self) {
        self.frame = Frame::Done;
        self.timer = None;
        // Bytes behind the answer belong to nobody.
        let left_over = self.incoming.data().len() > self.ready;
        if let Some(lease) = self.lease.take()
            && self.reusable
            && !left_over
        {
            lease.give_back();
        }
        self.report();
        self.upload = None;
    }

    /// Counts what has moved since the last time.
    fn report(&mut self) {
        if let Some(upload) = &mut self.upload {
            let written = upload.sending.written();
            self.sent += written - upload.begun;
            upload.begun = written;
        }
        self.tally.read(std::mem::take(&mut self.read));
        self.tally.sent(std::mem::take(&mut self.sent));
    }

    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let Some(connection) = self.lease.as_ref().and_then(|l| l.connection.as_ref()) else {
            return Poll::Ready(Err(cut("the connection is gone", Kind::Eof)));
        };
        if let Some(upload) = &mut self.upload
            && !upload.sending.done()
        {
            let rest = Some(&mut *upload.rest);
            if let Poll::Ready(Err(_)) = upload.sending.poll_send(cx, &connection.stream, rest) {
                // The answer decides; what it says is passed on as far as it comes.
                self.sent += upload.sending.written() - upload.begun;
                self.upload = None;
            }
        }
        match self.incoming.poll_read(cx, &connection.stream) {
            Poll::Ready(Ok(0)) => {
                if !matches!(self.frame, Frame::UntilClose) {
                    let text = "the backend closed before its answer was complete";
                    return Poll::Ready(Err(cut(text, Kind::Eof)));
                }
                self.reusable = false;
                self.finish();
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Ok(_)) => {
                self.timer = None;
                let decoded = self.decode();
                self.report();
                Poll::Ready(decoded)
            }
            Poll::Ready(Err(e)) => Poll::Ready(Err(cut(
                "the connection to the backend broke in the middle of its answer",
                Kind::Broken,
            )
            .with_os(&e))),
            Poll::Pending => {
                let timer = self.timer.get_or_insert_with(|| Timer::new(self.timeout));
                match timer.poll_elapsed(cx) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(()) => Poll::Ready(Err(cut(
                        "the backend fell silent in the middle of its answer",
                        Kind::Timeout,
                    ))),
                }
            }
        }
    }
}

impl Source for ResponseBody {
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        loop {
            if self.ready > 0 {
                return Poll::Ready(Ok(true));
            }
            if matches!(self.frame, Frame::Done) {
                return Poll::Ready(Ok(false));
            }
            match self.poll_more(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(fault)) => {
                    // Nothing more may be read from it, and it must not look ended.
                    self.lease = None;
                    self.report();
                    return Poll::Ready(Err(fault));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn data(&self) -> &[u8] {
        &self.incoming.data()[..self.ready]
    }

    fn consume(&mut self, n: usize) {
        let n = n.min(self.ready);
        self.incoming.consume(n);
        self.ready -= n;
    }

    fn length(&self) -> Length {
        match &self.frame {
            Frame::Length(left) => Length::Exact(*left + self.ready as u64),
            Frame::Done if self.counted => Length::Exact(self.ready as u64),
            _ => Length::Unknown,
        }
    }

    fn raw(&self) -> Option<Raw> {
        let Frame::Length(remaining) = self.frame else {
            return None;
        };
        if self.ready > 0 || remaining == 0 || self.upload.is_some() {
            return None;
        }
        let connection = self.lease.as_ref()?.connection.as_ref()?;
        Some(Raw {
            fd: connection.stream.raw_fd(),
            remaining,
            offset: None,
        })
    }

    fn took_raw(&mut self, n: u64, drained: bool) {
        let Frame::Length(left) = &mut self.frame else {
            return;
        };
        *left = left.saturating_sub(n);
        let whole = *left == 0;
        self.tally.read(n);
        if n > 0 {
            self.timer = None;
        }
        if drained && let Some(c) = self.lease.as_ref().and_then(|l| l.connection.as_ref()) {
            c.stream.clear_readable();
        }
        if whole {
            self.finish();
        }
    }

    fn ended(&self) -> bool {
        self.is_empty()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.report();
    }
}

/// Decodes all chunks that have arrived, joining their data behind the bytes that are ready, in one
/// pass however small they are. True at the body's end.
fn decode_chunks(
    chunked: &mut Chunked,
    incoming: &mut Incoming,
    ready: &mut usize,
) -> Result<bool, Fault> {
    let data = incoming.data_mut();
    let (mut from, mut to) = (*ready, *ready);
    let ended = loop {
        let step = chunked.step(&data[from..]).map_err(|e| {
            let text = format!("a bad chunk in the backend's answer: {e}");
            cut(&text, Kind::BadBody)
        })?;
        match step {
            Step::More { used } => {
                from += used;
                break false;
            }
            Step::Data { skip, len } => {
                from += skip;
                data.copy_within(from..from + len, to);
                chunked.took(len);
                from += len;
                to += len;
            }
            Step::End { used } => {
                from += used;
                break true;
            }
        }
    };
    let behind = data.len() - from;
    data.copy_within(from.., to);
    incoming.truncate(to + behind);
    *ready = to;
    Ok(ended)
}

fn cut(text: &str, kind: Kind) -> Fault {
    Fault::new(Origin::Upstream, Phase::ResponseBody, kind, text)
}
