//! `key=value` words of a worker (spec: balancer 1.2, proxy 2).

use std::time::Duration;

use super::value::{TIME_FORM, Unit, flag, interval, number};
use super::{balancer_param, health};
use crate::config::diagnostic::nearest;
use crate::config::settings::WorkerParams;
use crate::config::status;

/// What is to be said about a parameter that was taken.
pub type Remark = Option<String>;

/// The longest `route` and `redirect`.
const MAX_ROUTE: usize = 63;

/// Applies one parameter. The error is httpd's text and, where that helps, what would be right; the
/// caller names the word. A remark is for parameters that are accepted without effect.
pub fn set(p: &mut WorkerParams, key: &str, value: &str) -> Result<Remark, String> {
    let key = key.to_ascii_lowercase();
    let remark = apply(p, &key, value)?;
    note_written(p, &key, value);
    Ok(remark)
}

/// `key` (lower case) was taken.
pub fn note_written(p: &mut WorkerParams, key: &str, value: &str) {
    p.written.retain(|(k, _)| k != key);
    p.written.push((key.to_string(), value.to_string()));
}

fn apply(p: &mut WorkerParams, key: &str, value: &str) -> Result<Remark, String> {
    match key {
        "loadfactor" => {
            p.load_factor =
                hundredths(value).ok_or("LoadFactor must be a number between 1..100")?;
        }
        "lbset" => {
            p.lbset = number(value)
                .filter(|n| *n <= 99)
                .ok_or("lbset must be between 0 and 99")?;
        }
        "route" => p.route = short(value, "Route")?,
        "redirect" => p.redirect = short(value, "Redirect")?,
        "status" => {
            p.status = status::apply(p.status, value)
                .map_err(|e| format!("Unknown status parameter option: {e}; the letters are D (disabled), S (stopped), I (ignore errors), H (hot standby), R (hot spare), E (error), N (drain), C (health check failed), each behind + or -"))?;
        }
        "retry" => {
            p.retry = interval(value, Unit::Seconds).ok_or_else(|| {
                format!("Retry must be a positive value; {TIME_FORM}, 0 to try again at once")
            })?;
        }
        "slowstart" => {
            p.slow_start = interval(value, Unit::Seconds)
                .ok_or_else(|| format!("slowstart has wrong format; {TIME_FORM}"))?;
        }
        "timeout" => {
            p.timeout = Some(positive(value, Unit::Seconds, "Timeout", "second")?);
        }
        "connectiontimeout" => {
            p.connection_timeout = Some(time(
                value,
                Unit::Seconds,
                "Connectiontimeout",
                "Connectiontimeout",
            )?);
        }
        "acquire" => p.acquire = Some(time(value, Unit::Millis, "Acquire timeout", "Acquire")?),
        "ping" => {
            p.ping = Some(time(
                value,
                Unit::Seconds,
                "Ping/Pong timeout",
                "Ping/Pong timeout",
            )?)
        }
        "min" => p.min = connections(value, "Min", "")?,
        "max" => p.max = Some(connections(value, "Max", " (0: no bound)")?),
        "smax" => p.smax = Some(connections(value, "Smax", "")?),
        "ttl" => p.ttl = Some(positive(value, Unit::Seconds, "TTL", "second")?),
        "keepalive" => p.keep_alive = flag(value).ok_or("KeepAlive must be On|Off")?,
        "disablereuse" => p.reuse = !flag(value).ok_or("DisableReuse must be On|Off")?,
        "enablereuse" => p.reuse = flag(value).ok_or("EnableReuse must be On|Off")?,
        "addressttl" => p.address_ttl = address_ttl(value)?,
        "iobuffersize" => {
            p.io_buffer = size(value, 8192)
                .ok_or("IOBufferSize must be >= 512 bytes, or 0 for system default.; 2147483647 at most, digits without a unit")?
                as usize;
        }
        "receivebuffersize" => {
            p.receive_buffer = size(value, 0)
                .ok_or("ReceiveBufferSize must be >= 512 bytes, or 0 for system default.; 2147483647 at most, digits without a unit")?;
        }
        "responsefieldsize" => {
            let n: u32 = number(value).ok_or(
                "ResponseFieldSize must be greater than 0 bytes, or 0 for system default.; 4294967295 at most, digits without a unit",
            )?;
            p.response_field = if n == 0 { 8192 } else { n as usize };
        }
        "flushpackets" => {
            if flag(value).is_none() && !value.eq_ignore_ascii_case("auto") {
                return Err("flushpackets must be on|off|auto".into());
            }
            return Ok(only_for("flushpackets", "AJP and FastCGI backends"));
        }
        "flushwait" => {
            interval(value, Unit::Millis)
                .filter(|d| *d <= Duration::from_millis(1000))
                .ok_or_else(|| format!("flushwait must be <= 1000, or 0 for system default of 10 milliseconds.; {TIME_FORM}"))?;
            return Ok(only_for("flushwait", "AJP and FastCGI backends"));
        }
        "flusher" => {
            return Ok(only_for(
                "flusher",
                "passing descriptors (mod_proxy_fdpass)",
            ));
        }
        "upgrade" if value.eq_ignore_ascii_case("none") => {}
        "upgrade" => {
            return Err("upgrade asks for upgraded connections such as WebSocket (mod_proxy_http, mod_proxy_wstunnel), which are not there in this version of muster".into());
        }
        "secret" => {
            return Err("secret belongs to AJP (mod_proxy_ajp), which is not there in this version of muster".into());
        }
        _ => {
            return Err(format!("unknown Worker parameter{}", meant(key)));
        }
    }
    Ok(None)
}

