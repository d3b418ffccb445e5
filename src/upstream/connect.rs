//! Opening a connection to a worker: all its addresses within one time, TCP or Unix.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::connection::Connection;
use super::resolve::{Addresses, Resolver};
use crate::clock;
use crate::reactor::stream::Stream;
use crate::reactor::timer::timeout;

/// Where to and how.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The host, IPv6 without brackets.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// A Unix socket instead of the two.
    pub unix: Option<&'a Path>,
    /// The whole time, all addresses and the look-up together.
    pub within: Duration,
    /// `ProxySourceAddress`.
    pub source: Option<IpAddr>,
    /// `addressttl`.
    pub address_ttl: Option<Duration>,
    /// `keepalive`: SO_KEEPALIVE.
    pub keep_alive: bool,
    /// SO_RCVBUF; 0: the system's.
    pub receive_buffer: u32,
    /// `ProxyBlock`: addresses, and names whose addresses, are not connected to.
    pub blocked: &'a [String],
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The name did not resolve.
    Resolve,
    /// Refused, unreachable, no such socket.
    Refused,
    /// Nothing happened in time.
    Timeout,
    /// `ProxyBlock` forbids one of its addresses.
    Blocked,
    /// This machine lacks descriptors, ports or memory: says nothing about the backend.
    Own,
}

/// No connection.
#[derive(Debug)]
pub struct ConnectError {
    /// Why.
    pub why: Why,
    /// One line for the log: address, host and port.
    pub detail: String,
    /// The operating system's error.
    pub os: Option<i32>,
}

/// Opens a connection.
pub async fn connect(
    resolver: &Rc<Resolver>,
    to: &Destination<'_>,
) -> Result<Connection, ConnectError> {
    let connection = match to.unix {
        Some(path) => unix(to, path).await?,
        None => tcp(resolver, to).await?,
    };
    // Neither is worth failing a request for.
    if to.keep_alive {
        let _ = connection.stream.set_keepalive(true);
    }
    if to.receive_buffer > 0 {
        let _ = connection.stream.set_receive_buffer(to.receive_buffer);
    }
    Ok(connection)
}

async fn tcp(resolver: &Rc<Resolver>, to: &Destination<'_>) -> Result<Connection, ConnectError> {
    let until = clock::now() + to.within;
    let left = || until.since(clock::now());
    let mut not: Option<Addresses> = None;
    loop {
        let looked_up = timeout(
            left(),
            resolver.resolve(to.host, to.address_ttl, not.as_ref()),
        )
        .await;
        let addresses = match looked_up {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(e)) => return Err(unresolved(to, &e.0)),
            Err(_) => return Err(unresolved(to, "no answer in time")),
        };
        if let Some(old) = &not
            && old.list == addresses.list
        {
            // The same again: what was tried stands.
            return Err(refused(to, &old.list, None));
        }
        if !to.blocked.is_empty() && is_blocked(resolver, to, &addresses).await {
            return Err(ConnectError {
                why: Why::Blocked,
                detail: format!("{} is blocked", Named(to)),
                os: None,
            });
        }
        match try_all(&addresses, to, left).await {
            Ok(connection) => return Ok(connection),
            Err(e) if e.why != Why::Own && not.is_none() && !is_literal(to.host) => {
                // Perhaps it moved: one more look-up, and another round if that gives others.
                let again = timeout(
                    left(),
                    resolver.resolve(to.host, to.address_ttl, Some(&addresses)),
                )
                .await;
                match again {
                    Ok(Ok(new)) if new.list != addresses.list => not = Some(addresses),
                    _ => return Err(e),
                }
            }
            Err(e) => return Err(e),
        }
    }
}

/// Whether a word of `ProxyBlock` stands for one of these addresses.
async fn is_blocked(resolver: &Rc<Resolver>, to: &Destination<'_>, addresses: &Addresses) -> bool {
    for word in to.blocked {
        // A word that is no name blocks by its text alone.
        let meant = timeout(to.within, resolver.resolve(word, None, None)).await;
        if let Ok(Ok(meant)) = meant
            && meant.list.iter().any(|ip| addresses.list.contains(ip))
        {
            return true;
        }
    }
    false
}

async fn try_all(
    addresses: &Addresses,
    to: &Destination<'_>,
    left: impl Fn() -> Duration,
) -> Result<Connection, ConnectError> {
    let mut last = None;
    let count = addresses.list.len();
    for (i, &ip) in addresses.list.iter().enumerate() {
        let address = SocketAddr::new(ip, to.port);
        // One that does not answer leaves the others their part of the time.
        let share = left() / u32::try_from(count - i).unwrap_or(1);
        match timeout(share, Stream::connect_tcp(address, to.source)).await {
            Ok(Ok(stream)) => return Ok(Connection::new(stream)),
            Ok(Err(e)) => {
                let error = failed(to, &address.to_string(), &e);
                if error.why == Why::Own {
                    return Err(error);
                }
                last = Some(error);
            }
            Err(_) => {
                last = Some(ConnectError {
                    why: Why::Timeout,
                    detail: format!("attempt to connect to {address} ({}) timed out", Named(to)),
                    os: None,
                });
            }
        }
    }
    Err(last.unwrap_or_else(|| refused(to, &addresses.list, None)))
}

async fn unix(to: &Destination<'_>, path: &Path) -> Result<Connection, ConnectError> {
    let error = match timeout(to.within, Stream::connect_unix(path)).await {
        Ok(Ok(stream)) => return Ok(Connection::new(stream)),
        Ok(Err(e)) => e,
        Err(_) => io::Error::from(io::ErrorKind::TimedOut),
    };
    Err(failed(to, &path.display().to_string(), &error))
}

fn failed(to: &Destination<'_>, address: &str, e: &io::Error) -> ConnectError {
    let why = match e.raw_os_error() {
        Some(n) if is_own(n) => Why::Own,
        _ if e.kind() == io::ErrorKind::TimedOut => Why::Timeout,
        _ => Why::Refused,
    };
    ConnectError {
        why,
        detail: format!("attempt to connect to {address} ({}) failed", Named(to)),
        os: e.raw_os_error(),
    }
}

fn refused(to: &Destination<'_>, tried: &[IpAddr], os: Option<i32>) -> ConnectError {
    let address = tried.first().map_or_else(String::new, ToString::to_string);
    ConnectError {
        why: Why::Refused,
        detail: format!("attempt to connect to {address} ({}) failed", Named(to)),
        os,
    }
}

fn unresolved(to: &Destination<'_>, reason: &str) -> ConnectError {
    ConnectError {
        why: Why::Resolve,
        detail: format!("DNS lookup failure for: {}: {reason}", to.host),
        os: None,
    }
}

fn is_literal(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
}

/// Errors of this machine, not of the backend: they never put a member in error.
fn is_own(errno: i32) -> bool {
    matches!(
        errno,
        libc::EMFILE
            | libc::ENFILE
            | libc::ENOBUFS
            | libc::ENOMEM
            | libc::EADDRNOTAVAIL
            | libc::EADDRINUSE
    )
}

/// `host:port` as messages show it.
struct Named<'a>(&'a Destination<'a>);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0.host, self.0.port)
    }
}
