//! What a balancer does to its members' rows: single atomic steps, and the turn that makes a
//! choice atomic across processes.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;
use std::time::Duration;

use super::assign::{BalancerRow, WorkerRow};
use super::layout::TRY_SECONDS;
use super::mutex::{Guard, Locked};
use super::record::{
    BalancerSlot, Cell, FLAG_FORCE_RECOVERY, FLAG_MAX_ATTEMPTS, FLAG_NO_FAILOVER, WorkerSlot,
};
use super::scoreboard::Scoreboard;
use super::status;
use super::traffic;
use crate::clock::{self, Mono};
use crate::ids::{Generation, SlotNo};

/// The bits of a count of tries.
const TRIES_MASK: u64 = 0xf_ffff;

/// A copy of a member's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberState {
    /// Status bits.
    pub status: u32,
    /// `loadfactor` × 100.
    pub load_factor: u32,
    /// `lbset`.
    pub lbset: u32,
    /// `lbstatus`.
    pub lbstatus: i64,
    /// When it went into error.
    pub error_time: Mono,
    /// `retry`.
    pub retry: Duration,
    /// When a request began to try it after an error.
    pub probe_since: Mono,
    /// When it last became usable again; zero: never.
    pub recovered: Mono,
    /// `slowstart`.
    pub slow_start: Duration,
}

/// A copy of a member's routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// `Scoreboard::routes_version` when the copy was made.
    pub version: u32,
    /// `route`.
    pub route: String,
    /// `redirect`.
    pub redirect: String,
}

/// A copy of a balancer's parameters as they stand now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalancerState {
    /// `nofailover`.
    pub no_failover: bool,
    /// `forcerecovery`.
    pub force_recovery: bool,
    /// `maxattempts` when it was set.
    pub max_attempts: Option<u32>,
    /// `timeout`.
    pub timeout: Duration,
}

/// Who takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Its process, known before the lock is taken.
    pub pid: u32,
    /// The configuration whose members it knows.
    pub generation: Generation,
}

/// A turn at a balancer: with the lock, or without it when it could not be had in time.
pub struct Turn<'a> {
    slot: &'a BalancerSlot,
    guard: Option<Guard<'a>>,
    /// Whose death or delay was noticed, for the log.
    pub notice: Option<Notice>,
}

/// Something the log should tell about a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The former owner died inside: what it left was repaired.
    Repaired {
        /// Its process.
        owner: i32,
    },
    /// The lock could not be had in time.
    Waited {
        /// The process that is inside.
        owner: i32,
    },
}

impl Turn<'_> {
    /// Whether others are kept out.
    pub fn locked(&self) -> bool {
        self.guard.is_some()
    }

    /// A choice was made without the lock, and its changes are done. Whoever levelled the sum while
    /// they were half done levelled it wrongly: so it is looked at once more.
    pub fn count_unlocked(&self) {
        self.slot.unlocked.fetch_add(1, Relaxed);
        self.slot.repair.store(1, Release);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.guard.is_some() {
            self.slot.owner.store(0, Relaxed);
        }
    }
}

impl Scoreboard {
    #[inline]
    fn worker_slot(&self, row: WorkerRow) -> Option<&WorkerSlot> {
        self.table.worker(usize::from(row.0))
    }

    fn cell(&self, slot: SlotNo, row: WorkerRow) -> Option<&Cell> {
        self.table.cell(slot.index(), usize::from(row.0))
    }

