//! Going to the background: the process that was started stays until the daemon serves, so that
//! its exit status tells whether the start worked.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use crate::sys::fork::{self, Forked};

/// Which side of `detach` this is.
pub enum Side {
    /// The process that was started: it exits with this status.
    Front(i32),
    /// The daemon, with somebody waiting for it.
    Daemon(Waiting),
}

/// The front process, seen from the daemon. Dropped without `done`, the start has failed.
pub struct Waiting(OwnedFd);

/// Forks a daemon in a session of its own and, in the old process, waits for how it goes.
///
/// # Errors
/// Out of processes or descriptors.
pub fn detach() -> io::Result<Side> {
    let (reader, writer) = fork::pipe(false)?;
    match fork::fork()? {
        Forked::Parent(_) => {
            drop(writer);
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
            Ok(Side::Daemon(Waiting(writer)))
        }
    }
}

impl Waiting {
    /// Lets the front process exit with 0.
    pub fn done(self) {
        // It may have been killed meanwhile; the daemon goes on all the same.
        let _ = std::fs::File::from(self.0).write(&[1]);
    }
}

/// Points standard input and output to `/dev/null`, and standard error to the main error log when
/// that is a file, so that whatever a library or a panic says is kept.
///
/// # Errors
/// When neither can be opened.
pub fn leave_terminal(error_log: Option<&Path>) -> io::Result<()> {
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    fork::redirect(0, &null)?;
    fork::redirect(1, &null)?;
    let log = error_log.and_then(|p| OpenOptions::new().append(true).open(p).ok());
    fork::redirect(2, log.as_ref().unwrap_or(&null))
}
