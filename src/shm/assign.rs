//! Which rows of the table belong to a configuration's workers and balancers.
//!
//! Rows are found by names (server, balancer, worker), so that a graceful restart keeps what is
//! known of each: lbstatus, elections, traffic, errors, and what was changed by hand. A parameter
//! whose configuration changed takes the new value (spec: balancer 12). Only the supervisor writes
//! here.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::error::ShmError;
use super::health;
use super::overruled;
use super::record::{BalancerSlot, BeaconSlot, KEPT, ROLE_RECEIVER, ROLE_SENDER, WorkerSlot};
use super::rows;
use super::snapshot::ChildState;
use super::table::Table;
use super::traffic;
use crate::config::settings::{Server, Settings};
use crate::ids::{BalancerNo, Generation, ServerNo, WorkerNo};

const MAX_SERVER: usize = BalancerSlot::MAX_SERVER;

/// A row of the worker table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerRow(pub u16);

/// A row of the balancer table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BalancerRow(pub u16);

/// A row of the beacon table: a server that receives announcements or makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BeaconRow(pub u16);

/// Rows by number, for one generation.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    generation: Generation,
    workers: Vec<WorkerRow>,
    balancers: Vec<BalancerRow>,
    /// By balancer: rows for members that are added at run time.
    grown: Vec<Vec<WorkerRow>>,
    /// Receivers, then senders.
    beacons: Vec<BeaconRow>,
    receivers: usize,
    dropped: Vec<String>,
    overruled: Vec<String>,
}

impl Assignment {
    /// The generation it was made for.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The row of a worker; `None` when the number is not of this configuration.
    pub fn worker(&self, no: WorkerNo) -> Option<WorkerRow> {
        self.workers.get(no.index()).copied()
    }

    /// The row of a balancer; `None` when the number is not of this configuration.
    pub fn balancer(&self, no: BalancerNo) -> Option<BalancerRow> {
        self.balancers.get(no.index()).copied()
    }

    /// A balancer's rows for members that are added at run time, `growth` of them.
    pub fn grown(&self, no: BalancerNo) -> &[WorkerRow] {
        self.grown.get(no.index()).map_or(&[], Vec::as_slice)
    }

    /// The row of the receiver at this place of `Settings::receivers`.
    pub fn receiver(&self, index: usize) -> Option<BeaconRow> {
        self.beacons.get(..self.receivers)?.get(index).copied()
    }

    /// The row of the sender at this place of `Settings::senders`.
    pub fn sender(&self, index: usize) -> Option<BeaconRow> {
        self.beacons.get(self.receivers..)?.get(index).copied()
    }

    /// Which members that were added at run time are gone, and why. For the log.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// What was changed by hand and follows the configuration now. For the log.
    pub fn overruled(&self) -> &[String] {
        &self.overruled
    }
}

