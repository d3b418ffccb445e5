//! What a child is given at its fork.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use crate::config::settings::Settings;
use crate::ids::{ChildNo, Generation, ListenNo, SlotNo};
use crate::log::Logs;
use crate::shm::{Assignment, Scoreboard};
use crate::sys::filelock::FileLock;
use crate::sys::nudge::Nudge;
use crate::sys::signal::Signals;

/// Everything that a child has from its supervisor. All descriptors of other generations are
/// closed, user and group are those of the configuration, and the death of the supervisor sends
/// this process SIGUSR1 (`PR_SET_PDEATHSIG`).
pub struct ChildContext {
    /// The configuration of this generation.
    pub settings: Rc<Settings>,
    /// The table that all processes share.
    pub scoreboard: Rc<Scoreboard>,
    /// Which row of the table belongs to which worker and balancer.
    pub assignment: Rc<Assignment>,
    /// This child's row.
    pub slot: SlotNo,
    /// Its place within its generation, below `children`.
    pub child: ChildNo,
    /// How many children the generation has.
    pub children: u16,
    /// Which configuration.
    pub generation: Generation,
    /// Listening sockets, non-blocking and shared with the other children. One `Listen` may have
    /// more than one socket: after a move from `127.0.0.1:80` to `*:80` both stay.
    pub listeners: Vec<(ListenNo, OwnedFd)>,
    /// Sockets for announcements of backends, one for each of `Settings::receivers`, shared with all
    /// children; only the watchdog's holder reads them. `None`: could not be bound.
    pub beacons: Vec<Option<OwnedFd>>,
    /// What heartbeats of backends come through.
    pub hearts: HeartDescriptors,
    /// Tables of generations that may still live, where this one has another: what their watchdog
    /// heard last is in there.
    pub former: Vec<Rc<Scoreboard>>,
    /// One for each child of the generation, by [`ChildNo`]; made before the first fork and shared
    /// by all of them and by replacements. A child that has more connections than others asks one
    /// of those to accept. Without them (empty) connections are not balanced.
    pub nudges: Rc<[Nudge]>,
    /// The lock of which one child of the instance holds at a time; opened by this process alone.
    pub watchdog: FileLock,
    /// Opened logs.
    pub logs: Rc<Logs>,
    /// The reading end of a pipe that all children of a generation share, non-blocking. End of
    /// file: the supervisor is dead, drain and exit. A byte: a child has died, so some child should
    /// try the watchdog's lock and an accept unasked (each that is woken does both; read it empty).
    pub life: OwnedFd,
    /// Write one byte when serving.
    pub ready: OwnedFd,
    /// Read with readiness of its descriptor: USR1 drain, USR2 drain and close idle connections
    /// now, TERM stop at once, HUP from the supervisor: the whole instance is about to end. INT and
    /// WINCH are ignored already.
    pub signals: Signals,
    /// The supervisor's pid; `None` with `-X`, where this process is all there is.
    pub supervisor: Option<i32>,
    /// What remains to be done at its end; with `-X`, where there is no supervisor to do it.
    pub farewell: Option<Box<dyn FnOnce()>>,
}

/// Shared with all children; only the watchdog's holder reads them.
#[derive(Debug, Default)]
pub struct HeartDescriptors {
    /// Bound to HeartbeatListen; `None`: there is none, or it could not be bound.
    pub socket: Option<OwnedFd>,
    /// The reading and the writing end of the pipe by which children hand on what was posted to them;
    /// `None`: there is no file to keep it for.
    pub posts: Option<(OwnedFd, OwnedFd)>,
}
