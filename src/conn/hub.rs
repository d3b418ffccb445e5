//! What all connections of a child share.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use super::admission::Admission;
use super::idle::Idle;
use super::pool::Pool;
use crate::config::settings::Server;
use crate::request::Room;
use crate::shm::ChildView;

/// Output buffers that are kept for the next answer.
const SPARE: usize = 32;

/// Longer ones are not kept.
const SPARE_SIZE: usize = 64 * 1024;

/// What all connections of a child share. One per child, made after the fork.
pub struct Hub {
    pub(super) room: Rc<Room>,
    pub(super) view: ChildView,
    pub(super) idle: Idle,
    pub(super) admission: Admission,
    pub(super) pool: Pool,
    /// The name of each server, for the request records.
    pub(super) names: Vec<String>,
    connections: Cell<u32>,
    spare: RefCell<Vec<Vec<u8>>>,
}

impl Hub {
    /// For the child whose slot `view` is. `children`: how many the generation has.
    pub fn new(room: Rc<Room>, view: ChildView, children: u16) -> Hub {
        let names = room
            .settings
            .servers
            .iter()
            .map(|s| s.name.clone())
            .collect();
        let admission = Admission::new(
            room.settings.process.max_request_workers,
            children,
            Rc::clone(&room.scoreboard),
            view.clone(),
        );
        Hub {
            room,
            view,
            idle: Idle::new(),
            admission,
            pool: Pool::default(),
            names,
            connections: Cell::new(0),
            spare: RefCell::new(Vec::new()),
        }
    }

    /// Open client connections.
    pub fn connections(&self) -> u32 {
        self.connections.get()
    }

    /// Those that wait for a request.
    pub fn idle_connections(&self) -> u32 {
        self.idle.count()
    }

    /// Closes at most `most` connections that wait for a request, the longest waiting first; says
    /// how many it told. A request that arrives at the same moment is lost, so this is for when
    /// there is no other way.
    pub fn close_idle(&self, most: usize) -> usize {
        self.idle.close(most)
    }

    /// The server whose limits hold before the Host field is known: the first at the address.
    pub(super) fn first_server(&self, local: SocketAddr) -> &Server {
        self.room.routes.default_server(local)
    }

    /// An empty output buffer.
    pub(super) fn output(&self) -> Vec<u8> {
        self.spare
            .borrow_mut()
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(4096))
    }

    /// Gives it back.
    pub(super) fn give_back(&self, mut output: Vec<u8>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE && output.capacity() <= SPARE_SIZE {
            output.clear();
            spare.push(output);
        }
    }

    pub(super) fn opened(&self) {
        self.connections.set(self.connections.get() + 1);
        self.view.connection_opened();
    }

    pub(super) fn closed(&self) {
        self.connections.set(self.connections.get() - 1);
        self.view.connection_closed();
    }
}
