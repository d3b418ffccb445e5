//! Copies of the table's records as plain values. Everything in them was checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;

use super::child_view::RequestPhase;
use super::health::{self, HealthInfo};
use super::history;
use super::jobs::{self, JobInfo};
use super::layout;
use super::leases::{Lease, read_lease};
use super::record::{
    BalancerSlot, BeaconSlot, ChildHead, FLAG_FORCE_RECOVERY, FLAG_MAX_ATTEMPTS, FLAG_NO_FAILOVER,
    FLAG_SCOLON, ROLE_SENDER, RequestSlot, USED, WorkerSlot,
};
use super::table::Table;
use crate::clock::{self, Mono, Wall};
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

impl ChildState {
    /// From the table's word; `None` for nonsense.
    pub(super) fn from_word(word: u32) -> Option<ChildState> {
        match word {
            0 => Some(ChildState::Unused),
            1 => Some(ChildState::Starting),
            2 => Some(ChildState::Serving),
            3 => Some(ChildState::Draining),
            4 => Some(ChildState::Ended),
            _ => None,
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            ChildState::Unused => "unused",
            ChildState::Starting => "starting",
            ChildState::Serving => "serving",
            ChildState::Draining => "draining",
            ChildState::Ended => "ended",
        }
    }
}

/// The whole table.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The supervisor's process.
    pub supervisor: i32,
    /// Program and version.
    pub program: String,
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
    /// Periodic jobs of the watchdog.
    pub jobs: Vec<JobInfo>,
    /// Balancers of the newest configuration.
    pub balancers: Vec<BalancerInfo>,
    /// Workers outside balancers.
    pub workers: Vec<WorkerInfo>,
    /// Servers that receive announcements or make them.
    pub beacons: Vec<BeaconInfo>,
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
    /// The virtual host's name and the port that the client connected to.
    pub vhost: String,
    /// Method, target (cut to 64 bytes, not escaped).
    pub request: String,
    /// HTTP minor version.
    pub minor: u8,
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
    /// `stickysessionsep`; `None`: Off.
    pub sticky_separator: Option<u8>,
    /// `nofailover`.
    pub no_failover: bool,
    /// `forcerecovery`.
    pub force_recovery: bool,
    /// `scolonpathdelim`.
    pub scolon_path_delim: bool,
    /// `hashkey`, as it is written.
    pub hash_key: String,
    /// `retrybudget`, in hundredths.
    pub retry_budget: u32,
    /// `stickycookie`; empty: none is set.
    pub own_cookie: String,
    /// `timeout` in ms.
    pub timeout_ms: u64,
    /// `maxattempts` in force.
    pub max_attempts: u32,
    /// `maxattempts` as it was set.
    pub max_attempts_set: Option<u32>,
    /// The process inside its lock, if any.
    pub lock_owner: Option<i32>,
    /// How often a dead owner's lock was taken over.
    pub lock_repairs: u64,
    /// Choices made without the lock because it could not be had in time.
    pub unlocked: u64,
    /// Its members, in order.
    pub members: Vec<WorkerInfo>,
}

/// A server that receives announcements or makes them.
#[derive(Clone, Debug)]
pub struct BeaconInfo {
    /// Its row.
    pub row: u16,
    /// Which of the two.
    pub role: BeaconRole,
    /// The server.
    pub server: String,
    /// Where it listens, or whom it tells.
    pub address: String,
    /// `balancer://name`; empty: it only logs.
    pub balancer: String,
    /// `ProxyBeaconTimeout`; of a sender its interval.
    pub timeout_ms: u64,
    /// Announcements accepted.
    pub accepted: u64,
    /// When the last one was.
    pub last_accepted: Option<Wall>,
    /// Dropped ones by the number of their reason (`codec::beacon::Refusal`).
    pub drops: Vec<u64>,
    /// The last one dropped: why, when, and where it came from.
    pub last_drop: Option<(u8, Wall, String)>,
    /// Datagrams that did not fit the socket's queue.
    pub overflows: u64,
    /// Messages sent.
    pub sent: u64,
    /// `ProxyBeaconMaxSkew` in µs, of its last holder; 0: there was none.
    pub max_skew: i64,
    /// Time stamps before this one are stale.
    pub floor: i64,
    /// The newest configuration does not have it.
    pub off: bool,
    /// Its leases.
    pub leases: Vec<Lease>,
}

