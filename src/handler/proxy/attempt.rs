//! One try of a request at one worker: a connection, the head, the exchange, the answer.

use std::borrow::Cow;
use std::cell::Cell;
use std::time::Duration;

use super::outgoing;
use super::request_head::{Added, Expect, HeadInput, write_fields};
use super::response_head;
use super::target::{Spelling, write_target};
use super::wishes::{Interim, Wishes};
use super::{Proxy, Stage};
use crate::body::Source;
use crate::codec::fields::Fields;
use crate::codec::http1::framing::{Framing, response_framing};
use crate::codec::http1::head::{ResponseHead, Version};
use crate::codec::http1::limits::ResponseLimits;
use crate::config::settings::{Via, Worker as WorkerSettings};
use crate::fault::{Fault, Kind, Origin, Phase, Retry};
use crate::request::say::say;
use crate::request::{Answer, AnswerBody, Request, RequestBody, answer};
use crate::upstream::connect::{ConnectError, Destination, Why};
use crate::upstream::exchange::Answered;
use crate::upstream::retry::{Attempt, judge};
use crate::upstream::{
    BodyFraming, Exchange, Failure, Lease, ResponseBody, Sending, Tally, Worker, scheme,
};

/// Where a try goes.
pub struct Way<'a> {
    /// As configured; `None` for the generic worker.
    pub settings: Option<&'a WorkerSettings>,
    /// Its connections.
    pub worker: &'a Worker,
    /// Scheme, for the registry.
    pub scheme: &'a str,
    /// Where to connect.
    pub to: Destination<'a>,
    /// The value of Host, unless the client's is preserved.
    pub host: Cow<'a, [u8]>,
    /// The member's own path.
    pub before: &'a [u8],
    /// The rest of the path.
    pub path: &'a [u8],
    /// Connections may be used again.
    pub reuse: bool,
    /// It is a member of a balancer.
    pub balanced: bool,
    /// Each wait for the backend.
    pub timeout: Duration,
}

/// The end of a try that failed.
pub struct Failed {
    /// For the client and the log; `retry` says where the request may go.
    pub fault: Fault,
    /// It is the worker's failure and puts a member in error.
    pub blames: bool,
}

impl Failed {
    fn innocent(fault: Fault) -> Failed {
        Failed {
            fault,
            blames: false,
        }
    }
}

impl Proxy {
    /// Makes one try; on a reused connection that turns out to be dead, once more on a fresh one.
    pub(super) async fn attempt(
        &self,
        stage: &Stage<'_>,
        req: &mut Request,
        body: &mut RequestBody,
        sending: &mut Sending,
        way: &Way<'_>,
        tally: Tally,
    ) -> Result<Answer, Failed> {
        if let Err(reason) = scheme::protocol(way.scheme) {
            let text = format!("AH01144: {reason}");
            say(stage.room, req, 4, "proxy", None, &text);
            let fault = Fault::new(Origin::Own, Phase::Choosing, Kind::Scheme, text);
            return Err(Failed::innocent(fault));
        }
        let wishes = Wishes::of(&req.env);
        let mut fresh = wishes.initial_fresh && req.served == 0;
        let mut repeated = false;
        loop {
            let lease = self.connected(stage, req, way, fresh).await?;
            let relay = stage.relay_expect && !wishes.old;
            let framing = outgoing::framing(sending, req.body_length);
            let ping = way.ping(framing, relay, wishes.old);
            let keep_alive = way.reuse && !wishes.no_keep_alive && !wishes.old;
            self.write_head(stage, req, way, sending, &wishes, framing, ping, keep_alive)
                .map_err(Failed::innocent)?;
            sending.begin(framing, ping.is_some());
            let outcome = exchange(stage, req, body, sending, way, &lease, &wishes, ping).await;
            tally.sent(sending.written());
            let failure = match outcome {
                Ok(answered) => {
                    let end = End {
                        lease,
                        keep_alive,
                        relay,
                        answered,
                    };
                    return self.answer(stage, req, body, sending, way, end, tally);
                }
                Err(failure) => failure,
            };
            if failure.fault.kind == Kind::Timeout {
                // Its other connections would be as silent.
                lease.close_others();
            }
            drop(lease);
            let attempt = Attempt {
                method: &req.head.method,
                repeatable: sending.repeatable(),
                repeated,
                balanced: way.balanced,
            };
            match judge(&failure, &attempt) {
                Retry::Fresh => {
                    let text = "a kept connection was closed by the backend; the request is repeated on a fresh one";
                    say(stage.room, req, 7, "proxy_http", failure.fault.os, text);
                    (fresh, repeated) = (true, true);
                }
                retry => return Err(failed(stage, req, way, failure, retry)),
            }
        }
    }

