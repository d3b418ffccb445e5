//! Consistent hashing with bounded load (`lbmethod=byhash`): weighted rendezvous.
//!
//! Each member's score for a key depends on the two and its load factor alone, the least one wins.
//! So a member that leaves moves only its own keys, each to where it would have been without it, and
//! the order of the members does not matter.

use super::select::Member;

/// A member may always have so many requests in flight: the connections of a browser stay together
/// on a quiet proxy.
const FREE: u64 = 8;

/// The hash of a key or a member's name. The same in all children, builds and machines.
pub fn of(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| {
        (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(hash)
}

/// SplitMix64's last step.
pub(super) fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// A member's score: exponentially distributed with its factor as rate, so that each member's part
/// of all keys is its part of the factors.
pub(super) fn score(key: u64, member: u64, factor: i64) -> f64 {
    let drawn = mix(key ^ member.rotate_left(32)) >> 11;
    let uniform = (drawn as f64 + 0.5) / (1u64 << 53) as f64;
    -uniform.ln() / factor.max(1) as f64
}

/// The compared member of the least score that has not a quarter more than its part of all requests
/// in flight.
pub(super) fn draw(members: &[Member], key: u64) -> Option<usize> {
    let compared = || members.iter().enumerate().filter(|(_, m)| m.compared);
    let (mut busy, mut factors) = (0u64, 0u64);
    for (_, m) in compared() {
        busy = busy.saturating_add(m.busy);
        factors = factors.saturating_add(m.load_factor.max(1).unsigned_abs());
    }
    let free = |m: &Member| {
        let factor = m.load_factor.max(1).unsigned_abs();
        m.busy < FREE || m.busy < bound(busy, factor, factors)
    };
    let mut best: Option<(bool, f64, usize)> = None;
    for (i, m) in compared() {
        let (full, score) = (!free(m), score(key, m.hash, m.load_factor));
        let better = best.is_none_or(|(f, s, _)| (!full && f) || (full == f && score < s));
        if better {
            best = Some((full, score, i));
        }
    }
    best.map(|(_, _, i)| i)
}

/// How many requests a member may have in flight before others take its keys.
fn bound(busy: u64, factor: u64, factors: u64) -> u64 {
    let (next, factor) = (u128::from(busy) + 1, u128::from(factor));
    let part = (5 * next * factor).div_ceil(4 * u128::from(factors.max(1)));
    u64::try_from(part).unwrap_or(u64::MAX).max(FREE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::status::INIT;

    fn members(factors: &[u32]) -> Vec<Member> {
        let member = |(i, f): (usize, &u32)| Member {
            hash: of(format!("http://10.0.0.{i}:8080").as_bytes()),
            compared: true,
            ..Member::new(INIT, *f, 0, 0)
        };
        factors.iter().enumerate().map(member).collect()
    }

    fn keys() -> impl Iterator<Item = u64> {
        (0..20_000).map(|i| of(format!("client {i}").as_bytes()))
    }

    #[test]
    fn parts_of_the_keys_are_parts_of_the_factors() {
        let m = members(&[100, 300, 100, 500]);
        let mut counts = [0u32; 4];
        keys().for_each(|k| counts[draw(&m, k).unwrap()] += 1);
        for (n, expected) in counts.iter().zip([2000, 6000, 2000, 10_000]) {
            assert!(n.abs_diff(expected) < 400, "{counts:?}");
        }
    }

    #[test]
    fn only_the_keys_of_a_member_that_leaves_move() {
        let all = members(&[100; 8]);
        let mut less = all.clone();
        less[3].compared = false;
        let mut moved = 0;
        for k in keys() {
            let before = draw(&all, k).unwrap();
            if before == 3 {
                moved += 1;
                assert_ne!(draw(&less, k), Some(3));
            } else {
                assert_eq!(draw(&less, k), Some(before));
            }
        }
        assert!((2000..3000).contains(&moved), "{moved}");
        // Nor does the order in the configuration matter.
        let turned: Vec<Member> = all.iter().rev().copied().collect();
        assert!(keys().all(|k| draw(&turned, k).unwrap() == 7 - draw(&all, k).unwrap()));
    }

    #[test]
    fn a_hot_key_spills_over_when_its_member_has_a_quarter_too_much() {
        let mut m = members(&[100; 4]);
        let key = of(b"everybody");
        for _ in 0..400 {
            let i = draw(&m, key).unwrap();
            m[i].busy += 1;
            let busy: u64 = m.iter().map(|m| m.busy).sum();
            assert!(
                m.iter()
                    .all(|m| m.busy <= FREE.max((busy * 5).div_ceil(16)))
            );
        }
        // Few at a time stay together.
        let mut m = members(&[100; 4]);
        let own = draw(&m, key);
        m[own.unwrap()].busy = FREE - 1;
        assert_eq!(draw(&m, key), own);
    }

    #[test]
    fn nonsense_in_the_table_is_survived() {
        let mut m = members(&[0, 0]);
        m[0].busy = u64::MAX;
        m[1].busy = u64::MAX;
        assert!(draw(&m, 1).is_some());
        assert_eq!(draw(&[], 1), None);
    }
}
