//! Accepting with both flags in one call.
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The next connection of a listener, non-blocking and close-on-exec, with the peer's address
/// (`None` for a Unix socket). An IPv4 peer of a dual-stack listener is given as IPv4.
///
/// # Errors
/// Those of accept(2); `WouldBlock` when nobody waits.
pub fn accept(listener: RawFd) -> io::Result<(OwnedFd, Option<SocketAddr>)> {
    let mut storage = libc::sockaddr_in6 {
        sin6_family: 0,
        sin6_port: 0,
        sin6_flowinfo: 0,
        sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
        sin6_scope_id: 0,
    };
    let mut length = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
    loop {
        // SAFETY: `storage` is valid for `length` bytes; the kernel writes at most that many. An
        // address that is longer (a Unix socket's) is cut, and not looked at below.
        let fd = unsafe {
            libc::accept4(
                listener,
                (&raw mut storage).cast(),
                &mut length,
                libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
            )
        };
        if fd >= 0 {
            // SAFETY: a fresh descriptor that nobody else owns.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            return Ok((fd, address(&storage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn address(storage: &libc::sockaddr_in6) -> Option<SocketAddr> {
    match i32::from(storage.sin6_family) {
        libc::AF_INET6 => {
            let ip = Ipv6Addr::from(storage.sin6_addr.s6_addr);
            let port = u16::from_be(storage.sin6_port);
            Some(match ip.to_ipv4_mapped() {
                Some(v4) => SocketAddr::new(IpAddr::V4(v4), port),
                None => {
                    SocketAddrV6::new(ip, port, storage.sin6_flowinfo, storage.sin6_scope_id).into()
                }
            })
        }
        // sockaddr_in has its address where sockaddr_in6 has the flow information.
        libc::AF_INET => Some(
            SocketAddrV4::new(
                Ipv4Addr::from(u32::from_be(storage.sin6_flowinfo)),
                u16::from_be(storage.sin6_port),
            )
            .into(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn the_peer_of_either_family_is_told() {
        for at in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(at) else {
                continue;
            };
            let mut to = listener.local_addr().unwrap();
            if to.ip().is_unspecified() {
                to.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
            }
            let client = TcpStream::connect(to).unwrap();
            let (_, peer) = accept(listener.as_raw_fd()).unwrap();
            assert_eq!(peer, Some(client.local_addr().unwrap()));
        }
    }
}
