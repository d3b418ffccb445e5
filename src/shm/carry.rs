//! From a table that has become too small into a larger one.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use super::health;
use super::layout;
use super::record::{BalancerSlot, BeaconSlot, LEASE_USED, LeaseSlot, USED, WorkerSlot};
use super::status;
use super::table::Table;

/// Numbers of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub balancers: usize,
    pub workers: usize,
    pub beacons: usize,
}

/// How many rows the newest generation uses. Those that are only kept for members to come are not
/// copied and do not count.
pub(super) fn live_rows(table: &Table) -> Rows {
    let newest = table.header().generation.load(Relaxed);
    Rows {
        balancers: table
            .balancers()
            .filter(|(_, b)| b.used.load(Relaxed) != 0 && b.last_generation.load(Relaxed) >= newest)
            .count(),
        workers: table
            .workers()
            .filter(|(_, w)| {
                w.used.load(Relaxed) == USED && w.last_generation.load(Relaxed) >= newest
            })
            .count(),
        beacons: table
            .beacons()
            .filter(|(_, b)| b.used.load(Relaxed) != 0 && b.last_generation.load(Relaxed) >= newest)
            .count(),
    }
}

/// Copies the newest generation's rows and the instance's totals into a new, larger table.
pub(super) fn carry_over(old: &Table, new: &Table) {
    let (from, to) = (old.header(), new.header());
    to.started.store(from.started.load(Relaxed), Relaxed);
    to.config_generation
        .store(from.config_generation.load(Relaxed), Relaxed);
    let newest = from.generation.load(Relaxed);
    to.generation.store(newest, Relaxed);
    for (a, b) in from.past.iter().zip(&to.past) {
        b.store(a.load(Relaxed), Relaxed);
    }
    for (_, head) in old.children() {
        to.past[0].fetch_add(head.accesses.load(Relaxed), Relaxed);
        to.past[1].fetch_add(head.bytes.load(Relaxed), Relaxed);
        to.past[2].fetch_add(head.duration.load(Relaxed), Relaxed);
    }
    let mut rows = HashMap::new();
    let used = |word: u32, last: u32| word != 0 && last >= newest;
    let kept = old
        .balancers()
        .filter(|(_, b)| used(b.used.load(Relaxed), b.last_generation.load(Relaxed)));
    for ((old_row, a), (new_row, b)) in kept.zip(new.balancers()) {
        copy_balancer(a, b);
        rows.insert(old_row, new_row);
    }
    let kept = old
        .workers()
        .filter(|(_, w)| w.used.load(Relaxed) == USED && w.last_generation.load(Relaxed) >= newest);
    let mut worker_rows = HashMap::new();
    for ((old_row, a), (new_row, b)) in kept.zip(new.workers()) {
        copy_worker(a, b);
        worker_rows.insert(old_row, new_row);
        if let (Some(a), Some(b)) = (old.health(old_row), new.health(new_row)) {
            health::copy(a, b);
        }
        let balancer = (a.balancer.load(Relaxed) as usize)
            .checked_sub(1)
            .and_then(|row| rows.get(&row))
            .map_or(0, |&row| row as u32 + 1);
        b.balancer.store(balancer, Relaxed);
        for slot in 0..old.layout().counts.slots {
            if let Some(cell) = old.cell(slot, old_row) {
                b.past_sent.fetch_add(cell.sent.load(Relaxed), Relaxed);
                b.past_received
                    .fetch_add(cell.received.load(Relaxed), Relaxed);
            }
        }
    }
    let kept = old
        .beacons()
        .filter(|(_, b)| used(b.used.load(Relaxed), b.last_generation.load(Relaxed)));
    for ((old_row, a), (new_row, b)) in kept.zip(new.beacons()) {
        copy_beacon(a, b);
        for i in 0..layout::LEASES {
            if let (Some(a), Some(b)) = (old.lease(old_row, i), new.lease(new_row, i)) {
                copy_lease(a, b, &worker_rows);
            }
        }
    }
}

/// Its balancer's row is told by the assignment that follows.
fn copy_beacon(a: &BeaconSlot, b: &BeaconSlot) {
    b.seq.write(|| {
        b.address.set(&a.address.bytes());
        b.balancer_name.set(&a.balancer_name.bytes());
        b.server.set(&a.server.bytes());
    });
    b.last_from.set(&a.last_from.bytes());
    for (from, to) in [
        (&a.first_generation, &b.first_generation),
        (&a.last_generation, &b.last_generation),
        (&a.role, &b.role),
        (&a.last_reason, &b.last_reason),
        (&a.leases, &b.leases),
        (&a.held, &b.held),
        (&a.used, &b.used),
    ] {
        to.store(from.load(Relaxed), Relaxed);
    }
    for (from, to) in [
        (&a.timeout_ms, &b.timeout_ms),
        (&a.accepted, &b.accepted),
        (&a.overflows, &b.overflows),
        (&a.sent, &b.sent),
        (&a.listened, &b.listened),
    ]
    .into_iter()
    .chain(a.drops.iter().zip(&b.drops))
    {
        to.store(from.load(Relaxed), Relaxed);
    }
    for (from, to) in [
        (&a.last_accepted, &b.last_accepted),
        (&a.last_dropped, &b.last_dropped),
        (&a.sent_ts, &b.sent_ts),
        (&a.floor, &b.floor),
        (&a.max_skew, &b.max_skew),
    ] {
        to.store(from.load(Relaxed), Relaxed);
    }
}

