//! `key=value` words of a balancer (spec: balancer 1.3).

use super::value::{TIME_FORM, Unit, flag, interval, number};
use super::{health, worker_param};
use crate::config::diagnostic::nearest;
use crate::config::settings::{BalancerParams, HashKey};

/// Schedulers that work here.
pub const METHODS: [&str; 6] = [
    "byrequests",
    "bytraffic",
    "bybusyness",
    "heartbeat",
    "byhash",
    "byleasttime",
];

/// The keys of balancers, for messages about workers.
pub const KEYS: [&str; 14] = [
    "lbmethod",
    "hashkey",
    "retrybudget",
    "stickycookie",
    "stickysession",
    "stickysessionsep",
    "scolonpathdelim",
    "nofailover",
    "maxattempts",
    "failonstatus",
    "failontimeout",
    "forcerecovery",
    "nonce",
    "growth",
];

/// The longest cookie or parameter name of `stickysession`.
const MAX_STICKY: usize = 63;
/// The longest `nonce`.
const MAX_NONCE: usize = 36;

/// Applies one parameter and remembers its key in `written`. The error is httpd's text and, where
/// that helps, what would be right; the caller names the word.
pub fn set(
    p: &mut BalancerParams,
    written: &mut Vec<String>,
    key: &str,
    value: &str,
) -> Result<(), String> {
    let key = key.to_ascii_lowercase();
    apply(p, &key, value)?;
    if !written.contains(&key) {
        written.push(key);
    }
    Ok(())
}

fn apply(p: &mut BalancerParams, key: &str, value: &str) -> Result<(), String> {
    match key {
        "lbmethod" => p.lbmethod = method(value)?,
        "retrybudget" => {
            p.retry_budget = number(value)
                .filter(|n| *n <= 100)
                .ok_or("retrybudget must be between 0 and 100")?;
        }
        "stickycookie" => {
            if !is_token(value) || value.len() > MAX_STICKY {
                return Err("stickycookie must be a cookie's name of 1 to 63 characters".into());
            }
            p.sticky_cookie = Some(value.to_string());
        }
        "hashkey" => p.hash_key = hash_key(value)?,
        "stickysession" => p.sticky = Some(sticky(value)?),
        "stickysessionsep" => {
            p.sticky_separator = match value.as_bytes() {
                [one] => Some(*one),
                _ if value.eq_ignore_ascii_case("off") => None,
                _ => return Err("stickysessionsep must be a single character or Off".into()),
            };
        }
        "scolonpathdelim" => {
            p.scolon_path_delim = flag(value).ok_or("scolonpathdelim must be On|Off")?;
        }
        "nofailover" => p.no_failover = flag(value).ok_or("failover must be On|Off")?,
        "timeout" => {
            p.timeout = interval(value, Unit::Seconds)
                .filter(|d| !d.is_zero())
                .ok_or_else(|| {
                    format!("timeout must be at least one second; {TIME_FORM}, and not 0")
                })?;
        }
        "maxattempts" => {
            p.max_attempts =
                Some(number(value).ok_or("maximum number of attempts must be a positive number; a whole number from 0 (no further try) to 4294967295")?);
        }
        "failonstatus" => p.fail_on_status = codes(value)?,
        "failontimeout" => {
            p.fail_on_timeout = flag(value).ok_or("failontimeout must be On|Off")?;
        }
        "forcerecovery" => {
            p.force_recovery = flag(value).ok_or("forcerecovery must be On|Off")?;
        }
        "nonce" => {
            if value.len() > MAX_NONCE {
                return Err(format!(
                    "Provided nonce is too large; {MAX_NONCE} bytes at most"
                ));
            }
            let none = value.eq_ignore_ascii_case("none");
            p.nonce = Some(if none {
                String::new()
            } else {
                value.to_string()
            });
        }
        "growth" => {
            p.growth = number(value)
                .filter(|n| (1..=100).contains(n))
                .ok_or("growth must be between 1 and 100")?;
        }
        _ => {
            return Err(format!("unknown Balancer parameter{}", meant(key)));
        }
    }
    Ok(())
}

/// What an unknown key may have been meant to be.
fn meant(key: &str) -> String {
    const PLACE: &str = "belongs to a member: write it behind its BalancerMember";
    let members = || worker_param::KEYS.iter().chain(&health::KEYS);
    if members().any(|k| *k == key) {
        return format!("; it {PLACE}");
    }
    if let Some(near) = nearest(key, KEYS.iter().chain(&["timeout"])) {
        return format!("; did you mean {near}?");
    }
    match nearest(key, members()) {
        Some(near) => format!("; did you mean {near}? That {PLACE}"),
        None => String::new(),
    }
}

/// The method of this name as it is written in the table.
///
/// # Errors
/// There is none.
pub fn method(value: &str) -> Result<String, String> {
    let known = METHODS.iter().find(|m| m.eq_ignore_ascii_case(value));
    if let Some(m) = known {
        return Ok((*m).to_string());
    }
    let list = METHODS.join(", ");
    Err(format!("unknown lbmethod; there is {list}"))
}

