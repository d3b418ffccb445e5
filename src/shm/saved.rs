//! What was changed at run time, in a file: BalancerPersist (spec: balancer 12).
//!
//! A text file of one record a line: a checksum, the record's kind, and `name=value` fields with
//! percent escapes. Unknown fields and kinds are skipped, so that another version can read it; a
//! damaged record is left out and told. Records are matched by names. Beside each value stands what
//! the configuration said of it when it was saved: where the configuration says something else now,
//! the configuration counts.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::assign::Assignment;
use super::grown::NewMember;
use super::health;
use super::overruled;
use super::record::{
    BalancerSlot, FLAG_MAX_ATTEMPTS, FLAG_NO_FAILOVER, HealthSlot, USED, WorkerSlot,
};
use super::rows::digest;
use super::scoreboard::Scoreboard;
use super::status;
use crate::clock;
use crate::config::directive::balancer_param;
use crate::config::settings::{Balancer, Settings};
use crate::config::worker_url::WorkerUrl;

/// The first line.
const HEADING: &str = "muster-balancers 1";
/// No such file is longer; more is damage.
const LONGEST: u64 = 64 << 20;
/// Bits that outlive a stop: errors are found out anew.
const KEPT: u32 = status::DISABLED
    | status::STOPPED
    | status::DRAIN
    | status::STANDBY
    | status::SPARE
    | status::IGNORE
    | status::HEALTH_FAILED
    | status::BEACON;

/// The state file that belongs to a table.
pub fn path_for(table: &Path) -> PathBuf {
    table.with_extension("balancers")
}

/// Whether any server wants its balancers' changes kept.
pub fn wanted(settings: &Settings) -> bool {
    settings.servers.iter().any(|s| s.proxy.persist)
}

/// Never waits for another end of a pipe, nor follows a link.
const CAREFUL: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;

/// Opens a state file for writing, as it is: nonces will be in it.
///
/// # Errors
/// Of the file system, or that something else than a file of this name alone is there.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(CAREFUL)
        .open(path)?;
    let m = file.metadata()?;
    match m.is_file() && m.nlink() <= 1 {
        true => Ok(file),
        false => Err(no_file()),
    }
}

fn no_file() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is no plain file of one name; remove it",
    )
}

