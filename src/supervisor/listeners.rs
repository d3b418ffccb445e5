//! From the sockets of one configuration to those of the next, without a refused connection.
//!
//! A socket whose address stays is kept. One that a wider address takes in (`127.0.0.1:80`, now
//! `*:80`) is kept beside the new one, as a second socket of the same `Listen`: connections that
//! wait in it are answered, and so are those that come. A narrower address beside a wider one that
//! is on its way out needs the two to share the port for the moment of the bind.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use crate::clock;
use crate::config::settings::{Listen, Settings};
use crate::config::span::Span;
use crate::ids::ListenNo;
use crate::sys::socket::{self, BindOptions};

/// What a socket is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Address and port.
    pub address: SocketAddr,
    /// An IPv6 wildcard that takes IPv4 connections too.
    pub dual: bool,
}

/// A bound socket, shared by the generations that use it.
#[derive(Debug)]
pub struct Bound {
    /// As it was asked for.
    pub place: Place,
    /// The socket.
    pub fd: OwnedFd,
}

/// The sockets of one generation with the `Listen` that each serves.
pub type Sockets = Vec<(ListenNo, Rc<Bound>)>;

/// An address that cannot be bound.
#[derive(Debug)]
pub struct BindError {
    /// Which.
    pub address: SocketAddr,
    /// Its `Listen` line.
    pub span: Span,
    /// Why.
    pub error: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: AH00072: make_sock: could not bind to address {} (Listen at {}){}",
            super::error::numbered(&self.error),
            self.address,
            self.span,
            match self.error.kind() {
                io::ErrorKind::AddrInUse => "; another program listens there",
                io::ErrorKind::AddrNotAvailable => "; this machine has no such address",
                io::ErrorKind::PermissionDenied if self.address.port() < 1024 =>
                    "; ports below 1024 are for root",
                _ => "",
            }
        )
    }
}

/// Binds what is new and keeps what stays. `others`: places that older generations' children may
/// still hold for a moment. `patience`: how long to try a busy address of which there is hope.
///
/// # Errors
/// The first address that cannot be had; nothing has changed then.
pub fn bind(
    settings: &Settings,
    old: &Sockets,
    others: &[Place],
    patience: Duration,
) -> Result<Sockets, BindError> {
    let mut sockets: Sockets = Vec::new();
    for listen in &settings.listens {
        let place = place_of(listen, &settings.listens);
        let options = options(settings, listen, place);
        let kept = old.iter().find(|(_, b)| b.place == place);
        let bound = match kept {
            Some((_, b)) => {
                // What cannot be changed on a living socket stays as it was.
                let _ = socket::adjust(&b.fd, &options);
                b.clone()
            }
            None => {
                let hope = others
                    .iter()
                    .any(|o| o.address.port() == place.address.port());
                let patience = if hope { patience.max(HOPE) } else { patience };
                Rc::new(
                    bind_new(place, &options, old, patience).map_err(|error| BindError {
                        address: place.address,
                        span: listen.span.clone(),
                        error,
                    })?,
                )
            }
        };
        sockets.push((listen.no, bound));
    }
    for (_, b) in old {
        let still = |s: &(ListenNo, Rc<Bound>)| Rc::ptr_eq(&s.1, b);
        if sockets.iter().any(still) {
            continue;
        }
        let wider = sockets.iter().find(|(_, w)| covers(w.place, b.place));
        if let Some(no) = wider.map(|(no, _)| *no) {
            sockets.push((no, b.clone()));
        }
    }
    Ok(sockets)
}

/// How long an address is tried that our own children are about to let go.
const HOPE: Duration = Duration::from_secs(1);

fn place_of(listen: &Listen, all: &[Listen]) -> Place {
    let v4_too = |l: &Listen| {
        l.address.ip() == IpAddr::V4(Ipv4Addr::UNSPECIFIED)
            && l.address.port() == listen.address.port()
    };
    let wildcard = listen.address.is_ipv6() && listen.address.ip().is_unspecified();
    Place {
        address: listen.address,
        dual: wildcard && !all.iter().any(v4_too),
    }
}

fn options(settings: &Settings, listen: &Listen, place: Place) -> BindOptions {
    BindOptions {
        backlog: settings.process.listen_backlog,
        send_buffer: settings.process.send_buffer,
        receive_buffer: settings.process.receive_buffer,
        defer: listen.defer,
        v6_only: !place.dual,
        shared: false,
    }
}

fn bind_new(
    place: Place,
    options: &BindOptions,
    old: &Sockets,
    patience: Duration,
) -> io::Result<Bound> {
    let until = clock::read_mono() + patience;
    loop {
        match bind_once(place, options, old) {
            Ok(fd) => return Ok(Bound { place, fd }),
            Err(e) => {
                let busy = e.raw_os_error() == Some(libc::EADDRINUSE);
                if !busy || clock::read_mono() >= until {
                    return Err(e);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn bind_once(place: Place, options: &BindOptions, old: &Sockets) -> io::Result<OwnedFd> {
    let first = bind_family(place, options);
    let busy = |e: &io::Error| e.raw_os_error() == Some(libc::EADDRINUSE);
    let ours: Vec<&Rc<Bound>> = old
        .iter()
        .map(|(_, b)| b)
        .filter(|b| b.place.address.port() == place.address.port())
        .collect();
    match first {
        Err(e) if busy(&e) && !ours.is_empty() => {}
        other => return other,
    }
    for b in &ours {
        socket::set_shared(&b.fd, true)?;
    }
    let shared = BindOptions {
        shared: true,
        ..*options
    };
    let second = bind_family(place, &shared);
    for b in &ours {
        socket::set_shared(&b.fd, false)?;
    }
    let fd = second?;
    socket::set_shared(&fd, false)?;
    Ok(fd)
}

/// A machine without IPv6 still has all its addresses: the IPv4 ones.
fn bind_family(place: Place, options: &BindOptions) -> io::Result<OwnedFd> {
    let result = socket::listen(place.address, options);
    match result {
        Err(e)
            if place.dual
                && matches!(
                    e.raw_os_error(),
                    Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL)
                ) =>
        {
            let all = SocketAddr::from((Ipv4Addr::UNSPECIFIED, place.address.port()));
            socket::listen(all, options)
        }
        other => other,
    }
}

/// Whether every connection to `narrow` may as well come in by `wide`.
fn covers(wide: Place, narrow: Place) -> bool {
    wide.address.port() == narrow.address.port()
        && wide.address.ip().is_unspecified()
        && (wide.dual || wide.address.is_ipv4() == narrow.address.is_ipv4())
        && (wide.dual || !narrow.dual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        match text.strip_prefix("*:") {
            Some(port) => Place {
                address: format!("[::]:{port}").parse().unwrap(),
                dual: true,
            },
            None => Place {
                address: text.parse().unwrap(),
                dual: false,
            },
        }
    }

    #[test]
    fn what_covers_what() {
        let yes = [
            ("*:80", "127.0.0.1:80"),
            ("*:80", "0.0.0.0:80"),
            ("*:80", "[::1]:80"),
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
        ];
        for (w, n) in yes {
            assert!(covers(place(w), place(n)), "{w} {n}");
        }
        let no = [
            ("127.0.0.1:80", "*:80"),
            ("*:80", "127.0.0.1:81"),
            ("0.0.0.0:80", "[::1]:80"),
            ("0.0.0.0:80", "*:80"),
            ("[::]:80", "127.0.0.1:80"),
            ("[::]:80", "*:80"),
        ];
        for (w, n) in no {
            assert!(!covers(place(w), place(n)), "{w} {n}");
        }
    }
}
