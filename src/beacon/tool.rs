//! `muster beacon check` and `muster beacon secret`: help for people who set it up.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use super::holder::bind_place;
use super::membership::{is_idle, names};
use crate::clock::{read_mono, read_wall};
use crate::codec::beacon::{
    Announcement, Key, LONGEST, MacPolicy, Origin, Reach, Refusal, Verifier,
};
use crate::config::beacon::{Allowed, HostPort, Receiver, admit};
use crate::config::directive::beacon::{host_port, is_path, secret_file};
use crate::config::directive::value::{Unit, interval};
use crate::config::settings::Settings;
use crate::shm::{BeaconRole, Snapshot, inspect, status};
use crate::sys::stdout;

const USAGE: &str = "usage: muster beacon check [DATAGRAM]           judge it (else standard input) as a receiver would
       muster beacon check --listen HOST:PORT    judge what comes in, until interrupted
           with --secret-file FILE [--mac hmac-sha256|siphash|any] [--max-skew 30], or as the
           configuration's first receiver does, or the one at --receiver HOST:PORT (as in its
           ProxyBeaconListen); its leases are then looked at too
       muster beacon secret FILE                 make a file with a random secret, mode 0600";

/// Runs it with the words behind `beacon`. `load` reads the configuration, where it is needed.
/// Gives the exit status: of a check 0 when the datagram is accepted, 1 when it is not.
pub fn main(words: &[OsString], load: impl FnOnce() -> Result<Settings, Vec<String>>) -> i32 {
    let texts: Vec<String> = words
        .iter()
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let asks = |w: &String| w == "--help" || w == "-h";
    let result = match texts.split_first() {
        Some(_) if texts.iter().any(asks) => Ok(stdout::print(&format!("{USAGE}\n"))),
        Some((verb, rest)) if verb == "check" => check(rest, load),
        Some((verb, [file])) if verb == "secret" => match file.starts_with('-') {
            true => Err(format!(
                "{file} is no option of it; a file of that name is ./{file}\n{USAGE}"
            )),
            false => secret(Path::new(file)),
        },
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(status) => status,
        Err(text) => {
            // With standard error closed there is nobody to tell.
            let _ = writeln!(io::stderr().lock(), "{text}");
            2
        }
    }
}

/// 128 random bits, as `ProxyBeaconSecretFile` wants them.
fn secret(path: &Path) -> Result<i32, String> {
    let shown = path.display();
    let mut random = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut f| f.read_exact(&mut random))
        .map_err(|e| format!("cannot read /dev/urandom: {e}"))?;
    let digits: String = random.iter().map(|b| format!("{b:02x}")).collect();
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{shown} is there already; a secret is never overwritten")
            }
            _ => format!("cannot make {shown}: {e}"),
        })?;
    if let Err(e) = file.write_all(format!("hex:{digits}\n").as_bytes()) {
        // Half a secret would be in the way of the next try.
        let _ = std::fs::remove_file(path);
        return Err(format!("cannot write {shown}: {e}"));
    }
    Ok(stdout::print(&format!(
        "made {shown}: copy it to each backend, and name it in ProxyBeaconSecretFile and --secret-file\n"
    )))
}

/// How datagrams are judged, and what is known beside them.
struct Judge {
    verifier: Verifier,
    receiver: Option<Receiver>,
    table: Option<Snapshot>,
}

