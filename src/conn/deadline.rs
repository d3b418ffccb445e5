//! `RequestReadTimeout`: a deadline that moves on as bytes arrive (spec: modules 9).

use std::task::{Context, Poll};
use std::time::Duration;

use crate::clock::{self, Mono};
use crate::config::settings::ReadStage;
use crate::reactor::Timer;

/// Timers are armed in these steps, so that moving deadlines share a few lists.
const STEP: Duration = Duration::from_millis(250);

/// When a head or a body must have arrived. Arming a timer is left to the moment when something
/// waits; one that ends while the deadline has moved on is armed again.
#[derive(Debug)]
pub(super) struct Deadline {
    at: Option<Mono>,
    most: Option<Mono>,
    /// Nanoseconds that each byte adds.
    per_byte: u64,
    timer: Option<Timer>,
}

impl Deadline {
    /// For a stage that began at `since`.
    pub(super) fn new(stage: &ReadStage, since: Mono) -> Deadline {
        let limited = !stage.start.is_zero();
        Deadline {
            at: limited.then(|| since + stage.start),
            most: stage.max.filter(|_| limited).map(|max| since + max),
            per_byte: match stage.min_rate {
                0 => 0,
                rate => 1_000_000_000 / u64::from(rate),
            },
            timer: None,
        }
    }

    /// `n` bytes arrived.
    pub(super) fn received(&mut self, n: usize) {
        if let Some(at) = &mut self.at {
            *at = *at + Duration::from_nanos(self.per_byte.saturating_mul(n as u64));
            if let Some(most) = self.most {
                *at = (*at).min(most);
            }
        }
    }

    /// The time is used up.
    pub(super) fn passed(&self) -> bool {
        self.at.is_some_and(|at| at <= clock::now())
    }

    /// `Ready` when the deadline has passed; polled by whoever finds nothing to read.
    pub(super) fn poll_passed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else {
            return Poll::Pending;
        };
        loop {
            let left = at.since(clock::now());
            if left.is_zero() {
                return Poll::Ready(());
            }
            let timer = self.timer.get_or_insert_with(|| Timer::new(in_steps(left)));
            match timer.poll_elapsed(cx) {
                Poll::Ready(()) => timer.rearm(in_steps(left)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

fn in_steps(left: Duration) -> Duration {
    let step = STEP.as_millis();
    let steps = left.as_millis() / step + 1;
    STEP * u32::try_from(steps).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_move_the_deadline_up_to_its_maximum() {
        let stage = ReadStage {
            start: Duration::from_secs(20),
            max: Some(Duration::from_secs(40)),
            min_rate: 500,
        };
        let since = Mono(1_000_000_000);
        let mut d = Deadline::new(&stage, since);
        d.received(500);
        assert_eq!(d.at, Some(since + Duration::from_secs(21)));
        d.received(1_000_000);
        assert_eq!(d.at, Some(since + Duration::from_secs(40)));
    }

    #[test]
    fn a_stage_of_no_time_has_no_limit() {
        let stage = ReadStage {
            start: Duration::ZERO,
            max: Some(Duration::from_secs(1)),
            min_rate: 1,
        };
        let d = Deadline::new(&stage, Mono(1));
        assert!(!d.passed());
        assert_eq!(d.at, None);
    }
}
