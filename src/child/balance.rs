//! Which child should take the next connection: a pure look at the counts.
//!
//! The kernel wakes whichever process happens to wait first, so without this all long-lived
//! connections can end at one child while the other cores idle.

use std::time::Duration;

use crate::clock::Mono;
use crate::ids::{ChildNo, Generation};
use crate::shm::{ChildState, SlotSummary};

/// A child whose loop has not turned for so long is not counted on.
const FRESH: Duration = Duration::from_secs(1);

/// Who is to take a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    /// The child that asks.
    Me,
    /// Another one, which has clearly fewer.
    Other(ChildNo),
}

/// Decides for a child of `generation` that has `mine` connections.
pub(super) fn taker(
    me: ChildNo,
    mine: u32,
    generation: Generation,
    now: Mono,
    slots: impl Iterator<Item = SlotSummary>,
) -> Taker {
    let least = slots
        .filter(|s| {
            s.generation == generation
                && s.child != me
                && s.state == ChildState::Serving
                && now.since(s.heartbeat) < FRESH
        })
        .min_by_key(|s| s.connections);
    match least {
        Some(other) if mine > other.connections + slack(mine) => Taker::Other(other.child),
        _ => Taker::Me,
    }
}

/// How many more than the least loaded child one may have: enough that short connections do not
/// make children pass the turn to each other all the time.
fn slack(mine: u32) -> u32 {
    3 + mine / 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SlotNo;

    const NOW: Mono = Mono(10_000_000_000);

    fn slot(child: u16, connections: u32) -> SlotSummary {
        SlotSummary {
            slot: SlotNo(child),
            child: ChildNo(child),
            pid: 100,
            generation: Generation(1),
            state: ChildState::Serving,
            connections,
            requests: 0,
            heartbeat: NOW,
        }
    }

    fn decide(mine: u32, others: &[SlotSummary]) -> Taker {
        let me = slot(0, mine);
        let all = std::iter::once(me).chain(others.iter().copied());
        taker(ChildNo(0), mine, Generation(1), NOW, all)
    }

    #[test]
    fn a_child_far_above_the_least_passes_the_turn_to_it() {
        let others = [slot(1, 5), slot(2, 1)];
        assert_eq!(decide(4, &others), Taker::Me);
        assert_eq!(decide(5, &others), Taker::Other(ChildNo(2)));
    }

    #[test]
    fn only_live_children_of_the_same_generation_count() {
        let old = SlotSummary {
            generation: Generation(0),
            ..slot(1, 0)
        };
        let draining = SlotSummary {
            state: ChildState::Draining,
            ..slot(1, 0)
        };
        let stopped = SlotSummary {
            heartbeat: Mono(NOW.0 - 1_500_000_000),
            ..slot(1, 0)
        };
        for other in [old, draining, stopped] {
            assert_eq!(decide(100, &[other]), Taker::Me);
        }
    }

    #[test]
    fn whoever_is_woken_64_connections_end_evenly() {
        for children in [2u16, 4] {
            let mut counts = vec![0u32; children.into()];
            for _ in 0..64 {
                // The worst case: the kernel always wakes child 0.
                let mut at = 0;
                loop {
                    let slots = counts.iter().enumerate().map(|(i, c)| slot(i as u16, *c));
                    let me = ChildNo(at as u16);
                    match taker(me, counts[at], Generation(1), NOW, slots) {
                        Taker::Me => break,
                        Taker::Other(next) => at = next.index(),
                    }
                }
                counts[at] += 1;
            }
            let share = 64.0 / f64::from(children);
            let most = f64::from(*counts.iter().max().unwrap());
            assert!(most <= 1.3 * share, "{counts:?}");
        }
    }
}
