//! The page for people, in httpd's order.

use std::fmt::Write;
use std::time::Duration;

use super::facts::{Facts, letter, uptime_words, without_query};
use super::number::{general, iso_date, long_date, scaled};
use crate::shm::{BalancerInfo, ChildInfo, ChildState, RequestRecord, WorkerInfo, status};

/// The page. `table`: requests as a table, else a paragraph for each.
pub fn page(f: &Facts, table: bool) -> String {
    let mut out = String::with_capacity(8192);
    let _ = write!(
        out,
        "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">\n\
         <html><head>\n<title>Apache Status</title>\n</head><body>\n\
         <h1>Apache Server Status for {} (via {})</h1>\n\n",
        esc(&f.name),
        f.local
    );
    summary(&mut out, f);
    letters(&mut out, f);
    if f.extended {
        if table {
            requests_table(&mut out, f);
        } else {
            requests_list(&mut out, f);
        }
    } else {
        out.push_str("<p>PID Key:</p>\n<pre>\n");
        for c in &f.table.children {
            let _ = writeln!(out, "   {} in slot {} ({})", c.pid, c.slot, c.state.name());
        }
        out.push_str("</pre>\n");
    }
    for b in &f.balancers {
        balancer(&mut out, b);
    }
    super::beacons::html(&mut out, f);
    if !f.balancers.is_empty() {
        out.push_str(LEGEND);
    }
    out.push_str("</body></html>\n");
    out
}

fn summary(out: &mut String, f: &Facts) {
    out.push_str("<dl>");
    let mut entry = |text: std::fmt::Arguments<'_>| {
        out.push_str("<dt>");
        let _ = out.write_fmt(text);
        out.push_str("</dt>\n");
    };
    entry(format_args!("Server Version: {}", esc(f.version)));
    entry(format_args!("Server MPM: {}", esc(&f.mpm)));
    entry(format_args!("Server Built: {}", iso_date(f.built)));
    entry(format_args!(
        "Current Time: {}",
        long_date(f.table.taken.seconds())
    ));
    entry(format_args!(
        "Restart Time: {}",
        long_date(f.table.restarted.seconds())
    ));
    entry(format_args!(
        "Parent Server Config. Generation: {}",
        f.table.config_generation
    ));
    entry(format_args!(
        "Parent Server MPM Generation: {}",
        f.table.generation
    ));
    let up = f.uptime();
    entry(format_args!("Server uptime: {}", uptime_words(up)));
    entry(format_args!(
        "Server load: {:.2} {:.2} {:.2}",
        f.load[0], f.load[1], f.load[2]
    ));
    if f.extended {
        let (accesses, bytes, duration) = f.table.totals();
        entry(format_args!(
            "Total accesses: {accesses} - Total Traffic: {} - Total Duration: {}",
            scaled(bytes as f64),
            duration / 1000
        ));
        entry(format_args!(
            "CPU Usage: u{} s{} cu{} cs{}{}",
            general(f.cpu[0]),
            general(f.cpu[1]),
            general(f.cpu[2]),
            general(f.cpu[3]),
            match f.cpu_load() {
                Some(load) => format!(" - {load:.3}% CPU load"),
                None => String::new(),
            }
        ));
        let mut rates = Vec::new();
        if up > 0 {
            rates.push(format!(
                "{} requests/sec",
                general(accesses as f64 / up as f64)
            ));
            rates.push(format!("{}/second", scaled(bytes as f64 / up as f64)));
        }
        if accesses > 0 {
            rates.push(format!(
                "{}/request",
                scaled(bytes as f64 / accesses as f64)
            ));
            rates.push(format!(
                "{} ms/request",
                general(duration as f64 / 1000.0 / accesses as f64)
            ));
        }
        if !rates.is_empty() {
            entry(format_args!("{}", rates.join(" - ")));
        }
    }
    entry(format_args!(
        "{} requests currently being processed, {} workers gracefully restarting, {} idle workers",
        f.busy, f.graceful, f.idle
    ));
    out.push_str("</dl>\n");
}

fn letters(out: &mut String, f: &Facts) {
    out.push_str("<pre>");
    for (i, c) in f.letters.chars().enumerate() {
        if i > 0 && i % 64 == 0 {
            out.push('\n');
        }
        out.push(c);
    }
    out.push_str("</pre>\n");
    out.push_str(KEY);
}

