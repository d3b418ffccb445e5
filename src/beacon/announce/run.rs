//! The life of `muster announce`: one thread checks and announces, this one follows signals and the
//! command.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::options::Options;
use super::say;
use super::wire::Wire;
use crate::beacon::sender::jittered;
use crate::codec::beacon::Reach;
use crate::sys::signal::{self, Received, Signal, Signals};
use crate::sys::wait::{ExitCause, reap};

/// How often a backend that does not answer is looked at.
const IMPATIENT: Duration = Duration::from_millis(250);

/// Different reasons told of in one outage.
const MOST_REASONS: usize = 8;

/// Announces until it is stopped or its command ends; gives the exit status.
///
/// # Errors
/// When the command or a thread cannot be started.
pub fn run(mut options: Options) -> Result<i32, String> {
    warn_of_loopback(&options);
    let words = std::mem::take(&mut options.command);
    // Before anything is started: no signal is lost, and threads inherit that they get none.
    let ignored = signal::ignored(&WANTED);
    let signals = Signals::take(&WANTED, &[]).map_err(|e| format!("cannot set up signals: {e}"))?;
    let command = start(&words, &ignored)?;
    let wire = Arc::new(Wire::new(options));
    let announcer = Arc::clone(&wire);
    let thread = std::thread::Builder::new()
        .name("announcer".into())
        .spawn(move || announce(&announcer));
    if let Err(e) = thread.and_then(|_| wire.follow_names()) {
        // The command goes with this process: see `start`.
        return Err(format!("cannot start a thread: {e}"));
    }
    let life = Life {
        wire: &wire,
        signals: &signals,
        command,
        hangup_is_ignored: ignored.contains(&Signal::SIGHUP),
    };
    let code = life.follow();
    wire.withdraw(true);
    Ok(code)
}

/// The command's pid, if there is one. It starts as if it had been started without this program
/// (what `nohup` has it ignore stays ignored), and gets TERM when this process is killed: nobody
/// would announce it any more, and its port must be free when both are started again.
fn start(words: &[OsString], ignored: &[Signal]) -> Result<Option<i32>, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(None);
    };
    let mut command = Command::new(program);
    command.args(arguments);
    signal::start_with(&mut command, ignored, Some(Signal::SIGTERM));
    let started = command.spawn();
    let shown = program.to_string_lossy();
    let child = started.map_err(|e| format!("cannot start {shown}: {e}"))?;
    Ok(Some(child.id().cast_signed()))
}

/// Proxies take such a URL from their own machine only.
fn warn_of_loopback(options: &Options) {
    let here = |host: &str| {
        host == "localhost"
            || host
                .parse()
                .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    };
    if options.origin.reach() == Reach::ThisMachine && options.to.iter().any(|t| !here(&t.host)) {
        say(&format!(
            "{} means each proxy's own machine: proxies elsewhere drop it as \"unacceptable url\"; --url needs an address at which they reach the backend",
            options.origin
        ));
    }
}

/// Announces while the check passes.
fn announce(wire: &Wire) {
    let options = wire.options();
    let mut failed: u32 = 0;
    // Of this outage, each told once.
    let mut reasons: Vec<String> = Vec::new();
    loop {
        let pause = match options.check.look(&options.origin) {
            Ok(()) => {
                failed = 0;
                reasons.clear();
                wire.announce();
                jittered(options.interval)
            }
            Err(why) => {
                failed = failed.saturating_add(1);
                if failed >= options.fails {
                    wire.withdraw(false);
                    if reasons.len() < MOST_REASONS && !reasons.contains(&why) {
                        say(&format!("not announcing {}: {why}", options.origin));
                        reasons.push(why);
                    }
                }
                IMPATIENT.min(options.interval)
            }
        };
        if !wire.pause(pause) {
            return;
        }
    }
}

/// What the main thread follows.
struct Life<'a> {
    wire: &'a Wire,
    signals: &'a Signals,
    command: Option<i32>,
    hangup_is_ignored: bool,
}

impl Life<'_> {
    /// Until a signal ends it, or the command has ended.
    fn follow(&self) -> i32 {
        // The signal that the command gets once proxies had time to take the withdrawal in; without
        // one, the end.
        let mut due: Option<(Instant, Signal)> = None;
        loop {
            if let Some(code) = self.reap() {
                return code;
            }
            wait(self.signals, due.map(|(at, _)| at));
            if let Some((_, signal)) = due.take_if(|(at, _)| *at <= Instant::now()) {
                if self.command.is_none() {
                    return 0;
                }
                self.hand_on(signal);
            }
            while let Some(received) = self.signals.next() {
                if !self.ends(received) {
                    match received.signal {
                        Signal::SIGCHLD => {}
                        Signal::SIGHUP if from_terminal(received) => {}
                        Signal::SIGHUP => {
                            self.wire.reload();
                            self.hand_on(Signal::SIGHUP);
                        }
                        other => self.hand_on(other),
                    }
                    continue;
                }
                let told = self.wire.withdraw(true);
                if self.command.is_none() {
                    // What manages both stops the backend once this process has ended.
                    let drain = self.wire.options().drain;
                    if !told || drain.is_zero() {
                        return 0;
                    }
                    due = Some((Instant::now() + drain, received.signal));
                    continue;
                }
                if matches!(received.signal, Signal::SIGINT | Signal::SIGQUIT)
                    && from_terminal(received)
                {
                    // Keys send to the whole group: the command has it already. A terminal that is
                    // closed tells its first process only, which may be this one.
                    continue;
                }
                if told {
                    due = Some((Instant::now() + self.wire.options().drain, received.signal));
                } else {
                    // No proxy sends to it, or somebody is in a hurry and says it again.
                    due = None;
                    self.hand_on(received.signal);
                }
            }
        }
    }

    /// Whether it is the end: also a terminal that is closed, unless `nohup` said otherwise.
    fn ends(&self, received: Received) -> bool {
        match received.signal {
            Signal::SIGTERM | Signal::SIGINT | Signal::SIGQUIT => true,
            Signal::SIGHUP => from_terminal(received) && !self.hangup_is_ignored,
            _ => false,
        }
    }

    /// The command's exit status as a shell has it, once it has ended. As the first process of a
    /// container this one has children that it never started: what the command left behind.
    fn reap(&self) -> Option<i32> {
        while let Some((pid, cause)) = reap() {
            if Some(pid) == self.command {
                return Some(match cause {
                    ExitCause::Status(code) => code,
                    ExitCause::Signal { signal, .. } => 128 + signal as i32,
                });
            }
        }
        None
    }

    fn hand_on(&self, what: Signal) {
        if let Some(pid) = self.command {
            // It may have ended already.
            let _ = signal::send(pid, what);
        }
    }
}

/// The kernel sent it for a terminal: a key, or that it is closed.
fn from_terminal(received: Received) -> bool {
    received.sender.is_none()
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

const WANTED: [Signal; 7] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCHLD,
];