fn check(
    words: &[String],
    load: impl FnOnce() -> Result<Settings, Vec<String>>,
) -> Result<i32, String> {
    let mut keys: Vec<Key> = Vec::new();
    let mut policy = None;
    let mut max_skew = None;
    let mut listen = None;
    let mut datagram: Option<String> = None;
    let mut at = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--secret-file" => {
                let value = value()?;
                is_path(word, value)?;
                keys.push(secret_file(Path::new(value)).map_err(|e| format!("{word}: {e}"))?);
            }
            "--mac" => {
                let name = value()?;
                policy = Some(MacPolicy::by_name(name).ok_or_else(|| {
                    format!("--mac needs hmac-sha256, siphash or any, not \"{name}\"")
                })?);
            }
            "--max-skew" => {
                let text = value()?;
                let time = interval(text, Unit::Seconds).filter(|d| !d.is_zero());
                max_skew =
                    Some(time.ok_or_else(|| format!("--max-skew needs a time, not \"{text}\""))?);
            }
            "--listen" => listen = Some(host_port(value()?)?),
            "--receiver" => at = Some(value()?.to_ascii_lowercase()),
            other if other.starts_with("--") => {
                return Err(format!("{other} is no option of it\n{USAGE}"));
            }
            other => {
                if datagram.replace(other.to_owned()).is_some() {
                    return Err(
                        "one datagram at a time, as one word (put quotes around it)".to_owned()
                    );
                }
            }
        }
    }
    if listen.is_some() && datagram.is_some() {
        return Err(
            "--listen judges what comes in, so a datagram beside it is too much".to_owned(),
        );
    }
    if at.is_some() && !keys.is_empty() {
        return Err("--receiver names one of the configuration's, whose secret is used; leave --secret-file or it out".to_owned());
    }
    let (mut receiver, mut table) = (None, None);
    if keys.is_empty() {
        let settings = load().map_err(|lines| lines.join("\n"))?;
        let all = &settings.receivers;
        if all.is_empty() {
            return Err(
                "the configuration has no ProxyBeaconListen; name the secret with --secret-file"
                    .to_owned(),
            );
        }
        let known = || all.iter().map(|r| r.place.to_string());
        let r = match &at {
            None => &all[0],
            Some(text) => all
                .iter()
                .find(|r| r.place.to_string() == *text)
                .ok_or_else(|| {
                    format!(
                        "no receiver of the configuration is at {text}; there is {}",
                        known().collect::<Vec<_>>().join(", ")
                    )
                })?,
        };
        if all.len() > 1 && at.is_none() {
            stdout::complain(&format!(
                "judged as the receiver at {} does; --receiver chooses another: {}",
                r.place,
                known().skip(1).collect::<Vec<_>>().join(", ")
            ));
        }
        keys.clone_from(&r.keys);
        policy = policy.or(Some(r.policy));
        max_skew = max_skew.or(Some(r.max_skew));
        receiver = Some(r.clone());
        // Without a running instance the datagram itself is judged all the same.
        table = inspect::read(&settings.process.scoreboard_file).ok();
    }
    let max_skew = max_skew.unwrap_or(Duration::from_secs(30));
    let judge = Judge {
        verifier: Verifier {
            keys,
            policy: policy.unwrap_or_default(),
            max_skew: i64::try_from(max_skew.as_micros()).unwrap_or(i64::MAX),
        },
        receiver,
        table,
    };
    if let Some(place) = listen {
        return follow(&judge, &place);
    }
    let bytes = match datagram {
        Some(text) => text.into_bytes(),
        None => {
            let mut bytes = Vec::new();
            io::stdin()
                .take(1 << 16)
                .read_to_end(&mut bytes)
                .map_err(|e| format!("cannot read standard input: {e}"))?;
            // An editor's or echo's line end is none of the datagram's.
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            bytes
        }
    };
    let (accepted, text) = judge.say(&bytes, None);
    match stdout::print(&format!("{text}\n")) {
        0 => Ok(i32::from(!accepted)),
        failed => Ok(failed),
    }
}

fn follow(judge: &Judge, place: &HostPort) -> Result<i32, String> {
    let fail = |e: io::Error| match e.kind() {
        io::ErrorKind::AddrInUse => format!(
            "cannot listen on {place}: {e}; if a running muster has it, name another port and have backends announce there too"
        ),
        _ => format!("cannot listen on {place}: {e}"),
    };
    let socket = UdpSocket::from(bind_place(place).map_err(fail)?);
    socket.set_nonblocking(false).map_err(fail)?;
    let here = socket.local_addr().map_err(fail)?;
    stdout::complain(&format!("listening at {here}"));
    let mut buffer = vec![0; LONGEST + 64];
    loop {
        let (n, from) = socket.recv_from(&mut buffer).map_err(fail)?;
        let (_, text) = judge.say(&buffer[..n], Some(from.ip()));
        let line = format!("{from} {text}\n");
        if stdout::write(&line).is_err() {
            // Once more, for the message and the status.
            return Ok(stdout::print(&line));
        }
    }
}

impl Judge {
    /// Whether it is accepted, and a line that says what comes of it and why. `from`: who sent it,
    /// where that is known.
    fn say(&self, bytes: &[u8], from: Option<IpAddr>) -> (bool, String) {
        let now = read_wall().0;
        match self.verifier.judge(bytes, now) {
            Err(why) => (false, format!("dropped: {}{}", why.text(), hint(why))),
            Ok(a) => {
                let off = (a.ts - now) as f64 / 1e6;
                let signed = format!(
                    "signed with {}{}, its clock differs by {off:+.3} s",
                    a.algorithm.name(),
                    if a.key > 0 { " and the old secret" } else { "" }
                );
                let outcome = match &a.origin {
                    None => Ok("it names no url, so it would be logged only".to_owned()),
                    Some(origin) => {
                        let what = self
                            .misled(origin, from)
                            .map_or_else(|| self.outcome(origin, &a), Err);
                        what.map(|what| what + self.caution(origin, from))
                    }
                };
                match outcome {
                    Ok(what) => (true, format!("accepted ({signed}): {what}")),
                    Err((why, what)) => {
                        (false, format!("dropped: {} ({signed}): {what}", why.text()))
                    }
                }
            }
        }
    }

