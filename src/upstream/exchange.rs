//! One request over one connection, up to the head of its answer.

use std::future::{Future, poll_fn};
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use super::connection::Connection;
use super::incoming::Incoming;
use super::reslist::Lease;
use super::sending::{SendError, Sending};
use crate::body::Source;
use crate::clock::{self, Mono};
use crate::codec::http1::head::{Method, Parsed, ResponseHead, parse_response};
use crate::codec::http1::limits::ResponseLimits;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::reactor::timer::Timer;

/// The interim response that is one too many.
const MOST_INTERIM: u32 = 10;

/// A head that has begun may take this many times the timeout of a single read, so that with the
/// wait for its first byte four of them are the most.
const HEAD_TIMES: u32 = 3;

/// How an exchange is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// Of the request: decides whether the answer has a body.
    pub method: &'a Method,
    /// Each wait for the backend.
    pub timeout: Duration,
    /// Bounds of the answer's head.
    pub limits: ResponseLimits,
    /// The body is held back until the backend says 100, for at most this long (`ping`).
    pub ping: Option<Duration>,
}

/// What went wrong, with what is needed to judge whether the request may be sent again.
#[derive(Debug)]
pub struct Failure {
    /// For the client and the log.
    pub fault: Fault,
    /// Bytes of the request that were written to the connection.
    pub written: u64,
    /// Something of an answer arrived.
    pub answered: bool,
    /// The connection had been used before.
    pub reused: bool,
    /// `ping` was not answered in time.
    pub unanswered_ping: bool,
    /// There is a body and nothing of it was sent: the backend has no whole request.
    pub incomplete: bool,
}

impl Failure {
    /// The backend has no whole request, so it can't have acted on it.
    pub fn unread(&self) -> bool {
        self.written == 0 || self.incomplete
    }

    /// A place without a connection: the caller's mistake.
    fn unconnected() -> Failure {
        let kind = Kind::Status(500);
        let text = "a request was to be sent without a connection";
        Failure {
            fault: Fault::new(Origin::Own, Phase::Sending, kind, text),
            written: 0,
            answered: false,
            reused: false,
            unanswered_ping: false,
            incomplete: true,
        }
    }
}

/// The answer's head and what came with it.
#[derive(Debug)]
pub struct Answered {
    /// The head; never an interim one.
    pub head: ResponseHead,
    /// Bytes behind the head.
    pub incoming: Incoming,
}