/// Replaces a file by one with this text, mode 0600, so that at any time one of the two is there:
/// beside it (at `path` with `extension`), then renamed. Whatever stood beside it is removed, not
/// written into: it may be a pipe, or another name of somebody else's file.
///
/// # Errors
/// Of the file system; the old file stays then, and nothing beside it.
pub(super) fn replace(path: &Path, extension: &str, text: &str) -> io::Result<()> {
    let beside = path.with_extension(extension);
    match fs::remove_file(&beside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let written = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(CAREFUL)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    let result = written();
    if result.is_err() {
        // What is half there helps nobody, least of all on a full disk.
        let _ = fs::remove_file(&beside);
    }
    result
}

/// Balancers of servers with BalancerPersist On.
fn balancers(settings: &Settings) -> impl Iterator<Item = &Balancer> {
    let persist = |b: &&Balancer| settings.server(b.server).proxy.persist;
    settings.balancers.iter().filter(persist)
}

impl Scoreboard {
    /// Writes the file: beside it, then renamed, mode 0600 (nonces are in it).
    ///
    /// # Errors
    /// Of the file system; the old file stays then.
    pub fn save(
        &self,
        settings: &Settings,
        rows: &Assignment,
        path: &Path,
    ) -> Result<(), io::Error> {
        replace(path, "balancers.new", &self.state_text(settings, rows))
    }

    /// The same into an open file, for who may not rename where it is.
    ///
    /// # Errors
    /// Of the file system; what the file holds then is left out by the next reader.
    pub fn save_into(
        &self,
        settings: &Settings,
        rows: &Assignment,
        file: &mut File,
    ) -> Result<(), io::Error> {
        let out = self.state_text(settings, rows);
        file.set_len(0)?;
        file.write_all(out.as_bytes())?;
        file.sync_all()
    }

    fn state_text(&self, settings: &Settings, rows: &Assignment) -> String {
        let mut out = format!("{HEADING}\n");
        for b in balancers(settings) {
            let Some(row) = rows.balancer(b.no) else {
                continue;
            };
            let Some(slot) = self.table.balancer(usize::from(row.0)) else {
                continue;
            };
            let server = slot.seq.read(|| slot.server.string());
            write_balancer(&mut out, slot);
            let configured = b.members.iter().filter_map(|&no| rows.worker(no));
            for row in configured.chain(rows.grown(b.no).iter().copied()) {
                let row = usize::from(row.0);
                if let (Some(w), Some(h)) = (self.table.worker(row), self.table.health(row))
                    && w.used.load(Relaxed) == USED
                {
                    let traffic = self.bytes_of(row, w);
                    write_member(&mut out, &server, &b.name, w, h, traffic);
                }
            }
        }
        out
    }

    /// Takes over what the file says into a table whose rows were just assigned. Gives what is
    /// worth telling: each with whether it is a warning.
    pub fn restore(
        &self,
        settings: &Settings,
        rows: &Assignment,
        path: &Path,
    ) -> Vec<(bool, String)> {
        let mut told = Vec::new();
        let records = match read(path, HEADING, &mut told) {
            Ok(records) => records,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return told,
            Err(e) => return vec![(true, format!("{}: {e}", path.display()))],
        };
        let mut known = Vec::new();
        for b in balancers(settings) {
            let Some(row) = rows.balancer(b.no) else {
                continue;
            };
            let Some(slot) = self.table.balancer(usize::from(row.0)) else {
                continue;
            };
            let server = slot.seq.read(|| slot.server.string());
            let own = |r: &&Record, kind: &str| r.kind == kind && r.get("server") == server;
            known.push((server.clone(), b.name.clone()));
            let found = records
                .iter()
                .find(|r| own(r, "balancer") && r.get("name") == b.name);
            if let Some(r) = found {
                restore_balancer(slot, r, &b.name, &mut told);
            }
            let members = records
                .iter()
                .filter(|r| own(r, "member") && r.get("balancer") == b.name);
            let mut configured = HashMap::new();
            for &no in &b.members {
                if let Some(row) = rows.worker(no) {
                    configured.insert(settings.worker(no).name.clone(), row);
                }
            }
            for r in members {
                let name = r.get("name");
                let row = match configured.get(name) {
                    Some(&row) => row,
                    None if r.number("grown") != Some(1) => continue,
                    None => {
                        let new = NewMember {
                            name,
                            route: "",
                            load_factor: 100,
                            status: 0,
                        };
                        let good = WorkerUrl::parse(name).is_ok_and(|u| u.name == name);
                        let room = if good { rows.grown(b.no) } else { &[] };
                        match self.put_member(row, room, &new) {
                            Some(row) => row,
                            None => {
                                let text = format!(
                                    "{}: no room for {name}, which was added at run time; a larger growth= would have kept it",
                                    b.name
                                );
                                told.push((true, text));
                                continue;
                            }
                        }
                    }
                };
                let row = usize::from(row.0);
                if let (Some(w), Some(h)) = (self.table.worker(row), self.table.health(row)) {
                    restore_member(w, h, r, &mut told);
                }
            }
            self.changed(row);
        }
        for r in records.iter().filter(|r| r.kind == "member") {
            let place = (r.get("server").to_owned(), r.get("balancer").to_owned());
            if r.number("grown") == Some(1) && !known.contains(&place) {
                let text = format!(
                    "{}: {}, which was added at run time, is gone: there is no such balancer with BalancerPersist On in the server \"{}\" any more (a server with another name or address is another one)",
                    place.1,
                    r.get("name"),
                    place.0
                );
                told.push((true, text));
            }
        }
        told
    }

    fn bytes_of(&self, row: usize, w: &WorkerSlot) -> (u64, u64) {
        let all = (0..self.table.layout().counts.slots).filter_map(|s| self.table.cell(s, row));
        let past = (w.past_sent.load(Relaxed), w.past_received.load(Relaxed));
        all.fold(past, |(sent, received), c| {
            (
                sent.saturating_add(c.sent.load(Relaxed)),
                received.saturating_add(c.received.load(Relaxed)),
            )
        })
    }
}

/// A line being written.
pub(super) struct Line(String);

impl Line {
    pub(super) fn new(kind: &str) -> Line {
        Line(kind.to_owned())
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        const BAD: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'=');
        let _ = write!(self.0, " {name}={}", utf8_percent_encode(value, BAD));
    }

    pub(super) fn number(&mut self, name: &str, value: u64) {
        let _ = write!(self.0, " {name}={value}");
    }

    pub(super) fn end(self, out: &mut String) {
        let _ = writeln!(out, "{:016x} {}", digest(&[&self.0]), self.0);
    }
}