    /// A place at the worker with a connection in it.
    async fn connected(
        &self,
        stage: &Stage<'_>,
        req: &Request,
        way: &Way<'_>,
        fresh: bool,
    ) -> Result<Lease, Failed> {
        // What cannot be repeated is not sent on a connection that is closed already.
        let peek = !req.head.method.is_idempotent();
        let reslist = &way.worker.reslist;
        let mut lease = reslist.acquire(fresh, peek).await.map_err(|e| {
            let text = format!("{}: {e}", way.name());
            say(stage.room, req, 3, "proxy", None, &text);
            let fault = Fault::new(Origin::Own, Phase::Choosing, Kind::PoolFull, text);
            Failed::innocent(fault.with_retry(Retry::Elsewhere))
        })?;
        if lease.connection.is_some() {
            return Ok(lease);
        }
        match self.upstreams.connect(&way.to).await {
            Ok(connection) => {
                lease.connection = Some(connection);
                if way.balanced
                    && let Some(settings) = way.settings
                {
                    self.balancing.mark_connected(settings.no);
                }
                Ok(lease)
            }
            // Out of ports or descriptors: one that became idle meanwhile does as well.
            Err(e) if e.why == Why::Own && !fresh && lease.take_idle(peek) => Ok(lease),
            Err(e) => {
                if e.why != Why::Own {
                    lease.close_others();
                }
                Err(unconnected(stage, req, way, &e))
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "each decides a part of the head")]
    fn write_head(
        &self,
        stage: &Stage<'_>,
        req: &Request,
        way: &Way<'_>,
        sending: &mut Sending,
        wishes: &Wishes,
        framing: BodyFraming,
        ping: Option<Duration>,
        keep_alive: bool,
    ) -> Result<(), Fault> {
        let out = &mut sending.head;
        out.clear();
        out.extend_from_slice(req.head.method.as_str().as_bytes());
        out.push(b' ');
        write_target(out, way.before, way.path, stage.query, stage.spelling)?;
        out.extend_from_slice(match wishes.old {
            true => b" HTTP/1.0\r\n".as_slice(),
            false => b" HTTP/1.1\r\n",
        });
        let (server, layer) = (stage.server, &req.layer);
        let client_host = req.head.fields.get("Host");
        let host = match layer.preserve_host {
            Some(true) => client_host.unwrap_or(server.name.as_bytes()),
            _ => &way.host,
        };
        let via_name = match server.proxy.via {
            Via::On | Via::Full => response_head::via_name(stage.room, req),
            _ => String::new(),
        };
        let added = Added {
            client: req.client.ip(),
            host: client_host,
            server: &server.name,
        };
        write_fields(
            out,
            &HeadInput {
                fields: &req.head.fields,
                version: req.head.version,
                host,
                add: (layer.add_headers != Some(false)).then_some(added),
                via: server.proxy.via,
                via_name: &via_name,
                max_forwards: stage.max_forwards,
                expect: match (stage.relay_expect && !wishes.old, ping) {
                    (true, _) => Expect::Relay,
                    (false, Some(_)) => Expect::Ping,
                    (false, None) => Expect::Drop,
                },
                framing,
                keep_alive,
                old: wishes.old,
            },
        );
        Ok(())
    }

    /// The backend's answer as ours.
    #[expect(
        clippy::too_many_arguments,
        reason = "the whole state of an exchange ends here"
    )]
    fn answer(
        &self,
        stage: &Stage<'_>,
        req: &mut Request,
        body: &mut RequestBody,
        sending: &mut Sending,
        way: &Way<'_>,
        end: End,
        tally: Tally,
    ) -> Result<Answer, Failed> {
        let Answered { mut head, incoming } = end.answered;
        let status_line = "HTTP/1.1 200 ".len() + head.reason.len();
        tally.read(status_line as u64);
        let framing = response_framing(&head, &req.head.method).map_err(|e| {
            let detail = format!("{}: {}", way.name(), e.reason);
            let fault = Fault::new(
                Origin::Upstream,
                Phase::ResponseHead,
                Kind::Malformed(502),
                detail,
            );
            say(stage.room, req, 3, "proxy_http", None, &fault.detail);
            Failed::innocent(fault)
        })?;
        let said = response_head::Connection::of(&head);
        let sent = sending.done();
        let reusable = end.keep_alive && said.persistent && sent && framing != Framing::UntilClose;
        let mut lease = end.lease;
        if let Some(connection) = &mut lease.connection {
            connection.announced(said.timeout);
        }
        stage.note(req, &head, lease.connection.as_ref());
        if overridden(req, head.status) {
            // The connection is closed with the body unread.
            let challenge = (head.status == 401)
                .then(|| head.fields.get("WWW-Authenticate").map(<[u8]>::to_vec))
                .flatten();
            let fault = answer::overridden(req, head.status, &head.reason, challenge.as_deref());
            return Err(Failed::innocent(fault));
        }
        let mut passed = ResponseBody::new(lease, incoming, framing, reusable, way.timeout, tally);
        // A client that still waits for its 100 is not going to send the rest.
        let holds_back = end.relay && sending.repeatable();
        if !(sent || holds_back) {
            passed = passed.with_upload(std::mem::take(sending), Box::new(body.take()));
        }
        let passed = passed.start().map_err(|fault| {
            say(stage.room, req, 3, "proxy_http", fault.os, &fault.detail);
            Failed::innocent(fault)
        })?;
        let (counted, status) = (passed.length(), head.status);
        response_head::make_public(stage.room, stage.server, req, &mut head);
        Ok(Answer {
            head,
            body: match response_head::has_body(&req.head.method, status) {
                false => AnswerBody::None,
                true if passed.is_empty() && counted == crate::body::Length::Exact(0) => {
                    AnswerBody::Bytes(Vec::new())
                }
                true => AnswerBody::Source(Box::new(passed)),
            },
            close: !sent,
            from_backend: true,
        })
    }
}

