//! Changes by hand: what the manager may do to members and balancers (spec: manager 2).
//!
//! Each request's changes are made in one go under the balancer's lock, so that of two administrators
//! the last one's word counts wholly. Readers take no lock: flags and numbers are single atomic
//! words, texts stand behind the row's sequence, and methods, sticky names and new members are seen
//! by the balancer's change counter.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use super::assign::{BalancerRow, WorkerRow};
use super::grown::NewMember;
use super::mutex::{Guard, Locked};
use super::record::{BalancerSlot, FLAG_MAX_ATTEMPTS, FLAG_NO_FAILOVER, WorkerSlot};
use super::scoreboard::Scoreboard;
use super::{status, traffic};
use crate::clock;
use crate::config::health::{HealthMethod, HealthParams};
use crate::ids::Generation;

/// How long a change waits for the balancer's lock.
const PATIENCE: Duration = Duration::from_millis(100);

/// New values of a member; `None`: it stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberEdit {
    /// `loadfactor` × 100.
    pub load_factor: Option<u32>,
    /// `lbset`.
    pub lbset: Option<u32>,
    /// `route`, under 64 bytes.
    pub route: Option<String>,
    /// `redirect`, under 64 bytes.
    pub redirect: Option<String>,
    /// Status bits to set.
    pub set: u32,
    /// Status bits to clear.
    pub clear: u32,
    /// Health checks.
    pub health: Option<HealthEdit>,
}

/// New values of a member's health checks; `None`: it stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthEdit {
    /// `hcmethod`.
    pub method: Option<HealthMethod>,
    /// `hcinterval`.
    pub interval: Option<Duration>,
    /// `hcpasses`, at least 1.
    pub passes: Option<u32>,
    /// `hcfails`, at least 1.
    pub fails: Option<u32>,
    /// `hcuri`, under 64 bytes.
    pub uri: Option<String>,
    /// `hcexpr`: a defined name, or empty.
    pub expression: Option<String>,
}

impl HealthEdit {
    /// What `now` becomes.
    pub fn of(&self, now: &HealthParams) -> HealthParams {
        let mut new = HealthParams {
            method: self.method.unwrap_or(now.method),
            interval: self.interval.unwrap_or(now.interval),
            passes: self.passes.unwrap_or(now.passes),
            fails: self.fails.unwrap_or(now.fails),
            uri: self.uri.clone().unwrap_or_else(|| now.uri.clone()),
            expression: now.expression.clone(),
        };
        if let Some(name) = &self.expression {
            new.expression.clone_from(name);
        }
        if new != *now && matches!(new.method, HealthMethod::None | HealthMethod::Tcp) {
            // These answer nothing that could be looked at.
            new.expression.clear();
        }
        new
    }
}

/// A member that the manager adds.
pub struct ByHand<'a> {
    /// The balancer's rows for new members.
    pub grown: &'a [WorkerRow],
    /// Its canonical name.
    pub name: &'a str,
    /// Whether another member's name stands for its URL.
    pub under: &'a dyn Fn(&str) -> bool,
}

/// New values of a balancer; `None`: it stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BalancerEdit {
    /// `lbmethod`.
    pub lbmethod: Option<String>,
    /// `timeout`.
    pub timeout: Option<Duration>,
    /// `maxattempts`.
    pub max_attempts: Option<u32>,
    /// `nofailover`.
    pub no_failover: Option<bool>,
    /// `stickysession`: cookie and URL parameter, both empty: none.
    pub sticky: Option<(String, String)>,
}

/// The balancer's lock could not be had in time: nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// Why no member was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddError {
    /// The lock could not be had.
    Busy,
    /// This member stands for its URL already.
    Exists(String),
    /// All rows for new members are taken.
    Full,
    /// The asker's configuration is not the newest one.
    Outdated,
}

/// The balancer's lock.
pub(super) struct Held<'a> {
    slot: &'a BalancerSlot,
    _guard: Guard<'a>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.slot.owner.store(0, Relaxed);
    }
}

