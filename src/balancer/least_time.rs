//! Choosing by time (`lbmethod=byleasttime`): of two members drawn at random, the one where a request
//! would be done earlier, by its average time to an answer and what is in flight there.
//!
//! Two at random rather than the best of all: children and balancers that look at the same numbers
//! would else all run to the same member.

use std::time::Duration;

use super::select::{Member, takes_part};

/// An average that nothing was added to counts half after this long: a member that was slow is
/// tried again.
const HALF_LIFE: Duration = Duration::from_secs(5);

/// A failure counts as an answer after this time at least (ns) ...
const FAILURE: u64 = 100_000_000;

/// ... and for no more than this, by the doubling alone.
const MOST: u64 = 60_000_000_000;

/// What is left of `average` (ns) after a time without answers.
pub(super) fn decayed(average: u64, since: Duration) -> u64 {
    const HALF: u64 = HALF_LIFE.as_nanos() as u64;
    let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    let halves = since / HALF;
    if average == 0 || halves >= 63 {
        return 0;
    }
    let left = average >> halves;
    // A straight line between one half and the next is near enough.
    let (most, time) = (left / 2, since % HALF);
    let part = match most.checked_mul(time) {
        Some(product) => product / HALF,
        None => (u128::from(most) * u128::from(time) / u128::from(HALF)) as u64,
    };
    left - part
}

/// The average with one more answer. One that comes after a pause counts more, each at least an eighth.
pub(super) fn updated(average: u64, since: Duration, answer: u64) -> u64 {
    if average == 0 {
        return answer.max(1);
    }
    let weight = u128::from((1024 - decayed(1024, since)).max(128));
    let sum = u128::from(average) * (1024 - weight) + u128::from(answer) * weight;
    u64::try_from(sum / 1024).unwrap_or(u64::MAX).max(1)
}

/// What a failure counts as, when it came after `took`: errors are often fast, and must not draw all
/// requests to the member that makes them. It doubles with each, to a minute.
pub(super) fn failure(average: u64, took: u64) -> u64 {
    took.max(average.saturating_mul(2).min(MOST)).max(FAILURE)
}

/// The better of two of the compared members.
pub(super) fn draw(members: &[Member], random: u64) -> Option<usize> {
    let compared = || (0..members.len()).filter(|&i| members[i].compared);
    let n = compared().count() as u64;
    let first = random.checked_rem(n)?;
    let a = compared().nth(first as usize)?;
    if n == 1 {
        return Some(a);
    }
    let second = (random >> 32) % (n - 1);
    let second = second + u64::from(second >= first);
    let b = compared().nth(second as usize)?;
    let (better, other) = if costs_less(&members[b], &members[a]) {
        (b, a)
    } else {
        (a, b)
    };
    // One that starts slowly gives way in part of its turns: by a small factor it would cost more
    // than the others until it has nearly all of it, and get nothing.
    let (own, most) = (members[better].part(), members[other].part());
    Some(if takes_part(own, most, random) {
        better
    } else {
        other
    })
}

fn costs_less(m: &Member, other: &Member) -> bool {
    // While one has no average, what is in flight decides.
    let known = m.latency != 0 && other.latency != 0;
    let cost = |m: &Member, other: &Member| {
        let time = u128::from(if known { m.latency >> 8 } else { 1 }.max(1));
        let requests = u128::from(m.busy.min(1 << 32)) + 1;
        time * requests * u128::from(other.full_factor.max(1).unsigned_abs().min(1 << 16))
    };
    cost(m, other) < cost(other, m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::status::INIT;

    const MS: u64 = 1_000_000;

    fn members(list: &[(u64, u64, u32)]) -> Vec<Member> {
        let member = |&(latency, busy, factor): &(u64, u64, u32)| Member {
            latency: latency * MS,
            busy,
            compared: true,
            ..Member::new(INIT, factor, 0, 0)
        };
        list.iter().map(member).collect()
    }

    fn counts(m: &[Member]) -> Vec<u32> {
        let mut out = vec![0; m.len()];
        for i in 0..6000u64 {
            let random = super::super::hash::mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            out[draw(m, random).unwrap()] += 1;
        }
        out
    }

    #[test]
    fn the_faster_of_two() {
        assert_eq!(counts(&members(&[(10, 0, 100), (11, 0, 100)])), [6000, 0]);
        // Ten times as fast, but ten times as much to do.
        assert_eq!(counts(&members(&[(10, 10, 100), (100, 0, 100)])), [0, 6000]);
        assert_eq!(counts(&members(&[(10, 2, 100), (10, 2, 300)])), [0, 6000]);
        // Without an average, requests in flight decide.
        assert_eq!(counts(&members(&[(0, 1, 100), (1, 0, 100)])), [0, 6000]);
        assert_eq!(counts(&members(&[(7, 0, 100)])), [6000]);
    }

    /// Whoever wins by the time it takes has its part of these turns while it starts slowly.
    #[test]
    fn one_that_starts_slowly_gets_part_of_its_turns() {
        let mut m = members(&[(10, 0, 100), (5, 0, 400)]);
        for tenths in [1, 5, 9, 10] {
            let (second, ten) = (Duration::from_secs(1), Duration::from_secs(10));
            m[1].start_slowly(second * tenths, ten);
            let c = counts(&m);
            assert!(c[1].abs_diff(600 * tenths) < 150, "{tenths}: {c:?}");
            m[1].load_factor = m[1].full_factor;
        }
        let ten = Duration::from_secs(10);
        m.iter_mut()
            .for_each(|m| m.start_slowly(Duration::from_secs(3), ten));
        assert_eq!(counts(&m), [0, 6000], "all start alike");
    }

    #[test]
    fn two_are_drawn_and_the_slowest_of_all_gets_nothing() {
        let c = counts(&members(&[(1, 0, 100), (2, 0, 100), (3, 0, 100)]));
        assert_eq!(c[2], 0);
        // The first is in two of three pairs.
        assert!(c[0].abs_diff(4000) < 200, "{c:?}");
        let mut m = members(&[(1, 0, 100), (2, 0, 100), (3, 0, 100)]);
        m[0].compared = false;
        assert_eq!(counts(&m), [0, 6000, 0]);
        assert_eq!(draw(&[], 1), None);
    }

    #[test]
    fn averages_move_and_fade() {
        let s = Duration::from_secs;
        assert_eq!(decayed(1000, s(0)), 1000);
        assert_eq!(decayed(1000, s(5)), 500);
        assert_eq!(decayed(1000, s(10)), 250);
        assert_eq!(decayed(u64::MAX, s(1 << 40)), 0);
        assert!((700..800).contains(&decayed(1000, Duration::from_millis(2500))));
        assert_eq!(updated(0, s(9), 7), 7);
        assert_eq!(updated(800, s(0), 1600), 900);
        assert_eq!(updated(800, s(5), 1600), 1200);
        assert_eq!(updated(u64::MAX, s(0), u64::MAX), u64::MAX);
        assert_eq!(failure(0, 5), 100 * MS);
        assert_eq!(failure(80 * MS, MS), 160 * MS);
        assert_eq!(failure(u64::MAX, MS), 60_000 * MS);
        assert_eq!(failure(0, 300 * MS), 300 * MS);
        let mut average = 100;
        (0..60).for_each(|_| average = updated(average, s(0), 500));
        assert!((480..=500).contains(&average), "{average}");
    }
}
