//! The reverse proxy: from a mapped URL to a backend's answer.
//!
//! In the order in which a request passes: [`prologue`] (Max-Forwards, TRACE), [`target`] (the URL
//! in pieces), [`outgoing`] (what of the body is there), then [`direct`](Proxy) or [`balanced`],
//! each try being an [`attempt`] with its [`request_head`], and back through [`response_head`],
//! [`reverse`], [`cookies`] and [`dates`]. The phases made the URL; `upstream` does the talking.

mod attempt;
mod balanced;
mod block;
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

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::balancer::Balancing;
use crate::body::Length;
use crate::config::settings::{EncodedSlashes, Worker as WorkerSettings};
use crate::config::worker_url::WorkerUrl;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::request::{Answer, Handler, Handling, Request, RequestBody, Room};
use crate::upstream::{Sending, Tally, Upstreams};

use attempt::Way;
use lookup::Workers;
use prologue::Prologue;
use stage::{Stage, Wanted};
use target::Url;
use wishes::Wishes;

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
        let server = room.settings.server(req.server);
        let max_forwards = match prologue::check(req, server, !body.is_none()) {
            Ok(Prologue::Answer(answer)) => return Ok(answer),
            Ok(Prologue::Forward(n)) => n,
            Err(fault) => {
                if fault.kind == Kind::Status(400) {
                    req.overridden_reason = Some(b"Proxy Error".to_vec());
                }
                return Err(fault);
            }
        };
        let relay_expect = body.expects_continue() && req.layer.continue_100 != Some(false);
        // The request keeps it afterwards: logs and error pages look at it.
        let Some(target) = req.proxy_to.take() else {
            return Err(Fault::status(500, "there is no URL to proxy to"));
        };
        self.upstreams.keep_swept();
        let no_decode = server.encoded_slashes == EncodedSlashes::NoDecode;
        let mut stage = Stage {
            proxy: self,
            room,
            server,
            wanted: self.servers[req.server.index()].wanted,
            query: target.query.as_deref(),
            spelling: attempt::spelling(target.encoded, no_decode),
            req,
            body,
            sending: Sending::default(),
            tally: Tally::none(),
            max_forwards,
            relay_expect,
            repeated: false,
        };
        let answer = stage.run(&target.url).await;
        let head = std::mem::take(&mut stage.sending.head);
        self.upstreams.give_head_buffer(head);
        req.proxy_to = Some(target);
        answer
    }

    /// The way to a worker; `None`: to the generic one, whose place the caller fills in.
    fn way<'a>(&'a self, worker: Option<&'a WorkerSettings>, path: &'a [u8]) -> Way<'a> {
        let own = self.upstreams.worker(worker);
        Way {
            settings: worker,
            worker: own,
            url: None,
            path,
            reuse: own.reuse,
            balanced: false,
        }
    }
}

impl Proxy {
    fn way_to_member<'a>(&'a self, member: &'a WorkerSettings, path: &'a [u8]) -> Way<'a> {
        Way {
            balanced: true,
            ..self.way(Some(member), path)
        }
    }
}

impl Stage<'_> {
    async fn run(&mut self, url: &[u8]) -> Result<Answer, Fault> {
        let quiet = self.relay_expect;
        poll_fn(|cx| {
            let kept = outgoing::prefetch(cx, self.body, quiet);
            Poll::Ready(kept.map(|sending| self.sending = sending))
        })
        .await?;
        let unknown = self.req.body_length == Length::Unknown && !self.sending.is_whole();
        if unknown && Wishes::of(&self.req.env).counted {
            let kept = self.sending.take_kept();
            self.sending = Box::pin(outgoing::collect(self.body, kept)).await?;
        }
        self.sending.head = self.proxy.upstreams.head_buffer();
        let url = Url::parse(url).ok_or_else(|| bad_url(url))?;
        match url.scheme().eq_ignore_ascii_case(b"balancer") {
            true => self.balanced(&url).await,
            false => self.direct(&url).await,
        }
    }

    /// To the worker whose name is the longest prefix of the URL, else to where the URL says.
    async fn direct(&mut self, url: &Url<'_>) -> Result<Answer, Fault> {
        let (proxy, room) = (self.proxy, self.room);
        let found = proxy.servers[self.req.server.index()].workers.find(url);
        let worker = found.map(|f| room.settings.worker(f.no));
        if let Some(found) = found {
            self.occupy(proxy.balancing.enter(found.no));
        }
        // Where the URL decides, its base is taken apart; a worker's was at the start.
        let parsed = match found {
            Some(found) if !found.wild_host => None,
            _ => Some(Box::new(parse_base(url)?)),
        };
        let mut way = proxy.way(worker, url.path());
        way.url = parsed.as_deref();
        way.reuse &= parsed.is_none();
        self.attempt(&way).await.map_err(|failed| failed.fault)
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
    let base = url.base();
    if url.authority().contains(&b'@') {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn size<F>(
        _: impl FnOnce(
            &'static Proxy,
            &'static Room,
            &'static mut Request,
            &'static mut RequestBody,
        ) -> F,
    ) -> usize {
        std::mem::size_of::<F>()
    }

    /// The allocator is quick up to 1032 bytes; each request makes one of these.
    #[test]
    fn a_requests_state_stays_small() {
        let size = size(|proxy, room, req, body| proxy.serve(room, req, body));
        assert!(size <= 1032, "{size} bytes");
    }
}
