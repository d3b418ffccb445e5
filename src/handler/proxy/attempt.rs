//! One try of a request at one worker: a connection, the head, the exchange, the answer.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use super::block;
use super::outgoing;
use super::request_head::{Added, Expect, HeadInput, write_fields};
use super::response_head::{self, Survey};
use super::stage::Stage;
use super::target::{Spelling, write_target};
use super::wishes::{Interim, Wishes};
use crate::body::{Length, Source};
use crate::codec::http1::framing::response_framing;
use crate::codec::http1::head::{ResponseHead, Version};
use crate::codec::http1::limits::ResponseLimits;
use crate::config::settings::{Via, Worker as WorkerSettings};
use crate::config::worker_url::WorkerUrl;
use crate::fault::{Fault, Kind, Origin, Phase, Retry};
use crate::request::{Answer, AnswerBody, Request, answer};
use crate::upstream::connect::{ConnectError, Destination, Why};
use crate::upstream::exchange::Answered;
use crate::upstream::retry::{Attempt, judge};
use crate::upstream::upstreams::host_field;
use crate::upstream::{
    BodyFraming, Connection, Exchange, Failure, Lease, ResponseBody, Tally, Worker, scheme,
};

/// Where a try goes.
pub struct Way<'a> {
    /// As configured; `None` for the generic worker.
    pub settings: Option<&'a WorkerSettings>,
    /// Its connections.
    pub worker: &'a Worker,
    /// Where the URL itself says, when the worker does not decide.
    pub url: Option<&'a WorkerUrl>,
    /// The rest of the path.
    pub path: &'a [u8],
    /// Connections may be used again.
    pub reuse: bool,
    /// It is a member of a balancer.
    pub balanced: bool,
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

