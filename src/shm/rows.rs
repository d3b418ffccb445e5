//! What the configuration says of a balancer or a worker, written into its row.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::health;
use super::record::{
    BalancerSlot, FLAG_FAIL_ON_TIMEOUT, FLAG_FORCE_RECOVERY, FLAG_MAX_ATTEMPTS, FLAG_NO_FAILOVER,
    FLAG_SCOLON, KEPT, USED, WorkerSlot,
};
use super::status;
use super::table::Table;
use crate::clock;
use crate::config::settings::{Balancer, Worker};
use crate::ids::Generation;

/// The row of a balancer. `kept`: it was the same balancer's before. True when it has another
/// method now than it had.
pub(super) fn write_balancer(
    slot: &BalancerSlot,
    b: &Balancer,
    server: &str,
    generation: Generation,
    kept: bool,
) -> bool {
    let p = &b.params;
    let (cookie, param) = match &p.sticky {
        Some((cookie, param)) => (cookie.as_str(), param.as_str()),
        None => ("", ""),
    };
    // What was changed by hand stays as long as its text in the configuration does (spec: balancer
    // 12). True: the configuration's word counts.
    let changed = |conf: &AtomicU64, new: u64| conf.swap(new, Relaxed) != new || !kept;
    let new_method = changed(&slot.conf_lbmethod, digest(&[&p.lbmethod]));
    let new_sticky = changed(&slot.conf_sticky, digest(&[cookie, param]));
    let nonce = p.nonce.as_deref();
    let new_nonce = changed(&slot.conf_nonce, nonce.map_or(0, |n| digest(&[n])));
    slot.seq.write(|| {
        slot.name.set(b.name.as_bytes());
        slot.server.set(server.as_bytes());
        slot.hash_key.set(p.hash_key.to_string().as_bytes());
        let own = p.sticky_cookie.as_deref().unwrap_or_default();
        slot.own_cookie.set(own.as_bytes());
        if new_method {
            slot.lbmethod.set(p.lbmethod.as_bytes());
        }
        if new_sticky {
            slot.cookie.set(cookie.as_bytes());
            slot.param.set(param.as_bytes());
        }
        if new_nonce {
            match nonce {
                Some(text) => slot.nonce.set(text.as_bytes()),
                None => slot.nonce.set(random_nonce().as_bytes()),
            }
        }
    });
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    let flags = flag(p.no_failover, FLAG_NO_FAILOVER)
        | flag(p.scolon_path_delim, FLAG_SCOLON)
        | flag(p.force_recovery, FLAG_FORCE_RECOVERY)
        | flag(p.max_attempts.is_some(), FLAG_MAX_ATTEMPTS)
        | flag(p.fail_on_timeout, FLAG_FAIL_ON_TIMEOUT);
    let attempts = p.max_attempts.unwrap_or(0);
    let before = slot.conf_flags.swap(flags, Relaxed);
    let mut by_hand = 0;
    if kept && (before ^ flags) & FLAG_NO_FAILOVER == 0 {
        by_hand |= FLAG_NO_FAILOVER;
    }
    let same_attempts = slot.conf_max_attempts.swap(attempts, Relaxed) == attempts;
    if kept && same_attempts && (before ^ flags) & FLAG_MAX_ATTEMPTS == 0 {
        by_hand |= FLAG_MAX_ATTEMPTS;
    } else {
        slot.max_attempts.store(attempts, Relaxed);
    }
    let kept_flags = slot.flags.load(Relaxed) & by_hand;
    slot.flags.store((flags & !by_hand) | kept_flags, Relaxed);
    slot.separator
        .store(p.sticky_separator.map_or(256, u32::from), Relaxed);
    slot.growth.store(u32::from(p.growth), Relaxed);
    slot.retry_budget.store(p.retry_budget.into(), Relaxed);
    let timeout = millis(p.timeout);
    if changed(&slot.conf_timeout_ms, timeout) {
        slot.timeout_ms.store(timeout, Relaxed);
    }
    slot.updated.store(clock::read_wall().0, Relaxed);
    slot.changes.fetch_add(1, Relaxed);
    if !kept {
        slot.first_generation.store(generation.0, Relaxed);
        slot.repairs.store(0, Relaxed);
        slot.unlocked.store(0, Relaxed);
        slot.lbstatus_sum.store(0, Relaxed);
    }
    slot.last_generation.store(generation.0, Relaxed);
    slot.used.store(1, Release);
    kept && new_method
}

