//! The watchdog's jobs in the table: when each is due and how its last run went.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::record::{Header, JobSlot};
use super::scoreboard::Scoreboard;
use crate::clock::Mono;

/// A copy of a job's line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name.
    pub name: String,
    /// Time between two runs.
    pub interval: Duration,
    /// When the next one is due.
    pub due: Mono,
    /// When the last one began.
    pub began: Mono,
    /// How long it took.
    pub took: Duration,
    /// How many the present watchdog has made.
    pub runs: u64,
}

impl Scoreboard {
    /// Watchdog: nothing is known of any job.
    pub fn clear_jobs(&self) {
        for slot in &self.table.header().jobs {
            slot.name.set(b"");
            slot.runs.store(0, Relaxed);
        }
    }

    /// Watchdog: a job ran (`last`: when it began and how long it took); places without a line of
    /// their own are not shown.
    pub fn show_job(
        &self,
        place: usize,
        name: &str,
        interval: Duration,
        last: (Mono, Duration),
        due: Mono,
    ) {
        let Some(slot) = self.table.header().jobs.get(place) else {
            return;
        };
        if !slot.name.is(name.as_bytes()) {
            slot.name.set(name.as_bytes());
        }
        let (began, took) = last;
        slot.interval_ms
            .store(bounded(interval.as_millis()), Relaxed);
        slot.due.store(due.0, Relaxed);
        slot.began.store(began.0, Relaxed);
        slot.took_us.store(bounded(took.as_micros()), Relaxed);
        slot.runs.fetch_add(1, Relaxed);
    }
}

/// The lines in use.
pub(super) fn all(header: &Header) -> Vec<JobInfo> {
    let copy = |slot: &JobSlot| JobInfo {
        name: slot.name.string(),
        interval: Duration::from_millis(slot.interval_ms.load(Relaxed)),
        due: Mono(slot.due.load(Relaxed)),
        began: Mono(slot.began.load(Relaxed)),
        took: Duration::from_micros(slot.took_us.load(Relaxed)),
        runs: slot.runs.load(Relaxed),
    };
    header
        .jobs
        .iter()
        .map(copy)
        .filter(|j| !j.name.is_empty())
        .collect()
}

fn bounded(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
