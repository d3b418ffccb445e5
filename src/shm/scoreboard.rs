//! The slot table as all other rooms see it.

use std::path::Path;
use std::rc::Rc;

use super::assign::{Assignment, WorkerRow};
use super::child_view::ChildView;
use super::error::ShmError;
use super::snapshot::{ChildState, Snapshot};
use crate::clock::Mono;
use crate::config::settings::Settings;
use crate::ids::{ChildNo, Generation, SlotNo};

/// The mapped table. The supervisor makes it; children use what they inherit.
pub struct Scoreboard {}

/// What anybody may want to know of a child at low cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSummary {
    /// Which slot.
    pub slot: SlotNo,
    /// Its child's number within the generation.
    pub child: ChildNo,
    /// Its process (only the supervisor may signal it, and only if it knows it as its child).
    pub pid: i32,
    /// Which generation it belongs to.
    pub generation: Generation,
    /// What it does.
    pub state: ChildState,
    /// Open client connections.
    pub connections: u32,
    /// Requests in flight.
    pub requests: u32,
    /// When its loop last turned a tick.
    pub heartbeat: Mono,
}

impl Scoreboard {
    /// Makes a table for `settings` with slots for four generations of `children` children:
    /// a fresh file of mode 0600 beside `path`, renamed to `path` when it is complete. The
    /// descriptor is closed before this returns.
    pub fn create(
        _path: &Path,
        _settings: &Settings,
        _children: u16,
        _generation: Generation,
    ) -> Result<Rc<Scoreboard>, ShmError> {
        todo!()
    }

    /// Makes a larger table at `path` in place of `self`, with the balancers' and workers' state
    /// carried over. The children of older generations keep the old one mapped.
    pub fn grown(
        &self,
        _path: &Path,
        _settings: &Settings,
        _children: u16,
        _generation: Generation,
    ) -> Result<Rc<Scoreboard>, ShmError> {
        todo!()
    }

    /// Finds or takes rows for all balancers and workers of `settings`, matched by server, balancer
    /// and name; state is carried over, a parameter whose configuration changed takes the new value.
    /// `ShmError::Full`: call `grown`, then this again on the new table. Called by the supervisor.
    pub fn assign(
        &self,
        _settings: &Settings,
        _generation: Generation,
    ) -> Result<Assignment, ShmError> {
        todo!()
    }

    /// The slot of a child, for that child.
    pub fn child(self: &Rc<Self>, _slot: SlotNo) -> ChildView {
        todo!()
    }

    /// Supervisor: takes a free child slot before the fork; `None` when all are taken (refuse the reload).
    pub fn claim_slot(&self, _child: ChildNo, _generation: Generation) -> Option<SlotNo> {
        todo!()
    }

    /// Supervisor: how many child slots are free.
    pub fn free_slots(&self) -> usize {
        todo!()
    }

    /// Supervisor: tells the slot its process, after the fork.
    pub fn set_pid(&self, _slot: SlotNo, _pid: i32) {
        todo!()
    }

    /// Supervisor: the child of this slot was reaped. Zeroes its row (busy counts, requests,
    /// probes it made), adds its traffic to the totals and frees the slot.
    pub fn release_slot(&self, _slot: SlotNo) {
        todo!()
    }

    /// Supervisor: tells readers which generation is the newest and how often the configuration was read.
    pub fn set_generation(&self, _generation: Generation, _config_generation: u32) {
        todo!()
    }

    /// All slots in use; for accept balancing, MaxRequestWorkers, the supervisor's watch over heartbeats.
    pub fn slots(&self) -> impl Iterator<Item = SlotSummary> + '_ {
        std::iter::empty()
    }

    /// A consistent copy per record, for pages and `--explain`.
    pub fn snapshot(&self) -> Snapshot {
        todo!()
    }

    /// Bytes of a worker's busy count over all live children.
    pub fn busy(&self, _worker: WorkerRow) -> u32 {
        todo!()
    }
}

/// Held by the supervisor for as long as it lives: no other instance may use the same table file.
/// A POSIX record lock on `PATH.lock`, so a child does not inherit it.
pub struct TableLock {}

impl TableLock {
    /// `ShmError::InUse` names the process that has it.
    pub fn take(_path: &Path) -> Result<TableLock, ShmError> {
        todo!()
    }
}
