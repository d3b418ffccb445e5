//! Leases of announced backends, with the marks that make replays visible (see `beacon`).
//!
//! Written by the watchdog's holder only; a new holder goes on with what it finds. Each step is one
//! store, or covered by the record's state, so that a writer killed half-way leaves nothing that
//! misleads: a mark moves before the lease it belongs to.

use std::net::SocketAddr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::assign::{BeaconRow, WorkerRow};
use super::layout;
use super::record::{
    BeaconSlot, LEASE_ADDED, LEASE_EVICTED, LEASE_FOREIGN, LEASE_FREE, LEASE_LEFT, LEASE_USED,
    LEASE_WRITING, LeaseSlot,
};
use super::scoreboard::Scoreboard;
use crate::clock::{Mono, Wall};
use crate::ids::Generation;

/// A lease as it stands in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Its place.
    pub index: u16,
    /// The backend's canonical URL.
    pub url: String,
    /// When an announcement was last accepted.
    pub last_seen: Mono,
    /// The highest time stamp accepted, µs since 1970 on the sender's clock; 0: none.
    pub last_ts: i64,
    /// What became of it.
    pub state: LeaseState,
    /// The route it announced last, and its load factor × 100 (0: none).
    pub announced: (String, u32),
}

/// What became of a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseState {
    /// Its member is there.
    pub added: bool,
    /// The member is disabled because of the lease.
    pub evicted: bool,
    /// It said itself that it leaves.
    pub left: bool,
    /// It is only a mark of another receiver, taken over since the same messages may be sent here;
    /// given up when an announcement needs its place.
    pub foreign: bool,
    /// When adding was last tried.
    pub last_attempt: Mono,
    /// The member's row, and how often that was taken then.
    pub member: Option<(WorkerRow, u32)>,
}

/// In µs: text is dear in a flood.
const FROM_EVERY: u64 = 1000;

/// Leases of each receiver.
pub const LEASES: usize = layout::LEASES;

impl Scoreboard {
    fn beacon_slot(&self, row: BeaconRow) -> Option<&BeaconSlot> {
        self.table.beacon(usize::from(row.0))
    }

    fn lease_slot(&self, row: BeaconRow, index: u16) -> Option<&LeaseSlot> {
        self.table.lease(usize::from(row.0), usize::from(index))
    }

    /// All leases in use. One that its writer died over is freed: nothing had come of it yet.
    pub fn take_leases(&self, row: BeaconRow) -> Vec<Lease> {
        let mut out = Vec::new();
        for index in 0..LEASES as u16 {
            let Some(slot) = self.lease_slot(row, index) else {
                break;
            };
            match slot.state.load(Acquire) {
                LEASE_USED => out.extend(read_lease(index, slot)),
                LEASE_FREE => {}
                _ => slot.state.store(LEASE_FREE, Release),
            }
        }
        self.count_leases(row, out.len());
        out
    }

    /// The lease of a URL.
    pub fn find_lease(&self, row: BeaconRow, url: &str) -> Option<Lease> {
        (0..LEASES as u16).find_map(|index| {
            let slot = self.lease_slot(row, index)?;
            let own = slot.state.load(Acquire) == LEASE_USED && slot.url.is(url.as_bytes());
            own.then(|| read_lease(index, slot))?
        })
    }

    /// Takes the record at `index` for a URL.
    pub fn make_lease(&self, row: BeaconRow, index: u16, url: &str, ts: i64, now: Mono) {
        let Some(slot) = self.lease_slot(row, index) else {
            return;
        };
        slot.state.store(LEASE_WRITING, Release);
        slot.seq.write(|| {
            slot.url.set(url.as_bytes());
            slot.announced_route.set(b"");
        });
        slot.announced_factor.store(0, Relaxed);
        slot.flags.store(0, Relaxed);
        slot.worker.store(0, Relaxed);
        slot.worker_taken.store(0, Relaxed);
        slot.last_attempt.store(0, Relaxed);
        slot.last_ts.store(ts, Relaxed);
        slot.last_seen.store(now.0, Relaxed);
        slot.state.store(LEASE_USED, Release);
    }

