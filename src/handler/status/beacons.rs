//! Announced backends on the status page.

use std::fmt::Write;
use std::time::Duration;

use super::facts::Facts;
use super::html::esc;
use crate::shm::inspect::beacons::{state, why};
use crate::shm::{BeaconInfo, BeaconRole};

/// A table for each receiver whose balancer the virtual host has.
pub fn html(out: &mut String, f: &Facts) {
    for b in receivers(f) {
        receiver(out, f, b);
    }
}

/// Those that feed a balancer of the virtual host.
pub fn receivers(f: &Facts) -> impl Iterator<Item = &BeaconInfo> {
    let shown = |b: &&BeaconInfo| f.balancers.iter().any(|own| own.name == b.balancer);
    let all = f.table.beacons.iter().filter(shown);
    all.filter(|b| b.role == BeaconRole::Receiver)
}

fn receiver(out: &mut String, f: &Facts, b: &BeaconInfo) {
    let _ = write!(
        out,
        "<hr>\n<h1>Announced Backends of {}</h1>\n<p>Beacons at {}: {} accepted, {} dropped",
        esc(&b.balancer),
        esc(&b.address),
        b.accepted,
        b.dropped()
    );
    if let Some((reason, at, from)) = &b.last_drop {
        let us = u64::try_from(f.table.taken.0.saturating_sub(at.0)).unwrap_or(0);
        let ago = Duration::from_micros(us).as_secs();
        let (why, from) = (esc(why(*reason)), esc(from));
        let _ = write!(out, " (last: {why}, from {from}, {ago} s ago)");
    }
    if b.overflows > 0 {
        let _ = write!(out, ", {} lost in a full queue", b.overflows);
    }
    out.push_str("</p>\n");
    let reasons = b.drops.iter().enumerate().filter(|(_, n)| **n > 0);
    let reasons: Vec<_> = reasons
        .map(|(reason, n)| format!("{n} &times; {}", esc(why(reason as u8))))
        .collect();
    if !reasons.is_empty() {
        let _ = writeln!(out, "<p>Dropped: {}</p>", reasons.join(", "));
    }
    out.push_str(
        "<table border=\"0\"><tr><th>Backend</th><th>Lease</th><th>Seen</th><th>Remaining</th></tr>\n",
    );
    for lease in &b.leases {
        let now = f.table.taken_mono;
        let left = b.remaining(lease, now);
        let left = left.filter(|_| lease.state.added && !lease.state.evicted);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{} s</td><td>{}</td></tr>",
            esc(&lease.url),
            state(lease),
            now.since(lease.last_seen).as_secs(),
            left.map_or("-".to_owned(), |d| format!("{} s", d.as_secs()))
        );
    }
    out.push_str("</table>\n");
}
