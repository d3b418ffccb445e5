//! A connected socket, TCP or Unix, with cached edge-triggered readiness.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};

use super::source::Source;
use super::timer::sleep;
use crate::sys::transfer;

/// A Unix socket whose backlog is full refuses without saying when to come again.
const UNIX_RETRY: Duration = Duration::from_millis(5);

/// A connected, non-blocking socket in the loop. Dropping it closes the socket.
#[derive(Debug)]
pub struct Stream {
    /// Before `fd`: the place in the table is given up right before the close ends its events.
    source: Source,
    fd: OwnedFd,
}

impl Stream {
    /// Takes a socket that `accept` gave (non-blocking, close-on-exec) into the loop. TCP_NODELAY
    /// is inherited from the listener. `has_data`: the listener hands out only connections that
    /// have sent something, so the first read need not wait for an event.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn from_accepted(fd: OwnedFd, has_data: bool) -> io::Result<Stream> {
        let source = Source::new(fd.as_raw_fd())?;
        if has_data {
            source.set_readable();
        }
        Ok(Stream { source, fd })
    }

    /// Connects over TCP, from `source` when given. No time limit: wrap it in `timeout`.
    /// TCP_NODELAY is set.
    ///
    /// # Errors
    /// Those of socket(2), bind(2) and connect(2), as the kernel's numbers.
    pub async fn connect_tcp(to: SocketAddr, source: Option<IpAddr>) -> io::Result<Stream> {
        let socket = Socket::new(
            Domain::for_address(to),
            Type::STREAM.nonblocking().cloexec(),
            Some(Protocol::TCP),
        )?;
        socket.set_tcp_nodelay(true)?;
        if let Some(ip) = source {
            transfer::bind_without_port(socket.as_raw_fd());
            socket.bind(&SockAddr::from(SocketAddr::new(ip, 0)))?;
        }
        Stream::connect(socket, &SockAddr::from(to)).await
    }

    /// Connects to a Unix stream socket.
    ///
    /// # Errors
    /// Those of socket(2) and connect(2); `InvalidInput` for a path that is too long.
    pub async fn connect_unix(path: &Path) -> io::Result<Stream> {
        let address = SockAddr::unix(path)?;
        loop {
            let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
            match Stream::connect(socket, &address).await {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => sleep(UNIX_RETRY).await,
                other => return other,
            }
        }
    }

    async fn connect(socket: Socket, to: &SockAddr) -> io::Result<Stream> {
        let connected = match socket.connect(to) {
            Ok(()) => true,
            Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => false,
            Err(e) => return Err(e),
        };
        let fd = OwnedFd::from(socket);
        let source = if connected {
            Source::new(fd.as_raw_fd())?
        } else {
            Source::connecting(fd.as_raw_fd())?
        };
        let stream = Stream { source, fd };
        if !connected {
            poll_fn(|_| stream.source.poll_write_ready()).await;
            if stream.source.is_closed()
                && let Some(e) = SockRef::from(&stream.fd).take_error()?
            {
                return Err(e);
            }
        }
        Ok(stream)
    }

    /// Reads what is there; `Ok(0)` is the peer's end.
    pub fn poll_read(&self, _: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        if into.is_empty() {
            return Poll::Ready(Ok(0));
        }
        loop {
            ready!(self.source.poll_read_ready());
            match transfer::receive(self.raw_fd(), into) {
                Ok(n) => {
                    if n < into.len() {
                        self.source.clear_readable();
                    }
                    return Poll::Ready(Ok(n));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.source.clear_readable();
                    if self.source.is_closed() {
                        // Half-closed by us or a race of the end with its event: come again.
                        self.source.wait_for_event();
                        return Poll::Pending;
                    }
                }
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }

    /// `Ready` when a read would not block as far as is known (a read may still find nothing).
    pub fn poll_readable(&self, _: &mut Context<'_>) -> Poll<()> {
        self.source.poll_read_ready()
    }

    /// `Ready` when a write would not block as far as is known.
    pub fn poll_writable(&self, _: &mut Context<'_>) -> Poll<()> {
        self.source.poll_write_ready()
    }

    /// Writes a part of `bytes`, at least one byte.
    pub fn poll_write(&self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(bytes.len(), || transfer::send(self.raw_fd(), bytes))
    }

    /// Writes a part of the slices in one call, at least one byte.
    pub fn poll_writev(
        &self,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all = slices.iter().map(|s| s.len()).sum();
        self.poll_send(all, || transfer::send_slices(self.raw_fd(), slices))
    }

    fn poll_send(
        &self,
        all: usize,
        send: impl Fn() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.source.poll_write_ready());
            match send() {
                Ok(n) => {
                    if n < all {
                        self.source.clear_writable();
                    }
                    return Poll::Ready(Ok(n));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.source.clear_writable();
                }
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }

    /// `poll_read` as a future.
    ///
    /// # Errors
    /// Those of recv(2).
    pub async fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, into)).await
    }

    /// `poll_readable` as a future.
    pub async fn readable(&self) {
        poll_fn(|cx| self.poll_readable(cx)).await;
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// Those of send(2).
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    /// Writes all of `head` and then all of `body`, together as far as the socket takes it.
    ///
    /// # Errors
    /// Those of sendmsg(2).
    pub async fn write_both(&self, head: &[u8], body: &[u8]) -> io::Result<()> {
        let (mut head, mut body) = (head, body);
        while !head.is_empty() && !body.is_empty() {
            let slices = [IoSlice::new(head), IoSlice::new(body)];
            let n = poll_fn(|cx| self.poll_writev(cx, &slices)).await?;
            let of_head = n.min(head.len());
            head = &head[of_head..];
            body = &body[n - of_head..];
        }
        self.write_all(head).await?;
        self.write_all(body).await
    }

    /// Tells the peer that nothing more will be written.
    ///
    /// # Errors
    /// Those of shutdown(2).
    pub fn shutdown_write(&self) -> io::Result<()> {
        SockRef::from(&self.fd).shutdown(std::net::Shutdown::Write)
    }

    /// Sets TCP_NODELAY; an error on a Unix socket.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        SockRef::from(&self.fd).set_tcp_nodelay(on)
    }

    /// Sets SO_KEEPALIVE.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn set_keepalive(&self, on: bool) -> io::Result<()> {
        SockRef::from(&self.fd).set_keepalive(on)
    }

    /// Sets SO_RCVBUF.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn set_receive_buffer(&self, bytes: u32) -> io::Result<()> {
        SockRef::from(&self.fd).set_recv_buffer_size(bytes as usize)
    }

    /// Makes the close at drop a reset, so that a cut body looks cut even without a length. What
    /// the peer has not received by then is lost.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn set_reset_on_close(&self) -> io::Result<()> {
        SockRef::from(&self.fd).set_linger(Some(Duration::ZERO))
    }

    /// The descriptor, for `splice`; still owned by the stream.
    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Somebody read from `raw_fd` until it would block: wait for the next event before reading.
    pub fn clear_readable(&self) {
        self.source.clear_readable();
    }

    /// The same for writing.
    pub fn clear_writable(&self) {
        self.source.clear_writable();
    }

    /// Whether an idle connection is as it should be: open, with nothing to read. Asks the kernel
    /// (a peek that does not block) only when an event came since it was last read empty.
    pub fn is_quiet(&self) -> bool {
        if self.source.is_closed() {
            return false;
        }
        if !self.source.is_readable() {
            return true;
        }
        match transfer::peek(self.raw_fd(), &mut [0]) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear_readable();
                true
            }
            _ => false,
        }
    }

    /// From here on no task waits for this connection (it goes into a pool): any event on it but
    /// mere writability makes it `disturbed`. Look at `is_quiet` first.
    pub fn watch(&self) {
        self.source.watch();
    }

    /// An event came since `watch`: the connection must not be used again.
    pub fn disturbed(&self) -> bool {
        self.source.disturbed()
    }

    /// The peer has closed its sending side, or the connection broke, as far as events told.
    pub fn peer_closed(&self) -> bool {
        self.source.is_closed()
    }

    /// The connection broke (a reset, not a mere end), as far as events told.
    pub fn is_broken(&self) -> bool {
        self.source.is_broken()
    }

    /// The current task is woken by the next event, without anything being read.
    pub fn wait_for_event(&self) {
        self.source.wait_for_event();
    }

    /// This end's address; `None` for a Unix socket. Asks the kernel.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        canonical(SockRef::from(&self.fd).local_addr())
    }

    /// The other end's address; `None` for a Unix socket. Asks the kernel.
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        canonical(SockRef::from(&self.fd).peer_addr())
    }
}

/// An IPv4 connection of a dual-stack listener is an IPv4 connection to everyone else.
fn canonical(address: io::Result<SockAddr>) -> Option<SocketAddr> {
    let mut address = address.ok()?.as_socket()?;
    address.set_ip(address.ip().to_canonical());
    Some(address)
}

#[cfg(test)]
mod tests;
