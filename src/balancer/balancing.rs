//! The choice of a member for a request, and what its outcome means for the member.

use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::rc::Rc;
use std::time::Duration;

use super::heartbeat::{self, Drawn};
use super::method::{self, LbMethod};
use super::select::{self, Ask, Hope, Member, Offer};
use super::{hash, least_time};
use crate::clock::{self, Mono};
use crate::config::settings::{BalancerParams, Settings, Worker, WorkerParams};
use crate::config::worker_url::WorkerUrl;
use crate::ids::{BalancerNo, SlotNo, WorkerNo};
use crate::shm::{
    Asker, Assignment, BalancerRow, BalancerState, MemberState, Notice, Routes, Scoreboard,
    WorkerRow, status,
};

/// A heartbeat that is older does not count.
const HEARTBEAT_GOOD_FOR: Duration = Duration::from_secs(10);

/// Further tries that a balancer may make in the last ten seconds whatever its requests.
const ALWAYS_TRIED: u64 = 100;

/// How long a choice waits for a balancer's lock, once; after that it only tries until it had it
/// again, and chooses without it meanwhile.
const PATIENCE: Duration = Duration::from_millis(50);

/// A member was chosen.
pub struct Choice {
    /// Which.
    pub worker: WorkerNo,
    /// By the session's route, not by the method.
    pub by_route: bool,
    /// The member's route is not the session's (also when the request had no session); only on
    /// balancers with a sticky name.
    pub route_changed: bool,
    /// This request tries a member that was in error: tell `mark_connected` or `mark_error` soon.
    pub probe: bool,
    /// Its busy count was raised under the lock already: keep this for the try, do not call `enter`.
    pub busy: Busy,
}

/// A request, as a choice sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Its session's route.
    pub route: Option<&'a [u8]>,
    /// The hash of its key ([`hash::of`]), for `lbmethod=byhash`.
    pub key: Option<u64>,
    /// Members that it must not try again though they are usable (a full local pool).
    pub skip: &'a [WorkerNo],
}

/// Why there is none: all are answered with 503.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMember {
    /// The session's members are unusable and `nofailover` is on (do not wait for the balancer's timeout).
    Nofailover,
    /// No usable member.
    AllInError,
    /// The balancer has no members.
    Empty,
}

/// A request at a worker, counted as busy until this is dropped.
pub struct Busy {
    worker: WorkerNo,
    row: Option<WorkerRow>,
    slot: SlotNo,
    board: Rc<Scoreboard>,
    /// When this request began to probe the member; zero: it does not.
    probe: Mono,
}

impl Busy {
    /// Which worker.
    pub fn worker(&self) -> WorkerNo {
        self.worker
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
    settings: Rc<Settings>,
    board: Rc<Scoreboard>,
    slot: SlotNo,
    asker: Asker,
    balancers: Vec<Local>,
    workers: Vec<Option<WorkerRow>>,
    /// Members added at run time, by their number less that of the first; filled when they are seen.
    grown: Box<[OnceCell<Worker>]>,
    grown_rows: Vec<WorkerRow>,
    /// Reused, so that nothing is allocated under the lock.
    scratch: RefCell<Vec<Member>>,
    /// Debug builds only, for tests: every so many choices this child stops inside the lock.
    stop_every: Cell<Option<u64>>,
    choices: Cell<u64>,
    /// State of the generator that draws members.
    random: Cell<u64>,
}

/// What this child keeps of a balancer.
struct Local {
    no: BalancerNo,
    row: BalancerRow,
    list: RefCell<List>,
    /// The table's change counter when `list` was made.
    seen: Cell<u32>,
    /// Rows of members that may be added at run time.
    grown: Vec<WorkerRow>,
    method: Cell<&'static dyn LbMethod>,
    /// With the method and the sticky names as they are now.
    live: RefCell<Rc<BalancerParams>>,
    /// The last turn was had in time.
    patient: Cell<bool>,
    /// Members are to be drawn by heartbeats, and none is fresh.
    silent: Cell<bool>,
    /// That was told.
    told_silent: Cell<bool>,
}

/// The members of a balancer, configured ones first.
#[derive(Default)]
struct List {
    members: Vec<WorkerNo>,
    rows: Vec<WorkerRow>,
    /// How long a probe of each member may last before another request may try too.
    probe_limit: Vec<Duration>,
    routes: Vec<Routes>,
    /// Of their names.
    hashes: Vec<u64>,
}

/// A choice before it becomes a `Choice`.
struct Pick {
    index: usize,
    by_route: bool,
    probe: Mono,
    /// For the log: its lbstatus before it paid.
    lbstatus: i64,
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

