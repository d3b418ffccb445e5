//! The forms of a member and of a balancer, with httpd's fields in httpd's order.

use std::fmt::Write;

use super::facts::{Facts, Shown};
use super::html::{esc, factor, unchecked};
use crate::balancer::method;
use crate::config::health::HealthMethod;
use crate::shm::{WorkerInfo, status};

/// Health check methods in httpd's order.
const METHODS: [HealthMethod; 8] = [
    HealthMethod::None,
    HealthMethod::Tcp,
    HealthMethod::Options,
    HealthMethod::Head,
    HealthMethod::Get,
    HealthMethod::Options11,
    HealthMethod::Head11,
    HealthMethod::Get11,
];

/// Edits a member.
pub fn member(out: &mut String, f: &Facts, b: &Shown, m: &WorkerInfo) {
    begin(
        out,
        f,
        &format!("Edit worker settings for {}", esc(&m.name)),
    );
    text(
        out,
        "w_lf",
        "Load factor",
        &factor(m.load_factor),
        "1 to 100",
    );
    text(out, "w_ls", "LB Set", &m.lbset.to_string(), "0 to 99");
    text(out, "w_wr", "Route", &m.route, "");
    text(out, "w_rr", "Route Redirect", &m.redirect, "");
    for (letter, label, bit) in [
        ("I", "Ignore Errors", status::IGNORE),
        ("N", "Draining Mode", status::DRAIN),
        ("D", "Disabled", status::DISABLED),
        ("H", "Hot Standby", status::STANDBY),
        ("R", "Hot Spare", status::SPARE),
        ("C", "HC Fail", status::HEALTH_FAILED),
        ("S", "Stopped", status::STOPPED),
    ] {
        if bit == status::HEALTH_FAILED && !f.can_check {
            continue;
        }
        radio(
            out,
            &format!("w_status_{letter}"),
            label,
            m.status & bit != 0,
        );
    }
    if f.can_check {
        let h = m.health.clone().unwrap_or_else(unchecked);
        let names = METHODS.iter().map(|m| (m.name().to_owned(), m.name()));
        choice(out, "w_hm", "HC Method", names, h.state.method.name());
        let none = std::iter::once((String::new(), "(none)"));
        let all = f.expressions.iter().map(|(n, _)| (n.clone(), n.as_str()));
        choice(out, "w_he", "HC Expr", none.chain(all), &h.texts.expression);
        let interval = h.state.interval.as_millis();
        text(
            out,
            "w_hi",
            "HC Interval (ms)",
            &interval.to_string(),
            "at least 100",
        );
        text(
            out,
            "w_hp",
            "HC Passes trigger",
            &h.state.passes.to_string(),
            "",
        );
        text(
            out,
            "w_hf",
            "HC Fails trigger",
            &h.state.fails.to_string(),
            "",
        );
        text(out, "w_hu", "HC uri", &h.texts.uri, "");
    }
    end(out, b, Some(m));
}

/// Edits a balancer.
pub fn balancer(out: &mut String, f: &Facts, b: &Shown) {
    let i = &b.info;
    begin(
        out,
        f,
        &format!("Edit balancer settings for {}", esc(&i.name)),
    );
    let mut names: Vec<_> = method::names().collect();
    names.sort_unstable();
    let names = names.into_iter().map(|n| (n.to_owned(), n));
    choice(out, "b_lbm", "LBmethod", names, &i.lbmethod);
    text(
        out,
        "b_tmo",
        "Timeout",
        &(i.timeout_ms / 1000).to_string(),
        "seconds",
    );
    text(
        out,
        "b_max",
        "Failover Attempts",
        &i.max_attempts.to_string(),
        "",
    );
    radio(out, "b_sforce", "Disable Failover", i.no_failover);
    let sticky = match (i.sticky_cookie.as_str(), i.sticky_param.as_str()) {
        (a, b) if a == b => a.to_owned(),
        (a, b) => format!("{a}|{b}"),
    };
    text(
        out,
        "b_ss",
        "Sticky Session",
        &sticky,
        "(Use '-' to delete)",
    );
    if b.has_room() {
        text(out, "b_nwrkr", "Add New Worker", "", "http://host:port");
        out.push_str(
            "<div class=\"f\"><label for=\"b_wyes\">Are you sure?</label>\
             <input type=\"checkbox\" name=\"b_wyes\" id=\"b_wyes\" value=\"1\"></div>\n",
        );
    }
    end(out, b, None);
}

fn begin(out: &mut String, f: &Facts, title: &str) {
    let _ = writeln!(
        out,
        "<form id=\"edit\" method=\"POST\" enctype=\"application/x-www-form-urlencoded\" action=\"{}\" autocomplete=\"off\">\n<h3>{title}</h3>",
        esc(&f.path)
    );
}

fn end(out: &mut String, b: &Shown, m: Option<&WorkerInfo>) {
    out.push_str("<button type=\"submit\">Submit</button>\n");
    if let Some(m) = m {
        hidden(out, "w", &m.name);
    }
    hidden(out, "b", b.short());
    hidden(out, "nonce", &b.nonce);
    out.push_str("</form>\n");
}

fn hidden(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(
        out,
        "<input type=\"hidden\" name=\"{name}\" value=\"{}\">",
        esc(value)
    );
}

fn text(out: &mut String, name: &str, label: &str, value: &str, hint: &str) {
    let hint = match hint {
        "" => String::new(),
        h => format!("<span class=\"hint\">{}</span>", esc(h)),
    };
    let _ = writeln!(
        out,
        "<div class=\"f\"><label for=\"{name}\">{label}:</label><input type=\"text\" name=\"{name}\" id=\"{name}\" value=\"{}\">{hint}</div>",
        esc(value)
    );
}

fn radio(out: &mut String, name: &str, label: &str, on: bool) {
    let _ = write!(out, "<div class=\"f\"><span>{label}:</span><span>");
    for (value, word, checked) in [(1, "On", on), (0, "Off", !on)] {
        let _ = write!(
            out,
            "<label class=\"r\"><input type=\"radio\" name=\"{name}\" id=\"{name}{value}\" value=\"{value}\"{}> {word}</label>",
            if checked { " checked" } else { "" }
        );
    }
    out.push_str("</span></div>\n");
}

fn choice<'a>(
    out: &mut String,
    name: &str,
    label: &str,
    all: impl Iterator<Item = (String, &'a str)>,
    now: &str,
) {
    let _ = write!(
        out,
        "<div class=\"f\"><label for=\"{name}\">{label}:</label><select name=\"{name}\" id=\"{name}\">"
    );
    for (value, word) in all {
        let _ = write!(
            out,
            "<option value=\"{}\"{}>{}</option>",
            esc(&value),
            if value == now { " selected" } else { "" },
            esc(word)
        );
    }
    out.push_str("</select></div>\n");
}