fn write_balancer(out: &mut String, s: &BalancerSlot) {
    let mut l = Line::new("balancer");
    s.seq.read(|| {
        l = Line::new("balancer");
        l.text("server", &s.server.string());
        l.text("name", &s.name.string());
        l.text("lbmethod", &s.lbmethod.string());
        l.text("cookie", &s.cookie.string());
        l.text("param", &s.param.string());
        l.text("nonce", &s.nonce.string());
    });
    let flags = s.flags.load(Relaxed);
    l.number("nofailover", u64::from(flags & FLAG_NO_FAILOVER != 0));
    l.number("attempts_set", u64::from(flags & FLAG_MAX_ATTEMPTS != 0));
    l.number("attempts", s.max_attempts.load(Relaxed).into());
    l.number("timeout", s.timeout_ms.load(Relaxed));
    l.number("conf_flags", s.conf_flags.load(Relaxed).into());
    l.number("conf_attempts", s.conf_max_attempts.load(Relaxed).into());
    l.number("conf_timeout", s.conf_timeout_ms.load(Relaxed));
    l.number("conf_lbmethod", s.conf_lbmethod.load(Relaxed));
    l.number("conf_sticky", s.conf_sticky.load(Relaxed));
    l.number("conf_nonce", s.conf_nonce.load(Relaxed));
    l.end(out);
}

