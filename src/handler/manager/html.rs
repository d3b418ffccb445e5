//! The page for people: httpd's texts in httpd's order, without scripts.

use std::fmt::Write;
use std::time::Duration;

use super::facts::{Facts, Member, Shown};
use super::fields;
use super::form;
use super::params::encoded;
use super::picture;
use super::size::human;
use super::style;
use crate::codec::date::Civil;
use crate::shm::inspect::beacons;
use crate::shm::status;

/// The page.
pub fn page(f: &Facts) -> String {
    let mut out = String::with_capacity(16 << 10);
    let title = format!("Load Balancer Manager for {}", esc(&f.name));
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <style>{}</style>\n</head><body>\n<h1>{title}</h1>\n\n",
        style::SHEET
    );
    let not = |on: bool| if on { "" } else { "NOT " };
    let _ = write!(
        out,
        "<dl><dt>Server Version: {}</dt>\n<dt>Server Built: {}</dt>\n\
         <dt>Balancer changes will {}be persisted on restart.</dt>\n\
         <dt>Balancers are {}inherited from main server.</dt>\n\
         <dt>ProxyPass settings are {}inherited from main server.</dt></dl>\n",
        esc(f.version),
        iso(f.built),
        not(f.persist),
        not(f.balancer_inherit),
        not(f.pass_inherit),
    );
    messages(&mut out, f);
    // On a narrow screen it must not stand below all the tables; elsewhere that is its place.
    for b in &f.balancers {
        balancer(&mut out, f, b);
    }
    if f.health && !f.expressions.is_empty() {
        out.push_str(
            "<h3>Health check cond. expressions:</h3>\n<table>\n\
             <thead><tr><th>Expr name</th><th>Expression</th></tr></thead>\n<tbody>\n",
        );
        for (name, text) in &f.expressions {
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td class=\"u\">{}</td></tr>",
                esc(name),
                esc(text)
            );
        }
        out.push_str("</tbody></table>\n");
    }
    if let Some(b) = f.selected() {
        match f.selected_member() {
            Some(m) => form::member(&mut out, f, b, m),
            None => form::balancer(&mut out, f, b),
        }
    }
    if let Some(line) = &f.signature {
        // It is HTML already.
        let _ = writeln!(out, "<address>{line}</address>");
    }
    out.push_str("</body></html>\n");
    out
}

fn messages(out: &mut String, f: &Facts) {
    let o = &f.outcome;
    let mut list = |class: &str, title: &str, lines: &[String]| {
        if lines.is_empty() {
            return;
        }
        let _ = write!(
            out,
            "<div class=\"msg {class}\" role=\"status\"><strong>{title}</strong><ul>"
        );
        for line in lines {
            let _ = write!(out, "<li>{}</li>", esc(line));
        }
        out.push_str("</ul></div>\n");
    };
    list("bad", "Nothing was changed:", &o.errors);
    list("ok", "Changed:", &o.done);
    if o.same {
        let all = ["all values are as they were sent".to_owned()];
        list("off", "Nothing to change:", &all);
    }
    list("off", "Ignored:", &o.ignored);
}

fn balancer(out: &mut String, f: &Facts, b: &Shown) {
    let i = &b.info;
    let _ = write!(
        out,
        "\n<h3>LoadBalancer Status for <a href=\"{}?b={}&amp;nonce={}#edit\">{}</a> [{}]</h3>\n",
        esc(&f.path),
        encoded(b.short()),
        encoded(&b.nonce),
        esc(&i.name),
        esc(&b.safe(0)),
    );
    out.push_str("<div class=\"scroll\"><table class=\"cards\">\n");
    heads(
        out,
        &[
            "MaxMembers",
            "StickySession",
            "DisableFailover",
            "Timeout",
            "FailoverAttempts",
            "Method",
            "Path",
            "Active",
        ],
    );
    let values = fields::of_balancer(b);
    let value = |name: &str| esc(fields::value(&values, name).unwrap_or_default());
    let sticky = match value("b_ss") {
        none if none.is_empty() => "(None)".to_owned(),
        names => names,
    };
    out.push_str("<tr>");
    cell(
        out,
        "MaxMembers",
        "",
        &format!("{} [{} Used]", b.room, b.members.len()),
    );
    cell(out, "StickySession", "", &sticky);
    cell(
        out,
        "DisableFailover",
        "",
        if i.no_failover { "On" } else { "Off" },
    );
    cell(out, "Timeout", "n", &value("b_tmo"));
    cell(out, "FailoverAttempts", "n", &i.max_attempts.to_string());
    cell(out, "Method", "", &esc(&i.lbmethod));
    cell(out, "Path", "", &esc(&b.path));
    cell(out, "Active", "", "Yes");
    out.push_str("</tr>\n</tbody></table></div>\n");
    more(out, b);

    out.push_str("<div class=\"scroll\"><table class=\"cards\">\n");
    let mut columns = vec![
        "Worker URL",
        "Route",
        "RouteRedir",
        "Factor",
        "Set",
        "Status",
        "Elected",
        "Busy",
        "Load",
        "To",
        "From",
    ];
    if f.health {
        columns.extend([
            "HC Method",
            "HC Interval",
            "Passes",
            "Fails",
            "HC uri",
            "HC Expr",
        ]);
    }
    let slow = b.members.iter().any(|m| m.info.slow_start_ms > 0);
    if slow {
        columns.push("Slow Start");
    }
    let leased = b
        .members
        .iter()
        .any(|m| m.info.status & status::BEACON != 0);
    if leased {
        columns.push("Lease");
    }
    columns.push("Last 5 min");
    heads(out, &columns);
    for m in &b.members {
        member(out, f, b, m, (slow, leased));
    }
    out.push_str("</tbody></table></div>\n");
}

