//! The supervisor's loop: wait, step, act.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::daemon::{self, Waiting};
use super::error::StartError;
use super::estate::{Before, Estate};
use super::keeping::{self, Keeper, Stamp};
use super::programs::Programs;
use super::state::{Ask, State};
use super::transition::{Action, Event, Weight, deadline, transition};
use super::{Entry, Options, beacons, child, notes};
use crate::clock;
use crate::config::build::{self, Invocation};
use crate::config::settings::Settings;
use crate::ids::{ChildNo, Generation, SlotNo};
use crate::log;
use crate::shm::TableLock;
use crate::shm::marks::Marks;
use crate::sys::fork::{self, Forked};
use crate::sys::pidfile::PidFile;
use crate::sys::signal::{self, Received, Signal, Signals};
use crate::sys::wait;

/// The parent process.
pub struct Supervisor {
    pub(super) invocation: Invocation,
    pub(super) options: Options,
    pub(super) entry: Entry,
    pub(super) state: State,
    pub(super) signals: Signals,
    /// One for each family of `state`.
    pub(super) estates: Vec<Estate>,
    pub(super) next_generation: u32,
    /// Reloads that were tried, for `-k` to see that one came to nothing.
    pub(super) readings: u32,
    /// The newest generation whose table was found cut, so that this is told and acted on once.
    mended: Option<Generation>,
    /// Children that have not reported, with our end of their pipe.
    pub(super) unready: HashMap<i32, OwnedFd>,
    pub(super) programs: Programs,
    pub(super) pid_file: Option<PidFile>,
    /// Where the table is, whatever a later configuration says.
    pub(super) table_path: PathBuf,
    pub(super) table_lock: Option<TableLock>,
    pub(super) waiting: Option<Waiting>,
    /// The state that was written when the names were let go, and whose it was.
    pub(super) saved: Option<(Generation, Stamp)>,
    keeper: Keeper,
    /// Replay marks that stand in no table any more.
    marks: Marks,
}

/// How the loop ends.
enum Ending {
    /// With an exit status.
    Exit(i32),
    /// In a new process: this is a child now.
    Child(child::Birth),
}

impl Supervisor {
    /// Prepares the first generation: pid file, sockets, logs, table.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left behind.
    pub fn start(
        invocation: Invocation,
        options: Options,
        entry: Entry,
        settings: Settings,
        waiting: Option<Waiting>,
    ) -> Result<Supervisor, StartError> {
        super::estate::make_directories(&settings)?;
        let pid_file = PidFile::take(&settings.process.pid_file)?;
        let result =
            Supervisor::start_locked(invocation, options, entry, settings, waiting, pid_file);
        result.map_err(|(e, pid_file)| {
            pid_file.remove();
            e
        })
    }

    fn start_locked(
        invocation: Invocation,
        options: Options,
        entry: Entry,
        settings: Settings,
        waiting: Option<Waiting>,
        pid_file: PidFile,
    ) -> Result<Supervisor, (StartError, PidFile)> {
        // After a crash the children of the dead supervisor need a moment to let go of the ports.
        let patience = match pid_file.stale() {
            Some(_) => Duration::from_secs(3),
            None => Duration::ZERO,
        };
        let table_path = settings.process.scoreboard_file.clone();
        let before = Before {
            serving: None,
            places: Vec::new(),
            patience,
            marks: Marks::default(),
            table: &table_path,
            drop_state: false,
        };
        let prepare = || {
            let lock = TableLock::take(&table_path)?;
            // Before the first log program is started, whose end is a signal too.
            let signals = Signals::take(&WANTED, &[Signal::SIGUSR2]);
            let signals = signals.map_err(|error| StartError::System {
                what: "set up signals",
                error,
            })?;
            let estate = Estate::prepare(Rc::new(settings), Generation(0), &before)?;
            Ok((lock, estate, signals))
        };
        let prepared: Result<_, StartError> = prepare();
        let (table_lock, estate, signals) = match prepared {
            Ok(all) => all,
            Err(e) => return Err((e, pid_file)),
        };
        log::install(&estate.logs, &estate.settings, log::Role::Supervisor);
        if let Some(pid) = pid_file.stale() {
            ::log::warn!(
                target: "core",
                "AH00098: pid file {} overwritten -- Unclean shutdown of previous muster run (pid {pid})?",
                pid_file.path().display()
            );
        }
        let mut programs = Programs::default();
        programs.watch(&estate);
        Ok(Supervisor {
            keeper: Keeper::new(&estate),
            marks: estate.left.clone(),
            state: State::new(waiting.is_some()),
            invocation,
            options,
            entry,
            signals,
            estates: vec![estate],
            next_generation: 1,
            readings: 0,
            mended: None,
            unready: HashMap::new(),
            programs,
            pid_file: Some(pid_file),
            table_path,
            table_lock: Some(table_lock),
            waiting,
            saved: None,
        })
    }

