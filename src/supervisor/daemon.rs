//! Going to the background: the process that was started stays until the daemon serves, so that
//! its exit status tells whether the start worked.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use crate::config::settings::{LogTarget, Settings};
use crate::log;
use crate::sys::fork::{self, Forked};

/// Which side of `detach` this is.
pub enum Side {
    /// The process that was started: it exits with this status.
    Front(i32),
    /// The daemon, with somebody waiting for it.
    Daemon(Waiting),
}

/// The front process, seen from the daemon. Dropped without `done`, the start has failed.
pub struct Waiting {
    pipe: OwnedFd,
    /// Where the operator reads, once the daemon itself has left the terminal.
    errors: OwnedFd,
}

/// Forks a daemon in a session of its own and, in the old process, waits for how it goes.
///
/// # Errors
/// Out of processes or descriptors.
pub fn detach() -> io::Result<Side> {
    fork::close_inherited();
    let (reader, pipe) = fork::pipe(false)?;
    match fork::fork()? {
        Forked::Parent(_) => {
            drop(pipe);
            let mut byte = [0];
            // The end without a byte: it died, and has said why on the same standard error.
            let served = std::fs::File::from(reader)
                .read(&mut byte)
                .is_ok_and(|n| n == 1);
            Ok(Side::Front(i32::from(!served)))
        }
        Forked::Child => {
            drop(reader);
            fork::new_session()?;
            let errors = io::stderr().as_fd().try_clone_to_owned()?;
            Ok(Side::Daemon(Waiting { pipe, errors }))
        }
    }
}

impl Waiting {
    /// Lets the front process exit with 0.
    pub fn done(self) {
        // It may have been killed meanwhile; the daemon goes on all the same.
        let _ = std::fs::File::from(self.pipe).write(&[1]);
    }

    /// Tells the operator why it will not be done.
    pub fn complain(self, text: &str) {
        let _ = writeln!(std::fs::File::from(self.errors), "{text}");
    }
}

/// Points standard input and output to `/dev/null`, and standard error to the main error log when
/// that is a file, so that whatever a library or a panic says is kept. Before the first child is
/// forked: a pipe that a script reads until its end must not stay open in children.
///
/// # Errors
/// When neither can be opened.
pub fn leave_terminal(settings: &Settings) -> io::Result<()> {
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    fork::redirect(0, &null)?;
    fork::redirect(1, &null)?;
    fork::redirect(2, &null)?;
    keep_errors(settings);
    Ok(())
}

/// Points standard error to the main error log when that is a file, as httpd does: what a library
/// or a crash says belongs there, also in the foreground.
pub fn keep_errors(settings: &Settings) {
    let LogTarget::File(path) = &settings.log_targets[settings.servers[0].error_log.index()] else {
        return;
    };
    // It was opened a moment ago; should it be gone, standard error stays where it is.
    if let Ok(log) = OpenOptions::new().append(true).open(path) {
        let _ = fork::redirect(2, &log);
    }
}

/// A bug's last words, in the layout of the error log: where, and what when that is a fixed text
/// (others may hold a client's bytes). Written to standard error by itself, since the logs may be
/// what it happened in.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or(String::new(), |l| format!("{}:{}: ", l.file(), l.line()));
        let what = info.payload().downcast_ref::<&str>().unwrap_or(&"");
        let pid = fork::pid();
        let now = log::stamp_now();
        let line = format!("[{now}] [core:crit] [pid {pid}] internal fault at {place}{what}\n");
        let _ = io::stderr().write_all(line.as_bytes());
    }));
}
