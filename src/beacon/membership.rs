//! What accepted announcements do to a balancer: leases, members, eviction, take-over.
//!
//! The records stand in the slot table; this keeps a copy to find them by URL. No clock is read here
//! and no socket: the caller brings the time.
//!
//! Only the disabled bit of members that carry the beacon's mark is ever changed. Each pair of steps
//! (record, member) has an order in which a death between the two is put right by the next holder's
//! [`Membership::take_over`].

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use crate::clock::Mono;
use crate::codec::beacon::{Announcement, Origin, Refusal};
use crate::log;
use crate::shm::{
    BalancerRow, BeaconRow, Found, LEASES, Lease, LeaseState, NewMember, Scoreboard, WorkerRow,
    status,
};

/// An add that failed is tried again after this.
const RETRY: Duration = Duration::from_secs(60);
/// Leases are looked over at most this often.
const SWEEP: Duration = Duration::from_secs(1);
/// Leases run so many times as long while the socket cannot hold what comes.
const PATIENCE: u32 = 3;
/// `loadfactor` × 100 where nothing is announced.
const PLAIN_FACTOR: u32 = 100;

/// The balancer that backends join.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    /// Its row.
    pub row: BalancerRow,
    /// Rows of configured members.
    pub configured: Vec<WorkerRow>,
    /// Rows for members that join.
    pub grown: Vec<WorkerRow>,
}

/// The leases of one receiver.
pub(super) struct Membership {
    board: Rc<Scoreboard>,
    row: BeaconRow,
    /// For the log.
    name: String,
    /// `None`: there is no balancer of that name.
    balancer: Option<Joined>,
    /// Other receivers of the same balancer: whoever hears a backend keeps it.
    others: Vec<BeaconRow>,
    /// `ProxyBeaconTimeout`; zero: no eviction.
    timeout: Duration,
    /// A record that is not in use is kept this long for its mark.
    memory: Duration,
    records: Vec<Option<Record>>,
    by_url: HashMap<String, usize>,
    swept: Mono,
}

#[derive(Clone, Debug)]
struct Record {
    url: String,
    last_seen: Mono,
    last_ts: i64,
    state: LeaseState,
    announced: (String, u32),
}

impl Membership {
    /// Nothing is read yet: see [`Membership::take_over`].
    pub fn new(
        board: Rc<Scoreboard>,
        row: BeaconRow,
        name: String,
        balancer: Option<Joined>,
        others: Vec<BeaconRow>,
        timeout: Duration,
        max_skew: Duration,
    ) -> Membership {
        Membership {
            board,
            row,
            name,
            balancer,
            others,
            timeout,
            memory: max_skew * 2,
            records: vec![None; LEASES],
            by_url: HashMap::new(),
            swept: Mono(0),
        }
    }

    /// Goes on with the leases that a former holder left, and makes fresh ones for members with the
    /// beacon's mark that have none. `deaf`: for so long nobody listened, which is no backend's
    /// fault, so leases are that much longer.
    pub fn take_over(&mut self, now: Mono, deaf: Duration) {
        for lease in self.board.take_leases(self.row) {
            let index = usize::from(lease.index);
            let sound =
                Origin::parse(lease.url.as_bytes()).is_some_and(|o| o.as_str() == lease.url);
            if !sound || self.by_url.contains_key(&lease.url) {
                self.board.free_lease(self.row, lease.index);
                continue;
            }
            let last_seen = (lease.last_seen + deaf).min(now);
            if !deaf.is_zero() {
                self.board
                    .renew_lease(self.row, lease.index, lease.last_ts, last_seen);
            }
            self.by_url.insert(lease.url.clone(), index);
            self.records[index] = Some(Record {
                url: lease.url,
                // A clock that ran on another boot is not believed.
                last_seen,
                last_ts: lease.last_ts,
                state: lease.state,
                announced: lease.announced,
            });
        }
        let marked: Vec<Found> = self
            .joined_members()
            .filter(|f| f.status & status::BEACON != 0)
            .collect();
        let mut current = 0;
        for found in &marked {
            let known = self.by_url.get(&found.name).copied();
            let own = known.is_some_and(|index| self.state(index).added);
            if !own && self.leases_of_others(&found.name).any(|l| l.state.added) {
                current += 1;
                continue;
            }
            current += usize::from(known.is_some());
            let index = match known {
                Some(index) => index,
                None => {
                    let made = self.make(&found.name, 0, now);
                    match made.or_else(|| self.make_instead(&found.name, 0, now)) {
                        Some(index) => index,
                        None => continue,
                    }
                }
            };
            self.change(index, |state| {
                state.foreign = false;
                let disabled = found.status & status::DISABLED != 0;
                if !state.added || state.member != Some((found.row, found.taken)) {
                    state.added = true;
                    state.member = Some((found.row, found.taken));
                    state.evicted = disabled;
                }
                // Its last steps may have been cut in the middle.
                state.evicted &= disabled;
                state.left &= state.evicted;
            });
        }
        for index in 0..self.records.len() {
            if let Some(r) = &self.records[index]
                && r.state.added
                && !marked.iter().any(|f| f.name == r.url)
            {
                self.change(index, |state| *state = LeaseState::default());
            }
        }
        self.count();
        if !marked.is_empty() {
            log::notice(
                "proxy_beacon",
                &format!(
                    "took over {} existing member(s) ({current} with a current lease) of {}",
                    marked.len(),
                    self.name
                ),
            );
        }
    }

