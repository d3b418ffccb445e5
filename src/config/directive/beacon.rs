//! Announcements of backends (mod_proxy_beacon). Which role a server has is known only at its end:
//! what depends on it is checked by `settle::beacon`.

use std::os::unix::fs::MetadataExt;

use super::value::{TIME_FORM, Unit, interval, number};
use crate::codec::beacon::{Key, MacPolicy, Origin, Reach};
use crate::config::args::Args;
use crate::config::beacon::{Allowed, HostPort, SLICE};
use crate::config::draft::{BeaconDraft, SecretDraft};
use crate::config::dump::HIDDEN;
use crate::config::frame::Build;
use crate::config::span::{COMMAND_LINE, files_in};
use crate::config::worker_url;

/// Targets of one sender.
const MOST_TARGETS: usize = 16;
/// A `Define`d value that is shorter is in a secret by chance.
const SHORTEST_PIECE: usize = 4;

/// `ProxyBeaconListen [[host][:port]]`
pub fn proxy_beacon_listen(b: &mut Build, args: &Args) -> Result<(), String> {
    if args.len() > 1 {
        return Err("ProxyBeaconListen takes at most one argument, [host][:port]".into());
    }
    let (host, port) = place(args.get(0))?;
    let span = b.span.clone();
    let draft = draft(b);
    if !draft.targets.is_empty() {
        return Err(both());
    }
    draft.listen = Some((host, port, span));
    Ok(())
}

/// `ProxyBeaconAddress host:port ...`
pub fn proxy_beacon_address(b: &mut Build, args: &Args) -> Result<(), String> {
    let mut found = Vec::new();
    for word in &args.words {
        let (Some(host), Some(port)) = place(word)? else {
            return Err(format!(
                "ProxyBeaconAddress needs host:port, both parts (\"{word}\")"
            ));
        };
        found.push(HostPort { host, port });
    }
    if found.is_empty() {
        return Err("ProxyBeaconAddress needs at least one host:port".into());
    }
    let span = b.span.clone();
    let draft = draft(b);
    if draft.listen.is_some() {
        return Err(both());
    }
    for target in found {
        if !draft.targets.contains(&target) {
            draft.targets.push(target);
        }
    }
    if draft.targets.len() > MOST_TARGETS {
        return Err(format!(
            "ProxyBeaconAddress: at most {MOST_TARGETS} addresses"
        ));
    }
    draft.address_span.get_or_insert(span);
    Ok(())
}

fn both() -> String {
    "ProxyBeaconListen and ProxyBeaconAddress exclude each other: a server either receives announcements or makes them; use a <VirtualHost> for the other role".into()
}

/// `ProxyBeaconAdvertise url`
pub fn proxy_beacon_advertise(b: &mut Build, args: &Args) -> Result<(), String> {
    let url = one(b, args)?;
    let origin = Origin::parse(url.as_bytes()).ok_or_else(|| {
        format!("ProxyBeaconAdvertise needs scheme://host[:port] with http, https, ws or wss and without a path, query or user (\"{url}\")")
    })?;
    if origin.reach() == Reach::Nowhere {
        return Err(format!(
            "ProxyBeaconAdvertise: \"{url}\" has a link-local, multicast or shortened address, which every receiver drops; write an address at which the proxies reach this server"
        ));
    }
    draft(b).advertise = Some(origin);
    Ok(())
}

/// `ProxyBeaconBalancer name`
pub fn proxy_beacon_balancer(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = one(b, args)?;
    let name = match worker_url::is_balancer(&word) {
        true => &word[11..],
        false => word.as_str(),
    };
    if name.is_empty() || name.contains('/') {
        return Err(format!(
            "ProxyBeaconBalancer needs the name of a balancer, with or without balancer:// (\"{word}\")"
        ));
    }
    let name = worker_url::balancer_name(&format!("balancer://{name}"))?;
    let span = b.span.clone();
    draft(b).balancer = Some((name, span));
    Ok(())
}

/// `ProxyBeaconInterval time`
pub fn proxy_beacon_interval(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = time(b, args)?;
    if value < SLICE {
        return Err(format!(
            "ProxyBeaconInterval must be at least {} ms, one slice of the watchdog",
            SLICE.as_millis()
        ));
    }
    let span = b.span.clone();
    draft(b).interval = Some((value, span));
    Ok(())
}

