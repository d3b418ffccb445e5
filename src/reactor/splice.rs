//! Moving bytes between two descriptors inside the kernel, through a pooled pipe.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::forever::{Access, Forever};
use crate::sys::splice::splice;

/// What a pipe should hold. The kernel's sum for an unprivileged user is 64 MiB by default; where
/// it says no, the pipe stays at 64 KiB.
const PIPE_SIZE: i32 = 256 * 1024;

/// Empty pipes that are kept.
const KEPT: usize = 16;

type Ends = (OwnedFd, OwnedFd);

thread_local! {
    static POOL: Forever<Vec<Ends>> =
        const { Forever::new(Vec::new()) };
}

/// A pipe of the pool with what it holds at the moment. Goes back to the pool when it is dropped
/// empty, else it is closed.
#[derive(Debug)]
pub struct Pipe {
    /// Reading end, writing end; `None` only while it is dropped.
    ends: Option<Ends>,
    held: usize,
}

impl Pipe {
    /// A pipe of the pool or a new one.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn take() -> io::Result<Pipe> {
        let ends = match POOL.changed(Vec::pop) {
            Some(ends) => ends,
            None => {
                let ends = nix::unistd::pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)?;
                let _ = fcntl(&ends.1, FcntlArg::F_SETPIPE_SZ(PIPE_SIZE));
                ends
            }
        };
        Ok(Pipe {
            ends: Some(ends),
            held: 0,
        })
    }

    /// Bytes in it.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Moves at most `most` bytes from a socket (or from a file at `offset`) into the pipe, which
    /// must be empty: otherwise it would not be known which of the two would block. `Ok(0)` is the
    /// end of it; `WouldBlock` when it has nothing now.
    ///
    /// # Errors
    /// Those of splice(2).
    pub fn fill(&mut self, from: RawFd, offset: Option<u64>, most: usize) -> io::Result<usize> {
        debug_assert_eq!(self.held, 0);
        let Some((_, to)) = &self.ends else {
            return Ok(0);
        };
        let n = splice(from, offset, to.as_raw_fd(), most, false)?;
        self.held += n;
        Ok(n)
    }

    /// Moves what the pipe holds into a socket; `WouldBlock` when that is full. `more`: other
    /// bytes follow at once, so the kernel need not send a short segment.
    ///
    /// # Errors
    /// Those of splice(2).
    pub fn drain(&mut self, to: RawFd, more: bool) -> io::Result<usize> {
        let Some((from, _)) = &self.ends else {
            return Ok(0);
        };
        let n = splice(from.as_raw_fd(), None, to, self.held, more)?;
        self.held -= n.min(self.held);
        Ok(n)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if self.held == 0
            && let Some(ends) = self.ends.take()
        {
            POOL.changed(|pool| {
                if pool.len() < KEPT {
                    pool.push(ends);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn bytes_go_through_and_an_empty_pipe_is_used_again() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let (c, mut d) = UnixStream::pair().unwrap();
        b.set_nonblocking(true).unwrap();
        let mut pipe = Pipe::take().unwrap();
        let none = pipe.fill(b.as_raw_fd(), None, 100).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        a.write_all(b"hello, world").unwrap();
        assert_eq!(pipe.fill(b.as_raw_fd(), None, 5).unwrap(), 5);
        assert_eq!(pipe.drain(c.as_raw_fd(), false).unwrap(), 5);
        assert_eq!(pipe.held(), 0);
        let mut got = [0; 5];
        d.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"hello");
        drop(pipe);
        POOL.borrowed(|p| assert_eq!(p.len(), 1));
        let mut pipe = Pipe::take().unwrap();
        pipe.fill(b.as_raw_fd(), None, 100).unwrap();
        drop(pipe);
        POOL.borrowed(|p| assert!(p.is_empty(), "a pipe with bytes in it must not be shared"));
    }
}
