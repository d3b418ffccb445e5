//! Bytes to and from members, as `lbmethod=bytraffic` weighs them.
//!
//! A member that was away, or not needed, has moved less than the others and would get all requests
//! until it had caught up. So what it missed is counted beside what it moved; the bytes that people
//! are told of stay true.

use std::sync::atomic::Ordering::Relaxed;

use super::assign::WorkerRow;
use super::record::{BalancerSlot, USED, WorkerSlot};
use super::scoreboard::Scoreboard;
use super::status;
use super::table::Table;

/// Whether the balancer's method as it stands now is bytraffic.
fn goes_by_traffic(slot: &BalancerSlot) -> bool {
    slot.seq.read(|| slot.lbmethod.is(b"bytraffic"))
}

impl Scoreboard {
    /// Bytes to and from a worker, and those that it is taken to have moved while it was away.
    pub fn traffic(&self, worker: WorkerRow) -> u64 {
        let row = usize::from(worker.0);
        self.table
            .worker(row)
            .map_or(0, |w| of(&self.table, row, w))
    }

    /// A worker missed so much while it was not among those to choose from.
    pub fn add_missed(&self, worker: WorkerRow, n: u64) {
        if let Some(slot) = self.table.worker(usize::from(worker.0)) {
            slot.missed.fetch_add(n, Relaxed);
        }
    }

    /// The method's reset (spec: balancer 6.3), when the balancer goes by traffic: all members have
    /// moved nothing.
    pub(super) fn reset_traffic(&self, balancer: &BalancerSlot, members: &[WorkerRow]) {
        if !goes_by_traffic(balancer) {
            return;
        }
        for &row in members {
            let row = usize::from(row.0);
            let Some(slot) = self.table.worker(row) else {
                continue;
            };
            for child in 0..self.table.layout().counts.slots {
                if let Some(cell) = self.table.cell(child, row) {
                    cell.sent.store(0, Relaxed);
                    cell.received.store(0, Relaxed);
                }
            }
            for word in [&slot.past_sent, &slot.past_received, &slot.missed] {
                word.store(0, Relaxed);
            }
        }
    }
}

/// All that a worker has moved or missed.
fn of(table: &Table, row: usize, slot: &WorkerSlot) -> u64 {
    let cells = table.sum_cells(row, |cell| {
        let sent = cell.sent.load(Relaxed);
        sent.saturating_add(cell.received.load(Relaxed))
    });
    [&slot.past_sent, &slot.past_received, &slot.missed]
        .iter()
        .fold(cells, |sum, n| sum.saturating_add(n.load(Relaxed)))
}

/// A member joins its balancer, or returns to it: if that goes by traffic, it is taken to have moved
/// as much for its factor as that of the others which moved least.
pub(super) fn joins(table: &Table, row: usize, slot: &WorkerSlot) {
    let own = slot.balancer.load(Relaxed);
    let balancer = (own as usize)
        .checked_sub(1)
        .and_then(|b| table.balancer(b));
    if !balancer.is_some_and(goes_by_traffic) {
        return;
    }
    // Those that wait for their turn as reserves, or drain, may have moved as little as itself.
    let waiting = status::SPARE | status::STANDBY | status::DRAIN;
    let least = |with: u32| {
        let others = table.workers().filter(|(other, w)| {
            let status = w.status.load(Relaxed);
            *other != row
                && w.used.load(Relaxed) == USED
                && w.balancer.load(Relaxed) == own
                && status::usable(status)
                && status & waiting & !with == 0
        });
        others
            .map(|(other, w)| u128::from(of(table, other, w)) * factor(slot) / factor(w))
            .min()
    };
    let due = least(0).or_else(|| least(waiting));
    raise(table, row, slot, due.unwrap_or(0));
}

/// A balancer begins to go by traffic, or one of its members has a new load factor: all start equal.
pub(super) fn begins(table: &Table, balancer: usize) {
    if !table.balancer(balancer).is_some_and(goes_by_traffic) {
        return;
    }
    let members = || {
        table
            .workers()
            .filter(|(_, w)| w.balancer.load(Relaxed) == balancer as u32 + 1)
    };
    // For a factor of 1, rounded up.
    let due = members()
        .map(|(row, w)| u128::from(of(table, row, w)).div_ceil(factor(w)))
        .max();
    for (row, w) in members() {
        raise(table, row, w, due.unwrap_or(0) * factor(w));
    }
}

fn factor(slot: &WorkerSlot) -> u128 {
    u128::from(slot.load_factor.load(Relaxed).max(1))
}

fn raise(table: &Table, row: usize, slot: &WorkerSlot, due: u128) {
    let due = u64::try_from(due).unwrap_or(u64::MAX);
    let before = slot.missed.load(Relaxed);
    let lacks = due.saturating_sub(of(table, row, slot));
    // Who comes second has nothing to add.
    let after = before.saturating_add(lacks);
    let _ = slot
        .missed
        .compare_exchange(before, after, Relaxed, Relaxed);
}
