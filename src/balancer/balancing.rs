//! A child's balancers: what the outcome of a request means for the member, and what is counted.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use super::choosing::{offer, stop_every};
use super::least_time;
use super::local::{List, Local};
use super::method;
use super::select::{Member, Offer};
use crate::clock::{self, Mono};
use crate::config::settings::{BalancerParams, Settings, Worker};
use crate::ids::{BalancerNo, Generation, SlotNo, WorkerNo};
use crate::shm::{Asker, Assignment, BalancerRow, MemberState, Scoreboard, WorkerRow, status};

/// Further tries that a balancer may make in the last ten seconds whatever its requests.
const ALWAYS_TRIED: u64 = 100;

/// A request at a worker, counted as busy until this is dropped.
pub struct Busy {
    pub(super) worker: WorkerNo,
    pub(super) row: Option<WorkerRow>,
    pub(super) slot: SlotNo,
    pub(super) board: Rc<Scoreboard>,
    /// When this request began to probe the member; zero: it does not.
    pub(super) probe: Mono,
    /// Who gave way to it ([`super::select::Member::gave_way`]).
    pub(super) instead_of: Option<WorkerRow>,
}

impl Busy {
    /// Which worker.
    pub fn worker(&self) -> WorkerNo {
        self.worker
    }

    /// The request moved so many bytes: they count for the member that gave way to this one, too.
    pub fn moved(&self, n: u64) {
        if let Some(row) = self.instead_of {
            self.board.add_missed(row, n);
        }
    }

    /// Its row in the table, for the request's record.
    pub fn row(&self) -> Option<WorkerRow> {
        self.row
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some(row) = self.row else { return };
        if self.probe != Mono(0) {
            // Nobody said how the probe ended: let the next request try.
            self.board.abandon_probe(row, self.slot, self.probe);
        }
        self.board.leave(self.slot, row);
    }
}

/// All balancers of a child.
pub struct Balancing {
    pub(super) settings: Rc<Settings>,
    pub(super) board: Rc<Scoreboard>,
    pub(super) slot: SlotNo,
    pub(super) asker: Asker,
    pub(super) balancers: Vec<Local>,
    pub(super) workers: Vec<Option<WorkerRow>>,
    /// Members added at run time, by their number less that of the first; filled when they are seen.
    pub(super) grown: Box<[OnceCell<Worker>]>,
    pub(super) grown_rows: Vec<WorkerRow>,
    /// Reused, so that nothing is allocated under the lock.
    pub(super) scratch: RefCell<Vec<Member>>,
    /// Debug builds only, for tests: every so many choices this child stops inside the lock.
    pub(super) stop_every: Cell<Option<u64>>,
    pub(super) choices: Cell<u64>,
    /// State of the generator that draws members.
    pub(super) random: Cell<u64>,
}

impl Balancing {
    /// For the child of `slot`, made by that child.
    pub fn new(
        settings: Rc<Settings>,
        board: Rc<Scoreboard>,
        assignment: Rc<Assignment>,
        slot: SlotNo,
    ) -> Balancing {
        let mut balancers = Vec::new();
        let mut grown_rows = Vec::new();
        for b in &settings.balancers {
            let mut list = List::default();
            for &no in &b.members {
                let Some(row) = assignment.worker(no) else {
                    continue;
                };
                list.push(&settings, settings.worker(no), row, board.routes(row));
            }
            let grown = assignment.grown(b.no).to_vec();
            grown_rows.extend(&grown);
            balancers.push(Local {
                no: b.no,
                row: assignment.balancer(b.no).unwrap_or(BalancerRow(u16::MAX)),
                // So that the first look finds what was added before.
                seen: Cell::new(u32::MAX),
                list: RefCell::new(list),
                grown,
                method: Cell::new(
                    method::find(&b.params.lbmethod).unwrap_or_else(method::default_method),
                ),
                live: RefCell::new(Rc::new(b.params.clone())),
                patient: Cell::new(true),
                silent: Cell::new(false),
                told_silent: Cell::new(false),
                forced: Cell::new(false),
            });
        }
        Balancing {
            workers: settings
                .workers
                .iter()
                .map(|w| assignment.worker(w.no))
                .collect(),
            grown: grown_rows.iter().map(|_| OnceCell::new()).collect(),
            grown_rows,
            scratch: RefCell::default(),
            stop_every: Cell::new(stop_every()),
            choices: Cell::new(0),
            random: Cell::new(clock::read_mono().0 ^ (u64::from(std::process::id()) << 40)),
            settings,
            board,
            slot,
            asker: Asker {
                pid: std::process::id(),
                generation: assignment.generation(),
            },
            balancers,
        }
    }

