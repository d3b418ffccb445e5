//! What holds for all tries of one request.

use super::target::Spelling;
use crate::codec::http1::head::ResponseHead;
use crate::config::settings::Server;
use crate::request::{Request, Room};
use crate::upstream::Connection;

/// The surroundings of a request that is proxied.
pub struct Stage<'a> {
    /// What the child shares.
    pub room: &'a Room,
    /// The virtual host.
    pub server: &'a Server,
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
    pub fn note(&self, req: &mut Request, head: &ResponseHead, connection: Option<&Connection>) {
        if !self.wanted.notes {
            return;
        }
        req.notes.set("proxy-status", head.status.to_string());
        if let Some(local) = connection.and_then(|c| c.stream.local_addr()) {
            req.notes.set("proxy-source-port", local.port().to_string());
        }
    }
}
