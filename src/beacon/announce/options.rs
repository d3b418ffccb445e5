//! The words behind `muster announce`.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::check::Check;
use super::secret::SecretFile;
use crate::codec::beacon::{Algorithm, MacPolicy, Origin, Reach};
use crate::config::beacon::{HostPort, SLICE};
use crate::config::directive::beacon::{host_port, is_path};
use crate::config::directive::value::{Unit, interval, number};
use crate::config::directive::worker_param;
use crate::config::settings::WorkerParams;

/// How it is called, in short.
pub const USAGE: &str =
    "usage: muster announce --to PROXY:PORT --url http://HOST:PORT --secret-file FILE [OPTIONS]
                       [-- COMMAND [ARGUMENT ...]]
muster announce --help tells of the options";

/// How it is called.
pub const HELP: &str =
    "usage: muster announce --to PROXY:PORT --url http://HOST:PORT --secret-file FILE [OPTIONS]
                       [-- COMMAND [ARGUMENT ...]]

Tells proxies of a backend, so that it joins their balancer, and tells them when it leaves.

  --to PROXY:PORT      a proxy's ProxyBeaconListen; repeat it for each proxy
  --url URL            where the proxies reach the backend: scheme://host[:port], no path
  --secret-file FILE   the proxies' secret (made by: muster beacon secret FILE), mode 0600;
                       it is read again when it changes
  --check tcp          announce only while URL's host and port take a connection
  --check http://...   announce only while a GET of this is answered with 200 to 399
  --check none         announce always; what holds without a COMMAND (with one: tcp)
  --fails N            leave after N checks in a row that failed or took 2 s [1]
  --interval TIME      how often it is announced [5]
  --route R            the member's route, as BalancerMember's
  --loadfactor N       the member's load factor, as BalancerMember's, 1 to 100
  --mac siphash        what httpd's own mod_proxy_beacon understands [hmac-sha256]; it knows no
                       withdrawal: --drain as long as its ProxyBeaconTimeout takes its place
  --drain TIME         from the withdrawal until the command gets its signal [1]; without a
                       COMMAND, until this program ends [0]
A TIME is digits and ms, s, mi or h; without a unit, seconds.

