//! Replay marks of announcements outlive the table that they stand in.
//!
//! Whoever recorded an announcement must not be able to use it after a restart either (spec:
//! security B-N02), so the highest time stamp of each URL goes from one table to the next: at HUP
//! and into a larger table from the old one, which the new holder reads once the old holder is
//! gone; at a stop into a file beside the table (records as in [`super::saved`]); after a crash out
//! of the table file that was left behind. What a receiver knew that a reload took away the
//! supervisor keeps, and writes into that file at once. Only marks go over, no lease and no member:
//! what becomes of those is `BalancerPersist`'s matter.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::assign::{Assignment, BalancerRow, BeaconRow};
use super::inspect::{InspectError, read as read_table};
use super::leases::{LEASES, Lease, LeaseState, read_lease};
use super::record::{BeaconSlot, LEASE_FREE, LeaseSlot, ROLE_RECEIVER, ROLE_SENDER};
use super::saved::{Line, read, replace};
use super::scoreboard::Scoreboard;
use super::snapshot::BeaconRole;
use crate::clock::{Mono, Wall};
use crate::codec::beacon::Origin;
use crate::config::settings::Settings;
use crate::ids::Generation;

const HEADING: &str = "muster-beacons 1";
/// Longest route that an announcement may have.
const MAX_ROUTE: usize = 63;

/// What is known of a URL's announcements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The receiver's server.
    pub server: String,
    /// Its balancer, `balancer://name`.
    pub balancer: String,
    /// The backend's canonical URL.
    pub url: String,
    /// The highest time stamp accepted.
    pub ts: i64,
    /// The route it announced last, and its load factor × 100 (0: none).
    pub announced: (String, u32),
    /// See `LeaseState::foreign`.
    pub foreign: bool,
}

/// What is known of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Its server.
    pub server: String,
    /// Its balancer, `balancer://name`.
    pub balancer: String,
    /// How far clocks may be off, in µs, as it was when somebody last listened.
    pub skew: i64,
    /// Time stamps before this one are stale.
    pub floor: i64,
    /// A reload has taken it away.
    pub off: bool,
}

/// All that makes replays visible.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// By URL.
    pub leases: Vec<Mark>,
    /// By receiver.
    pub receivers: Vec<Horizon>,
}

/// A mark whose receiver nothing is known of is kept so long, in µs.
const DAY: i64 = 86_400_000_000;

impl Marks {
    /// What is newer comes to it.
    pub fn absorb(&mut self, newer: Marks) {
        let name = |m: &Mark| (m.server.clone(), m.balancer.clone(), m.url.clone());
        let all = self.leases.iter().enumerate();
        let mut places: HashMap<_, usize> = all.map(|(i, m)| (name(m), i)).collect();
        for m in newer.leases {
            match places.get(&name(&m)).and_then(|&i| self.leases.get_mut(i)) {
                Some(known) => {
                    let ts = known.ts.max(m.ts);
                    let foreign = known.foreign && m.foreign;
                    *known = Mark { ts, foreign, ..m };
                }
                None => {
                    places.insert(name(&m), self.leases.len());
                    self.leases.push(m);
                }
            }
        }
        for h in newer.receivers {
            let mut all = self.receivers.iter_mut();
            match all.find(|o| o.server == h.server && o.balancer == h.balancer) {
                Some(known) => {
                    let floor = known.floor.max(h.floor);
                    *known = Horizon { floor, ..h };
                }
                None => self.receivers.push(h),
            }
        }
    }

    /// All of it is of receivers that are not there now.
    pub fn switch_off(&mut self) {
        for h in &mut self.receivers {
            h.off = true;
        }
    }

    /// Drops what would be stale anyway: a larger distance of clocks never makes it young again.
    pub fn prune(&mut self, now: Wall) {
        let receivers = &self.receivers;
        self.leases.retain(|m| {
            let own = |h: &&Horizon| h.server == m.server && h.balancer == m.balancer;
            let age = receivers.iter().find(own).map_or(DAY, |h| h.skew);
            m.ts.saturating_add(age) >= now.0
        });
    }

