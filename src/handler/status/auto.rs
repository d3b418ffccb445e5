//! `?auto`: a line for each fact, for programs.

use std::fmt::Write;

use super::facts::{Facts, uptime_words};
use super::number::{general, iso_date, long_date};
use crate::shm::inspect::beacons as inspect;
use crate::shm::status;

/// The text. Lines are in httpd's order; no value can hold a line end.
pub fn text(f: &Facts) -> String {
    let mut out = String::with_capacity(4096);
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = out.write_fmt(text);
        out.push('\n');
    };
    line(format_args!("{}", plain(&f.name)));
    line(format_args!("ServerVersion: {}", f.version));
    line(format_args!("ServerMPM: {}", plain(&f.mpm)));
    line(format_args!("Server Built: {}", iso_date(f.built)));
    line(format_args!(
        "CurrentTime: {}",
        long_date(f.table.taken.seconds())
    ));
    line(format_args!(
        "RestartTime: {}",
        long_date(f.table.restarted.seconds())
    ));
    line(format_args!(
        "ParentServerConfigGeneration: {}",
        f.table.config_generation
    ));
    line(format_args!(
        "ParentServerMPMGeneration: {}",
        f.table.generation
    ));
    let up = f.uptime();
    line(format_args!("ServerUptimeSeconds: {up}"));
    line(format_args!("ServerUptime: {}", uptime_words(up)));
    for (i, load) in f.load.iter().enumerate() {
        line(format_args!("Load{}: {load:.2}", [1, 5, 15][i]));
    }
    if f.extended {
        let (accesses, bytes, duration) = f.table.totals();
        let ms = duration / 1000;
        line(format_args!("Total Accesses: {accesses}"));
        line(format_args!("Total kBytes: {}", bytes >> 10));
        line(format_args!("Total Duration: {ms}"));
        for (name, value) in ["User", "System", "ChildrenUser", "ChildrenSystem"]
            .iter()
            .zip(f.cpu)
        {
            line(format_args!("CPU{name}: {}", general(value)));
        }
        if let Some(load) = f.cpu_load() {
            line(format_args!("CPULoad: {}", general(load)));
        }
        line(format_args!("Uptime: {up}"));
        if up > 0 {
            line(format_args!(
                "ReqPerSec: {}",
                general(accesses as f64 / up as f64)
            ));
            line(format_args!(
                "BytesPerSec: {}",
                general(bytes as f64 / up as f64)
            ));
        }
        if accesses > 0 {
            line(format_args!(
                "BytesPerReq: {}",
                general(bytes as f64 / accesses as f64)
            ));
            line(format_args!(
                "DurationPerReq: {}",
                general(duration as f64 / 1000.0 / accesses as f64)
            ));
        }
    }
    line(format_args!("BusyWorkers: {}", f.busy));
    line(format_args!("GracefulWorkers: {}", f.graceful));
    line(format_args!("IdleWorkers: {}", f.idle));
    line(format_args!("Scoreboard: {}", f.letters));
    for (i, b) in f.balancers.iter().enumerate() {
        line(format_args!("ProxyBalancer[{i}]Name: {}", plain(&b.name)));
        for (j, m) in b.members.iter().enumerate() {
            let mut field = |name: &str, value: std::fmt::Arguments<'_>| {
                line(format_args!("ProxyBalancer[{i}]Worker[{j}]{name}: {value}"));
            };
            field("Name", format_args!("{}", plain(&m.name)));
            field("Status", format_args!("{}", status::text(m.status)));
            field("Elected", format_args!("{}", m.elected));
            field("Busy", format_args!("{}", m.busy));
            field("Sent", format_args!("{}K", m.sent >> 10));
            field("Rcvd", format_args!("{}K", m.received >> 10));
            if let Some((state, left)) = inspect::of_member(&f.table, m) {
                field("Lease", format_args!("{state}"));
                if let Some(left) = left {
                    field("LeaseRemaining", format_args!("{}", left.as_secs()));
                }
            }
        }
    }
    for (i, b) in super::beacons::receivers(f).enumerate() {
        let mut field = |name: &str, value: std::fmt::Arguments<'_>| {
            line(format_args!("ProxyBeacon[{i}]{name}: {value}"));
        };
        field("Address", format_args!("{}", plain(&b.address)));
        field("Balancer", format_args!("{}", plain(&b.balancer)));
        field("Accepted", format_args!("{}", b.accepted));
        field("Dropped", format_args!("{}", b.dropped()));
        field("Overflows", format_args!("{}", b.overflows));
        if let Some((reason, at, from)) = &b.last_drop {
            field("LastDrop", format_args!("{}", inspect::why(*reason)));
            field("LastDropTime", format_args!("{}", at.seconds()));
            field("LastDropFrom", format_args!("{}", plain(from)));
        }
    }
    out
}

/// Printable ASCII; anything else is escaped.
fn plain(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        if c == ' ' || c.is_ascii_graphic() {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
        out
    })
}
