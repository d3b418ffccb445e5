//! The reverse proxy: from a mapped URL to a backend's answer.
//!
//! In the order in which a request passes: [`prologue`] (Max-Forwards, TRACE), [`target`] (the URL
//! in pieces), [`outgoing`] (what of the body is there), then [`direct`](Proxy) or [`balanced`],
//! each try being an [`attempt`] with its [`request_head`], and back through [`response_head`],
//! [`reverse`], [`cookies`] and [`dates`]. The phases made the URL; `upstream` does the talking.

mod attempt;
mod balanced;
mod cookies;
mod dates;
pub mod lookup;
mod outgoing;
mod prologue;
mod request_head;
mod response_head;
mod reverse;
mod stage;
pub mod target;
mod wishes;

pub use attempt::spelling;

use std::borrow::Cow;
use std::rc::Rc;

use crate::balancer::Balancing;
use crate::config::settings::{EncodedSlashes, Worker as WorkerSettings};
use crate::config::worker_url::WorkerUrl;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::request::{Answer, Handler, Handling, ProxyTarget, Request, RequestBody, Room};
use crate::upstream::connect::Destination;
use crate::upstream::upstreams::host_field;
use crate::upstream::{Sending, Tally, Upstreams};

use attempt::Way;
use lookup::{Found, Workers};
use prologue::Prologue;
use stage::{Stage, Wanted};
use target::Url;

/// The handler `proxy-server`. One per child.
pub struct Proxy {
    upstreams: Rc<Upstreams>,
    balancing: Rc<Balancing>,
    servers: Vec<PerServer>,
}

/// What is worked out once for each server.
struct PerServer {
    workers: Workers,
    wanted: Wanted,
}

impl Proxy {
    /// For a child: its connections to backends and its balancers.
    pub fn new(upstreams: Rc<Upstreams>, balancing: Rc<Balancing>) -> Proxy {
        let settings = upstreams.settings();
        let servers = settings
            .servers
            .iter()
            .map(|server| PerServer {
                workers: Workers::new(settings, server),
                wanted: Wanted::of(server),
            })
            .collect();
        Proxy {
            servers,
            upstreams,
            balancing,
        }
    }

    async fn serve(
        &self,
        room: &Room,
        req: &mut Request,
        body: &mut RequestBody,
    ) -> Result<Answer, Fault> {
        // The request keeps it afterwards: logs and error pages look at it.
        let Some(target) = req.proxy_to.take() else {
            return Err(Fault::status(500, "there is no URL to proxy to"));
        };
        let answer = self.to_target(room, req, body, &target).await;
        req.proxy_to = Some(target);
        answer
    }

    async fn to_target(
        &self,
        room: &Room,
        req: &mut Request,
        body: &mut RequestBody,
        target: &ProxyTarget,
    ) -> Result<Answer, Fault> {
        let server = room.settings.server(req.server);
        let max_forwards = match prologue::check(req, server, !body.is_none())? {
            Prologue::Answer(answer) => return Ok(answer),
            Prologue::Forward(n) => n,
        };
        let url = Url::parse(&target.url).ok_or_else(|| bad_url(&target.url))?;
        let no_decode = server.encoded_slashes == EncodedSlashes::NoDecode;
        let stage = Stage {
            room,
            server,
            wanted: self.servers[req.server.index()].wanted,
            query: target.query.as_deref(),
            spelling: attempt::spelling(target.encoded, no_decode),
            max_forwards,
            relay_expect: body.expects_continue() && req.layer.continue_100 != Some(false),
        };
        self.upstreams.keep_swept();
        let mut sending = outgoing::prefetch(body, stage.relay_expect).await?;
        sending.head = self.upstreams.head_buffer();
        let answer = match url.scheme.eq_ignore_ascii_case(b"balancer") {
            true => self.balanced(&stage, req, body, &mut sending, &url).await,
            false => self.direct(&stage, req, body, &mut sending, &url).await,
        };
        self.upstreams
            .give_head_buffer(std::mem::take(&mut sending.head));
        answer
    }