/// What an exchange that was answered leaves.
struct End {
    lease: Lease,
    keep_alive: bool,
    relay: bool,
    answered: Answered,
}

#[expect(
    clippy::too_many_arguments,
    reason = "the whole state of an exchange begins here"
)]
async fn exchange(
    stage: &Stage<'_>,
    req: &Request,
    body: &mut RequestBody,
    sending: &mut Sending,
    way: &Way<'_>,
    lease: &Lease,
    wishes: &Wishes,
    ping: Option<Duration>,
) -> Result<Answered, Failure> {
    let relay = stage.relay_expect && !wishes.old;
    if relay {
        // The backend's 100 is the one that the client gets; what it sends without waiting for
        // that is passed on as it comes.
        body.continue_relayed();
    }
    let exchange = Exchange {
        method: &req.head.method,
        timeout: way.timeout,
        limits: ResponseLimits {
            field: way.settings.map_or(8192, |w| w.params.response_field),
            bad_header: stage.server.proxy.bad_header,
            ..ResponseLimits::default()
        },
        ping,
    };
    let Some(connection) = &lease.connection else {
        return Err(Failure {
            fault: Fault::status(500, "a place without a connection"),
            written: 0,
            answered: false,
            reused: false,
            unanswered_ping: false,
        });
    };
    let continued = Cell::new(!relay);
    let interim = |head: &ResponseHead| {
        let wanted = match (wishes.interim, head.status) {
            (Interim::None, _) => false,
            (Interim::All, _) => true,
            // One 100 for a client that waits for it.
            (Interim::Usual, 100) => !continued.replace(true),
            (Interim::Usual, _) => true,
        };
        if wanted && req.head.version == Version::Http11 {
            let mut fields: Fields = head.fields.clone();
            response_head::remove_hop_by_hop(&mut fields, |_| false);
            response_head::add_via(stage.room, stage.server, req, &mut fields);
            req.link.interim(head.status, &head.reason, &fields);
        }
    };
    exchange
        .run(connection, sending, body.source(), interim)
        .await
}