impl Scoreboard {
    /// Takes the balancer's lock. What a dead owner left is put right by the next choice.
    pub(super) fn hold(&self, balancer: BalancerRow) -> Option<Held<'_>> {
        let slot = self.table.balancer(usize::from(balancer.0))?;
        let guard = match slot.lock.lock(PATIENCE) {
            Locked::Clean(guard) => guard,
            Locked::Inherited(guard) => {
                slot.repair.store(1, Relaxed);
                slot.repairs.fetch_add(1, Relaxed);
                guard
            }
            Locked::TimedOut => return None,
        };
        slot.owner.store(std::process::id(), Relaxed);
        Some(Held {
            slot,
            _guard: guard,
        })
    }

    /// The balancer's nonce; empty: it has none.
    pub fn nonce(&self, balancer: BalancerRow) -> String {
        let slot = self.table.balancer(usize::from(balancer.0));
        slot.map_or_else(String::new, |b| b.seq.read(|| b.nonce.string()))
    }

    /// The balancer's `lbmethod` as it stands now.
    pub fn lbmethod(&self, balancer: BalancerRow) -> String {
        let slot = self.table.balancer(usize::from(balancer.0));
        slot.map_or_else(String::new, |b| b.seq.read(|| b.lbmethod.string()))
    }

    /// Its sticky names as they stand now: cookie and URL parameter.
    pub fn sticky(&self, balancer: BalancerRow) -> Option<(String, String)> {
        let b = self.table.balancer(usize::from(balancer.0))?;
        let names = b.seq.read(|| (b.cookie.string(), b.param.string()));
        (!names.0.is_empty() || !names.1.is_empty()).then_some(names)
    }

    /// Changes a member and its balancer in one go. `members`: all rows of the balancer that have
    /// members, for what a new load factor or a member that returns means to their turns.
    ///
    /// # Errors
    /// [`Busy`]: nothing was changed.
    pub fn edit(
        &self,
        balancer: BalancerRow,
        members: &[WorkerRow],
        member: Option<(WorkerRow, &MemberEdit)>,
        own: &BalancerEdit,
    ) -> Result<(), Busy> {
        let newest = Generation(u32::MAX);
        let done = self.change_by_hand(balancer, members, None, member, own, newest);
        done.map_err(|_| Busy)
    }

    /// The same for a child of `asker`, and first adds a member, disabled, after a look at who is
    /// there. Only the newest generation may: an older one knows other members, and its table may
    /// be one that nobody reads any more.
    ///
    /// # Errors
    /// See [`AddError`]; nothing was changed.
    pub fn change_by_hand(
        &self,
        balancer: BalancerRow,
        members: &[WorkerRow],
        new: Option<&ByHand<'_>>,
        member: Option<(WorkerRow, &MemberEdit)>,
        own: &BalancerEdit,
        asker: Generation,
    ) -> Result<(), AddError> {
        let held = self.hold(balancer).ok_or(AddError::Busy)?;
        let from = held.slot.edits_from.load(Relaxed);
        if asker.0 < from.max(self.table.header().generation.load(Relaxed)) {
            return Err(AddError::Outdated);
        }
        if let Some(new) = new {
            self.add_by_hand(balancer, members, new)?;
        }
        let all = || members.iter().filter_map(|&row| self.slot_of(row));
        let mut reset = false;
        if let Some((row, edit)) = member
            && let Some(slot) = self.slot_of(row)
        {
            let before = slot.status.load(Relaxed);
            if edit_member(slot, edit) {
                // As httpd: everybody's turn begins anew with his factor.
                let factor = |w: &WorkerSlot| i64::from(w.load_factor.load(Relaxed));
                held.slot
                    .lbstatus_sum
                    .store(all().map(factor).sum(), Relaxed);
                for w in all() {
                    w.lbstatus.store(factor(w), Relaxed);
                }
                // Nor does what was moved for the old factor give or take anything.
                traffic::begins(&self.table, usize::from(balancer.0));
            }
            if let Some(health) = &edit.health {
                self.set_health(row, &health.of(&self.health_params(row)));
            }
            reset = !status::usable(before) && status::usable(slot.status.load(Relaxed));
            if reset {
                slot.recovered.store(clock::now().0, Relaxed);
            }
        }
        reset |= edit_balancer(held.slot, own);
        if reset {
            held.slot.lbstatus_sum.store(0, Relaxed);
            for w in all() {
                w.lbstatus.store(0, Relaxed);
            }
            self.reset_traffic(held.slot, members);
        }
        self.changed(balancer);
        Ok(())
    }

    /// Supervisor: from now on no generation older than this one changes anything by hand. Told
    /// before a configuration is taken over: what was acknowledged by then is taken over too.
    pub fn refuse_edits_before(&self, generation: Generation) {
        for (row, slot) in self.table.balancers() {
            if slot.used.load(Relaxed) == 0 {
                continue;
            }
            // A change that is being made ends first. Whoever does not let go in time is not
            // waited for.
            let _held = u16::try_from(row)
                .ok()
                .and_then(|row| self.hold(BalancerRow(row)));
            slot.edits_from.store(generation.0, Relaxed);
        }
    }

    fn add_by_hand(
        &self,
        balancer: BalancerRow,
        members: &[WorkerRow],
        new: &ByHand<'_>,
    ) -> Result<WorkerRow, AddError> {
        // Under the lock: another process may have added it a moment ago.
        let there = members.iter().chain(new.grown);
        let mut names = there.filter_map(|&row| self.found(row)).map(|f| f.name);
        if let Some(other) = names.find(|n| (new.under)(n)) {
            return Err(AddError::Exists(other));
        }
        let member = NewMember {
            name: new.name,
            route: "",
            load_factor: 100,
            status: 0,
        };
        let added = self.put_member(balancer, new.grown, &member);
        added.ok_or(AddError::Full)
    }
}

