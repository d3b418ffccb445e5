//! One request and its answer. The future lives in a block of the pool and is gone when it is done,
//! so that an idle connection holds nothing of it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::client_body::{ClientBody, Coding};
use super::deadline::Deadline;
use super::head::{Reading, read_head};
use super::hub::Hub;
use super::persistence::{Facts, Persistence};
use super::reply::{Cut, Delimited, Reply};
use super::wire::{BodyState, Wire};
use crate::body::{Length, Source};
use crate::clock::{self, Mono};
use crate::codec::fields::Fields;
use crate::codec::http1::encode;
use crate::codec::http1::framing::{Framing, request_framing};
use crate::codec::http1::head::{HeadError, Method, RequestHead, Version};
use crate::config::settings::Server;
use crate::fault::Fault;
use crate::request::record::{Outcome, write_logs};
use crate::request::say::say;
use crate::request::{Answer, AnswerBody, ConnInfo, Request, RequestBody, phases};
use crate::shm::{RequestInfo, RequestPhase};

/// Unread body bytes that are thrown away so that the connection can be kept.
const DISCARD: usize = 64 * 1024;

/// What the access log shows for a request whose client went away before its answer began.
const CLIENT_GONE: u16 = 499;

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A request was answered and another may come.
    Kept,
    /// There was nothing to read yet.
    Nothing,
    /// Close.
    Close,
    /// Close so that the client gets all of its answer.
    Linger,
}

/// Reads a request that has begun to arrive and answers it. `served`: requests before it on the
/// connection. `since`: when its time began.
pub(super) async fn exchange(hub: &Hub, wire: &Rc<Wire>, served: u32, since: Mono) -> Next {
    let first = hub.first_server(wire.local);
    let deadline = Deadline::new(&first.read_timeout.header, since);
    wire.takes_interim.set(false);
    let reading = read_head(wire, &first.limits, deadline, first.timeout).await;
    wire.bytes_out.set(0);
    let (head, refused) = match reading {
        Reading::Nothing => return Next::Nothing,
        Reading::Gone => return Next::Close,
        Reading::Head(head) => match request_framing(&head) {
            Ok(framing) => (Some((head, framing)), None),
            Err(mut error) => {
                error.line = head.line;
                (None, Some(error))
            }
        },
        Reading::Refused(error) => (None, Some(error)),
        Reading::TooSlow(Some(line)) => (None, Some(too_slow(line))),
        Reading::TooSlow(None) => {
            if served == 0 {
                log_silent(hub, wire);
            }
            return Next::Close;
        }
    };
    let admitted = hub.admission.pass(first.timeout).await;
    let received = (clock::now(), clock::wall());
    let info = |body_length| ConnInfo {
        client: wire.client,
        local: wire.local,
        served,
        received,
        body_length,
        link: Rc::clone(wire) as Rc<dyn crate::request::ClientLink>,
    };
    let mut exchange = match (head, refused) {
        (Some((head, framing)), _) => {
            let (body, length) = request_body(wire, &head, framing, first);
            Exchange::new(
                hub,
                wire,
                phases::begin(&hub.room, head, info(length)),
                body,
            )
        }
        (None, Some(error)) => {
            // Where this message ends is not known, so nothing after it is read as a request.
            wire.body.set(BodyState::Broken);
            let req = phases::begin_refused(&hub.room, error, info(Length::None));
            Exchange::new(hub, wire, req, RequestBody::none())
        }
        (None, None) => return Next::Close,
    };
    let next = exchange.run(admitted, since).await;
    hub.admission.ended();
    next
}

struct Exchange<'a> {
    hub: &'a Hub,
    wire: &'a Rc<Wire>,
    req: Request,
    body: RequestBody,
    version: Version,
    says_close: bool,
    says_keep: bool,
}