/// What httpd's balancers do not have.
fn more(out: &mut String, b: &Shown) {
    let i = &b.info;
    let mut line = |name: &str, text: &str| {
        let _ = write!(out, "<dl><dt>{name}: {}</dt></dl>", esc(text));
    };
    let budget = match i.retry_budget {
        100 => "unbounded".to_owned(),
        n => format!("at most {n}% of all tries"),
    };
    line("Further tries", &budget);
    if i.lbmethod == "byhash" {
        line("Hash key", &i.hash_key);
    }
    if !i.own_cookie.is_empty() {
        line("Route cookie set here", &i.own_cookie);
    }
}

fn member(out: &mut String, f: &Facts, b: &Shown, member: &Member, (slow, leased): (bool, bool)) {
    let m = &member.info;
    let selected = f.outcome.member.is_some_and(|r| r.0 == m.row);
    out.push_str(if selected {
        "<tr class=\"sel\">"
    } else {
        "<tr>"
    });
    let link = format!(
        "<a href=\"{}?b={}&amp;w={}&amp;nonce={}#edit\">{}</a>",
        esc(&f.path),
        encoded(b.short()),
        encoded(&m.name),
        encoded(&b.nonce),
        esc(&m.name),
    );
    let link = if member.config.unix.is_some() {
        format!("<i>{link}</i>")
    } else {
        link
    };
    cell(out, "Worker URL", "u", &link);
    cell(out, "Route", "", &esc(&m.route));
    cell(out, "RouteRedir", "", &esc(&m.redirect));
    cell(out, "Factor", "n", &factor(m.load_factor));
    cell(out, "Set", "n", &m.lbset.to_string());
    let class = if m.status & (status::ERROR | status::HEALTH_FAILED) != 0 {
        "st bad"
    } else if status::usable(m.status) && m.status & status::DRAIN == 0 {
        "st ok"
    } else {
        "st off"
    };
    cell(out, "Status", class, &status::text(m.status));
    cell(out, "Elected", "n", &m.elected.to_string());
    cell(out, "Busy", "n", &m.busy.to_string());
    cell(out, "Load", "n", &m.lbstatus.to_string());
    cell(out, "To", "n", &human(m.sent));
    cell(out, "From", "n", &human(m.received));
    if f.health {
        let h = &member.health;
        let (passed, failed) = m
            .health
            .as_ref()
            .map_or((0, 0), |h| (h.state.passed, h.state.failed));
        let interval = format!("{}ms", h.interval.as_millis());
        cell(out, "HC Method", "", h.method.name());
        cell(out, "HC Interval", "n", &interval);
        cell(out, "Passes", "n", &format!("{} ({passed})", h.passes));
        cell(out, "Fails", "n", &format!("{} ({failed})", h.fails));
        cell(out, "HC uri", "", &esc(&h.uri));
        cell(out, "HC Expr", "", &esc(&h.expression));
    }
    if slow {
        let time = Duration::from_millis(m.slow_start_ms);
        let text = match m.slow_start_ms {
            0 => String::new(),
            _ => format!("{} s", fields::seconds(time)),
        };
        cell(out, "Slow Start", "n", &text);
    }
    if leased {
        let text = match beacons::of_member(&f.table, m) {
            None => String::new(),
            Some((state, None)) => state.to_owned(),
            Some((state, Some(left))) => format!("{state}, {} s left", left.as_secs()),
        };
        cell(out, "Lease", "", &text);
    }
    cell(out, "Last 5 min", "", &picture::svg(&m.history));
    out.push_str("</tr>\n");
}

fn heads(out: &mut String, names: &[&str]) {
    out.push_str("<thead><tr>");
    for n in names {
        let _ = write!(out, "<th>{n}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

fn cell(out: &mut String, label: &str, class: &str, html: &str) {
    let class = match class {
        "" => String::new(),
        c => format!(" class=\"{c}\""),
    };
    let _ = write!(out, "<td data-l=\"{label}\"{class}>{html}</td>");
}

/// `%.2f` of hundredths.
pub fn factor(hundredths: u32) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// `2026-11-12T08:58:41`
fn iso(seconds: i64) -> String {
    let c = Civil::new(seconds);
    format!(
        "{}-{:02}-{:02}T{:02}:{:02}:{:02}",
        c.year, c.month, c.day, c.hour, c.minute, c.second
    )
}

/// Harmless in texts and in quoted attributes of HTML and XML.
pub fn esc(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    crate::codec::escape::html(&mut out, text.as_bytes());
    String::from_utf8(out).unwrap_or_default()
}
