//! How fast children are replaced: at once, unless they die at their start.

use std::time::Duration;

use crate::clock::Mono;
use crate::ids::ChildNo;

/// The history of one family's early deaths.
#[derive(Clone, Debug, Default)]
pub struct Backoff {
    /// Rounds in a row in which children died before they served.
    failures: u32,
    /// No fork before this.
    not_before: Mono,
    /// Children that served and died young, by number: how often in a row, and when to try again.
    young: Vec<(ChildNo, u32, Mono)>,
}

/// A child that lived this long was a good one.
const GROWN_UP: Duration = Duration::from_secs(5);
/// A child that dies young this often in a row is replaced with delay.
const PATIENCE: u32 = 3;
/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_secs(60);

impl Backoff {
    /// A child died before it served, or the fork failed: 1, 2, 4 ... 60 s until the next try. Deaths
    /// of children that were forked together count once.
    pub fn failed(&mut self, now: Mono) {
        if now < self.not_before {
            return;
        }
        self.failures += 1;
        self.not_before = now + delay(self.failures - 1);
    }

    /// A child that had served died after this time.
    pub fn died(&mut self, child: ChildNo, lived: Duration, now: Mono) {
        let known = self.young.iter().position(|(n, ..)| *n == child);
        if lived >= GROWN_UP {
            if let Some(i) = known {
                self.young.swap_remove(i);
            }
            return;
        }
        let i = known.unwrap_or_else(|| {
            self.young.push((child, 0, Mono(0)));
            self.young.len() - 1
        });
        let (_, times, at) = &mut self.young[i];
        *times += 1;
        if *times >= PATIENCE {
            *at = now + delay(*times - PATIENCE);
        }
    }

    /// A child serves.
    pub fn succeeded(&mut self) {
        self.failures = 0;
        self.not_before = Mono(0);
    }

    /// Rounds in a row that failed.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// When this child may be forked.
    pub fn due(&self, child: ChildNo) -> Mono {
        let own = self.young.iter().find(|(n, ..)| *n == child);
        own.map_or(Mono(0), |(.., at)| *at).max(self.not_before)
    }
}

fn delay(step: u32) -> Duration {
    Duration::from_secs(1 << step.min(6)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn failed_starts_wait_longer_and_longer() {
        let mut b = Backoff::default();
        let mut now = Mono(S);
        let mut waits = Vec::new();
        for _ in 0..8 {
            b.failed(now);
            b.failed(now + Duration::from_millis(1));
            let due = b.due(ChildNo(0));
            waits.push(due.since(now).as_secs());
            now = due;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        b.succeeded();
        assert_eq!(b.due(ChildNo(0)), Mono(0));
    }

    #[test]
    fn a_killed_child_is_replaced_at_once_and_one_that_keeps_dying_is_not() {
        let mut b = Backoff::default();
        let now = Mono(S);
        b.died(ChildNo(1), Duration::from_secs(1), now);
        b.died(ChildNo(1), Duration::from_secs(1), now);
        assert!(b.due(ChildNo(1)) <= now);
        b.died(ChildNo(1), Duration::from_secs(1), now);
        assert_eq!(b.due(ChildNo(1)), now + Duration::from_secs(1));
        assert!(b.due(ChildNo(0)) <= now);
        b.died(ChildNo(1), Duration::from_secs(9), now);
        assert!(b.due(ChildNo(1)) <= now);
    }
}