/// True when the load factor is another one now.
fn edit_member(slot: &WorkerSlot, edit: &MemberEdit) -> bool {
    let mut other_factor = false;
    if let Some(factor) = edit.load_factor {
        other_factor = slot.load_factor.swap(factor, Relaxed) != factor;
    }
    if let Some(set) = edit.lbset {
        slot.lbset.store(set, Relaxed);
    }
    if edit.route.is_some() || edit.redirect.is_some() {
        slot.seq.write(|| {
            for (text, to) in [(&edit.route, &slot.route), (&edit.redirect, &slot.redirect)] {
                if let Some(text) = text {
                    to.set(text.as_bytes());
                }
            }
        });
    }
    // One step each: other children put members into error and out of it at the same time.
    if edit.clear != 0 {
        slot.status.fetch_and(!edit.clear, Release);
    }
    if edit.set != 0 {
        slot.status.fetch_or(edit.set, Release);
    }
    slot.updated.store(clock::read_wall().0, Relaxed);
    other_factor
}

/// True when the method is another one now.
fn edit_balancer(slot: &BalancerSlot, edit: &BalancerEdit) -> bool {
    if let Some(timeout) = edit.timeout {
        let ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        slot.timeout_ms.store(ms, Relaxed);
    }
    if let Some(n) = edit.max_attempts {
        slot.max_attempts.store(n, Relaxed);
        slot.flags.fetch_or(FLAG_MAX_ATTEMPTS, Relaxed);
    }
    match edit.no_failover {
        Some(true) => slot.flags.fetch_or(FLAG_NO_FAILOVER, Relaxed),
        Some(false) => slot.flags.fetch_and(!FLAG_NO_FAILOVER, Relaxed),
        None => 0,
    };
    let method = edit.lbmethod.as_deref();
    let other = method.filter(|m| !slot.lbmethod.is(m.as_bytes()));
    if other.is_some() || edit.sticky.is_some() {
        slot.seq.write(|| {
            if let Some(m) = other {
                slot.lbmethod.set(m.as_bytes());
            }
            if let Some((cookie, param)) = &edit.sticky {
                slot.cookie.set(cookie.as_bytes());
                slot.param.set(param.as_bytes());
            }
        });
    }
    other.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::bare::bare;
    use crate::config::settings::{BalancerParams, WorkerParams};
    use crate::ids::{BalancerNo, Generation, WorkerNo};
    use crate::shm::{Asker, test_dir};

    /// With the lock in other hands neither part of a request is done.
    #[test]
    fn an_addition_and_an_edit_are_made_together_or_not_at_all() {
        let dir = test_dir("together");
        let params = BalancerParams {
            growth: 2,
            ..BalancerParams::default()
        };
        let members = [("http://a", WorkerParams::default())];
        let settings = bare("/nowhere").with_balancer("balancer://c", params, &members);
        let path = dir.join("board");
        let board = Scoreboard::create(&path, &settings, 1, Generation(0)).unwrap();
        let rows = board.assign(&settings, Generation(0)).unwrap();
        let balancer = rows.balancer(BalancerNo(0)).unwrap();
        let member = rows.worker(WorkerNo(0)).unwrap();
        let new = ByHand {
            grown: rows.grown(BalancerNo(0)),
            name: "http://b",
            under: &|name| name == "http://b",
        };
        let edit = MemberEdit {
            lbset: Some(7),
            ..MemberEdit::default()
        };
        let own = BalancerEdit::default();
        let by = |asker| {
            let edit = Some((member, &edit));
            board.change_by_hand(balancer, &[member], Some(&new), edit, &own, asker)
        };
        let change = || by(Generation(0));
        let asker = Asker {
            pid: 1,
            generation: Generation(0),
        };
        let held = board.turn(balancer, &[member], Duration::ZERO, asker);
        assert!(held.as_ref().is_some_and(|turn| turn.locked()));
        let state = || {
            (
                board.snapshot().balancers[0].members.len(),
                board.member(member).lbset,
            )
        };
        assert_eq!(change(), Err(AddError::Busy));
        assert_eq!(state(), (1, 0));
        drop(held);
        // A newer configuration is being taken over: its children may, others not.
        board.refuse_edits_before(Generation(1));
        assert_eq!(change(), Err(AddError::Outdated));
        assert_eq!(state(), (1, 0));
        // That came to nothing.
        board.refuse_edits_before(Generation(0));
        assert_eq!(change(), Ok(()));
        assert_eq!(state(), (2, 7));
        assert_eq!(change(), Err(AddError::Exists("http://b".into())));
        board.set_generation(Generation(1), 2);
        assert_eq!(change(), Err(AddError::Outdated));
        assert_eq!(by(Generation(1)), Err(AddError::Exists("http://b".into())));
        let _ = std::fs::remove_dir_all(dir);
    }
}