impl<'a> Exchange<'a> {
    fn new(hub: &'a Hub, wire: &'a Rc<Wire>, req: Request, body: RequestBody) -> Exchange<'a> {
        let fields = &req.head.fields;
        let has_connection = fields.contains("Connection");
        Exchange {
            hub,
            wire,
            version: req.head.version,
            says_close: has_connection && fields.has_token("Connection", "close"),
            says_keep: has_connection && fields.has_token("Connection", "keep-alive"),
            req,
            body,
        }
    }

    async fn run(&mut self, admitted: bool, since: Mono) -> Next {
        let hub = self.hub;
        self.wire.server.set(self.req.server);
        let record = hub.view.begin_request(&RequestInfo {
            client: self.req.client,
            vhost: &hub.names[self.req.server.index()],
            port: self.req.local.port(),
            method: self.req.head.method.as_str(),
            target: &self.req.head.target,
            tail: hub.room.settings.see_request_tail,
            minor: u8::from(self.version == Version::Http11),
            since,
        });
        record.phase(RequestPhase::Writing);
        *self.wire.record.borrow_mut() = Some(record.marker());
        let answer = if admitted {
            self.handle().await
        } else {
            let fault = Fault::status(503, "MaxRequestWorkers is reached and nothing became free");
            Some(phases::give_up(&hub.room, &mut self.req, fault))
        };
        self.wire.takes_interim.set(false);
        *self.wire.record.borrow_mut() = None;
        let next = match answer {
            Some(answer) => self.reply(answer).await,
            None => {
                self.log(CLIENT_GONE, &Fields::default(), 0, None, true, false);
                Next::Close
            }
        };
        record.phase(RequestPhase::Logging);
        let micros = clock::now().since(self.req.received.0).as_micros();
        record.finish(
            self.wire.bytes_out.get(),
            u64::try_from(micros).unwrap_or(u64::MAX),
        );
        next
    }

    /// Runs the phases; `None` when the client's connection broke meanwhile.
    async fn handle(&mut self) -> Option<Answer> {
        let stream = &self.wire.stream;
        let mut handling = pin!(phases::run(&self.hub.room, &mut self.req, &mut self.body));
        poll_fn(|cx| {
            if let Poll::Ready(answer) = handling.as_mut().poll(cx) {
                return Poll::Ready(Some(answer));
            }
            if stream.is_broken() {
                return Poll::Ready(None);
            }
            // A reset must wake this task even when it waits for a backend alone.
            stream.wait_for_event();
            Poll::Pending
        })
        .await
    }

    async fn reply(&mut self, mut answer: Answer) -> Next {
        let patience = self.server().timeout;
        loop {
            if self.wire.body.get() == BodyState::Open {
                poll_fn(|cx| {
                    self.discard(cx);
                    Poll::Ready(())
                })
                .await;
            }
            let (delimited, persistence) = self.finish_head(&mut answer);
            let mut out = self.hub.output();
            out.append(&mut self.wire.take_interim());
            let version = if self.req.effects.response_10 {
                Version::Http10
            } else {
                Version::Http11
            };
            let head = &answer.head;
            encode::write_response_head(&mut out, version, head.status, &head.reason, &head.fields);
            let mut reply = Reply::new(self.wire, delimited, out, patience);
            let sent = poll_fn(|cx| {
                let sent = reply.poll_send(cx, &mut answer.body);
                if sent.is_pending() {
                    if self.wire.stream.is_broken() {
                        let gone = std::io::ErrorKind::ConnectionReset.into();
                        return Poll::Ready(Err(Cut::Client(gone)));
                    }
                    self.wire.stream.wait_for_event();
                }
                sent
            })
            .await;
            let (body_sent, first_byte) = (reply.body_sent(), reply.first_byte());
            self.hub.give_back(reply.into_buffer());
            let (status, fields) = (answer.head.status, &answer.head.fields);
            match sent {
                Ok(()) => {
                    let kept = persistence.keeps() && self.wire.body.get() == BodyState::Read;
                    self.log(status, fields, body_sent, first_byte, false, kept);
                    // The source may hold a backend's connection or a file.
                    answer.body = AnswerBody::None;
                    return self.after(kept);
                }
                Err(Cut::Source(fault)) if first_byte.is_none() => {
                    answer = phases::give_up(&self.hub.room, &mut self.req, fault);
                }
                Err(Cut::Source(fault)) => {
                    let text = format!("the answer was cut: {}", fault.detail);
                    say(&self.hub.room, &self.req, 3, "core", fault.os, &text);
                    if delimited == Delimited::Close {
                        // Without a length an orderly end would look like a whole answer.
                        let _ = self.wire.stream.set_reset_on_close();
                    }
                    self.log(status, fields, body_sent, first_byte, false, false);
                    return Next::Close;
                }
                Err(Cut::Client(e)) => {
                    let text = "the client did not take its answer";
                    say(&self.hub.room, &self.req, 6, "core", e.raw_os_error(), text);
                    self.log(status, fields, body_sent, first_byte, true, false);
                    return Next::Close;
                }
            }
        }
    }

    /// Throws away the rest of a request's body as far as it is here already, so that the next
    /// request can be read. Never waits, never asks the client for more.
    fn discard(&mut self, cx: &mut Context<'_>) {
        let mut left = DISCARD;
        while self.wire.body.get() == BodyState::Open && left > 0 {
            match self.body.poll_arrived(cx) {
                Poll::Ready(Ok(true)) => {
                    let n = self.body.data().len();
                    self.body.consume(n);
                    left = left.saturating_sub(n);
                }
                _ => break,
            }
        }
    }

    /// Adds framing and connection fields.
    fn finish_head(&mut self, answer: &mut Answer) -> (Delimited, Persistence) {
        let server = self.server();
        let speaks_11 = self.version == Version::Http11 && !self.req.effects.downgrade;
        let status = answer.head.status;
        let bodiless = matches!(status, 204 | 304) || status < 200;
        let mut length = answer.body.length();
        if bodiless || self.req.head.method == Method::Head {
            answer.body = AnswerBody::None;
            length = Length::None;
        }
        let delimited = match length {
            Length::Unknown if speaks_11 => Delimited::Chunked,
            Length::Unknown => Delimited::Close,
            Length::None | Length::Exact(_) => Delimited::Counted,
        };
        let persistence = Persistence::decide(&Facts {
            allowed: server.keep_alive,
            timeout: server.keep_alive_timeout,
            most: server.max_keep_alive_requests,
            served: self.req.served,
            version: if speaks_11 {
                Version::Http11
            } else {
                Version::Http10
            },
            says_close: self.says_close,
            says_keep: self.says_keep,
            status,
            delimited: delimited != Delimited::Close,
            must_close: answer.close
                || self.req.effects.no_keep_alive
                || self.wire.body.get() != BodyState::Read
                || self.hub.room.draining.get(),
        });
        let fields = &mut answer.head.fields;
        match length {
            Length::Exact(n) if !fields.contains("Content-Length") => {
                fields.push(b"Content-Length", decimal(n, &mut [0; 20]));
            }
            Length::None if !bodiless && self.req.head.method != Method::Head => {
                fields.set("Content-Length", b"0");
            }
            Length::Unknown => {
                fields.remove("Content-Length");
            }
            _ => {}
        }
        match persistence {
            Persistence::Keep => {}
            Persistence::Close => fields.push(b"Connection", b"close"),
            Persistence::Told { timeout, max } => {
                let text = match max {
                    Some(max) => format!("timeout={timeout}, max={max}"),
                    None => format!("timeout={timeout}"),
                };
                fields.push(b"Keep-Alive", text.as_bytes());
                fields.push(b"Connection", b"Keep-Alive");
            }
        }
        if delimited == Delimited::Chunked {
            fields.push(b"Transfer-Encoding", b"chunked");
        }
        (delimited, persistence)
    }

    /// The answer is out whole.
    fn after(&self, kept: bool) -> Next {
        if kept {
            return Next::Kept;
        }
        let wire = self.wire;
        let client_closes = self.says_close || (self.version == Version::Http10 && !self.says_keep);
        if client_closes
            && wire.body.get() == BodyState::Read
            && !wire.has_bytes()
            && wire.stream.is_quiet()
        {
            Next::Close
        } else {
            Next::Linger
        }
    }

    fn log(
        &self,
        status: u16,
        fields: &Fields,
        body_sent: u64,
        first_byte: Option<Mono>,
        aborted: bool,
        kept: bool,
    ) {
        let outcome = Outcome {
            status,
            fields,
            body_sent,
            bytes_in: self.wire.bytes_in.get(),
            bytes_out: self.wire.bytes_out.get(),
            first_byte,
            aborted,
            kept,
        };
        write_logs(&self.hub.room, &self.req, &outcome);
    }

    fn server(&self) -> &'a Server {
        self.hub.room.settings.server(self.req.server)
    }
}