fn restore_balancer(s: &BalancerSlot, r: &Record, name: &str, told: &mut Vec<(bool, String)>) {
    let mut same = |what: &str, key: &str, now: u64| {
        let same = r.number(key) == Some(now);
        if !same && r.number(key).is_some() {
            told.push((false, overruled::line(name, "", what)));
        }
        same
    };
    let conf_flags = s.conf_flags.load(Relaxed);
    let method = same("lbmethod", "conf_lbmethod", s.conf_lbmethod.load(Relaxed));
    let sticky = same("stickysession", "conf_sticky", s.conf_sticky.load(Relaxed));
    let nonce = same("nonce", "conf_nonce", s.conf_nonce.load(Relaxed));
    let fits = |key: &str, most: usize| r.get(key).len() <= most;
    // A right checksum says that the record is whole, not that muster wrote it.
    let known_method = balancer_param::method(r.get("lbmethod")).ok();
    let names = [r.get("cookie"), r.get("param")];
    let good_names = names.iter().all(|n| n.is_empty())
        || names.iter().all(|n| balancer_param::is_sticky_name(n))
        || digest(&names) == s.conf_sticky.load(Relaxed);
    s.seq.write(|| {
        if method && let Some(name) = &known_method {
            s.lbmethod.set(name.as_bytes());
        }
        if sticky && good_names {
            s.cookie.set(r.get("cookie").as_bytes());
            s.param.set(r.get("param").as_bytes());
        }
        if nonce && !r.get("nonce").is_empty() && fits("nonce", 36) {
            s.nonce.set(r.get("nonce").as_bytes());
        }
    });
    if same("timeout", "conf_timeout", s.conf_timeout_ms.load(Relaxed))
        && let Some(ms) = r.number("timeout").filter(|ms| *ms <= 7_200_000)
    {
        s.timeout_ms.store(ms, Relaxed);
    }
    let before = r.number("conf_flags").unwrap_or(0) as u32 ^ conf_flags;
    if before & FLAG_NO_FAILOVER == 0 {
        put_flag(
            &s.flags,
            FLAG_NO_FAILOVER,
            r.number("nofailover") == Some(1),
        );
    } else {
        same("nofailover", "conf_flags", conf_flags.into());
    }
    let attempts = s.conf_max_attempts.load(Relaxed).into();
    if before & FLAG_MAX_ATTEMPTS == 0 && same("maxattempts", "conf_attempts", attempts) {
        put_flag(
            &s.flags,
            FLAG_MAX_ATTEMPTS,
            r.number("attempts_set") == Some(1),
        );
        let n = r.number("attempts").and_then(|n| u32::try_from(n).ok());
        s.max_attempts.store(n.unwrap_or(0), Relaxed);
    } else if before & FLAG_MAX_ATTEMPTS != 0 {
        same("maxattempts", "conf_flags", conf_flags.into());
    }
}

fn put_flag(flags: &AtomicU32, bit: u32, on: bool) {
    if on {
        flags.fetch_or(bit, Relaxed);
    } else {
        flags.fetch_and(!bit, Relaxed);
    }
}

fn write_member(
    out: &mut String,
    server: &str,
    balancer: &str,
    w: &WorkerSlot,
    h: &HealthSlot,
    traffic: (u64, u64),
) {
    let mut l = Line::new("member");
    w.seq.read(|| {
        l = Line::new("member");
        l.text("server", server);
        l.text("balancer", balancer);
        l.text("name", &w.name.string());
        l.text("route", &w.route.string());
        l.text("redirect", &w.redirect.string());
        l.text("conf_route", &w.conf_route.string());
        l.text("conf_redirect", &w.conf_redirect.string());
    });
    for (name, word) in words(w) {
        l.number(name, word.load(Relaxed).into());
    }
    l.number("elected", w.elected.load(Relaxed));
    l.number("sent", traffic.0);
    l.number("received", traffic.1);
    l.number("missed", w.missed.load(Relaxed));
    if let Some(at) = wall_of(&w.error_time) {
        l.number("error_time", at);
    }
    l.text("hcuri", &h.seq.read(|| h.uri.string()));
    l.text("hcexpr", &h.seq.read(|| h.expression.string()));
    for (name, word) in health_words(h) {
        l.number(name, word.load(Relaxed).into());
    }
    for (name, word) in health_longs(h) {
        l.number(name, word.load(Relaxed));
    }
    l.end(out);
}