    /// A new configuration may have room for those that the former one had none for.
    pub fn retry_adds(&mut self) {
        for index in 0..self.records.len() {
            if !self.state(index).added {
                self.change(index, |state| state.last_attempt = Mono(0));
            }
        }
    }

    /// Whoever the operator's list does not name any more is no member any more.
    pub fn turn_out(&mut self, allowed: impl Fn(&Origin) -> bool) {
        for index in 0..self.records.len() {
            let state = self.state(index);
            let origin = Origin::parse(self.url(index).as_bytes());
            if state.added && !state.evicted && origin.is_some_and(|o| !allowed(&o)) {
                let why = " (ProxyBeaconAllow does not list it)";
                self.disable(index, false, "took", "out of", why);
            }
        }
    }

    /// An announcement with an origin passed all other checks.
    ///
    /// # Errors
    /// Why it has no effect, or had no full one.
    pub fn accept(
        &mut self,
        origin: &Origin,
        a: &Announcement<'_>,
        now: Mono,
    ) -> Result<(), Refusal> {
        let url = origin.as_str();
        // The same message to two receivers of one balancer is a copy: its first reader follows it.
        let heard = self.leases_of_others(url).map(|l| l.last_ts).max();
        let index = match self.by_url.get(url).copied() {
            Some(index) => {
                self.renew(index, a.ts, now)?;
                if self.state(index).foreign {
                    self.change(index, |state| state.foreign = false);
                }
                index
            }
            None => {
                let made = self.make(url, a.ts, now).or_else(|| {
                    self.release(now);
                    self.make(url, a.ts, now)
                });
                let made = made.or_else(|| self.make_instead(url, a.ts, now));
                let index = made.ok_or(Refusal::TableFull)?;
                self.count();
                index
            }
        };
        self.check_member(index);
        self.follow_others(index);
        if heard.is_some_and(|ts| a.ts <= ts) {
            return Ok(());
        }
        let state = self.state(index);
        if a.leaving {
            self.leave(index);
            return Ok(());
        }
        if !state.added {
            let tried = state.last_attempt;
            if tried != Mono(0) && now.since(tried) < RETRY {
                return Ok(());
            }
            self.add(index, a, now)?;
        } else if state.evicted {
            self.enable(index, "re-enabled", " (announcing again)");
        }
        self.follow(index, a);
        Ok(())
    }

    /// Evicts whoever has been silent for too long, and forgets those of no use. To be called when
    /// all that had arrived by `now` was read. `overflowed`: when datagrams were lost last, since
    /// there were more than could be read; what was lost may have been a sign of life, so leases
    /// are longer then, within a bound.
    pub fn sweep(&mut self, now: Mono, overflowed: Mono) {
        if now.since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        let flooded = overflowed != Mono(0) && now.since(overflowed) <= self.timeout;
        let timeout = self.timeout * if flooded { PATIENCE } else { 1 };
        if !self.timeout.is_zero() {
            for index in 0..self.records.len() {
                if let Some(r) = &self.records[index]
                    && r.state.added
                    && !r.state.evicted
                    && now.since(r.last_seen) > timeout
                {
                    if self.heard_elsewhere(r) {
                        self.change(index, |state| *state = LeaseState::default());
                        continue;
                    }
                    let silent = now.since(r.last_seen).as_secs();
                    self.check_member(index);
                    self.disable(
                        index,
                        false,
                        "evicted",
                        "from",
                        &format!(" (no announcement for {silent}s)"),
                    );
                }
            }
        }
        self.release(now);
    }

