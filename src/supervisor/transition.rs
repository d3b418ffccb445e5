//! The supervisor's rules: what to do when something happens. Pure: a state, an event and the time
//! give a new state and a list of actions; `run` carries them out and brings the answers back.

use std::time::Duration;

use super::backoff::Backoff;
use super::state::{Ask, Child, CloseIdle, Family, Pending, Phase, Role, State};
use crate::clock::Mono;
use crate::ids::{ChildNo, Generation, SlotNo};
use crate::sys::signal::Signal;
use crate::sys::wait::ExitCause;

/// Something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A signal arrived.
    Asked(Ask),
    /// `Action::Load` worked; nothing was forked yet.
    Loaded {
        /// The new generation's number.
        generation: Generation,
        /// How many children it shall have, 1 or more.
        children: u16,
        /// `GracefulShutdownTimeout`; zero: no bound.
        grace: Duration,
    },
    /// `Action::Load` failed, and why has been logged.
    Refused,
    /// `Action::Fork` worked.
    Forked {
        /// Whose child.
        generation: Generation,
        /// Which.
        child: ChildNo,
        /// Its process.
        pid: i32,
        /// Its row.
        slot: SlotNo,
    },
    /// `Action::Fork` failed, and why has been logged.
    NotForked {
        /// Whose child.
        generation: Generation,
        /// Which.
        child: ChildNo,
    },
    /// A child reported that it serves.
    Ready(i32),
    /// A child is dead.
    Exited(i32, ExitCause),
    /// Time has passed.
    Tick,
}

/// Something to be done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the configuration and prepare a generation: answers with `Loaded` or `Refused`.
    Load(Ask),
    /// Fork a child: answers with `Forked` or `NotForked`.
    Fork(Generation, ChildNo),
    /// Send a signal to a child of ours.
    Signal(i32, Signal),
    /// Reset a dead child's row.
    Release(Generation, SlotNo),
    /// Have the other children look for a free watchdog lock and stranded connections.
    Nudge,
    /// A generation serves: tell those who wait for it.
    Serving(Generation),
    /// A reload that was asked for came to nothing: tell those who wait for it.
    NotReloaded,
    /// A generation is wholly gone: close what it had.
    Forget(Generation),
    /// Close the listeners and free pid file and table for another instance.
    LetGo,
    /// For the error log.
    Say(Weight, String),
    /// Leave with this status.
    Exit(i32),
}

/// How loud a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// `error`
    Error,
    /// `warn`
    Warning,
    /// `notice`
    Notice,
}

/// Children that are told to stop at once get KILL after this.
pub const KILL_AFTER: Duration = Duration::from_secs(3);
/// A generation of which some children have not reported by then is taken as it is, or given up
/// when none has.
pub const START_LIMIT: Duration = Duration::from_secs(30);
/// A new generation whose children die at their start this often is given up.
pub const START_TRIES: u32 = 3;
/// Signals that follow each other faster than this are a storm.
pub const STORM_GAP: Duration = Duration::from_millis(250);
/// A storm delays a reload no longer than this.
pub const STORM_LIMIT: Duration = Duration::from_secs(2);
/// How many generations may live at once.
pub const GENERATIONS: usize = 4;
/// How long after its birth a fourth generation makes the oldest close its idle connections.
pub const IDLE_AFTER: Duration = Duration::from_secs(1);
/// How long a reload waits for the oldest generation to end before it is refused.
pub const ROOM_LIMIT: Duration = Duration::from_secs(10);

/// One step.
pub fn transition(state: State, event: Event, now: Mono) -> (State, Vec<Action>) {
    let mut step = Step {
        state,
        now,
        actions: Vec::new(),
    };
    match event {
        Event::Asked(ask) => step.asked(ask),
        Event::Loaded {
            generation,
            children,
            grace,
        } => step.loaded(generation, children, grace),
        Event::Refused => step.refused(),
        Event::Forked {
            generation,
            child,
            pid,
            slot,
        } => step.forked(generation, child, pid, slot),
        Event::NotForked { generation, child } => step.not_forked(generation, child),
        Event::Ready(pid) => step.ready(pid),
        Event::Exited(pid, cause) => step.exited(pid, cause),
        Event::Tick => {}
    }
    step.advance();
    step.state.check_invariants();
    (step.state, step.actions)
}

