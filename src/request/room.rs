//! What all requests of a child share.

use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;

use crate::config::settings::{Mapping, Server, Settings};
use crate::fault::Fault;
use crate::ids::{ServerNo, SlotNo};
use crate::log::Logs;
use crate::shm::Scoreboard;

use super::answer::Answer;
use super::body::RequestBody;
use super::lookup::Names;
use super::request::Request;
use super::sections::Table;
use super::trace::Trace;
use super::vhost::Hosts;

/// What all requests of a child share. One per child, made after the fork.
pub struct Room {
    /// Hosts, sections and maps, made ready for quick answers.
    pub routes: Routes,
    /// The configuration.
    pub settings: Rc<Settings>,
    /// The slot table.
    pub scoreboard: Rc<Scoreboard>,
    /// This child's row.
    pub slot: SlotNo,
    /// The logs.
    pub logs: Rc<Logs>,
    /// Set once this child is to answer what it has and take nothing new.
    pub draining: Cell<bool>,
    /// Host names that were looked up.
    pub(super) names: Names,
    handlers: OnceCell<Vec<(&'static str, Box<dyn Handler>)>>,
}

/// The part of a [`Room`] that needs no running server: hosts, sections and maps. `--explain` and
/// tests use it alone.
pub struct Routes {
    /// The configuration.
    pub settings: Rc<Settings>,
    /// Virtual hosts by address and name.
    pub hosts: Hosts,
    /// What `--explain` is told.
    pub trace: Trace,
    tables: Vec<Table>,
    roots: Vec<Rc<Path>>,
    /// Whether a server (its `<Location>`s included) has rules with `mapping=encoded|servlet`.
    early: Vec<bool>,
}

/// The future of a handler.
pub type Handling<'a> = Pin<Box<dyn Future<Output = Result<Answer, Fault>> + 'a>>;

/// Answers requests. Registered by name with [`Room::register`].
pub trait Handler {
    /// Answers `req`; an error becomes an error page.
    fn handle<'a>(
        &'a self,
        room: &'a Room,
        req: &'a mut Request,
        body: &'a mut RequestBody,
    ) -> Handling<'a>;
}

impl Routes {
    /// Prepares the tables for `settings`.
    pub fn new(settings: Rc<Settings>) -> Routes {
        let servers = &settings.servers;
        Routes {
            hosts: Hosts::new(&settings),
            trace: Trace::default(),
            tables: servers.iter().map(Table::new).collect(),
            roots: servers
                .iter()
                .map(|s| Rc::from(&*s.document_root))
                .collect(),
            early: servers.iter().map(has_early_rules).collect(),
            settings,
        }
    }

    /// The sections of a server.
    pub fn table(&self, no: ServerNo) -> &Table {
        &self.tables[no.index()]
    }

    /// A server's DocumentRoot, shared.
    pub fn document_root(&self, no: ServerNo) -> Rc<Path> {
        self.roots[no.index()].clone()
    }

    /// Whether some rule of the server looks at the path before it is fully decoded.
    pub fn has_early_rules(&self, no: ServerNo) -> bool {
        self.early[no.index()]
    }

    /// The server whose limits and timeouts hold on a connection before a request names a host.
    pub fn default_server(&self, local: SocketAddr) -> &Server {
        self.server(self.hosts.default_server(local))
    }

    /// The server with this number.
    pub fn server(&self, no: ServerNo) -> &Server {
        self.settings.server(no)
    }
}

impl Room {
    /// A room without handlers.
    pub fn new(
        settings: Rc<Settings>,
        scoreboard: Rc<Scoreboard>,
        slot: SlotNo,
        logs: Rc<Logs>,
    ) -> Room {
        super::answer::set_tokens(settings.server_tokens);
        Room {
            names: Names::default(),
            routes: Routes::new(settings.clone()),
            settings,
            scoreboard,
            slot,
            logs,
            draining: Cell::new(false),
            handlers: OnceCell::new(),
        }
    }

    /// Makes the handlers known, once: `proxy-server`, `default-handler`, `server-status` ...
    /// A second call changes nothing.
    pub fn register(&self, handlers: Vec<(&'static str, Box<dyn Handler>)>) {
        let _ = self.handlers.set(handlers);
    }

    /// The handler of this name.
    pub fn handler(&self, name: &str) -> Option<&dyn Handler> {
        self.handlers
            .get()?
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, h)| &**h)
    }
}

fn has_early_rules(server: &Server) -> bool {
    let early = |mapping: Mapping| mapping != Mapping::Decoded;
    server.proxy.rules.iter().any(|r| early(r.mapping))
        || server.sections.iter().any(|s| {
            s.layer
                .proxy_pass
                .as_ref()
                .is_some_and(|r| early(r.mapping))
        })
}