    /// How many leases are in use.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_url.len()
    }

    fn renew(&mut self, index: usize, ts: i64, now: Mono) -> Result<(), Refusal> {
        let Some(r) = &mut self.records[index] else {
            return Err(Refusal::Replayed);
        };
        if ts <= r.last_ts {
            return Err(Refusal::Replayed);
        }
        r.last_ts = ts;
        r.last_seen = now;
        self.board.renew_lease(self.row, index as u16, ts, now);
        Ok(())
    }

    /// A new record; `None` when all are in use.
    fn make(&mut self, url: &str, ts: i64, now: Mono) -> Option<usize> {
        let index = self.records.iter().position(Option::is_none)?;
        self.board.make_lease(self.row, index as u16, url, ts, now);
        self.by_url.insert(url.to_owned(), index);
        self.records[index] = Some(Record {
            url: url.to_owned(),
            last_seen: now,
            last_ts: ts,
            state: LeaseState::default(),
            announced: (String::new(), 0),
        });
        Some(index)
    }

    /// A new record in the place of the oldest mark that is another receiver's: no such mark may keep
    /// a backend out.
    fn make_instead(&mut self, url: &str, ts: i64, now: Mono) -> Option<usize> {
        let foreign = |r: &Record| r.state.foreign.then_some(r.last_ts);
        let all = self.records.iter().enumerate();
        let all = all.filter_map(|(i, r)| Some((r.as_ref().and_then(foreign)?, i)));
        let (_, index) = all.min()?;
        let r = self.records[index].take()?;
        self.by_url.remove(&r.url);
        self.board.free_lease(self.row, index as u16);
        self.make(url, ts, now)
    }

    /// Gives back records that serve nothing any more: a replay of their last message would be
    /// stale by now.
    fn release(&mut self, now: Mono) {
        let mut freed = false;
        for (index, place) in self.records.iter_mut().enumerate() {
            let idle = |r: &mut Record| is_idle(&r.state, now.since(r.last_seen), self.memory);
            if let Some(r) = place.take_if(idle) {
                self.by_url.remove(&r.url);
                self.board.free_lease(self.row, index as u16);
                freed = true;
            }
        }
        if freed {
            self.count();
        }
    }

    fn count(&self) {
        self.board.count_leases(self.row, self.by_url.len());
    }

    /// A record whose member's row has another member now is one without a member.
    fn check_member(&mut self, index: usize) {
        let Some(r) = &self.records[index] else {
            return;
        };
        let Some((row, taken)) = r.state.member else {
            return;
        };
        if !self.board.has(row, taken, &r.url) {
            self.change(index, |state| *state = LeaseState::default());
        }
    }

    fn leases_of_others<'a>(&'a self, url: &'a str) -> impl Iterator<Item = Lease> + 'a {
        let rows = self.others.iter();
        rows.filter_map(move |&row| self.board.find_lease(row, url))
    }

    /// Another receiver of the balancer may have disabled or enabled the member meanwhile.
    fn follow_others(&mut self, index: usize) {
        let state = self.state(index);
        if self.others.is_empty() || !state.added {
            return;
        }
        let member = state.member.and_then(|(row, _)| self.board.found(row));
        let disabled = member.is_some_and(|f| f.status & status::DISABLED != 0);
        let url = self.url(index);
        let by_other = || self.leases_of_others(&url).any(|l| l.state.evicted);
        if state.evicted && !disabled {
            self.change(index, |state| (state.evicted, state.left) = (false, false));
        } else if !state.evicted && disabled && by_other() {
            self.change(index, |state| state.evicted = true);
        }
    }

    /// Another receiver of the balancer has a live lease that was renewed later: it evicts when its
    /// time has come.
    fn heard_elsewhere(&self, r: &Record) -> bool {
        let live = |l: Lease| l.state.added && !l.state.evicted && l.last_seen > r.last_seen;
        self.leases_of_others(&r.url).any(live)
    }

    fn add(&mut self, index: usize, a: &Announcement<'_>, now: Mono) -> Result<(), Refusal> {
        let url = self.url(index);
        let failed = |me: &mut Membership, why| {
            me.change(index, |state| state.last_attempt = now);
            Err(why)
        };
        let mut found: Vec<_> = self
            .joined_members()
            .filter(|f| names(&f.name, &url))
            .collect();
        if found.iter().any(|f| f.status & status::BEACON == 0) {
            return failed(self, Refusal::NotManaged);
        }
        let Some(balancer) = &self.balancer else {
            return failed(self, Refusal::AddFailed);
        };
        if let Some(found) = found.pop() {
            let disabled = found.status & status::DISABLED != 0;
            self.change(index, |state| {
                state.added = true;
                state.evicted = disabled;
                state.member = Some((found.row, found.taken));
            });
            if disabled {
                self.enable(index, "re-enabled", " (announcing again)");
            }
            return Ok(());
        }
        let new = NewMember {
            name: &url,
            route: a.route.unwrap_or(""),
            load_factor: a.load_factor.unwrap_or(PLAIN_FACTOR),
            status: status::BEACON,
        };
        let added = self.board.add_member(balancer.row, &balancer.grown, &new);
        let Some(found) = added.and_then(|row| self.board.found(row)) else {
            return failed(self, Refusal::AddFailed);
        };
        let route = a.route.unwrap_or("").to_owned();
        self.note_announced(index, route, a.load_factor.unwrap_or(0));
        self.change(index, |state| {
            state.added = true;
            state.evicted = true;
            state.last_attempt = now;
            state.member = Some((found.row, found.taken));
        });
        self.enable(index, "added", "");
        Ok(())
    }

    /// Another route or load factor than it announced before.
    fn follow(&mut self, index: usize, a: &Announcement<'_>) {
        let Some(r) = &self.records[index] else {
            return;
        };
        let Some((row, _)) = r.state.member else {
            return;
        };
        let route = a.route.unwrap_or("");
        let factor = a.load_factor.unwrap_or(0);
        let new_route = (route != r.announced.0).then_some(route);
        let new_factor = (factor != r.announced.1).then_some(match factor {
            0 => PLAIN_FACTOR,
            n => n,
        });
        if new_route.is_some() || new_factor.is_some() {
            // A route that could not be set now is one to be set at the next announcement.
            let done = self.board.set_member(row, new_route, new_factor);
            let route = if done { route } else { r.announced.0.as_str() };
            let route = route.to_owned();
            self.note_announced(index, route, factor);
        }
    }

    fn note_announced(&mut self, index: usize, route: String, factor: u32) {
        self.board
            .note_announced(self.row, index as u16, &route, factor);
        if let Some(r) = &mut self.records[index] {
            r.announced = (route, factor);
        }
    }

    /// It wants no new requests: the record and its mark stay.
    fn leave(&mut self, index: usize) {
        let url = self.url(index);
        let state = self.state(index);
        if !state.added {
            // One that a former lease left behind.
            let found = self.joined_members().find(|f| f.name == url);
            let Some(found) = found.filter(|f| f.status & status::BEACON != 0) else {
                return;
            };
            self.change(index, |state| {
                state.added = true;
                state.evicted = found.status & status::DISABLED != 0;
                state.member = Some((found.row, found.taken));
            });
        }
        if !self.state(index).evicted {
            self.disable(index, true, "took", "out of", " (it leaves)");
        }
    }

    /// The record first: should this process die before the member is disabled, then the next
    /// holder sees an enabled member and takes the eviction back.
    fn disable(&mut self, index: usize, left: bool, verb: &str, preposition: &str, why: &str) {
        let Some((row, _)) = self.state(index).member else {
            return;
        };
        let Some(balancer) = &self.balancer else {
            return;
        };
        let balancer = balancer.row;
        self.change(index, |state| {
            state.evicted = true;
            state.left = left;
        });
        if self.board.set_disabled(balancer, row, true) {
            let url = self.url(index);
            let text = format!("{verb} backend {url} {preposition} {}{why}", self.name);
            log::notice("proxy_beacon", &text);
        }
    }

    /// The member first, for the same reason.
    fn enable(&mut self, index: usize, verb: &str, why: &str) {
        let Some((row, _)) = self.state(index).member else {
            return;
        };
        let Some(balancer) = &self.balancer else {
            return;
        };
        let url = self.url(index);
        if !self.board.set_disabled(balancer.row, row, false) {
            ::log::warn!(target: "proxy_beacon", "backend {url} of {} could not be enabled; its next announcement tries again", self.name);
            return;
        }
        self.change(index, |state| {
            state.evicted = false;
            state.left = false;
        });
        let preposition = if verb == "added" { "to" } else { "in" };
        let text = format!("{verb} backend {url} {preposition} {}{why}", self.name);
        log::notice("proxy_beacon", &text);
    }

    fn joined_members(&self) -> impl Iterator<Item = Found> + '_ {
        let rows = self
            .balancer
            .iter()
            .flat_map(|b| b.configured.iter().chain(&b.grown));
        rows.filter_map(|&row| self.board.found(row))
    }

    fn change(&mut self, index: usize, f: impl FnOnce(&mut LeaseState)) {
        if let Some(r) = &mut self.records[index] {
            f(&mut r.state);
            self.board.note_lease(self.row, index as u16, &r.state);
        }
    }

    fn state(&self, index: usize) -> LeaseState {
        self.records[index]
            .as_ref()
            .map_or(LeaseState::default(), |r| r.state)
    }

    fn url(&self, index: usize) -> String {
        self.records[index]
            .as_ref()
            .map_or(String::new(), |r| r.url.clone())
    }
}

/// Whether this member is the backend of that canonical URL, also where somebody wrote its name in
/// another way (`http://h/`).
pub(super) fn names(member: &str, url: &str) -> bool {
    member == url || Origin::parse(member.as_bytes()).is_some_and(|own| own.as_str() == url)
}

/// Whether a record serves nothing any more: its member is evicted or never was one, and a replay of
/// its last message would be stale.
pub(super) fn is_idle(state: &LeaseState, silent: Duration, memory: Duration) -> bool {
    (state.evicted || !state.added) && silent > memory
}

#[cfg(test)]
#[path = "membership_tests.rs"]
mod tests;
