//! `muster announce`: tells proxies of a backend that is no muster, alone or around its command.
//!
//! [`options`] reads the words, [`check`] looks whether the backend answers, [`wire`] signs and
//! sends with what [`secret`] holds, [`run`] follows signals and the command. No loop of ours and no
//! configuration is needed.

mod check;
mod options;
mod run;
mod secret;
mod wire;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::sys::stdout;

/// Runs it with the words behind `announce`; gives the exit status.
pub fn main(words: &[OsString]) -> i32 {
    // Behind `--` it is the command's.
    let mut own = words.iter().take_while(|w| *w != "--");
    if own.any(|w| w == "--help" || w == "-h") {
        return stdout::print(&format!("{}\n", options::HELP));
    }
    let options = match options::parse(words) {
        Ok(options) => options,
        Err(text) => {
            say(&text);
            say(options::USAGE);
            return 2;
        }
    };
    match run::run(options) {
        Ok(code) => code,
        Err(text) => {
            say(&text);
            1
        }
    }
}

/// Lines that standard error had no room for since the last one that it took.
static UNSAID: AtomicU32 = AtomicU32::new(0);

/// A line on standard error, if it takes one now: a pipe that nobody reads, or a terminal that is
/// held, must not keep a backend from being announced, withdrawn or stopped.
fn say(text: &str) {
    use std::io::Write;
    let stderr = std::io::stderr();
    let mut fds = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    if matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0)) {
        UNSAID.fetch_add(1, Relaxed);
        return;
    }
    let unsaid = match UNSAID.swap(0, Relaxed) {
        0 => String::new(),
        n => format!("muster announce: {n} line(s) before this one found no room here\n"),
    };
    // In one piece, and with standard error closed there is nobody to tell.
    let line = format!("{unsaid}muster announce: {text}\n");
    let _ = stderr.lock().write_all(line.as_bytes());
}
