//! Choosing by heartbeats (mod_lbmethod_heartbeat; spec: balancer 6.3): a member's chance is its
//! part of all slots that wait for work.
//!
//! A member that starts slowly has part of its slots. Unlike httpd's, the intervals do not overlap, and sets, draining, spares and standbys hold as
//! for every method.

use super::select::{Hope, Member, WHOLE};
use crate::shm::status;

/// The slots of a member that count: a quarter of those of one that has just started, so that it
/// is not flooded.
pub(super) fn open(busy: u32, ready: u32) -> u64 {
    u64::from(if busy == 0 { ready / 4 } else { ready })
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// This member.
    Member(usize),
    /// There are heartbeats, but no slot is free.
    Full,
    /// No heartbeat is fresh enough to choose by.
    Silent,
}

/// Draws a member. `random`: any number.
pub(super) fn draw(members: &[Member], random: u64) -> Drawn {
    if members.iter().all(|m| m.open.is_none()) {
        return Drawn::Silent;
    }
    let mut set = members.iter().map(|m| m.lbset).min();
    while let Some(this) = set {
        for reserve in [false, true] {
            let takes = |m: &&Member| {
                m.lbset == this
                    && m.status & status::DRAIN == 0
                    && (m.status & (status::SPARE | status::STANDBY) != 0) == reserve
                    && m.takes(Hope::First)
            };
            if let Some(index) = among(members, takes, random) {
                return Drawn::Member(index);
            }
        }
        set = members.iter().map(|m| m.lbset).filter(|s| *s > this).min();
    }
    Drawn::Full
}

fn among(members: &[Member], takes: impl Fn(&&Member) -> bool, random: u64) -> Option<usize> {
    let starts = members.iter().any(|m| m.part() != WHOLE);
    let weight = |m: &Member| match m.open {
        Some(open) if takes(&m) && starts => open.saturating_mul(m.part()),
        Some(open) if takes(&m) => open,
        _ => 0,
    };
    let total = members
        .iter()
        .fold(0u64, |sum, m| sum.saturating_add(weight(m)));
    let mut left = random.checked_rem(total)?;
    for (i, m) in members.iter().enumerate() {
        let weight = weight(m);
        if left < weight {
            return Some(i);
        }
        left -= weight;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(open: Option<u64>, lbset: u32, more: u32) -> Member {
        let mut member = Member::new(status::INIT | more, 100, lbset, 0);
        member.open = open;
        member
    }

    fn counts(members: &[Member], draws: u64) -> Vec<u64> {
        let mut out = vec![0; members.len()];
        for i in 0..draws {
            if let Drawn::Member(m) = draw(members, i) {
                out[m] += 1;
            }
        }
        out
    }

    #[test]
    fn chances_are_exactly_the_parts_of_free_slots() {
        let members = [
            member(Some(3), 0, 0),
            member(Some(0), 0, 0),
            member(Some(7), 0, 0),
            member(None, 0, 0),
        ];
        assert_eq!(counts(&members, 1000), [300, 0, 700, 0]);
    }

    #[test]
    fn sets_drain_and_reserves_hold() {
        let members = [
            member(Some(9), 0, status::DRAIN),
            member(Some(9), 0, status::DISABLED),
            member(Some(1), 0, status::STANDBY),
            member(Some(9), 1, 0),
        ];
        assert_eq!(counts(&members, 10), [0, 0, 10, 0]);
    }

    #[test]
    fn a_fresh_server_counts_a_quarter() {
        assert_eq!(open(0, 75), 18);
        assert_eq!(open(0, 3), 0);
        assert_eq!(open(1, 3), 3);
    }

    #[test]
    fn nobody_is_drawn_without_a_free_slot() {
        assert_eq!(draw(&[member(Some(0), 0, 0)], 5), Drawn::Full);
        assert_eq!(draw(&[member(None, 0, 0)], 5), Drawn::Silent);
        assert_eq!(draw(&[], 5), Drawn::Silent);
    }
}
