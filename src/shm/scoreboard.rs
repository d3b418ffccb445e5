//! The slot table as all other rooms see it.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::assign::{self, Assignment, WorkerRow};
use super::carry;
use super::child_view::ChildView;
use super::error::ShmError;
use super::file::{self, Identity};
use super::layout::{self, Counts, Layout};
use super::snapshot::{ChildState, Snapshot};
use super::status;
use super::table::Table;
use crate::clock::{self, Mono};
use crate::config::settings::Settings;
use crate::ids::{ChildNo, Generation, SlotNo};

/// Generations that may live at once.
pub const GENERATIONS: usize = 4;

/// The mapped table. The supervisor makes it; children use what they inherit.
pub struct Scoreboard {
    pub(super) table: Table,
    path: PathBuf,
    identity: Identity,
}

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
    /// descriptor is closed before this returns. Called by the supervisor after daemonising.
    pub fn create(
        path: &Path,
        settings: &Settings,
        children: u16,
        generation: Generation,
    ) -> Result<Rc<Scoreboard>, ShmError> {
        let layout = Layout::new(room_for(settings, children, carry::Rows::default()))?;
        let (table, identity) = file::make(path, layout, |table| {
            write_header(table, generation);
            init_locks(table)
        })?;
        Ok(Rc::new(Scoreboard {
            table,
            path: path.to_owned(),
            identity,
        }))
    }

    /// Makes a larger table at `path` in place of `self`, with the balancers' and workers' state
    /// carried over. The children of older generations keep the old one mapped.
    pub fn grown(
        &self,
        path: &Path,
        settings: &Settings,
        children: u16,
        generation: Generation,
    ) -> Result<Rc<Scoreboard>, ShmError> {
        let layout = Layout::new(room_for(settings, children, carry::live_rows(&self.table)))?;
        let (table, identity) = file::make(path, layout, |table| {
            write_header(table, generation);
            init_locks(table)?;
            carry::carry_over(&self.table, table);
            Ok(())
        })?;
        Ok(Rc::new(Scoreboard {
            table,
            path: path.to_owned(),
            identity,
        }))
    }

    /// Finds or takes rows for all balancers and workers of `settings`, matched by server, balancer
    /// and name; state is carried over, a parameter whose configuration changed takes the new value.
    /// `ShmError::Full`: call `grown`, then this again on the new table. Called by the supervisor.
    pub fn assign(
        &self,
        settings: &Settings,
        generation: Generation,
    ) -> Result<Assignment, ShmError> {
        assign::assign(&self.table, settings, generation)
    }

    /// Supervisor: from now on this process survives the file being cut while it is mapped, with
    /// an empty table that only it sees; see `damaged`. Without it, a bus error ends the process.
    pub fn survive_bus_errors(&self) -> Result<(), ShmError> {
        self.table
            .survive_bus_errors()
            .map_err(|error| ShmError::File {
                path: self.path.clone(),
                what: "prepare for its being cut",
                error,
            })
    }

    /// Supervisor: the file was cut. Make a new table and a new generation; nothing that is forked
    /// with this one could serve.
    pub fn damaged(&self) -> bool {
        self.table.damaged()
    }

    /// For tests: fills everything but the locks and the header with one byte.
    #[cfg(test)]
    pub(crate) fn scribble(&self, byte: u8) {
        let word = u32::from_ne_bytes([byte; 4]);
        let long = u64::from_ne_bytes([byte; 8]);
        for (slot, head) in self.table.children() {
            for w in [&head.state, &head.pid, &head.requests, &head.connections] {
                w.store(word, Relaxed);
            }
            head.accesses.store(long, Relaxed);
            for row in 0..self.table.layout().counts.workers {
                if let Some(cell) = self.table.cell(slot, row) {
                    cell.busy.store(word, Relaxed);
                    cell.sent.store(long, Relaxed);
                }
            }
        }
        for (_, w) in self.table.workers() {
            for x in [
                &w.status,
                &w.load_factor,
                &w.lbset,
                &w.used,
                &w.balancer,
                &w.order,
            ] {
                x.store(word, Relaxed);
            }
            for x in [&w.error_time, &w.retry_ms, &w.probe_since] {
                x.store(long, Relaxed);
            }
            w.lbstatus.store(long.cast_signed(), Relaxed);
            w.route.set(&[byte; 80]);
        }
        for (_, b) in self.table.balancers() {
            for x in [&b.flags, &b.max_attempts, &b.used, &b.repair] {
                x.store(word, Relaxed);
            }
            b.timeout_ms.store(long, Relaxed);
        }
    }

    /// At the end of the instance: removes the file if it is still ours.
    pub fn remove(&self) {
        file::remove(&self.path, self.identity);
    }

    /// The slot of a child, for that child.
    pub fn child(self: &Rc<Self>, slot: SlotNo) -> ChildView {
        ChildView::new(self.clone(), slot)
    }

    /// Supervisor: takes a free child slot before the fork; `None` when all are taken (refuse the reload).
    pub fn claim_slot(&self, child: ChildNo, generation: Generation) -> Option<SlotNo> {
        let (slot, head) = self
            .table
            .children()
            .find(|(_, head)| head.state.load(Relaxed) == ChildState::Unused as u32)?;
        self.reset(slot);
        self.table.mark_taken(slot, true);
        head.generation.store(generation.0, Relaxed);
        head.child.store(u32::from(child.0), Relaxed);
        head.started.store(clock::read_wall().0, Relaxed);
        head.heartbeat.store(clock::read_mono().0, Relaxed);
        head.claims.fetch_add(1, Relaxed);
        head.state.store(ChildState::Starting as u32, Relaxed);
        u16::try_from(slot).ok().map(SlotNo)
    }

    /// Supervisor: how many child slots are free.
    pub fn free_slots(&self) -> usize {
        self.table
            .children()
            .filter(|(_, head)| head.state.load(Relaxed) == ChildState::Unused as u32)
            .count()
    }

    /// Supervisor: tells the slot its process, after the fork.
    pub fn set_pid(&self, slot: SlotNo, pid: i32) {
        if let Some(head) = self.table.child(slot.index()) {
            head.pid.store(pid.cast_unsigned(), Relaxed);
        }
    }

    /// Supervisor: the child of this slot was reaped (or could not be forked). Zeroes its row (busy
    /// counts, requests, probes it made), adds its traffic to the totals and frees the slot.
    pub fn release_slot(&self, slot: SlotNo) {
        let Some(head) = self.table.child(slot.index()) else {
            return;
        };
        let past = &self.table.header().past;
        past[0].fetch_add(head.accesses.load(Relaxed), Relaxed);
        past[1].fetch_add(head.bytes.load(Relaxed), Relaxed);
        past[2].fetch_add(head.duration.load(Relaxed), Relaxed);
        self.reset(slot.index());
        // It may have died in the middle of a choice, or (an older generation's) have known other
        // members than the present ones: either leaves the present members' lbstatus with a sum.
        for (_, balancer) in self.table.balancers() {
            balancer.repair.store(1, Release);
        }
        head.state.store(ChildState::Unused as u32, Relaxed);
        // Last: as long as anything of it counts, it is looked at.
        self.table.mark_taken(slot.index(), false);
    }

    fn reset(&self, slot: usize) {
        for (row, worker) in self.table.workers() {
            if let Some(cell) = self.table.cell(slot, row) {
                cell.busy.store(0, Relaxed);
                worker
                    .past_sent
                    .fetch_add(cell.sent.swap(0, Relaxed), Relaxed);
                worker
                    .past_received
                    .fetch_add(cell.received.swap(0, Relaxed), Relaxed);
            }
            if worker.probe_slot.load(Relaxed) == slot as u32 + 1 {
                self.abandon_probe_of(worker);
            }
        }
        for index in 0..layout::RECORDS {
            if let Some(record) = self.table.record(slot, index) {
                record.seq.write(|| record.phase.store(0, Relaxed));
            }
        }
        let Some(head) = self.table.child(slot) else {
            return;
        };
        for word in [
            &head.pid,
            &head.watchdog,
            &head.connections,
            &head.idle,
            &head.requests,
            &head.unlisted,
        ] {
            word.store(0, Relaxed);
        }
        for counter in [&head.accesses, &head.bytes, &head.duration, &head.dropped] {
            counter.store(0, Relaxed);
        }
    }

    pub(super) fn abandon_probe_of(&self, worker: &super::record::WorkerSlot) {
        worker.probe_slot.store(0, Relaxed);
        let _ = worker.status.fetch_update(Relaxed, Relaxed, |s| {
            (s & status::PROBATION != 0).then_some((s & !status::PROBATION) | status::ERROR)
        });
    }

    /// Supervisor: tells readers which generation is the newest (from when it serves) and how often
    /// the configuration was read.
    pub fn set_generation(&self, generation: Generation, config_generation: u32) {
        let header = self.table.header();
        header.generation.store(generation.0, Relaxed);
        header.config_generation.store(config_generation, Relaxed);
        header.restarted.store(clock::read_wall().0, Relaxed);
    }

    /// All slots in use; for accept balancing, MaxRequestWorkers, the supervisor's watch over heartbeats.
    pub fn slots(&self) -> impl Iterator<Item = SlotSummary> + '_ {
        self.table.children().filter_map(|(slot, head)| {
            let state = ChildState::from_word(head.state.load(Relaxed))?;
            (state != ChildState::Unused).then(|| SlotSummary {
                slot: SlotNo(slot as u16),
                child: ChildNo(head.child.load(Relaxed) as u16),
                pid: head.pid.load(Relaxed).cast_signed(),
                generation: Generation(head.generation.load(Relaxed)),
                state,
                connections: head.connections.load(Relaxed),
                requests: head.requests.load(Relaxed),
                heartbeat: Mono(head.heartbeat.load(Relaxed)),
            })
        })
    }

    /// A consistent copy per record, for pages and `--explain`.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.table)
    }

    /// A worker's busy count over all live children.
    pub fn busy(&self, worker: WorkerRow) -> u64 {
        self.table
            .sum_cells(usize::from(worker.0), |cell| cell.busy.load(Relaxed).into())
    }
}

