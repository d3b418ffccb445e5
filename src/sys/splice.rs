//! `splice(2)` and `sendfile(2)`: bytes from descriptor to descriptor inside the kernel.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;

/// Moves at most `most` bytes; one of the two must be a pipe. Never blocks on the pipe. `offset`
/// is where to read in a file. `more`: further bytes follow soon (like MSG_MORE).
///
/// # Errors
/// `WouldBlock`; `EINVAL` when a descriptor cannot be spliced.
pub fn splice(
    from: RawFd,
    offset: Option<u64>,
    to: RawFd,
    most: usize,
    more: bool,
) -> io::Result<usize> {
    let mut at = offset.unwrap_or(0) as libc::loff_t;
    let at_pointer = if offset.is_some() {
        &raw mut at
    } else {
        std::ptr::null_mut()
    };
    let mut flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    if more {
        flags |= libc::SPLICE_F_MORE;
    }
    loop {
        // SAFETY: no memory of ours is touched but `at`, which outlives the call.
        let n = unsafe { libc::splice(from, at_pointer, to, std::ptr::null_mut(), most, flags) };
        if let Ok(n) = usize::try_from(n) {
            return Ok(n);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Sends at most `most` bytes of a file from `offset` to a socket; `Ok(0)` at the file's end.
///
/// # Errors
/// `WouldBlock` when the socket is full; those of sendfile(2).
pub fn sendfile(file: RawFd, offset: u64, socket: RawFd, most: usize) -> io::Result<usize> {
    let mut at = offset as libc::off_t;
    loop {
        // SAFETY: no memory of ours is touched but `at`, which outlives the call.
        let n = unsafe { libc::sendfile(socket, file, &mut at, most) };
        if let Ok(n) = usize::try_from(n) {
            return Ok(n);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
