//! One place that lines go to: a bounded buffer and what is behind it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use memchr::{memchr, memrchr};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::program::{CommandLine, Piped};
use super::syslog::{self, Syslog};
use crate::clock::Mono;
use crate::config::settings::LogTarget;

/// Bytes that wait for a target that takes nothing; more lines are dropped and counted.
const BOUND: usize = 256 * 1024;
/// A buffer that grew beyond this is given back when it is empty.
const KEEP: usize = 64 * 1024;
/// Writes up to this size to a pipe are not torn apart by those of other processes.
pub(super) const PIPE_BUF: usize = 4096;
/// When to look again at a full pipe.
const FULL: Duration = Duration::from_millis(20);
/// When to try again after an error.
const BROKEN: Duration = Duration::from_secs(1);

/// An open target.
#[derive(Debug)]
pub(super) struct Target {
    /// For messages.
    pub name: String,
    pub sink: Sink,
    buffer: Vec<u8>,
    /// Lines lost, in all and since it last took one.
    pub lost: u64,
    lost_since: u64,
    /// Nothing is tried before this.
    again: Mono,
}

#[derive(Debug)]
pub(super) enum Sink {
    /// A regular file: one write takes all.
    File(File),
    /// A FIFO, terminal or other device that was opened by its path, without blocking.
    Device(File),
    Program(Piped),
    Syslog(Syslog),
    /// A program that was told to end.
    Closed,
    /// Inherited: its mode is not ours to change, so it is asked before each write.
    Stderr,
}

impl Target {
    /// Opens it; starts the program where it is one.
    pub fn open(target: &LogTarget) -> io::Result<Target> {
        let sink = match target {
            LogTarget::File(path) => open_file(path)?,
            LogTarget::Pipe(words) => {
                Sink::Program(Piped::start(CommandLine::Words(words.clone()))?)
            }
            LogTarget::ShellPipe(text) => {
                Sink::Program(Piped::start(CommandLine::Shell(text.clone()))?)
            }
            LogTarget::Syslog { facility, tag } => {
                let number = syslog::facility(facility)
                    .ok_or_else(|| io::Error::other("syslog has no such facility"))?;
                Sink::Syslog(Syslog::new(syslog::SOCKET, number, tag))
            }
            LogTarget::Stderr => Sink::Stderr,
        };
        Ok(Target::new(shown(target), sink))
    }

    pub fn new(name: String, sink: Sink) -> Target {
        Target {
            name,
            sink,
            buffer: Vec::new(),
            lost: 0,
            lost_since: 0,
            again: Mono(0),
        }
    }

    /// Puts the line that `write` appends (one line feed, at its end) into the buffer.
    pub fn line(&mut self, level: u8, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        if start > BOUND {
            return self.lose(1);
        }
        if let Sink::Syslog(syslog) = &self.sink {
            syslog.prefix(&mut self.buffer, level);
        }
        let text_at = self.buffer.len();
        write(&mut self.buffer);
        let len = self.buffer.len() - start;
        if self.buffer.len() == text_at {
            // A format with a required item gave no line.
            self.buffer.truncate(start);
        } else if start + len > BOUND {
            self.buffer.truncate(start);
            self.lose(1);
        } else if len > PIPE_BUF && !matches!(self.sink, Sink::File(_)) {
            self.buffer.truncate(start + PIPE_BUF - 1);
            self.buffer.push(b'\n');
        }
    }