/// `ProxyBeaconTimeout time`
pub fn proxy_beacon_timeout(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = time(b, args)?;
    let span = b.span.clone();
    draft(b).timeout = Some((value, span));
    Ok(())
}

/// `ProxyBeaconMaxSkew time`
pub fn proxy_beacon_max_skew(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = time(b, args)?;
    if value.is_zero() {
        return Err("ProxyBeaconMaxSkew must be more than 0".into());
    }
    let span = b.span.clone();
    draft(b).max_skew = Some((value, span));
    Ok(())
}

/// `ProxyBeaconAllow NETWORK|NAME ...`
pub fn proxy_beacon_allow(b: &mut Build, args: &Args) -> Result<(), String> {
    let read = |word: &String| {
        Allowed::parse(word).ok_or_else(|| {
            format!("ProxyBeaconAllow takes networks (10.0.0.0/8, 2001:db8::/32), addresses and names of hosts (web1, *.example.com), not \"{word}\"")
        })
    };
    let list = args.words.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if list.is_empty() {
        return Err("ProxyBeaconAllow needs at least one network, address or name".into());
    }
    let span = b.span.clone();
    let draft = draft(b);
    draft.allow.extend(list);
    draft.allow_span.get_or_insert(span);
    Ok(())
}

/// `ProxyBeaconMac hmac-sha256|siphash|any`
pub fn proxy_beacon_mac(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = one(b, args)?;
    let policy = MacPolicy::by_name(&word).ok_or_else(|| {
        format!("ProxyBeaconMac must be one of: hmac-sha256 | siphash | any (\"{word}\")")
    })?;
    let span = b.span.clone();
    draft(b).mac = Some((policy, span));
    Ok(())
}

/// `ProxyBeaconSecret text`
pub fn proxy_beacon_secret(b: &mut Build, args: &Args) -> Result<(), String> {
    // What is wrong is said without the text.
    if args.len() > 1 {
        return Err("ProxyBeaconSecret takes one argument; put quotes around blanks".into());
    }
    let secret = args.get(0);
    let key = Key::of_secret(secret.as_bytes()).map_err(|e| format!("ProxyBeaconSecret: {e}"))?;
    if names_a_variable(secret) {
        return Err("ProxyBeaconSecret: the secret has a ${NAME} that is not defined, and whoever sees the configuration could sign with it".into());
    }
    let mut files: Vec<std::sync::Arc<str>> = vec![b.span.file.clone()];
    // What it was made of is shown by no dump either.
    for (name, value) in &mut b.facts.defines {
        if let Some(value) = value
            && value.len() >= SHORTEST_PIECE
            && secret.contains(value.as_str())
        {
            *value = HIDDEN.into();
            let places = b.facts.defined_in.iter().filter(|(n, _)| n == name);
            files.extend(places.map(|(_, file)| file.clone()));
        }
    }
    let mut open: Vec<&str> = files.iter().flat_map(|f| files_in(f)).collect();
    open.sort_unstable();
    open.dedup();
    for file in open {
        if *file == *COMMAND_LINE {
            b.warn("ProxyBeaconSecret: everybody on this machine can see the command line (ps), and the secret in it; use ProxyBeaconSecretFile");
        } else if std::fs::metadata(file).is_ok_and(|m| m.mode() & 0o004 != 0) {
            b.warn(format!(
                "ProxyBeaconSecret: everybody on this machine can read the secret in {file}; make it readable for its owner only (chmod 600), or use ProxyBeaconSecretFile"
            ));
        }
    }
    add_secret(b, key);
    Ok(())
}

fn names_a_variable(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("${") {
        if behind.find('}').is_some_and(|end| end > 0) {
            return true;
        }
        rest = behind;
    }
    false
}

/// `ProxyBeaconSecretFile path`
pub fn proxy_beacon_secret_file(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = one(b, args)?;
    is_path("ProxyBeaconSecretFile", &word)?;
    let path = b.path(&word);
    let key = secret_file(&path).map_err(|e| format!("ProxyBeaconSecretFile: {e}"))?;
    add_secret(b, key);
    Ok(())
}

