//! The table for people.

use std::fmt::Write;
use std::time::Duration;

use super::alive;
use crate::clock::Mono;
use crate::shm::snapshot::{BalancerInfo, ChildInfo, ChildState, Snapshot, WorkerInfo};
use crate::shm::status;

/// The whole text, ending in a line end.
pub fn text(s: &Snapshot) -> String {
    let mut out = String::new();
    head(&mut out, s);
    children(&mut out, s);
    jobs(&mut out, s);
    for b in &s.balancers {
        balancer(&mut out, s, b);
    }
    super::beacons::text(&mut out, s);
    if !s.workers.is_empty() {
        out.push_str("\nworkers outside balancers\n");
        members(&mut out, s, &s.workers, false);
    }
    out
}

fn head(out: &mut String, s: &Snapshot) {
    let state = if alive(s) { "running" } else { "NOT RUNNING" };
    let up =
        Duration::from_micros(u64::try_from(s.taken.0.saturating_sub(s.started.0)).unwrap_or(0));
    let (accesses, bytes, duration) = s.totals();
    let _ = writeln!(
        out,
        "{}   supervisor {} {state}   up {}   generation {} ({} configuration{} read)",
        printable(&s.program),
        s.supervisor,
        span(up),
        s.generation,
        s.config_generation,
        if s.config_generation == 1 { "" } else { "s" },
    );
    let sum = |f: fn(&ChildInfo) -> u32| s.children.iter().map(f).map(u64::from).sum::<u64>();
    let _ = writeln!(
        out,
        "requests {accesses}   sent {}   mean {}   in flight {}   connections {} ({} idle)",
        size(bytes),
        match duration.checked_div(accesses) {
            Some(mean) => span(Duration::from_micros(mean)),
            None => "-".to_owned(),
        },
        sum(|c| c.requests),
        sum(|c| c.connections),
        sum(|c| c.idle_connections),
    );
    let dropped = s
        .children
        .iter()
        .fold(0u64, |sum, c| sum.saturating_add(c.dropped_lines));
    if dropped > 0 {
        let _ = writeln!(out, "log lines dropped: {dropped}");
    }
}

fn jobs(out: &mut String, s: &Snapshot) {
    if s.jobs.is_empty() {
        return;
    }
    let rows = s
        .jobs
        .iter()
        .map(|j| {
            let late = s.taken_mono.since(j.due);
            vec![
                printable(&j.name),
                span(j.interval),
                if late.is_zero() {
                    span(j.due.since(s.taken_mono))
                } else {
                    format!("-{}", span(late))
                },
                j.runs.to_string(),
                age(s.taken_mono, j.began),
                span(j.took),
            ]
        })
        .collect();
    out.push_str("\nwatchdog jobs\n");
    table(
        out,
        &["job", ">every", ">due in", ">runs", ">last", ">took"],
        rows,
    );
}

fn children(out: &mut String, s: &Snapshot) {
    let rows = s
        .children
        .iter()
        .map(|c| {
            vec![
                c.slot.to_string(),
                c.pid.to_string(),
                c.generation.to_string(),
                format!(
                    "{}{}",
                    c.state.name(),
                    if c.watchdog { " watchdog" } else { "" }
                ),
                match c.state {
                    ChildState::Starting | ChildState::Ended => "-".to_owned(),
                    _ => age(s.taken_mono, c.heartbeat),
                },
                c.connections.to_string(),
                c.idle_connections.to_string(),
                c.requests.to_string(),
                c.accesses.to_string(),
                size(c.bytes),
            ]
        })
        .collect();
    let _ = writeln!(
        out,
        "\nchildren ({} of {} slots)",
        s.children.len(),
        s.slots
    );
    table(
        out,
        &[
            ">slot",
            ">pid",
            ">gen",
            "state",
            ">beat",
            ">conn",
            ">idle",
            ">req",
            ">answered",
            ">sent",
        ],
        rows,
    );
    let mut rows = Vec::new();
    for c in &s.children {
        for r in &c.records {
            rows.push(vec![
                c.pid.to_string(),
                r.phase.letter().to_string(),
                age(s.taken_mono, r.since),
                r.client.map_or("-".to_owned(), |a| a.to_string()),
                printable(&r.vhost),
                printable(&r.request),
                match &r.member {
                    Some(m) => format!("-> {}", printable(m)),
                    None => String::new(),
                },
            ]);
        }
        let listed = c.records.len() as u32;
        if c.requests > listed {
            rows.push(vec![
                c.pid.to_string(),
                String::new(),
                String::new(),
                format!("and {} more", c.requests - listed),
            ]);
        }
    }
    if !rows.is_empty() {
        out.push_str("\nrequests in flight\n");
        table(
            out,
            &[">pid", "", ">for", "client", "host", "request", ""],
            rows,
        );
    }
}