/// What a server does with announcements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeaconRole {
    /// It receives them.
    Receiver,
    /// It makes them.
    Sender,
}

impl BeaconInfo {
    /// How long a lease has still to run; `None`: it does not end by itself.
    pub fn remaining(&self, lease: &Lease, now: Mono) -> Option<std::time::Duration> {
        let limit = std::time::Duration::from_millis(self.timeout_ms);
        (!limit.is_zero()).then(|| limit.saturating_sub(now.since(lease.last_seen)))
    }

    /// All that were dropped.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }
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
    /// `slowstart` in ms.
    pub slow_start_ms: u64,
    /// Its health checks, where there are any.
    pub health: Option<HealthInfo>,
    /// Added at run time.
    pub grown: bool,
    /// Times that it was found in error.
    pub errors: u64,
    /// Requests and errors of the last moments, oldest first; the last one goes on still.
    pub history: Vec<(u32, u32)>,
}

impl Snapshot {
    /// Copies what `table` holds. Rows of configurations that are no longer the newest are left out.
    pub(super) fn of(table: &Table) -> Snapshot {
        let header = table.header();
        let newest = header.generation.load(Relaxed);
        let mut snapshot = Snapshot {
            supervisor: header.supervisor.load(Relaxed).cast_signed(),
            program: header.program.string(),
            started: Wall(header.started.load(Relaxed)),
            restarted: Wall(header.restarted.load(Relaxed)),
            taken: clock::read_wall(),
            taken_mono: clock::read_mono(),
            generation: Generation(newest),
            config_generation: header.config_generation.load(Relaxed),
            slots: table.layout().counts.slots,
            past: (
                header.past[0].load(Relaxed),
                header.past[1].load(Relaxed),
                header.past[2].load(Relaxed),
            ),
            jobs: jobs::all(header),
            ..Snapshot::default()
        };
        let mut live = Vec::new();
        for (slot, head) in table.children() {
            if let Some(child) = child(table, slot, head) {
                live.push(slot);
                snapshot.children.push(child);
            }
        }
        let present = |used: u32, last: u32| used != 0 && last >= newest;
        for (row, slot) in table.balancers() {
            if present(slot.used.load(Relaxed), slot.last_generation.load(Relaxed)) {
                snapshot.balancers.push(balancer(row, slot));
            }
        }
        let mut members = Vec::new();
        for (row, slot) in table.workers() {
            let used = slot.used.load(Relaxed) == USED;
            if !used || slot.last_generation.load(Relaxed) < newest {
                continue;
            }
            let info = worker(table, &live, row, slot);
            match (slot.balancer.load(Relaxed) as usize).checked_sub(1) {
                None => snapshot.workers.push(info),
                Some(owner) => members.push((owner, slot.order.load(Relaxed), info)),
            }
        }
        members.sort_by_key(|(_, order, _)| *order);
        for (owner, _, info) in members {
            if let Some(b) = snapshot
                .balancers
                .iter_mut()
                .find(|b| usize::from(b.row) == owner)
            {
                b.members.push(info);
            }
        }
        for (row, slot) in table.beacons() {
            if present(slot.used.load(Relaxed), slot.last_generation.load(Relaxed)) {
                snapshot.beacons.push(beacon(table, row, slot));
            }
        }
        for b in &mut snapshot.balancers {
            b.max_attempts = b
                .max_attempts_set
                .unwrap_or(b.members.len().saturating_sub(1) as u32);
        }
        snapshot
    }

