//! A connected socket, TCP or Unix, with cached edge-triggered readiness.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;
use std::task::{Context, Poll};

/// A connected, non-blocking socket in the loop. Dropping it closes the socket.
#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
}

impl Stream {
    /// Takes a socket that `accept` gave (non-blocking, close-on-exec) into the loop.
    pub fn from_accepted(fd: OwnedFd) -> io::Result<Stream> {
        Ok(Stream { fd })
    }

    /// Connects over TCP, from `source` when given. No time limit: wrap it in `timeout`.
    /// TCP_NODELAY is set.
    pub async fn connect_tcp(to: SocketAddr, source: Option<IpAddr>) -> io::Result<Stream> {
        let _ = (to, source);
        todo!()
    }

    /// Connects to a Unix stream socket.
    pub async fn connect_unix(path: &Path) -> io::Result<Stream> {
        let _ = path;
        todo!()
    }

    /// Reads what is there; `Ok(0)` is the peer's end.
    pub fn poll_read(&self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let _ = (cx, into);
        todo!()
    }

    /// `Ready` when a read would not block as far as is known (a read may still find nothing).
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        todo!()
    }

    /// `Ready` when a write would not block as far as is known.
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        todo!()
    }

    /// Writes a part of `bytes`, at least one byte.
    pub fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let _ = (cx, bytes);
        todo!()
    }

    /// Writes a part of the slices in one call, at least one byte.
    pub fn poll_writev(
        &self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let _ = (cx, slices);
        todo!()
    }

    /// `poll_read` as a future.
    pub async fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, into)).await
    }

    /// `poll_readable` as a future.
    pub async fn readable(&self) {
        poll_fn(|cx| self.poll_readable(cx)).await;
    }

    /// Writes all of `bytes`.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    /// Writes all of `head` and then all of `body`, together as far as the socket takes it.
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
    pub fn shutdown_write(&self) -> io::Result<()> {
        todo!()
    }

    /// Sets TCP_NODELAY; nothing on a Unix socket.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        let _ = on;
        todo!()
    }

    /// Sets SO_KEEPALIVE.
    pub fn set_keepalive(&self, on: bool) -> io::Result<()> {
        let _ = on;
        todo!()
    }

    /// Sets SO_RCVBUF.
    pub fn set_receive_buffer(&self, bytes: u32) -> io::Result<()> {
        let _ = bytes;
        todo!()
    }

    /// Makes the close at drop a reset, so that a cut body looks cut even without a length.
    pub fn set_reset_on_close(&self) -> io::Result<()> {
        todo!()
    }

    /// The descriptor, for `splice`; still owned by the stream.
    pub fn raw_fd(&self) -> RawFd {
        use std::os::fd::AsRawFd;
        self.fd.as_raw_fd()
    }

    /// Somebody read from `raw_fd` until it would block: wait for the next event before reading.
    pub fn clear_readable(&self) {
        todo!()
    }

    /// The same for writing.
    pub fn clear_writable(&self) {
        todo!()
    }

    /// Whether an idle connection is as it should be: open, with nothing to read. Asks the kernel
    /// (a peek that does not block) only when an event came since it was last read empty.
    pub fn is_quiet(&self) -> bool {
        todo!()
    }

    /// From here on no task waits for this connection (it goes into a pool): any event on it
    /// makes it `disturbed`.
    pub fn watch(&self) {
        todo!()
    }

    /// An event came since `watch`: the connection must not be used again.
    pub fn disturbed(&self) -> bool {
        todo!()
    }

    /// The peer has closed its sending side, or the connection broke, as far as events told.
    pub fn peer_closed(&self) -> bool {
        todo!()
    }

    /// This end's address; `None` for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        todo!()
    }

    /// The other end's address; `None` for a Unix socket.
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        todo!()
    }
}
