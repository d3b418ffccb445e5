//! Receivers and senders of announcements, for people.

use std::fmt::Write;
use std::time::Duration;

use super::people::{printable, span, table};
use crate::clock::Wall;
use crate::codec::beacon::Refusal;
use crate::shm::leases::Lease;
use crate::shm::snapshot::{BeaconInfo, BeaconRole, Snapshot, WorkerInfo};
use crate::shm::status;

/// A part for each of them.
pub fn text(out: &mut String, s: &Snapshot) {
    for b in &s.beacons {
        match b.role {
            BeaconRole::Receiver => receiver(out, s, b),
            BeaconRole::Sender => sender(out, b),
        }
    }
}

fn sender(out: &mut String, b: &BeaconInfo) {
    let _ = writeln!(
        out,
        "\nannounces itself to {}   every {}   {} sent",
        printable(&b.address),
        span(Duration::from_millis(b.timeout_ms)),
        b.sent
    );
}

fn receiver(out: &mut String, s: &Snapshot, b: &BeaconInfo) {
    let _ = write!(out, "\nbeacons at {}", printable(&b.address));
    match b.balancer.as_str() {
        "" => out.push_str(" (logged only)"),
        name => {
            let _ = write!(out, " for {}", printable(name));
        }
    }
    let ago = |at: Wall| {
        let us = u64::try_from(s.taken.0.saturating_sub(at.0)).unwrap_or(0);
        span(Duration::from_micros(us))
    };
    let _ = write!(out, "   accepted {}", b.accepted);
    if let Some(at) = b.last_accepted {
        let _ = write!(out, " (last {} ago)", ago(at));
    }
    let _ = write!(out, "   dropped {}", b.dropped());
    if let Some((reason, at, from)) = &b.last_drop {
        let _ = write!(
            out,
            " (last: {}, from {}, {} ago)",
            why(*reason),
            printable(from),
            ago(*at)
        );
    }
    if b.overflows > 0 {
        let _ = write!(out, "   lost in a full queue {}", b.overflows);
    }
    out.push('\n');
    let reasons = b.drops.iter().enumerate().filter(|(_, n)| **n > 0);
    for (reason, n) in reasons {
        let _ = writeln!(out, "  {n} x {}", why(reason as u8));
    }
    if b.leases.is_empty() {
        return;
    }
    let rows = b
        .leases
        .iter()
        .map(|lease| {
            vec![
                printable(&lease.url),
                state(lease).to_owned(),
                member(s, lease),
                span(s.taken_mono.since(lease.last_seen)),
                match b.remaining(lease, s.taken_mono) {
                    Some(left) if lease.state.added && !lease.state.evicted => span(left),
                    _ => String::new(),
                },
            ]
        })
        .collect();
    table(
        out,
        &["lease", "state", "member", ">seen", ">remaining"],
        rows,
    );
}

/// What a member's lease is: a word, and how long it has still to run, if it ends by itself. `None`:
/// the member did not join by an announcement.
pub fn of_member(s: &Snapshot, m: &WorkerInfo) -> Option<(&'static str, Option<Duration>)> {
    if m.status & status::BEACON == 0 {
        return None;
    }
    let Some((b, lease)) = s.lease_of(m) else {
        // Evicted so long ago that its record is gone.
        return Some(("none", None));
    };
    let left = b.remaining(lease, s.taken_mono);
    Some((state(lease), left.filter(|_| !lease.state.evicted)))
}

/// What became of a lease, in a word.
pub fn state(lease: &Lease) -> &'static str {
    match lease.state {
        s if !s.added => "not added",
        s if s.left => "left",
        s if s.evicted => "evicted",
        _ => "live",
    }
}

/// The words of a reason's number.
pub fn why(reason: u8) -> &'static str {
    Refusal::by_number(reason).map_or("?", Refusal::text)
}

fn member(s: &Snapshot, lease: &Lease) -> String {
    let row = lease.state.member.filter(|_| lease.state.added);
    let members = s.balancers.iter().flat_map(|b| &b.members);
    let mut found = members.filter(|m| row.is_some_and(|(row, _)| row.0 == m.row));
    found
        .next()
        .map_or(String::new(), |m| status::text(m.status))
}
