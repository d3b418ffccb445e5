//! The page for programs: httpd's elements in httpd's order. muster's own stand where readers that
//! look elements up by name are not disturbed.

use std::borrow::Cow;
use std::fmt::Write;

use super::facts::{Facts, Shown};
use super::html::{esc, factor};
use crate::codec::date;
use crate::config::settings::{BalancerParams, Worker};
use crate::shm::inspect::beacons;
use crate::shm::{WorkerInfo, status};

/// The document.
pub fn text(f: &Facts) -> String {
    let mut out = String::with_capacity(8 << 10);
    out.push_str(
        "<?xml version='1.0' encoding='UTF-8' ?>\n\
         <httpd:manager xmlns:httpd='http://httpd.apache.org'>\n  <httpd:balancers>\n",
    );
    for b in &f.balancers {
        balancer(&mut out, f, b);
    }
    out.push_str("  </httpd:balancers>\n");
    // Behind all that httpd tells, and only where there is something: what came of the request.
    for (name, texts) in [
        ("error", &f.outcome.errors),
        ("changed", &f.outcome.done),
        ("ignored", &f.outcome.ignored),
    ] {
        for text in texts {
            element(&mut out, 2, name, text);
        }
    }
    out.push_str("</httpd:manager>\n");
    out
}

fn balancer(out: &mut String, f: &Facts, b: &Shown) {
    let i = &b.info;
    let on = |on: bool| if on { "On" } else { "Off" };
    out.push_str("    <httpd:balancer>\n");
    let mut e = |name: &str, value: &str| element(out, 6, name, value);
    e("name", &i.name);
    e("nonce", &b.nonce);
    let sticky = !i.sticky_cookie.is_empty();
    if sticky {
        e("stickysession", &i.sticky_cookie);
        e("nofailover", on(i.no_failover));
    }
    e("timeout", &(i.timeout_ms / 1000).to_string());
    if i.max_attempts_set.is_some() || b.members.len() > 1 {
        e("maxattempts", &i.max_attempts.to_string());
    }
    e("lbmethod", &i.lbmethod);
    if sticky {
        e("scolonpathdelim", on(i.scolon_path_delim));
    }
    e("maxmembers", &b.room.to_string());
    e("usedmembers", &b.members.len().to_string());
    // What httpd does not have is told where it is not the default.
    if i.retry_budget != u32::from(BalancerParams::default().retry_budget) {
        e("retrybudget", &i.retry_budget.to_string());
    }
    if i.lbmethod == "byhash" {
        e("hashkey", &i.hash_key);
    }
    if !i.own_cookie.is_empty() {
        e("stickycookie", &i.own_cookie);
    }
    out.push_str("      <httpd:workers>\n");
    for m in &b.members {
        worker(out, f, &m.info, &m.config);
    }
    out.push_str("      </httpd:workers>\n    </httpd:balancer>\n");
}

fn worker(out: &mut String, f: &Facts, m: &WorkerInfo, w: &Worker) {
    let p = &w.params;
    let on = |on: bool| if on { "On" } else { "Off" };
    let written = |key: &str| p.written.iter().any(|(k, _)| k.eq_ignore_ascii_case(key));
    out.push_str("        <httpd:worker>\n");
    let mut e = |name: &str, value: &str| element(out, 10, name, value);
    e("name", &m.name);
    e("scheme", &w.scheme);
    e("hostname", &w.host);
    e("loadfactor", &factor(m.load_factor));
    e("port", &w.port.to_string());
    e("min", &p.min.to_string());
    e("smax", &p.smax.unwrap_or(0).to_string());
    e("max", &p.max.unwrap_or(0).to_string());
    e("ttl", &p.ttl.map_or(0, |t| t.as_secs()).to_string());
    if let Some(t) = p.timeout {
        e("timeout", &t.as_secs().to_string());
    }
    if let Some(t) = p.acquire {
        e("acquire", &t.as_millis().to_string());
    }
    if p.receive_buffer_is_set || written("receivebuffersize") {
        e("recv_buffer_size", &p.receive_buffer.to_string());
    }
    if p.io_buffer_is_set || written("iobuffersize") {
        e("io_buffer_size", &p.io_buffer.to_string());
    }
    if written("keepalive") {
        e("keepalive", on(p.keep_alive));
    }
    e("status", &status::text(m.status));
    if let Some(at) = f.error_time(m) {
        let mut text = Vec::new();
        date::write_http_date(&mut text, at);
        e("error_time", &String::from_utf8_lossy(&text));
    }
    e("retries", &m.retries.to_string());
    e("lbstatus", &m.lbstatus.to_string());
    e("loadfactor", &factor(m.load_factor));
    e("transferred", &m.sent.to_string());
    e("read", &m.received.to_string());
    e("elected", &m.elected.to_string());
    e("route", &m.route);
    e("redirect", &m.redirect);
    e("busy", &m.busy.to_string());
    e("lbset", &m.lbset.to_string());
    if let Some(h) = &m.health {
        let s = &h.state;
        e("hcmethod", s.method.name());
        e("hcinterval", &s.interval.as_millis().to_string());
        e("hcpasses", &s.passes.to_string());
        e("hcpasscount", &s.passed.to_string());
        e("hcfails", &s.fails.to_string());
        e("hcfailcount", &s.failed.to_string());
        e("hcuri", &h.texts.uri);
        e("hcexpr", &h.texts.expression);
    }
    if m.slow_start_ms > 0 {
        // In ms.
        e("slowstart", &m.slow_start_ms.to_string());
    }
    if let Some((state, left)) = beacons::of_member(&f.table, m) {
        e("lease", state);
        if let Some(left) = left {
            e("leaseremaining", &left.as_secs().to_string());
        }
    }
    if written("disablereuse") || written("enablereuse") {
        e("disablereuse", on(!p.reuse));
    }
    if let Some(t) = p.connection_timeout {
        e("connectiontimeout", &t.as_millis().to_string());
    }
    if written("retry") {
        e("retry", &(m.retry_ms / 1000).to_string());
    }
    out.push_str("        </httpd:worker>\n");
}

fn element(out: &mut String, indent: usize, name: &str, value: &str) {
    let value = esc(&allowed(value));
    let _ = writeln!(out, "{:indent$}<httpd:{name}>{value}</httpd:{name}>", "");
}

/// With U+FFFD for the characters that no XML 1.0 document may hold, also not as references.
fn allowed(text: &str) -> Cow<'_, str> {
    let bad = |c: char| match c {
        '\t' | '\n' | '\r' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        c => c < ' ',
    };
    if text.contains(bad) {
        text.replace(bad, "\u{fffd}").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::element;

    #[test]
    fn no_character_makes_the_page_ill_formed() {
        let mut out = String::new();
        element(
            &mut out,
            0,
            "x",
            "<\0a\t\u{1}\u{1f}\u{fffe}\u{ffff}\u{fffd}\u{1f600}>",
        );
        let text = "&lt;\u{fffd}a\t\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{1f600}&gt;";
        assert_eq!(out, format!("<httpd:x>{text}</httpd:x>\n"));
    }
}