    /// The generation whose members these are.
    pub fn generation(&self) -> Generation {
        self.asker.generation
    }

    /// For workers outside balancers: counts the request as busy.
    pub fn enter(&self, worker: WorkerNo) -> Busy {
        let row = self.row(worker);
        if let Some(row) = row {
            self.board.enter(self.slot, row);
        }
        Busy {
            worker,
            row,
            slot: self.slot,
            board: self.board.clone(),
            probe: Mono(0),
            instead_of: None,
        }
    }

    /// A connection failed: puts the member in error unless it ignores errors or stands outside a
    /// balancer. True when this call did it (log it then).
    pub fn mark_error(&self, worker: WorkerNo) -> bool {
        self.row(worker)
            .is_some_and(|row| self.board.set_error(row, clock::now()))
    }

    /// A connection was made, or a reused one gave an answer to a probe: ends probation and forgets
    /// the error. False when another child put the member in error meanwhile.
    pub fn mark_connected(&self, worker: WorkerNo) -> bool {
        self.row(worker)
            .is_some_and(|row| self.board.connected(row))
    }

    /// Whether a request may be sent to it now: usable, or in error for as long as `retry` says.
    pub fn usable(&self, worker: WorkerNo) -> bool {
        let Some(row) = self.row(worker) else {
            return false;
        };
        let state = self.board.member(row);
        offer(&state, clock::now(), Duration::MAX) != Offer::No
    }

    /// Whether it never goes into error, as it stands now.
    pub fn ignores_errors(&self, worker: WorkerNo) -> bool {
        self.row(worker)
            .is_some_and(|row| self.board.member(row).status & status::IGNORE != 0)
    }

    /// Whether a failed connect keeps requests from it for a while.
    pub fn rests_after_error(&self, worker: WorkerNo) -> bool {
        self.row(worker).is_some_and(|row| {
            let state = self.board.member(row);
            state.status & status::IGNORE == 0 && !state.retry.is_zero()
        })
    }

    /// After the request: `failonstatus`. True when it put the member in error (log it then).
    pub fn fail_on_status(&self, worker: WorkerNo, code: u16) -> bool {
        self.balancer_of(worker)
            .is_some_and(|p| p.fail_on_status.contains(&code))
            && self.mark_error(worker)
    }

    /// After a read timeout: `failontimeout`. True when it put the member in error.
    pub fn fail_on_timeout(&self, worker: WorkerNo) -> bool {
        self.balancer_of(worker).is_some_and(|p| p.fail_on_timeout) && self.mark_error(worker)
    }

    fn balancer_of(&self, worker: WorkerNo) -> Option<&BalancerParams> {
        Some(self.params(self.worker(worker).balancer?))
    }

    /// Bytes handed to the backend connection.
    pub fn add_sent(&self, worker: WorkerNo, n: u64) {
        if let Some(row) = self.row(worker) {
            self.board.add_sent(self.slot, row, n);
        }
    }

    /// Bytes read: the status line without CRLF, and the decoded body.
    pub fn add_read(&self, worker: WorkerNo, n: u64) {
        if let Some(row) = self.row(worker) {
            self.board.add_received(self.slot, row, n);
        }
    }

    /// A member took so long to answer, well or by a failure: for `lbmethod=byleasttime`.
    pub fn answered_after(
        &self,
        balancer: BalancerNo,
        worker: WorkerNo,
        took: Duration,
        well: bool,
    ) {
        let local = self.balancers.get(balancer.index());
        if !local.is_some_and(|l| l.method.get().needs_latency()) {
            return;
        }
        if let Some(row) = self.row(worker) {
            let now = clock::now();
            let (average, at) = self.board.latency(row);
            let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            let took = match well {
                true => took,
                false => least_time::failure(average, took),
            };
            let average = least_time::updated(average, now.since(at), took);
            self.board.set_latency(row, average, now);
        }
    }

