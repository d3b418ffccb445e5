//! Which member is chosen (spec: balancer 6 and 8), on plain values: no table, no clock, no lock.

use std::time::Duration;

use super::hash;
use super::method::LbMethod;
use crate::shm::{Routes, status};

/// What the choice knows of a member.
#[derive(Clone, Copy, Debug, Default)]
pub struct Member {
    /// Status bits.
    pub status: u32,
    /// Whether it could take a request now.
    pub offer: Offer,
    /// `loadfactor` × 100.
    pub load_factor: i64,
    /// The same when it is not starting slowly.
    pub full_factor: i64,
    /// `lbset`.
    pub lbset: u32,
    /// `lbstatus`, with what this choice has added.
    pub lbstatus: i64,
    /// What this choice adds in the end; zero over all members together.
    pub change: i64,
    /// Requests in flight, when the method asks for it.
    pub busy: u64,
    /// Slots that wait for work by a fresh heartbeat, when the method asks for it.
    pub open: Option<u64>,
    /// Bytes to and from it, when the method asks for it.
    pub traffic: u64,
    /// Average time to an answer in ns, 0 unknown, when the method asks for it.
    pub latency: u64,
    /// Of its name.
    pub hash: u64,
    /// It stands for choice in this round.
    pub compared: bool,
    /// The request was its own by what it has moved, but it starts slowly and gave way: what the
    /// request moves counts as moved by it, too.
    pub gave_way: bool,
    /// Its redirect was followed by this choice.
    pub(super) followed: bool,
}

/// What a request brings to the choice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask {
    /// The hash of its key, when the method asks for it and the request has one.
    pub key: Option<u64>,
    /// Any number.
    pub random: u64,
}

/// Could a member take a request now?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offer {
    /// Yes.
    Usable,
    /// In error, but its retry interval has passed: the request would be the probe.
    Probe,
    /// Another request is probing it: only when nothing else is usable.
    Probed,
    /// No.
    #[default]
    No,
}

/// A load factor as a whole, for parts of it.
pub(super) const WHOLE: u64 = 1 << 16;

/// Whether a member with this part of its factor takes a turn that it has, beside one with `most`.
pub(super) fn takes_part(own: u64, most: u64, random: u64) -> bool {
    own >= most || hash::mix(random) % most.max(1) < own
}

impl Member {
    /// A member with these numbers that is usable or not by its status alone.
    pub fn new(status: u32, load_factor: u32, lbset: u32, lbstatus: i64) -> Member {
        Member {
            status,
            offer: if status::usable(status) {
                Offer::Usable
            } else {
                Offer::No
            },
            load_factor: i64::from(load_factor),
            full_factor: i64::from(load_factor),
            lbset,
            lbstatus,
            ..Member::default()
        }
    }

    /// The part of its load factor that a member has which became usable again `since` ago, growing
    /// from nothing over `slow_start`.
    pub(super) fn start_slowly(&mut self, since: Duration, slow_start: Duration) {
        if since < slow_start {
            let part = self.full_factor.unsigned_abs() as u128 * since.as_nanos();
            let part = part / slow_start.as_nanos().max(1);
            self.load_factor = i64::try_from(part).unwrap_or(i64::MAX).max(1);
        }
    }

    /// The part of its load factor that it has now, of [`WHOLE`].
    pub(super) fn part(&self) -> u64 {
        if self.load_factor == self.full_factor {
            return WHOLE;
        }
        let now = u128::from(self.load_factor.unsigned_abs()) * u128::from(WHOLE);
        let part = now / u128::from(self.full_factor.max(1).unsigned_abs());
        u64::try_from(part).unwrap_or(WHOLE).clamp(1, WHOLE)
    }

    pub(super) fn takes(&self, hope: Hope) -> bool {
        match self.offer {
            Offer::Usable | Offer::Probe => true,
            Offer::Probed => hope == Hope::Last,
            Offer::No => false,
        }
    }

    /// Its factor, for being compared. Wrapping: a table that somebody scribbled over must not end
    /// a child.
    fn credit(&mut self) {
        self.lbstatus = self.lbstatus.wrapping_add(self.load_factor);
        self.change += self.load_factor;
    }

    fn has(&self, bits: u32) -> bool {
        self.status & bits != 0
    }
}

/// How desperate a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hope {
    /// Members that another request is probing do not count.
    First,
    /// They do.
    Last,
}

/// One pass of the loop: the best member so far and the sum of the factors of all that were compared.
struct Round<'a> {
    method: &'a dyn LbMethod,
    takes_turns: bool,
    best: Option<usize>,
    total: i64,
}

impl Round<'_> {
    fn compare(&mut self, members: &mut [Member], i: usize) {
        members[i].compared = true;
        if self.takes_turns {
            let m = &mut members[i];
            m.credit();
            self.total += m.load_factor;
        }
        let better = match self.best {
            None => true,
            Some(best) => self.method.better(&members[i], &members[best]),
        };
        if better {
            self.best = Some(i);
        }
    }
}