    /// Takes the balancer's lock, waiting at most `bound` (zero: one try). What a dead owner left
    /// is repaired before this returns: lbstatus of `members` sums up to what it did again.
    pub fn turn(
        &self,
        balancer: BalancerRow,
        members: &[WorkerRow],
        bound: Duration,
        asker: Asker,
    ) -> Option<Turn<'_>> {
        let slot = self.table.balancer(usize::from(balancer.0))?;
        let locked = if bound.is_zero() {
            slot.lock.try_lock()
        } else {
            slot.lock.lock(bound)
        };
        let owner = slot.owner.load(Relaxed).cast_signed();
        let (guard, notice) = match locked {
            Locked::Clean(guard) => (Some(guard), None),
            Locked::Inherited(guard) => {
                slot.repair.store(1, Relaxed);
                slot.repairs.fetch_add(1, Relaxed);
                (Some(guard), Some(Notice::Repaired { owner }))
            }
            Locked::TimedOut => (None, Some(Notice::Waited { owner })),
        };
        if guard.is_some() {
            slot.owner.store(asker.pid, Relaxed);
            // The present members are those of the newest generation; older ones leave it to them.
            if slot.repair.load(Acquire) != 0
                && asker.generation.0 >= self.table.header().generation.load(Relaxed)
            {
                // Before looking: a wish that comes meanwhile is for the next one.
                slot.repair.store(0, Relaxed);
                fence(SeqCst);
                self.level(members, slot.lbstatus_sum.load(Relaxed));
            }
        }
        Some(Turn {
            slot,
            guard,
            notice,
        })
    }

    /// Makes lbstatus sum up to `expected` again. A surplus is taken from the usable member that is next
    /// in turn, as if it had been chosen (it most likely was, by the dead owner); a shortage is
    /// given to the one that is last in turn.
    fn level(&self, members: &[WorkerRow], expected: i64) {
        let rows = || members.iter().filter_map(|&row| self.worker_slot(row));
        let sum = rows().fold(0i64, |sum, w| sum.wrapping_add(w.lbstatus.load(Relaxed)));
        let sum = sum.wrapping_sub(expected);
        if sum == 0 {
            return;
        }
        let usable = |w: &&WorkerSlot| status::usable(w.status.load(Relaxed));
        let turn = |w: &&WorkerSlot| w.lbstatus.load(Relaxed);
        let pick = if sum > 0 {
            rows()
                .filter(usable)
                .max_by_key(turn)
                .or(rows().max_by_key(turn))
        } else {
            rows()
                .filter(usable)
                .min_by_key(turn)
                .or(rows().min_by_key(turn))
        };
        if let Some(w) = pick {
            w.lbstatus.fetch_sub(sum, Relaxed);
        }
    }

    /// The member's numbers.
    #[inline]
    pub fn member(&self, row: WorkerRow) -> MemberState {
        let Some(w) = self.worker_slot(row) else {
            return MemberState::default();
        };
        MemberState {
            status: w.status.load(Acquire),
            load_factor: w.load_factor.load(Relaxed),
            lbset: w.lbset.load(Relaxed),
            lbstatus: w.lbstatus.load(Relaxed),
            error_time: Mono(w.error_time.load(Relaxed)),
            retry: Duration::from_millis(w.retry_ms.load(Relaxed)),
            probe_since: Mono(w.probe_since.load(Relaxed)),
            recovered: Mono(w.recovered.load(Relaxed)),
            slow_start: Duration::from_millis(w.slow_start_ms.load(Relaxed)),
        }
    }

    /// Changes with the member's routes.
    pub fn routes_version(&self, row: WorkerRow) -> u32 {
        self.worker_slot(row).map_or(0, |w| w.seq.version())
    }

    /// The member's routes.
    pub fn routes(&self, row: WorkerRow) -> Routes {
        self.worker_slot(row).map_or_else(Routes::default, |w| {
            w.seq.read(|| Routes {
                version: w.seq.version(),
                route: w.route.string(),
                redirect: w.redirect.string(),
            })
        })
    }

    /// The balancer's parameters.
    pub fn balancer(&self, row: BalancerRow) -> BalancerState {
        let Some(b) = self.table.balancer(usize::from(row.0)) else {
            return BalancerState::default();
        };
        let flags = b.flags.load(Relaxed);
        BalancerState {
            no_failover: flags & FLAG_NO_FAILOVER != 0,
            force_recovery: flags & FLAG_FORCE_RECOVERY != 0,
            max_attempts: (flags & FLAG_MAX_ATTEMPTS != 0).then(|| b.max_attempts.load(Relaxed)),
            timeout: Duration::from_millis(b.timeout_ms.load(Relaxed)),
        }
    }

    /// Adds to `lbstatus`. Atomic, since a choice without the lock may run at the same time.
    pub fn add_lbstatus(&self, row: WorkerRow, delta: i64) {
        if let Some(w) = self.worker_slot(row) {
            w.lbstatus.fetch_add(delta, Relaxed);
        }
    }

    /// The member was chosen.
    pub fn add_elected(&self, row: WorkerRow) {
        if let Some(w) = self.worker_slot(row) {
            w.elected.fetch_add(1, Relaxed);
        }
    }

    /// One step from error (or from a probe that has lasted too long) to being tried by `slot`.
    /// False when the status is not `seen` any more: another was faster.
    pub fn begin_probe(&self, row: WorkerRow, slot: SlotNo, now: Mono, seen: u32) -> bool {
        let Some(w) = self.worker_slot(row) else {
            return false;
        };
        let next = (seen & !status::ERROR) | status::PROBATION;
        if w.status
            .compare_exchange(seen, next, Release, Relaxed)
            .is_err()
        {
            return false;
        }
        w.probe_since.store(now.0, Relaxed);
        w.probe_slot.store(u32::from(slot.0) + 1, Relaxed);
        w.retries.fetch_add(1, Relaxed);
        true
    }

    /// The probe that `slot` began at `since` ended without an outcome: back to error, to be tried
    /// again at once. Nothing happens when it had one.
    pub fn abandon_probe(&self, row: WorkerRow, slot: SlotNo, since: Mono) {
        if let Some(w) = self.worker_slot(row)
            && w.probe_slot.load(Relaxed) == u32::from(slot.0) + 1
            && w.probe_since.load(Relaxed) == since.0
        {
            self.abandon_probe_of(w);
        }
    }

    /// Error, from now on, unless the member ignores errors. True when it was not in error before.
    pub fn set_error(&self, row: WorkerRow, now: Mono) -> bool {
        let Some(w) = self.worker_slot(row) else {
            return false;
        };
        w.errors.fetch_add(1, Relaxed);
        if w.status.load(Relaxed) & status::IGNORE != 0 {
            return false;
        }
        // Before the bit, so that whoever sees the bit sees the time.
        w.error_time.store(now.0, Relaxed);
        let before = w
            .status
            .fetch_update(Release, Relaxed, |s| {
                Some((s | status::ERROR) & !status::PROBATION)
            })
            .unwrap_or(0);
        w.probe_slot.store(0, Relaxed);
        before & status::ERROR == 0
    }

    /// Out of error without a probe: forced recovery, and members that ignore errors.
    pub fn clear_error(&self, row: WorkerRow) {
        if let Some(w) = self.worker_slot(row) {
            w.status.fetch_and(!status::ERROR, Relaxed);
            w.retries.fetch_add(1, Relaxed);
        }
    }

    /// A connection to it was made: ends a probe, forgets the error. False when it is not usable
    /// (another child marked it meanwhile); then nothing changes.
    pub fn connected(&self, row: WorkerRow) -> bool {
        let Some(w) = self.worker_slot(row) else {
            return false;
        };
        let s = w.status.load(Acquire);
        if !status::usable(s) {
            return false;
        }
        // A failed check sets the time too, and need not have put it out of use.
        let returns = w.retries.load(Relaxed) != 0;
        if returns {
            traffic::joins(&self.table, usize::from(row.0), w);
        }
        if s & status::PROBATION != 0 {
            w.probe_slot.store(0, Relaxed);
            w.status.fetch_and(!status::PROBATION, Release);
        }
        if w.error_time.load(Relaxed) != 0 {
            w.error_time.store(0, Relaxed);
        }
        if returns {
            w.recovered.store(clock::now().0, Relaxed);
            w.retries.store(0, Relaxed);
        }
        true
    }

    /// One more request of `slot` at the worker.
    pub fn enter(&self, slot: SlotNo, row: WorkerRow) {
        if let Some(cell) = self.cell(slot, row) {
            cell.busy.fetch_add(1, Relaxed);
        }
    }

    /// One less; never below zero.
    pub fn leave(&self, slot: SlotNo, row: WorkerRow) {
        if let Some(cell) = self.cell(slot, row) {
            let _ = cell
                .busy
                .fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1));
        }
    }

    /// The member's average time to an answer in ns (0: none yet), and when it was brought up to date.
    pub fn latency(&self, row: WorkerRow) -> (u64, Mono) {
        self.worker_slot(row).map_or((0, Mono(0)), |w| {
            (w.latency.load(Relaxed), Mono(w.latency_at.load(Relaxed)))
        })
    }

    /// A new average. When two children bring theirs at once, one is lost.
    pub fn set_latency(&self, row: WorkerRow, average: u64, now: Mono) {
        if let Some(w) = self.worker_slot(row) {
            w.latency.store(average, Relaxed);
            w.latency_at.store(now.0, Relaxed);
        }
    }

    /// Counts a request, or a further try of one.
    pub fn count_try(&self, row: BalancerRow, now: Mono, further: bool) {
        let Some(b) = self.table.balancer(usize::from(row.0)) else {
            return;
        };
        let second = now.0 / 1_000_000_000;
        let bucket = &b.tries[(second % TRY_SECONDS as u64) as usize];
        let _ = bucket.fetch_update(Relaxed, Relaxed, |word| {
            let own = word >> 40 == second & 0xff_ffff;
            let word = if own { word } else { second << 40 };
            let (shift, one) = if further { (0, 1) } else { (20, 1 << 20) };
            // A full count stays: it must not run into its neighbour.
            let full = (word >> shift) & TRIES_MASK == TRIES_MASK;
            Some(if full { word } else { word + one })
        });
    }

    /// Requests of the last seconds, and further tries of them.
    pub fn tries(&self, row: BalancerRow, now: Mono) -> (u64, u64) {
        let Some(b) = self.table.balancer(usize::from(row.0)) else {
            return (0, 0);
        };
        let second = now.0 / 1_000_000_000;
        let words = b.tries.iter().map(|word| word.load(Relaxed));
        let recent = words.filter(|word| {
            let age = second.wrapping_sub(word >> 40) & 0xff_ffff;
            *word != 0 && age < TRY_SECONDS as u64
        });
        recent.fold((0, 0), |(first, further), word| {
            (
                first + ((word >> 20) & TRIES_MASK),
                further + (word & TRIES_MASK),
            )
        })
    }

    /// For tests: stops this process (SIGSTOP) where it is.
    pub fn stop_here(&self) {
        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP);
    }

    /// Bytes to the worker.
    pub fn add_sent(&self, slot: SlotNo, row: WorkerRow, n: u64) {
        if let Some(cell) = self.cell(slot, row) {
            cell.sent.fetch_add(n, Relaxed);
        }
    }

    /// Bytes from the worker.
    pub fn add_received(&self, slot: SlotNo, row: WorkerRow, n: u64) {
        if let Some(cell) = self.cell(slot, row) {
            cell.received.fetch_add(n, Relaxed);
        }
    }
}
