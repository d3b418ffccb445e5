//! How a child ended.

use std::fmt;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

/// Why a process is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// It exited with this status.
    Status(i32),
    /// A signal ended it, perhaps with a core dump.
    Signal {
        /// Which one.
        signal: Signal,
        /// Whether memory was dumped.
        dumped: bool,
    },
}

impl ExitCause {
    /// Whether it left by itself and content.
    pub fn is_clean(self) -> bool {
        self == ExitCause::Status(0)
    }
}

impl fmt::Display for ExitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitCause::Status(n) => write!(f, "exit status {n}"),
            ExitCause::Signal { signal, dumped } => {
                write!(f, "exit signal {} ({})", describe(*signal), *signal as i32)?;
                if *dumped {
                    f.write_str(", core dumped")?;
                }
                Ok(())
            }
        }
    }
}

/// Takes one dead child of this process off the kernel's list; `None` when there is none.
pub fn reap() -> Option<(i32, ExitCause)> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, n)) => return Some((pid.as_raw(), ExitCause::Status(n))),
            Ok(WaitStatus::Signaled(pid, signal, dumped)) => {
                return Some((pid.as_raw(), ExitCause::Signal { signal, dumped }));
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return None,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// The words that shells use for the signals that crashes send, else the name.
fn describe(s: Signal) -> &'static str {
    match s {
        Signal::SIGSEGV => "Segmentation fault",
        Signal::SIGABRT => "Aborted",
        Signal::SIGBUS => "Bus error",
        Signal::SIGKILL => "Killed",
        Signal::SIGTERM => "Terminated",
        Signal::SIGILL => "Illegal instruction",
        Signal::SIGFPE => "Floating point exception",
        other => other.as_str(),
    }
}
