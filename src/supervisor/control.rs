//! `-k`: talking to a running instance. Only the process that holds the pid file is ever signalled.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::clock;
use crate::config::settings::Settings;
use crate::shm::inspect;
use crate::sys::pidfile::{self, Owner};
use crate::sys::signal::{self, Signal};

/// What to ask of the running instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `-k start`
    Start,
    /// `-k restart`
    Restart,
    /// `-k graceful`
    Graceful,
    /// `-k graceful-stop`
    GracefulStop,
    /// `-k stop`
    Stop,
}

impl Verb {
    /// By its word on the command line.
    pub fn parse(word: &str) -> Option<Verb> {
        Some(match word {
            "start" => Verb::Start,
            "restart" => Verb::Restart,
            "graceful" => Verb::Graceful,
            "graceful-stop" => Verb::GracefulStop,
            "stop" => Verb::Stop,
            _ => return None,
        })
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Start an instance, after saying this on standard output.
    StartOne(Option<String>),
    /// Done; say this on standard output.
    Done(Option<String>),
    /// It failed; say this on standard error and exit with 1.
    Failed(String),
}

/// How long a stop is waited for: children get 3 s, and KILL needs a moment.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// How long a reload is waited for before the answer is that it still runs.
const RELOAD_LIMIT: Duration = Duration::from_secs(35);

/// How long the kernel may need to end a process that was killed.
const DYING: Duration = Duration::from_millis(200);

/// Does what `verb` says to the instance that `settings` describe, and waits until it is done.
pub fn control(verb: Verb, settings: &Settings) -> Outcome {
    let path = &settings.process.pid_file;
    let mut owner = Ok(Owner::Missing);
    // One that was killed a moment ago may still be on its way out: a start waits for that.
    wait(DYING, || {
        owner = pidfile::owner(path);
        verb != Verb::Start || !matches!(owner, Ok(Owner::Running(_)))
    });
    let owner = match owner {
        Ok(owner) => owner,
        Err(e) => return Outcome::Failed(format!("pid file {}: {e}", path.display())),
    };
    match (owner, verb) {
        (Owner::Running(pid), Verb::Start) => {
            Outcome::Done(Some(format!("muster (pid {pid}) already running")))
        }
        (Owner::Missing | Owner::Stale(_), Verb::Start) => Outcome::StartOne(None),
        (Owner::Missing | Owner::Stale(_), Verb::Restart | Verb::Graceful) => {
            Outcome::StartOne(Some("muster not running, trying to start".into()))
        }
        (Owner::Missing | Owner::Stale(None), Verb::Stop | Verb::GracefulStop) => {
            Outcome::Done(Some("muster (no pid file) not running".into()))
        }
        (Owner::Stale(Some(pid)), Verb::Stop | Verb::GracefulStop) => {
            Outcome::Done(Some(format!("muster (pid {pid}?) not running")))
        }
        (Owner::Running(pid), Verb::Stop) => stop(pid, path, Signal::SIGTERM),
        (Owner::Running(pid), Verb::GracefulStop) => stop(pid, path, Signal::SIGWINCH),
        (Owner::Running(pid), Verb::Restart) => reload(pid, settings, Signal::SIGHUP),
        (Owner::Running(pid), Verb::Graceful) => reload(pid, settings, Signal::SIGUSR1),
    }
}

/// Waits until the pid file is free: after TERM that is the end, after WINCH the moment from which
/// no new connection is taken and another instance may start.
fn stop(pid: i32, path: &Path, what: Signal) -> Outcome {
    if let Err(e) = signal::send(pid, what) {
        return unsent(pid, &e);
    }
    let free = || !matches!(pidfile::owner(path), Ok(Owner::Running(p)) if p == pid);
    if wait(STOP_LIMIT, free) {
        Outcome::Done(None)
    } else {
        Outcome::Failed(format!(
            "muster (pid {pid}) was told to stop and has not within {} s",
            STOP_LIMIT.as_secs()
        ))
    }
}

/// Waits until a newer generation serves or the reload came to nothing, as the slot table tells.
fn reload(pid: i32, settings: &Settings, what: Signal) -> Outcome {
    let table = &settings.process.scoreboard_file;
    let look = || {
        let s = inspect::read(table).ok()?;
        (s.supervisor == pid).then_some((s.generation, s.config_generation))
    };
    let before = look();
    if let Err(e) = signal::send(pid, what) {
        return unsent(pid, &e);
    }
    let Some(before) = before else {
        // Without a readable table there is nothing to wait for.
        return Outcome::Done(None);
    };
    let path = &settings.process.pid_file;
    let mut answer = None;
    let finished = wait(RELOAD_LIMIT, || {
        let alive = matches!(pidfile::owner(path), Ok(Owner::Running(p)) if p == pid);
        answer = if alive {
            look().filter(|now| *now != before)
        } else {
            None
        };
        answer.is_some() || !alive
    });
    match (finished, answer) {
        (true, Some((generation, _))) if generation != before.0 => Outcome::Done(None),
        (true, Some(_)) => Outcome::Failed(
            "the reload was refused and the running configuration goes on; the error log says why"
                .into(),
        ),
        (true, None) => Outcome::Failed(format!("muster (pid {pid}) ended meanwhile")),
        (false, _) => Outcome::Failed(format!(
            "muster (pid {pid}) has not finished the reload within {} s",
            RELOAD_LIMIT.as_secs()
        )),
    }
}

fn unsent(pid: i32, e: &io::Error) -> Outcome {
    Outcome::Failed(format!("sending signal to server (pid {pid}) failed: {e}"))
}

fn wait(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = clock::read_mono() + limit;
    loop {
        if done() {
            return true;
        }
        if clock::read_mono() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