    /// What the receiver's leases say of it.
    fn outcome(&self, origin: &Origin, a: &Announcement<'_>) -> Result<String, (Refusal, String)> {
        let url = origin.as_str();
        let Some(r) = &self.receiver else {
            return Ok(match a.leaving {
                true => format!("{url} leaves, so it would get no new requests"),
                false => format!("{url} would join or renew its lease"),
            });
        };
        let Some(name) = r.balancer.as_ref().map(|b| b.name.as_str()) else {
            return Ok(format!(
                "{url} would be logged only, since there is no ProxyBeaconBalancer"
            ));
        };
        let beacons = self.table.iter().flat_map(|t| &t.beacons);
        let place = r.place.to_string();
        let known = beacons
            .filter(|b| b.role == BeaconRole::Receiver && b.balancer == name)
            .max_by_key(|b| b.address == place);
        let Some(known) = known else {
            let what = match a.leaving {
                true => format!("{url} leaves, so it would get no new requests in {name}"),
                false => format!("{url} would join {name} or renew its lease"),
            };
            return Ok(format!("{what} (no instance is running)"));
        };
        if let Some(lease) = known.leases.iter().find(|l| l.url == url) {
            if a.ts <= lease.last_ts {
                let what =
                    format!("{url} has announced itself with a later or the same time stamp");
                return Err((Refusal::Replayed, what));
            }
            return Ok(match (a.leaving, lease.state.added, lease.state.evicted) {
                (true, _, _) => format!("{url} would get no new requests in {name}"),
                (_, true, true) => format!("{url} would be enabled again in {name}"),
                (_, true, false) => format!("{url} would renew its lease in {name}"),
                (_, false, _) => {
                    format!("adding {url} to {name} failed before; it is tried again once a minute")
                }
            });
        }
        if known.leases.len() >= crate::shm::LEASES {
            let now = read_mono();
            let idle = known
                .leases
                .iter()
                .filter(|l| is_idle(&l.state, now.since(l.last_seen), r.max_skew * 2));
            if idle.count() == 0 {
                return Err((
                    Refusal::TableFull,
                    format!("{} backends are known already", known.leases.len()),
                ));
            }
        }
        let balancers = self.table.iter().flat_map(|t| &t.balancers);
        let member = balancers
            .filter(|b| b.name == name)
            .flat_map(|b| &b.members)
            .find(|m| names(&m.name, url));
        match member {
            Some(m) if m.status & status::BEACON == 0 => Err((
                Refusal::NotManaged,
                format!(
                    "{url} is a member of {name} that the configuration or an administrator made"
                ),
            )),
            Some(_) => Ok(format!("{url} would take its place in {name} again")),
            None if a.leaving => Ok(format!("{url} is no member of {name}")),
            None => Ok(format!("{url} would be added to {name}")),
        }
    }

    fn allow(&self) -> &[Allowed] {
        self.receiver.as_ref().map_or(&[], |r| &r.allow)
    }

    /// Why a receiver refuses where the URL leads.
    fn misled(&self, origin: &Origin, from: Option<IpAddr>) -> Option<(Refusal, String)> {
        let why = admit(self.allow(), origin, from).err()?;
        let what = match (why, origin.reach()) {
            (Refusal::NotAllowed, _) => "is not where ProxyBeaconAllow lets backends be",
            (_, Reach::ThisMachine) => {
                "leads to the receiver's own machine, which only a sender on it may announce"
            }
            _ => "is a link-local, multicast or shortened address, which no sender may announce",
        };
        Some((why, format!("{origin} {what}")))
    }

    fn caution(&self, origin: &Origin, from: Option<IpAddr>) -> &'static str {
        match origin.reach() {
            Reach::ThisMachine if from.is_none() && self.allow().is_empty() => {
                " if it comes from the receiver's own machine, else it is dropped: unacceptable url"
            }
            _ => "",
        }
    }
}

fn hint(why: Refusal) -> &'static str {
    match why {
        Refusal::MacMismatch => " (another secret, or the text was changed)",
        Refusal::MacAlgorithm => " (see ProxyBeaconMac on both sides)",
        Refusal::Stale => " (the clocks differ by more than ProxyBeaconMaxSkew, or it is old)",
        Refusal::NoMac => " (announcements end in \" mac=\" and 16 or 64 digits)",
        Refusal::Url => " (scheme://host[:port] with http, https, ws or wss; no path, query, user)",
        _ => "",
    }
}