fn balancer(out: &mut String, s: &Snapshot, b: &BalancerInfo) {
    let _ = write!(
        out,
        "\n{}   {}   {}",
        printable(&b.name),
        printable(&b.lbmethod),
        printable(&b.server)
    );
    if !b.sticky_cookie.is_empty() {
        let _ = write!(out, "   sticky {}", printable(&b.sticky_cookie));
        if b.sticky_param != b.sticky_cookie {
            let _ = write!(out, "|{}", printable(&b.sticky_param));
        }
    }
    if b.lbmethod == "byhash" {
        let _ = write!(out, "   key {}", printable(&b.hash_key));
    }
    if !b.own_cookie.is_empty() {
        let _ = write!(out, "   sets cookie {}", printable(&b.own_cookie));
    }
    let sum: i64 = b
        .members
        .iter()
        .fold(0, |sum, m| sum.wrapping_add(m.lbstatus));
    let _ = write!(
        out,
        "   further tries {}, of all tries {}%   sum {sum}",
        b.max_attempts, b.retry_budget
    );
    if let Some(pid) = b.lock_owner {
        let _ = write!(out, "   lock held by {pid}");
    }
    if b.lock_repairs > 0 {
        let _ = write!(out, "   locks taken over {}", b.lock_repairs);
    }
    if b.unlocked > 0 {
        let _ = write!(out, "   choices without lock {}", b.unlocked);
    }
    out.push('\n');
    members(out, s, &b.members, true);
}

fn slow_start(m: &WorkerInfo) -> String {
    match m.slow_start_ms {
        0 => String::new(),
        ms => format!("slow start {}", span(Duration::from_millis(ms))),
    }
}

/// How a member is checked, and how often that went wrong.
fn checks(m: &WorkerInfo) -> String {
    let Some(h) = &m.health else {
        return String::new();
    };
    format!(
        "{} every {}: {} checks, {} bad",
        h.state.method.name(),
        span(h.state.interval),
        h.checks,
        h.bad
    )
}

fn members(out: &mut String, s: &Snapshot, members: &[WorkerInfo], balanced: bool) {
    let rows = members
        .iter()
        .map(|m| {
            let mut row = vec![printable(&m.name), status::text(m.status)];
            if balanced {
                row.extend([
                    format!("{}.{:02}", m.load_factor / 100, m.load_factor % 100),
                    m.lbset.to_string(),
                    printable(&m.route),
                    m.lbstatus.to_string(),
                    m.elected.to_string(),
                ]);
            }
            row.extend([
                m.busy.to_string(),
                size(m.sent),
                size(m.received),
                [error(s, m), slow_start(m), checks(m)]
                    .map(|t| if t.is_empty() { t } else { t + "  " })
                    .concat()
                    .trim_end()
                    .to_owned(),
            ]);
            row
        })
        .collect();
    if balanced {
        table(
            out,
            &[
                "member",
                "status",
                ">factor",
                ">set",
                "route",
                ">lbstatus",
                ">elected",
                ">busy",
                ">to",
                ">from",
                "",
            ],
            rows,
        );
    } else {
        table(
            out,
            &["worker", "status", ">busy", ">to", ">from", ""],
            rows,
        );
    }
}

