//! Spreading checks over time: hundreds of members with one interval, or all of them overdue after
//! the process was stopped, must not be checked at one moment.

use std::time::Duration;

use crate::clock::Mono;

/// The longest time that a check is put off for the one before it, per check.
const LONGEST_GAP: Duration = Duration::from_millis(20);

/// Gives leave for one check after the other.
#[derive(Debug, Default)]
pub struct Pace {
    next: Mono,
}

/// The time between two starts: twice as often as is needed for all, so that what is late catches
/// up. `intervals`: of all members that are checked.
pub fn gap(intervals: impl Iterator<Item = Duration>) -> Duration {
    let rate: f64 = intervals
        .map(|i| 1.0 / i.as_secs_f64().max(0.001))
        .sum::<f64>();
    match rate > 0.0 {
        true => Duration::from_secs_f64(0.5 / rate).min(LONGEST_GAP),
        false => LONGEST_GAP,
    }
}

impl Pace {
    /// Whether a check may start now. What was not used is not saved up, beyond the time that
    /// passed since the last look (`since`), of which at most a tenth of a second counts.
    pub fn allows(&mut self, now: Mono, since: Duration, gap: Duration) -> bool {
        if self.next > now {
            return false;
        }
        let credit = since.min(Duration::from_millis(100));
        let floor = Mono(now.0.saturating_sub(credit.as_nanos() as u64));
        self.next = self.next.max(floor) + gap;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn started(members: usize, interval: Duration, tick: Duration, turns: usize) -> Vec<usize> {
        let gap = gap(std::iter::repeat_n(interval, members));
        let mut pace = Pace::default();
        let mut now = Mono(3_600_000_000_000);
        let mut left = members;
        (0..turns)
            .map(|_| {
                now = now + tick;
                let mut n = 0;
                while left > 0 && pace.allows(now, tick, gap) {
                    left -= 1;
                    n += 1;
                }
                n
            })
            .collect()
    }

    #[test]
    fn few_are_hardly_put_off() {
        assert_eq!(started(1, MS(100), MS(5), 3), [1, 0, 0]);
        assert_eq!(started(3, MS(1000), MS(20), 4), [2, 1, 0, 0]);
    }

    #[test]
    fn many_that_are_due_at_once_are_spread() {
        let starts = started(500, MS(1000), MS(10), 60);
        assert!(starts.iter().all(|n| *n <= 11), "{starts:?}");
        assert_eq!(starts.iter().sum::<usize>(), 500);
        let starts = started(500, MS(30_000), MS(20), 600);
        assert!(starts.iter().all(|n| *n <= 2), "{starts:?}");
        assert_eq!(starts.iter().sum::<usize>(), 500);
    }
}