/// When `Event::Tick` is due at the latest; `None`: only other events matter. What was due by `now`
/// has been seen to by the last step, or waits for something else.
pub fn deadline(state: &State, now: Mono) -> Option<Mono> {
    let mut times: Vec<Mono> = Vec::new();
    match state.phase {
        Phase::Stopping { since, .. } => times.push(since + KILL_AFTER),
        Phase::Running => {
            if let Some(p) = state.pending {
                let last = state.last_asked.unwrap_or(p.since);
                times.push((last + STORM_GAP).min(p.since + STORM_LIMIT));
                times.push(p.since + ROOM_LIMIT);
            }
            for f in state.families.iter().filter(|f| is_wanted(f)) {
                times.extend(f.missing().map(|n| f.backoff.due(n)));
            }
        }
        Phase::Loading(_) | Phase::Quitting { .. } | Phase::Ended => {}
    }
    for f in &state.families {
        match f.role {
            Role::Starting { since, .. } => times.push(since + START_LIMIT),
            Role::Serving => {}
            Role::Draining {
                since,
                close_idle,
                cut,
                killed,
            } => {
                if let CloseIdle::At(t) = close_idle {
                    times.push(t);
                }
                match cut {
                    Some(t) if !killed => times.push(t + KILL_AFTER),
                    None if !f.grace.is_zero() => times.push(since + f.grace),
                    Some(_) | None => {}
                }
            }
        }
    }
    times.into_iter().filter(|t| *t > now).min()
}

fn is_wanted(f: &Family) -> bool {
    match f.role {
        Role::Starting { .. } | Role::Serving => true,
        Role::Draining { .. } => false,
    }
}

struct Step {
    state: State,
    now: Mono,
    actions: Vec<Action>,
}

impl Step {
    fn asked(&mut self, ask: Ask) {
        match (self.state.phase, ask) {
            (Phase::Ended, _) | (Phase::Stopping { .. }, _) => {}
            (_, Ask::Stop) => {
                self.say(Weight::Notice, "AH00169: caught SIGTERM, shutting down");
                self.stop(0);
            }
            (Phase::Quitting { .. }, _) => {}
            (_, Ask::GracefulStop) => self.quit(),
            (Phase::Running | Phase::Loading(_), Ask::Graceful | Ask::Restart) => {
                self.ask_reload(ask);
            }
        }
    }

    /// The first request of a while is followed at once. More of them wait until it is quiet, and
    /// become one.
    fn ask_reload(&mut self, ask: Ask) {
        let quiet = self
            .state
            .last_asked
            .is_none_or(|t| self.now.since(t) >= STORM_GAP);
        self.state.last_asked = Some(self.now);
        match &mut self.state.pending {
            Some(p) => {
                p.ask = p.ask.max(ask);
                p.at_once = false;
            }
            None => {
                let text = match ask {
                    Ask::Restart => "AH00173: SIGHUP received.  Attempting to restart",
                    Ask::Graceful | Ask::GracefulStop | Ask::Stop => {
                        "AH00171: Graceful restart requested, doing restart"
                    }
                };
                self.say(Weight::Notice, text);
                self.state.pending = Some(Pending {
                    ask,
                    since: self.now,
                    at_once: quiet,
                });
            }
        }
    }

    fn stop(&mut self, code: i32) {
        self.state.pending = None;
        self.state.phase = Phase::Stopping {
            since: self.now,
            code,
        };
        self.depart();
        for pid in self.state.pids() {
            self.actions.push(Action::Signal(pid, Signal::SIGTERM));
        }
    }

    /// Tells all that nothing follows, unlike at a restart, before they are told to end.
    fn depart(&mut self) {
        for pid in self.state.pids() {
            self.actions.push(Action::Signal(pid, Signal::SIGHUP));
        }
    }

