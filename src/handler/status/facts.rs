//! What both forms of the status page tell.

use std::fs;
use std::net::IpAddr;

use crate::config::settings::ProxyStatus;
use crate::request::answer;
use crate::request::names;
use crate::request::{Request, Room};
use crate::shm::{Assignment, BalancerInfo, ChildState, RequestPhase, Snapshot};

/// Places that the scoreboard line shows of each child: the request records of its slot.
const PLACES: usize = 64;

/// Everything that is shown, read at one moment.
pub struct Facts {
    /// The name that the server calls itself for this request (UseCanonicalName).
    pub name: String,
    /// The address that the client connected to.
    pub local: IpAddr,
    /// As in the Server field.
    pub version: &'static str,
    /// The MPM that the configuration names.
    pub mpm: String,
    /// When the program was built (its file's time), in seconds; 0 unknown.
    pub built: i64,
    /// ExtendedStatus.
    pub extended: bool,
    /// The table.
    pub table: Snapshot,
    /// Load averages.
    pub load: [f64; 3],
    /// CPU seconds: user, system, children's user, children's system.
    pub cpu: [f64; 4],
    /// CPU seconds of each child, in the order of `table.children`.
    pub child_cpu: Vec<f64>,
    /// The scoreboard line.
    pub letters: String,
    /// Requests being answered.
    pub busy: u64,
    /// Requests of draining children.
    pub graceful: u64,
    /// Free places.
    pub idle: u64,
    /// The virtual host's balancers.
    pub balancers: Vec<BalancerInfo>,
}

impl Facts {
    /// Reads the table and the system.
    pub fn collect(room: &Room, req: &Request, assignment: &Assignment) -> Facts {
        let server = room.settings.server(req.server);
        let table = room.scoreboard.snapshot();
        let balancers = if server.proxy.status == ProxyStatus::Off {
            Vec::new()
        } else {
            server
                .proxy
                .balancers
                .iter()
                .filter_map(|&no| assignment.balancer(no))
                .filter_map(|row| table.balancers.iter().find(|b| b.row == row.0))
                .cloned()
                .collect()
        };
        let usage: Vec<_> = table.children.iter().map(|c| cpu_of(c.pid)).collect();
        let own = cpu_of(table.supervisor);
        let sum = |at: usize| usage.iter().map(|u| u[at]).sum::<f64>();
        let mpm = room
            .settings
            .modules
            .iter()
            .find_map(|(name, _)| name.strip_prefix("mpm_"))
            .unwrap_or("prefork");
        let mut facts = Facts {
            name: names::self_name(&room.routes, req).to_owned(),
            local: req.local.ip(),
            version: answer::banner(),
            mpm: mpm.to_owned(),
            built: crate::handler::built(),
            extended: room.settings.extended_status,
            load: load(),
            cpu: [own[0] + sum(0), own[1] + sum(1), own[2], own[3]],
            child_cpu: usage.iter().map(|u| u[0] + u[1]).collect(),
            letters: String::new(),
            busy: 0,
            graceful: 0,
            idle: 0,
            balancers,
            table,
        };
        facts.count();
        facts
    }

    /// The scoreboard line and its sums: 64 places for each child slot, one for each request that
    /// has a record. httpd shows threads in the same way.
    pub fn count(&mut self) {
        let mut letters = vec![b'.'; self.table.slots.saturating_mul(PLACES)];
        for child in &self.table.children {
            let from = child.slot.index() * PLACES;
            let Some(places) = letters.get_mut(from..from + PLACES) else {
                continue;
            };
            match child.state {
                ChildState::Starting => places[0] = b'S',
                ChildState::Draining => self.graceful += u64::from(child.requests),
                ChildState::Serving => {
                    places.fill(b'_');
                    self.busy += u64::from(child.requests);
                }
                ChildState::Unused | ChildState::Ended => {}
            }
            let mut taken = 0;
            for record in &child.records {
                if let Some(place) = places.get_mut(usize::from(record.index)) {
                    *place = letter(child.state, record.phase);
                    taken += 1;
                }
            }
            if child.state == ChildState::Serving {
                self.idle += PLACES as u64 - taken;
            }
        }
        self.letters = String::from_utf8(letters).unwrap_or_default();
    }

    /// Seconds since the newest generation began.
    pub fn uptime(&self) -> i64 {
        (self.table.taken.seconds() - self.table.restarted.seconds()).max(0)
    }

    /// Percent of one CPU since then; `None` when nothing was used or no time has passed.
    pub fn cpu_load(&self) -> Option<f64> {
        let used: f64 = self.cpu.iter().sum();
        let up = (self.table.taken.seconds() - self.table.started.seconds()).max(0);
        (used > 0.0 && up > 0).then(|| used / up as f64 * 100.0)
    }
}

/// The letter of a request.
pub fn letter(state: ChildState, phase: RequestPhase) -> u8 {
    if state == ChildState::Draining {
        b'G'
    } else {
        phase.letter() as u8
    }
}

/// `1 hour 2 minutes 3 seconds`; parts that are zero are left out.
pub fn uptime_words(seconds: i64) -> String {
    let parts = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let words: Vec<_> = parts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n} {unit}{}", if n == 1 { "" } else { "s" }))
        .collect();
    words.join(" ")
}

/// The request line without what stands behind a `?`: queries hold secrets.
pub fn without_query(request: &str) -> String {
    match request.split_once('?') {
        Some((path, _)) => format!("{path}?..."),
        None => request.to_owned(),
    }
}

fn load() -> [f64; 3] {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut words = text.split(' ').map(|w| w.parse().unwrap_or(0.0));
    [(); 3].map(|()| words.next().unwrap_or(0.0))
}

/// User, system, waited-for children's user and system seconds of a process; zeros when it is gone.
fn cpu_of(pid: i32) -> [f64; 4] {
    // Clock ticks per second: 100 on every Linux that there is (USER_HZ).
    const TICKS: f64 = 100.0;
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything; fields are counted behind it (proc(5): 14 to 17).
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut words = rest
        .split_ascii_whitespace()
        .skip(11)
        .map(|w| w.parse().unwrap_or(0.0) / TICKS);
    [(); 4].map(|()| words.next().unwrap_or(0.0))
}
