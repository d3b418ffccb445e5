//! The values that the forms show, field by field. A form that nobody touched sends them back, and
//! then nothing is to change: also where the text does not tell all of a value.

use std::time::Duration;

use super::change::{FLAGS, Live};
use super::facts::{Member, Shown};
use super::html::factor;

/// A field's name in lower case and its text.
pub type Field = (&'static str, String);

/// All fields of a member's form.
pub fn of_member(m: &Member) -> Vec<Field> {
    let i = &m.info;
    let h = &m.health;
    let mut out = vec![
        ("w_lf", factor(i.load_factor)),
        ("w_ls", i.lbset.to_string()),
        ("w_wr", i.route.clone()),
        ("w_rr", i.redirect.clone()),
        ("w_hm", h.method.name().to_owned()),
        ("w_he", h.expression.clone()),
        ("w_hi", h.interval.as_millis().to_string()),
        ("w_hp", h.passes.to_string()),
        ("w_hf", h.fails.to_string()),
        ("w_hu", h.uri.clone()),
    ];
    let flag = |bit: u32| if i.status & bit != 0 { "1" } else { "0" };
    out.extend(FLAGS.map(|(name, bit)| (name, flag(bit).to_owned())));
    out
}

/// All fields of a balancer's form, but for those that add a member.
pub fn of_balancer(b: &Shown) -> Vec<Field> {
    let i = &b.info;
    let sticky = (i.sticky_cookie.clone(), i.sticky_param.clone());
    vec![
        ("b_lbm", i.lbmethod.clone()),
        ("b_tmo", seconds(Duration::from_millis(i.timeout_ms))),
        ("b_max", i.max_attempts.to_string()),
        ("b_sforce", if i.no_failover { "1" } else { "0" }.to_owned()),
        ("b_ss", sticky_text(&sticky)),
    ]
}

/// What a request to change this finds there.
pub fn live(b: &Shown, m: Option<&Member>) -> Live {
    let mut shown = of_balancer(b);
    shown.extend(m.map(of_member).unwrap_or_default());
    let i = &b.info;
    Live {
        shown,
        health: m.map(|m| m.health.clone()).unwrap_or_default(),
        sticky: (i.sticky_cookie.clone(), i.sticky_param.clone()),
        timeout: Duration::from_millis(i.timeout_ms),
        max_attempts: i.max_attempts_set,
        expressions: b.expressions.iter().map(|(n, _)| n.clone()).collect(),
    }
}

/// The text of one field.
pub fn value<'a>(all: &'a [Field], name: &str) -> Option<&'a str> {
    let found = all.iter().find(|(n, _)| *n == name);
    found.map(|(_, v)| v.as_str())
}

/// `A`, `A|b`, or nothing.
pub fn sticky_text((cookie, param): &(String, String)) -> String {
    if cookie == param {
        cookie.clone()
    } else {
        format!("{cookie}|{param}")
    }
}

/// `30`, `0.5`: no more digits than there are.
pub fn seconds(time: Duration) -> String {
    match time.subsec_millis() {
        0 => time.as_secs().to_string(),
        ms => format!("{}.{ms:03}", time.as_secs())
            .trim_end_matches('0')
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_no_more_digits_than_needed() {
        let texts = [0, 500, 1000, 1050, 7_200_000].map(|ms| seconds(Duration::from_millis(ms)));
        assert_eq!(texts, ["0", "0.5", "1", "1.05", "7200"]);
    }
}