    fn quit(&mut self) {
        self.say(
            Weight::Notice,
            "AH00170: caught SIGWINCH, shutting down gracefully",
        );
        self.state.pending = None;
        self.state.phase = Phase::Quitting { since: self.now };
        self.actions.push(Action::LetGo);
        self.depart();
        for i in 0..self.state.families.len() {
            match self.state.families[i].role {
                Role::Starting { .. } => self.cut(i),
                Role::Serving => self.drain(i),
                Role::Draining { .. } => {}
            }
        }
    }

    fn loaded(&mut self, generation: Generation, children: u16, grace: Duration) {
        let Phase::Loading(ask) = self.state.phase else {
            // A stop came in between: there is nothing to start.
            self.actions.push(Action::Forget(generation));
            return;
        };
        self.state.phase = Phase::Running;
        self.state.families.push(Family {
            no: generation,
            wanted: children.max(1),
            grace,
            role: Role::Starting {
                since: self.now,
                ask,
            },
            children: Vec::new(),
            backoff: Backoff::default(),
        });
        self.crowd();
    }

    /// Too many generations: the oldest shall not stay for idle connections alone.
    fn crowd(&mut self) {
        if self.state.families.len() < GENERATIONS {
            return;
        }
        let at = self.now + IDLE_AFTER;
        if let Some(Role::Draining { close_idle, .. }) =
            self.state.families.first_mut().map(|f| &mut f.role)
            && *close_idle == CloseIdle::No
        {
            *close_idle = CloseIdle::At(at);
        }
    }

    fn refused(&mut self) {
        if let Phase::Loading(_) = self.state.phase {
            self.state.phase = Phase::Running;
            self.actions.push(Action::NotReloaded);
            if self.state.families.is_empty() {
                self.stop(1);
            }
        }
    }

    fn forked(&mut self, generation: Generation, no: ChildNo, pid: i32, slot: SlotNo) {
        let now = self.now;
        let Some(i) = self.family(generation) else {
            return;
        };
        let f = &mut self.state.families[i];
        if let Some(c) = f.children.iter_mut().find(|c| c.no == no) {
            c.pid = Some(pid);
            c.slot = slot;
            c.born = now;
        }
        // The family may have been told to end while the fork was on its way.
        let draining = !is_wanted(f);
        let stopping = matches!(self.state.phase, Phase::Stopping { .. });
        if draining || stopping {
            self.actions.push(Action::Signal(pid, Signal::SIGTERM));
        }
    }

    fn not_forked(&mut self, generation: Generation, no: ChildNo) {
        if let Some(i) = self.family(generation) {
            let f = &mut self.state.families[i];
            f.children.retain(|c| c.no != no || c.pid.is_some());
            f.backoff.failed(self.now);
        }
    }

    fn ready(&mut self, pid: i32) {
        for f in &mut self.state.families {
            if let Some(c) = f.children.iter_mut().find(|c| c.pid == Some(pid)) {
                c.ready = true;
                f.backoff.succeeded();
            }
        }
    }

    fn exited(&mut self, pid: i32, cause: ExitCause) {
        let now = self.now;
        let ending = matches!(self.state.phase, Phase::Stopping { .. });
        let Some(f) = self
            .state
            .families
            .iter_mut()
            .find(|f| f.children.iter().any(|c| c.pid == Some(pid)))
        else {
            return;
        };
        let Some(at) = f.children.iter().position(|c| c.pid == Some(pid)) else {
            return;
        };
        let dead = f.children.swap_remove(at);
        self.actions.push(Action::Release(f.no, dead.slot));
        let told = ending || matches!(f.role, Role::Draining { cut: Some(_), .. });
        let early = is_wanted(f) && !dead.ready;
        if is_wanted(f) {
            if dead.ready && !cause.is_clean() {
                f.backoff.died(dead.no, now.since(dead.born), now);
            } else if !dead.ready {
                f.backoff.failed(now);
            }
        }
        let text = match (cause, early) {
            (_, true) => Some(format!("child pid {pid} ended before it served: {cause}")),
            (ExitCause::Signal { .. }, _) => Some(format!("AH00052: child pid {pid} {cause}")),
            (ExitCause::Status(0), _) => None,
            (ExitCause::Status(_), _) => Some(format!("child pid {pid} ended: {cause}")),
        };
        if let Some(text) = text.filter(|_| !told) {
            self.say(Weight::Error, text);
        }
        if !ending {
            self.actions.push(Action::Nudge);
        }
    }

