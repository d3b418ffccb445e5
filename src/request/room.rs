//! What all requests of a child share.

use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use crate::config::settings::{Server, Settings};
use crate::fault::Fault;
use crate::ids::{ServerNo, SlotNo};
use crate::log::Logs;
use crate::shm::Scoreboard;

use super::answer::Answer;
use super::body::RequestBody;
use super::request::Request;

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
    handlers: OnceCell<Vec<(&'static str, Box<dyn Handler>)>>,
}

/// The part of a [`Room`] that needs no running server: hosts, sections and maps. `--explain` and
/// tests use it alone.
pub struct Routes {
    /// The configuration.
    pub settings: Rc<Settings>,
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
        Routes { settings }
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
        Room {
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
