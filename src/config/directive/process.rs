//! The instance: listeners, run-time files, user, numbers of processes.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use super::value::{TIME_FORM, Unit, flag, interval, number};
use crate::config::args::Args;
use crate::config::draft::ListenDraft;
use crate::config::frame::Build;

/// httpd's largest ServerLimit.
const MAX_SERVER_LIMIT: u32 = 20_000;

/// `Listen [address:]port [protocol]`
pub fn listen(b: &mut Build, args: &Args) -> Result<(), String> {
    if !(1..=2).contains(&args.len()) {
        return Err("Listen requires 1 or 2 arguments.".into());
    }
    let word = args.get(0);
    let (addresses, any) = addresses(word)?;
    let protocol = args.opt(1).map(str::to_ascii_lowercase);
    if let Some(p) = &protocol
        && p.contains('=')
    {
        return Err(format!(
            "Listen options such as \"{p}\" are not there in this version of muster"
        ));
    }
    if protocol.as_deref() == Some("https") {
        b.warn(format!(
            "Listen {word} https: TLS is not there in this version of muster; the port speaks plain HTTP"
        ));
    }
    for address in addresses {
        if b.draft
            .listens
            .iter()
            .any(|l| l.address == address && l.any == any)
        {
            return Err("Cannot define multiple Listeners on the same IP:port".into());
        }
        let span = b.span.clone();
        b.draft.listens.push(ListenDraft {
            address,
            any,
            protocol: protocol.clone(),
            span,
        });
    }
    Ok(())
}

/// The addresses of a Listen line, and whether it stands for all.
fn addresses(word: &str) -> Result<(Vec<SocketAddr>, bool), String> {
    let wrong =
        || format!("Invalid address or port: \"{word}\" (write PORT, ADDRESS:PORT or [IPV6]:PORT)");
    let (host, port) = match word.rfind(':') {
        Some(i) => (&word[..i], &word[i + 1..]),
        None => ("", word),
    };
    if word.starts_with(':') || (host.contains(':') && !host.ends_with(']')) {
        return Err(wrong());
    }
    let port = match number::<u16>(port) {
        Some(p) if p > 0 => p,
        _ if !word.contains(':') && !word.bytes().all(|c| c.is_ascii_digit()) => {
            return Err(format!(
                "Port must be specified: \"{word}\" (write PORT, ADDRESS:PORT or [IPV6]:PORT)"
            ));
        }
        _ => return Err(wrong()),
    };
    if host.is_empty() || host == "*" {
        return Ok((
            vec![SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port)],
            true,
        ));
    }
    if let Ok(ip) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok((vec![SocketAddr::new(ip, port)], false));
    }
    let mut found: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map_err(|e| format!("Invalid address or port: the name \"{host}\" does not resolve: {e}"))?
        .collect();
    found.sort();
    found.dedup();
    Ok((found, false))
}

/// `AcceptFilter protocol none|data|httpready|dataready`
pub fn accept_filter(b: &mut Build, args: &Args) -> Result<(), String> {
    let defer = !args.get(1).eq_ignore_ascii_case("none");
    let protocol = args.get(0).to_ascii_lowercase();
    b.draft.accept_filters.retain(|(p, _)| *p != protocol);
    b.draft.accept_filters.push((protocol, defer));
    Ok(())
}

/// `PidFile path`
pub fn pid_file(b: &mut Build, args: &Args) -> Result<(), String> {
    b.draft.process.pid_file = Some(path(args)?);
    Ok(())
}

/// `ScoreBoardFile path`
pub fn score_board_file(b: &mut Build, args: &Args) -> Result<(), String> {
    b.draft.process.scoreboard_file = Some(path(args)?);
    Ok(())
}

/// `CoreDumpDirectory path`
pub fn core_dump_directory(b: &mut Build, args: &Args) -> Result<(), String> {
    let path = b.path(args.get(0));
    if !path.is_dir() {
        return Err(format!(
            "CoreDumpDirectory {} does not exist or is not a directory",
            path.display()
        ));
    }
    b.draft.process.core_dump_directory = Some(path);
    Ok(())
}

/// `User name|#id`
pub fn user(b: &mut Build, args: &Args) -> Result<(), String> {
    let name = args.get(0);
    check_id(name, "user")?;
    if name == "root" || name == "#0" {
        return Err("User root is refused: children must not run as root; name an unprivileged user such as www-data".into());
    }
    b.draft.process.user = Some((name.to_string(), b.span.clone()));
    Ok(())
}

/// `Group name|#id`
pub fn group(b: &mut Build, args: &Args) -> Result<(), String> {
    let name = args.get(0);
    check_id(name, "group")?;
    b.draft.process.group = Some((name.to_string(), b.span.clone()));
    Ok(())
}

/// A name that is not there is a fault; the supervisor looks it up again when it starts children.
fn check_id(name: &str, what: &str) -> Result<(), String> {
    let known = match name.strip_prefix('#') {
        Some(id) => number::<u32>(id).is_some(),
        None if what == "user" => matches!(nix::unistd::User::from_name(name), Ok(Some(_))),
        None => matches!(nix::unistd::Group::from_name(name), Ok(Some(_))),
    };
    if known {
        Ok(())
    } else {
        let number = if what == "user" { "AH00543" } else { "AH00544" };
        Err(format!("{number}: muster: bad {what} name {name}"))
    }
}