impl Stage<'_> {
    /// Makes one try; on a reused connection that turns out to be dead, once more on a fresh one.
    pub(super) async fn attempt(&mut self, way: &Way<'_>) -> Result<Answer, Failed> {
        if let Err(reason) = scheme::protocol(way.scheme()) {
            let text = format!("AH01144: {reason}");
            self.say(4, "proxy", None, &text);
            let fault = Fault::new(Origin::Own, Phase::Choosing, Kind::Scheme, text);
            return Err(Failed::innocent(fault));
        }
        if block::names(&self.server.proxy.block, way.place().0) {
            return Err(Failed::innocent(block::fault(way.place().0)));
        }
        let wishes = Wishes::of(&self.req.env);
        let mut fresh = wishes.initial_fresh && self.req.served == 0;
        let mut renewed = false;
        loop {
            // What cannot be repeated is not sent on a connection that is closed already.
            let peek = self.repeated || !self.req.head.method.is_idempotent();
            let lease = match way.worker.reslist.try_acquire(fresh, peek) {
                Some(lease) if lease.connection.is_some() => lease,
                // Boxed: rare, and large beside the rest of a request's state.
                lease => Box::pin(self.connected(way, lease, fresh, peek)).await?,
            };
            let plan = self.plan(way, &wishes);
            self.write_head(way, &wishes, &plan)
                .map_err(Failed::innocent)?;
            self.sending.begin(plan.framing, plan.ping.is_some());
            let outcome = self.exchange(way, &lease, &wishes, &plan).await;
            self.tally.sent(self.sending.written());
            let failure = match outcome {
                Ok(answered) => return self.answer(way, lease, plan, answered),
                Err(failure) => failure,
            };
            if failure.fault.kind == Kind::Timeout {
                // Its other connections would be as silent.
                lease.close_others();
            }
            drop(lease);
            let attempt = Attempt {
                method: &self.req.head.method,
                repeatable: self.sending.repeatable(),
                repeated: self.repeated,
                renewed,
                balanced: way.balanced,
            };
            let retry = judge(&failure, &attempt);
            self.repeated |= retry != Retry::No && !failure.unread() && !failure.unanswered_ping;
            match retry {
                Retry::Fresh => {
                    let text = "a kept connection was closed by the backend; the request is repeated on a fresh one";
                    self.say(7, "proxy_http", failure.fault.os, text);
                    (fresh, renewed) = (true, true);
                }
                retry => return Err(self.failed(way, failure, retry)),
            }
        }
    }

    /// A connection in `place`, or in a place that is waited for.
    async fn connected(
        &self,
        way: &Way<'_>,
        place: Option<Lease>,
        fresh: bool,
        peek: bool,
    ) -> Result<Lease, Failed> {
        let waits = place.is_none();
        let place = match place {
            Some(place) => Ok(place),
            None => way.worker.reslist.acquire(fresh, peek).await,
        };
        let mut lease = place.map_err(|e| {
            let text = match way.settings.and_then(|w| w.balancer) {
                Some(no) => {
                    let balancer = &self.room.settings.balancer(no).name;
                    format!("{balancer}: {}: {e}", way.name())
                }
                None => format!("{}: {e}", way.name()),
            };
            self.say(3, "proxy", None, &text);
            let fault = Fault::new(Origin::Own, Phase::Choosing, Kind::PoolFull, text);
            Failed::innocent(fault.with_retry(Retry::Elsewhere))
        })?;
        if lease.connection.is_some() {
            return Ok(lease);
        }
        // Those in front of this request may have found out that the member is dead: it must not
        // do so once more, in its turn.
        if waits
            && way.balanced
            && let Some(settings) = way.settings
            && !self.proxy.balancing.usable(settings.no)
        {
            let text = format!(
                "{}: not usable any more after a wait for a connection",
                way.name()
            );
            self.say(7, "proxy", None, &text);
            let fault = Fault::new(Origin::Own, Phase::Choosing, Kind::Refused, text);
            return Err(Failed::innocent(fault.with_retry(Retry::Elsewhere)));
        }
        match self.connect(way).await {
            Ok(connection) => {
                lease.connection = Some(connection);
                if way.balanced
                    && let Some(settings) = way.settings
                {
                    self.proxy.balancing.mark_connected(settings.no);
                }
                Ok(lease)
            }
            // Out of ports or descriptors: one that became idle meanwhile does as well.
            Err(e) if e.why == Why::Own && !fresh && lease.take_idle(peek) => Ok(lease),
            Err(e) => {
                if e.why != Why::Own {
                    lease.close_others();
                }
                Err(self.unconnected(way, &e))
            }
        }
    }

    async fn connect(&self, way: &Way<'_>) -> Result<Connection, ConnectError> {
        let proxy = &self.server.proxy;
        let params = way.settings.map(|w| &w.params);
        let (host, port, unix) = way.place();
        let to = Destination {
            host,
            port,
            unix,
            within: params
                .and_then(|p| p.connection_timeout)
                .unwrap_or(self.timeout(way)),
            source: proxy.source_address,
            address_ttl: params.and_then(|p| p.address_ttl),
            keep_alive: params.is_some_and(|p| p.keep_alive),
            receive_buffer: params.map_or(proxy.receive_buffer, |p| p.receive_buffer),
            blocked: &proxy.block,
        };
        self.proxy.upstreams.connect(&to).await
    }

    /// Each wait for the backend.
    fn timeout(&self, way: &Way<'_>) -> Duration {
        let own = way.settings.and_then(|w| w.params.timeout);
        own.unwrap_or(self.server.proxy.timeout)
    }

    fn plan(&self, way: &Way<'_>, wishes: &Wishes) -> Plan {
        let relay = self.relay_expect && !wishes.old;
        let framing = outgoing::framing(&self.sending, self.req.body_length);
        Plan {
            relay,
            framing,
            ping: way.ping(framing, relay, wishes.old),
            keep_alive: way.reuse && !wishes.no_keep_alive && !wishes.old,
        }
    }

    fn write_head(&mut self, way: &Way<'_>, wishes: &Wishes, plan: &Plan) -> Result<(), Fault> {
        let (server, req) = (self.server, &*self.req);
        let out = &mut self.sending.head;
        out.clear();
        out.extend_from_slice(req.head.method.as_str().as_bytes());
        out.push(b' ');
        write_target(out, way.before(), way.path, self.query, self.spelling)?;
        out.extend_from_slice(match wishes.old {
            true => b" HTTP/1.0\r\n".as_slice(),
            false => b" HTTP/1.1\r\n",
        });
        let client_host = req.head.fields.get("Host");
        let own_host;
        let host = match (req.layer.preserve_host, way.url) {
            (Some(true), _) => client_host.unwrap_or(server.name.as_bytes()),
            (_, None) => &way.worker.host_field,
            (_, Some(url)) => {
                let port = (url.port_is_set && url.unix.is_none()).then_some(url.port);
                own_host = host_field(&url.host, port);
                &own_host
            }
        };
        let via_name = match server.proxy.via {
            Via::On | Via::Full => response_head::via_name(self.room, req),
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
                add: (req.layer.add_headers != Some(false)).then_some(added),
                via: server.proxy.via,
                via_name: &via_name,
                max_forwards: self.max_forwards,
                expect: match (plan.relay, plan.ping) {
                    (true, _) => Expect::Relay,
                    (false, Some(_)) => Expect::Ping,
                    (false, None) => Expect::Drop,
                },
                framing: plan.framing,
                keep_alive: plan.keep_alive,
                old: wishes.old,
            },
        );
        Ok(())
    }

    /// Sends the request and waits for the answer's head.
    fn exchange<'b>(
        &'b mut self,
        way: &Way<'_>,
        lease: &'b Lease,
        wishes: &Wishes,
        plan: &Plan,
    ) -> impl Future<Output = Result<Answered, Failure>> + 'b {
        if plan.relay {
            // The backend's 100 is the one that the client gets; what it sends without waiting for
            // that is passed on as it comes.
            self.body.continue_relayed();
        }
        let (room, server, req) = (self.room, self.server, &*self.req);
        let timeout = self.timeout(way);
        let exchange = Exchange {
            method: &req.head.method,
            timeout,
            limits: ResponseLimits {
                field: way.settings.map_or(8192, |w| w.params.response_field),
                bad_header: server.proxy.bad_header,
                ..ResponseLimits::default()
            },
            ping: plan.ping,
        };
        let interim = wishes.interim;
        // One 100, for a client that waits for it.
        let mut continues = plan.relay;
        let pass_on = move |head: &ResponseHead| {
            let wanted = match (interim, head.status) {
                (Interim::None, _) => false,
                (Interim::Usual, 100) => std::mem::take(&mut continues),
                _ => true,
            };
            if wanted && req.head.version == Version::Http11 {
                let fields = response_head::make_interim(room, server, req, head);
                req.link.interim(head.status, &head.reason, &fields);
            }
        };
        exchange.run(lease, &mut self.sending, self.body.source(), pass_on)
    }

    /// The backend's answer as ours.
    fn answer(
        &mut self,
        way: &Way<'_>,
        mut lease: Lease,
        plan: Plan,
        answered: Answered,
    ) -> Result<Answer, Failed> {
        let Answered { mut head, incoming } = answered;
        let status_line = "HTTP/1.1 200 ".len() + head.reason.len();
        self.tally.read(status_line as u64);
        let framing = response_framing(&head, &self.req.head.method).map_err(|e| {
            let detail = format!("{}: {}", way.name(), e.reason);
            self.say(3, "proxy_http", None, &detail);
            let kind = Kind::Malformed(502);
            Failed::innocent(Fault::new(
                Origin::Upstream,
                Phase::ResponseHead,
                kind,
                detail,
            ))
        })?;
        let survey = Survey::of(&head.fields);
        let sent = self.sending.done();
        let reusable = plan.keep_alive && sent && survey.persistent(head.version);
        if let Some(connection) = &mut lease.connection {
            connection.announced(survey.keep_alive);
        }
        self.note(&head, lease.connection.as_ref());
        if overridden(self.req, head.status) {
            // The connection is closed with the body unread.
            let challenge = (head.status == 401)
                .then(|| head.fields.get("WWW-Authenticate").map(<[u8]>::to_vec))
                .flatten();
            let challenge = challenge.as_deref();
            let fault = answer::overridden(self.req, head.status, &head.reason, challenge);
            return Err(Failed::innocent(fault));
        }
        let tally = std::mem::replace(&mut self.tally, Tally::none());
        let mut passed =
            ResponseBody::new(lease, incoming, framing, reusable, self.timeout(way), tally);
        // A client that still waits for its 100 is not going to send the rest.
        let holds_back = plan.relay && self.sending.repeatable();
        if !(sent || holds_back) {
            let sending = std::mem::take(&mut self.sending);
            passed = passed.with_upload(sending, Box::new(self.body.take()));
        }
        if let Err(fault) = passed.start() {
            self.say(3, "proxy_http", fault.os, &fault.detail);
            return Err(Failed::innocent(fault));
        }
        let has_body = response_head::has_body(&self.req.head.method, head.status);
        response_head::make_public(
            self.room,
            &self.proxy.balancing,
            self.server,
            self.req,
            &mut head,
            &survey,
        );
        Ok(Answer {
            head,
            body: match has_body {
                false => AnswerBody::None,
                true if passed.is_empty() && passed.length() == Length::Exact(0) => {
                    AnswerBody::Bytes(Vec::new())
                }
                true => AnswerBody::Source(Box::new(passed)),
            },
            close: !sent,
            from_backend: true,
        })
    }

    /// No connection: the log lines that httpd has for it, and what it means.
    fn unconnected(&self, way: &Way<'_>, e: &ConnectError) -> Failed {
        if e.why == Why::Blocked {
            return Failed::innocent(block::fault(way.place().0));
        }
        if let Some(quiet) = way.worker.may_complain() {
            let more = match quiet {
                0 => String::new(),
                n => format!(" ({n} more like it in the last second)"),
            };
            let text = format!("AH00957: {}: {}{more}", way.scheme(), e.detail);
            self.say(3, "proxy", e.os, &text);
            let text = format!(
                "AH01114: HTTP: failed to make connection to backend: {}",
                way.place().0
            );
            self.say(3, "proxy_http", None, &text);
        }
        let (origin, kind, retry) = match e.why {
            Why::Resolve => (Origin::Upstream, Kind::Resolve, Retry::No),
            Why::Refused => (Origin::Upstream, Kind::Refused, Retry::Elsewhere),
            // 503 like a refusal: to the client a backend that cannot be reached is one thing.
            Why::Timeout => (Origin::Upstream, Kind::Refused, Retry::Elsewhere),
            Why::Own => (Origin::Own, Kind::Resources, Retry::No),
            Why::Blocked => (Origin::Client, Kind::Denied(403), Retry::No),
        };
        let mut fault = Fault::new(origin, Phase::Connecting, kind, e.detail.clone());
        fault.os = e.os;
        Failed {
            fault: fault.with_retry(retry),
            blames: e.why != Why::Own,
        }
    }

    /// The exchange failed for good at this worker.
    fn failed(&self, way: &Way<'_>, failure: Failure, retry: Retry) -> Failed {
        let mut fault = failure.fault.with_retry(retry);
        if failure.unanswered_ping {
            // 503: the backend is as good as unreachable.
            fault.kind = Kind::Refused;
            fault.detail = "Timeout on 100-Continue".into();
        }
        if fault.origin == Origin::Upstream {
            let text = format!("{} (from {})", fault.detail, way.name());
            self.say(3, "proxy_http", fault.os, &text);
        }
        Failed {
            fault,
            blames: failure.unanswered_ping,
        }
    }
}

