//! The choice of a member for a request, and what its outcome means for the member.

use std::rc::Rc;
use std::time::Duration;

use crate::config::settings::{BalancerParams, Settings};
use crate::ids::{BalancerNo, SlotNo, WorkerNo};
use crate::shm::{Assignment, Scoreboard};

/// A member was chosen.
pub struct Choice {
    /// Which.
    pub worker: WorkerNo,
    /// By the session's route, not by the method.
    pub by_route: bool,
    /// The member's route is not the session's (also when the request had no session); only on
    /// balancers with a sticky name.
    pub route_changed: bool,
    /// This request tries a member that was in error: tell `mark_connected` or `mark_error` soon.
    pub probe: bool,
    /// Its busy count was raised under the lock already: keep this for the try, do not call `enter`.
    pub busy: Busy,
}

/// Why there is none: all are answered with 503.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMember {
    /// The session's members are unusable and `nofailover` is on (do not wait for the balancer's timeout).
    Nofailover,
    /// No usable member.
    AllInError,
    /// The balancer has no members.
    Empty,
}

/// A request at a worker, counted as busy until this is dropped.
pub struct Busy {
    worker: WorkerNo,
}

impl Busy {
    /// Which worker.
    pub fn worker(&self) -> WorkerNo {
        self.worker
    }
}

/// All balancers of a child.
pub struct Balancing {}

impl Balancing {
    /// For the child of `slot`.
    pub fn new(
        _settings: Rc<Settings>,
        _board: Rc<Scoreboard>,
        _assignment: Rc<Assignment>,
        _slot: SlotNo,
    ) -> Balancing {
        todo!()
    }

    /// Force recovery, route, selection, accounting, busy (spec: balancer 5 steps 2-7), under the lock.
    /// `skip`: members that this request must not try again though they are usable (a full local pool).
    pub fn choose(
        &self,
        _balancer: BalancerNo,
        _route: Option<&[u8]>,
        _skip: &[WorkerNo],
    ) -> Result<Choice, NoMember> {
        todo!()
    }

    /// For workers outside balancers: counts the request as busy.
    pub fn enter(&self, _worker: WorkerNo) -> Busy {
        todo!()
    }

    /// A connection failed: puts the member in error unless it ignores errors or stands outside a
    /// balancer. True when this call did it (log it then).
    pub fn mark_error(&self, _worker: WorkerNo) -> bool {
        todo!()
    }

    /// A connection was made, or a reused one gave an answer to a probe: ends probation and forgets
    /// the error. False when another child put the member in error meanwhile.
    pub fn mark_connected(&self, _worker: WorkerNo) -> bool {
        todo!()
    }

    /// Whether a request may be sent to it now; tried again by the retry rule when in error.
    pub fn usable(&self, _worker: WorkerNo) -> bool {
        todo!()
    }

    /// After the request: `failonstatus`. True when it put the member in error (log it then).
    pub fn fail_on_status(&self, _worker: WorkerNo, _status: u16) -> bool {
        todo!()
    }

    /// After a read timeout: `failontimeout`. True when it put the member in error.
    pub fn fail_on_timeout(&self, _worker: WorkerNo) -> bool {
        todo!()
    }

    /// Bytes handed to the backend connection.
    pub fn add_sent(&self, _worker: WorkerNo, _n: u64) {
        todo!()
    }

    /// Bytes read: the status line without CRLF, and the decoded body.
    pub fn add_read(&self, _worker: WorkerNo, _n: u64) {
        todo!()
    }

    /// How many further tries a request has: `maxattempts`, else members − 1.
    pub fn max_attempts(&self, _balancer: BalancerNo) -> u32 {
        todo!()
    }

    /// How long to poll `choose` (every 10 to 50 ms) when there is no member; zero: not at all.
    pub fn wait_limit(&self, _balancer: BalancerNo) -> Duration {
        todo!()
    }

    /// The balancer's parameters, for `sticky::find`.
    pub fn params(&self, _balancer: BalancerNo) -> &BalancerParams {
        todo!()
    }

    /// The member's route as it stands now, possibly empty.
    pub fn route(&self, _worker: WorkerNo) -> String {
        todo!()
    }

    /// The watchdog's tick: repairs what a dead lock owner left behind, without waiting.
    pub fn tidy(&self) {
        todo!()
    }
}