    /// Everything that follows from the state and the time alone.
    fn advance(&mut self) {
        self.follow_start();
        self.follow_drains();
        self.bury();
        self.begin_reload();
        self.fill();
        self.finish();
    }

    /// Has the newest generation come to serve, or is it to be given up?
    fn follow_start(&mut self) {
        if self.state.phase != Phase::Running {
            return;
        }
        let Some(i) = self
            .state
            .families
            .iter()
            .position(|f| matches!(f.role, Role::Starting { .. }))
        else {
            return;
        };
        let f = &self.state.families[i];
        let Role::Starting { since, ask } = f.role else {
            return;
        };
        let ready = f.ready();
        let late = self.now.since(since) >= START_LIMIT;
        let hopeless = ready == 0 && (late || f.backoff.failures() >= START_TRIES);
        if ready == f.wanted as usize || (ready > 0 && late) {
            self.serve(i, ask);
        } else if hopeless && self.state.serving().is_some() {
            self.give_up(i);
        } else if self.state.impatient
            && !self.state.served
            && ready == 0
            && (late || f.backoff.failures() > 0)
        {
            self.say(
                Weight::Error,
                "no child came to serve, giving up the start; the lines above tell why",
            );
            self.stop(1);
        }
    }

    fn serve(&mut self, i: usize, ask: Ask) {
        let (no, ready, wanted) = {
            let f = &mut self.state.families[i];
            f.role = Role::Serving;
            (f.no, f.ready(), f.wanted)
        };
        if ready < wanted as usize {
            self.say(
                Weight::Warning,
                format!("only {ready} of {wanted} children serve yet; going on with them"),
            );
        }
        self.state.served = true;
        self.actions.push(Action::Serving(no));
        for old in 0..i {
            match (self.state.families[old].role, ask) {
                (_, Ask::Restart) => self.cut(old),
                (Role::Serving | Role::Starting { .. }, _) => self.drain(old),
                (Role::Draining { .. }, _) => {}
            }
        }
    }

    fn give_up(&mut self, i: usize) {
        self.say(
            Weight::Error,
            "the children of the new configuration do not come to serve; it is given up, the running one goes on",
        );
        self.actions.push(Action::NotReloaded);
        self.cut(i);
    }

    fn drain(&mut self, i: usize) {
        let f = &mut self.state.families[i];
        f.role = Role::Draining {
            since: self.now,
            close_idle: CloseIdle::No,
            cut: None,
            killed: false,
        };
        for pid in f.pids() {
            self.actions.push(Action::Signal(pid, Signal::SIGUSR1));
        }
    }

    fn cut(&mut self, i: usize) {
        let now = self.now;
        let f = &mut self.state.families[i];
        let since = match f.role {
            Role::Draining { cut: Some(_), .. } => return,
            Role::Draining { since, .. } => since,
            Role::Starting { .. } | Role::Serving => now,
        };
        f.role = Role::Draining {
            since,
            close_idle: CloseIdle::Told,
            cut: Some(now),
            killed: false,
        };
        for pid in f.pids() {
            self.actions.push(Action::Signal(pid, Signal::SIGTERM));
        }
    }

