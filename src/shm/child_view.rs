//! A child's own slot: the only writer of it is that child (the supervisor resets it when it is gone).

use std::net::SocketAddr;
use std::rc::Rc;

use super::assign::WorkerRow;
use super::scoreboard::Scoreboard;
use super::snapshot::ChildState;
use crate::clock::Mono;
use crate::ids::SlotNo;

/// Where a request is (the letters of the status page).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RequestPhase {
    /// `R`: reading the request (its body, or the head's mapping).
    #[default]
    Reading = 1,
    /// `W`: from the handler's start to the end of the answer; proxying and tunnels too.
    Writing = 2,
    /// `L`: writing the access log.
    Logging = 3,
    /// `C`: closing.
    Closing = 4,
    /// `D`: resolving a name.
    Resolving = 5,
}

/// What a request record tells.
#[derive(Clone, Copy, Debug)]
pub struct RequestInfo<'a> {
    /// The client.
    pub client: SocketAddr,
    /// `ServerName:port` of the virtual host; longer ones are cut to 64 bytes here.
    pub vhost: &'a str,
    /// The method.
    pub method: &'a str,
    /// The target; its first 64 bytes are kept (its last with `SeeRequestTail`).
    pub target: &'a [u8],
    /// `HTTP/1.1`: minor version 0 or 1.
    pub minor: u8,
    /// When its first byte came.
    pub since: Mono,
}

/// The slot of one child, for that child. Cheap to clone.
#[derive(Clone)]
pub struct ChildView {
    pub(crate) board: Rc<Scoreboard>,
    pub(crate) slot: SlotNo,
}

impl ChildView {
    /// Which slot it is.
    pub fn slot(&self) -> SlotNo {
        self.slot
    }

    /// Tells what the child is doing as a whole.
    pub fn set_state(&self, _state: ChildState) {
        todo!()
    }

    /// Once per tick: that the loop turns, at this time.
    pub fn heartbeat(&self, _now: Mono) {
        todo!()
    }

    /// A connection was accepted.
    pub fn connection_opened(&self) {
        todo!()
    }

    /// A connection is gone.
    pub fn connection_closed(&self) {
        todo!()
    }

    /// How many of the connections wait for a request.
    pub fn set_idle_connections(&self, _n: u32) {
        todo!()
    }

    /// How many connections this child has.
    pub fn connections(&self) -> u32 {
        todo!()
    }

    /// How many requests of this child are in flight.
    pub fn requests(&self) -> u32 {
        todo!()
    }

    /// This child holds (or gave back) the watchdog lock.
    pub fn set_watchdog(&self, _holder: bool) {
        todo!()
    }

    /// Log lines that could not be written.
    pub fn add_dropped_lines(&self, _n: u64) {
        todo!()
    }

    /// A request's head is complete: counts it as in flight until the guard is dropped.
    pub fn begin_request(&self, _info: &RequestInfo<'_>) -> RecordGuard {
        todo!()
    }
}

/// A request in flight. Dropping it ends the request in the table.
pub struct RecordGuard {
    view: ChildView,
}

impl RecordGuard {
    /// The request has come this far.
    pub fn phase(&self, _phase: RequestPhase) {
        let _ = &self.view;
        todo!()
    }

    /// The worker that serves it.
    pub fn member(&self, _worker: WorkerRow) {
        todo!()
    }

    /// The answer is out and logged: bytes sent to the client (head included) and the time it took in µs.
    /// Counts one access; a guard that is dropped without it counts none.
    pub fn finish(self, _bytes: u64, _micros: u64) {
        todo!()
    }
}
