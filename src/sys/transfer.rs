//! Reading and writing sockets by descriptor, never blocking, never raising SIGPIPE.
#![allow(unsafe_code)]

use std::io::{self, IoSlice};
use std::os::fd::RawFd;

/// Reads what is there; `Ok(0)` is the end (or an empty `into`).
///
/// # Errors
/// Those of recv(2); `WouldBlock` when nothing is there.
pub fn receive(fd: RawFd, into: &mut [u8]) -> io::Result<usize> {
    receive_with(fd, into, 0)
}

/// The same without taking the bytes.
///
/// # Errors
/// Those of recv(2).
pub fn peek(fd: RawFd, into: &mut [u8]) -> io::Result<usize> {
    receive_with(fd, into, libc::MSG_PEEK)
}

fn receive_with(fd: RawFd, into: &mut [u8], flags: i32) -> io::Result<usize> {
    retry(|| {
        // SAFETY: the kernel writes at most `len` bytes into a slice that is ours alone.
        unsafe {
            libc::recv(
                fd,
                into.as_mut_ptr().cast(),
                into.len(),
                flags | libc::MSG_DONTWAIT,
            )
        }
    })
}

/// Writes a part of `bytes`.
///
/// # Errors
/// Those of send(2); `WouldBlock` when the socket is full.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    retry(|| {
        // SAFETY: the kernel reads at most `len` bytes of a slice that lives through the call.
        unsafe {
            libc::send(
                fd,
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        }
    })
}

/// Writes a part of the slices, in order, with one call. At most 1024 slices count.
///
/// # Errors
/// Those of sendmsg(2); `WouldBlock` when the socket is full.
pub fn send_slices(fd: RawFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let slices = &slices[..slices.len().min(1024)];
    // SAFETY: all zero is a valid msghdr: no name, no control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // IoSlice has the layout of iovec by its documentation.
    message.msg_iov = slices.as_ptr().cast_mut().cast();
    message.msg_iovlen = slices.len();
    retry(|| {
        // SAFETY: the slices live through the call and are only read.
        unsafe { libc::sendmsg(fd, &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) }
    })
}

/// Has the kernel choose the port at connect instead of at bind, so that a source address uses up
/// ports only per destination. Kernels that do not know it choose at bind as ever.
pub fn bind_without_port(fd: RawFd) {
    let on: libc::c_int = 1;
    // SAFETY: the value outlives the call and the length is its own.
    unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(n) => return Ok(n),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}