/// How a try goes about it.
struct Plan {
    /// The client's expectation is passed on.
    relay: bool,
    framing: BodyFraming,
    /// The body waits for the backend's 100, for so long.
    ping: Option<Duration>,
    /// The connection is to be used again.
    keep_alive: bool,
}

impl Way<'_> {
    /// The worker's name for messages.
    fn name(&self) -> &str {
        match (self.settings, self.url) {
            (Some(settings), _) => &settings.name,
            (None, Some(url)) => &url.name,
            (None, None) => "",
        }
    }

    /// For the registry of schemes.
    fn scheme(&self) -> &str {
        match (self.url, self.settings) {
            (Some(url), _) => &url.scheme,
            (None, Some(settings)) => &settings.scheme,
            (None, None) => "",
        }
    }

    /// A member's own path stands in front of the request's; a plain worker's is in the URL already.
    fn before(&self) -> &[u8] {
        match (self.settings, self.balanced) {
            (Some(settings), true) => settings.path.as_bytes(),
            _ => b"",
        }
    }

    /// Host, port and perhaps a socket to connect to.
    fn place(&self) -> (&str, u16, Option<&Path>) {
        match (self.url, self.settings) {
            (Some(url), _) => (&url.host, url.port, url.unix.as_deref()),
            (None, Some(w)) => (&w.host, w.port, w.unix.as_deref()),
            (None, None) => ("", 0, None),
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

/// How the path is spelt.
pub fn spelling(encoded: bool, no_decode: bool) -> Spelling {
    match (encoded, no_decode) {
        (true, _) => Spelling::Encoded,
        (false, true) => Spelling::DecodedButSlashes,
        (false, false) => Spelling::Decoded,
    }
}
