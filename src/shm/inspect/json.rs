//! The table for programs: one JSON object, two blanks per level, stable names.

use std::fmt::Write;

use super::{alive, beacons};
use crate::clock::{Mono, Wall};
use crate::shm::leases::Lease;
use crate::shm::snapshot::{
    BalancerInfo, BeaconInfo, BeaconRole, ChildInfo, RequestRecord, Snapshot, WorkerInfo,
};
use crate::shm::status;
use crate::shm::{HealthInfo, JobInfo};

/// The whole text, ending in a line end. Times are seconds since 1970 with µs, ages are ms.
pub fn text(s: &Snapshot) -> String {
    let (accesses, bytes, duration) = s.totals();
    let mut o = Object::default();
    o.text("program", &s.program)
        .number("supervisor", s.supervisor)
        .flag("running", alive(s))
        .number("started", stamp(s.started))
        .number("restarted", stamp(s.restarted))
        .number("taken", stamp(s.taken))
        .number("generation", s.generation)
        .number("config_generation", s.config_generation)
        .number("slots", s.slots)
        .number("accesses", accesses)
        .number("bytes", bytes)
        .number("duration_us", duration)
        .list("children", s.children.iter().map(|c| child(s, c)))
        .list("jobs", s.jobs.iter().map(|j| job(s, j)))
        .list("balancers", s.balancers.iter().map(|b| balancer(s, b)))
        .list("workers", s.workers.iter().map(|w| worker(s, w)))
        .list("beacons", s.beacons.iter().map(|b| beacon(s, b)));
    let mut out = o.end();
    out.push('\n');
    out
}

fn child(s: &Snapshot, c: &ChildInfo) -> String {
    Object::default()
        .number("slot", c.slot)
        .number("child", c.child)
        .number("pid", c.pid)
        .number("generation", c.generation)
        .text("state", c.state.name())
        .flag("watchdog", c.watchdog)
        .number("started", stamp(c.started))
        .number("heartbeat_age_ms", age(s, c.heartbeat))
        .number("connections", c.connections)
        .number("idle_connections", c.idle_connections)
        .number("requests", c.requests)
        .number("accesses", c.accesses)
        .number("bytes", c.bytes)
        .number("duration_us", c.duration)
        .number("dropped_log_lines", c.dropped_lines)
        .list("requests_listed", c.records.iter().map(|r| request(s, r)))
        .end()
}

fn request(s: &Snapshot, r: &RequestRecord) -> String {
    let mut o = Object::default();
    o.number("record", r.index)
        .text("phase", r.phase.letter().encode_utf8(&mut [0; 4]))
        .number("age_ms", age(s, r.since));
    match r.client {
        Some(client) => o.text("client", &client.to_string()),
        None => o.null("client"),
    };
    o.text("vhost", &r.vhost)
        .text("request", &r.request)
        .text("protocol", &format!("HTTP/1.{}", r.minor));
    match &r.member {
        Some(member) => o.text("member", member),
        None => o.null("member"),
    };
    o.end()
}

/// `due_in_ms` is below zero for a run that is overdue.
fn job(s: &Snapshot, j: &JobInfo) -> String {
    let due = i128::from(j.due.0) - i128::from(s.taken_mono.0);
    Object::default()
        .text("name", &j.name)
        .number("interval_ms", j.interval.as_millis())
        .number("due_in_ms", due / 1_000_000)
        .number("last_age_ms", age(s, j.began))
        .number("last_took_us", j.took.as_micros())
        .number("runs", j.runs)
        .end()
}

fn balancer(s: &Snapshot, b: &BalancerInfo) -> String {
    let mut o = Object::default();
    o.text("name", &b.name)
        .text("server", &b.server)
        .text("lbmethod", &b.lbmethod)
        .text("sticky_cookie", &b.sticky_cookie)
        .text("sticky_param", &b.sticky_param)
        .flag("nofailover", b.no_failover)
        .flag("forcerecovery", b.force_recovery)
        .number("timeout_ms", b.timeout_ms)
        .number("max_attempts", b.max_attempts)
        .text("hashkey", &b.hash_key)
        .number("retrybudget", b.retry_budget)
        .text("stickycookie", &b.own_cookie);
    match b.lock_owner {
        Some(pid) => o.number("lock_owner", pid),
        None => o.null("lock_owner"),
    };
    o.number("lock_repairs", b.lock_repairs)
        .number("unlocked_choices", b.unlocked)
        .number(
            "lbstatus_sum",
            b.members
                .iter()
                .fold(0i64, |sum, m| sum.wrapping_add(m.lbstatus)),
        )
        .list("members", b.members.iter().map(|m| worker(s, m)))
        .end()
}

fn worker(s: &Snapshot, w: &WorkerInfo) -> String {
    let mut o = Object::default();
    o.text("name", &w.name)
        .text("server", &w.server)
        .text("status", &status::text(w.status))
        .number("status_bits", w.status)
        .flag("usable", status::usable(w.status))
        .flag("probing", w.status & status::PROBATION != 0)
        .text("route", &w.route)
        .text("redirect", &w.redirect)
        .number(
            "loadfactor",
            format_args!("{}.{:02}", w.load_factor / 100, w.load_factor % 100),
        )
        .number("lbset", w.lbset)
        .number("lbstatus", w.lbstatus)
        .number("elected", w.elected)
        .number("busy", w.busy)
        .number("sent", w.sent)
        .number("received", w.received)
        .number("retries", w.retries)
        .number("retry_ms", w.retry_ms)
        .number("slowstart_ms", w.slow_start_ms);
    if w.error_time == Mono(0) {
        o.null("error_age_ms");
    } else {
        o.number("error_age_ms", age(s, w.error_time));
    }
    match &w.health {
        Some(h) => o.number("health", health(s, h).replace('\n', "\n  ")),
        None => o.null("health"),
    };
    o.end()
}

