//! Datagram sockets: bound by the supervisor, inherited by children.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// How much a socket shall hold while nobody reads it (a reload, a change of the holder); the
/// system's `net.core.rmem_max` may allow less.
const QUEUE: usize = 1 << 20;

/// Binds a non-blocking socket that is closed on exec. `host`: an address, or empty for all
/// addresses of both families; never a name, since a look-up may block. The port is not shared: a
/// second instance is refused instead of stealing datagrams.
///
/// # Errors
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`; `InvalidInput` for a name.
pub fn bind(host: &str, port: u16) -> io::Result<OwnedFd> {
    bind_beside(host, port, &[])
}

/// The same where sockets of our own, which are about to go, may have the port by another address
/// (`127.0.0.1` and all addresses).
///
/// # Errors
/// See [`bind`].
pub fn bind_beside(host: &str, port: u16, own: &[BorrowedFd<'_>]) -> io::Result<OwnedFd> {
    if host.is_empty() {
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        return match bind_to(any, true, own) {
            Err(e)
                if matches!(
                    e.raw_os_error(),
                    Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL)
                ) =>
            {
                bind_to(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), false, own)
            }
            other => other,
        };
    }
    let address = match host.parse::<IpAddr>() {
        Ok(ip) => SocketAddr::new(ip, port),
        Err(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name")),
    };
    bind_to(address, false, own)
}

/// Binds a non-blocking socket for datagrams to `address`, and joins the group when it is one. The
/// address may be bound by others too (a group has many listeners, and the next holder binds
/// before the last one is gone).
///
/// # Errors
/// Of the system.
pub fn bind_group(address: SocketAddr) -> io::Result<OwnedFd> {
    let kind = Type::DGRAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    match address.ip() {
        IpAddr::V4(ip) if ip.is_multicast() => {
            socket.join_multicast_v4(&ip, &Ipv4Addr::UNSPECIFIED)?;
        }
        IpAddr::V6(ip) if ip.is_multicast() => socket.join_multicast_v6(&ip, 0)?,
        _ => {}
    }
    Ok(socket.into())
}

fn bind_to(address: SocketAddr, dual: bool, own: &[BorrowedFd<'_>]) -> io::Result<OwnedFd> {
    let kind = Type::DGRAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!dual)?;
    }
    // What the system does not allow is cut, not refused.
    let _ = socket.set_recv_buffer_size(QUEUE);
    match socket.bind(&address.into()) {
        Err(e) if e.raw_os_error() == Some(libc::EADDRINUSE) && !own.is_empty() => {
            // Shared for this one moment only, and with those that agree: the system asks both.
            let share = |on| own.iter().try_for_each(|fd| reuse(&SockRef::from(fd), on));
            let bound = share(true)
                .and_then(|()| reuse(&SockRef::from(&socket), true))
                .and_then(|()| socket.bind(&address.into()));
            let alone = share(false).and_then(|()| reuse(&SockRef::from(&socket), false));
            bound.and(alone)?;
        }
        other => other?,
    }
    Ok(socket.into())
}

fn reuse(socket: &SockRef<'_>, on: bool) -> io::Result<()> {
    socket.set_reuse_address(on)
}

/// How many datagrams the socket has dropped because its queue was full.
///
/// # Errors
/// Of `getsockopt(SO_MEMINFO)` (Linux 4.12 and later).
#[allow(unsafe_code)]
pub fn dropped(socket: &impl AsFd) -> io::Result<u32> {
    /// `SK_MEMINFO_DROPS` of linux/sock_diag.h.
    const DROPS: usize = 8;
    let mut info = [0u32; 16];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel writes at most `length`
    // bytes into `info`, which has that size, and the new length into `length`.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if rc == 0 {
        Ok(info[DROPS])
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_full_queue_is_counted_and_a_port_is_not_shared() {
        let fd = bind("127.0.0.1", 0).unwrap();
        let receiver = UdpSocket::from(fd);
        let address = receiver.local_addr().unwrap();
        assert!(bind("127.0.0.1", address.port()).is_err());
        assert_eq!(dropped(&receiver).unwrap(), 0);
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..20_000 {
            let _ = sender.send_to(&[0; 100], address);
        }
        assert!(dropped(&receiver).unwrap() > 0);
    }

    /// A reload moves a receiver from one address to all of them and back while the old socket is
    /// still open; a stranger stays out all the time.
    #[test]
    fn an_address_that_overlaps_one_s_own_is_bound_beside_it() {
        let old = bind("127.0.0.1", 0).unwrap();
        let port = UdpSocket::from(old.try_clone().unwrap())
            .local_addr()
            .unwrap()
            .port();
        let is_free = || bind("127.0.0.1", port).is_ok();
        let wide = bind_beside("", port, &[old.as_fd()]).unwrap();
        assert!(!is_free());
        drop(old);
        assert!(!is_free());
        let new = bind_beside("127.0.0.1", port, &[wide.as_fd()]).unwrap();
        drop(wide);
        assert!(!is_free());
        drop(new);
        assert!(is_free());
    }

    #[test]
    fn only_addresses_and_all_of_them() {
        assert!(
            bind("localhost", 0).is_err(),
            "names are not looked up here"
        );
        assert!(bind("", 0).is_ok());
        assert!(bind("192.0.2.1", 0).is_err());
    }
}