/// See `Scoreboard::assign`. Nothing is changed when it fails.
pub(super) fn assign(
    table: &Table,
    settings: &Settings,
    generation: Generation,
) -> Result<Assignment, ShmError> {
    check_names(settings)?;
    let servers = server_keys(settings);
    let live = Live::of(table);
    let balancers = place(
        "balancer",
        table
            .balancers()
            .map(|(row, b)| (row, balancer_key(b).filter(|_| live.has_balancer(b)))),
        settings
            .balancers
            .iter()
            .map(|b| (key(&servers, b.server), String::new(), b.name.clone())),
    )?;
    let placed = place_workers(table, &live, settings, &servers)?;
    let beacons = place(
        "beacon",
        table.beacons().map(|(row, b)| {
            let used = live.has(
                b.used.load(Relaxed),
                b.first_generation.load(Relaxed),
                b.last_generation.load(Relaxed),
            );
            (row, used.then(|| beacon_key(b)))
        }),
        wanted_beacons(settings, &servers),
    )?;
    let mut told = Vec::new();
    let rows: Vec<u16> = balancers.iter().map(|p| p.row as u16).collect();
    for (b, p) in settings.balancers.iter().zip(&balancers) {
        if let Some(slot) = table.balancer(p.row) {
            let server = key(&servers, b.server);
            let before = overruled::of_balancer(slot);
            if rows::write_balancer(slot, b, &server, generation, p.kept) {
                traffic::begins(table, p.row);
            }
            if p.kept {
                let all = overruled::between(&before, &overruled::of_balancer(slot));
                told.extend(all.iter().map(|what| overruled::line(&b.name, "", what)));
            }
        }
    }
    let mut new_factors = BTreeSet::new();
    for (w, p) in settings.workers.iter().zip(&placed.workers) {
        let Some(slot) = table.worker(p.row) else {
            continue;
        };
        if !p.kept {
            rows::clear_worker(table, p.row, slot);
        }
        let balancer = w.balancer.and_then(|b| rows.get(b.index()).copied());
        let added = slot.grown.load(Relaxed) != 0;
        let named = p.kept && !added && slot.last_generation.load(Relaxed) >= live.newest;
        let order = w
            .balancer
            .and_then(|b| settings.balancers.get(b.index()))
            .and_then(|b| b.members.iter().position(|&m| m == w.no))
            .unwrap_or(0);
        let place = rows::Place {
            server: &key(&servers, w.server),
            balancer,
            order: order as u32,
            generation,
            kept: p.kept,
            named,
        };
        let Some(h) = table.health(p.row) else {
            continue;
        };
        let name = w.balancer.and_then(|b| settings.balancers.get(b.index()));
        let name = name.map_or("", |b| &b.name);
        let before = overruled::of_member(slot, h);
        // The checks first: what they found out stays only where they go on.
        health::configure(slot, h, &w.params.health, named);
        if rows::write_worker(slot, w, &place, health::is_checked(h))
            && let Some(row) = balancer
        {
            new_factors.insert(usize::from(row));
        }
        if p.kept && added {
            told.push(overruled::named_now(name, &w.name));
        } else if named && !name.is_empty() {
            let all = overruled::between(&before, &overruled::of_member(slot, h));
            told.extend(all.iter().map(|what| overruled::line(name, &w.name, what)));
        }
    }
    for (b, grown) in settings.balancers.iter().zip(&placed.grown) {
        for (i, p) in grown.iter().enumerate() {
            let Some(slot) = table.worker(p.row) else {
                continue;
            };
            if !p.kept {
                rows::clear_worker(table, p.row, slot);
            }
            let place = rows::Place {
                server: &key(&servers, b.server),
                balancer: rows.get(b.no.index()).copied(),
                order: (b.members.len() + i) as u32,
                generation,
                kept: p.kept,
                named: p.kept,
            };
            rows::keep_worker(slot, &place);
        }
    }
    for balancer in new_factors {
        traffic::begins(table, balancer);
    }
    for p in placed.workers.iter().filter(|p| !p.kept) {
        if let Some(slot) = table.worker(p.row) {
            traffic::joins(table, p.row, slot);
        }
    }
    write_beacons(table, settings, &servers, &beacons, &rows, generation);
    // Members may have come or gone: whoever chooses next levels what that left.
    for (_, slot) in table.balancers() {
        slot.repair.store(1, Release);
    }
    let numbers = |list: &[Placed]| list.iter().map(|p| p.row as u16).collect::<Vec<_>>();
    let workers = |list| numbers(list).into_iter().map(WorkerRow).collect();
    Ok(Assignment {
        generation,
        workers: workers(&placed.workers),
        grown: placed.grown.iter().map(|g| workers(g)).collect(),
        balancers: rows.into_iter().map(BalancerRow).collect(),
        beacons: numbers(&beacons).into_iter().map(BeaconRow).collect(),
        receivers: settings.receivers.len(),
        dropped: placed.dropped,
        overruled: told,
    })
}