/// `StartServers n`
pub fn start_servers(b: &mut Build, args: &Args) -> Result<(), String> {
    let n = at_least_one(b, "AH00184", "StartServers", args)?;
    b.draft.process.start_servers = Some(n);
    Ok(())
}

/// `ServerLimit n`
pub fn server_limit(b: &mut Build, args: &Args) -> Result<(), String> {
    let mut n = at_least_one(b, "AH00177", "ServerLimit", args)?;
    if n > MAX_SERVER_LIMIT {
        b.warn(format!(
            "ServerLimit of {n} exceeds the limit of {MAX_SERVER_LIMIT} children, decreasing to it"
        ));
        n = MAX_SERVER_LIMIT;
    }
    b.draft.process.server_limit = Some(n);
    Ok(())
}

/// `MaxRequestWorkers n`
pub fn max_request_workers(b: &mut Build, args: &Args) -> Result<(), String> {
    let n = at_least_one(b, "AH00182", "MaxRequestWorkers", args)?;
    b.draft.process.max_request_workers = Some(n);
    Ok(())
}

/// `MaxConnectionsPerChild n`
pub fn max_connections_per_child(b: &mut Build, args: &Args) -> Result<(), String> {
    let n = number(args.get(0)).ok_or_else(|| not_a_number("MaxConnectionsPerChild", args))?;
    b.draft.process.max_connections_per_child = Some(n);
    Ok(())
}

/// `WatchdogInterval time`: how often heartbeats are sent; other jobs have intervals of their own.
pub fn watchdog_interval(b: &mut Build, args: &Args) -> Result<(), String> {
    let time = interval(args.get(0), Unit::Seconds).ok_or_else(|| {
        format!(
            "Unparse-able WatchdogInterval setting (\"{}\"; {TIME_FORM})",
            args.get(0)
        )
    })?;
    if time < Duration::from_millis(100) {
        return Err("Invalid WatchdogInterval: minimal value 100ms".into());
    }
    b.draft.process.watchdog_interval = Some(time);
    Ok(())
}

/// `GracefulShutdownTimeout seconds`
pub fn graceful_shutdown_timeout(b: &mut Build, args: &Args) -> Result<(), String> {
    let n: u32 =
        number(args.get(0)).ok_or_else(|| not_a_number("GracefulShutdownTimeout", args))?;
    b.draft.process.graceful_shutdown_timeout = Some(Duration::from_secs(n.into()));
    Ok(())
}

/// `ListenBackLog n`
pub fn listen_back_log(b: &mut Build, args: &Args) -> Result<(), String> {
    let n = number::<u32>(args.get(0))
        .filter(|n| (1..=0x7fff_ffff).contains(n))
        .ok_or("ListenBacklog must be > 0")?;
    b.draft.process.listen_backlog = Some(n);
    Ok(())
}

/// `SendBufferSize bytes`
pub fn send_buffer_size(b: &mut Build, args: &Args) -> Result<(), String> {
    b.draft.process.send_buffer = Some(buffer("SendBufferSize", args)?);
    Ok(())
}

/// `ReceiveBufferSize bytes`
pub fn receive_buffer_size(b: &mut Build, args: &Args) -> Result<(), String> {
    b.draft.process.receive_buffer = Some(buffer("ReceiveBufferSize", args)?);
    Ok(())
}

/// `ExtendedStatus On|Off`
pub fn extended_status(b: &mut Build, args: &Args) -> Result<(), String> {
    let on = flag(args.get(0)).ok_or("ExtendedStatus must be On or Off")?;
    b.draft.extended_status = Some(on);
    Ok(())
}

fn path(args: &Args) -> Result<PathBuf, String> {
    match args.get(0) {
        "" => Err("a file name is needed".into()),
        text => Ok(PathBuf::from(text)),
    }
}

fn at_least_one(b: &mut Build, code: &str, name: &str, args: &Args) -> Result<u32, String> {
    let n: u32 = number(args.get(0)).ok_or_else(|| not_a_number(name, args))?;
    if n == 0 {
        b.warn(format!(
            "{code}: WARNING: {name} of 0 not allowed, increasing to 1."
        ));
        return Ok(1);
    }
    Ok(n)
}

fn not_a_number(name: &str, args: &Args) -> String {
    format!(
        "{name} must be a number, 0 or above, not \"{}\"",
        args.get(0)
    )
}

fn buffer(name: &str, args: &Args) -> Result<u32, String> {
    number::<u32>(args.get(0))
        .filter(|n| *n == 0 || (512..=0x7fff_ffff).contains(n))
        .ok_or_else(|| format!("{name} must be >= 512 bytes, or 0 for system default."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses() {
        assert_eq!(
            addresses("8080").unwrap(),
            (vec!["[::]:8080".parse().unwrap()], true)
        );
        assert_eq!(
            addresses("*:80").unwrap(),
            (vec!["[::]:80".parse().unwrap()], true)
        );
        assert_eq!(
            addresses("127.0.0.1:80").unwrap(),
            (vec!["127.0.0.1:80".parse().unwrap()], false)
        );
        assert_eq!(
            addresses("[::1]:80").unwrap(),
            (vec!["[::1]:80".parse().unwrap()], false)
        );
        for bad in [
            "0",
            "70000",
            "127.0.0.1",
            "::1:80",
            ":80",
            "x",
            "127.0.0.1:",
            "127.0.0.1:0",
        ] {
            assert!(addresses(bad).is_err(), "{bad}");
        }
    }
}
