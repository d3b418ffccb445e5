//! Announced backends on the status page.

use std::fmt::Write;
use std::time::Duration;

use super::facts::Facts;
use super::html::esc;
use crate::shm::inspect::beacons::{state, why};
use crate::shm::{BeaconInfo, BeaconRole};

/// A table for each receiver whose balancer the virtual host has.
pub fn html(out: &mut String, f: &Facts) {
    for b in &f.table.beacons {
        let shown = f.balancers.iter().any(|own| own.name == b.balancer);
        if shown && b.role == BeaconRole::Receiver {
            receiver(out, f, b);
        }
    }
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
    if let Some((reason, at, _)) = &b.last_drop {
        let us = u64::try_from(f.table.taken.0.saturating_sub(at.0)).unwrap_or(0);
        let ago = Duration::from_micros(us).as_secs();
        let _ = write!(out, " (last: {}, {ago} s ago)", esc(why(*reason)));
    }
    out.push_str(
        "</p>\n<table border=\"0\"><tr><th>Backend</th><th>Lease</th><th>Seen</th><th>Remaining</th></tr>\n",
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