/// Rows for all workers.
struct Workers {
    workers: Vec<Placed>,
    grown: Vec<Vec<Placed>>,
    dropped: Vec<String>,
}

/// A balancer's rows for members added at run time: whether there is a member, its place, the row.
/// Rows with members come first, in order.
type Pool = Vec<(bool, u32, usize)>;

/// Rows for configured workers by their names, then for members to be added at run time. A balancer
/// keeps the rows that it had for those, since children of older generations may use them too; a
/// member of one that the configuration names now becomes a configured one.
fn place_workers(
    table: &Table,
    live: &Live,
    settings: &Settings,
    servers: &[String],
) -> Result<Workers, ShmError> {
    let mut named: HashMap<Key, usize> = HashMap::new();
    let mut pools: HashMap<(String, String), Pool> = HashMap::new();
    let mut free = Vec::new();
    let mut room = 0;
    for (row, w) in table.workers() {
        room += 1;
        let Some(key) = worker_key(table, w).filter(|_| live.has_worker(w)) else {
            free.push(row);
            continue;
        };
        let kept = w.used.load(Relaxed) == KEPT;
        if w.grown.load(Relaxed) != 0 {
            let pool = pools.entry((key.0.clone(), key.1.clone())).or_default();
            pool.push((kept, w.order.load(Relaxed), row));
        }
        if !kept {
            named.entry(key).or_insert(row);
        }
    }
    let busy = room - free.len();
    let mut fresh = 0;
    let mut free = free.into_iter();
    let mut take = || {
        fresh += 1;
        let row = free.next();
        row.map(|row| Placed { row, kept: false })
    };
    let balancer_name = |no: BalancerNo| {
        let b = settings.balancers.get(no.index());
        b.map_or(String::new(), |b| b.name.clone())
    };
    let mut workers = Vec::new();
    for w in &settings.workers {
        let balancer = w.balancer.map_or(String::new(), balancer_name);
        let known = named.remove(&(key(servers, w.server), balancer, w.name.clone()));
        workers.push(match known {
            Some(row) => Some(Placed { row, kept: true }),
            None => take(),
        });
    }
    let mut grown = Vec::new();
    let mut dropped = Vec::new();
    for b in &settings.balancers {
        let mut pool = pools
            .remove(&(key(servers, b.server), b.name.clone()))
            .unwrap_or_default();
        pool.retain(|(_, _, row)| !workers.iter().flatten().any(|p| p.row == *row));
        pool.sort_unstable();
        let growth = usize::from(b.params.growth);
        for (kept, _, row) in pool.iter().skip(growth) {
            if let (false, Some(w)) = (kept, table.worker(*row)) {
                dropped.push(format!(
                    "{}: {}, which was added at run time, is gone: growth= is smaller now",
                    b.name,
                    w.name.string()
                ));
            }
        }
        let had = pool.into_iter().take(growth);
        let mut rows: Vec<_> = had
            .map(|(_, _, row)| Some(Placed { row, kept: true }))
            .collect();
        while rows.len() < growth {
            rows.push(take());
        }
        grown.push(rows);
    }
    // Members of balancers that the newest configuration had and this one has not: not those that
    // are only there for the last requests of an older one.
    let mut orphans: Vec<_> = pools.into_iter().collect();
    orphans.sort_unstable();
    for ((server, balancer), pool) in orphans {
        let used = pool.iter().filter(|(kept, ..)| !kept);
        let members = used.filter_map(|(_, _, row)| table.worker(*row));
        for w in members.filter(|w| w.last_generation.load(Relaxed) >= live.newest) {
            dropped.push(format!(
                "{balancer}: {}, which was added at run time, is gone: there is no such balancer in the server \"{server}\" any more (a server with another name or address is another one)",
                w.name.string()
            ));
        }
    }
    let all = |list: Vec<Option<Placed>>| list.into_iter().collect::<Option<Vec<_>>>();
    let full = || ShmError::Full {
        what: "worker",
        room,
        needed: busy + fresh,
    };
    let grown: Option<Vec<_>> = grown.into_iter().map(all).collect();
    Ok(Workers {
        workers: all(workers).ok_or_else(full)?,
        grown: grown.ok_or_else(full)?,
        dropped,
    })
}