/// Whoever writes the secret where a file's name belongs is told so, without the secret.
///
/// # Errors
/// That it is one.
pub fn is_path(option: &str, word: &str) -> Result<(), String> {
    let digits = word.strip_prefix("hex:").unwrap_or_default();
    if digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!(
            "{option}: that is a secret, not a path; write it into a file with mode 0600 and name the file here"
        ));
    }
    Ok(())
}

/// The key in the first line of a file that nobody but its owner can read.
///
/// # Errors
/// One line for people, without anything of the secret.
pub fn secret_file(path: &std::path::Path) -> Result<Key, String> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|e| format!("cannot look at {shown}: {e}"))?;
    if !meta.is_file() {
        return Err(format!("{shown} is no plain file"));
    }
    let mode = meta.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(format!(
            "{shown} has mode {mode:04o}, so that others can reach the secret; make it 0600"
        ));
    }
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Key::of_secret(line).map_err(|e| format!("{shown}: {e}"))
}

fn add_secret(b: &mut Build, key: Key) {
    let span = b.span.clone();
    draft(b).secrets.push(SecretDraft { key, span });
}

fn draft(b: &mut Build) -> &mut BeaconDraft {
    &mut b.server().beacon
}

fn one(b: &Build, args: &Args) -> Result<String, String> {
    match args.words.as_slice() {
        [word] => Ok(word.clone()),
        _ => Err(format!("{} takes one argument", b.directive)),
    }
}

fn time(b: &Build, args: &Args) -> Result<std::time::Duration, String> {
    let word = one(b, args)?;
    interval(&word, Unit::Seconds)
        .ok_or_else(|| format!("{}: \"{word}\" is no time; {TIME_FORM}", b.directive))
}

/// `host:port`, both parts; for command lines.
///
/// # Errors
/// What is wrong with it.
pub fn host_port(word: &str) -> Result<HostPort, String> {
    match place(word)? {
        (Some(host), Some(port)) => Ok(HostPort { host, port }),
        _ => Err(format!(
            "\"{word}\" is not host:port, both parts are needed"
        )),
    }
}

/// `[scheme://][host][:port]`; a word of digits is a port.
fn place(word: &str) -> Result<(Option<String>, Option<u16>), String> {
    let wrong = || format!("\"{word}\" is not [host][:port] (IPv6 addresses in brackets)");
    let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
    let (host, port) = match rest.rfind(':') {
        Some(at) if !rest[at..].contains(']') => (&rest[..at], Some(&rest[at + 1..])),
        _ if !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()) => ("", Some(rest)),
        _ => (rest, None),
    };
    let port = match port {
        None => None,
        Some(text) => Some(number::<u16>(text).filter(|p| *p > 0).ok_or_else(wrong)?),
    };
    let host = match host.strip_prefix('[') {
        Some(inner) => {
            let inner = inner.strip_suffix(']').ok_or_else(wrong)?;
            inner.parse::<std::net::Ipv6Addr>().map_err(|_| wrong())?;
            inner
        }
        None => host,
    };
    let bad = |b: u8| !b.is_ascii_graphic() || matches!(b, b'/' | b'@' | b'[' | b']');
    if host.bytes().any(bad) || (host.contains(':') && !rest.starts_with('[')) {
        return Err(wrong());
    }
    Ok(((!host.is_empty()).then(|| host.to_ascii_lowercase()), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let read = |w: &str| place(w).map(|(h, p)| (h.unwrap_or_default(), p.unwrap_or(0)));
        for (word, host, port) in [
            ("", "", 0),
            ("5555", "", 5555),
            (":5555", "", 5555),
            ("H", "h", 0),
            ("tcp://10.0.0.1:5555", "10.0.0.1", 5555),
            ("10.0.0.1", "10.0.0.1", 0),
            ("[::1]", "::1", 0),
            ("[::1]:9", "::1", 9),
            ("*:9", "*", 9),
        ] {
            assert_eq!(read(word), Ok((host.to_string(), port)), "{word}");
        }
        for word in [
            "h:0", "h:65536", "h:x", "h:", "::1", "[::1", "[x]:1", "u@h:1", "h:1/",
        ] {
            assert!(place(word).is_err(), "{word}");
        }
    }
}