/// The shared loop: sets in ascending order until one offers a member; in a set the regular members,
/// then as many spares as regular members are missing, then, if there is still none, the standbys.
/// The members' `change` tells what is to be added to their lbstatus.
pub fn select(method: &dyn LbMethod, members: &mut [Member], ask: &Ask) -> Option<usize> {
    pass(method, members, ask, Hope::First).or_else(|| pass(method, members, ask, Hope::Last))
}

fn pass(method: &dyn LbMethod, members: &mut [Member], ask: &Ask, hope: Hope) -> Option<usize> {
    let mut set = members.iter().map(|m| m.lbset).min()?;
    loop {
        let mut round = Round {
            method,
            takes_turns: method.takes_turns(),
            best: None,
            total: 0,
        };
        in_set(&mut round, members, set, hope);
        let total = round.total;
        if let Some(best) = round.best {
            let drawn = method.draw(members, best, ask);
            members[best].gave_way = drawn != best && method.needs_traffic();
            members[drawn].change -= total;
            return Some(drawn);
        }
        set = members.iter().map(|m| m.lbset).filter(|s| *s > set).min()?;
    }
}

fn in_set(round: &mut Round<'_>, members: &mut [Member], set: u32, hope: Hope) {
    let mut missing = 0usize;
    let mut reserves = false;
    for i in 0..members.len() {
        let m = &members[i];
        if m.lbset != set {
            continue;
        }
        // A spare that is also a standby counts as a spare; neither counts as missing.
        if m.has(status::SPARE | status::STANDBY) {
            reserves = true;
            continue;
        }
        if !m.has(status::DRAIN) && m.takes(hope) {
            round.compare(members, i);
        } else {
            missing += 1;
        }
    }
    if !reserves {
        return;
    }
    for i in 0..members.len() {
        let m = &members[i];
        if m.lbset == set && m.has(status::SPARE) && !m.has(status::DRAIN) && m.takes(hope) {
            if missing == 0 {
                break;
            }
            missing -= 1;
            round.compare(members, i);
        }
    }
    if round.best.is_some() {
        return;
    }
    for i in 0..members.len() {
        let m = &members[i];
        if m.lbset == set
            && m.has(status::STANDBY)
            && !m.has(status::SPARE | status::DRAIN)
            && m.takes(hope)
        {
            round.compare(members, i);
        }
    }
}

/// The member that has `route`, or the one that its redirect leads to. Draining and sets do not
/// matter; standbys come last.
pub fn by_route(
    members: &mut [Member],
    routes: &[Routes],
    route: &[u8],
    hope: Hope,
) -> Option<usize> {
    for m in members.iter_mut() {
        m.followed = false;
    }
    look_up(members, routes, route, hope)
}

fn look_up(members: &mut [Member], routes: &[Routes], route: &[u8], hope: Hope) -> Option<usize> {
    for standby in [false, true] {
        for i in 0..members.len().min(routes.len()) {
            if members[i].has(status::STANDBY) != standby || routes[i].route.as_bytes() != route {
                continue;
            }
            if members[i].takes(hope) {
                return Some(i);
            }
            // Each redirect is followed once: a second time it would lead to the same nothing, and
            // circles end. (httpd bounds the depth instead, which many members on one route turn
            // into a search without end.)
            let redirect = routes[i].redirect.as_bytes();
            if !redirect.is_empty() && !members[i].followed {
                members[i].followed = true;
                if let Some(found) = look_up(members, routes, redirect, hope) {
                    return Some(found);
                }
            }
        }
    }
    None
}

/// Whether any member, in whatever state, has exactly this route.
pub fn has_route(routes: &[Routes], route: &[u8]) -> bool {
    routes.iter().any(|r| r.route.as_bytes() == route)
}

/// Accounting for a choice by route (spec: balancer 6.4): every usable member of the balancer is
/// credited, the chosen one pays, so that the shares stay right over both kinds of requests.
pub fn charge(members: &mut [Member], chosen: usize) {
    let mut total = 0;
    for (i, m) in members.iter_mut().enumerate() {
        if i == chosen || m.offer == Offer::Usable {
            m.credit();
            total += m.load_factor;
        }
    }
    if let Some(m) = members.get_mut(chosen) {
        m.change -= total;
    }
}

/// Forced recovery (spec: balancer 9.4): true when there are members that only an error keeps from
/// being used, and none of them may be tried now. A member that drains serves its own sessions only,
/// so it does not count.
pub fn all_in_error(members: &[Member]) -> bool {
    let mut some = false;
    for m in members {
        if status::usable(m.status & !status::ERROR) && !m.has(status::DRAIN) {
            if !m.has(status::ERROR) || m.offer == Offer::Probe {
                return false;
            }
            some = true;
        }
    }
    some
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
