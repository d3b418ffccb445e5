//! From parameters to changes (spec: manager 2.3, 2.4). Pure: nothing is changed here.
//!
//! Numbers are read strictly, unlike httpd's: what is no number is an error, not a zero.

use std::borrow::Cow;
use std::time::Duration;

use super::fields::{self, Field, seconds, sticky_text};
use super::html::factor;
use super::params::Params;
use crate::balancer::method;
use crate::config::directive::balancer_param::is_sticky_name;
use crate::config::directive::value::{Unit, interval, number};
use crate::config::health::{
    HealthMethod, HealthParams, LEAST_INTERVAL, MAX_EXPRESSION_NAME, MAX_URI,
};
use crate::shm::{BalancerEdit, HealthEdit, MemberEdit, status};

/// What a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// For the member that `w` names; `None`: nothing.
    pub member: Option<MemberEdit>,
    /// For the balancer; `None`: nothing.
    pub balancer: Option<BalancerEdit>,
    /// A member to be added.
    pub add: Option<String>,
    /// What of the member will be another value than now, for people and the log.
    pub told: Vec<String>,
    /// The same of the balancer.
    pub told_balancer: Vec<String>,
    /// Parameters that have no meaning, and why.
    pub ignored: Vec<String>,
}

/// What there is, and what the parameters are understood by.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// What the forms show. Who sends one of these texts back leaves the value as it is, whatever
    /// would be said about the text.
    pub shown: Vec<Field>,
    /// The member's health checks.
    pub health: HealthParams,
    /// The balancer's sticky names.
    pub sticky: (String, String),
    /// The balancer's timeout.
    pub timeout: Duration,
    /// Its `maxattempts`, where it was set.
    pub max_attempts: Option<u32>,
    /// Names of the expressions that are defined where the balancer is.
    pub expressions: Vec<String>,
}

impl Live {
    fn shows(&self, name: &str, value: &str) -> bool {
        fields::value(&self.shown, name) == Some(value)
    }
}

/// The flags that a form may set, with the letter of their parameter.
pub const FLAGS: [(&str, u32); 7] = [
    ("w_status_i", status::IGNORE),
    ("w_status_n", status::DRAIN),
    ("w_status_d", status::DISABLED),
    ("w_status_h", status::STANDBY),
    ("w_status_r", status::SPARE),
    ("w_status_c", status::HEALTH_FAILED),
    ("w_status_s", status::STOPPED),
];

/// The longest route or redirect.
const MAX_ROUTE: usize = 63;
/// The longest cookie or parameter name.
const MAX_STICKY: usize = 63;
/// Both names with the bar: what httpd's field holds.
const MAX_BOTH: usize = 62;

/// Before a field's name: what the form showed in it.
pub const SHOWN: &str = "was_";

/// Whether the field is what the form showed, and so nobody's wish: the value may be another one by
/// now, by a health check's word or another administrator's.
fn untouched(params: &Params, name: &str, value: &str) -> bool {
    params.get(&format!("{SHOWN}{name}")) == Some(value)
}

