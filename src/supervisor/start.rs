//! The first start: in the foreground, in the background, or as one process.

use std::io::Write;

use super::child::{self, Birth};
use super::context::ChildContext;
use super::daemon::{self, Side, Waiting};
use super::error::StartError;
use super::notes;
use super::run::{Supervisor, single_slot};
use crate::config::build::Invocation;
use crate::config::settings::Settings;
use crate::ids::{ChildNo, Generation};
use crate::sys::fork;

/// What a child does once it is set up.
pub type Entry = fn(ChildContext) -> !;

/// How to start.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Stay attached to the terminal (`-DFOREGROUND`, `-DNO_DETACH`).
    pub foreground: bool,
    /// `-X`: one process that does it all, in the foreground.
    pub single: bool,
    /// For the log.
    pub command_line: String,
    /// Whether this process has left the terminal; set here.
    pub detached: bool,
}

/// Runs an instance with `settings`, which came from `invocation` and are read again from there at
/// each reload. Gives the exit status: 0 after an orderly end (of the daemon, or for the process
/// that put it into the background once it serves), 1 when the start failed, which was then said
/// on standard error.
pub fn run(invocation: Invocation, settings: Settings, mut options: Options, entry: Entry) -> i32 {
    daemon::report_panics();
    let mut waiting = None;
    if !options.foreground && !options.single {
        match daemon::detach() {
            Ok(Side::Front(code)) => return code,
            Ok(Side::Daemon(front)) => waiting = Some(front),
            Err(error) => {
                return complain(&StartError::System {
                    what: "go to the background",
                    error,
                });
            }
        }
        options.detached = true;
    }
    begin(invocation, settings, options, entry, waiting)
}

fn begin(
    invocation: Invocation,
    settings: Settings,
    options: Options,
    entry: Entry,
    waiting: Option<Waiting>,
) -> i32 {
    let (single, detached) = (options.single, options.detached);
    match Supervisor::start(invocation, options, entry, settings, waiting) {
        Err(e) => complain(&e),
        Ok(supervisor) => {
            if detached {
                supervisor.leave_terminal();
            }
            notes::raise_limits();
            if single {
                run_single(supervisor)
            } else {
                supervisor.run()
            }
        }
    }
}

/// `-X`: this process becomes the child; what a supervisor would remove at its end is removed when
/// it exits.
fn run_single(mut supervisor: Supervisor) -> i32 {
    let prepared = single_slot(&supervisor).and_then(|slot| {
        let (reader, ready) = fork::pipe(true)?;
        // Nobody reads it, but a closed reader would turn the child's byte into an error.
        std::mem::forget(reader);
        Ok((slot, ready))
    });
    let (slot, ready) = match prepared {
        Ok(p) => p,
        Err(error) => {
            supervisor.let_go();
            return complain(&StartError::System {
                what: "set up the only process",
                error,
            });
        }
    };
    supervisor.announce_single();
    let (pid_file, lock, table) = supervisor.take_names();
    // Replay marks stand nowhere else, and this process may have no right to write a file there: the
    // next start reads them out of the table, as after a crash.
    let marked = !supervisor.estates[0].settings.receivers.is_empty();
    fork::at_exit(move || {
        if !marked {
            let _ = std::fs::remove_file(&table);
        }
        if let Some(l) = lock {
            l.remove();
        }
        if let Some(p) = pid_file {
            p.remove();
        }
    });
    child::live(
        supervisor,
        Birth {
            generation: Generation(0),
            no: ChildNo(0),
            slot,
            ready,
            supervisor: None,
        },
    )
}

fn complain(e: &StartError) -> i32 {
    let mut err = std::io::stderr().lock();
    for line in e.lines() {
        // With standard error closed there is nobody to tell; the exit status still does.
        let _ = writeln!(err, "{line}");
    }
    1
}