    /// The balancer's members as they are now: those that joined since the last look included.
    fn list<'a>(&self, local: &'a Local) -> Ref<'a, List> {
        self.catch_up(local);
        self.refresh_routes(local);
        local.list.borrow()
    }

    /// Sees what was changed by hand, and members that joined.
    fn catch_up(&self, local: &Local) {
        let changes = self.board.changes(local.row);
        if local.seen.get() != changes {
            local.seen.set(changes);
            let mut live = BalancerParams::clone(&local.live.borrow());
            live.lbmethod = self.board.lbmethod(local.row);
            live.sticky = self.board.sticky(local.row);
            if let Some(method) = method::find(&live.lbmethod) {
                local.method.set(method);
            }
            local.live.replace(Rc::new(live));
            let mut list = local.list.borrow_mut();
            let first = self.settings.first_grown(local.no).0;
            for (i, &row) in local.grown.iter().enumerate() {
                if list.rows.contains(&row) {
                    continue;
                }
                let no = WorkerNo(first + i as u16);
                if let Some(worker) = self.grown_member(local, no, row) {
                    list.push(&self.settings, worker, row, self.board.routes(row));
                }
            }
        }
    }

    /// A member that was added at run time, when there is one in this row.
    fn grown_member(&self, local: &Local, no: WorkerNo, row: WorkerRow) -> Option<&Worker> {
        let place = self.grown.get(no.index() - self.settings.workers.len())?;
        if let Some(worker) = place.get() {
            return Some(worker);
        }
        let found = self.board.found(row)?;
        let url = WorkerUrl::parse(&found.name).ok()?;
        let balancer = self.settings.balancer(local.no);
        Some(place.get_or_init(|| Worker {
            no,
            name: url.name,
            scheme: url.scheme,
            host: url.host,
            port: url.port,
            port_is_set: url.port_is_set,
            unix: url.unix,
            path: url.path,
            balancer: Some(local.no),
            server: balancer.server,
            params: WorkerParams::default(),
            span: balancer.span.clone(),
        }))
    }

    /// A worker with its settings, also one that joined at run time.
    ///
    /// # Panics
    /// For a number that neither the configuration nor a [`Choice`] gave.
    pub fn worker(&self, no: WorkerNo) -> &Worker {
        match no.index().checked_sub(self.settings.workers.len()) {
            None => self.settings.worker(no),
            Some(i) => match self.grown.get(i).and_then(OnceCell::get) {
                Some(worker) => worker,
                None => panic!("worker {no} is not known"),
            },
        }
    }

    /// The balancer's members now, configured ones first.
    pub fn members(&self, balancer: BalancerNo) -> Vec<WorkerNo> {
        let local = self.balancers.get(balancer.index());
        local.map_or_else(Vec::new, |local| self.list(local).members.clone())
    }

    /// [`Balancing::choose_for`] for a request without a key.
    pub fn choose(
        &self,
        balancer: BalancerNo,
        route: Option<&[u8]>,
        skip: &[WorkerNo],
    ) -> Result<Choice, NoMember> {
        let key = None;
        self.choose_for(balancer, &Asked { route, key, skip })
    }

    /// Force recovery, route, selection, accounting, busy (spec: balancer 5 steps 2-7), under the lock.
    pub fn choose_for(&self, balancer: BalancerNo, asked: &Asked) -> Result<Choice, NoMember> {
        let local = self
            .balancers
            .get(balancer.index())
            .ok_or(NoMember::Empty)?;
        let route = asked.route.filter(|r| !r.is_empty());
        let asked = Asked { route, ..*asked };
        let list = self.list(local);
        if list.members.is_empty() {
            return Err(NoMember::Empty);
        }
        let now = clock::now();
        let mut members = self.scratch.borrow_mut();
        members.reserve(list.members.len());

        // Nothing but arithmetic from here to the end of the turn.
        let bound = if local.patient.get() {
            PATIENCE
        } else {
            Duration::ZERO
        };
        let turn = self.board.turn(local.row, &list.rows, bound, self.asker);
        let locked = turn.as_ref().is_some_and(|t| t.locked());
        let notice = turn.as_ref().and_then(|t| t.notice);
        let picked = self.pick(local, &list, &mut members, &asked, now);
        if let (Ok(pick), Some(row)) = (&picked, picked_row(&list, &picked)) {
            let stop = self.stops_here();
            for (i, (m, &row)) in members.iter().zip(&list.rows).enumerate() {
                if stop && i == 1 {
                    self.board.stop_here();
                }
                if m.change != 0 {
                    self.board.add_lbstatus(row, m.change);
                }
            }
            debug_assert!(pick.index < members.len());
            self.board.add_elected(row);
            self.board.enter(self.slot, row);
        }
        if !locked && let Some(turn) = &turn {
            turn.count_unlocked();
        }
        drop(turn);

        self.tell(balancer, local, notice, locked);
        let pick = picked.inspect_err(|e| self.tell_none(balancer, *e))?;
        let worker = list.members[pick.index];
        self.tell_choice(balancer, worker, &pick);
        let sticky = local.live.borrow().sticky.is_some();
        let changed = route.is_none_or(|r| list.routes[pick.index].route.as_bytes() != r);
        Ok(Choice {
            worker,
            by_route: pick.by_route,
            route_changed: sticky && changed,
            probe: pick.probe != Mono(0),
            busy: Busy {
                worker,
                row: Some(list.rows[pick.index]),
                slot: self.slot,
                board: self.board.clone(),
                probe: pick.probe,
            },
        })
    }

    /// The choice itself. `members` is left with the changes to lbstatus that it makes.
    fn pick(
        &self,
        local: &Local,
        list: &List,
        members: &mut Vec<Member>,
        asked: &Asked,
        now: Mono,
    ) -> Result<Pick, NoMember> {
        let state = self.board.balancer(local.row);
        self.load(local, list, members, asked.skip, now);
        if state.force_recovery && select::all_in_error(members) {
            for (m, &row) in members.iter().zip(&list.rows) {
                if status::usable(m.status & !status::ERROR) {
                    self.board.clear_error(row);
                }
            }
            self.load(local, list, members, asked.skip, now);
        }
        // With the lock nobody takes the probe away between look and step. Without it somebody may:
        // look again.
        for _ in 0..4 {
            let (index, by_route) = {
                let ask = Ask {
                    key: asked.key,
                    random: self.random(),
                };
                decide(local, members, &list.routes, asked.route, &state, &ask)?
            };
            let m = members[index];
            let mut probe = Mono(0);
            if m.offer == Offer::Probe {
                let row = list.rows[index];
                if !self.board.begin_probe(row, self.slot, now, m.status) {
                    self.load(local, list, members, asked.skip, now);
                    continue;
                }
                probe = now;
            }
            return Ok(Pick {
                index,
                by_route,
                probe,
                lbstatus: m.lbstatus,
            });
        }
        for m in members.iter_mut() {
            m.change = 0;
        }
        Err(NoMember::AllInError)
    }

    fn load(
        &self,
        local: &Local,
        list: &List,
        members: &mut Vec<Member>,
        skip: &[WorkerNo],
        now: Mono,
    ) {
        members.clear();
        let method = local.method.get();
        for (i, (&no, &row)) in list.members.iter().zip(&list.rows).enumerate() {
            let limit = list.probe_limit[i];
            let mut state = self.board.member(row);
            if state.status & (status::IGNORE | status::ERROR | status::STOPPED)
                == status::IGNORE | status::ERROR
            {
                self.board.clear_error(row);
                state.status &= !status::ERROR;
            }
            let mut m = Member::new(state.status, state.load_factor, state.lbset, state.lbstatus);
            m.offer = if skip.contains(&no) {
                Offer::No
            } else {
                offer(&state, now, limit)
            };
            if state.recovered != Mono(0) && !state.slow_start.is_zero() {
                m.start_slowly(now.since(state.recovered), state.slow_start);
            }
            m.hash = list.hashes[i];
            if method.needs_busy() {
                m.busy = self.board.busy(row);
            }
            if method.needs_traffic() {
                m.traffic = self.board.traffic(row);
            }
            if method.needs_latency() {
                let (average, at) = self.board.latency(row);
                m.latency = least_time::decayed(average, now.since(at));
            }
            if method.weighs_heartbeats() {
                m.open = self
                    .board
                    .heartbeat(row)
                    .filter(|b| now.since(b.seen) < HEARTBEAT_GOOD_FOR)
                    .map(|b| heartbeat::open(b.busy, b.ready));
            }
            members.push(m);
        }
    }

    fn refresh_routes(&self, local: &Local) {
        let List { routes, rows, .. } = &mut *local.list.borrow_mut();
        for (copy, &row) in routes.iter_mut().zip(rows.iter()) {
            if self.board.routes_version(row) != copy.version {
                *copy = self.board.routes(row);
            }
        }
    }

    fn row(&self, worker: WorkerNo) -> Option<WorkerRow> {
        match worker.index().checked_sub(self.workers.len()) {
            None => self.workers.get(worker.index()).copied().flatten(),
            Some(i) => self.grown_rows.get(i).copied(),
        }
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

    /// Whether the balancer's method wants a key of each request.
    pub fn wants_key(&self, balancer: BalancerNo) -> bool {
        let local = self.balancers.get(balancer.index());
        local.is_some_and(|local| {
            self.catch_up(local);
            local.method.get().needs_key()
        })
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
        let members = list.rows.iter().map(|&row| self.board.member(row));
        let mut waits = Vec::new();
        for m in members {
            if status::usable(m.status) && m.status & status::DRAIN == 0 {
                return None;
            }
            let only = m.status & (status::ERROR | status::DRAIN) == status::ERROR
                && status::usable(m.status & !status::ERROR);
            if only {
                waits.push((m.error_time + m.retry).since(now));
            }
        }
        waits.into_iter().min()
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

    /// The same with the method and the sticky names as they are now, for `sticky::find`.
    pub fn live(&self, balancer: BalancerNo) -> Rc<BalancerParams> {
        match self.balancers.get(balancer.index()) {
            Some(local) => {
                self.catch_up(local);
                Rc::clone(&local.live.borrow())
            }
            None => Rc::new(self.params(balancer).clone()),
        }
    }

    /// The row of a balancer.
    pub fn balancer_row(&self, balancer: BalancerNo) -> Option<BalancerRow> {
        self.balancers.get(balancer.index()).map(|local| local.row)
    }

    /// Rows of members that may be added to it, used or not.
    pub fn grown_rows(&self, balancer: BalancerNo) -> &[WorkerRow] {
        let local = self.balancers.get(balancer.index());
        local.map_or(&[], |local| &local.grown)
    }

    /// The balancer's members with their rows.
    pub fn rows(&self, balancer: BalancerNo) -> Vec<(WorkerNo, WorkerRow)> {
        self.balancers
            .get(balancer.index())
            .map_or_else(Vec::new, |local| {
                let list = self.list(local);
                let both = list.members.iter().copied().zip(list.rows.iter().copied());
                both.collect()
            })
    }

    /// The member's route as it stands now, possibly empty.
    pub fn route(&self, worker: WorkerNo) -> String {
        self.row(worker)
            .map_or_else(String::new, |row| self.board.routes(row).route)
    }

    /// The watchdog's tick: repairs what a dead lock owner left behind, without waiting.
    pub fn tidy(&self) {
        for (no, local) in self.balancers.iter().enumerate() {
            let list = self.list(local);
            let turn = self
                .board
                .turn(local.row, &list.rows, Duration::ZERO, self.asker);
            let notice = turn.as_ref().and_then(|t| t.notice);
            drop(turn);
            if let Some(Notice::Repaired { .. }) = notice {
                self.tell(BalancerNo(no as u16), local, notice, true);
            }
        }
    }

    /// For tests, in debug builds only: what `MUSTER_STOP_IN_LOCK` says, from now on.
    pub fn stop_in_lock_every(&self, n: u64) {
        if cfg!(debug_assertions) {
            self.choices.set(0);
            self.stop_every.set((n > 0).then_some(n));
        }
    }

    fn stops_here(&self) -> bool {
        self.choices.set(self.choices.get() + 1);
        self.stop_every
            .get()
            .is_some_and(|n| self.choices.get().is_multiple_of(n))
    }

    /// `balancer://name`.
    pub fn name(&self, balancer: BalancerNo) -> &str {
        &self.settings.balancer(balancer).name
    }

    /// SplitMix64: members are drawn by it, nothing secret depends on it.
    fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        hash::mix(state)
    }

    fn tell(&self, balancer: BalancerNo, local: &Local, notice: Option<Notice>, locked: bool) {
        if local.silent.get() != local.told_silent.replace(local.silent.get()) && local.silent.get()
        {
            log::warn!(
                target: "lbmethod_heartbeat",
                "{}: no member's heartbeat is fresh; choosing by turns until one comes",
                self.name(balancer)
            );
        }
        let was_patient = local.patient.replace(locked);
        match notice {
            Some(Notice::Repaired { owner }) => log::warn!(
                target: "proxy_balancer",
                "{}: process {owner} died inside the balancer's lock; its members' turns were put right",
                self.name(balancer)
            ),
            // Once, until the lock could be had again.
            Some(Notice::Waited { owner }) if was_patient => log::error!(
                target: "proxy_balancer",
                "{}: process {owner} does not give the balancer's lock back; choosing members without it until it does",
                self.name(balancer)
            ),
            _ => {}
        }
    }

    fn tell_none(&self, balancer: BalancerNo, why: NoMember) {
        let text = match why {
            NoMember::Nofailover => {
                "all workers of the session's route are in error state and nofailover is on"
            }
            NoMember::AllInError => "all workers are in error state",
            NoMember::Empty => "the balancer has no workers",
        };
        log::debug!(target: "proxy_balancer", "{}: {text}", self.name(balancer));
    }

    fn method_name(&self, balancer: BalancerNo) -> &'static str {
        let local = self.balancers.get(balancer.index());
        local.map_or("", |local| local.method.get().name())
    }

    fn tell_choice(&self, balancer: BalancerNo, worker: WorkerNo, pick: &Pick) {
        if log::log_enabled!(target: "proxy_balancer", log::Level::Debug) {
            let row = self.row(worker);
            log::debug!(
                target: "proxy_balancer",
                "{}: {} selected worker {} : busy {} : lbstatus {}{}",
                self.name(balancer),
                if pick.by_route { "the session's route" } else { self.method_name(balancer) },
                self.worker(worker).name,
                row.map_or(0, |r| self.board.busy(r)),
                pick.lbstatus,
                if pick.probe != Mono(0) { " : tried again after an error" } else { "" },
            );
        }
    }
}

