//! What members say of themselves by heartbeats, beside their health checks in the table. Written
//! by whoever receives one: each is two stores.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::assign::WorkerRow;
use super::scoreboard::Scoreboard;
use crate::clock::Mono;

/// A member's last heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberBeat {
    /// Slots that work.
    pub busy: u32,
    /// Slots that wait.
    pub ready: u32,
    /// When it came.
    pub seen: Mono,
}

impl Scoreboard {
    /// A heartbeat of this member came.
    pub fn set_heartbeat(&self, row: WorkerRow, busy: u32, ready: u32, now: Mono) {
        if let Some(h) = self.table.health(usize::from(row.0)) {
            h.heartbeat_load
                .store(u64::from(busy) << 32 | u64::from(ready), Relaxed);
            h.heartbeat_seen.store(now.0, Release);
        }
    }

    /// Its last one; `None`: there was none.
    pub fn heartbeat(&self, row: WorkerRow) -> Option<MemberBeat> {
        let h = self.table.health(usize::from(row.0))?;
        let seen = h.heartbeat_seen.load(Acquire);
        let load = h.heartbeat_load.load(Relaxed);
        (seen != 0).then_some(MemberBeat {
            busy: (load >> 32) as u32,
            ready: load as u32,
            seen: Mono(seen),
        })
    }
}