fn error(s: &Snapshot, m: &WorkerInfo) -> String {
    if m.status & status::PROBATION != 0 {
        return "one request is trying it".to_owned();
    }
    if m.status & status::ERROR == 0 {
        return String::new();
    }
    let since = s.taken_mono.since(m.error_time);
    let retry = Duration::from_millis(m.retry_ms);
    let mut text = if m.error_time == Mono(0) {
        "error".to_owned()
    } else {
        format!("error for {}", span(since))
    };
    if m.status & status::STOPPED == 0 {
        match retry.checked_sub(since) {
            Some(rest) if m.error_time != Mono(0) => {
                let _ = write!(text, ", retry in {}", span(rest));
            }
            _ => text.push_str(", retry at the next request"),
        }
    }
    text
}

/// Columns two blanks apart; a head that begins with `>` is set to the right.
pub(super) fn table(out: &mut String, heads: &[&str], rows: Vec<Vec<String>>) {
    let width = |s: &str| s.chars().count();
    let mut widths: Vec<_> = heads
        .iter()
        .map(|h| width(h.trim_start_matches('>')))
        .collect();
    for row in &rows {
        for (w, cell) in widths.iter_mut().zip(row) {
            *w = (*w).max(width(cell));
        }
    }
    let mut line = |cells: &[String]| {
        let mut text = String::new();
        for ((cell, head), w) in cells.iter().zip(heads).zip(&widths) {
            text.push_str("  ");
            let fill = " ".repeat(w.saturating_sub(width(cell)));
            if head.starts_with('>') {
                text.push_str(&fill);
                text.push_str(cell);
            } else {
                text.push_str(cell);
                text.push_str(&fill);
            }
        }
        out.push_str(text.trim_end());
        out.push('\n');
    };
    let heads: Vec<String> = heads
        .iter()
        .map(|h| h.trim_start_matches('>').to_owned())
        .collect();
    line(&heads);
    for row in &rows {
        line(row);
    }
}

fn age(now: Mono, then: Mono) -> String {
    span(now.since(then))
}

/// `3.2ms`, `1.5s`, `2m 3s`, `5h 7m`, `3d 4h`.
pub(super) fn span(d: Duration) -> String {
    let ms = d.as_millis();
    let s = d.as_secs();
    if ms < 10 {
        format!("{}.{}ms", ms, d.as_micros() % 1000 / 100)
    } else if ms < 1000 {
        format!("{ms}ms")
    } else if s < 60 {
        format!("{s}.{}s", ms % 1000 / 100)
    } else if s < 3600 {
        format!("{}m {}s", s / 60, s % 60)
    } else if s < 86400 {
        format!("{}h {}m", s / 3600, s % 3600 / 60)
    } else {
        format!("{}d {}h", s / 86400, s % 86400 / 3600)
    }
}

/// `512`, `1.4K`, `3.0M` ... in powers of 1024.
fn size(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["", "K", "M", "G", "T", "P"] {
        if value < 1024.0 || unit == "P" {
            return if unit.is_empty() {
                n.to_string()
            } else {
                format!("{value:.1}{unit}")
            };
        }
        value /= 1024.0;
    }
    n.to_string()
}

/// Nothing from the table may move the cursor or pretend to be another text.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let plain = c.is_ascii_graphic() || c == ' ';
            let escaped = (!plain).then(|| c.escape_unicode());
            escaped.into_iter().flatten().chain(plain.then_some(c))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes() {
        let texts = [0, 1_500, 250_000, 1_500_000, 125_000_000, 3_700_000_000]
            .map(|us| span(Duration::from_micros(us)));
        assert_eq!(texts, ["0.0ms", "1.5ms", "250ms", "1.5s", "2m 5s", "1h 1m"]);
        assert_eq!(span(Duration::from_secs(90_000)), "1d 1h");
        assert_eq!(
            [0, 1023, 1024, 1536, 1 << 30, u64::MAX].map(size),
            ["0", "1023", "1.0K", "1.5K", "1.0G", "16384.0P"]
        );
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(
            printable("a\x1b[2J\n\u{202e}b"),
            "a\\u{1b}[2J\\u{a}\\u{202e}b"
        );
    }
}