/// Tells one configured text from another; never 0.
pub(super) fn digest(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|t| t.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

/// 128 random bits as a UUID's text (RFC 9562 5.4). Empty when the system gives none: then the
/// manager changes nothing.
fn random_nonce() -> String {
    let mut bytes = [0u8; 16];
    let read = File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (i, b) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{b:02x}"));
    }
    text
}

/// Where a worker belongs.
pub(super) struct Place<'a> {
    /// The server's key.
    pub server: &'a str,
    /// The balancer's row.
    pub balancer: Option<u16>,
    /// Its place among the members.
    pub order: u32,
    /// The generation that uses it from now on.
    pub generation: Generation,
    /// The row was the same worker's before.
    pub kept: bool,
    /// And the configuration before this one spoke of it: what was changed by hand since stays. Not
    /// so for a member that was added at run time, nor for one whose row only waited for the last
    /// requests of an older configuration.
    pub named: bool,
}

/// The row of a worker. `checked`: its health is checked, by the configuration's word or by hand.
/// True when it has another load factor now than it had.
pub(super) fn write_worker(
    slot: &WorkerSlot,
    w: &Worker,
    place: &Place<'_>,
    checked: bool,
) -> bool {
    let p = &w.params;
    // Workers outside balancers never go into error (spec: balancer 4).
    let plain = if place.balancer.is_none() {
        status::IGNORE
    } else {
        0
    };
    let configured = p.status | plain | status::INIT;
    if !place.named || slot.conf_status.load(Relaxed) != configured {
        // What was found out outlives a change of the flags.
        let mut kept = status::ERROR | status::PROBATION;
        if checked {
            kept |= status::HEALTH_FAILED;
        }
        let _ = slot
            .status
            .fetch_update(Relaxed, Relaxed, |s| Some((s & kept) | configured));
        slot.conf_status.store(configured, Relaxed);
    }
    // Compare with what was configured before: what was changed by hand stays otherwise.
    let number = |new: u32, conf: &AtomicU32, value: &AtomicU32| {
        if !place.named || conf.load(Relaxed) != new {
            conf.store(new, Relaxed);
            value.store(new, Relaxed);
        }
    };
    let factor = slot.load_factor.load(Relaxed);
    number(p.load_factor, &slot.conf_load_factor, &slot.load_factor);
    number(u32::from(p.lbset), &slot.conf_lbset, &slot.lbset);
    let retry = millis(p.retry);
    if !place.named || slot.conf_retry_ms.load(Relaxed) != retry {
        slot.conf_retry_ms.store(retry, Relaxed);
        slot.retry_ms.store(retry, Relaxed);
    }
    slot.slow_start_ms.store(millis(p.slow_start), Relaxed);
    slot.seq.write(|| {
        slot.name.set(w.name.as_bytes());
        slot.server.set(place.server.as_bytes());
        for (new, conf, value) in [
            (&p.route, &slot.conf_route, &slot.route),
            (&p.redirect, &slot.conf_redirect, &slot.redirect),
        ] {
            if !place.named || !conf.is(new.as_bytes()) {
                conf.set(new.as_bytes());
                value.set(new.as_bytes());
            }
        }
    });
    slot.balancer
        .store(place.balancer.map_or(0, |row| u32::from(row) + 1), Relaxed);
    slot.order.store(place.order, Relaxed);
    if !place.kept {
        slot.first_generation.store(place.generation.0, Relaxed);
        slot.updated.store(clock::read_wall().0, Relaxed);
    }
    slot.last_generation.store(place.generation.0, Relaxed);
    slot.grown.store(0, Relaxed);
    slot.used.store(USED, Release);
    place.kept && slot.load_factor.load(Relaxed) != factor
}

