//! Waiting for a condition, never for a time.

use std::time::{Duration, Instant};

/// How long anything may take before a test fails: generous, since machines are slow at times.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Asks again and again until there is an answer; panics with `what` after [`LIMIT`].
pub fn wait_for<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(LIMIT, ask).unwrap_or_else(|| panic!("waited {LIMIT:?} in vain: {what}"))
}

/// Waits until a condition holds; panics with `what` after [`LIMIT`].
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()))
}

/// Asks again and again until there is an answer or the time is over.
pub fn within<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() >= end {
            return None;
        }
        pause();
    }
}

/// The pause between two looks: not for synchronisation, only so that looking costs little.
fn pause() {
    std::thread::park_timeout(Duration::from_millis(5));
}