/// What an unknown key may have been meant to be.
fn meant(key: &str) -> String {
    const PLACE: &str = "belongs to the balancer: write it with ProxySet in <Proxy balancer://...> or behind the balancer's ProxyPass";
    if balancer_param::KEYS.contains(&key) {
        return format!("; it {PLACE}");
    }
    let own = || KEYS.iter().chain(&health::KEYS).chain(&["timeout"]);
    if let Some(near) = nearest(key, own()) {
        return format!("; did you mean {near}?");
    }
    match nearest(key, balancer_param::KEYS.iter()) {
        Some(near) => format!("; did you mean {near}? That {PLACE}"),
        None => String::new(),
    }
}

/// The keys of workers, for messages about balancers.
pub const KEYS: [&str; 26] = [
    "loadfactor",
    "lbset",
    "route",
    "redirect",
    "status",
    "retry",
    "slowstart",
    "connectiontimeout",
    "acquire",
    "ping",
    "min",
    "max",
    "smax",
    "ttl",
    "keepalive",
    "disablereuse",
    "enablereuse",
    "addressttl",
    "iobuffersize",
    "receivebuffersize",
    "responsefieldsize",
    "flushpackets",
    "flushwait",
    "flusher",
    "upgrade",
    "secret",
];

fn only_for(key: &str, whom: &str) -> Remark {
    Some(format!(
        "{key} has a meaning only for {whom}; it changes nothing here"
    ))
}

fn short(value: &str, name: &str) -> Result<String, String> {
    if value.len() > MAX_ROUTE {
        return Err(format!("{name} length must be < 64 characters"));
    }
    Ok(value.to_string())
}

/// A decimal from 1 to 100 times 100, further digits cut.
fn hundredths(value: &str) -> Option<u32> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digit = |i: usize| {
        fraction
            .as_bytes()
            .get(i)
            .map_or(0, |b| u32::from(b - b'0'))
    };
    let n = number::<u32>(whole)?.checked_mul(100)? + digit(0) * 10 + digit(1);
    let more = fraction.bytes().skip(2).any(|b| b != b'0');
    ((100..=10_000).contains(&n) && !(n == 10_000 && more)).then_some(n)
}

fn positive(value: &str, unit: Unit, name: &str, least: &str) -> Result<Duration, String> {
    interval(value, unit)
        .filter(|d| !d.is_zero())
        .ok_or_else(|| format!("{name} must be at least one {least}; {TIME_FORM}, and not 0"))
}

fn connections(value: &str, name: &str, zero: &str) -> Result<u32, String> {
    number(value).ok_or_else(|| {
        format!("{name} must be a positive number; a whole number from 0{zero} to 4294967295")
    })
}

