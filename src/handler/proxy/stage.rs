//! A request on its way through the proxy, and what holds for all of its tries.

use super::Proxy;
use super::target::Spelling;
use crate::balancer::Busy;
use crate::codec::http1::head::ResponseHead;
use crate::config::settings::Server;
use crate::request::say::say;
use crate::request::{Request, RequestBody, Room};
use crate::upstream::{Connection, Sending, Tally};

/// A request that is being proxied. One struct instead of many arguments, since each level of
/// `async` keeps its arguments twice.
pub struct Stage<'a> {
    /// The handler.
    pub proxy: &'a Proxy,
    /// What the child shares.
    pub room: &'a Room,
    /// The virtual host.
    pub server: &'a Server,
    /// The request.
    pub req: &'a mut Request,
    /// Its body, behind what `sending` keeps.
    pub body: &'a mut RequestBody,
    /// What is to be written to the backend.
    pub sending: Sending,
    /// Busy and traffic of the present try.
    pub tally: Tally,
    /// Values that somebody looks at.
    pub wanted: Wanted,
    /// The query as received.
    pub query: Option<&'a [u8]>,
    /// How the path is spelt.
    pub spelling: Spelling,
    /// Max-Forwards for the backend.
    pub max_forwards: Option<u64>,
    /// The client waits for a 100, and the backend is to give it.
    pub relay_expect: bool,
    /// A backend that broke off may have acted on the request, and it was sent again.
    pub repeated: bool,
}

/// Variables and notes are made only where the configuration has a place that shows them: most
/// requests would make half a dozen strings for nobody. Whoever adds a reader of variables (a
/// header directive, say) must add it here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `BALANCER_*`.
    pub balancer: bool,
    /// `proxy-status`, `proxy-source-port`.
    pub notes: bool,
}

impl Wanted {
    /// By `server`'s log formats and their conditions.
    pub fn of(server: &Server) -> Wanted {
        let mut wanted = Wanted::default();
        let formats = server.access_logs.iter().flat_map(|log| {
            let condition = log.condition.as_ref().map(|(name, _)| name.as_str());
            [Some(log.format.as_str()), condition]
        });
        let texts = formats.chain([server.error_log_format.as_deref()]);
        for text in texts.flatten() {
            wanted.balancer |= text.contains("BALANCER_");
            wanted.notes |= text.contains("proxy-");
        }
        wanted
    }
}

impl Stage<'_> {
    /// Notes of an answer for the access log.
    pub fn note(&mut self, head: &ResponseHead, connection: Option<&Connection>) {
        if !self.wanted.notes {
            return;
        }
        let notes = &mut self.req.notes;
        notes.set("proxy-status", head.status.to_string());
        if let Some(local) = connection.and_then(|c| c.stream.local_addr()) {
            notes.set("proxy-source-port", local.port().to_string());
        }
    }

    /// The present try is at this worker: busy until it is over, and shown with the request.
    pub fn occupy(&mut self, busy: Busy) {
        if let Some(row) = busy.row() {
            self.req.link.at_worker(row);
        }
        self.tally = Tally::new(self.proxy.balancing.clone(), busy);
    }

    /// A line of the error log about this request.
    pub fn say(&self, level: u8, module: &str, os: Option<i32>, text: &str) {
        say(self.room, self.req, level, module, os, text);
    }
}