    /// Runs until everything has ended; gives the exit status. In each child that it forks the
    /// entry function is called instead, and nothing returns.
    pub fn run(mut self) -> i32 {
        notes::say_all(&self.estates[0], None);
        let first = self.announce(0);
        match self.turn(first) {
            Ending::Exit(code) => code,
            Ending::Child(birth) => child::live(self, birth),
        }
    }

    fn turn(&mut self, first: Event) -> Ending {
        let mut queue = VecDeque::from([first]);
        loop {
            clock::tick();
            while let Some(event) = queue.pop_front() {
                let state = std::mem::replace(&mut self.state, State::new(false));
                let (state, actions) = transition(state, event, clock::now());
                self.state = state;
                for action in actions {
                    match self.act(action) {
                        Ok(Some(answer)) => queue.push_back(answer),
                        Ok(None) => {}
                        Err(ending) => return ending,
                    }
                }
            }
            if self.is_cut() {
                queue.push_back(Event::Asked(Ask::Graceful));
                continue;
            }
            for e in &self.estates {
                e.logs.flush();
            }
            self.programs.tend(&self.estates);
            self.keep();
            self.wait(&mut queue);
        }
    }

    /// True once for each table that was found cut: a new generation with a new one must follow.
    fn is_cut(&mut self) -> bool {
        let cut = self.estates.last().filter(|e| e.board.damaged());
        let Some(generation) = cut.map(|e| e.generation) else {
            return false;
        };
        if self.mended == Some(generation) {
            return false;
        }
        self.mended = Some(generation);
        ::log::error!(
            target: "core",
            "ScoreBoardFile {} was cut while it was in use; a new generation with a new table follows",
            self.table_path.display()
        );
        true
    }