/// Room for the configuration, its growth and some more, so that small changes need no new table.
///
/// `carried`: rows that are copied from an older table and may be none of the
/// configuration's.
fn room_for(settings: &Settings, children: u16, carried: carry::Rows) -> Counts {
    let workers = settings.workers.len() + settings.growth();
    let balancers = settings.balancers.len();
    let beacons = settings.receivers.len() + settings.senders.len();
    Counts {
        slots: (usize::from(children) * GENERATIONS).max(4 * GENERATIONS),
        balancers: balancers + balancers / 4 + 8 + carried.balancers,
        workers: workers + workers / 4 + 16 + carried.workers,
        // Each has 128 KiB of leases: no more than are needed.
        beacons: beacons.max(1) + carried.beacons,
    }
}

fn write_header(table: &Table, generation: Generation) {
    let header = table.header();
    let layout = table.layout();
    let now = clock::read_wall().0;
    header.version.store(layout::VERSION, Relaxed);
    header.byte_order.store(layout::BYTE_ORDER, Relaxed);
    header.length.store(layout.length as u64, Relaxed);
    for (word, value) in header.sizes.iter().zip(SIZES) {
        word.store(value, Relaxed);
    }
    for (word, value) in header.counts.iter().zip(counts_of(layout)) {
        word.store(value, Relaxed);
    }
    for (word, value) in header.offsets.iter().zip(offsets_of(layout)) {
        word.store(value, Relaxed);
    }
    header.beacon_offset.store(layout.beacons as u64, Relaxed);
    header.beacon_size.store(layout::BEACON as u32, Relaxed);
    header.supervisor.store(std::process::id(), Relaxed);
    header.generation.store(generation.0, Relaxed);
    header.config_generation.store(1, Relaxed);
    header.started.store(now, Relaxed);
    header.restarted.store(now, Relaxed);
    header
        .program
        .set(concat!("muster ", env!("CARGO_PKG_VERSION")).as_bytes());
    header
        .magic
        .store(layout::MAGIC, std::sync::atomic::Ordering::Release);
}

/// What the header says of the records' sizes.
pub(super) const SIZES: [u32; 8] = [
    layout::HEADER as u32,
    layout::CHILD as u32,
    layout::RECORD as u32,
    layout::BALANCER as u32,
    layout::WORKER as u32,
    layout::HEALTH as u32,
    layout::LEASE as u32,
    layout::CELL as u32,
];

/// What the header says of the counts.
pub(super) fn counts_of(layout: &Layout) -> [u32; 6] {
    [
        layout.counts.slots as u32,
        layout::RECORDS as u32,
        layout.counts.balancers as u32,
        layout.counts.workers as u32,
        (layout.counts.beacons * layout::LEASES) as u32,
        layout.counts.beacons as u32,
    ]
}

/// What the header says of the offsets.
pub(super) fn offsets_of(layout: &Layout) -> [u64; 6] {
    [
        layout.children as u64,
        layout.balancers as u64,
        layout.workers as u64,
        layout.health as u64,
        layout.leases as u64,
        layout.traffic as u64,
    ]
}

fn init_locks(table: &Table) -> Result<(), ShmError> {
    for (_, balancer) in table.balancers() {
        balancer.lock.init().map_err(ShmError::Lock)?;
    }
    Ok(())
}
