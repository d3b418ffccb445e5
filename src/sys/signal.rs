//! Signals as something to read: a `signalfd` in place of a handler that writes to a pipe.
//!
//! The signals that a process wants are blocked and arrive as records with their sender, so there
//! is no handler, nothing that must be async-signal-safe, no `EINTR`, and the loop meets them
//! where it meets everything else. A blocked signal that is sent between a fork and the child's
//! own `Signals::take` stays pending, so none is lost.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
pub use nix::sys::signal::Signal;
use nix::sys::signal::{self, SigHandler, SigSet, SigmaskHow};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// A signal that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Which.
    pub signal: Signal,
    /// The process that sent it; `None` when the kernel did (a terminal, a resized window, the
    /// death of the parent).
    pub sender: Option<i32>,
}

/// The signals that this process reads. Readable (level) while one is waiting.
#[derive(Debug)]
pub struct Signals {
    fd: SignalFd,
}

impl Signals {
    /// Blocks `wanted`, ignores `ignored` and SIGPIPE, restores everything else that a parent may
    /// have changed. To be called once in each process, in a child soon after its fork.
    ///
    /// # Errors
    /// Of `sigprocmask` or `signalfd` (out of descriptors).
    pub fn take(wanted: &[Signal], ignored: &[Signal]) -> io::Result<Signals> {
        let mut set = SigSet::empty();
        for s in wanted {
            set.add(*s);
            // A signal that is ignored never reaches a signalfd; a shell's `&` ignores INT.
            reset(*s, SigHandler::SigDfl)?;
        }
        for s in ignored.iter().chain(&[Signal::SIGPIPE]) {
            reset(*s, SigHandler::SigIgn)?;
        }
        signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&set), None)?;
        let fd = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        Ok(Signals { fd })
    }

    /// The next signal, `None` when none is waiting.
    pub fn next(&self) -> Option<Received> {
        loop {
            match self.fd.read_signal() {
                Ok(Some(info)) => {
                    let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else {
                        continue;
                    };
                    // SI_USER, SI_QUEUE and SI_TKILL are 0 and below; SI_KERNEL and the codes of
                    // faults and of a death signal are above.
                    let by_process = info.ssi_code <= 0;
                    return Some(Received {
                        signal,
                        sender: by_process.then_some(info.ssi_pid as i32),
                    });
                }
                Err(Errno::EINTR) => continue,
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sends a signal to one process. Never takes a group: `pid` must be above 1.
///
/// # Errors
/// `ESRCH` when it is gone, `EPERM` when it is another user's, `EINVAL` for a pid below 2.
pub fn send(pid: i32, signal: Signal) -> io::Result<()> {
    if pid < 2 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(signal::kill(nix::unistd::Pid::from_raw(pid), signal)?)
}

/// Has a program start with no signal blocked or ignored: a program inherits both, and one that has
/// TERM blocked cannot be ended.
pub fn all_default(command: &mut Command) {
    start_with(command, &[], None);
}

/// Has a program start with no signal blocked, only `ignored` ones ignored, and have `farewell` sent
/// to it when the calling thread's process dies in any way.
#[allow(unsafe_code)]
pub fn start_with(command: &mut Command, ignored: &[Signal], farewell: Option<Signal>) {
    let ignored = ignored.to_vec();
    let parent = super::fork::pid();
    let restore = move || {
        if let Some(farewell) = farewell {
            super::fork::set_death_signal(farewell)?;
            if super::fork::parent() != parent {
                // It died before that.
                return Err(Errno::ESRCH.into());
            }
        }
        for s in [Signal::SIGUSR2, Signal::SIGPIPE] {
            reset(s, SigHandler::SigDfl)?;
        }
        for s in &ignored {
            reset(*s, SigHandler::SigIgn)?;
        }
        signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are made: prctl, getppid,
    // sigprocmask and signal; nothing is allocated or freed.
    unsafe { command.pre_exec(restore) };
}

/// Those of `signals` that this process ignores now, as `nohup` has a program start.
#[allow(unsafe_code)]
pub fn ignored(signals: &[Signal]) -> Vec<Signal> {
    let is_ignored = |s: &&Signal| {
        // SAFETY: without a new action sigaction only fills `old`, which is plain data.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(**s as i32, std::ptr::null(), &raw mut old) == 0
                && old.sa_sigaction == libc::SIG_IGN
        }
    };
    signals.iter().filter(is_ignored).copied().collect()
}

#[allow(unsafe_code)]
fn reset(s: Signal, handler: SigHandler) -> io::Result<()> {
    // SAFETY: only SIG_DFL and SIG_IGN are installed, so no code of ours runs in a signal context.
    unsafe { signal::signal(s, handler) }?;
    Ok(())
}