/// `due_in_ms` is null while a check is being made.
fn health(s: &Snapshot, h: &HealthInfo) -> String {
    let state = &h.state;
    let mut o = Object::default();
    o.text("method", state.method.name())
        .number("interval_ms", state.interval.as_millis())
        .number("passes", state.passes)
        .number("fails", state.fails)
        .number("passed", state.passed)
        .number("failed", state.failed)
        .text("uri", &h.texts.uri)
        .text("expression", &h.texts.expression)
        .number("checks", h.checks)
        .number("bad_checks", h.bad)
        .flag("checking", state.owner != 0);
    if state.owner != 0 {
        o.null("due_in_ms");
    } else {
        let due = i128::from((state.ended + state.interval).0) - i128::from(s.taken_mono.0);
        o.number("due_in_ms", due / 1_000_000);
    }
    o.end()
}

fn beacon(s: &Snapshot, b: &BeaconInfo) -> String {
    let mut o = Object::default();
    let role = match b.role {
        BeaconRole::Receiver => "receiver",
        BeaconRole::Sender => "sender",
    };
    o.text("role", role)
        .text("server", &b.server)
        .text("address", &b.address);
    if b.role == BeaconRole::Sender {
        return o
            .number("interval_ms", b.timeout_ms)
            .number("sent", b.sent)
            .end();
    }
    o.text("balancer", &b.balancer)
        .number("timeout_ms", b.timeout_ms)
        .number("accepted", b.accepted)
        .number("dropped", b.dropped())
        .number("overflows", b.overflows);
    let mut reasons = Object::default();
    for (reason, n) in b.drops.iter().enumerate().filter(|(_, n)| **n > 0) {
        reasons.number(beacons::why(reason as u8), n);
    }
    let nested = reasons.end().replace('\n', "\n  ");
    o.number("dropped_by_reason", nested);
    match &b.last_drop {
        None => o.null("last_drop"),
        Some((reason, at, from)) => o
            .text("last_drop", beacons::why(*reason))
            .number("last_drop_at", stamp(*at))
            .text("last_drop_from", from),
    };
    o.list("leases", b.leases.iter().map(|l| lease(s, b, l)))
        .end()
}

fn lease(s: &Snapshot, b: &BeaconInfo, l: &Lease) -> String {
    let mut o = Object::default();
    o.text("url", &l.url)
        .text("state", beacons::state(l))
        .number("seen_ms", age(s, l.last_seen))
        .number("last_ts", l.last_ts);
    match b.remaining(l, s.taken_mono) {
        Some(left) => o.number("remaining_ms", left.as_millis()),
        None => o.null("remaining_ms"),
    };
    o.end()
}

fn stamp(at: Wall) -> String {
    format!("{}.{:06}", at.seconds(), at.0.rem_euclid(1_000_000))
}

fn age(s: &Snapshot, at: Mono) -> u128 {
    s.taken_mono.since(at).as_millis()
}

/// Members of an object, in order.
#[derive(Default)]
struct Object {
    body: String,
}

impl Object {
    fn key(&mut self, key: &str) -> &mut Object {
        if !self.body.is_empty() {
            self.body.push(',');
        }
        let _ = write!(self.body, "\n  \"{key}\": ");
        self
    }

    fn text(&mut self, key: &str, value: &str) -> &mut Object {
        self.key(key);
        quote(&mut self.body, value);
        self
    }

    fn number(&mut self, key: &str, value: impl std::fmt::Display) -> &mut Object {
        let _ = write!(self.key(key).body, "{value}");
        self
    }

    fn flag(&mut self, key: &str, value: bool) -> &mut Object {
        self.number(key, value)
    }

    fn null(&mut self, key: &str) -> &mut Object {
        self.number(key, "null")
    }

    fn list(&mut self, key: &str, values: impl Iterator<Item = String>) -> &mut Object {
        let values: Vec<_> = values
            .map(|v| format!("\n    {}", v.replace('\n', "\n    ")))
            .collect();
        if values.is_empty() {
            return self.number(key, "[]");
        }
        self.number(key, format_args!("[{}\n  ]", values.join(",")))
    }

    fn end(&mut self) -> String {
        format!("{{{}\n}}", self.body)
    }
}

/// RFC 8259 section 7. Everything that is not printable ASCII is escaped.
fn quote(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        quote(&mut out, "a\"\\\n\u{1f600}</script>");
        assert_eq!(out, "\"a\\\"\\\\\\u000a\\ud83d\\ude00</script>\"");
    }

    #[test]
    fn lists_nest() {
        let inner = Object::default().number("n", 1).end();
        let text = Object::default()
            .list("none", std::iter::empty())
            .list("some", [inner].into_iter())
            .null("nil")
            .end();
        assert_eq!(
            text,
            "{\n  \"none\": [],\n  \"some\": [\n    {\n      \"n\": 1\n    }\n  ],\n  \"nil\": null\n}"
        );
    }
}