/// Whether a sticky session's cookie or parameter may be named so by a form or a state file.
pub fn is_sticky_name(name: &str) -> bool {
    let bad = |b: u8| !b.is_ascii_graphic() || b",;=\"\\".contains(&b);
    !name.is_empty() && name.len() <= MAX_STICKY && !name.bytes().any(bad)
}

/// What a field's or a cookie's name may be (RFC 9110 5.6.2).
fn is_token(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(allowed)
}

fn hash_key(value: &str) -> Result<HashKey, String> {
    const FORMS: &str = "hashkey must be client, header:NAME, cookie:NAME or path";
    let (kind, name) = value.split_once(':').unwrap_or((value, ""));
    match kind.to_ascii_lowercase().as_str() {
        "client" if value.len() == kind.len() => Ok(HashKey::Client),
        "path" if value.len() == kind.len() => Ok(HashKey::Path),
        "header" if is_token(name) => Ok(HashKey::Header(name.to_string())),
        "cookie" if is_token(name) => Ok(HashKey::Cookie(name.to_string())),
        _ => Err(FORMS.into()),
    }
}

fn sticky(value: &str) -> Result<(String, String), String> {
    let (cookie, parameter) = value.split_once('|').unwrap_or((value, value));
    for name in [cookie, parameter] {
        if name.is_empty() || name.len() > MAX_STICKY {
            return Err("stickysession names must have 1 to 63 characters".into());
        }
    }
    Ok((cookie.to_string(), parameter.to_string()))
}

fn codes(value: &str) -> Result<Vec<u16>, String> {
    let mut out = Vec::new();
    for word in value.split([',', ' ', '\t']).filter(|w| !w.is_empty()) {
        let code = number::<u16>(word)
            .filter(|c| (100..=599).contains(c))
            .ok_or("failonstatus must be one or more HTTP response codes; 100 to 599 with commas between them")?;
        if !out.contains(&code) {
            out.push(code);
        }
    }
    if out.is_empty() {
        return Err("failonstatus must be one or more HTTP response codes; 100 to 599 with commas between them".into());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn one(key: &str, value: &str) -> Result<BalancerParams, String> {
        let mut p = BalancerParams::default();
        set(&mut p, &mut Vec::new(), key, value).map(|()| p)
    }

    #[test]
    fn sticky_names() {
        let both = one("stickysession", "SID|sid").unwrap().sticky;
        assert_eq!(both, Some(("SID".into(), "sid".into())));
        let same = one("StickySession", "S").unwrap().sticky;
        assert_eq!(same, Some(("S".into(), "S".into())));
        assert!(one("stickysession", &"s".repeat(64)).is_err());
        assert_eq!(
            one("stickysessionsep", "off").unwrap().sticky_separator,
            None
        );
        assert_eq!(
            one("stickysessionsep", "-").unwrap().sticky_separator,
            Some(b'-')
        );
        assert!(one("stickysessionsep", "--").is_err());
    }

    #[test]
    fn methods_are_listed() {
        for method in METHODS {
            assert_eq!(one("LbMethod", method).unwrap().lbmethod, method);
        }
        let unknown = one("lbmethod", "x").unwrap_err();
        assert!(METHODS.iter().all(|m| unknown.contains(m)), "{unknown}");
    }

    #[test]
    fn keys_to_hash() {
        let key = |value: &str| one("hashkey", value).map(|p| p.hash_key);
        assert_eq!(one("lbmethod", "byhash").unwrap().hash_key, HashKey::Client);
        assert_eq!(key("path").unwrap(), HashKey::Path);
        assert_eq!(
            key("Header:X-Tenant").unwrap(),
            HashKey::Header("X-Tenant".into())
        );
        assert_eq!(key("cookie:SID").unwrap(), HashKey::Cookie("SID".into()));
        for bad in ["", "header", "header:", "cookie:a b", "client:x", "ip"] {
            assert!(key(bad).unwrap_err().contains("header:NAME"), "{bad}");
        }
    }

    #[test]
    fn lists_and_numbers() {
        assert_eq!(
            one("failonstatus", "502,503").unwrap().fail_on_status,
            [502, 503]
        );
        assert_eq!(
            one("failonstatus", "500, 502 500").unwrap().fail_on_status,
            [500, 502]
        );
        for (k, v) in [
            ("failonstatus", ""),
            ("failonstatus", "600"),
            ("growth", "0"),
            ("timeout", "0"),
            ("maxattempts", "-1"),
            ("nofailover", "1"),
            ("retrybudget", "101"),
            ("retrybudget", "20%"),
            ("stickycookie", "a;b"),
            ("stickycookie", ""),
        ] {
            assert!(one(k, v).is_err(), "{k}={v}");
        }
        assert_eq!(one("timeout", "2").unwrap().timeout, Duration::from_secs(2));
        assert_eq!(one("maxattempts", "2").unwrap().retry_budget, 20);
        assert_eq!(one("RetryBudget", "0").unwrap().retry_budget, 0);
        assert_eq!(one("nonce", "NONE").unwrap().nonce, Some(String::new()));
        assert!(
            one("loadfactor", "2")
                .unwrap_err()
                .contains("BalancerMember")
        );
    }
}