    /// Blocks until a signal, a child's report or the next deadline.
    fn wait(&mut self, queue: &mut VecDeque<Event>) {
        let now = clock::now();
        let due = [
            deadline(&self.state, now),
            self.programs.deadline(now),
            self.keeper.deadline(),
        ];
        let timeout = match due.into_iter().flatten().min() {
            None => PollTimeout::NONE,
            Some(t) => {
                // Rounded up: a millisecond early would mean a turn for nothing.
                let ms = t.since(clock::read_mono()).as_millis().saturating_add(1);
                PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)
            }
        };
        let pids: Vec<i32> = self.unready.keys().copied().collect();
        let ready: Vec<bool> = {
            // The signalfd is polled through a borrow, as the pipes are.
            let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            let pipes = pids.iter().map(|p| self.unready[p].as_fd());
            fds.extend(pipes.map(|fd: BorrowedFd<'_>| PollFd::new(fd, PollFlags::POLLIN)));
            if poll(&mut fds, timeout).is_err() {
                return;
            }
            fds.iter()
                .skip(1)
                .map(|f| f.any().unwrap_or(false))
                .collect()
        };
        clock::tick();
        for (pid, _) in pids.iter().zip(ready).filter(|(_, r)| *r) {
            if let Some(fd) = self.unready.remove(pid)
                && reported(fd)
            {
                queue.push_back(Event::Ready(*pid));
            }
        }
        while let Some(received) = self.signals.next() {
            queue.extend(ask(received).map(Event::Asked));
        }
        while let Some((pid, cause)) = wait::reap() {
            self.unready.remove(&pid);
            if self.state.knows(pid) {
                queue.push_back(Event::Exited(pid, cause));
            } else {
                self.programs.ended(pid, cause, clock::now());
            }
        }
        queue.push_back(Event::Tick);
    }

    /// Does one thing; `Err` ends the loop.
    fn act(&mut self, action: Action) -> Result<Option<Event>, Ending> {
        match action {
            Action::Load(ask) => return Ok(Some(self.reload(ask))),
            Action::Fork(generation, no) => return self.fork(generation, no).map(Some),
            Action::Signal(pid, what) => {
                // It may be dead already and not reaped.
                let _ = signal::send(pid, what);
            }
            Action::Release(generation, slot) => {
                if let Some(e) = self.estate(generation) {
                    e.board.release_slot(slot);
                }
            }
            Action::Nudge => self.nudge(),
            Action::Serving(generation) => self.serving(generation),
            Action::NotReloaded => {
                self.readings += 1;
                self.publish();
                let serving = self.state.serving().map(|f| f.no);
                if let Some(e) = serving.and_then(|no| self.estate(no)) {
                    e.board.refuse_edits_before(e.generation);
                }
            }
            Action::Forget(generation) => self.forget(generation),
            Action::LetGo => {
                for e in &mut self.estates {
                    e.sockets.clear();
                }
                self.let_go();
            }
            Action::Say(weight, text) => say(weight, &text),
            Action::Exit(code) => {
                if let Some(waiting) = self.waiting.take() {
                    waiting.complain("no child came to serve; the error log tells why");
                }
                self.save_late(None);
                self.let_go();
                for e in &self.estates {
                    e.logs.flush();
                    e.logs.stop_programs();
                }
                return Err(Ending::Exit(code));
            }
        }
        Ok(None)
    }

    /// Reads the configuration and prepares the next generation.
    fn reload(&mut self, ask: Ask) -> Event {
        let mut loaded = build::load(&self.invocation);
        let settings = match loaded.settings.take() {
            Some(settings) => Rc::new(settings),
            None => {
                for line in loaded.complaint_lines(&self.invocation.program) {
                    ::log::error!(target: "core", "{line}");
                }
                ::log::error!(
                    target: "core",
                    "the configuration has faults; the running one goes on unchanged"
                );
                match self.estates.last().filter(|e| e.board.damaged()) {
                    // A new table is needed all the same.
                    Some(e) => e.settings.clone(),
                    None => return Event::Refused,
                }
            }
        };
        let generation = Generation(self.next_generation);
        let serving = self.state.serving().map(|f| f.no);
        if let Some(e) = serving.and_then(|no| self.estate(no)) {
            e.board.refuse_edits_before(generation);
        }
        if ask == Ask::Restart {
            self.save();
        }
        let process = &settings.process;
        let pid_file = self.pid_file.as_ref().map(|f| f.path());
        let used = [pid_file.unwrap_or(&process.pid_file), &self.table_path];
        let wanted = [&*process.pid_file, &process.scoreboard_file];
        let stay = notes::unchanged_names(used, wanted);
        let before = Before {
            serving: serving.and_then(|no| self.estate(no)),
            places: self.estates.iter().flat_map(|e| e.places.clone()).collect(),
            patience: Duration::ZERO,
            marks: self.all_marks(),
            table: &self.table_path,
            drop_state: ask == Ask::Restart,
        };
        match Estate::prepare(settings, generation, &before) {
            Ok(estate) => {
                for text in stay {
                    ::log::warn!(target: "core", "{text}");
                }
                notes::say_all(&estate, self.estates.last());
                self.next_generation += 1;
                self.programs.watch(&estate);
                self.estates.push(estate);
                self.announce(self.estates.len() - 1)
            }
            Err(e) => {
                for line in e.lines() {
                    ::log::error!(target: "core", "{line}");
                }
                ::log::error!(target: "core", "reload refused; the running configuration goes on unchanged");
                Event::Refused
            }
        }
    }

    fn announce(&self, estate: usize) -> Event {
        let e = &self.estates[estate];
        Event::Loaded {
            generation: e.generation,
            children: e.children,
            grace: e.settings.process.graceful_shutdown_timeout,
        }
    }

    fn fork(&mut self, generation: Generation, no: ChildNo) -> Result<Event, Ending> {
        let failed = Event::NotForked {
            generation,
            child: no,
        };
        let Some(estate) = self.estate(generation) else {
            return Ok(failed);
        };
        if estate.board.damaged() {
            // Its child could not serve; `is_cut` brings a generation that can.
            return Ok(failed);
        }
        let Some(slot) = estate.board.claim_slot(no, generation) else {
            ::log::error!(target: "core", "no free row in the slot table for child {no} of generation {generation}");
            return Ok(failed);
        };
        let supervisor = fork::pid();
        let made = fork::pipe(false).and_then(|(reader, writer)| {
            estate.logs.flush();
            Ok((reader, writer, fork::fork()?))
        });
        match made {
            Ok((reader, _, Forked::Parent(pid))) => {
                estate.board.set_pid(slot, pid);
                self.unready.insert(pid, reader);
                Ok(Event::Forked {
                    generation,
                    child: no,
                    pid,
                    slot,
                })
            }
            Ok((_, ready, Forked::Child)) => Err(Ending::Child(child::Birth {
                generation,
                no,
                slot,
                ready,
                supervisor: Some(supervisor),
            })),
            Err(e) => {
                estate.board.release_slot(slot);
                ::log::error!(
                    target: "core",
                    "{}: AH00159: fork: Unable to fork new process", super::error::numbered(&e)
                );
                Ok(failed)
            }
        }
    }

    /// A generation serves: older ones' sockets are closed here, so that their children are the
    /// last to hold those that go, and answer what waits in them.
    fn serving(&mut self, generation: Generation) {
        self.readings += 1;
        let Some(at) = self.estates.iter().position(|e| e.generation == generation) else {
            return;
        };
        for e in &mut self.estates[..at] {
            e.sockets.clear();
            e.beacons.clear();
        }
        let estate = &self.estates[at];
        log::install(&estate.logs, &estate.settings, log::Role::Supervisor);
        self.say_configured();
        self.publish();
        if self.options.detached {
            // The log may have another name now, or the same one after a rotation.
            daemon::keep_errors(&self.estates[at].settings);
        }
        if let Some(waiting) = self.waiting.take() {
            waiting.done();
        }
        self.state.impatient = false;
    }

    /// A daemon: cuts its ties to the terminal.
    pub(super) fn leave_terminal(&self) {
        if let Err(e) = daemon::leave_terminal(&self.estates[0].settings) {
            ::log::warn!(target: "core", "could not leave the terminal: {e}");
        }
    }

    /// Tells readers of the table what holds.
    fn publish(&self) {
        let serving = self.state.serving().map(|f| f.no);
        if let Some(e) = serving.and_then(|no| self.estate(no)) {
            e.board.set_generation(e.generation, self.readings);
        }
    }

    /// A generation is gone with all that was its own.
    fn forget(&mut self, generation: Generation) {
        self.save_late(Some(generation));
        if let Some(at) = self.estates.iter().position(|e| e.generation == generation) {
            self.marks = self.all_marks();
            let estate = self.estates.remove(at);
            if self.marks.any_off() && self.pid_file.is_some() {
                // A receiver is gone: after a crash it may be back.
                let _ = beacons::save_marks(&self.marks, &self.table_path);
            }
            estate.logs.flush();
            estate.logs.stop_programs();
            self.programs.forget(generation);
        }
    }

    fn all_marks(&self) -> Marks {
        let serving = self.state.serving().map(|f| f.no);
        beacons::marks(&self.marks, &self.estates, serving)
    }

    /// Wakes the children of the serving generations: somebody died.
    fn nudge(&self) {
        for e in &self.estates {
            // A full pipe has bytes enough to wake them.
            let _ = nix::unistd::write(&e.lifeline, &[0]);
        }
    }

    /// BalancerPersist: writes what was changed at run time soon after it was. Not any more when the
    /// file may be another instance's.
    fn keep(&mut self) {
        let serving = self.state.serving().map(|f| f.no);
        let serving = serving.filter(|_| self.pid_file.is_some());
        let e = self.estates.iter().find(|e| Some(e.generation) == serving);
        if self.keeper.is_due(e, clock::now()) {
            self.save();
            self.keeper.was_saved(self.saved.is_some(), clock::now());
        }
    }

    /// BalancerPersist: writes what was changed at run time.
    fn save(&mut self) {
        let serving = self.state.serving().and_then(|f| self.estate(f.no));
        let saved = serving.or(self.estates.last()).and_then(|e| {
            let stamp = keeping::save(&e.settings, &e.board, &e.assignment, &self.table_path)?;
            Some((e.generation, stamp))
        });
        self.saved = saved;
    }

    /// The same again at the end of what has let its names go: of `generation`, or of all.
    fn save_late(&mut self, generation: Option<Generation>) {
        if self.pid_file.is_none()
            && let Some((saved, stamp)) = self.saved
            && generation.is_none_or(|no| no == saved)
            && let Some(e) = self.estate(saved)
        {
            keeping::save_again(e, &self.table_path, stamp);
            self.saved = None;
        }
    }

    /// Frees pid file and table for another instance.
    pub(super) fn let_go(&mut self) {
        let Some(pid_file) = self.pid_file.take() else {
            return;
        };
        self.save();
        if let Some(e) = self.estates.last() {
            e.board.close_receivers();
            if beacons::save_marks(&self.all_marks(), &self.table_path) {
                e.board.remove();
            }
            let lock = super::child::watchdog_path(&e.settings.process.scoreboard_file);
            let _ = std::fs::remove_file(lock);
        }
        if let Some(lock) = self.table_lock.take() {
            lock.remove();
        }
        log::notice(
            "core",
            &format!(
                "removed PID file {} (pid={})",
                pid_file.path().display(),
                fork::pid()
            ),
        );
        pid_file.remove();
    }

    /// `-X`: says and publishes what `serving` would.
    pub(super) fn announce_single(&self) {
        let e = &self.estates[0];
        notes::say_all(e, None);
        self.say_configured();
        e.board.set_generation(e.generation, self.readings.max(1));
        e.logs.flush();
    }

    /// `-X`: what is to be removed at the exit.
    pub(super) fn take_names(&mut self) -> (Option<PidFile>, Option<TableLock>, PathBuf) {
        let table = self.table_path.clone();
        (self.pid_file.take(), self.table_lock.take(), table)
    }

    fn say_configured(&self) {
        let text = format!(
            "AH00163: {} configured -- resuming normal operations",
            super::PRODUCT
        );
        log::notice("mpm_prefork", &text);
        let line = format!("AH00094: Command line: '{}'", self.options.command_line);
        log::notice("core", &line);
    }

    pub(super) fn estate(&self, generation: Generation) -> Option<&Estate> {
        self.estates.iter().find(|e| e.generation == generation)
    }
}

/// What the supervisor reads; CHLD is one of them.
const WANTED: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGWINCH,
    Signal::SIGCHLD,
];

