//! Scheduling methods (`lbmethod`), by name.

use super::select::{Ask, Member, WHOLE, takes_part};
use super::{hash, least_time};

/// How a method prefers one member to another. Everything else (sets, spares, standbys, draining,
/// retries) is the loop's, the same for all methods ([`super::select`]).
pub trait LbMethod: Sync {
    /// The name that `lbmethod` takes.
    fn name(&self) -> &'static str;

    /// Whether looking at a member raises its lbstatus by its factor and choosing one takes the sum
    /// of the factors from it.
    fn takes_turns(&self) -> bool;

    /// Whether it needs `Member::busy`, which costs a look at all children.
    fn needs_busy(&self) -> bool {
        false
    }

    /// Whether it needs `Member::traffic`, which costs the same.
    fn needs_traffic(&self) -> bool {
        false
    }

    /// Whether it needs `Member::latency`.
    fn needs_latency(&self) -> bool {
        false
    }

    /// Whether it chooses by the request's key. Requests without one go by turns.
    fn needs_key(&self) -> bool {
        false
    }

    /// For methods that must see all members at once (those with `compared`): the one to take.
    /// `best` is the one that is `better` than all others.
    fn draw(&self, _: &[Member], best: usize, _: &Ask) -> usize {
        best
    }

    /// Whether it draws among members by their heartbeats (`Member::open`) as long as there are any;
    /// `better` counts only without.
    fn weighs_heartbeats(&self) -> bool {
        false
    }

    /// Is `member` better than `best`, which stands before it in the list? lbstatus is already raised.
    fn better(&self, member: &Member, best: &Member) -> bool;
}

/// By turns, in proportion to the load factors (mod_lbmethod_byrequests).
struct ByRequests;

impl LbMethod for ByRequests {
    fn name(&self) -> &'static str {
        "byrequests"
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn better(&self, member: &Member, best: &Member) -> bool {
        // Strictly: at a tie the earlier member wins.
        member.lbstatus > best.lbstatus
    }
}

/// To the member with the fewest requests in flight, by turns among equals (mod_lbmethod_bybusyness).
struct ByBusyness;

impl LbMethod for ByBusyness {
    fn name(&self) -> &'static str {
        "bybusyness"
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn needs_busy(&self) -> bool {
        true
    }

    fn better(&self, member: &Member, best: &Member) -> bool {
        let starts = |m: &Member| m.load_factor != m.full_factor;
        let (own, other) = if starts(member) || starts(best) {
            // Load factors do not count, but a member that starts slowly is as busy as it would be
            // with all of its factor. None in flight is none: then its turn is that of its present
            // factor.
            let cost = |m: &Member, other: &Member| {
                [m.full_factor, other.load_factor]
                    .into_iter()
                    .fold(u128::from(m.busy), |cost, factor| {
                        cost.saturating_mul(factor.max(1).unsigned_abs().into())
                    })
            };
            (cost(member, best), cost(best, member))
        } else {
            (member.busy.into(), best.busy.into())
        };
        own < other || own == other && member.lbstatus > best.lbstatus
    }
}

/// To the member that has moved the fewest bytes for its load factor (mod_lbmethod_bytraffic).
struct ByTraffic;

impl LbMethod for ByTraffic {
    fn name(&self) -> &'static str {
        "bytraffic"
    }

    fn takes_turns(&self) -> bool {
        false
    }

    fn needs_traffic(&self) -> bool {
        true
    }

    /// A member that starts slowly gives way in so many of its turns as its factor is less than all
    /// of it. What it misses so counts as moved ([`Member::gave_way`]): by a small factor for all
    /// that it ever moved it would get nothing at first, and everything in the end.
    fn draw(&self, members: &[Member], best: usize, ask: &Ask) -> usize {
        let compared = || members.iter().enumerate().filter(|(_, m)| m.compared);
        let own = members[best].part();
        if own == WHOLE {
            return best;
        }
        let most = compared().map(|(_, m)| m.part()).max().unwrap_or(own);
        if takes_part(own, most, ask.random) {
            return best;
        }
        let others = compared().filter(|(_, m)| m.part() == most);
        let least = others.reduce(|best, m| if self.better(m.1, best.1) { m } else { best });
        least.map_or(best, |(i, _)| i)
    }

    fn better(&self, member: &Member, best: &Member) -> bool {
        // Exactly: httpd divides and cuts, so that it does not see the last bytes.
        let part = |m: &Member, other: &Member| {
            u128::from(m.traffic) * u128::from(other.full_factor.unsigned_abs())
        };
        part(member, best) < part(best, member)
    }
}

/// By the request's key, so that the same key meets the same member ([`hash`]).
struct ByHash;

impl LbMethod for ByHash {
    fn name(&self) -> &'static str {
        "byhash"
    }

    fn takes_turns(&self) -> bool {
        false
    }

    fn needs_busy(&self) -> bool {
        true
    }

    fn needs_key(&self) -> bool {
        true
    }

    fn draw(&self, members: &[Member], best: usize, ask: &Ask) -> usize {
        let drawn = ask.key.and_then(|key| hash::draw(members, key));
        drawn.unwrap_or(best)
    }

    fn better(&self, _: &Member, _: &Member) -> bool {
        false
    }
}

/// To the faster of two that are drawn ([`least_time`]).
struct ByLeastTime;

impl LbMethod for ByLeastTime {
    fn name(&self) -> &'static str {
        "byleasttime"
    }

    fn takes_turns(&self) -> bool {
        false
    }

    fn needs_busy(&self) -> bool {
        true
    }

    fn needs_latency(&self) -> bool {
        true
    }

    fn draw(&self, members: &[Member], best: usize, ask: &Ask) -> usize {
        least_time::draw(members, ask.random).unwrap_or(best)
    }

    fn better(&self, _: &Member, _: &Member) -> bool {
        false
    }
}

/// By the free slots that members tell of (mod_lbmethod_heartbeat); by turns where none tells.
struct ByHeartbeat;

impl LbMethod for ByHeartbeat {
    fn name(&self) -> &'static str {
        "heartbeat"
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn weighs_heartbeats(&self) -> bool {
        true
    }

    fn better(&self, member: &Member, best: &Member) -> bool {
        ByRequests.better(member, best)
    }
}

/// All methods; a new one is one line here.
static METHODS: [&dyn LbMethod; 6] = [
    &ByRequests,
    &ByTraffic,
    &ByBusyness,
    &ByHeartbeat,
    &ByHash,
    &ByLeastTime,
];

/// The method of this name.
pub fn find(name: &str) -> Option<&'static dyn LbMethod> {
    METHODS.iter().copied().find(|m| m.name() == name)
}

/// All names, for messages about unknown ones.
pub fn names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|m| m.name())
}

/// byrequests: the default, and what stands in for a method that this build does not know.
pub fn default_method() -> &'static dyn LbMethod {
    METHODS[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::directive::balancer_param::METHODS as CONFIGURABLE;

    #[test]
    fn the_configuration_knows_all_methods() {
        assert_eq!(names().collect::<Vec<_>>(), CONFIGURABLE);
        assert!(names().all(|n| n.len() < 16 && find(n).is_some_and(|m| m.name() == n)));
        assert!(find("ByRequests").is_none() && find("").is_none());
    }
}