    /// Drops what is in the buffer: a child must not write its parent's lines again.
    pub fn forget(&mut self) {
        self.buffer.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Writes the buffer out as far as the target takes it now. When it took something again after
    /// lines had been lost, their number.
    pub fn flush(&mut self, now: Mono) -> Option<u64> {
        if self.buffer.is_empty() || now < self.again {
            return None;
        }
        let before = self.buffer.len();
        let (done, result) = match &mut self.sink {
            Sink::File(file) => write_whole(file, &self.buffer),
            Sink::Device(file) => write_pieces(&self.buffer, |piece| file.write(piece)),
            Sink::Program(piped) => write_pieces(&self.buffer, |piece| piped.writer.write(piece)),
            Sink::Syslog(syslog) => write_lines(&self.buffer, |line| syslog.send(line)),
            Sink::Stderr => write_pieces(&self.buffer, write_stderr),
            Sink::Closed => {
                self.lost += memchr::memchr_iter(b'\n', &self.buffer).count() as u64;
                (self.buffer.len(), Ok(()))
            }
        };
        self.buffer.drain(..done);
        match result {
            Ok(()) => {
                if self.buffer.capacity() > KEEP {
                    self.buffer = Vec::new();
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.again = now + FULL,
            // Nobody reads standard error any more: there is no point in keeping lines for it.
            Err(_) if matches!(self.sink, Sink::Stderr) => self.buffer.clear(),
            Err(_) => self.again = now + BROKEN,
        }
        if self.buffer.len() < before && self.lost_since > 0 {
            return Some(std::mem::take(&mut self.lost_since));
        }
        None
    }

    fn lose(&mut self, lines: u64) {
        self.lost += lines;
        self.lost_since += lines;
    }
}

/// A target as messages name it.
pub(super) fn shown(target: &LogTarget) -> String {
    match target {
        LogTarget::File(path) => path.display().to_string(),
        LogTarget::Pipe(words) => format!("|{}", words.join(" ")),
        LogTarget::ShellPipe(text) => format!("|${text}"),
        LogTarget::Syslog { facility, tag } => format!("syslog:{facility}:{tag}"),
        LogTarget::Stderr => "standard error".into(),
    }
}

fn open_file(path: &Path) -> io::Result<Sink> {
    // Without blocking: a FIFO that nobody reads is an error, not a stuck start.
    let opened = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o640)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path);
    let file = match opened {
        // A socket as standard error (journald) cannot be opened by its path.
        Err(e) if e.raw_os_error() == Some(libc::ENXIO) && path == Path::new("/dev/stderr") => {
            return Ok(Sink::Stderr);
        }
        other => other?,
    };
    Ok(match file.metadata()?.is_file() {
        true => Sink::File(file),
        false => Sink::Device(file),
    })
}

/// How many bytes went out, and how it ended.
type Progress = (usize, io::Result<()>);

fn write_whole(file: &mut File, bytes: &[u8]) -> Progress {
    let mut at = 0;
    while at < bytes.len() {
        match file.write(&bytes[at..]) {
            Ok(0) => return (at, Err(io::ErrorKind::WriteZero.into())),
            Ok(n) => at += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (at, Err(e)),
        }
    }
    (at, Ok(()))
}

/// Pieces of at most PIPE_BUF bytes that end at line ends.
fn write_pieces(bytes: &[u8], mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> Progress {
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let most = rest.len().min(PIPE_BUF);
        let piece = match memrchr(b'\n', &rest[..most]) {
            Some(end) => &rest[..=end],
            None => &rest[..most],
        };
        match write(piece) {
            Ok(0) => return (at, Err(io::ErrorKind::WriteZero.into())),
            Ok(n) => at += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (at, Err(e)),
        }
    }
    (at, Ok(()))
}

fn write_lines(bytes: &[u8], mut send: impl FnMut(&[u8]) -> io::Result<()>) -> Progress {
    let mut at = 0;
    while let Some(len) = memchr(b'\n', &bytes[at..]) {
        if let Err(e) = send(&bytes[at..at + len]) {
            return (at, Err(e));
        }
        at += len + 1;
    }
    (bytes.len(), Ok(()))
}

fn write_stderr(piece: &[u8]) -> io::Result<usize> {
    let stderr = io::stderr();
    let mut asked = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    match poll(&mut asked, PollTimeout::ZERO) {
        Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
        Ok(_) => nix::unistd::write(&stderr, piece).map_err(io::Error::from),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests;