fn ask(received: Received) -> Option<Ask> {
    match received.signal {
        Signal::SIGTERM | Signal::SIGINT => Some(Ask::Stop),
        Signal::SIGHUP => Some(Ask::Restart),
        Signal::SIGUSR1 => Some(Ask::Graceful),
        // The kernel sends one when a terminal's window changes its size: that must not stop us.
        Signal::SIGWINCH => received.sender.map(|_| Ask::GracefulStop),
        _ => None,
    }
}

/// Whether a child wrote its byte (and did not just die).
fn reported(fd: OwnedFd) -> bool {
    let mut byte = [0];
    nix::unistd::read(&fd, &mut byte) == Ok(1)
}

fn say(weight: Weight, text: &str) {
    match weight {
        Weight::Error => ::log::error!(target: "core", "{text}"),
        Weight::Warning => ::log::warn!(target: "core", "{text}"),
        Weight::Notice => log::notice("mpm_prefork", text),
    }
}

/// The row of a process without a fork (`-X`).
pub(super) fn single_slot(supervisor: &Supervisor) -> io::Result<SlotNo> {
    let estate = &supervisor.estates[0];
    let slot = estate
        .board
        .claim_slot(ChildNo(0), estate.generation)
        .ok_or_else(|| io::Error::other("no free row in the slot table"))?;
    estate.board.set_pid(slot, fork::pid());
    Ok(slot)
}