    /// The receiver and lease that a member owes its place to.
    pub fn lease_of(&self, member: &WorkerInfo) -> Option<(&BeaconInfo, &Lease)> {
        let own = |l: &&Lease| {
            l.state.added && l.state.member.is_some_and(|(row, _)| row.0 == member.row)
        };
        let all = self.beacons.iter();
        let all = all.flat_map(|b| b.leases.iter().filter(own).map(move |l| (b, l)));
        // Of two receivers the one that heard it last.
        all.max_by_key(|(_, l)| (!l.state.evicted, l.last_seen))
    }

    /// Accesses, bytes and µs, of children that live and those that are gone.
    pub fn totals(&self) -> (u64, u64, u64) {
        self.children.iter().fold(self.past, |t, c| {
            (
                t.0.saturating_add(c.accesses),
                t.1.saturating_add(c.bytes),
                t.2.saturating_add(c.duration),
            )
        })
    }
}

fn child(table: &Table, slot: usize, head: &ChildHead) -> Option<ChildInfo> {
    let state = ChildState::from_word(head.state.load(Relaxed))?;
    if state == ChildState::Unused {
        return None;
    }
    let records = (0..layout::RECORDS)
        .filter_map(|i| request(table, i, table.record(slot, i)?))
        .collect();
    Some(ChildInfo {
        slot: SlotNo(u16::try_from(slot).ok()?),
        child: ChildNo(head.child.load(Relaxed) as u16),
        pid: head.pid.load(Relaxed).cast_signed(),
        generation: Generation(head.generation.load(Relaxed)),
        state,
        started: Wall(head.started.load(Relaxed)),
        heartbeat: Mono(head.heartbeat.load(Relaxed)),
        watchdog: head.watchdog.load(Relaxed) == 1,
        connections: head.connections.load(Relaxed),
        idle_connections: head.idle.load(Relaxed),
        requests: head.requests.load(Relaxed),
        accesses: head.accesses.load(Relaxed),
        bytes: head.bytes.load(Relaxed),
        duration: head.duration.load(Relaxed),
        dropped_lines: head.dropped.load(Relaxed),
        records,
    })
}