    /// Whether some of it is of receivers that these settings do not have.
    pub fn any_off(&self) -> bool {
        self.receivers.iter().any(|h| h.off)
    }

    /// Writes it into the file: beside it, then renamed, mode 0600. Without marks there is no file.
    ///
    /// # Errors
    /// Of the file system; the old file stays then.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut out = String::new();
        for h in &self.receivers {
            let mut line = Line::new("receiver");
            line.text("server", &h.server);
            line.text("balancer", &h.balancer);
            line.number("skew", h.skew.cast_unsigned());
            line.number("floor", h.floor.cast_unsigned());
            line.number("off", h.off.into());
            line.end(&mut out);
        }
        for mark in &self.leases {
            let mut line = Line::new("lease");
            line.text("server", &mark.server);
            line.text("balancer", &mark.balancer);
            line.text("url", &mark.url);
            line.number("ts", mark.ts.cast_unsigned());
            line.text("route", &mark.announced.0);
            line.number("factor", mark.announced.1.into());
            line.number("foreign", mark.foreign.into());
            line.end(&mut out);
        }
        if out.is_empty() {
            return match fs::remove_file(path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                _ => Ok(()),
            };
        }
        replace(path, "beacons.new", &format!("{HEADING}\n{out}"))
    }
}

/// The file that belongs to a table.
pub fn path_for(table: &Path) -> PathBuf {
    table.with_extension("beacons")
}

