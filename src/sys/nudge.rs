//! A way to wake another process's loop: an `eventfd` that both inherited. It carries nothing but
//! "look again"; several nudges that were not seen yet are one.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// One process waits for it, edge-triggered, and never reads it; any other may give it.
#[derive(Debug)]
pub struct Nudge {
    event: EventFd,
}

impl Nudge {
    /// A new one, not yet given.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn new() -> io::Result<Nudge> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        Ok(Nudge {
            event: EventFd::from_value_and_flags(0, flags)?,
        })
    }

    /// Wakes whoever waits for it.
    pub fn give(&self) {
        if self.event.write(1).is_err() {
            // The counter is full after 2^64 nudges: empty it, which counts as an edge as well.
            let _ = nix::unistd::read(self.event.as_fd(), &mut [0; 8]);
            let _ = self.event.write(1);
        }
    }
}

impl AsRawFd for Nudge {
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_fd().as_raw_fd()
    }
}