    /// An announcement was accepted.
    pub fn renew_lease(&self, row: BeaconRow, index: u16, ts: i64, now: Mono) {
        if let Some(slot) = self.lease_slot(row, index) {
            slot.last_ts.store(ts, Release);
            slot.last_seen.store(now.0, Release);
        }
    }

    /// Something became of it.
    pub fn note_lease(&self, row: BeaconRow, index: u16, state: &LeaseState) {
        let Some(slot) = self.lease_slot(row, index) else {
            return;
        };
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        let member = state.member;
        slot.worker_taken
            .store(member.map_or(0, |(_, taken)| taken), Relaxed);
        slot.worker
            .store(member.map_or(0, |(row, _)| u32::from(row.0) + 1), Relaxed);
        slot.last_attempt.store(state.last_attempt.0, Relaxed);
        slot.flags.store(
            flag(state.added, LEASE_ADDED)
                | flag(state.evicted, LEASE_EVICTED)
                | flag(state.left, LEASE_LEFT)
                | flag(state.foreign, LEASE_FOREIGN),
            Release,
        );
    }

    /// It announced this route and load factor × 100 (0: none).
    pub fn note_announced(&self, row: BeaconRow, index: u16, route: &str, factor: u32) {
        if let Some(slot) = self.lease_slot(row, index) {
            slot.seq
                .write(|| slot.announced_route.set(route.as_bytes()));
            slot.announced_factor.store(factor, Relaxed);
        }
    }

    /// Gives the record back.
    pub fn free_lease(&self, row: BeaconRow, index: u16) {
        if let Some(slot) = self.lease_slot(row, index) {
            slot.state.store(LEASE_FREE, Release);
        }
    }

    /// How many are in use, for pages.
    pub fn count_leases(&self, row: BeaconRow, n: usize) {
        if let Some(b) = self.beacon_slot(row) {
            b.leases.store(n as u32, Relaxed);
        }
    }

    /// An announcement was accepted.
    pub fn count_accepted(&self, row: BeaconRow, now: Wall) {
        if let Some(b) = self.beacon_slot(row) {
            b.accepted.fetch_add(1, Relaxed);
            b.last_accepted.store(now.0, Relaxed);
        }
    }

    /// One was dropped. `reason` is the number of a `codec::beacon::Refusal`.
    /// Where it came from is written at most once in `FROM_EVERY` of the wall clock.
    pub fn count_dropped(&self, row: BeaconRow, reason: u8, from: SocketAddr, now: Wall) {
        let Some(b) = self.beacon_slot(row) else {
            return;
        };
        if let Some(counter) = b.drops.get(usize::from(reason)) {
            counter.fetch_add(1, Relaxed);
        }
        if now.0.abs_diff(b.last_dropped.load(Relaxed)) >= FROM_EVERY {
            b.last_from.set(from.to_string().as_bytes());
        }
        b.last_dropped.store(now.0, Relaxed);
        b.last_reason.store(u32::from(reason) + 1, Relaxed);
    }

    /// Supervisor: nothing is accepted from now on, since the marks are about to be saved.
    pub fn close_receivers(&self) {
        for (_, b) in self.table.beacons() {
            if b.used.load(Relaxed) != 0 {
                b.used.store(layout::CLOSING, Release);
            }
        }
    }