/// A receiver is known by its server and balancer, a sender by its server.
fn wanted_beacons(settings: &Settings, servers: &[String]) -> impl Iterator<Item = Key> {
    let receivers = settings.receivers.iter().map(|r| {
        let balancer = r.balancer.as_ref().map_or("", |b| &b.name);
        (
            key(servers, r.server),
            balancer.to_owned(),
            "receiver".to_owned(),
        )
    });
    let senders = settings
        .senders
        .iter()
        .map(|s| (key(servers, s.server), String::new(), "sender".to_owned()));
    let all: Vec<Key> = receivers.chain(senders).collect();
    all.into_iter()
}

fn beacon_key(b: &BeaconSlot) -> Key {
    let role = match b.role.load(Relaxed) {
        ROLE_RECEIVER => "receiver",
        _ => "sender",
    };
    (b.server.string(), b.balancer_name.string(), role.to_owned())
}

fn write_beacons(
    table: &Table,
    settings: &Settings,
    servers: &[String],
    placed: &[Placed],
    balancers: &[u16],
    generation: Generation,
) {
    let receivers = settings.receivers.iter().map(|r| rows::BeaconTexts {
        role: ROLE_RECEIVER,
        server: key(servers, r.server),
        address: r.place.to_string(),
        balancer: r
            .balancer
            .as_ref()
            .map_or(String::new(), |b| b.name.clone()),
        row: r
            .balancer
            .as_ref()
            .and_then(|b| balancers.get(b.no?.index()).copied()),
        timeout: r.timeout,
    });
    let senders = settings.senders.iter().map(|s| {
        let targets: Vec<String> = s.targets.iter().map(ToString::to_string).collect();
        rows::BeaconTexts {
            role: ROLE_SENDER,
            server: key(servers, s.server),
            address: targets.join(" "),
            balancer: String::new(),
            row: None,
            timeout: s.interval,
        }
    });
    for (texts, p) in receivers.chain(senders).zip(placed) {
        rows::write_beacon(table, p.row, &texts, generation, p.kept);
    }
}

/// A name of a row: server, balancer (empty outside), worker (empty for a balancer's own row is the
/// balancer's name).
type Key = (String, String, String);

struct Placed {
    row: usize,
    kept: bool,
}

/// Gives each wanted key the row that has it, else a free one.
fn place(
    what: &'static str,
    rows: impl Iterator<Item = (usize, Option<Key>)>,
    wanted: impl Iterator<Item = Key>,
) -> Result<Vec<Placed>, ShmError> {
    let mut known = HashMap::new();
    let mut free = Vec::new();
    let mut room = 0;
    for (row, key) in rows {
        room += 1;
        match key {
            Some(key) => {
                known.entry(key).or_insert(row);
            }
            None => free.push(row),
        }
    }
    let busy = room - free.len();
    let mut free = free.into_iter();
    let mut placed = Vec::new();
    let mut fresh = 0;
    let mut missing = false;
    for key in wanted {
        if let Some(row) = known.remove(&key) {
            placed.push(Placed { row, kept: true });
        } else {
            fresh += 1;
            match free.next() {
                Some(row) => placed.push(Placed { row, kept: false }),
                None => missing = true,
            }
        }
    }
    if missing {
        return Err(ShmError::Full {
            what,
            room,
            needed: busy + fresh,
        });
    }
    Ok(placed)
}

/// The generations that may still use a row.
struct Live {
    generations: Vec<u32>,
    newest: u32,
}

