//! What servers say about announcements (mod_proxy_beacon), complete and checked.

use std::time::Duration;

pub use super::beacon_allow::{Allowed, admit};
use super::span::Span;
use crate::codec::beacon::{Algorithm, Key, MacPolicy, Origin};
use crate::ids::{BalancerNo, ServerNo};

/// One watchdog slice: the shortest interval.
pub const SLICE: Duration = Duration::from_millis(100);

/// A server that listens for announcements (`ProxyBeaconListen`).
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Whose.
    pub server: ServerNo,
    /// Where it listens.
    pub place: HostPort,
    /// The balancer that backends join; `None`: announcements are only logged.
    pub balancer: Option<BeaconBalancer>,
    /// How long a silent backend stays a member; zero: for ever.
    pub timeout: Duration,
    /// How far an announcer's clock may be off.
    pub max_skew: Duration,
    /// Accepted keys, the new one first; one or two.
    pub keys: Vec<Key>,
    /// Accepted algorithms.
    pub policy: MacPolicy,
    /// Where announced URLs may lead; empty: see [`admit`].
    pub allow: Vec<Allowed>,
    /// Its `ProxyBeaconListen` line.
    pub span: Span,
}

/// `ProxyBeaconBalancer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeaconBalancer {
    /// `balancer://name`, lower case.
    pub name: String,
    /// Its number; `None`: the server has no such balancer.
    pub no: Option<BalancerNo>,
}

/// A server that announces itself (`ProxyBeaconAddress`).
#[derive(Clone, Debug)]
pub struct Sender {
    /// Whose.
    pub server: ServerNo,
    /// The server's name, for `host=`; empty when it has none.
    pub name: String,
    /// Whom it tells, at least one.
    pub targets: Vec<HostPort>,
    /// What it announces.
    pub advertise: Option<Origin>,
    /// How often.
    pub interval: Duration,
    /// The key.
    pub key: Key,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its first `ProxyBeaconAddress` line.
    pub span: Span,
}

/// A place on the network before its name is looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A name or address, IPv6 without brackets; empty: all addresses.
    pub host: String,
    /// 1 to 65535.
    pub port: u16,
}

impl HostPort {
    /// Whether it must be looked up.
    pub fn is_name(&self) -> bool {
        !self.host.is_empty() && self.host.parse::<std::net::IpAddr>().is_err()
    }
}

impl std::fmt::Display for HostPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.host.as_str(), self.port) {
            ("", port) => write!(f, "*:{port}"),
            (host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            (host, port) => write!(f, "{host}:{port}"),
        }
    }
}