fn request_body(
    wire: &Rc<Wire>,
    head: &RequestHead,
    framing: Framing,
    server: &Server,
) -> (RequestBody, Length) {
    wire.takes_interim.set(head.version == Version::Http11);
    let (coding, length) = match framing {
        Framing::None | Framing::UntilClose => {
            wire.body.set(BodyState::Read);
            return (RequestBody::none(), Length::None);
        }
        Framing::Length(n) => (Coding::Counted(n), Length::Exact(n)),
        Framing::Chunked => (Coding::Chunked(Box::default()), Length::Unknown),
    };
    let expects =
        head.version == Version::Http11 && head.fields.has_token("Expect", "100-continue");
    let source = ClientBody::new(
        Rc::clone(wire),
        coding,
        &server.read_timeout.body,
        server.timeout,
    );
    let expects = expects && !source.ended();
    let link = Rc::clone(wire) as Rc<dyn crate::request::ClientLink>;
    (RequestBody::new(Box::new(source), expects, link), length)
}

fn too_slow(line: Vec<u8>) -> HeadError {
    HeadError {
        status: 408,
        reason: "the head came slower than RequestReadTimeout allows",
        line,
    }
}

/// A fresh connection that never sent a request line is logged as a 408 without a line.
pub(super) fn log_silent(hub: &Hub, wire: &Rc<Wire>) {
    let info = ConnInfo {
        client: wire.client,
        local: wire.local,
        served: 0,
        received: (clock::now(), clock::wall()),
        body_length: Length::None,
        link: Rc::clone(wire) as Rc<dyn crate::request::ClientLink>,
    };
    let req = phases::begin_refused(&hub.room, too_slow(Vec::new()), info);
    let outcome = Outcome {
        status: 408,
        fields: &Fields::default(),
        body_sent: 0,
        bytes_in: wire.bytes_in.get(),
        bytes_out: 0,
        first_byte: None,
        aborted: false,
        kept: false,
    };
    write_logs(&hub.room, &req, &outcome);
}

fn decimal(mut n: u64, into: &mut [u8; 20]) -> &[u8] {
    let mut at = into.len();
    loop {
        at -= 1;
        into[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return &into[at..];
        }
    }
}
