//! The time, read once per turn of the loop.
//!
//! Timers, leases and retry intervals use the monotonic clock ([`Mono`]); only log stamps, `Date`
//! and what users see use the wall clock ([`Wall`]). `tick` is the one place that asks the kernel.

use std::cell::Cell;
use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point of the monotonic clock, in nanoseconds; comparable between processes of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub u64);

/// Microseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub i64);

impl Mono {
    /// How long after `earlier` this is; zero when it is not after it.
    pub fn since(self, earlier: Mono) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Mono {
    type Output = Mono;

    fn add(self, d: Duration) -> Mono {
        Mono(
            self.0
                .saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

impl Sub<Mono> for Mono {
    type Output = Duration;

    fn sub(self, earlier: Mono) -> Duration {
        self.since(earlier)
    }
}

impl Wall {
    /// Whole seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// The same as a `SystemTime`.
    pub fn system_time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(u64::try_from(self.0).unwrap_or(0))
    }
}

thread_local! {
    static NOW: Cell<(Mono, Wall)> = const { Cell::new((Mono(0), Wall(0))) };
}

/// Reads the clocks; the loop calls it once per turn, the supervisor at each event.
pub fn tick() -> Mono {
    let mono = read_mono();
    NOW.set((mono, read_wall()));
    mono
}

/// The monotonic time of the last `tick` (read at once where nobody ticked yet).
pub fn now() -> Mono {
    match NOW.get() {
        (Mono(0), _) => tick(),
        (mono, _) => mono,
    }
}

/// The wall-clock time of the last `tick`.
pub fn wall() -> Wall {
    if NOW.get().0 == Mono(0) {
        tick();
    }
    NOW.get().1
}

/// Asks the kernel for the monotonic clock, for the few places that wait outside the loop.
pub fn read_mono() -> Mono {
    use nix::time::{ClockId, clock_gettime};
    match clock_gettime(ClockId::CLOCK_MONOTONIC) {
        Ok(t) => Mono((t.tv_sec() as u64).saturating_mul(1_000_000_000) + t.tv_nsec() as u64),
        Err(_) => Mono(1),
    }
}

/// Asks the kernel for the wall clock.
pub fn read_wall() -> Wall {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Wall(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_between_ticks() {
        tick();
        let a = now();
        assert_eq!(a, now());
        assert!(tick() >= a);
        assert!(wall().seconds() > 1_600_000_000);
    }

    #[test]
    fn durations_never_go_below_zero() {
        assert_eq!(Mono(5).since(Mono(9)), Duration::ZERO);
        assert_eq!(Mono(9) - Mono(5), Duration::from_nanos(4));
    }
}
