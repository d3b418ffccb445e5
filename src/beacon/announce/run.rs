//! The life of `muster announce`: one thread checks and announces, this one follows signals and the
//! command.

use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::options::Options;
use super::say;
use super::wire::Wire;
use crate::beacon::sender::jittered;
use crate::sys::signal::{self, Received, Signal, Signals};

/// How often a backend that does not answer yet is looked at.
const IMPATIENT: Duration = Duration::from_millis(250);

/// Announces until it is stopped or its command ends; gives the exit status.
///
/// # Errors
/// When the command or a thread cannot be started.
pub fn run(options: Options) -> Result<i32, String> {
    // The command first: it inherits which signals are blocked.
    let mut command = match options.command.split_first() {
        None => None,
        Some((program, arguments)) => {
            let started = Command::new(program).args(arguments).spawn();
            let shown = program.to_string_lossy();
            Some(started.map_err(|e| format!("cannot start {shown}: {e}"))?)
        }
    };
    // Then this, since threads inherit it too, and are not to get any of them.
    let signals = Signals::take(&WANTED, &[]).map_err(|e| format!("cannot set up signals: {e}"))?;
    let wire = Arc::new(Wire::new(options));
    let announcer = Arc::clone(&wire);
    let thread = std::thread::Builder::new()
        .name("announcer".into())
        .spawn(move || announce(&announcer));
    if let Err(e) = thread {
        return Err(format!("cannot start a thread: {e}"));
    }
    let code = follow(&wire, &signals, command.as_mut());
    wire.withdraw(true);
    Ok(code)
}

/// Announces while the check passes.
fn announce(wire: &Wire) {
    let options = wire.options();
    let mut passed = true;
    loop {
        let verdict = options.check.look(&options.origin);
        let pause = match &verdict {
            Ok(()) => {
                wire.announce();
                jittered(options.interval)
            }
            Err(why) => {
                if passed {
                    say(&format!("not announcing {}: {why}", options.origin));
                }
                wire.withdraw(false);
                IMPATIENT.min(options.interval)
            }
        };
        passed = verdict.is_ok();
        if !wire.pause(pause) {
            return;
        }
    }
}

/// Until a signal ends it, or the command has ended.
fn follow(wire: &Wire, signals: &Signals, mut command: Option<&mut Child>) -> i32 {
    // The signal that the command gets once proxies had time to take the withdrawal in.
    let mut due: Option<(Instant, Signal)> = None;
    loop {
        if let Some(child) = &mut command {
            match child.try_wait() {
                Ok(Some(status)) => return exit_code(status),
                Ok(None) => {}
                Err(e) => {
                    say(&format!("cannot wait for the command: {e}"));
                    return 1;
                }
            }
        }
        wait(signals, due.map(|(at, _)| at));
        if let Some((at, signal)) = due
            && at <= Instant::now()
        {
            due = None;
            hand_on(command.as_deref(), signal);
        }
        while let Some(received) = signals.next() {
            match received.signal {
                Signal::SIGCHLD => {}
                Signal::SIGTERM | Signal::SIGINT | Signal::SIGQUIT => {
                    wire.withdraw(true);
                    if command.is_none() {
                        return 0;
                    }
                    if due.take().is_some() {
                        // Somebody is in a hurry.
                        hand_on(command.as_deref(), received.signal);
                    } else if !from_terminal(received) {
                        due = Some((Instant::now() + wire.options().drain, received.signal));
                    }
                }
                other => hand_on(command.as_deref(), other),
            }
        }
    }
}

/// A terminal sends to the whole group: the command has it already.
fn from_terminal(received: Received) -> bool {
    received.sender.is_none()
}

fn hand_on(command: Option<&Child>, what: Signal) {
    if let Some(child) = command {
        // It may have ended already.
        let _ = signal::send(child.id().cast_signed(), what);
    }
}

fn wait(signals: &Signals, until: Option<Instant>) {
    let timeout = match until {
        None => PollTimeout::NONE,
        Some(at) => {
            let left = at.saturating_duration_since(Instant::now());
            PollTimeout::try_from(left.as_millis().saturating_add(1)).unwrap_or(PollTimeout::MAX)
        }
    };
    let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    // An interruption is a look too many.
    let _ = poll(&mut fds, timeout);
}

/// As a shell has it.
fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

const WANTED: [Signal; 7] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCHLD,
];