/// A row for a member that is added at run time. One that was that before, with a member or without,
/// goes on as it is.
pub(super) fn keep_worker(slot: &WorkerSlot, place: &Place<'_>) {
    slot.balancer
        .store(place.balancer.map_or(0, |row| u32::from(row) + 1), Relaxed);
    slot.order.store(place.order, Relaxed);
    slot.last_generation.store(place.generation.0, Relaxed);
    if place.kept {
        return;
    }
    slot.seq.write(|| {
        for text in [
            &slot.route,
            &slot.redirect,
            &slot.conf_route,
            &slot.conf_redirect,
        ] {
            text.set(b"");
        }
        slot.name.set(b"");
        slot.server.set(place.server.as_bytes());
    });
    slot.first_generation.store(place.generation.0, Relaxed);
    // So that a configuration which names the member later finds its own values new.
    for word in [&slot.conf_status, &slot.conf_load_factor, &slot.conf_lbset] {
        word.store(u32::MAX, Relaxed);
    }
    slot.conf_retry_ms.store(u64::MAX, Relaxed);
    slot.grown.store(1, Relaxed);
    slot.used.store(KEPT, Release);
}

/// What stands in the row of a server that receives announcements or makes them.
pub(super) struct BeaconTexts {
    pub role: u32,
    pub server: String,
    pub address: String,
    pub balancer: String,
    /// The balancer's row.
    pub row: Option<u16>,
    /// `ProxyBeaconTimeout`; of a sender its interval.
    pub timeout: std::time::Duration,
}

/// The row of such a server. One that is not `kept` starts without leases.
pub(super) fn write_beacon(
    table: &Table,
    row: usize,
    texts: &BeaconTexts,
    generation: Generation,
    kept: bool,
) {
    let Some(slot) = table.beacon(row) else {
        return;
    };
    if !kept {
        for index in 0..super::layout::LEASES {
            if let Some(lease) = table.lease(row, index) {
                lease.state.store(0, Relaxed);
            }
        }
        for counter in
            slot.drops
                .iter()
                .chain([&slot.accepted, &slot.overflows, &slot.sent, &slot.listened])
        {
            counter.store(0, Relaxed);
        }
        for time in [&slot.last_accepted, &slot.last_dropped, &slot.sent_ts] {
            time.store(0, Relaxed);
        }
        slot.last_reason.store(0, Relaxed);
        slot.leases.store(0, Relaxed);
        slot.max_skew.store(0, Relaxed);
        slot.floor.store(0, Relaxed);
        slot.held.store(0, Relaxed);
        slot.first_generation.store(generation.0, Relaxed);
    }
    slot.seq.write(|| {
        slot.server.set(texts.server.as_bytes());
        slot.address.set(texts.address.as_bytes());
        slot.balancer_name.set(texts.balancer.as_bytes());
    });
    slot.role.store(texts.role, Relaxed);
    slot.balancer
        .store(texts.row.map_or(0, |row| u32::from(row) + 1), Relaxed);
    slot.timeout_ms.store(millis(texts.timeout), Relaxed);
    slot.last_generation.store(generation.0, Relaxed);
    slot.used.store(1, Release);
}

/// Forgets what a row's former worker left.
pub(super) fn clear_worker(table: &Table, row: usize, slot: &WorkerSlot) {
    for word in [&slot.status, &slot.retries, &slot.probe_slot] {
        word.store(0, Relaxed);
    }
    slot.lbstatus.store(0, Relaxed);
    for word in [
        &slot.elected,
        &slot.error_time,
        &slot.probe_since,
        &slot.past_sent,
        &slot.past_received,
        &slot.missed,
        &slot.errors,
        &slot.seen_elected,
        &slot.seen_errors,
        &slot.moments,
        &slot.latency,
        &slot.latency_at,
        &slot.recovered,
        &slot.slow_start_ms,
    ]
    .into_iter()
    .chain(&slot.history)
    {
        word.store(0, Relaxed);
    }
    slot.taken.fetch_add(1, Relaxed);
    if let Some(health) = table.health(row) {
        health::clear(health);
    }
    for child in 0..table.layout().counts.slots {
        if let Some(cell) = table.cell(child, row) {
            cell.busy.store(0, Relaxed);
            cell.sent.store(0, Relaxed);
            cell.received.store(0, Relaxed);
        }
    }
}

fn millis(d: std::time::Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}