fn words(w: &WorkerSlot) -> [(&'static str, &AtomicU32); 7] {
    [
        ("grown", &w.grown),
        ("status", &w.status),
        ("factor", &w.load_factor),
        ("lbset", &w.lbset),
        ("conf_status", &w.conf_status),
        ("conf_factor", &w.conf_load_factor),
        ("conf_lbset", &w.conf_lbset),
    ]
}

fn health_words(h: &HealthSlot) -> [(&'static str, &AtomicU32); 6] {
    [
        ("hcmethod", &h.method),
        ("hcpasses", &h.passes),
        ("hcfails", &h.fails),
        ("conf_hcmethod", &h.conf_method),
        ("conf_hcpasses", &h.conf_passes),
        ("conf_hcfails", &h.conf_fails),
    ]
}

fn health_longs(h: &HealthSlot) -> [(&'static str, &AtomicU64); 4] {
    [
        ("hcinterval", &h.interval_ms),
        ("conf_hcinterval", &h.conf_interval_ms),
        ("conf_hcuri", &h.conf_uri),
        ("conf_hcexpr", &h.conf_expression),
    ]
}

fn restore_member(w: &WorkerSlot, h: &HealthSlot, r: &Record, told: &mut Vec<(bool, String)>) {
    // A member added at run time has no configuration to follow, unless the new one names it: then
    // all of it counts.
    let added = w.grown.load(Relaxed) != 0;
    let named_now = !added && r.number("grown") == Some(1);
    if named_now {
        let text = overruled::named_now(r.get("balancer"), r.get("name"));
        told.push((false, text));
    }
    let mut same = |what: &str, key: &str, now: u64| {
        let saved = r.number(key);
        if added || saved == Some(now) {
            return true;
        }
        if saved.is_some() && !named_now {
            told.push((
                false,
                overruled::line(r.get("balancer"), r.get("name"), what),
            ));
        }
        false
    };
    let short = |key: &str| u32::try_from(r.number(key)?).ok();
    if same(
        "loadfactor",
        "conf_factor",
        w.conf_load_factor.load(Relaxed).into(),
    ) && let Some(n) = short("factor").filter(|n| (100..=10_000).contains(n))
    {
        w.load_factor.store(n, Relaxed);
    }
    if same("lbset", "conf_lbset", w.conf_lbset.load(Relaxed).into())
        && let Some(n) = short("lbset").filter(|n| *n <= 99)
    {
        w.lbset.store(n, Relaxed);
    }
    if same("status", "conf_status", w.conf_status.load(Relaxed).into())
        && let Some(bits) = short("status")
    {
        w.status.store((bits & KEPT) | status::INIT, Release);
    }
    for (key, conf_key, conf, value) in [
        ("route", "conf_route", &w.conf_route, &w.route),
        ("redirect", "conf_redirect", &w.conf_redirect, &w.redirect),
    ] {
        let text = r.get(key);
        let same = added || !named_now && conf.is(r.get(conf_key).as_bytes());
        if same && text.len() <= WorkerSlot::MAX_ROUTE {
            w.seq.write(|| value.set(text.as_bytes()));
        } else if !same && !named_now {
            told.push((
                false,
                overruled::line(r.get("balancer"), r.get("name"), key),
            ));
        }
    }
    let counter = |key: &str| r.number(key).unwrap_or(0);
    w.elected.store(counter("elected"), Relaxed);
    w.seen_elected.store(counter("elected"), Relaxed);
    w.past_sent.store(counter("sent"), Relaxed);
    w.past_received.store(counter("received"), Relaxed);
    w.missed.store(counter("missed"), Relaxed);
    if let Some(at) = r.number("error_time") {
        let ago = (clock::read_wall().seconds().max(0) as u64).saturating_sub(at);
        let now = clock::read_mono().0;
        let then = now.saturating_sub(ago.saturating_mul(1_000_000_000));
        w.error_time.store(then.max(1), Relaxed);
    }
    health::restore(
        h,
        added,
        |key| r.number(key).filter(|_| !named_now),
        |key| r.fields.get(key).map(String::as_str),
        |what| {
            told.push((
                false,
                overruled::line(r.get("balancer"), r.get("name"), what),
            ))
        },
    );
    // Failed by checks that the configuration has no more: nobody would ever find it well again.
    let was_checked = r.number("hcmethod").is_some_and(|method| method != 0);
    let configured = w.conf_status.load(Relaxed) & status::HEALTH_FAILED != 0;
    if was_checked && !health::is_checked(h) && !configured {
        w.status.fetch_and(!status::HEALTH_FAILED, Release);
    }
    w.updated.store(clock::read_wall().0, Relaxed);
}

/// A monotonic time as seconds since 1970.
fn wall_of(mono: &AtomicU64) -> Option<u64> {
    let at = mono.load(Relaxed);
    if at == 0 {
        return None;
    }
    let ago = clock::read_mono().0.saturating_sub(at) / 1_000_000_000;
    u64::try_from(clock::read_wall().seconds())
        .ok()?
        .checked_sub(ago)
}

/// A line that was read.
pub(super) struct Record {
    kind: String,
    fields: HashMap<String, String>,
}

impl Record {
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.fields.get(name)?.parse().ok()
    }
}

/// The records of a file with this first line; what is damaged is told and left out.
pub(super) fn read(
    path: &Path,
    heading: &str,
    told: &mut Vec<(bool, String)>,
) -> Result<Vec<Record>, io::Error> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(CAREFUL)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(no_file());
    }
    let mut text = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut text)?;
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    if text.len() as u64 > LONGEST {
        return Err(bad("it is too long to be a state file of muster; not read"));
    }
    if text.is_empty() {
        // Opened by somebody who did not come to write.
        return Ok(Vec::new());
    }
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines();
    if lines.next() != Some(heading) {
        return Err(bad(
            "it is no state file of this version of muster; not read",
        ));
    }
    let mut records = Vec::new();
    for (i, line) in lines.enumerate() {
        match record(line) {
            Some(record) => records.push(record),
            None => {
                let text = format!("{}: line {} is damaged and left out", path.display(), i + 2);
                told.push((true, text));
            }
        }
    }
    Ok(records)
}

