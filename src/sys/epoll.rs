//! What mio does not offer of epoll: `EPOLLEXCLUSIVE`, on mio's own descriptor.
//!
//! Traps, each tried: such an entry can't be modified (only DEL and ADD work), RDHUP and ONESHOT
//! beside the flag are refused, and closing a listener that another process still holds without
//! DEL goes on delivering its events.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;

/// Adds `fd` (level-triggered, readable only) so that one arrival wakes one waiting process.
///
/// # Errors
/// Of `epoll_ctl`: `EEXIST` when it is in already, `EBADF`, `ENOMEM`, `ENOSPC`.
pub fn add_exclusive(epoll: RawFd, fd: RawFd, token: usize) -> io::Result<()> {
    let mut event = libc::epoll_event {
        events: (libc::EPOLLIN | libc::EPOLLEXCLUSIVE) as u32,
        u64: token as u64,
    };
    control(epoll, libc::EPOLL_CTL_ADD, fd, &mut event)
}

/// Takes `fd` out.
///
/// # Errors
/// `ENOENT` when it is not in.
pub fn remove(epoll: RawFd, fd: RawFd) -> io::Result<()> {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    control(epoll, libc::EPOLL_CTL_DEL, fd, &mut event)
}

fn control(epoll: RawFd, op: i32, fd: RawFd, event: &mut libc::epoll_event) -> io::Result<()> {
    // SAFETY: the event outlives the call and the kernel keeps no pointer to it; stale descriptor
    // numbers give EBADF, nothing else is touched.
    if unsafe { libc::epoll_ctl(epoll, op, fd, event) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
