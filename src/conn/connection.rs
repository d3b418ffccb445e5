//! The task of a connection: waits for requests, has them answered, ends it well.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use super::exchange::{Next, log_silent};
use super::hub::Hub;
use super::linger::linger;
use super::pool::Begin;
use super::wire::Wire;
use crate::clock;
use crate::reactor::stream::Stream;
use crate::reactor::{Timer, spawn, task};

/// Serves an accepted connection to its end. `local`: the listener's address where that is a
/// definite one; else the kernel is asked. `has_data`: it has sent something already.
///
/// # Errors
/// The socket could not be put into the loop; it is closed then.
pub fn serve(
    hub: &Rc<Hub>,
    fd: OwnedFd,
    client: Option<SocketAddr>,
    local: Option<SocketAddr>,
    has_data: bool,
) -> io::Result<()> {
    let stream = Stream::from_accepted(fd, has_data)?;
    let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
    let client = client.unwrap_or(unknown);
    let local = local.or_else(|| stream.local_addr()).unwrap_or(unknown);
    let connection = Connection {
        hub: Rc::clone(hub),
        wire: Rc::new(Wire::new(stream, client, local)),
    };
    hub.opened();
    spawn(connection.run());
    Ok(())
}

/// Why the wait for a request ended.
enum Woken {
    /// Something came, perhaps the end.
    Readable,
    TimedOut,
    /// Told to close.
    Told,
}

struct Connection {
    hub: Rc<Hub>,
    wire: Rc<Wire>,
}

impl Connection {
    async fn run(self) {
        let mut served = 0;
        let mut since = clock::now();
        loop {
            if !self.wire.has_bytes() {
                match self.wait(self.patience(served)).await {
                    Woken::Readable => {}
                    Woken::TimedOut => {
                        if served == 0 {
                            log_silent(&self.hub, &self.wire);
                        }
                        return;
                    }
                    Woken::Told => return,
                }
            }
            if served > 0 {
                since = clock::now();
            }
            let begin = Begin {
                hub: Rc::clone(&self.hub),
                wire: Rc::clone(&self.wire),
                served,
                since,
            };
            match self.hub.pool.exchange(begin).await {
                Next::Nothing => {}
                Next::Kept => {
                    served += 1;
                    if self.wire.has_bytes() {
                        // Pipelined requests take their turns with other connections.
                        task::yield_now().await;
                    }
                }
                Next::Close => return,
                Next::Linger => {
                    Box::pin(linger(&self.wire)).await;
                    return;
                }
            }
        }
    }

    /// How long the next request may take to begin.
    fn patience(&self, served: u32) -> Duration {
        if served > 0 {
            let last = self.hub.room.settings.server(self.wire.server.get());
            return last.keep_alive_timeout;
        }
        let server = self.hub.first_server(self.wire.local);
        if server.read_timeout.header.start.is_zero() {
            server.timeout
        } else {
            server.read_timeout.header.start
        }
    }

    async fn wait(&self, longest: Duration) -> Woken {
        let place = self.hub.idle.enter();
        let mut timer = None;
        poll_fn(|cx| {
            if self.wire.stream.poll_readable(cx).is_ready() {
                return Poll::Ready(Woken::Readable);
            }
            if place.told() {
                return Poll::Ready(Woken::Told);
            }
            let timer = timer.get_or_insert_with(|| Timer::new(longest));
            timer.poll_elapsed(cx).map(|()| Woken::TimedOut)
        })
        .await
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.hub.closed();
    }
}

/// Bytes that the task of an idle connection takes.
#[cfg(test)]
pub(super) fn idle_size() -> usize {
    fn size<F>(_: impl FnOnce(Connection) -> F) -> usize {
        size_of::<F>()
    }
    size(Connection::run) + size_of::<Wire>()
}