impl Way<'_> {
    /// The worker's name for messages.
    fn name(&self) -> String {
        match self.settings {
            Some(settings) => settings.name.clone(),
            None => format!("{}://{}:{}", self.scheme, self.to.host, self.to.port),
        }
    }

    /// `ping` holds for requests with a body that are not waiting for the client anyway.
    fn ping(&self, framing: BodyFraming, relay: bool, old: bool) -> Option<Duration> {
        let has_body = !matches!(framing, BodyFraming::None | BodyFraming::Length(0));
        let ping = self.settings.and_then(|w| w.params.ping);
        ping.filter(|_| has_body && !relay && !old)
    }
}

/// Does our own page stand in for this answer (`ProxyErrorOverride`)?
fn overridden(req: &Request, status: u16) -> bool {
    req.layer.error_override.as_ref().is_some_and(|o| {
        o.on && match o.codes.is_empty() {
            true => (400..600).contains(&status),
            false => o.codes.contains(&status),
        }
    })
}

/// No connection: the log lines that httpd has for it, and what it means.
fn unconnected(stage: &Stage<'_>, req: &Request, way: &Way<'_>, e: &ConnectError) -> Failed {
    if let Some(quiet) = way.worker.may_complain() {
        let more = match quiet {
            0 => String::new(),
            n => format!(" ({n} more like it in the last second)"),
        };
        let text = format!("AH00957: {}: {}{more}", way.scheme, e.detail);
        say(stage.room, req, 3, "proxy", e.os, &text);
        let text = format!(
            "AH01114: HTTP: failed to make connection to backend: {}",
            way.to.host
        );
        say(stage.room, req, 3, "proxy_http", None, &text);
    }
    let (origin, kind, retry) = match e.why {
        Why::Resolve => (Origin::Upstream, Kind::Resolve, Retry::No),
        Why::Refused => (Origin::Upstream, Kind::Refused, Retry::Elsewhere),
        // 503 like a refusal: to the client a backend that cannot be reached is one thing.
        Why::Timeout => (Origin::Upstream, Kind::Refused, Retry::Elsewhere),
        Why::Own => (Origin::Own, Kind::Resources, Retry::No),
    };
    let mut fault = Fault::new(origin, Phase::Connecting, kind, e.detail.clone());
    fault.os = e.os;
    Failed {
        fault: fault.with_retry(retry),
        blames: e.why != Why::Own,
    }
}

/// The exchange failed for good at this worker.
fn failed(
    stage: &Stage<'_>,
    req: &Request,
    way: &Way<'_>,
    failure: Failure,
    retry: Retry,
) -> Failed {
    let mut fault = failure.fault.with_retry(retry);
    if failure.unanswered_ping {
        // 503: the backend is as good as unreachable.
        fault.kind = Kind::Refused;
        fault.detail = "Timeout on 100-Continue".into();
    }
    if fault.origin == Origin::Upstream {
        let text = format!("{} (from {})", fault.detail, way.name());
        say(stage.room, req, 3, "proxy_http", fault.os, &text);
    }
    Failed {
        fault,
        blames: failure.unanswered_ping,
    }
}

/// How the path is spelt.
pub fn spelling(encoded: bool, no_decode: bool) -> Spelling {
    match (encoded, no_decode) {
        (true, _) => Spelling::Encoded,
        (false, true) => Spelling::DecodedButSlashes,
        (false, false) => Spelling::Decoded,
    }
}
