//! Listening sockets: bound by the supervisor, inherited by children.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// How to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindOptions {
    /// `ListenBackLog`.
    pub backlog: u32,
    /// `SendBufferSize`; 0: the system's. Connections inherit it.
    pub send_buffer: u32,
    /// `ReceiveBufferSize`; 0: the system's.
    pub receive_buffer: u32,
    /// Hand out a connection only once data has arrived.
    pub defer: bool,
    /// For an IPv6 wildcard: leave IPv4 to another socket.
    pub v6_only: bool,
    /// Share the port with sockets that allow it too. See [`set_shared`].
    pub shared: bool,
}

/// Binds and listens: non-blocking, closed on exec.
///
/// # Errors
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES` (a port below 1024 without privilege), `EAFNOSUPPORT`.
pub fn listen(address: SocketAddr, options: &BindOptions) -> io::Result<OwnedFd> {
    let domain = Domain::for_address(address);
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(domain, kind, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(options.v6_only || !address.ip().is_unspecified())?;
    }
    if options.shared {
        socket.set_reuse_port(true)?;
    }
    // Before listen: the window scale of later connections depends on it.
    adjust_buffers(&SockRef::from(&socket), options)?;
    socket.bind(&address.into())?;
    socket.listen(backlog(options))?;
    let fd = OwnedFd::from(socket);
    adjust(&fd, options)?;
    Ok(fd)
}

/// Applies options that may have changed since to a socket that is kept.
///
/// # Errors
/// Of `setsockopt` or `listen`.
pub fn adjust(fd: &OwnedFd, options: &BindOptions) -> io::Result<()> {
    let socket = SockRef::from(fd);
    adjust_buffers(&socket, options)?;
    // Seconds that a connection may stay without data before it is handed out all the same;
    // httpd's value. 0 switches it off.
    defer_accept(fd, if options.defer { 30 } else { 0 })?;
    socket.listen(backlog(options))
}

/// Whether the port may be shared with another socket of this user that says so too. Linux refuses
/// to bind `127.0.0.1:80` beside a listening `*:80` otherwise. Only switched on for the moment of
/// such a bind: a second instance does not ask for sharing, so it is refused as ever.
///
/// # Errors
/// Of `setsockopt`.
pub fn set_shared(fd: &OwnedFd, on: bool) -> io::Result<()> {
    SockRef::from(fd).set_reuse_port(on)
}

/// The address that a socket is bound to.
///
/// # Errors
/// When it is no internet socket.
pub fn local_address(fd: &OwnedFd) -> io::Result<SocketAddr> {
    SockRef::from(fd)
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::from_raw_os_error(libc::EAFNOSUPPORT))
}

fn adjust_buffers(socket: &SockRef<'_>, options: &BindOptions) -> io::Result<()> {
    if options.send_buffer > 0 {
        socket.set_send_buffer_size(options.send_buffer as usize)?;
    }
    if options.receive_buffer > 0 {
        socket.set_recv_buffer_size(options.receive_buffer as usize)?;
    }
    Ok(())
}

fn backlog(options: &BindOptions) -> i32 {
    i32::try_from(options.backlog).unwrap_or(i32::MAX).max(1)
}

#[allow(unsafe_code)]
fn defer_accept(fd: &OwnedFd, seconds: libc::c_int) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open, and the value is an int whose address and size are given.
    let rc = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    const PLAIN: BindOptions = BindOptions {
        backlog: 16,
        send_buffer: 0,
        receive_buffer: 0,
        defer: false,
        v6_only: false,
        shared: false,
    };

    #[test]
    fn a_move_between_wildcard_and_address_needs_sharing() {
        let wide = listen("0.0.0.0:0".parse().unwrap(), &PLAIN).unwrap();
        let port = local_address(&wide).unwrap().port();
        let narrow: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
        assert!(listen(narrow, &PLAIN).is_err());
        set_shared(&wide, true).unwrap();
        let shared = BindOptions {
            shared: true,
            ..PLAIN
        };
        let second = listen(narrow, &shared).unwrap();
        set_shared(&wide, false).unwrap();
        set_shared(&second, false).unwrap();
        // A second instance, which does not ask for sharing, is refused.
        assert!(listen(narrow, &PLAIN).is_err());
        // The narrower one gets the connection.
        let _client = TcpStream::connect(narrow).unwrap();
        let narrow = TcpListener::from(second);
        narrow.set_nonblocking(false).unwrap();
        narrow.accept().unwrap();
        drop(wide);
    }

    #[test]
    fn a_busy_port_is_refused() {
        let first = listen("127.0.0.1:0".parse().unwrap(), &PLAIN).unwrap();
        let taken = local_address(&first).unwrap();
        let e = listen(taken, &PLAIN).unwrap_err();
        assert_eq!(e.raw_os_error(), Some(libc::EADDRINUSE));
    }
}
