//! Looking names up where nothing may wait for it: within a bound, and without leaving an address
//! that is still right.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::time::Duration;

use crate::config::beacon::HostPort;

/// A name that takes longer than this to look up counts as not found.
pub(super) const LOOKUP: Duration = Duration::from_secs(5);

/// All addresses of a place, at least one. Blocks without a bound.
///
/// # Errors
/// Of the resolver.
pub(super) fn look_up(place: &HostPort) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<_> = (place.host.as_str(), place.port)
        .to_socket_addrs()?
        .collect();
    match found.is_empty() {
        true => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the name has no address",
        )),
        false => Ok(found),
    }
}

/// What a look-up that took too long failed with.
pub(super) fn too_late() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "the name was not found in time; is the name server reachable?",
    )
}

/// `job` on a thread of its own, waited for no longer than `limit`. The C library's resolver cannot
/// be interrupted: a thread that is late ends by itself, and what it found is thrown away.
///
/// # Errors
/// Of the job, or that it took too long.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, result) = mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("names".into())
        .spawn(move || {
            // Nobody waits any more when this fails.
            let _ = done.send(job());
        })?;
    result
        .recv_timeout(limit)
        .unwrap_or_else(|_| Err(too_late()))
}

/// The address to use: the one in use while the name still has it, whatever the order is in which a
/// name server lists them, else the first.
pub(super) fn choose(used: Option<SocketAddr>, found: &[SocketAddr]) -> Option<SocketAddr> {
    used.filter(|a| found.contains(a))
        .or(found.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_still_listed_is_kept() {
        let a: SocketAddr = "10.0.0.1:1".parse().unwrap();
        let b: SocketAddr = "10.0.0.2:1".parse().unwrap();
        assert_eq!(choose(None, &[a, b]), Some(a));
        assert_eq!(choose(Some(b), &[a, b]), Some(b));
        assert_eq!(choose(Some(a), &[b, a]), Some(a));
        assert_eq!(choose(Some(a), &[b]), Some(b));
        assert_eq!(choose(Some(a), &[]), None);
    }

    #[test]
    fn nothing_waits_for_a_resolver_that_hangs() {
        let (release, hangs) = mpsc::channel::<()>();
        let late = within(Duration::from_millis(20), move || {
            let _ = hangs.recv();
            Ok(())
        });
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(release);
        assert_eq!(within(LOOKUP, || Ok(3)).unwrap(), 3);
    }
}
