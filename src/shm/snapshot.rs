//! Copies of the table's records as plain values. Everything in them was checked.

use std::net::SocketAddr;

use super::child_view::RequestPhase;
use crate::clock::{Mono, Wall};
use crate::ids::{ChildNo, Generation, SlotNo};

/// What a child is doing as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum ChildState {
    /// The slot has no child.
    #[default]
    Unused = 0,
    /// Claimed by the supervisor; the child has not reported yet.
    Starting = 1,
    /// Accepting and answering.
    Serving = 2,
    /// Told to end: answers what it has.
    Draining = 3,
    /// Ended by itself, not reaped yet.
    Ended = 4,
}

/// The whole table.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The supervisor's process.
    pub supervisor: i32,
    /// When the instance started.
    pub started: Wall,
    /// When the configuration of the newest generation was read.
    pub restarted: Wall,
    /// When the copy was made.
    pub taken: Wall,
    /// The same on the monotonic clock.
    pub taken_mono: Mono,
    /// The newest generation.
    pub generation: Generation,
    /// How often a configuration was read.
    pub config_generation: u32,
    /// Child slots that exist.
    pub slots: usize,
    /// Slots in use.
    pub children: Vec<ChildInfo>,
    /// Balancers of the newest configuration.
    pub balancers: Vec<BalancerInfo>,
    /// Workers outside balancers.
    pub workers: Vec<WorkerInfo>,
    /// Accesses, bytes and µs of children that are gone.
    pub past: (u64, u64, u64),
}

/// One child.
#[derive(Clone, Debug)]
pub struct ChildInfo {
    /// Its slot.
    pub slot: SlotNo,
    /// Its number.
    pub child: ChildNo,
    /// Its process.
    pub pid: i32,
    /// Its generation.
    pub generation: Generation,
    /// What it does.
    pub state: ChildState,
    /// When it was forked.
    pub started: Wall,
    /// When its loop last turned a tick.
    pub heartbeat: Mono,
    /// Whether it holds the watchdog lock.
    pub watchdog: bool,
    /// Open client connections.
    pub connections: u32,
    /// Those that wait for a request.
    pub idle_connections: u32,
    /// Requests in flight.
    pub requests: u32,
    /// Requests answered.
    pub accesses: u64,
    /// Bytes sent to clients.
    pub bytes: u64,
    /// Time of all answered requests, in µs.
    pub duration: u64,
    /// Log lines dropped.
    pub dropped_lines: u64,
    /// Requests in flight that have a record (at most 64).
    pub records: Vec<RequestRecord>,
}

/// One request in flight.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// Its place in the child's slot.
    pub index: u8,
    /// The client.
    pub client: Option<SocketAddr>,
    /// The virtual host.
    pub vhost: String,
    /// Method, target (cut to 64 bytes, not escaped) and version.
    pub request: String,
    /// Where it is.
    pub phase: RequestPhase,
    /// When its first byte came.
    pub since: Mono,
    /// The worker that serves it.
    pub member: Option<String>,
}

/// One balancer.
#[derive(Clone, Debug)]
pub struct BalancerInfo {
    /// Its row.
    pub row: u16,
    /// `balancer://name`.
    pub name: String,
    /// The server that defined it.
    pub server: String,
    /// `lbmethod`.
    pub lbmethod: String,
    /// The cookie's name; empty: not sticky.
    pub sticky_cookie: String,
    /// The URL parameter's name.
    pub sticky_param: String,
    /// `nofailover`.
    pub no_failover: bool,
    /// `timeout` in ms.
    pub timeout_ms: u64,
    /// `maxattempts` in force.
    pub max_attempts: u32,
    /// The process inside its lock, if any.
    pub lock_owner: Option<i32>,
    /// How often a dead owner's lock was taken over.
    pub lock_repairs: u64,
    /// Choices made without the lock because it could not be had in time.
    pub unlocked: u64,
    /// Its members, in order.
    pub members: Vec<WorkerInfo>,
}

/// One worker.
#[derive(Clone, Debug)]
pub struct WorkerInfo {
    /// Its row.
    pub row: u16,
    /// Its canonical name.
    pub name: String,
    /// The server that defined it.
    pub server: String,
    /// The status bits (`shm::status`).
    pub status: u32,
    /// `loadfactor` × 100.
    pub load_factor: u32,
    /// `lbset`.
    pub lbset: u32,
    /// `route`.
    pub route: String,
    /// `redirect`.
    pub redirect: String,
    /// `lbstatus`.
    pub lbstatus: i64,
    /// How often it was chosen.
    pub elected: u64,
    /// Requests in flight over all live children.
    pub busy: u64,
    /// Bytes sent to it.
    pub sent: u64,
    /// Bytes read from it.
    pub received: u64,
    /// Attempts since its error.
    pub retries: u32,
    /// When it went into error; zero: it has not.
    pub error_time: Mono,
    /// `retry` in ms.
    pub retry_ms: u64,
}
