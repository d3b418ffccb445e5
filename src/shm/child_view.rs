//! A child's own slot: the only writer of it is that child (the supervisor resets it when it is gone).

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::assign::WorkerRow;
use super::record::{ChildHead, RequestSlot};
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

impl RequestPhase {
    /// From the table's word; `None` for a free record, and for nonsense.
    pub(super) fn from_word(word: u32) -> Option<RequestPhase> {
        match word {
            1 => Some(RequestPhase::Reading),
            2 => Some(RequestPhase::Writing),
            3 => Some(RequestPhase::Logging),
            4 => Some(RequestPhase::Closing),
            5 => Some(RequestPhase::Resolving),
            _ => None,
        }
    }

    /// The status page's letter.
    pub fn letter(self) -> char {
        match self {
            RequestPhase::Reading => 'R',
            RequestPhase::Writing => 'W',
            RequestPhase::Logging => 'L',
            RequestPhase::Closing => 'C',
            RequestPhase::Resolving => 'D',
        }
    }
}

/// What a request record tells.
#[derive(Clone, Copy, Debug)]
pub struct RequestInfo<'a> {
    /// The client.
    pub client: SocketAddr,
    /// The virtual host's ServerName; longer ones are cut to 63 bytes here.
    pub vhost: &'a str,
    /// The port that the client connected to.
    pub port: u16,
    /// The method.
    pub method: &'a str,
    /// The target; its first 64 bytes are kept.
    pub target: &'a [u8],
    /// `SeeRequestTail`: keep the last 64 bytes of its path instead.
    pub tail: bool,
    /// `HTTP/1.1`: minor version 0 or 1.
    pub minor: u8,
    /// When its first byte came.
    pub since: Mono,
}

/// The slot of one child, for that child. Cheap to clone.
#[derive(Clone)]
pub struct ChildView {
    board: Rc<Scoreboard>,
    slot: SlotNo,
    /// Which of the 64 records are taken: private, so that nobody else can mislead us.
    taken: Rc<Cell<u64>>,
}

impl ChildView {
    pub(super) fn new(board: Rc<Scoreboard>, slot: SlotNo) -> ChildView {
        ChildView {
            board,
            slot,
            taken: Rc::new(Cell::new(0)),
        }
    }

    /// Which slot it is.
    pub fn slot(&self) -> SlotNo {
        self.slot
    }

    /// The table that it belongs to.
    pub fn board(&self) -> &Rc<Scoreboard> {
        &self.board
    }

    /// Tells what the child is doing as a whole.
    pub fn set_state(&self, state: ChildState) {
        self.with(|head| head.state.store(state as u32, Relaxed));
    }

    /// Once per tick: that the loop turns, at this time.
    pub fn heartbeat(&self, now: Mono) {
        self.with(|head| head.heartbeat.store(now.0, Relaxed));
    }

    /// A connection was accepted.
    pub fn connection_opened(&self) {
        self.with(|head| {
            head.connections.fetch_add(1, Relaxed);
        });
    }

    /// A connection is gone.
    pub fn connection_closed(&self) {
        self.with(|head| lower(&head.connections));
    }

    /// How many of the connections wait for a request.
    pub fn set_idle_connections(&self, n: u32) {
        self.with(|head| head.idle.store(n, Relaxed));
    }

    /// How many connections this child has.
    pub fn connections(&self) -> u32 {
        self.head().map_or(0, |head| head.connections.load(Relaxed))
    }

    /// How many requests of this child are in flight.
    pub fn requests(&self) -> u32 {
        self.head().map_or(0, |head| head.requests.load(Relaxed))
    }

    /// This child holds (or gave back) the watchdog lock.
    pub fn set_watchdog(&self, holder: bool) {
        self.with(|head| head.watchdog.store(u32::from(holder), Relaxed));
    }

    /// Log lines that could not be written.
    pub fn add_dropped_lines(&self, n: u64) {
        self.with(|head| {
            head.dropped.fetch_add(n, Relaxed);
        });
    }

    /// A request's head is complete: counts it as in flight until the guard is dropped. When all 64
    /// records are taken it is counted without being listed.
    pub fn begin_request(&self, info: &RequestInfo<'_>) -> RecordGuard {
        let taken = self.taken.get();
        let index = taken.trailing_ones() as usize;
        let record = self.board.table.record(self.slot.index(), index);
        self.with(|head| {
            head.requests.fetch_add(1, Relaxed);
            if record.is_none() {
                head.unlisted.fetch_add(1, Relaxed);
            }
        });
        if let Some(record) = record {
            self.taken.set(taken | (1 << index));
            fill(record, info);
        }
        RecordGuard {
            view: self.clone(),
            index: record.is_some().then_some(index as u8),
        }
    }