impl Exchange<'_> {
    /// Sends and waits for the answer's head. `rest`: the body behind what `sending` keeps; the
    /// answer may come before it was sent whole (see [`Sending::done`]). `interim` is called with
    /// each 1xx head.
    ///
    /// Not an `async fn`, which would keep each argument twice.
    pub fn run<'a>(
        self,
        lease: &'a Lease,
        sending: &'a mut Sending,
        mut rest: Option<&'a mut (dyn Source + 'a)>,
        mut interim: impl FnMut(&ResponseHead) + 'a,
    ) -> impl Future<Output = Result<Answered, Failure>> + 'a
    where
        Self: 'a,
    {
        let mut state = State {
            incoming: Incoming::default(),
            timer: None,
            head_until: None,
            interims: 0,
            answered: false,
            broken: None,
        };
        poll_fn(move |cx| {
            let Some(connection) = &lease.connection else {
                return Poll::Ready(Err(Failure::unconnected()));
            };
            let rest = rest.as_deref_mut();
            let head = match self.poll(cx, connection, sending, rest, &mut interim, &mut state) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(head) => head,
            };
            Poll::Ready(match head {
                Ok(head) => Ok(Answered {
                    head,
                    incoming: std::mem::take(&mut state.incoming),
                }),
                Err(fault) => Err(Failure {
                    unanswered_ping: self.ping.is_some()
                        && !state.answered
                        && fault.kind == Kind::Timeout,
                    fault,
                    incomplete: sending.body_unsent(),
                    written: sending.written(),
                    answered: state.answered,
                    reused: connection.reused(),
                }),
            })
        })
    }

    fn poll(
        &self,
        cx: &mut Context<'_>,
        connection: &Connection,
        sending: &mut Sending,
        mut rest: Option<&mut (dyn Source + '_)>,
        interim: &mut impl FnMut(&ResponseHead),
        state: &mut State,
    ) -> Poll<Result<ResponseHead, Fault>> {
        let before = sending.written();
        loop {
            if !sending.done() && state.broken.is_none() {
                let rest = rest.as_deref_mut();
                match sending.poll_send(cx, &connection.stream, rest) {
                    Poll::Pending | Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(SendError::Body(fault))) => return Poll::Ready(Err(fault)),
                    // It may have answered and closed: look for the answer before giving up.
                    Poll::Ready(Err(SendError::Write(e))) => state.broken = Some(e),
                }
            }
            match state.incoming.poll_read(cx, &connection.stream) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(state.ended(sending))),
                Poll::Ready(Ok(_)) => state.answered = true,
                Poll::Ready(Err(e)) => return Poll::Ready(Err(state.lost(&e, sending))),
                // A broken write is followed by an event, with or without an answer before it.
                Poll::Pending => break,
            }
            while let Some(head) = self.next_head(state)? {
                if head.status >= 200 {
                    return Poll::Ready(Ok(head));
                }
                self.take_interim(&head, state, sending)?;
                interim(&head);
            }
            state.timer = None;
        }
        if sending.written() != before {
            state.timer = None;
        }
        self.poll_timer(cx, sending, state)
    }

    /// The next complete head of what has arrived.
    fn next_head(&self, state: &mut State) -> Result<Option<ResponseHead>, Fault> {
        if state.incoming.data().is_empty() {
            return Ok(None);
        }
        match parse_response(state.incoming.data(), &self.limits) {
            Ok(Parsed::Done { head, used }) => {
                state.incoming.consume(used);
                state.head_until = None;
                Ok(Some(head))
            }
            Ok(Parsed::Incomplete) => {
                let now = clock::now();
                let until = *state
                    .head_until
                    .get_or_insert(now + self.timeout * HEAD_TIMES);
                match now >= until {
                    true => Err(timed_out("the whole head of its answer")),
                    false => Ok(None),
                }
            }
            Err(e) => Err(malformed(e.reason)),
        }
    }

    fn take_interim(
        &self,
        head: &ResponseHead,
        state: &mut State,
        sending: &mut Sending,
    ) -> Result<(), Fault> {
        if head.status == 101 {
            return Err(malformed("it switched protocols without being asked to"));
        }
        if head.status == 100 {
            sending.release();
        }
        state.interims += 1;
        if state.interims >= MOST_INTERIM {
            return Err(malformed(
                "Too many (10) interim responses from origin server",
            ));
        }
        Ok(())
    }

    fn poll_timer(
        &self,
        cx: &mut Context<'_>,
        sending: &Sending,
        state: &mut State,
    ) -> Poll<Result<ResponseHead, Fault>> {
        let waits = match self.ping {
            Some(ping) if !state.answered => ping,
            // The client is slow, not the backend; the client's side has its own limits.
            _ if sending.waits_for_body() => {
                state.timer = None;
                return Poll::Pending;
            }
            _ => match state.head_until {
                Some(until) => self.timeout.min(until.since(clock::now())),
                None => self.timeout,
            },
        };
        let timer = state.timer.get_or_insert_with(|| Timer::new(waits));
        match timer.poll_elapsed(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) if sending.done() || self.ping.is_some() => {
                Poll::Ready(Err(timed_out("an answer")))
            }
            Poll::Ready(()) => Poll::Ready(Err(Fault {
                phase: Phase::Sending,
                ..timed_out("room for more of the request")
            })),
        }
    }
}

struct State {
    incoming: Incoming,
    timer: Option<Timer>,
    /// When an answer's head that has begun must be complete.
    head_until: Option<Mono>,
    interims: u32,
    answered: bool,
    /// A write failed.
    broken: Option<io::Error>,
}

impl State {
    fn ended(&mut self, sending: &Sending) -> Fault {
        match self.broken.take() {
            Some(e) => self.lost(&e, sending),
            None => upstream(
                self.phase(sending),
                Kind::Eof,
                "Error reading from remote server: it closed the connection before its answer was complete",
            ),
        }
    }

    fn lost(&self, e: &io::Error, sending: &Sending) -> Fault {
        upstream(
            self.phase(sending),
            Kind::Broken,
            "Error reading from remote server: the connection broke before its answer was complete",
        )
        .with_os(e)
    }

    fn phase(&self, sending: &Sending) -> Phase {
        match sending.done() {
            true => Phase::ResponseHead,
            false => Phase::Sending,
        }
    }
}

fn upstream(phase: Phase, kind: Kind, detail: &str) -> Fault {
    Fault::new(Origin::Upstream, phase, kind, detail)
}

fn malformed(reason: &str) -> Fault {
    upstream(Phase::ResponseHead, Kind::Malformed(502), reason)
}

fn timed_out(what: &str) -> Fault {
    upstream(
        Phase::ResponseHead,
        Kind::Timeout,
        &format!("the backend did not give {what} in time"),
    )
}
