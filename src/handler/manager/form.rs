//! The forms of a member and of a balancer, with httpd's fields in httpd's order.

use std::fmt::Write;

use super::change::SHOWN;
use super::facts::{Facts, Member, Shown};
use super::fields;
use super::html::esc;
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
pub fn member(out: &mut String, f: &Facts, b: &Shown, m: &Member) {
    let i = &m.info;
    begin(
        out,
        f,
        &format!("Edit worker settings for {}", esc(&i.name)),
    );
    let all = fields::of_member(m);
    let line = |out: &mut String, name: &str, label: &str, hint: &str| {
        text(
            out,
            name,
            label,
            fields::value(&all, name).unwrap_or_default(),
            hint,
        );
    };
    line(out, "w_lf", "Load factor", "1 to 100");
    line(out, "w_ls", "LB Set", "0 to 99");
    line(out, "w_wr", "Route", "");
    line(out, "w_rr", "Route Redirect", "");
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
            i.status & bit != 0,
        );
    }
    if f.can_check {
        let names: Vec<_> = METHODS.iter().map(|m| m.name()).collect();
        choice(out, "w_hm", "HC Method", &names, m.health.method.name());
        let mut names = vec![""];
        names.extend(b.expressions.iter().map(|(n, _)| n.as_str()));
        choice(out, "w_he", "HC Expr", &names, &m.health.expression);
        line(out, "w_hi", "HC Interval (ms)", "at least 100");
        line(out, "w_hp", "HC Passes trigger", "");
        line(out, "w_hf", "HC Fails trigger", "");
        line(out, "w_hu", "HC uri", "");
    }
    end(out, b, Some(i));
}

/// Edits a balancer.
pub fn balancer(out: &mut String, f: &Facts, b: &Shown) {
    let i = &b.info;
    begin(
        out,
        f,
        &format!("Edit balancer settings for {}", esc(&i.name)),
    );
    let all = fields::of_balancer(b);
    let value = |name: &str| fields::value(&all, name).unwrap_or_default();
    let mut names: Vec<_> = method::names().collect();
    names.sort_unstable();
    choice(out, "b_lbm", "LBmethod", &names, &i.lbmethod);
    text(out, "b_tmo", "Timeout", value("b_tmo"), "seconds");
    text(out, "b_max", "Failover Attempts", value("b_max"), "");
    radio(out, "b_sforce", "Disable Failover", i.no_failover);
    let hint = "(Use '-' to delete)";
    text(out, "b_ss", "Sticky Session", value("b_ss"), hint);
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

/// What the field above shows: a field that comes back with the same text was not touched.
fn shown(out: &mut String, name: &str, value: &str) {
    hidden(out, &format!("{SHOWN}{name}"), value);
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
    shown(out, name, value);
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
    shown(out, name, if on { "1" } else { "0" });
}

/// `now` is offered too when it is none of them: a form that is sent back unchanged changes nothing.
fn choice(out: &mut String, name: &str, label: &str, all: &[&str], now: &str) {
    let _ = write!(
        out,
        "<div class=\"f\"><label for=\"{name}\">{label}:</label><select name=\"{name}\" id=\"{name}\">"
    );
    let other = (!all.contains(&now)).then_some(now);
    for value in all.iter().copied().chain(other) {
        let _ = write!(
            out,
            "<option value=\"{}\"{}>{}</option>",
            esc(value),
            if value == now { " selected" } else { "" },
            if value.is_empty() {
                "(none)".to_owned()
            } else {
                esc(value)
            }
        );
    }
    out.push_str("</select></div>\n");
    shown(out, name, now);
}