    /// A request comes to the balancer: for the budget of further tries.
    pub fn count_request(&self, balancer: BalancerNo) {
        if let Some(local) = self.balancers.get(balancer.index()) {
            self.board.count_try(local.row, clock::now(), false);
        }
    }

    /// Whether a request may go on to another member (`retrybudget`); counts it when it may.
    pub fn may_try_again(&self, balancer: BalancerNo) -> bool {
        let Some(local) = self.balancers.get(balancer.index()) else {
            return false;
        };
        let now = clock::now();
        let (requests, further) = self.board.tries(local.row, now);
        let may = within_budget(self.params(balancer).retry_budget, requests, further);
        if may {
            self.board.count_try(local.row, now, true);
        }
        may
    }

    /// When every member that may be used is in error and `forcerecovery` is Off: after how long the
    /// first of them is tried again.
    pub fn next_try(&self, balancer: BalancerNo) -> Option<Duration> {
        let local = self.balancers.get(balancer.index())?;
        if self.params(balancer).force_recovery {
            return None;
        }
        let now = clock::now();
        let list = self.list(local);
        let mut first = None;
        for &row in &list.rows {
            let m = self.board.member(row);
            if m.status & status::DRAIN == 0 {
                first = earlier(first, wait_for(&m, now)?);
            }
        }
        first
    }

    /// The same for the members of a session's `route`, and those that its redirects lead to, when
    /// the session may go nowhere else.
    pub fn next_try_of(&self, balancer: BalancerNo, route: &[u8]) -> Option<Duration> {
        let local = self.balancers.get(balancer.index())?;
        let now = clock::now();
        let list = self.list(local);
        let mut wanted = vec![route];
        let mut first = None;
        let mut next = 0;
        while let Some(&route) = wanted.get(next) {
            next += 1;
            for (routes, &row) in list.routes.iter().zip(&list.rows) {
                if routes.route.as_bytes() != route {
                    continue;
                }
                first = earlier(first, wait_for(&self.board.member(row), now)?);
                let redirect = routes.redirect.as_bytes();
                if !redirect.is_empty() && !wanted.contains(&redirect) {
                    wanted.push(redirect);
                }
            }
        }
        first
    }

    /// How many further tries a request has: `maxattempts`, else members − 1.
    pub fn max_attempts(&self, balancer: BalancerNo) -> u32 {
        let Some(local) = self.balancers.get(balancer.index()) else {
            return 0;
        };
        self.board
            .balancer(local.row)
            .max_attempts
            .unwrap_or(self.list(local).members.len().saturating_sub(1) as u32)
    }

    /// How long to poll `choose` (every 10 to 50 ms) when there is no member; zero: not at all.
    pub fn wait_limit(&self, balancer: BalancerNo) -> Duration {
        self.balancers
            .get(balancer.index())
            .map_or(Duration::ZERO, |b| self.board.balancer(b.row).timeout)
    }

    /// The balancer's parameters as configured.
    pub fn params(&self, balancer: BalancerNo) -> &BalancerParams {
        &self.settings.balancer(balancer).params
    }

    /// `balancer://name`.
    pub fn name(&self, balancer: BalancerNo) -> &str {
        &self.settings.balancer(balancer).name
    }

    /// The member's route as it stands now, possibly empty.
    pub fn route(&self, worker: WorkerNo) -> String {
        self.row(worker)
            .map_or_else(String::new, |row| self.board.routes(row).route)
    }
}

/// How long only an error keeps requests from a member; `Some(None)`: something else does. `None`: it
/// is usable.
fn wait_for(m: &MemberState, now: Mono) -> Option<Option<Duration>> {
    if status::usable(m.status) {
        return None;
    }
    let only = status::usable(m.status & !status::ERROR);
    Some(only.then(|| (m.error_time + m.retry).since(now)))
}

fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Whether one more of `further` tries of `requests` keeps to their greatest part. A few are always
/// allowed, so that a quiet proxy gets around a dead member.
fn within_budget(percent: u8, requests: u64, further: u64) -> bool {
    let (percent, next) = (u64::from(percent), further + 1);
    percent > 0 && (next <= ALWAYS_TRIED || next * 100 <= (requests + next) * percent)
}

#[cfg(test)]
#[path = "balancing_tests.rs"]
mod tests;
