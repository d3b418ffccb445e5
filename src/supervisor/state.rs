//! What the supervisor knows of its children, as plain values: no descriptors, no clock.

use std::time::Duration;

use crate::clock::Mono;
use crate::ids::{ChildNo, Generation, SlotNo};

use super::backoff::Backoff;

/// Everything that [`transition`](super::transition::transition) decides by.
#[derive(Clone, Debug)]
pub struct State {
    /// What the instance as a whole is doing.
    pub phase: Phase,
    /// Oldest first; only the last may be anything but draining, or the last two while the newest
    /// is starting.
    pub families: Vec<Family>,
    /// A reload that was asked for and has not begun.
    pub pending: Option<Pending>,
    /// When a reload was asked for last.
    pub last_asked: Option<Mono>,
    /// Whether somebody waits for the first generation to serve, so that a start whose children
    /// all die is to be given up. Otherwise it is tried again and again.
    pub impatient: bool,
    /// Whether any generation ever served.
    pub served: bool,
}

/// What the instance is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Serving, or on the way there.
    Running,
    /// Reading a configuration (between the action and its answer).
    Loading(Ask),
    /// Everybody was told to finish what they have.
    Quitting {
        /// Since when.
        since: Mono,
    },
    /// Everybody was told to stop at once.
    Stopping {
        /// Since when.
        since: Mono,
        /// What the process will exit with.
        code: i32,
    },
    /// Nothing is left to do.
    Ended,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// USR1: a new generation, the old one drains.
    Graceful,
    /// HUP: a new generation, the old one is cut.
    Restart,
    /// WINCH: drain, then exit.
    GracefulStop,
    /// TERM or INT: exit.
    Stop,
}

/// A reload to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Graceful or Restart.
    pub ask: Ask,
    /// When the first of the requests that it stands for came.
    pub since: Mono,
    /// Not part of a storm: need not wait for quiet.
    pub at_once: bool,
}

/// The children of one generation.
#[derive(Clone, Debug)]
pub struct Family {
    /// Which configuration.
    pub no: Generation,
    /// How many children it shall have.
    pub wanted: u16,
    /// `GracefulShutdownTimeout` of its configuration; zero: no bound.
    pub grace: Duration,
    /// What it is for.
    pub role: Role,
    /// Those that live (or are being forked).
    pub children: Vec<Child>,
    /// Against forking again and again.
    pub backoff: Backoff,
}

/// What a family is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Not all of its children have reported.
    Starting {
        /// Since when.
        since: Mono,
        /// How the older ones shall end once it serves.
        ask: Ask,
    },
    /// The one that accepts connections.
    Serving,
    /// Finishing what it has.
    Draining {
        /// Since when.
        since: Mono,
        /// When to have it close its idle connections.
        close_idle: CloseIdle,
        /// When it was told to stop at once.
        cut: Option<Mono>,
        /// KILL was sent.
        killed: bool,
    },
}

/// A draining family's idle keep-alive connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseIdle {
    /// They may stay.
    No,
    /// They are to be closed at that time.
    At(Mono),
    /// The children were told.
    Told,
}

/// One child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its number within the family.
    pub no: ChildNo,
    /// Its process; `None` between the decision to fork and the fork.
    pub pid: Option<i32>,
    /// Its row in the table.
    pub slot: SlotNo,
    /// Whether it reported that it serves.
    pub ready: bool,
    /// When it was forked.
    pub born: Mono,
}

impl State {
    /// Nothing yet; the first event is `Loaded`.
    pub fn new(impatient: bool) -> State {
        State {
            phase: Phase::Loading(Ask::Graceful),
            families: Vec::new(),
            pending: None,
            last_asked: None,
            impatient,
            served: false,
        }
    }

    /// Whether a process is one of our children.
    pub fn knows(&self, pid: i32) -> bool {
        self.child(pid).is_some()
    }

    /// A child by its process.
    pub fn child(&self, pid: i32) -> Option<(&Family, &Child)> {
        self.families.iter().find_map(|f| {
            let c = f.children.iter().find(|c| c.pid == Some(pid))?;
            Some((f, c))
        })
    }

    /// The family that serves.
    pub fn serving(&self) -> Option<&Family> {
        self.families.iter().find(|f| f.role == Role::Serving)
    }

    /// Whether a family has not reported yet.
    pub fn is_starting(&self) -> bool {
        self.families
            .iter()
            .any(|f| matches!(f.role, Role::Starting { .. }))
    }

    /// What must hold after every step.
    pub fn check_invariants(&self) {
        let mut pids: Vec<i32> = self.pids().collect();
        let all = pids.len();
        pids.sort_unstable();
        pids.dedup();
        debug_assert_eq!(all, pids.len(), "a process is listed twice");
        debug_assert!(
            pids.iter().all(|p| *p > 1),
            "a pid that must not be signalled"
        );
        let serving = |f: &&Family| f.role == Role::Serving;
        debug_assert!(self.families.iter().filter(serving).count() <= 1);
        let numbers = self.families.windows(2).all(|w| w[0].no < w[1].no);
        debug_assert!(numbers, "generations out of order");
        for f in &self.families {
            debug_assert!(f.children.len() <= f.wanted as usize, "too many children");
        }
    }

    /// All processes.
    pub fn pids(&self) -> impl Iterator<Item = i32> + '_ {
        self.families
            .iter()
            .flat_map(|f| f.children.iter().filter_map(|c| c.pid))
    }
}

impl Family {
    /// Its processes.
    pub fn pids(&self) -> impl Iterator<Item = i32> + '_ {
        self.children.iter().filter_map(|c| c.pid)
    }

    /// How many of its children serve.
    pub fn ready(&self) -> usize {
        self.children.iter().filter(|c| c.ready).count()
    }

    /// The numbers of children that are missing.
    pub fn missing(&self) -> impl Iterator<Item = ChildNo> + '_ {
        (0..self.wanted)
            .map(ChildNo)
            .filter(|n| self.children.iter().all(|c| c.no != *n))
    }
}