fn requests_table(out: &mut String, f: &Facts) {
    out.push_str(
        "\n\n<table border=\"0\"><tr><th>Srv</th><th>PID</th><th>Acc</th><th>M</th><th>CPU\n</th>\
         <th>SS</th><th>Req</th><th>Dur</th><th>Conn</th><th>Child</th><th>Slot</th>\
         <th>Client</th><th>Protocol</th><th>VHost</th><th>Request</th></tr>\n\n",
    );
    for (c, cpu) in f.table.children.iter().zip(&f.child_cpu) {
        for r in rows(c) {
            let row = Row::new(f, c, r, *cpu);
            out.push_str("<tr>");
            for cell in [
                &row.server,
                &row.pid,
                &row.accesses,
                &row.letter,
                &row.cpu,
                &row.seconds,
                &row.milliseconds,
                &row.duration,
                &row.connection,
                &row.child,
                &row.slot,
                &row.client,
                &row.protocol,
                &row.vhost,
                &row.request,
            ] {
                let _ = write!(out, "<td>{cell}</td>");
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</table>\n");
    out.push_str(COLUMNS);
}

fn requests_list(out: &mut String, f: &Facts) {
    for (c, cpu) in f.table.children.iter().zip(&f.child_cpu) {
        for r in rows(c) {
            let row = Row::new(f, c, r, *cpu);
            let _ = write!(
                out,
                "\n<p><b>Server {}</b> ({}): {} [{}] u{} {} {} (Duration {})<br>\n<i>{} {{{}}}</i> <i>({})</i> <b>[{}]</b></p>\n",
                row.server,
                row.pid,
                row.accesses,
                row.letter,
                row.cpu,
                row.seconds,
                row.milliseconds,
                row.duration,
                row.client,
                row.request,
                row.protocol,
                row.vhost
            );
        }
    }
}

/// A child's requests, or one empty row for a child without any.
fn rows(c: &ChildInfo) -> Vec<Option<&RequestRecord>> {
    if c.records.is_empty() {
        vec![None]
    } else {
        c.records.iter().map(Some).collect()
    }
}

/// One row, all cells escaped.
struct Row {
    server: String,
    pid: String,
    accesses: String,
    letter: String,
    cpu: String,
    seconds: String,
    milliseconds: String,
    duration: String,
    connection: String,
    child: String,
    slot: String,
    client: String,
    protocol: String,
    vhost: String,
    request: String,
}

impl Row {
    fn new(f: &Facts, c: &ChildInfo, r: Option<&RequestRecord>, cpu: f64) -> Row {
        let age = r.map_or(Duration::ZERO, |r| f.table.taken_mono.since(r.since));
        let mb = format!("{:.2}", c.bytes as f64 / 1_048_576.0);
        let m = match r {
            Some(r) => char::from(letter(c.state, r.phase)),
            None => match c.state {
                ChildState::Starting => 'S',
                ChildState::Serving => '_',
                ChildState::Draining => 'G',
                ChildState::Unused | ChildState::Ended => '.',
            },
        };
        let text = |f: &dyn Fn(&RequestRecord) -> String| r.map_or(String::new(), |r| esc(&f(r)));
        Row {
            server: format!("{}-{}", c.slot, c.generation),
            pid: c.pid.to_string(),
            accesses: format!("0/{0}/{0}", c.accesses),
            letter: if m == '_' || m == '.' {
                m.to_string()
            } else {
                format!("<b>{m}</b>")
            },
            cpu: format!("{cpu:.2}"),
            seconds: age.as_secs().to_string(),
            milliseconds: age.as_millis().to_string(),
            duration: (c.duration / 1000).to_string(),
            connection: "0.0".to_owned(),
            child: mb.clone(),
            slot: mb,
            client: text(&|r| r.client.map_or(String::new(), |a| a.ip().to_string())),
            protocol: text(&|r| format!("http/1.{}", r.minor)),
            vhost: text(&|r| r.vhost.clone()),
            request: text(&|r| format!("{} HTTP/1.{}", without_query(&r.request), r.minor)),
        }
    }
}

fn balancer(out: &mut String, b: &BalancerInfo) {
    let sticky = match (&b.sticky_cookie, &b.sticky_param) {
        (cookie, _) if cookie.is_empty() => " - ".to_owned(),
        (cookie, param) if cookie == param => cookie.clone(),
        (cookie, param) => format!("{cookie} | {param}"),
    };
    let _ = write!(
        out,
        "<hr>\n<h1>Proxy LoadBalancer Status for {}</h1>\n\n\
         <table border=\"0\"><tr><th>SSes</th><th>Timeout</th><th>Method</th></tr>\n\
         <tr><td>{}</td><td>{}</td><td>{}</td></tr>\n</table>\n\n\
         <table border=\"0\"><tr><th>Sch</th><th>Host</th><th>Stat</th><th>Route</th><th>Redir</th>\
         <th>F</th><th>Set</th><th>Acc</th><th>Busy</th><th>Wr</th><th>Rd</th></tr>\n",
        esc(&b.name),
        esc(&sticky),
        b.timeout_ms / 1000,
        esc(&b.lbmethod)
    );
    for m in &b.members {
        let (scheme, host) = split(m);
        out.push_str("<tr>");
        for cell in [
            esc(&scheme),
            esc(&host),
            esc(&status::text(m.status)),
            esc(&m.route),
            esc(&m.redirect),
            format!("{}.{:02}", m.load_factor / 100, m.load_factor % 100),
            m.lbset.to_string(),
            m.elected.to_string(),
            m.busy.to_string(),
            scaled(m.sent as f64),
            scaled(m.received as f64),
        ] {
            let _ = write!(out, "<td>{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
}

/// Scheme, and host without port.
fn split(m: &WorkerInfo) -> (String, String) {
    let url = m.name.rsplit_once('|').map_or(m.name.as_str(), |(_, u)| u);
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    (scheme.to_owned(), host.to_owned())
}

/// Text made harmless, in ASCII.
pub(super) fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            ' '..='~' => out.push(c),
            // Controls have no reference in HTML.
            _ if c.is_control() => out.push('?'),
            _ => {
                let _ = write!(out, "&#{};", c as u32);
            }
        }
    }
    out
}

const KEY: &str = "<p>Scoreboard Key:<br>\n\
    \"<b><code>_</code></b>\" Waiting for Connection,\n\
    \"<b><code>S</code></b>\" Starting up,\n\
    \"<b><code>R</code></b>\" Reading Request,<br>\n\
    \"<b><code>W</code></b>\" Sending Reply,\n\
    \"<b><code>K</code></b>\" Keepalive (read),\n\
    \"<b><code>D</code></b>\" DNS Lookup,<br>\n\
    \"<b><code>C</code></b>\" Closing connection,\n\
    \"<b><code>L</code></b>\" Logging,\n\
    \"<b><code>G</code></b>\" Gracefully finishing,<br>\n\
    \"<b><code>I</code></b>\" Idle cleanup of worker,\n\
    \"<b><code>.</code></b>\" Open slot with no current process<br>\n</p>\n";

const COLUMNS: &str = "<hr> <table>\n\
    <tr><th>Srv</th><td>Child slot - generation</td></tr>\n\
    <tr><th>PID</th><td>OS process ID</td></tr>\n\
    <tr><th>Acc</th><td>Number of accesses this connection / this child / this slot</td></tr>\n\
    <tr><th>M</th><td>Mode of operation</td></tr>\n\
    <tr><th>CPU</th><td>CPU usage, number of seconds</td></tr>\n\
    <tr><th>SS</th><td>Seconds since the request began</td></tr>\n\
    <tr><th>Req</th><td>Milliseconds since the request began</td></tr>\n\
    <tr><th>Dur</th><td>Sum of milliseconds of all requests of this child</td></tr>\n\
    <tr><th>Conn</th><td>Kilobytes transferred this connection (not counted)</td></tr>\n\
    <tr><th>Child</th><td>Megabytes transferred this child</td></tr>\n\
    <tr><th>Slot</th><td>Total megabytes transferred this slot</td></tr>\n</table>\n";

const LEGEND: &str = "<hr><table>\n\
    <tr><th>SSes</th><td>Sticky session name</td></tr>\n\
    <tr><th>Timeout</th><td>Balancer Timeout</td></tr>\n\
    <tr><th>Sch</th><td>Connection scheme</td></tr>\n\
    <tr><th>Host</th><td>Backend Hostname</td></tr>\n\
    <tr><th>Stat</th><td>Worker status</td></tr>\n\
    <tr><th>Route</th><td>Session Route</td></tr>\n\
    <tr><th>Redir</th><td>Session Route Redirection</td></tr>\n\
    <tr><th>F</th><td>Load Balancer Factor</td></tr>\n\
    <tr><th>Acc</th><td>Number of uses</td></tr>\n\
    <tr><th>Wr</th><td>Number of bytes transferred</td></tr>\n\
    <tr><th>Rd</th><td>Number of bytes read</td></tr>\n</table>\n";