fn copy_lease(a: &LeaseSlot, b: &LeaseSlot, workers: &HashMap<usize, usize>) {
    if a.state.load(Relaxed) != LEASE_USED {
        return;
    }
    b.seq.write(|| {
        b.url.set(&a.url.bytes());
        b.announced_route.set(&a.announced_route.bytes());
    });
    let worker = (a.worker.load(Relaxed) as usize)
        .checked_sub(1)
        .and_then(|row| workers.get(&row))
        .map_or(0, |&row| row as u32 + 1);
    b.worker.store(worker, Relaxed);
    for (from, to) in [
        (&a.flags, &b.flags),
        (&a.worker_taken, &b.worker_taken),
        (&a.announced_factor, &b.announced_factor),
    ] {
        to.store(from.load(Relaxed), Relaxed);
    }
    b.last_seen.store(a.last_seen.load(Relaxed), Relaxed);
    b.last_ts.store(a.last_ts.load(Relaxed), Relaxed);
    b.last_attempt.store(a.last_attempt.load(Relaxed), Relaxed);
    b.state.store(LEASE_USED, Relaxed);
}

fn copy_balancer(a: &BalancerSlot, b: &BalancerSlot) {
    b.seq.write(|| {
        b.name.set(&a.name.bytes());
        b.lbmethod.set(&a.lbmethod.bytes());
        b.cookie.set(&a.cookie.bytes());
        b.param.set(&a.param.bytes());
        b.nonce.set(&a.nonce.bytes());
        b.server.set(&a.server.bytes());
    });
    for (from, to) in [
        (&a.first_generation, &b.first_generation),
        (&a.last_generation, &b.last_generation),
        (&a.flags, &b.flags),
        (&a.max_attempts, &b.max_attempts),
        (&a.separator, &b.separator),
        (&a.growth, &b.growth),
        (&a.conf_flags, &b.conf_flags),
        (&a.conf_max_attempts, &b.conf_max_attempts),
        (&a.used, &b.used),
    ] {
        to.store(from.load(Relaxed), Relaxed);
    }
    for (from, to) in [
        (&a.repairs, &b.repairs),
        (&a.unlocked, &b.unlocked),
        (&a.timeout_ms, &b.timeout_ms),
        (&a.conf_timeout_ms, &b.conf_timeout_ms),
        (&a.conf_lbmethod, &b.conf_lbmethod),
        (&a.conf_sticky, &b.conf_sticky),
        (&a.conf_nonce, &b.conf_nonce),
    ]
    .into_iter()
    .chain(a.tries.iter().zip(&b.tries))
    {
        to.store(from.load(Relaxed), Relaxed);
    }
    b.updated.store(a.updated.load(Relaxed), Relaxed);
    b.lbstatus_sum.store(a.lbstatus_sum.load(Relaxed), Relaxed);
    b.repair.store(1, Relaxed);
}

fn copy_worker(a: &WorkerSlot, b: &WorkerSlot) {
    b.seq.write(|| {
        b.name.set(&a.name.bytes());
        b.server.set(&a.server.bytes());
        b.route.set(&a.route.bytes());
        b.redirect.set(&a.redirect.bytes());
        b.conf_route.set(&a.conf_route.bytes());
        b.conf_redirect.set(&a.conf_redirect.bytes());
    });
    for (from, to) in [
        (&a.load_factor, &b.load_factor),
        (&a.lbset, &b.lbset),
        (&a.retries, &b.retries),
        (&a.first_generation, &b.first_generation),
        (&a.last_generation, &b.last_generation),
        (&a.order, &b.order),
        (&a.taken, &b.taken),
        (&a.conf_load_factor, &b.conf_load_factor),
        (&a.conf_lbset, &b.conf_lbset),
        (&a.conf_status, &b.conf_status),
        (&a.grown, &b.grown),
        (&a.used, &b.used),
    ] {
        to.store(from.load(Relaxed), Relaxed);
    }
    for (from, to) in [
        (&a.elected, &b.elected),
        (&a.error_time, &b.error_time),
        (&a.retry_ms, &b.retry_ms),
        (&a.conf_retry_ms, &b.conf_retry_ms),
        (&a.past_sent, &b.past_sent),
        (&a.past_received, &b.past_received),
        (&a.missed, &b.missed),
        (&a.errors, &b.errors),
        (&a.seen_elected, &b.seen_elected),
        (&a.seen_errors, &b.seen_errors),
        (&a.moments, &b.moments),
        (&a.latency, &b.latency),
        (&a.latency_at, &b.latency_at),
        (&a.recovered, &b.recovered),
    ]
    .into_iter()
    .chain(a.history.iter().zip(&b.history))
    {
        to.store(from.load(Relaxed), Relaxed);
    }
    // A probe is made by a child that does not write here: try again.
    let s = a.status.load(Relaxed);
    b.status.store(
        if s & status::PROBATION != 0 {
            (s & !status::PROBATION) | status::ERROR
        } else {
            s
        },
        Relaxed,
    );
    b.lbstatus.store(a.lbstatus.load(Relaxed), Relaxed);
    b.updated.store(a.updated.load(Relaxed), Relaxed);
}
