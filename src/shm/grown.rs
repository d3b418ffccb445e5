//! Members that join a balancer while it runs, in rows that were kept for them.
//!
//! The writers are the watchdog's holder (beacons) and the manager in any child, one at a time by
//! the balancer's lock. Children see that the balancer's change counter has
//! moved and look at its rows; a row becomes visible by its last step, so nobody sees half a member,
//! also when the writer dies in between.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::assign::{BalancerRow, WorkerRow};
use super::record::{KEPT, USED, WorkerSlot};
use super::rows;
use super::scoreboard::Scoreboard;
use super::status;
use super::traffic;
use crate::clock;

/// A member to be added.
#[derive(Clone, Copy, Debug)]
pub struct NewMember<'a> {
    /// Its canonical name.
    pub name: &'a str,
    /// `route`, possibly empty.
    pub route: &'a str,
    /// `loadfactor` × 100.
    pub load_factor: u32,
    /// Status bits beside `INIT`.
    pub status: u32,
}

/// A member as it is found in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its row.
    pub row: WorkerRow,
    /// Its canonical name.
    pub name: String,
    /// Its status bits.
    pub status: u32,
    /// How often the row was taken: tells it from a later member of the same row.
    pub taken: u32,
}

/// httpd's default `retry`.
const RETRY_MS: u64 = 60_000;

impl Scoreboard {
    pub(super) fn slot_of(&self, row: WorkerRow) -> Option<&WorkerSlot> {
        self.table.worker(usize::from(row.0))
    }

    /// Moves with each change of a balancer's member list.
    pub fn changes(&self, balancer: BalancerRow) -> u32 {
        self.table
            .balancer(usize::from(balancer.0))
            .map_or(0, |b| b.changes.load(Acquire))
    }

    /// The member in a row, when there is one.
    pub fn found(&self, row: WorkerRow) -> Option<Found> {
        let w = self.slot_of(row)?;
        (w.used.load(Acquire) == USED).then(|| Found {
            row,
            name: w.seq.read(|| w.name.string()),
            status: w.status.load(Acquire),
            taken: w.taken.load(Relaxed),
        })
    }

    /// Whether this member is (still) in a row.
    pub fn has(&self, row: WorkerRow, taken: u32, name: &str) -> bool {
        self.slot_of(row).is_some_and(|w| {
            w.used.load(Acquire) == USED
                && w.taken.load(Relaxed) == taken
                && w.seq.read(|| w.name.is(name.as_bytes()))
        })
    }

    /// Adds a member in the first of `rows` that has none; `None`: there is no room. It appears
    /// disabled; [`Scoreboard::set_disabled`] lets requests come. Also `None`: the balancer's lock
    /// could not be had.
    pub fn add_member(
        &self,
        balancer: BalancerRow,
        rows: &[WorkerRow],
        new: &NewMember<'_>,
    ) -> Option<WorkerRow> {
        let _held = self.hold(balancer)?;
        self.put_member(balancer, rows, new)
    }

    /// The same for who holds the lock.
    pub(super) fn put_member(
        &self,
        balancer: BalancerRow,
        rows: &[WorkerRow],
        new: &NewMember<'_>,
    ) -> Option<WorkerRow> {
        let mut kept = rows
            .iter()
            .filter_map(|&row| Some((row, self.slot_of(row)?)));
        let (row, slot) = kept.find(|(_, s)| s.used.load(Relaxed) == KEPT)?;
        rows::clear_worker(&self.table, usize::from(row.0), slot);
        slot.seq.write(|| {
            slot.name.set(new.name.as_bytes());
            slot.route.set(new.route.as_bytes());
            slot.redirect.set(b"");
        });
        slot.load_factor.store(new.load_factor, Relaxed);
        slot.lbset.store(0, Relaxed);
        slot.retry_ms.store(RETRY_MS, Relaxed);
        slot.status
            .store(status::INIT | status::DISABLED | new.status, Relaxed);
        slot.updated.store(clock::read_wall().0, Relaxed);
        slot.used.store(USED, Release);
        self.changed(balancer);
        Some(row)
    }

    /// Disables or enables a member; tells whether it is so now. One that returns to a balancer
    /// which goes by traffic has nothing to catch up with.
    pub fn set_disabled(&self, balancer: BalancerRow, row: WorkerRow, on: bool) -> bool {
        let Some(slot) = self.slot_of(row) else {
            return false;
        };
        if on {
            slot.status.fetch_or(status::DISABLED, Release);
        } else {
            if slot.status.load(Relaxed) & status::DISABLED != 0 {
                // Before the bit: nobody may choose it by what it had moved.
                traffic::joins(&self.table, usize::from(row.0), slot);
            }
            slot.status.fetch_and(!status::DISABLED, Release);
        }
        self.changed(balancer);
        (slot.status.load(Acquire) & status::DISABLED != 0) == on
    }

    /// Gives a member another route or load factor. False: the route stays as it is, since the
    /// balancer's lock could not be had.
    pub fn set_member(
        &self,
        row: WorkerRow,
        route: Option<&str>,
        load_factor: Option<u32>,
    ) -> bool {
        let Some(slot) = self.slot_of(row) else {
            return false;
        };
        let mut done = true;
        if let Some(route) = route {
            // One writer at a time.
            let balancer = (slot.balancer.load(Relaxed) as u16).checked_sub(1);
            match balancer.and_then(|b| self.hold(BalancerRow(b))) {
                Some(_held) => slot.seq.write(|| slot.route.set(route.as_bytes())),
                None => done = false,
            }
        }
        if let Some(factor) = load_factor {
            let own = slot.balancer.load(Relaxed) as usize;
            if slot.load_factor.swap(factor, Relaxed) != factor
                && let Some(balancer) = own.checked_sub(1)
            {
                traffic::begins(&self.table, balancer);
            }
        }
        slot.updated.store(clock::read_wall().0, Relaxed);
        done
    }

    /// Moves with each change by hand and each member that comes or goes at run time.
    pub fn all_changes(&self) -> u64 {
        let all = self.table.balancers().map(|(_, b)| b.changes.load(Acquire));
        all.fold(0, |sum, n| sum.wrapping_add(n.into()))
    }

    pub(super) fn changed(&self, balancer: BalancerRow) {
        if let Some(b) = self.table.balancer(usize::from(balancer.0)) {
            b.updated.store(clock::read_wall().0, Relaxed);
            b.changes.fetch_add(1, Release);
        }
    }
}

#[cfg(test)]
impl Scoreboard {
    /// Another writer has the balancer's lock until what this gives is dropped.
    pub fn hold_for_tests(&self, balancer: BalancerRow) -> impl Drop + '_ {
        self.hold(balancer).unwrap()
    }

    /// As if the member had become usable again at that time.
    pub fn set_recovered_for_tests(&self, row: WorkerRow, at: clock::Mono) {
        if let Some(slot) = self.slot_of(row) {
            slot.recovered.store(at.0, Relaxed);
        }
    }

    /// Sets status bits, as an administrator would.
    pub fn change_status_for_tests(&self, row: WorkerRow, bits: u32) {
        if let Some(slot) = self.slot_of(row) {
            slot.status.fetch_or(bits, Release);
        }
    }
}
