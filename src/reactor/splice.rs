//! Moving bytes between two descriptors inside the kernel, through a pooled pipe.

use std::io;
use std::os::fd::RawFd;

/// A pipe of the pool with what it holds at the moment. Goes back to the pool when it is dropped
/// empty, else it is closed.
#[derive(Debug)]
pub struct Pipe {
    held: usize,
}

impl Pipe {
    /// A pipe of the pool or a new one.
    pub fn take() -> io::Result<Pipe> {
        todo!()
    }

    /// Bytes in it.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Moves at most `most` bytes from a socket (or from a file at `offset`) into the pipe.
    /// `Ok(0)` is the end of it; `WouldBlock` when it has nothing now or the pipe is full.
    pub fn fill(&mut self, from: RawFd, offset: Option<u64>, most: usize) -> io::Result<usize> {
        let _ = (from, offset, most);
        todo!()
    }

    /// Moves what the pipe holds into a socket; `WouldBlock` when that is full. `more`: other
    /// bytes follow at once, so the kernel need not send a short segment.
    pub fn drain(&mut self, to: RawFd, more: bool) -> io::Result<usize> {
        let _ = (to, more);
        todo!()
    }
}
