//! The choice of a member for a request, under the balancer's lock.

use std::time::Duration;

use super::balancing::{Balancing, Busy};
use super::heartbeat::{self, Drawn};
use super::local::{List, Local};
use super::method;
use super::select::{self, Ask, Hope, Member, Offer};
use super::{hash, least_time};
use crate::clock::{self, Mono};
use crate::ids::{BalancerNo, WorkerNo};
use crate::shm::{BalancerState, MemberState, Notice, Routes, WorkerRow, status};

/// A heartbeat that is older does not count.
const HEARTBEAT_GOOD_FOR: Duration = Duration::from_secs(10);

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

/// A choice before it becomes a `Choice`.
struct Pick {
    index: usize,
    by_route: bool,
    probe: Mono,
    /// For the log: its lbstatus before it paid.
    lbstatus: i64,
}

impl Balancing {
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
        self.catch_up(local);
        let sticky = local.live.borrow().sticky.is_some();
        if sticky || route.is_some() {
            self.refresh_routes(local);
        }
        let list = local.list.borrow();
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
            if !pick.by_route && asked.skip.is_empty() && local.method.get().needs_traffic() {
                self.keep_level(&list, &members);
            }
            self.board.add_elected(row);
            self.board.enter(self.slot, row);
        }
        if !locked && let Some(turn) = &turn {
            turn.count_unlocked();
        }
        drop(turn);

        self.tell(balancer, local, notice, locked);
        self.tell_retries(balancer, local, &list, &members);
        let pick = picked.inspect_err(|e| self.tell_none(balancer, *e))?;
        let gave_way = match local.method.get().needs_traffic() && !pick.by_route {
            true => members.iter().position(|m| m.gave_way),
            false => None,
        };
        let worker = list.members[pick.index];
        self.tell_choice(balancer, worker, &pick);
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
                instead_of: gave_way.map(|i| list.rows[i]),
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
        local.forced.set(false);
        if state.force_recovery && select::all_in_error(members) {
            local.forced.set(true);
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

    /// Who was not among those to choose from (a reserve, one that drains, rests or is disabled) is
    /// taken to have moved as much for its factor as the one of them that moved least: it has nothing
    /// to catch up with when it is needed.
    fn keep_level(&self, list: &List, members: &[Member]) {
        let factor = |m: &Member| u128::from(m.full_factor.max(1).unsigned_abs());
        let moved = |m: &Member, other: &Member| u128::from(m.traffic) * factor(other);
        let compared = members.iter().filter(|m| m.compared);
        let Some(least) = compared.min_by(|a, b| moved(a, b).cmp(&moved(b, a))) else {
            return;
        };
        for (m, &row) in members.iter().zip(&list.rows) {
            if !m.compared {
                let due = u64::try_from(moved(least, m) / factor(least)).unwrap_or(u64::MAX);
                let lacks = due.saturating_sub(m.traffic);
                if lacks > 0 {
                    self.board.add_missed(row, lacks);
                }
            }
        }
    }

    fn load(
        &self,
        local: &Local,
        list: &List,
        members: &mut Vec<Member>,
        skip: &[WorkerNo],
        now: Mono,
    ) {
        // Each is filled in where it stands: a copy of what was just written piece by piece is slow.
        members.clear();
        members.resize(list.members.len(), Member::default());
        let method = local.method.get();
        let (busy, traffic) = (method.needs_busy(), method.needs_traffic());
        let (latency, beats) = (method.needs_latency(), method.weighs_heartbeats());
        for (i, m) in members.iter_mut().enumerate() {
            let row = list.rows[i];
            let mut state = self.board.member(row);
            if state.status & (status::IGNORE | status::ERROR | status::STOPPED)
                == status::IGNORE | status::ERROR
            {
                self.board.clear_error(row);
                state.status &= !status::ERROR;
            }
            m.status = state.status;
            m.load_factor = i64::from(state.load_factor);
            m.full_factor = m.load_factor;
            m.lbset = state.lbset;
            m.lbstatus = state.lbstatus;
            m.hash = list.hashes[i];
            m.offer = if skip.contains(&list.members[i]) {
                Offer::No
            } else {
                offer(&state, now, list.probe_limit[i])
            };
            if state.recovered != Mono(0) && !state.slow_start.is_zero() {
                m.start_slowly(now.since(state.recovered), state.slow_start);
            }
            if busy {
                m.busy = self.board.busy(row);
            }
            if traffic {
                m.traffic = self.board.traffic(row);
            }
            if latency {
                let (average, at) = self.board.latency(row);
                m.latency = least_time::decayed(average, now.since(at));
            }
            if beats {
                m.open = self
                    .board
                    .heartbeat(row)
                    .filter(|b| now.since(b.seen) < HEARTBEAT_GOOD_FOR)
                    .map(|b| heartbeat::open(b.busy, b.ready));
            }
        }
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

    /// At level debug: what became of members in error.
    fn tell_retries(&self, balancer: BalancerNo, local: &Local, list: &List, members: &[Member]) {
        if !log::log_enabled!(target: "proxy_balancer", log::Level::Debug) {
            return;
        }
        for (m, &no) in members.iter().zip(&list.members) {
            let text = if local.forced.get() && m.offer == Offer::Usable {
                "AH01165: forcing recovery for"
            } else if m.status & status::ERROR == 0 {
                continue;
            } else if m.offer == Offer::Probe {
                "AH00932: retry time is over for"
            } else if m.status & status::STOPPED != 0 {
                "AH03305: stopped, so never retried:"
            } else {
                "AH00933: too soon to retry"
            };
            let (balancer, worker) = (self.name(balancer), &self.worker(no).name);
            log::debug!(target: "proxy_balancer", "{text} worker {worker} of {balancer}");
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

/// The retry rule (spec: balancer 9.2), without its step.
pub(super) fn offer(state: &MemberState, now: Mono, probe_limit: Duration) -> Offer {
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
pub(super) fn stop_every() -> Option<u64> {
    if !cfg!(debug_assertions) {
        return None;
    }
    std::env::var("MUSTER_STOP_IN_LOCK")
        .ok()?
        .parse()
        .ok()
        .filter(|n| *n > 0)
}