    /// Deadlines of those that drain.
    fn follow_drains(&mut self) {
        for i in 0..self.state.families.len() {
            let f = &mut self.state.families[i];
            let grace = f.grace;
            let pids: Vec<i32> = f.pids().collect();
            let Role::Draining {
                since,
                close_idle,
                cut,
                killed,
            } = &mut f.role
            else {
                continue;
            };
            if matches!(*close_idle, CloseIdle::At(t) if self.now >= t) {
                *close_idle = CloseIdle::Told;
                let tell = |pid: &i32| Action::Signal(*pid, Signal::SIGUSR2);
                self.actions.extend(pids.iter().map(tell));
            }
            match *cut {
                Some(t) if !*killed && self.now.since(t) >= KILL_AFTER => {
                    *killed = true;
                    self.kill(&pids);
                }
                None if !grace.is_zero() && self.now.since(*since) >= grace => self.cut(i),
                Some(_) | None => {}
            }
        }
        if let Phase::Stopping { since, code } = self.state.phase
            && self.now.since(since) >= KILL_AFTER
        {
            let pids: Vec<i32> = self.state.pids().collect();
            self.kill(&pids);
            // Those that even KILL does not end at once are looked at again.
            self.state.phase = Phase::Stopping {
                since: self.now,
                code,
            };
        }
    }

    fn kill(&mut self, pids: &[i32]) {
        for pid in pids {
            self.say(
                Weight::Warning,
                format!("AH00046: child process {pid} still did not exit, sending a SIGKILL"),
            );
            self.actions.push(Action::Signal(*pid, Signal::SIGKILL));
        }
    }

    /// Generations without children that will get no more.
    fn bury(&mut self) {
        let actions = &mut self.actions;
        self.state.families.retain(|f| {
            let gone = f.children.is_empty() && !is_wanted(f);
            if gone {
                actions.push(Action::Forget(f.no));
            }
            !gone
        });
        // With one gone, the next oldest may be one too many now.
        self.crowd();
    }

    fn begin_reload(&mut self) {
        if self.state.phase != Phase::Running || self.state.is_starting() {
            return;
        }
        let Some(p) = self.state.pending else {
            return;
        };
        let last = self.state.last_asked.unwrap_or(p.since);
        let due = p.at_once
            || self.now.since(last) >= STORM_GAP
            || self.now.since(p.since) >= STORM_LIMIT;
        if !due {
            return;
        }
        if self.state.families.len() >= GENERATIONS {
            if self.now.since(p.since) >= ROOM_LIMIT {
                self.state.pending = None;
                self.say(
                    Weight::Error,
                    format!(
                        "reload refused: {GENERATIONS} generations are still live, the oldest has requests in flight; stop those or set GracefulShutdownTimeout"
                    ),
                );
                self.actions.push(Action::NotReloaded);
            }
            return;
        }
        self.state.pending = None;
        self.state.phase = Phase::Loading(p.ask);
        self.actions.push(Action::Load(p.ask));
    }

    /// Forks what is missing. While starts fail, one at a time: a probe.
    fn fill(&mut self) {
        if self.state.phase != Phase::Running {
            return;
        }
        let now = self.now;
        for f in self.state.families.iter_mut().filter(|f| is_wanted(f)) {
            let probing = f.backoff.failures() > 0;
            let due: Vec<ChildNo> = f.missing().filter(|n| f.backoff.due(*n) <= now).collect();
            for no in due {
                if probing && f.children.iter().any(|c| !c.ready) {
                    break;
                }
                f.children.push(Child {
                    no,
                    pid: None,
                    slot: SlotNo(0),
                    ready: false,
                    born: now,
                });
                self.actions.push(Action::Fork(f.no, no));
            }
        }
    }

    fn finish(&mut self) {
        let code = match self.state.phase {
            Phase::Quitting { .. } => 0,
            Phase::Stopping { code, .. } => code,
            Phase::Running | Phase::Loading(_) | Phase::Ended => return,
        };
        if self.state.families.iter().all(|f| f.children.is_empty()) {
            self.state.phase = Phase::Ended;
            self.actions.push(Action::Exit(code));
        }
    }

    fn family(&self, no: Generation) -> Option<usize> {
        self.state.families.iter().position(|f| f.no == no)
    }

    fn say(&mut self, weight: Weight, text: impl Into<String>) {
        self.actions.push(Action::Say(weight, text.into()));
    }
}

#[cfg(test)]
mod tests;
