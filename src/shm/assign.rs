//! Which rows of the table belong to a configuration's workers and balancers.
//!
//! Rows are found by names (server, balancer, worker), so that a graceful restart keeps what is
//! known of each: lbstatus, elections, traffic, errors, and what was changed by hand. A parameter
//! whose configuration changed takes the new value (spec: balancer 12). Only the supervisor writes
//! here.

use std::collections::HashMap;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::error::ShmError;
use super::record::{BalancerSlot, WorkerSlot};
use super::rows;
use super::snapshot::ChildState;
use super::table::Table;
use crate::config::settings::{Server, Settings};
use crate::ids::{BalancerNo, Generation, ServerNo, WorkerNo};

const MAX_SERVER: usize = BalancerSlot::MAX_SERVER;

/// A row of the worker table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerRow(pub u16);

/// A row of the balancer table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BalancerRow(pub u16);

/// Rows by number, for one generation.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    generation: Generation,
    workers: Vec<WorkerRow>,
    balancers: Vec<BalancerRow>,
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
    let workers = place(
        "worker",
        table
            .workers()
            .map(|(row, w)| (row, worker_key(table, w).filter(|_| live.has_worker(w)))),
        settings.workers.iter().map(|w| {
            let balancer = w
                .balancer
                .and_then(|b| settings.balancers.get(b.index()))
                .map_or(String::new(), |b| b.name.clone());
            (key(&servers, w.server), balancer, w.name.clone())
        }),
    )?;
    let rows: Vec<u16> = balancers.iter().map(|p| p.row as u16).collect();
    for (b, p) in settings.balancers.iter().zip(&balancers) {
        if let Some(slot) = table.balancer(p.row) {
            rows::write_balancer(slot, b, &key(&servers, b.server), generation, p.kept);
        }
    }
    for (w, p) in settings.workers.iter().zip(&workers) {
        let Some(slot) = table.worker(p.row) else {
            continue;
        };
        if !p.kept {
            rows::clear_worker(table, p.row, slot);
        }
        let balancer = w.balancer.and_then(|b| rows.get(b.index()).copied());
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
        };
        rows::write_worker(slot, w, &place);
    }
    // Members may have come or gone: whoever chooses next levels what that left.
    for (_, slot) in table.balancers() {
        slot.repair.store(1, Release);
    }
    Ok(Assignment {
        generation,
        workers: workers.iter().map(|p| WorkerRow(p.row as u16)).collect(),
        balancers: rows.into_iter().map(BalancerRow).collect(),
    })
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