impl Live {
    fn of(table: &Table) -> Live {
        Live {
            generations: table
                .children()
                .filter(|(_, head)| head.state.load(Relaxed) != ChildState::Unused as u32)
                .map(|(_, head)| head.generation.load(Relaxed))
                .collect(),
            newest: table.header().generation.load(Relaxed),
        }
    }

    fn has(&self, used: u32, first: u32, last: u32) -> bool {
        used != 0
            && (last >= self.newest || self.generations.iter().any(|g| (first..=last).contains(g)))
    }

    fn has_balancer(&self, b: &BalancerSlot) -> bool {
        self.has(
            b.used.load(Relaxed),
            b.first_generation.load(Relaxed),
            b.last_generation.load(Relaxed),
        )
    }

    fn has_worker(&self, w: &WorkerSlot) -> bool {
        self.has(
            w.used.load(Relaxed),
            w.first_generation.load(Relaxed),
            w.last_generation.load(Relaxed),
        )
    }
}

fn balancer_key(b: &BalancerSlot) -> Option<Key> {
    (b.used.load(Relaxed) != 0).then(|| (b.server.string(), String::new(), b.name.string()))
}

fn worker_key(table: &Table, w: &WorkerSlot) -> Option<Key> {
    if w.used.load(Relaxed) == 0 {
        return None;
    }
    let balancer = match (w.balancer.load(Relaxed) as usize).checked_sub(1) {
        None => String::new(),
        Some(row) => table.balancer(row)?.name.string(),
    };
    Some((w.server.string(), balancer, w.name.string()))
}

/// What tells one server of a configuration from another, also after a reload that moved it in the
/// file: its name, port and addresses, and a number where two have all that in common.
fn server_keys(settings: &Settings) -> Vec<String> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    settings
        .servers
        .iter()
        .map(|server| {
            let text = if server.no == ServerNo(0) {
                "main".to_owned()
            } else {
                server_text(server)
            };
            let n = seen.entry(text.clone()).or_insert(0);
            *n += 1;
            if *n == 1 {
                text
            } else {
                format!("{text} #{n}")
            }
        })
        .map(shortened)
        .collect()
}

fn server_text(server: &Server) -> String {
    let mut text = server.name.clone();
    if let Some(port) = server.port {
        text.push_str(&format!(":{port}"));
    }
    for address in &server.addresses {
        text.push(' ');
        text.push_str(&address.text);
        if let Some(port) = address.port {
            text.push_str(&format!(":{port}"));
        }
    }
    text
}

/// Fits the field: a longer text keeps its first part and gets a hash of the whole behind it.
fn shortened(text: String) -> String {
    if text.len() <= MAX_SERVER {
        return text;
    }
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in text.bytes() {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let mut end = MAX_SERVER - 34;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} #{hash:032x}", &text[..end])
}

fn key(servers: &[String], no: ServerNo) -> String {
    servers.get(no.index()).cloned().unwrap_or_default()
}

/// Identities must fit; the configuration refuses longer ones too, with file and line.
fn check_names(settings: &Settings) -> Result<(), ShmError> {
    let fits = |what, name: &str, bound| {
        if name.len() <= bound {
            return Ok(());
        }
        Err(ShmError::NameTooLong {
            what,
            name: name.chars().take(60).collect(),
            length: name.len(),
            bound,
        })
    };
    for b in &settings.balancers {
        fits("balancer name", &b.name, BalancerSlot::MAX_NAME)?;
        fits("lbmethod", &b.params.lbmethod, BalancerSlot::MAX_METHOD)?;
        for name in b.params.sticky.iter().flat_map(|(c, p)| [c, p]) {
            fits("sticky session name", name, BalancerSlot::MAX_STICKY)?;
        }
    }
    for w in &settings.workers {
        fits("worker name", &w.name, WorkerSlot::MAX_NAME)?;
        fits("route", &w.params.route, WorkerSlot::MAX_ROUTE)?;
        fits("redirect", &w.params.redirect, WorkerSlot::MAX_ROUTE)?;
    }
    Ok(())
}
