//! A connection to a backend between two exchanges, or in one.

use std::time::Duration;

use crate::clock::{self, Mono};
use crate::reactor::stream::Stream;

/// A connection to a backend.
#[derive(Debug)]
pub struct Connection {
    /// The socket.
    pub stream: Stream,
    /// Requests that went over it before the present one.
    pub served: u32,
    /// When it became idle.
    pub(super) idle_since: Mono,
    /// The backend closes it at about this time: not to be used any more.
    pub(super) keep_until: Option<Mono>,
}

impl Connection {
    /// A fresh one.
    pub fn new(stream: Stream) -> Connection {
        Connection {
            stream,
            served: 0,
            idle_since: clock::now(),
            keep_until: None,
        }
    }

    /// It was used before, so the backend may have closed it without our knowing.
    pub fn reused(&self) -> bool {
        self.served > 0
    }

    /// Takes in the backend's `Keep-Alive` field: after `timeout` without a request it closes. We
    /// stop using the connection some time before, so that no request crosses the close.
    pub fn announced(&mut self, timeout: Option<Duration>) {
        self.keep_until = timeout.map(|t| clock::now() + t.saturating_sub(margin(t)));
    }

    /// Whether an idle connection may take another request. `ttl`: how long it may have been idle.
    /// `peek`: ask the kernel even when no event came, for requests that must not be lost.
    pub fn usable(&self, ttl: Duration, peek: bool) -> bool {
        let now = clock::now();
        now.since(self.idle_since) < ttl
            && self.keep_until.is_none_or(|until| now < until)
            && !self.stream.disturbed()
            && (!peek || self.is_silent())
    }

    /// Open and with nothing to read, asked of the kernel.
    fn is_silent(&self) -> bool {
        use nix::errno::Errno;
        use nix::sys::socket::{MsgFlags, recv};
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        matches!(
            recv(self.stream.raw_fd(), &mut [0], flags),
            Err(Errno::EAGAIN)
        )
    }

    /// From here on it is idle.
    pub(super) fn rest(&mut self) {
        self.served = self.served.saturating_add(1);
        self.idle_since = clock::now();
        self.stream.watch();
    }
}

/// Of an announced time: a second, at most half of it.
fn margin(timeout: Duration) -> Duration {
    (timeout / 2).min(Duration::from_secs(1))
}

/// The seconds of a `Keep-Alive: timeout=5, max=100` value. `max` is not looked at: a backend that
/// is about to close says `Connection: close` as well.
pub fn keep_alive_timeout(value: &[u8]) -> Option<Duration> {
    for part in crate::codec::fields::tokens(value) {
        let Some((name, number)) = part
            .iter()
            .position(|&b| b == b'=')
            .map(|i| (&part[..i], &part[i + 1..]))
        else {
            continue;
        };
        if crate::codec::fields::trim(name).eq_ignore_ascii_case(b"timeout") {
            let text = std::str::from_utf8(crate::codec::fields::trim(number)).ok()?;
            return text.parse().ok().map(Duration::from_secs);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announced_time_is_found() {
        let s = Duration::from_secs;
        assert_eq!(keep_alive_timeout(b"timeout=5, max=100"), Some(s(5)));
        assert_eq!(keep_alive_timeout(b"max=9 , Timeout = 30"), Some(s(30)));
        assert_eq!(keep_alive_timeout(b"timeout=x"), None);
        assert_eq!(keep_alive_timeout(b"5"), None);
    }

    #[test]
    fn the_margin_is_a_second_or_half() {
        assert_eq!(margin(Duration::from_secs(5)), Duration::from_secs(1));
        assert_eq!(margin(Duration::from_secs(1)), Duration::from_millis(500));
    }
}