impl List {
    fn push(&mut self, settings: &Settings, worker: &Worker, row: WorkerRow, routes: Routes) {
        let p = &worker.params;
        let timeout = settings.server(worker.server).proxy.timeout;
        let connect = p.connection_timeout.or(p.timeout).unwrap_or(timeout);
        self.members.push(worker.no);
        self.rows.push(row);
        self.probe_limit.push(connect.max(p.retry));
        self.routes.push(routes);
        self.hashes.push(hash::of(worker.name.as_bytes()));
    }
}

fn picked_row(list: &List, picked: &Result<Pick, NoMember>) -> Option<WorkerRow> {
    list.rows.get(picked.as_ref().ok()?.index).copied()
}

/// By route, else by the method. Members' `change` is set for the one that is chosen.
fn decide(
    local: &Local,
    members: &mut [Member],
    routes: &[Routes],
    route: Option<&[u8]>,
    state: &BalancerState,
    ask: &Ask,
) -> Result<(usize, bool), NoMember> {
    if let Some(route) = route {
        let mut found = select::by_route(members, routes, route, Hope::First);
        if found.is_none() && state.no_failover && select::has_route(routes, route) {
            // The session may go nowhere else: then also where another request is probing.
            found = select::by_route(members, routes, route, Hope::Last);
            if found.is_none() {
                return Err(NoMember::Nofailover);
            }
        }
        if let Some(index) = found {
            select::charge(members, index);
            return Ok((index, true));
        }
    }
    let mut method = local.method.get();
    if method.needs_key() && ask.key.is_none() {
        method = method::default_method();
    }
    if method.weighs_heartbeats() {
        let drawn = heartbeat::draw(members, ask.random);
        local.silent.set(drawn == Drawn::Silent);
        match drawn {
            Drawn::Member(index) => return Ok((index, false)),
            Drawn::Full => return Err(NoMember::AllInError),
            Drawn::Silent => {}
        }
    }
    let index = select::select(method, members, ask).ok_or(NoMember::AllInError)?;
    Ok((index, false))
}