With a COMMAND it is started, announced when the check passes, withdrawn before it is stopped,
and its exit status is handed on (128 + N when signal N ended it).
  TERM, INT, QUIT      withdraw; after --drain end, or hand the signal on to the command; said
                       twice, at once
  HUP                  read the secret and look names up again; handed on to the command too
  USR1, USR2           handed on to the command";

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom to tell.
    pub to: Vec<HostPort>,
    /// Of what.
    pub origin: Origin,
    /// The secret.
    pub secret: SecretFile,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What must hold.
    pub check: Check,
    /// How many checks in a row must fail.
    pub fails: u32,
    /// How often.
    pub interval: Duration,
    /// `route=`
    pub route: Option<String>,
    /// `loadfactor=` × 100.
    pub load_factor: Option<u32>,
    /// Between withdrawal and stop, of the command or else of this process.
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
    let mut secret = None;
    let mut fails = 1;
    let mut check = None;
    let mut algorithm = Algorithm::default();
    let mut every = Duration::from_secs(5);
    let mut drain = None;
    let mut params = WorkerParams::default();
    let (mut route, mut load_factor) = (None, None);
    let mut words = words.iter();
    let mut command = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            command = words.cloned().collect::<Vec<_>>();
            if command.is_empty() {
                return Err(
                    "behind -- stands the backend's command; without one leave -- out".into(),
                );
            }
            break;
        }
        let text = word.to_string_lossy().into_owned();
        let (name, attached) = match text.split_once('=') {
            Some((n, v)) => (n.to_owned(), Some(v.to_owned())),
            None => (text, None),
        };
        if !NAMES.contains(&name.as_str()) {
            return Err(match name.starts_with('-') {
                true => format!("{name} is no option of it"),
                false => format!("\"{name}\" is no option of it; a command stands behind --"),
            });
        }
        let next = || words.next().map(|w| w.to_string_lossy().into_owned());
        let value = attached
            .or_else(next)
            .ok_or_else(|| format!("{name} needs a value"))?;
        let wrong = |what: &str| format!("{name} needs {what}, not \"{value}\"");
        match name.as_str() {
            "--to" => {
                let place = host_port(&value).map_err(|e| format!("--to: {e}"))?;
                if !to.contains(&place) {
                    to.push(place);
                }
            }
            "--url" => {
                let url = Origin::parse(value.as_bytes()).ok_or_else(|| {
                    wrong("scheme://host[:port] with http, https, ws or wss and without a path")
                })?;
                if url.reach() == Reach::Nowhere {
                    return Err(wrong(
                        "a host that is one machine (no link-local, multicast or shortened address: proxies refuse those)",
                    ));
                }
                origin = Some(url);
            }
            "--secret-file" => {
                is_path(&name, &value)?;
                let opened = SecretFile::open(Path::new(&value));
                secret = Some(opened.map_err(|e| format!("{name}: {e}"))?);
            }
            "--fails" => {
                fails = number(&value)
                    .filter(|n| *n > 0)
                    .ok_or_else(|| wrong("a number from 1"))?;
            }
            "--check" => {
                check =
                    Some(Check::parse(&value).ok_or_else(|| wrong("tcp, none or an http:// URL"))?);
            }
            "--interval" => {
                every = interval(&value, Unit::Seconds)
                    .filter(|d| *d >= SLICE)
                    .ok_or_else(|| wrong("a time of at least 100ms (digits and ms, s, mi or h)"))?;
            }
            "--drain" => {
                let time = interval(&value, Unit::Seconds);
                drain = Some(time.ok_or_else(|| wrong("a time (digits and ms, s, mi or h)"))?);
            }
            "--route" => {
                if !value.bytes().all(|b| b.is_ascii_graphic()) {
                    return Err(wrong("a word of printable ASCII"));
                }
                worker_param::set(&mut params, "route", &value)
                    .map_err(|e| format!("{name}: {e}"))?;
                route = Some(value);
            }
            "--loadfactor" => {
                worker_param::set(&mut params, "loadfactor", &value)
                    .map_err(|e| format!("{name} \"{value}\": {e}"))?;
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
    let (fallback, pause) = match command.is_empty() {
        true => (Check::None, Duration::ZERO),
        false => (Check::Tcp, Duration::from_secs(1)),
    };
    Ok(Options {
        to,
        origin: origin.ok_or("--url is missing: where proxies reach the backend")?,
        secret: secret.ok_or("--secret-file is missing (muster beacon secret FILE makes one)")?,
        algorithm,
        check: check.unwrap_or(fallback),
        fails,
        interval: every,
        route,
        load_factor,
        drain: drain.unwrap_or(pause),
        command,
    })
}

const NAMES: [&str; 10] = [
    "--to",
    "--url",
    "--secret-file",
    "--check",
    "--fails",
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
            ("--to h:1 --", "leave -- out"),
            ("--drain soon", "digits and ms, s, mi or h"),
            (
                "--to h:1 node app.js",
                "\"node\" is no option of it; a command stands behind --",
            ),
            ("--url http://169.254.169.254", "proxies refuse"),
            ("--url http://127.1:80", "proxies refuse"),
            (
                "--secret-file hex:00112233445566778899aabbccddeeff",
                "--secret-file: that is a secret, not a path",
            ),
            ("--fails 0", "a number from 1"),
            ("--check https://h/", "tcp, none or an http:// URL"),
            ("--loadfactor x", "--loadfactor \"x\""),
            ("--to", "needs a value"),
        ] {
            let error = words(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("0011"), "{error}");
        }
    }
}
