//! The words behind `muster announce`.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::check::Check;
use crate::codec::beacon::{Algorithm, Key, MacPolicy, Origin};
use crate::config::beacon::{HostPort, SLICE};
use crate::config::directive::beacon::{host_port, secret_file};
use crate::config::directive::value::{Unit, interval};
use crate::config::directive::worker_param;
use crate::config::settings::WorkerParams;

/// How it is called.
pub const USAGE: &str =
    "usage: muster announce --to PROXY:PORT --url http://HOST:PORT --secret-file FILE
    [--to ANOTHER:PORT ...]      further proxies
    [--check tcp|http://...]     announce only while this answers (with a command: tcp)
    [--interval 5]               how often
    [--route R] [--loadfactor N] as of BalancerMember
    [--mac siphash]              for httpd proxies; else hmac-sha256
    [--drain 1]                  between the withdrawal and the command's signal
    [-- COMMAND ARGUMENT ...]    start it, announce when it answers, withdraw before it is stopped";

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom to tell.
    pub to: Vec<HostPort>,
    /// Of what.
    pub origin: Origin,
    /// The key.
    pub key: Key,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What must hold.
    pub check: Check,
    /// How often.
    pub interval: Duration,
    /// `route=`
    pub route: Option<String>,
    /// `loadfactor=` × 100.
    pub load_factor: Option<u32>,
    /// Between withdrawal and stop.
    pub drain: Duration,
    /// The backend's command, possibly none.
    pub command: Vec<OsString>,
}

/// Reads the words.
///
/// # Errors
/// What is missing or wrong.
pub fn parse(words: &[OsString]) -> Result<Options, String> {
    let mut to = Vec::new();
    let mut origin = None;
    let mut key = None;
    let mut check = None;
    let mut algorithm = Algorithm::default();
    let mut every = Duration::from_secs(5);
    let mut drain = Duration::from_secs(1);
    let mut params = WorkerParams::default();
    let (mut route, mut load_factor) = (None, None);
    let mut words = words.iter();
    let mut command = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            command = words.cloned().collect();
            break;
        }
        let text = word.to_string_lossy().into_owned();
        let (name, attached) = match text.split_once('=') {
            Some((n, v)) => (n.to_owned(), Some(v.to_owned())),
            None => (text, None),
        };
        if !NAMES.contains(&name.as_str()) {
            return Err(format!("{name} is no option of it"));
        }
        let next = || words.next().map(|w| w.to_string_lossy().into_owned());
        let value = attached
            .or_else(next)
            .ok_or_else(|| format!("{name} needs a value"))?;
        let wrong = |what: &str| format!("{name} needs {what}, not \"{value}\"");
        match name.as_str() {
            "--to" => to.push(host_port(&value).map_err(|e| format!("--to: {e}"))?),
            "--url" => {
                origin = Some(Origin::parse(value.as_bytes()).ok_or_else(|| {
                    wrong("scheme://host[:port] with http, https, ws or wss and without a path")
                })?);
            }
            "--secret-file" => {
                key = Some(secret_file(Path::new(&value)).map_err(|e| format!("{name}: {e}"))?);
            }
            "--check" => {
                check =
                    Some(Check::parse(&value).ok_or_else(|| wrong("tcp, none or an http:// URL"))?);
            }
            "--interval" => {
                every = interval(&value, Unit::Seconds)
                    .filter(|d| *d >= SLICE)
                    .ok_or_else(|| wrong("a time of at least 100ms"))?;
            }
            "--drain" => {
                drain = interval(&value, Unit::Seconds).ok_or_else(|| wrong("a time"))?;
            }
            "--route" => {
                let plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_graphic());
                if !plain {
                    return Err(wrong("a word of printable ASCII"));
                }
                worker_param::set(&mut params, "route", &value)?;
                route = Some(value);
            }
            "--loadfactor" => {
                worker_param::set(&mut params, "loadfactor", &value)?;
                load_factor = Some(params.load_factor);
            }
            _ => {
                algorithm = match MacPolicy::by_name(&value) {
                    Some(MacPolicy::HmacSha256) => Algorithm::HmacSha256,
                    Some(MacPolicy::SipHash) => Algorithm::SipHash,
                    _ => return Err(wrong("hmac-sha256 or siphash")),
                };
            }
        }
    }
    if to.is_empty() {
        return Err("--to is missing: the proxy's ProxyBeaconListen address".into());
    }
    let fallback = if command.is_empty() {
        Check::None
    } else {
        Check::Tcp
    };
    Ok(Options {
        to,
        origin: origin.ok_or("--url is missing: where proxies reach the backend")?,
        key: key.ok_or("--secret-file is missing (muster beacon secret FILE makes one)")?,
        algorithm,
        check: check.unwrap_or(fallback),
        interval: every,
        route,
        load_factor,
        drain,
        command,
    })
}

const NAMES: [&str; 9] = [
    "--to",
    "--url",
    "--secret-file",
    "--check",
    "--interval",
    "--drain",
    "--route",
    "--loadfactor",
    "--mac",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Options, String> {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        parse(&words)
    }

    #[test]
    fn words_are_checked() {
        for (text, says) in [
            ("", "--to is missing"),
            ("--to h", "both parts"),
            ("--to h:1", "--url is missing"),
            ("--to h:1 --url http://h/x", "without a path"),
            ("--to h:1 --url http://h", "--secret-file is missing"),
            ("--interval 50ms", "at least 100ms"),
            ("--loadfactor 0", "between 1..100"),
            ("--mac any", "hmac-sha256 or siphash"),
            ("--check ftp://x", "tcp, none or"),
            ("--what", "no option"),
            ("--to", "needs a value"),
        ] {
            let error = words(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