/// Reads all of them.
///
/// # Errors
/// Everything that is wrong; then nothing is to be changed.
pub fn read(params: &Params, live: &Live) -> Result<Changes, Vec<String>> {
    let mut changes = Changes::default();
    let mut wrong = Vec::new();
    for (name, value) in params.iter() {
        let shown = name.strip_prefix(SHOWN).is_some_and(|n| params.has(n));
        if shown {
            continue;
        }
        if untouched(params, name, value) {
            let now = fields::value(&live.shown, name);
            if let Some(now) = now.filter(|_| !live.shows(name, value)) {
                changes.ignored.push(format!(
                    "{name} was \"{}\" when this form was made and is \"{}\" now: left alone; load the page again to change it",
                    brief(value),
                    brief(now)
                ));
            }
            continue;
        }
        let done = one(&mut changes, live, name, value);
        if let Err(text) = done {
            wrong.push(format!("{name}={}: {text}", brief(value)));
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let url = params.get("b_nwrkr").unwrap_or_default().trim();
    if !url.is_empty() {
        if params.get("b_wyes") == Some("1") {
            changes.add = Some(url.to_owned());
        } else {
            let text = "b_nwrkr: no member is added without b_wyes=1 (\"Are you sure?\")";
            changes.ignored.push(text.to_owned());
        }
    }
    let after = after(&changes, live);
    for (name, text) in after.iter().filter(|(name, text)| !live.shows(name, text)) {
        let list = match name.starts_with("b_") {
            true => &mut changes.told_balancer,
            false => &mut changes.told,
        };
        list.push(told(name, text, live));
    }
    if changes.told.is_empty() && changes.told_balancer.is_empty() {
        // Not even the time of the last change moves.
        (changes.member, changes.balancer) = (None, None);
    }
    Ok(changes)
}

/// Enough of a text that somebody sent to know it again.
pub fn brief(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(80) {
        None => text.into(),
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()).into(),
    }
}

/// The fields that were given, as the forms will show them.
fn after(changes: &Changes, live: &Live) -> Vec<Field> {
    let mut out = Vec::new();
    if let Some(m) = &changes.member {
        out.extend(m.load_factor.map(|f| ("w_lf", factor(f))));
        out.extend(m.lbset.map(|n| ("w_ls", n.to_string())));
        out.extend(m.route.clone().map(|t| ("w_wr", t)));
        out.extend(m.redirect.clone().map(|t| ("w_rr", t)));
        for (name, bit) in FLAGS {
            if m.set & bit != 0 {
                out.push((name, "1".to_owned()));
            } else if m.clear & bit != 0 {
                out.push((name, "0".to_owned()));
            }
        }
        if let Some(edit) = &m.health {
            // All of them: a method may clear the expression.
            let h = edit.of(&live.health);
            out.extend([
                ("w_hm", h.method.name().to_owned()),
                ("w_hi", h.interval.as_millis().to_string()),
                ("w_hp", h.passes.to_string()),
                ("w_hf", h.fails.to_string()),
                ("w_hu", h.uri),
                ("w_he", h.expression),
            ]);
        }
    }
    if let Some(b) = &changes.balancer {
        out.extend(b.lbmethod.clone().map(|m| ("b_lbm", m)));
        out.extend(b.timeout.map(|t| ("b_tmo", seconds(t))));
        out.extend(b.max_attempts.map(|n| ("b_max", n.to_string())));
        out.extend(
            b.no_failover
                .map(|on| ("b_sforce", u8::from(on).to_string())),
        );
        out.extend(b.sticky.as_ref().map(|names| ("b_ss", sticky_text(names))));
    }
    out
}

/// `route "b" (was "a")`
fn told(name: &str, text: &str, live: &Live) -> String {
    let before = fields::value(&live.shown, name).unwrap_or_default();
    if let Some(letter) = name.strip_prefix("w_status_") {
        let sign = if text == "1" { '+' } else { '-' };
        return format!("{sign}{}", letter.to_uppercase());
    }
    let what = match name {
        "w_lf" => "load factor",
        "w_ls" => "set",
        "w_wr" => "route",
        "w_rr" => "redirect",
        "w_hm" => "health check method",
        "w_hi" => "health check interval in ms",
        "w_hp" => "health check passes",
        "w_hf" => "health check fails",
        "w_hu" => "health check URI",
        "w_he" => "health check expression",
        "b_lbm" => "method",
        "b_tmo" => "timeout in s",
        "b_max" => "further attempts",
        "b_sforce" => "failover disabled",
        "b_ss" => "sticky session",
        other => other,
    };
    let quoted = |text: &str| match text {
        "" => "none".to_owned(),
        text => format!("\"{text}\""),
    };
    format!("{what} {} (was {})", quoted(text), quoted(before))
}

fn one(changes: &mut Changes, live: &Live, name: &str, value: &str) -> Result<(), String> {
    let same = live.shows(name, value);
    if let Some((_, bit)) = FLAGS.iter().find(|(n, _)| *n == name) {
        let on = number::<u32>(value).ok_or("0 clears it and 1 sets it")? != 0;
        let edit = changes.member.get_or_insert_default();
        if on {
            edit.set |= bit;
        } else {
            edit.clear |= bit;
        }
        return Ok(());
    }
    match name {
        "b" | "w" | "nonce" | "xml" | "json" => {}
        "w_lf" => {
            let factor = hundredths(value).filter(|f| (100..=10_000).contains(f));
            let factor = factor.ok_or("a load factor is a number from 1 to 100")?;
            changes.member.get_or_insert_default().load_factor = Some(factor);
        }
        "w_ls" => {
            let set = number::<u32>(value).filter(|n| *n <= 99);
            let set = set.ok_or("a set is a number from 0 to 99")?;
            changes.member.get_or_insert_default().lbset = Some(set);
        }
        "w_wr" => changes.member.get_or_insert_default().route = Some(short(value)?),
        "w_rr" => changes.member.get_or_insert_default().redirect = Some(short(value)?),
        "w_hi" => {
            let time = interval(value, Unit::Millis).filter(|i| *i >= LEAST_INTERVAL);
            let time =
                time.ok_or("an interval has at least 100 milliseconds (units: ms, s, mi, h)")?;
            health(changes).interval = Some(time);
        }
        "w_hp" => health(changes).passes = Some(count(value)?),
        "w_hf" => health(changes).fails = Some(count(value)?),
        "w_hm" => health(changes).method = Some(HealthMethod::parse(value)?),
        // A configuration may say more than a form.
        "w_hu" if same => health(changes).uri = Some(value.to_owned()),
        "w_hu" => {
            if value.len() > MAX_URI {
                return Err(format!("a URI has at most {MAX_URI} bytes"));
            }
            if !value.bytes().all(|b| b.is_ascii_graphic()) {
                return Err("a URI has neither blanks nor letters beyond ASCII".to_owned());
            }
            health(changes).uri = Some(value.to_owned());
        }
        "w_he" if same || value.is_empty() => health(changes).expression = Some(value.to_owned()),
        "w_he" => {
            let fits = value.len() <= MAX_EXPRESSION_NAME;
            let mut names = live.expressions.iter().filter(|_| fits);
            let name = names.find(|e| e.eq_ignore_ascii_case(value));
            let name = name.ok_or_else(|| match live.expressions.join(", ") {
                none if none.is_empty() => "there is no ProxyHCExpr where this balancer is".into(),
                all => format!("there is no ProxyHCExpr of this name; there is {all}"),
            })?;
            health(changes).expression = Some(name.clone());
        }
        "b_lbm" => {
            let method = method::find(value).ok_or_else(|| {
                let names: Vec<_> = method::names().collect();
                format!("unknown lbmethod; there is {}", names.join(", "))
            })?;
            let name = method.name().to_owned();
            changes.balancer.get_or_insert_default().lbmethod = Some(name);
        }
        "b_tmo" if same => {
            changes.balancer.get_or_insert_default().timeout = Some(live.timeout);
        }
        "b_tmo" => {
            let ms = thousandths(value).filter(|ms| *ms <= 7_200_000);
            let ms = ms.ok_or("a timeout has 0 to 7200 seconds")?;
            let timeout = Some(Duration::from_millis(ms));
            changes.balancer.get_or_insert_default().timeout = timeout;
        }
        // The form sends all fields: a default that nobody touched stays a default.
        "b_max" if same => {
            changes.balancer.get_or_insert_default().max_attempts = live.max_attempts;
        }
        "b_max" => {
            let n = number::<u32>(value).filter(|n| *n <= 99);
            let n = n.ok_or("there can be 0 to 99 further attempts")?;
            changes.balancer.get_or_insert_default().max_attempts = Some(n);
        }
        "b_sforce" => {
            let on = number::<u32>(value).ok_or("0 clears it and 1 sets it")? != 0;
            changes.balancer.get_or_insert_default().no_failover = Some(on);
        }
        "b_ss" => {
            if !value.is_empty() {
                let names = if same {
                    live.sticky.clone()
                } else {
                    sticky(value)?
                };
                changes.balancer.get_or_insert_default().sticky = Some(names);
            }
        }
        // Only together; see `read`.
        "b_nwrkr" | "b_wyes" => {}
        _ => {
            let text = format!("{}: there is no such parameter", brief(name));
            changes.ignored.push(text);
        }
    }
    Ok(())
}

fn health(changes: &mut Changes) -> &mut HealthEdit {
    let member = changes.member.get_or_insert_default();
    member.health.get_or_insert_default()
}

fn short(value: &str) -> Result<String, String> {
    if value.len() > MAX_ROUTE {
        return Err(format!("at most {MAX_ROUTE} bytes"));
    }
    Ok(value.to_owned())
}

fn count(value: &str) -> Result<u32, String> {
    let n = number::<u32>(value).filter(|n| *n >= 1);
    n.ok_or_else(|| "a number of checks is at least 1".to_owned())
}

/// `NAME`, `COOKIE|PARAMETER`, or `-` for none.
fn sticky(value: &str) -> Result<(String, String), String> {
    let value = value.trim();
    if value == "-" {
        return Ok((String::new(), String::new()));
    }
    let (cookie, parameter) = value.split_once('|').unwrap_or((value, value));
    let (cookie, parameter) = (cookie.trim(), parameter.trim());
    let fits = |n: &str| !n.is_empty() && n.len() <= MAX_STICKY;
    if !fits(cookie) || !fits(parameter) || value.len() > MAX_BOTH {
        return Err(format!(
            "session names have 1 to {MAX_BOTH} bytes (A, A|b, or - for none)"
        ));
    }
    if !is_sticky_name(cookie) || !is_sticky_name(parameter) {
        return Err("no cookie or parameter can have this name".to_owned());
    }
    Ok((cookie.to_owned(), parameter.to_owned()))
}

/// A plain decimal × 1000; no digit behind the third.
fn thousandths(value: &str) -> Option<u64> {
    let (whole, part) = value.split_once('.').unwrap_or((value, "0"));
    if part.is_empty() || part.len() > 3 || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ms: u64 = format!("{part:0<3}").parse().ok()?;
    number::<u64>(whole)?.checked_mul(1000)?.checked_add(ms)
}

/// A plain decimal × 100, cut behind the second digit.
fn hundredths(value: &str) -> Option<u32> {
    let (whole, part) = value.split_once('.').unwrap_or((value, "0"));
    let digits = |s: &str| !s.is_empty() && s.len() <= 9 && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return None;
    }
    let cents: u32 = format!("{part}00").get(..2)?.parse().ok()?;
    whole
        .parse::<u32>()
        .ok()?
        .checked_mul(100)?
        .checked_add(cents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Changes, Vec<String>> {
        let live = Live {
            shown: vec![("b_max", "1".into())],
            expressions: vec!["ok234".into()],
            ..Live::default()
        };
        read(&Params::parse(text.as_bytes()).unwrap(), &live)
    }

    fn member(text: &str) -> MemberEdit {
        of(text).unwrap().member.unwrap()
    }

    fn balancer(text: &str) -> BalancerEdit {
        of(text).unwrap().balancer.unwrap()
    }

    #[test]
    fn load_factors() {
        assert_eq!(member("w_lf=1.234").load_factor, Some(123));
        assert_eq!(member("w_lf=100").load_factor, Some(10_000));
        assert_eq!(member("w_lf=2.50").load_factor, Some(250));
        let digits = "9".repeat(400);
        for bad in [
            "0.5", "101", "abc", "", "-1", "1e1", "NaN", "0x10", "+2", "1.", ".5", "1,5", &digits,
        ] {
            assert!(
                of(&format!("w_lf={}", super::super::params::encoded(bad))).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn flags_are_numbers() {
        let e = member("w_status_D=0&w_status_N=1&w_status_R=2");
        assert_eq!(e.clear, status::DISABLED);
        assert_eq!(e.set, status::DRAIN | status::SPARE);
        assert!(of("w_status_D=x").is_err());
        assert!(of("w_status_D=").is_err());
        // No such flags: they change nothing.
        let c = of("w_status_E=0&w_status_O=0&w_status_B=1").unwrap();
        assert_eq!((c.member, c.ignored.len()), (None, 3));
    }

    #[test]
    fn texts_and_sets() {
        assert_eq!(member("w_wr=a+b&w_rr=").route.as_deref(), Some("a b"));
        assert_eq!(member("w_rr=").redirect.as_deref(), Some(""));
        assert_eq!(
            member(&format!("w_wr={}", "r".repeat(63)))
                .route
                .unwrap()
                .len(),
            63
        );
        assert!(of(&format!("w_wr={}", "r".repeat(64))).is_err());
        assert_eq!(member("w_ls=99").lbset, Some(99));
        for bad in ["100", "-1", "abc", ""] {
            assert!(of(&format!("w_ls={bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn health_checks() {
        let health = |text: &str| member(text).health.unwrap().of(&HealthParams::default());
        let h = health("w_hi=5000&w_hp=2&w_hf=3&w_hm=get&w_hu=/hc&w_he=OK234");
        assert_eq!(h.method, HealthMethod::Get);
        assert_eq!(h.interval, Duration::from_secs(5));
        assert_eq!((h.passes, h.fails, h.uri.as_str()), (2, 3, "/hc"));
        assert_eq!(h.expression, "ok234", "as it is defined");
        let h = health("w_hm=TCP&w_he=ok234&w_hi=7s");
        assert_eq!((h.expression.as_str(), h.interval.as_secs()), ("", 7));
        for bad in [
            "w_hi=50",
            "w_hp=0",
            "w_hf=x",
            "w_hm=PING",
            "w_he=nope",
            "w_hu=a+b",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn balancers() {
        let b = balancer("b_tmo=7200&b_max=3&b_sforce=1&b_ss=A|b");
        assert_eq!(b.timeout, Some(Duration::from_secs(7200)));
        assert_eq!((b.max_attempts, b.no_failover), (Some(3), Some(true)));
        assert_eq!(b.sticky, Some(("A".into(), "b".into())));
        assert_eq!(balancer("b_ss=A+|+b").sticky, b.sticky);
        assert_eq!(balancer("b_ss=-").sticky, Some(Default::default()));
        assert_eq!(
            of("b_max=1").unwrap().balancer,
            None,
            "the default stays one"
        );
        assert_eq!(of("b_ss=").unwrap().balancer, None);
        let half = Some(Duration::from_millis(500));
        assert_eq!(balancer("b_tmo=0.5").timeout, half);
        assert_eq!(
            balancer(&format!("b_ss={}", "s".repeat(62)))
                .sticky
                .unwrap()
                .0
                .len(),
            62
        );
        let long = format!("b_ss={}", "s".repeat(63));
        let wrong = of(&format!("b_tmo={}", "9".repeat(60_000))).unwrap_err();
        assert!(wrong[0].len() < 200 && wrong[0].contains("(60000 bytes)"));
        for bad in [
            "b_tmo=7201",
            "b_tmo=-1",
            "b_tmo=abc",
            "b_tmo=1.",
            "b_tmo=.5",
            "b_tmo=7200.001",
            "b_tmo=1.0001",
            "b_max=100",
            "b_lbm=x",
            "b_ss=a;b",
            &long,
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_form_showed_is_no_wish() {
        let form = "w_wr=b&was_w_wr=a&w_status_C=0&was_w_status_C=0&w_lf=x&was_w_lf=x";
        let e = of(form).unwrap();
        assert!(e.ignored.is_empty(), "{:?}", e.ignored);
        let route = Some("b".to_owned());
        let wanted = MemberEdit {
            route,
            ..MemberEdit::default()
        };
        assert_eq!(e.member, Some(wanted));
        assert_eq!(
            member("w_status_C=1&was_w_status_C=0").set,
            status::HEALTH_FAILED
        );
        // Where that is not what is now, it is told.
        let late = of("b_max=9&was_b_max=9").unwrap();
        assert_eq!((late.balancer, late.ignored.len()), (None, 1));
        assert!(
            late.ignored[0].contains("load the page again"),
            "{:?}",
            late.ignored
        );
        // Nothing was shown of these.
        assert_eq!(of("was_w_lf=1").unwrap().ignored.len(), 1);
    }

    #[test]
    fn new_members_need_a_yes() {
        let c = of("b_nwrkr=http://h:1&b_wyes=1").unwrap();
        assert_eq!(c.add.as_deref(), Some("http://h:1"));
        assert_eq!(of("b_wyes=1&b_nwrkr=http://h:1").unwrap().add, c.add);
        for no in ["b_nwrkr=http://h:1", "b_nwrkr=http://h:1&b_wyes=2"] {
            let c = of(no).unwrap();
            assert_eq!((c.add, c.ignored.len()), (None, 1), "{no}");
        }
        assert_eq!(of("b_nwrkr=&b_wyes=1").unwrap(), Changes::default());
    }
}
