//! `--watch`: the table again each second in a terminal, until q, Ctrl-C or a signal; the terminal
//! is left as it was found.

#![allow(unsafe_code)]

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::termios::{self, LocalFlags, SetArg, SpecialCharacterIndices, Termios};

use super::{people, read};
use crate::clock::read_mono;
use crate::sys::stdout;

/// How often the file is read again.
const EVERY: Duration = Duration::from_secs(1);

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Watches until told to stop. Gives the exit code.
pub fn watch(path: &Path) -> i32 {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        stdout::complain(
            "muster scoreboard: --watch needs a terminal; without it the table is printed once",
        );
        return 1;
    }
    // The first look says plainly what is wrong with the file.
    if let Err(e) = read(path) {
        stdout::complain(&format!("muster scoreboard: {e}"));
        return 1;
    }
    match run(path) {
        Ok(()) => 0,
        Err(e) => {
            stdout::complain(&format!("muster scoreboard: the terminal: {e}"));
            1
        }
    }
}

/// The terminal's state while the table is shown; dropping it restores what was before.
struct Screen {
    before: Termios,
}

impl Screen {
    fn enter() -> io::Result<Screen> {
        let before = termios::tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        // Keys come at once and unseen; Ctrl-C and Ctrl-Z come as keys too, so that no way out
        // leaves the terminal as it is now.
        raw.local_flags
            .remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
        raw.control_chars[SpecialCharacterIndices::VMIN as usize] = 0;
        raw.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        let screen = Screen { before };
        termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &raw)?;
        print(ENTER)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = print(LEAVE);
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &self.before);
    }
}

fn run(path: &Path) -> io::Result<()> {
    let mut wanted = SigSet::empty();
    for signal in [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGWINCH,
    ] {
        wanted.add(signal);
    }
    wanted.thread_block()?;
    let signals = SignalFd::with_flags(&wanted, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    let screen = Screen::enter()?;
    let mut stopped = false;
    while !stopped {
        draw(path)?;
        stopped = wait(&signals)?;
    }
    drop(screen);
    Ok(())
}

/// Waits for the next time to draw; true when it is to end.
fn wait(signals: &SignalFd) -> io::Result<bool> {
    let until = read_mono() + EVERY;
    loop {
        let rest = until - read_mono();
        let stdin = io::stdin();
        let mut fds = [
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        ];
        // Rounded up, so that the last part of a millisecond is not spun away.
        let ms = u16::try_from(rest.as_millis() + 1).unwrap_or(u16::MAX);
        match poll(&mut fds, PollTimeout::from(ms)) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(e) => return Err(e.into()),
        }
        let (keys, signal) = (fds[0].any(), fds[1].any());
        if signal == Some(true)
            && let Some(info) = signals.read_signal()?
        {
            // A new size: draw again. Anything else ends it.
            return Ok(info.ssi_signo != Signal::SIGWINCH as u32);
        }
        if keys == Some(true) {
            let mut bytes = [0; 64];
            let n = io::stdin().lock().read(&mut bytes)?;
            // No bytes though there was something: the terminal is gone.
            let end = |b: &u8| matches!(b, b'q' | b'Q' | 3 | 4 | 0x1c);
            if n == 0 || bytes[..n].iter().any(end) {
                return Ok(true);
            }
        }
        if read_mono() >= until {
            return Ok(false);
        }
    }
}

fn draw(path: &Path) -> io::Result<()> {
    let text = match read(path) {
        Ok(snapshot) => people::text(&snapshot),
        Err(e) => format!("{e}\n(still looking)\n"),
    };
    let (rows, columns) = size();
    print(&frame(&text, rows, columns))
}

/// One screenful: lines cut to the width, the last one telling what did not fit.
fn frame(text: &str, rows: usize, columns: usize) -> String {
    let mut out = String::from("\x1b[H");
    let lines: Vec<&str> = text.lines().collect();
    let fits = rows.saturating_sub(1).max(1);
    for line in lines.iter().take(fits) {
        out.extend(line.chars().take(columns));
        // To the line's end: what was there before goes.
        out.push_str("\x1b[K\r\n");
    }
    out.push_str("\x1b[J");
    let foot = match lines.len().checked_sub(fits) {
        Some(more @ 1..) => format!("q quits   {more} more lines"),
        _ => "q quits".to_owned(),
    };
    out.extend(foot.chars().take(columns));
    out
}

fn size() -> (usize, usize) {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: TIOCGWINSZ writes one `winsize`, which `size` is; it outlives the call.
    let done = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    if done == 0 && size.ws_row > 0 && size.ws_col > 0 {
        (usize::from(size.ws_row), usize::from(size.ws_col))
    } else {
        (24, 80)
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fits_the_screen() {
        let text = "one\ntwo three\nfour\nfive\n";
        assert_eq!(
            frame(text, 3, 5),
            "\x1b[Hone\x1b[K\r\ntwo t\x1b[K\r\n\x1b[Jq qui"
        );
        assert_eq!(
            frame(text, 3, 40),
            "\x1b[Hone\x1b[K\r\ntwo three\x1b[K\r\n\x1b[Jq quits   2 more lines"
        );
        assert!(frame(text, 24, 80).ends_with("\x1b[Jq quits"));
        assert!(frame("", 0, 0).len() < 20);
    }
}