/// Whether one more of `further` tries of `requests` keeps to their greatest part. A few are always
/// allowed, so that a quiet proxy gets around a dead member.
fn within_budget(percent: u8, requests: u64, further: u64) -> bool {
    let (percent, next) = (u64::from(percent), further + 1);
    percent > 0 && (next <= ALWAYS_TRIED || next * 100 <= (requests + next) * percent)
}

/// The retry rule (spec: balancer 9.2), without its step.
fn offer(state: &MemberState, now: Mono, probe_limit: Duration) -> Offer {
    let s = state.status;
    if status::usable(s) {
        if s & status::PROBATION == 0 {
            Offer::Usable
        } else if now > state.probe_since + probe_limit {
            Offer::Probe
        } else {
            Offer::Probed
        }
    } else if status::usable(s & !status::ERROR) && now > state.error_time + state.retry {
        Offer::Probe
    } else {
        Offer::No
    }
}

/// Debug builds: `MUSTER_STOP_IN_LOCK=N` makes each N-th choice of a child stop itself (SIGSTOP) in
/// the middle of the balancer's critical section, so that tests can kill or delay a lock's owner.
fn stop_every() -> Option<u64> {
    if !cfg!(debug_assertions) {
        return None;
    }
    std::env::var("MUSTER_STOP_IN_LOCK")
        .ok()?
        .parse()
        .ok()
        .filter(|n| *n > 0)
}

#[cfg(test)]
#[path = "balancing_tests.rs"]
mod tests;