fn time(value: &str, unit: Unit, name: &str, short: &str) -> Result<Duration, String> {
    let Some(d) = interval(value, unit) else {
        return Err(format!("{name} has wrong format; {TIME_FORM}"));
    };
    if d.is_zero() {
        return Err(format!(
            "{short} must be at least one millisecond; {TIME_FORM}, and not 0"
        ));
    }
    Ok(d)
}

/// −1: never again; else whole seconds.
fn address_ttl(value: &str) -> Result<Option<Duration>, String> {
    if value == "-1" {
        return Ok(None);
    }
    interval(value, Unit::Seconds)
        .filter(|d| d.subsec_nanos() == 0 && d.as_secs() <= 0x7fff_ffff)
        .map(Some)
        .ok_or_else(|| {
            "AddressTTL must be -1 or a number of seconds not exceeding (2147483647); whole seconds, or with mi (minutes) or h (hours) behind the digits, -1 for ever, 0 to resolve each time".into()
        })
}

/// A buffer's size: 0 for `default`, else at least 512.
fn size(value: &str, default: u32) -> Option<u32> {
    match number::<u32>(value)? {
        0 => Some(default),
        n if (512..=0x7fff_ffff).contains(&n) => Some(n),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(key: &str, value: &str) -> Result<WorkerParams, String> {
        let mut p = WorkerParams::default();
        set(&mut p, key, value).map(|_| p)
    }

    #[test]
    fn load_factors_are_hundredths() {
        assert_eq!(one("loadfactor", "1.5").unwrap().load_factor, 150);
        assert_eq!(one("LoadFactor", "1.239").unwrap().load_factor, 123);
        assert_eq!(one("loadfactor", "100").unwrap().load_factor, 10_000);
        for bad in [
            "0", "0.99", "100.01", "100.001", "101", "abc", "", "1.x", "-1",
        ] {
            assert!(one("loadfactor", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_take_units_and_no_junk() {
        assert_eq!(one("retry", "0").unwrap().retry, Duration::ZERO);
        assert_eq!(one("retry", "5s").unwrap().retry, Duration::from_secs(5));
        assert_eq!(
            one("acquire", "5").unwrap().acquire,
            Some(Duration::from_millis(5))
        );
        assert_eq!(
            one("ping", "500ms").unwrap().ping,
            Some(Duration::from_millis(500))
        );
        assert_eq!(
            one("slowstart", "2mi").unwrap().slow_start,
            Duration::from_secs(120)
        );
        assert_eq!(one("addressttl", "-1").unwrap().address_ttl, None);
        assert_eq!(
            one("addressttl", "0").unwrap().address_ttl,
            Some(Duration::ZERO)
        );
        for (k, v) in [
            ("retry", "abc"),
            ("slowstart", "1.5"),
            ("timeout", "0"),
            ("timeout", "5x"),
            ("ttl", "0"),
            ("acquire", "0"),
            ("ping", "1.5"),
            ("addressttl", "1500ms"),
        ] {
            assert!(one(k, v).is_err(), "{k}={v}");
        }
    }

    #[test]
    fn sizes_flags_and_lengths() {
        assert!(!one("disablereuse", "oN").unwrap().reuse);
        assert!(one("disablereuse", "yes").is_err());
        assert_eq!(one("iobuffersize", "0").unwrap().io_buffer, 8192);
        assert!(one("iobuffersize", "511").is_err());
        assert!(one("route", &"r".repeat(63)).is_ok());
        assert!(one("route", &"r".repeat(64)).is_err());
        assert!(one("lbset", "100").is_err());
    }

    #[test]
    fn what_is_not_there_is_named() {
        assert!(
            one("upgrade", "websocket")
                .unwrap_err()
                .contains("WebSocket")
        );
        assert!(
            one("lbmethod", "byrequests")
                .unwrap_err()
                .contains("belongs to the balancer")
        );
        assert!(
            one("nonsense", "1")
                .unwrap_err()
                .starts_with("unknown Worker parameter")
        );
    }

    #[test]
    fn later_values_win() {
        let mut p = WorkerParams::default();
        set(&mut p, "retry", "1").unwrap();
        set(&mut p, "Retry", "2").unwrap();
        assert_eq!(p.retry, Duration::from_secs(2));
        assert_eq!(p.written, [("retry".to_string(), "2".to_string())]);
    }
}
