//! What members did lately: requests and errors of the last moments, for the manager's picture.
//!
//! The watchdog's holder moves it on; choosing members costs nothing for it, since only counters
//! that are there anyway are compared.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::layout::MOMENTS;
use super::record::{USED, WorkerSlot};
use super::scoreboard::Scoreboard;

/// How long a moment lasts.
pub const MOMENT: Duration = Duration::from_secs(10);

impl Scoreboard {
    /// Watchdog: a moment is over, another begins.
    pub fn next_moment(&self) {
        for (_, w) in self.table.workers() {
            if w.used.load(Relaxed) != USED {
                continue;
            }
            let (requests, errors) = now(w);
            let at = w.moments.load(Relaxed);
            let word = u64::from(requests) | u64::from(errors) << 32;
            w.history[at as usize % MOMENTS].store(word, Relaxed);
            w.moments.store(at.wrapping_add(1), Relaxed);
            w.seen_elected.store(w.elected.load(Relaxed), Relaxed);
            w.seen_errors.store(w.errors.load(Relaxed), Relaxed);
        }
    }
}

/// Oldest first; the last one is the moment that goes on still.
pub(super) fn of(w: &WorkerSlot) -> Vec<(u32, u32)> {
    let at = w.moments.load(Relaxed) as usize % MOMENTS;
    let words = w.history[at..].iter().chain(&w.history[..at]);
    let past = words.map(|word| {
        let word = word.load(Relaxed);
        (word as u32, (word >> 32) as u32)
    });
    past.chain([now(w)]).collect()
}

/// Requests and errors since it last moved on.
fn now(w: &WorkerSlot) -> (u32, u32) {
    let since = |now: u64, seen: u64| u32::try_from(now.saturating_sub(seen)).unwrap_or(u32::MAX);
    (
        since(w.elected.load(Relaxed), w.seen_elected.load(Relaxed)),
        since(w.errors.load(Relaxed), w.seen_errors.load(Relaxed)),
    )
}