/// What an earlier instance with this table left: in the file of an orderly stop, or in the table
/// itself when it was killed. Gives what is worth telling too.
pub fn left_by(table: &Path) -> (Marks, Vec<(bool, String)>) {
    let mut told = Vec::new();
    let path = path_for(table);
    let mut marks = Marks::default();
    match read(&path, HEADING, &mut told) {
        Ok(records) => {
            marks.leases = records.iter().filter_map(mark_of).collect();
            marks.receivers = records.iter().filter_map(horizon_of).collect();
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => told.push((true, format!("{}: {e}", path.display()))),
    }
    match read_table(table) {
        Ok(snapshot) => {
            let mut left = Marks::default();
            let receivers = snapshot.beacons.into_iter();
            for b in receivers.filter(|b| b.role == BeaconRole::Receiver && !b.balancer.is_empty())
            {
                let leases = b.leases.into_iter();
                let leases = leases.map(|lease| mark(&b.server, &b.balancer, lease));
                left.leases.extend(leases.filter(|m| m.ts > 0));
                left.receivers.push(Horizon {
                    server: b.server,
                    balancer: b.balancer,
                    skew: b.max_skew,
                    floor: b.floor,
                    off: b.off,
                });
            }
            left.receivers.retain(|h| h.skew > 0);
            marks.absorb(left);
        }
        Err(InspectError::Missing(_) | InspectError::Empty(_)) => {}
        Err(e) => told.push((
            false,
            format!("no replay marks of announcements from a former run: {e}"),
        )),
    }
    (marks, told)
}

fn horizon_of(r: &super::saved::Record) -> Option<Horizon> {
    let number = |name| r.number(name).and_then(|n| i64::try_from(n).ok());
    (r.kind() == "receiver").then_some(Horizon {
        server: r.get("server").to_owned(),
        balancer: r.get("balancer").to_owned(),
        skew: number("skew")?,
        floor: number("floor")?,
        off: number("off") == Some(1),
    })
}

fn mark(server: &str, balancer: &str, lease: Lease) -> Mark {
    Mark {
        server: server.to_owned(),
        balancer: balancer.to_owned(),
        url: lease.url,
        ts: lease.last_ts,
        announced: lease.announced,
        foreign: lease.state.foreign,
    }
}

fn mark_of(r: &super::saved::Record) -> Option<Mark> {
    (r.kind() == "lease").then(|| Mark {
        server: r.get("server").to_owned(),
        balancer: r.get("balancer").to_owned(),
        url: r.get("url").to_owned(),
        ts: r.number("ts").map_or(0, |n| i64::try_from(n).unwrap_or(0)),
        announced: (
            r.get("route").to_owned(),
            r.number("factor")
                .map_or(0, |n| u32::try_from(n).unwrap_or(0)),
        ),
        foreign: r.number("foreign") == Some(1),
    })
}

impl Mark {
    fn is_sound(&self) -> bool {
        self.ts > 0
            && Origin::parse(self.url.as_bytes()).is_some_and(|o| o.as_str() == self.url)
            && self.announced.0.len() <= MAX_ROUTE
            && self.announced.1 <= 10_000
    }
}

impl Scoreboard {
    fn receivers(&self) -> impl Iterator<Item = (BeaconRow, &BeaconSlot)> {
        let all = self.table.beacons();
        all.filter(|(_, b)| {
            b.used.load(Relaxed) != 0
                && b.role.load(Relaxed) == ROLE_RECEIVER
                && !b.balancer_name.is(b"")
        })
        .map(|(row, b)| (BeaconRow(row as u16), b))
    }

    fn lease_slots(&self, row: BeaconRow) -> impl Iterator<Item = (u16, &LeaseSlot)> {
        let slot = move |i: u16| self.table.lease(usize::from(row.0), usize::from(i));
        (0..LEASES as u16).filter_map(move |i| Some((i, slot(i)?)))
    }

    /// All marks of this table.
    pub fn marks(&self) -> Marks {
        let mut out = Marks::default();
        let newest = self.table.header().generation.load(Relaxed);
        for (row, b) in self.receivers() {
            let (server, balancer) = (b.server.string(), b.balancer_name.string());
            let leases = self.lease_slots(row);
            let leases = leases.filter_map(|(index, slot)| read_lease(index, slot));
            out.leases
                .extend(leases.map(|lease| mark(&server, &balancer, lease)));
            out.receivers.push(Horizon {
                server,
                balancer,
                skew: b.max_skew.load(Relaxed),
                floor: b.floor.load(Relaxed),
                off: b.last_generation.load(Relaxed) < newest,
            });
        }
        out.leases.retain(|m| m.ts > 0);
        out.receivers.retain(|h| h.skew > 0);
        out
    }

    /// Puts marks into rows that are new, as leases without members. A receiver that nobody knew (its
    /// server has another name now), or that was away for a while, takes those of all: a mark that
    /// is another's only refuses what is old. Marks whose messages are stale now serve nothing, but
    /// for members that BalancerPersist kept.
    pub fn restore_marks(
        &self,
        settings: &Settings,
        rows: &Assignment,
        marks: &Marks,
        now: (Mono, Wall),
    ) {
        for (i, r) in settings.receivers.iter().enumerate() {
            let Some(row) = rows.receiver(i) else {
                continue;
            };
            let Some(b) = self.table.beacon(usize::from(row.0)) else {
                continue;
            };
            // One that goes on has its leases, which its holder may be writing to.
            if b.first_generation.load(Relaxed) != rows.generation().0 || r.balancer.is_none() {
                continue;
            }
            let is_own = |server: &str, balancer: &str| {
                b.server.is(server.as_bytes()) && b.balancer_name.is(balancer.as_bytes())
            };
            let own = |m: &&Mark| is_own(&m.server, &m.balancer);
            let mut horizons = marks.receivers.iter();
            let horizon = horizons.find(|h| is_own(&h.server, &h.balancer));
            let known = match horizon {
                Some(h) => !h.off,
                None => marks.leases.iter().any(|m| own(&m)),
            };
            if let Some(h) = horizon {
                b.max_skew.store(h.skew, Relaxed);
                b.floor.store(h.floor, Relaxed);
            }
            let kept = settings.server(r.server).proxy.persist;
            let memory = i64::try_from(r.max_skew.as_micros() * 2).unwrap_or(i64::MAX);
            let fresh = |m: &&Mark| kept || m.ts.saturating_add(memory) >= now.1.0;
            let all = marks.leases.iter().filter(|m| m.is_sound() && fresh(m));
            let (mine, others): (Vec<_>, Vec<_>) = all.partition(own);
            for m in mine {
                self.raise(row, m, now.0, m.foreign);
            }
            for m in others.into_iter().filter(|_| !known) {
                self.raise(row, m, now.0, true);
            }
        }
    }

    /// A mark only ever rises. Gives the lease's place when it did.
    fn raise(&self, row: BeaconRow, m: &Mark, seen: Mono, foreign: bool) -> Option<u16> {
        let index = match self.find_lease(row, &m.url) {
            Some(lease) if lease.last_ts >= m.ts => return None,
            Some(lease) => {
                self.renew_lease(row, lease.index, m.ts, lease.last_seen.max(seen));
                lease.index
            }
            None => {
                let free = |(_, slot): &(u16, &LeaseSlot)| slot.state.load(Relaxed) == LEASE_FREE;
                let (index, _) = self.lease_slots(row).find(free)?;
                self.make_lease(row, index, &m.url, m.ts, seen);
                self.note_announced(row, index, &m.announced.0, m.announced.1);
                if foreign {
                    let state = LeaseState {
                        foreign,
                        ..LeaseState::default()
                    };
                    self.note_lease(row, index, &state);
                }
                index
            }
        };
        Some(index)
    }

    /// The holder of a new generation, before it begins: what the holder before heard after its
    /// table had been copied (or, at HUP, not copied) into this one.
    pub fn follow_table(&self, former: &Scoreboard, now: Mono, memory: Duration) {
        self.follow_stamps(former);
        for (old_row, old) in former.receivers() {
            let same = self.receivers().find(|(_, b)| {
                b.server.is(&old.server.bytes()) && b.balancer_name.is(&old.balancer_name.bytes())
            });
            let Some((row, b)) = same else {
                continue;
            };
            for (index, slot) in former.lease_slots(old_row) {
                let Some(lease) = read_lease(index, slot) else {
                    continue;
                };
                let known = self.find_lease(row, &lease.url);
                let (seen, left) = (lease.last_seen.min(now), lease.state.left);
                let mark = mark("", "", lease);
                let old = known.is_none() && now.since(seen) > memory;
                if old || !mark.is_sound() {
                    continue;
                }
                let risen = self.raise(row, &mark, seen, mark.foreign);
                // Its last word before the change was that it leaves.
                if let (Some(index), Some(known)) = (risen, known)
                    && left
                    && known.state.added
                    && let Some((member, _)) = known.state.member
                    && let Some(balancer) = (b.balancer.load(Relaxed) as u16).checked_sub(1)
                {
                    let mut state = known.state;
                    (state.evicted, state.left) = (true, true);
                    self.note_lease(row, index, &state);
                    self.set_disabled(BalancerRow(balancer), member, true);
                }
            }
        }
    }

    /// What this server sends is later than all that it sent before, whichever of its senders: proxies
    /// compare the stamps of a URL.
    fn follow_stamps(&self, former: &Scoreboard) {
        let last = former.senders().map(|b| b.sent_ts.load(Relaxed)).max();
        for b in self.senders() {
            b.sent_ts.fetch_max(last.unwrap_or(0), Relaxed);
        }
    }

    fn senders(&self) -> impl Iterator<Item = &BeaconSlot> {
        let all = self.table.beacons();
        all.map(|(_, b)| b)
            .filter(|b| b.used.load(Relaxed) != 0 && b.role.load(Relaxed) == ROLE_SENDER)
    }

    /// A receiver that this generation made takes the marks of all that were there before, also of
    /// those that a reload gave up for it (see [`Scoreboard::restore_marks`]).
    pub fn adopt_marks(
        &self,
        row: BeaconRow,
        generation: Generation,
        former: &[Rc<Scoreboard>],
        now: Mono,
        memory: Duration,
    ) {
        let Some(own) = self.table.beacon(usize::from(row.0)) else {
            return;
        };
        let is_new = |b: &BeaconSlot| b.first_generation.load(Relaxed) == generation.0;
        let same = |b: &BeaconSlot| {
            b.server.is(&own.server.bytes()) && b.balancer_name.is(&own.balancer_name.bytes())
        };
        let mut before = former.iter().flat_map(|t| t.receivers());
        if !is_new(own) || before.any(|(_, b)| same(b)) {
            return;
        }
        for table in std::iter::once(self).chain(former.iter().map(|t| &**t)) {
            let here = std::ptr::eq(self, table);
            for (other, _) in table.receivers().filter(|(_, b)| !(here && is_new(b))) {
                for (index, slot) in table.lease_slots(other) {
                    let lease = read_lease(index, slot);
                    let lease = lease.filter(|l| now.since(l.last_seen) <= memory);
                    if let Some(lease) = lease {
                        let seen = lease.last_seen.min(now);
                        let mark = mark("", "", lease);
                        if mark.is_sound() {
                            self.raise(row, &mark, seen, true);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::bare::bare;
    use crate::config::beacon::{BeaconBalancer, HostPort, Receiver};
    use crate::config::settings::BalancerParams;
    use crate::ids::{BalancerNo, ServerNo};
    use crate::shm::{NewMember, status, test_dir};
    use std::os::unix::fs::PermissionsExt;

    const NOW: Mono = Mono(1_000_000_000_000);
    const MEMORY: Duration = Duration::from_secs(60);

    fn settings(dir: &Path) -> Settings {
        let params = BalancerParams {
            growth: 4,
            ..BalancerParams::default()
        };
        let mut settings = bare(dir).with_balancer("balancer://c", params, &[]);
        settings.receivers.push(Receiver {
            server: ServerNo(0),
            place: HostPort {
                host: String::new(),
                port: 5555,
            },
            balancer: Some(BeaconBalancer {
                name: "balancer://c".into(),
                no: Some(BalancerNo(0)),
            }),
            timeout: Duration::ZERO,
            max_skew: MEMORY / 2,
            keys: Vec::new(),
            policy: Default::default(),
            allow: Vec::new(),
            span: Default::default(),
        });
        settings
    }

    fn board(dir: &Path, name: &str) -> (Rc<Scoreboard>, Assignment) {
        let s = settings(dir);
        let board = Scoreboard::create(&dir.join(name), &s, 1, Generation(0)).unwrap();
        let rows = board.assign(&s, Generation(0)).unwrap();
        (board, rows)
    }

    fn stamps(board: &Scoreboard) -> Vec<(String, i64)> {
        let mut list: Vec<_> = board
            .marks()
            .leases
            .into_iter()
            .map(|m| (m.url, m.ts))
            .collect();
        list.sort();
        list
    }

    /// A stop, a crash and a damaged file: what is sound is there again, and only that.
    #[test]
    fn marks_outlive_the_instance() {
        let dir = test_dir("marks");
        let (old, rows) = board(&dir, "board");
        let row = rows.receiver(0).unwrap();
        let path = path_for(&dir.join("board"));
        let wall = Wall(1_790_000_000_000_000);
        old.marks().save(&path).unwrap();
        assert!(!path.exists(), "nothing to tell, no file");
        for (i, url) in ["http://a", "http://b", "http://stale"].iter().enumerate() {
            let ts = if i == 2 { 5 } else { wall.0 + i as i64 };
            old.make_lease(row, i as u16, url, ts, NOW);
        }
        old.note_announced(row, 0, "r1", 250);
        assert!(old.is_receiving(row));
        old.close_receivers();
        assert!(!old.is_receiving(row), "what comes later is in no file");
        old.marks().save(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let fresh = |marks: &Marks| {
            let (new, rows) = board(&dir, "new");
            new.restore_marks(&settings(&dir), &rows, marks, (NOW, wall));
            new
        };
        // Out of the table of a process that was killed, later than its file.
        old.renew_lease(row, 1, wall.0 + 9, NOW);
        let (marks, told) = left_by(&dir.join("board"));
        assert!(told.is_empty(), "{told:?}");
        let new = fresh(&marks);
        let want = |b| {
            vec![
                ("http://a".to_owned(), wall.0),
                ("http://b".to_owned(), wall.0 + b),
            ]
        };
        assert_eq!(stamps(&new), want(9));
        let lease = new.find_lease(row, "http://a").unwrap();
        assert_eq!(lease.announced, ("r1".into(), 250));
        assert_eq!(lease.state, LeaseState::default());
        // Out of the file alone, one record of which is damaged.
        old.remove();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("http://b", "http://x")).unwrap();
        let (marks, told) = left_by(&dir.join("board"));
        assert_eq!(told.len(), 1);
        assert!(
            told[0].0 && told[0].1.contains("line 3 is damaged"),
            "{told:?}"
        );
        assert_eq!(stamps(&fresh(&marks)), want(0)[..1]);
        fs::write(&path, "something else\n").unwrap();
        let (marks, told) = left_by(&dir.join("board"));
        assert!(marks == Marks::default() && told.len() == 1);
        let _ = fs::remove_dir_all(dir);
    }

    /// A virtual host that got another name, or a balancer that did: the receiver is a new one, the
    /// messages that it could be sent again are old ones.
    #[test]
    fn a_receiver_that_nobody_knew_takes_all_marks() {
        let dir = test_dir("adopt");
        let mut s = settings(&dir);
        let (board, rows) = board(&dir, "board");
        let wall = Wall(1_790_000_000_000_000);
        let old = rows.receiver(0).unwrap();
        board.make_lease(old, 0, "http://a", wall.0, NOW);
        board.make_lease(old, 1, "http://long-ago", 1, Mono(1));
        let marks = board.marks();
        s.receivers[0].server = ServerNo(1);
        let (new, rows) = {
            let board = board.grown(&dir.join("new"), &s, 1, Generation(1)).unwrap();
            let rows = board.assign(&s, Generation(1)).unwrap();
            (board, rows)
        };
        let row = rows.receiver(0).unwrap();
        assert_ne!(row, old);
        assert!(new.find_lease(row, "http://a").is_none());
        new.adopt_marks(row, Generation(1), &[], NOW, MEMORY);
        let ts = |url| new.find_lease(row, url).map(|l| l.last_ts);
        assert_eq!(
            (ts("http://a"), ts("http://long-ago")),
            (Some(wall.0), None)
        );
        assert!(new.find_lease(row, "http://a").unwrap().state.foreign);
        board.make_lease(old, 2, "http://b", wall.0, NOW);
        new.adopt_marks(row, Generation(1), &[board], NOW, MEMORY);
        assert_eq!(ts("http://b"), Some(wall.0));
        // At a start too.
        new.free_lease(row, 0);
        new.free_lease(row, 1);
        s.receivers[0].server = ServerNo(0);
        s.receivers[0].balancer.as_mut().unwrap().name = "balancer://other".into();
        let fresh = Scoreboard::create(&dir.join("fresh"), &s, 1, Generation(0)).unwrap();
        let rows = fresh.assign(&s, Generation(0)).unwrap();
        fresh.restore_marks(&s, &rows, &marks, (NOW, wall));
        assert_eq!(stamps(&fresh), [("http://a".to_owned(), wall.0)]);
        let _ = fs::remove_dir_all(dir);
    }

    /// A reload takes a receiver away, another brings it back, with clocks allowed to be further off.
    #[test]
    fn a_receiver_that_was_away_knows_what_it_knew() {
        let dir = test_dir("away");
        let s = settings(&dir);
        let mut without = settings(&dir);
        without.receivers.clear();
        let (board, rows) = board(&dir, "board");
        let wall = Wall(1_790_000_000_000_000);
        let row = rows.receiver(0).unwrap();
        let skew = 5_000_000;
        board.begin_receiver(row, Generation(0), skew, wall);
        for (i, url) in ["http://a", "http://old"].iter().enumerate() {
            board.make_lease(row, i as u16, url, wall.0 - 6_000_000 * i as i64, NOW);
        }
        let mut kept = Marks::default();
        let path = path_for(&dir.join("board"));
        for generation in [1, 2] {
            let generation = Generation(generation);
            kept.absorb(board.marks());
            kept.prune(wall);
            board.assign(&without, generation).unwrap();
            board.set_generation(generation, 1);
            assert!(board.marks().any_off());
        }
        kept.switch_off();
        // Also when all of it ends meanwhile.
        kept.save(&path).unwrap();
        board.remove();
        let (marks, _) = left_by(&dir.join("board"));
        assert_eq!(marks, kept);
        let rows = board.assign(&s, Generation(3)).unwrap();
        let row = rows.receiver(0).unwrap();
        assert!(board.find_lease(row, "http://a").is_none(), "a new row");
        board.restore_marks(&s, &rows, &marks, (NOW, wall));
        assert_eq!(stamps(&board), [("http://a".to_owned(), wall.0)]);
        // What is older than its marks was stale by the distance that held then.
        let later = Wall(wall.0 + 7);
        let begun = board.begin_receiver(row, Generation(3), skew * 2, later);
        assert_eq!(begun, (true, later.0 - skew));
        let begun = board.begin_receiver(row, Generation(3), skew * 2, Wall(later.0 + 9));
        assert_eq!(begun, (false, later.0 - skew));
        let _ = fs::remove_dir_all(dir);
    }

    /// Between the copy of a table and the end of its last writer nothing is lost, and nothing
    /// falls back.
    #[test]
    fn what_the_old_holder_wrote_last_comes_into_the_new_table() {
        let dir = test_dir("follow");
        let s = settings(&dir);
        let (old, rows) = board(&dir, "board");
        let row = rows.receiver(0).unwrap();
        let b = rows.balancer(BalancerNo(0)).unwrap();
        for (i, url) in ["http://a", "http://b", "http://c"].iter().enumerate() {
            let new = NewMember {
                name: url,
                route: "",
                load_factor: 100,
                status: status::BEACON,
            };
            let member = old.add_member(b, rows.grown(BalancerNo(0)), &new).unwrap();
            old.set_disabled(b, member, false);
            old.make_lease(row, i as u16, url, 10, NOW);
            let state = LeaseState {
                added: true,
                member: Some((member, old.found(member).unwrap().taken)),
                ..LeaseState::default()
            };
            old.note_lease(row, i as u16, &state);
        }
        let new = old.grown(&dir.join("board"), &s, 1, Generation(1)).unwrap();
        let rows = new.assign(&s, Generation(1)).unwrap();
        let row = rows.receiver(0).unwrap();
        let later = NOW + Duration::from_secs(1);
        old.renew_lease(row, 0, 20, later);
        new.renew_lease(row, 1, 30, later);
        old.renew_lease(row, 2, 20, later);
        let mut state = old.find_lease(row, "http://c").unwrap().state;
        (state.evicted, state.left) = (true, true);
        old.note_lease(row, 2, &state);
        old.make_lease(row, 3, "http://late", 40, later);
        old.make_lease(row, 4, "http://long-ago", 1, Mono(1));
        new.follow_table(&old, later, MEMORY);
        let want = [("a", 20), ("b", 30), ("c", 20), ("late", 40)];
        assert_eq!(
            stamps(&new),
            want.map(|(host, ts)| (format!("http://{host}"), ts))
        );
        assert_eq!(new.find_lease(row, "http://a").unwrap().last_seen, later);
        let members = new.snapshot().balancers.remove(0).members;
        let disabled = members.iter().filter(|m| m.status & status::DISABLED != 0);
        let names: Vec<_> = disabled.map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["http://c"]);
        let _ = fs::remove_dir_all(dir);
    }

    /// A clock that is set back together with a restart makes no announcement look like a replay.
    #[test]
    fn stamps_of_a_sender_rise_over_a_new_table() {
        let dir = test_dir("stamps");
        let mut s = settings(&dir);
        s.senders.push(crate::config::beacon::Sender {
            server: ServerNo(0),
            name: String::new(),
            targets: Vec::new(),
            advertise: None,
            interval: MEMORY,
            key: crate::codec::beacon::Key::of_secret(b"secret").unwrap(),
            algorithm: crate::codec::beacon::Algorithm::default(),
            span: Default::default(),
        });
        let create = |name: &str, no: u32| {
            let board = Scoreboard::create(&dir.join(name), &s, 1, Generation(no)).unwrap();
            let row = board.assign(&s, Generation(no)).unwrap().sender(0).unwrap();
            (board, row)
        };
        let ((old, old_row), (new, row)) = (create("old", 0), create("new", 1));
        let last = old.next_stamp(old_row, Wall(9_000), false).0;
        new.follow_table(&old, NOW, MEMORY);
        assert!(new.next_stamp(row, Wall(5_000), false).0 > last);
        assert!(!new.has_left(row));
        new.next_stamp(row, Wall(5_000), true);
        assert!(new.has_left(row));
        let _ = fs::remove_dir_all(dir);
    }
}
