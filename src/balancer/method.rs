//! Scheduling methods (`lbmethod`), by name.

use super::select::Member;

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
static METHODS: [&dyn LbMethod; 2] = [&ByRequests, &ByHeartbeat];

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