fn request(table: &Table, index: usize, slot: &RequestSlot) -> Option<RequestRecord> {
    // Most records are free: look before copying.
    RequestPhase::from_word(slot.phase.load(Relaxed))?;
    slot.seq.read(|| {
        let phase = RequestPhase::from_word(slot.phase.load(Relaxed))?;
        let mut address = [0u8; 16];
        for (half, word) in address.chunks_exact_mut(8).zip(&slot.address) {
            half.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        let ip = match slot.family.load(Relaxed) {
            4 => Some(IpAddr::V4(Ipv4Addr::new(
                address[0], address[1], address[2], address[3],
            ))),
            6 => Some(IpAddr::V6(Ipv6Addr::from(address))),
            _ => None,
        };
        let member = (slot.member.load(Relaxed) as usize)
            .checked_sub(1)
            .and_then(|row| table.worker(row))
            .map(|w| w.seq.read(|| w.name.string()));
        Some(RequestRecord {
            index: index as u8,
            client: ip.map(|ip| SocketAddr::new(ip, slot.port.load(Relaxed))),
            vhost: format!("{}:{}", slot.vhost.string(), slot.local_port.load(Relaxed)),
            request: slot.request.string(),
            minor: u8::from(slot.minor.load(Relaxed) != 0),
            phase,
            since: Mono(slot.since.load(Relaxed)),
            member,
        })
    })
}

fn balancer(row: usize, slot: &BalancerSlot) -> BalancerInfo {
    let flags = slot.flags.load(Relaxed);
    let owner = slot.owner.load(Relaxed).cast_signed();
    slot.seq.read(|| BalancerInfo {
        row: row as u16,
        name: slot.name.string(),
        server: slot.server.string(),
        lbmethod: slot.lbmethod.string(),
        sticky_cookie: slot.cookie.string(),
        sticky_param: slot.param.string(),
        sticky_separator: u8::try_from(slot.separator.load(Relaxed)).ok(),
        no_failover: flags & FLAG_NO_FAILOVER != 0,
        force_recovery: flags & FLAG_FORCE_RECOVERY != 0,
        scolon_path_delim: flags & FLAG_SCOLON != 0,
        hash_key: slot.hash_key.string(),
        retry_budget: slot.retry_budget.load(Relaxed),
        own_cookie: slot.own_cookie.string(),
        timeout_ms: slot.timeout_ms.load(Relaxed),
        max_attempts: 0,
        max_attempts_set: (flags & FLAG_MAX_ATTEMPTS != 0).then(|| slot.max_attempts.load(Relaxed)),
        lock_owner: (owner != 0).then_some(owner),
        lock_repairs: slot.repairs.load(Relaxed),
        unlocked: slot.unlocked.load(Relaxed),
        members: Vec::new(),
    })
}

fn beacon(table: &Table, row: usize, slot: &BeaconSlot) -> BeaconInfo {
    let wall = |word: i64| (word != 0).then_some(Wall(word));
    let reason = slot.last_reason.load(Relaxed).checked_sub(1);
    let reason = reason.and_then(|r| u8::try_from(r).ok());
    let (server, address, balancer) = slot.seq.read(|| {
        (
            slot.server.string(),
            slot.address.string(),
            slot.balancer_name.string(),
        )
    });
    BeaconInfo {
        row: row as u16,
        role: match slot.role.load(Relaxed) {
            ROLE_SENDER => BeaconRole::Sender,
            _ => BeaconRole::Receiver,
        },
        server,
        address,
        balancer,
        timeout_ms: slot.timeout_ms.load(Relaxed),
        accepted: slot.accepted.load(Relaxed),
        last_accepted: wall(slot.last_accepted.load(Relaxed)),
        drops: slot.drops.iter().map(|n| n.load(Relaxed)).collect(),
        last_drop: reason.map(|r| {
            let at = Wall(slot.last_dropped.load(Relaxed));
            (r, at, slot.last_from.string())
        }),
        overflows: slot.overflows.load(Relaxed),
        sent: slot.sent.load(Relaxed),
        max_skew: slot.max_skew.load(Relaxed),
        floor: slot.floor.load(Relaxed),
        off: slot.last_generation.load(Relaxed) < table.header().generation.load(Relaxed),
        leases: (0..layout::LEASES)
            .filter_map(|i| read_lease(i as u16, table.lease(row, i)?))
            .collect(),
    }
}

fn worker(table: &Table, live: &[usize], row: usize, slot: &WorkerSlot) -> WorkerInfo {
    let mut busy = 0u64;
    let mut sent = slot.past_sent.load(Relaxed);
    let mut received = slot.past_received.load(Relaxed);
    for cell in live.iter().filter_map(|&child| table.cell(child, row)) {
        busy += u64::from(cell.busy.load(Relaxed));
        sent = sent.saturating_add(cell.sent.load(Relaxed));
        received = received.saturating_add(cell.received.load(Relaxed));
    }
    slot.seq.read(|| WorkerInfo {
        row: row as u16,
        name: slot.name.string(),
        server: slot.server.string(),
        status: slot.status.load(Relaxed),
        load_factor: slot.load_factor.load(Relaxed),
        lbset: slot.lbset.load(Relaxed),
        route: slot.route.string(),
        redirect: slot.redirect.string(),
        lbstatus: slot.lbstatus.load(Relaxed),
        elected: slot.elected.load(Relaxed),
        busy,
        sent,
        received,
        retries: slot.retries.load(Relaxed),
        error_time: Mono(slot.error_time.load(Relaxed)),
        retry_ms: slot.retry_ms.load(Relaxed),
        slow_start_ms: slot.slow_start_ms.load(Relaxed),
        health: table.health(row).and_then(|h| health::info(slot, h)),
        grown: slot.grown.load(Relaxed) != 0,
        errors: slot.errors.load(Relaxed),
        history: history::of(slot),
    })
}