    /// To the worker whose name is the longest prefix of the URL, else to where the URL says.
    async fn direct(
        &self,
        stage: &Stage<'_>,
        req: &mut Request,
        body: &mut RequestBody,
        sending: &mut Sending,
        url: &Url<'_>,
    ) -> Result<Answer, Fault> {
        let found = self.servers[req.server.index()].workers.find(url);
        let settings = &stage.room.settings;
        let worker = found.map(|f| settings.worker(f.no));
        let tally = match found {
            Some(found) => {
                let busy = self.balancing.enter(found.no);
                if let Some(row) = busy.row() {
                    req.link.at_worker(row);
                }
                Tally::new(self.balancing.clone(), busy)
            }
            None => Tally::none(),
        };
        // Where the URL decides, its base is taken apart; a worker's was at the start.
        let parsed = match (worker, found) {
            (Some(_), Some(Found { wild_host, .. })) if !wild_host => None,
            _ => Some(parse_base(url)?),
        };
        let mut way = self.way(stage, worker, url.path);
        if let Some(parsed) = &parsed {
            let port = (parsed.port_is_set && parsed.unix.is_none()).then_some(parsed.port);
            way.scheme = &parsed.scheme;
            way.to.host = &parsed.host;
            way.to.port = parsed.port;
            way.to.unix = parsed.unix.as_deref();
            way.host = Cow::Owned(host_field(&parsed.host, port));
            way.reuse = false;
        }
        self.attempt(stage, req, body, sending, &way, tally)
            .await
            .map_err(|failed| failed.fault)
    }

    /// The way to a worker; `None`: to the generic one, whose place the caller fills in.
    fn way<'a>(
        &'a self,
        stage: &Stage<'a>,
        worker: Option<&'a WorkerSettings>,
        path: &'a [u8],
    ) -> Way<'a> {
        let own = self.upstreams.worker(worker.map(|w| w.no));
        let proxy = &stage.server.proxy;
        let params = worker.map(|w| &w.params);
        let timeout = params.and_then(|p| p.timeout).unwrap_or(proxy.timeout);
        Way {
            settings: worker,
            worker: own,
            scheme: worker.map_or("", |w| &w.scheme),
            to: Destination {
                host: worker.map_or("", |w| &w.host),
                port: worker.map_or(0, |w| w.port),
                unix: worker.and_then(|w| w.unix.as_deref()),
                within: params.and_then(|p| p.connection_timeout).unwrap_or(timeout),
                source: proxy.source_address,
                address_ttl: params.and_then(|p| p.address_ttl),
                keep_alive: params.is_some_and(|p| p.keep_alive),
                receive_buffer: params.map_or(proxy.receive_buffer, |p| p.receive_buffer),
            },
            host: Cow::Borrowed(&own.host_field),
            before: b"",
            path,
            reuse: params.is_some_and(|p| p.reuse),
            balanced: false,
            timeout,
        }
    }
}

impl Handler for Proxy {
    fn handle<'a>(
        &'a self,
        room: &'a Room,
        req: &'a mut Request,
        body: &'a mut RequestBody,
    ) -> Handling<'a> {
        Box::pin(self.serve(room, req, body))
    }
}

/// Host and port of a URL that no worker stands for. A request may have made a part of it, so
/// userinfo, which could move the host, is refused.
fn parse_base(url: &Url<'_>) -> Result<WorkerUrl, Fault> {
    let base = &url.whole[..url.base_len];
    if url.authority.contains(&b'@') {
        return Err(bad_url(url.whole));
    }
    std::str::from_utf8(base)
        .ok()
        .filter(|b| b.bytes().all(|b| b.is_ascii_graphic()))
        .and_then(|b| WorkerUrl::parse(b).ok())
        .ok_or_else(|| bad_url(url.whole))
}

fn bad_url(url: &[u8]) -> Fault {
    Fault::new(
        Origin::Client,
        Phase::Mapping,
        Kind::Status(400),
        format!("URI cannot be parsed: {}", url.escape_ascii()),
    )
}