    /// A holder of `generation` begins, with clocks that may be off by `skew` µs. Gives whether it is
    /// the first one of this generation, and before which time stamp everything is stale: marks
    /// were kept for the former distance only, so a larger one lets in nothing that was stale.
    pub fn begin_receiver(
        &self,
        row: BeaconRow,
        generation: Generation,
        skew: i64,
        now: Wall,
    ) -> (bool, i64) {
        let Some(b) = self.beacon_slot(row) else {
            return (false, 0);
        };
        let before = b.max_skew.load(Relaxed);
        let floor = b.floor.load(Relaxed);
        let floor = match before != 0 && before < skew {
            true => floor.max(now.0.saturating_sub(before)),
            false => floor,
        };
        b.floor.store(floor, Release);
        b.max_skew.store(skew, Release);
        let held = generation.0 + 1;
        (b.held.swap(held, Relaxed) != held, floor)
    }

    /// Whether announcements are accepted.
    pub fn is_receiving(&self, row: BeaconRow) -> bool {
        let slot = self.beacon_slot(row);
        slot.is_some_and(|b| b.used.load(Acquire) != layout::CLOSING)
    }

    /// When the receiver's socket was last looked into; 0: never.
    pub fn listened(&self, row: BeaconRow) -> Mono {
        let slot = self.beacon_slot(row);
        Mono(slot.map_or(0, |b| b.listened.load(Relaxed)))
    }

    /// It is looked into now.
    pub fn set_listened(&self, row: BeaconRow, now: Mono) {
        if let Some(b) = self.beacon_slot(row) {
            b.listened.store(now.0, Relaxed);
        }
    }

    /// How many datagrams the socket had no room for.
    pub fn set_overflows(&self, row: BeaconRow, n: u64) {
        if let Some(b) = self.beacon_slot(row) {
            b.overflows.store(n, Relaxed);
        }
    }

    /// The next time stamp and number of a sender: later than all before, also of former holders,
    /// and also when the clock was set back. `leaving`: it withdraws, until its next announcement.
    pub fn next_stamp(&self, row: BeaconRow, now: Wall, leaving: bool) -> (i64, u64) {
        let Some(b) = self.beacon_slot(row) else {
            return (now.0, 0);
        };
        b.listened.store(u64::from(leaving), Relaxed);
        let ts = now.0.max(b.sent_ts.load(Relaxed).saturating_add(1));
        b.sent_ts.store(ts, Relaxed);
        (ts, b.sent.fetch_add(1, Relaxed))
    }

    /// Whether a sender's last word, by whatever child, was that it leaves.
    pub fn has_left(&self, row: BeaconRow) -> bool {
        let slot = self.beacon_slot(row);
        slot.is_some_and(|b| b.listened.load(Relaxed) != 0)
    }
}

pub(super) fn read_lease(index: u16, slot: &LeaseSlot) -> Option<Lease> {
    if slot.state.load(Acquire) != LEASE_USED {
        return None;
    }
    let flags = slot.flags.load(Acquire);
    let member = slot.worker.load(Relaxed).checked_sub(1);
    let (url, route) = slot
        .seq
        .read(|| (slot.url.string(), slot.announced_route.string()));
    Some(Lease {
        index,
        url,
        last_seen: Mono(slot.last_seen.load(Relaxed)),
        last_ts: slot.last_ts.load(Relaxed),
        state: LeaseState {
            added: flags & LEASE_ADDED != 0,
            evicted: flags & LEASE_EVICTED != 0,
            left: flags & LEASE_LEFT != 0,
            foreign: flags & LEASE_FOREIGN != 0,
            last_attempt: Mono(slot.last_attempt.load(Relaxed)),
            member: member
                .and_then(|row| u16::try_from(row).ok())
                .map(|row| (WorkerRow(row), slot.worker_taken.load(Relaxed))),
        },
        announced: (route, slot.announced_factor.load(Relaxed)),
    })
}

#[cfg(test)]
impl Scoreboard {
    /// Leaves a record as a writer that died while it made it would.
    pub fn tear_lease_for_tests(&self, row: BeaconRow, index: u16) {
        if let Some(slot) = self.lease_slot(row, index) {
            slot.state.store(LEASE_WRITING, Release);
        }
    }
}