    fn head(&self) -> Option<&ChildHead> {
        self.board.table.child(self.slot.index())
    }

    fn with(&self, f: impl FnOnce(&ChildHead)) {
        if let Some(head) = self.head() {
            f(head);
        }
    }
}

/// A request in flight. Dropping it ends the request in the table.
pub struct RecordGuard {
    view: ChildView,
    index: Option<u8>,
}

impl RecordGuard {
    /// The request has come this far.
    pub fn phase(&self, phase: RequestPhase) {
        if let Some(record) = self.record() {
            record.phase.store(phase as u32, Relaxed);
        }
    }

    /// The worker that serves it.
    pub fn member(&self, worker: WorkerRow) {
        if let Some(record) = self.record() {
            record.member.store(u32::from(worker.0) + 1, Relaxed);
        }
    }

    /// For those who learn of the worker and do not hold the guard.
    pub fn marker(&self) -> RecordMarker {
        RecordMarker {
            board: self.view.board.clone(),
            slot: self.view.slot,
            index: self.index,
        }
    }

    /// The answer is out and logged: bytes sent to the client (head included) and the time it took in µs.
    /// Counts one access; a guard that is dropped without it counts none.
    pub fn finish(self, bytes: u64, micros: u64) {
        self.view.with(|head| {
            head.accesses.fetch_add(1, Relaxed);
            head.bytes.fetch_add(bytes, Relaxed);
            head.duration.fetch_add(micros, Relaxed);
        });
    }

    fn record(&self) -> Option<&RequestSlot> {
        self.view
            .board
            .table
            .record(self.view.slot.index(), usize::from(self.index?))
    }
}

/// Tells a request's record which worker serves it. Not to be kept longer than the request.
pub struct RecordMarker {
    board: Rc<Scoreboard>,
    slot: SlotNo,
    index: Option<u8>,
}

impl RecordMarker {
    /// The worker that serves the request from now on.
    pub fn member(&self, worker: WorkerRow) {
        if let Some(index) = self.index
            && let Some(record) = self
                .board
                .table
                .record(self.slot.index(), usize::from(index))
        {
            record.member.store(u32::from(worker.0) + 1, Relaxed);
        }
    }
}

impl Drop for RecordGuard {
    fn drop(&mut self) {
        if let Some(record) = self.record() {
            record.phase.store(0, Relaxed);
        }
        if let Some(index) = self.index {
            self.view.taken.set(self.view.taken.get() & !(1 << index));
        }
        self.view.with(|head| {
            lower(&head.requests);
            if self.index.is_none() {
                lower(&head.unlisted);
            }
        });
    }
}

fn fill(record: &RequestSlot, info: &RequestInfo<'_>) {
    record.seq.write(|| {
        let (family, address) = match info.client.ip() {
            IpAddr::V4(ip) => {
                let mut bytes = [0; 16];
                bytes[..4].copy_from_slice(&ip.octets());
                (4, bytes)
            }
            IpAddr::V6(ip) => (6, ip.octets()),
        };
        record.family.store(family, Relaxed);
        record.port.store(info.client.port(), Relaxed);
        let (low, high) = address.split_at(8);
        for (word, half) in record.address.iter().zip([low, high]) {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(half);
            word.store(u64::from_ne_bytes(bytes), Relaxed);
        }
        record.since.store(info.since.0, Relaxed);
        record.member.store(0, Relaxed);
        record.minor.store(u32::from(info.minor), Relaxed);
        record.vhost.set(info.vhost.as_bytes());
        record.local_port.store(u32::from(info.port), Relaxed);
        let method = info.method.as_bytes();
        let method = &method[..method.len().min(METHOD)];
        let target = if info.tail {
            // Of the path: of a query's tail nobody could tell that it is one, and pages hide queries.
            let path = info.target.split(|&b| b == b'?').next().unwrap_or(&[]);
            &path[path.len().saturating_sub(TARGET)..]
        } else {
            &info.target[..info.target.len().min(TARGET)]
        };
        record.request.set_parts(&[method, b" ", target]);
        record.phase.store(RequestPhase::Reading as u32, Relaxed);
    });
}

/// Bytes of a method that are kept.
const METHOD: usize = 30;
/// Bytes of a target that are kept.
const TARGET: usize = 64;

fn lower(word: &AtomicU32) {
    let _ = word.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1));
}