fn record(line: &str) -> Option<Record> {
    let (sum, rest) = line.split_once(' ')?;
    if u64::from_str_radix(sum, 16).ok()? != digest(&[rest]) {
        return None;
    }
    let mut words = rest.split(' ');
    let kind = words.next()?.to_owned();
    let mut fields = HashMap::new();
    for word in words {
        let (name, value) = word.split_once('=')?;
        let value = percent_decode_str(value).decode_utf8().ok()?;
        if value.chars().any(char::is_control) {
            // They would reach response fields.
            return None;
        }
        fields.insert(name.to_owned(), value.into_owned());
    }
    Some(Record { kind, fields })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::test_dir;
    use std::os::unix::fs::PermissionsExt;

    /// Whoever may write beside the table plants a pipe, another name of a file or a directory
    /// there: nothing hangs on it, and nothing is written into what is somebody else's.
    #[test]
    fn what_stands_where_a_state_file_belongs_is_neither_waited_for_nor_written_into() {
        let dir = test_dir("planted");
        let (path, beside) = (dir.join("b.state"), dir.join("b.new"));
        let victim = dir.join("victim");
        fs::write(&victim, "precious").unwrap();
        let pipe = |at: &Path| nix::unistd::mkfifo(at, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mode = |at: &Path| fs::metadata(at).unwrap().permissions().mode() & 0o777;
        pipe(&beside);
        replace(&path, "new", "one").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(mode(&path), 0o600);
        fs::hard_link(&victim, &beside).unwrap();
        replace(&path, "new", "two").unwrap();
        std::os::unix::fs::symlink(&victim, &beside).unwrap();
        replace(&path, "new", "three").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        fs::create_dir(&beside).unwrap();
        assert!(replace(&path, "new", "four").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        fs::remove_dir(&beside).unwrap();
        // What cannot be put in its place is not left beside it.
        fs::remove_file(&path).unwrap();
        fs::create_dir_all(path.join("full")).unwrap();
        assert!(replace(&path, "new", "five").is_err());
        assert!(!beside.exists());
        fs::remove_dir_all(&path).unwrap();
        // At a start, and where a file is opened to be written at the end.
        pipe(&path);
        assert!(read(&path, HEADING, &mut Vec::new()).is_err());
        assert!(open(&path).is_err());
        fs::remove_file(&path).unwrap();
        fs::hard_link(&victim, &path).unwrap();
        assert!(open(&path).is_err());
        let _ = fs::remove_dir_all(dir);
    }
}
