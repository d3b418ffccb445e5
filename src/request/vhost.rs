//! From the connection's local address and the Host field to a virtual host (spec: config 6).
//!
//! Addresses are sorted into buckets once. A request looks its address up in the buckets, then its
//! name in the one bucket that was found, never in another.

use std::cell::Cell;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use crate::config::settings::{HostAddress, Settings};
use crate::ids::ServerNo;

use crate::config::glob;

/// All virtual hosts, sorted for look-ups.
pub struct Hosts {
    buckets: Vec<Bucket>,
    by_address: HashMap<(Option<IpAddr>, Option<u16>), usize>,
    /// The last address asked for and its bucket: a child mostly serves one.
    last: Cell<Option<(SocketAddr, Option<usize>)>>,
}

/// Virtual hosts that share an address.
struct Bucket {
    /// In file order.
    servers: Vec<ServerNo>,
    /// The address as written for each, without port, lower case.
    literals: Vec<String>,
    /// Plain names: the first of the bucket's servers that has it.
    names: HashMap<String, usize>,
    /// Wildcard names with the position of their server.
    wild: Vec<(usize, String)>,
    /// Positions of servers with a ServerPath.
    paths: Vec<(usize, String)>,
}

/// How a virtual host was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No virtual host has the address: the main server.
    Main,
    /// The only one at the address.
    Only,
    /// By ServerName or ServerAlias.
    Name,
    /// By the address written in its tag.
    Literal,
    /// By ServerPath.
    Path,
    /// No name matched: the first one at the address.
    First,
}

impl Found {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Found::Main => "the main server: no virtual host has the address",
            Found::Only => "the only one at the address",
            Found::Name => "by its name",
            Found::Literal => "by the address in its tag",
            Found::Path => "by its ServerPath",
            Found::First => "the first one at the address: none has the name",
        }
    }
}

impl Hosts {
    /// Sorts the virtual hosts of `settings`.
    pub fn new(settings: &Settings) -> Hosts {
        let mut hosts = Hosts {
            buckets: Vec::new(),
            by_address: HashMap::new(),
            last: Cell::new(None),
        };
        for server in settings.servers.iter().skip(1) {
            for address in &server.addresses {
                let key = (address.ip.map(|ip| ip.to_canonical()), address.port);
                let at = *hosts.by_address.entry(key).or_insert_with(|| {
                    hosts.buckets.push(Bucket::new());
                    hosts.buckets.len() - 1
                });
                let bucket = &mut hosts.buckets[at];
                if bucket.servers.last() == Some(&server.no) {
                    continue;
                }
                let position = bucket.servers.len();
                bucket.servers.push(server.no);
                bucket.literals.push(literal(address));
                for name in std::iter::once(&server.name).chain(&server.aliases) {
                    bucket.names.entry(name.clone()).or_insert(position);
                }
                for name in &server.wild_aliases {
                    bucket.wild.push((position, name.clone()));
                }
                if let Some(path) = &server.server_path {
                    bucket.paths.push((position, path.clone()));
                }
            }
        }
        hosts
    }

    /// The server whose limits and timeouts hold on a connection before a name is known.
    pub fn default_server(&self, local: SocketAddr) -> ServerNo {
        self.bucket(local)
            .map_or(ServerNo(0), |b| self.buckets[b].servers[0])
    }

    /// The server for a request. `host`: the name without port, lower case; `path`: for ServerPath,
    /// where there is no name.
    pub fn find(&self, local: SocketAddr, host: Option<&str>, path: &[u8]) -> (ServerNo, Found) {
        let Some(at) = self.bucket(local) else {
            return (ServerNo(0), Found::Main);
        };
        let bucket = &self.buckets[at];
        if bucket.servers.len() == 1 {
            return (bucket.servers[0], Found::Only);
        }
        let (position, found) = match host {
            Some(host) => bucket.by_name(host),
            None => bucket.by_path(path),
        };
        (bucket.servers[position], found)
    }

    /// Whether a server at this address answers to `host` at all (StrictHostCheck).
    pub fn knows(&self, settings: &Settings, local: SocketAddr, host: &str) -> bool {
        match self.bucket(local) {
            Some(at) => self.buckets[at].named(host).is_some(),
            None => {
                let main = &settings.servers[0];
                main.name == host
                    || main.aliases.iter().any(|a| a == host)
                    || main.wild_aliases.iter().any(|w| wild(w, host))
            }
        }
    }

    fn bucket(&self, local: SocketAddr) -> Option<usize> {
        if let Some((address, bucket)) = self.last.get()
            && address == local
        {
            return bucket;
        }
        let (ip, port) = (Some(local.ip().to_canonical()), Some(local.port()));
        let found = [(ip, port), (ip, None), (None, port), (None, None)]
            .iter()
            .find_map(|key| self.by_address.get(key).copied());
        self.last.set(Some((local, found)));
        found
    }
}

impl Bucket {
    fn new() -> Bucket {
        Bucket {
            servers: Vec::new(),
            literals: Vec::new(),
            names: HashMap::new(),
            wild: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// The position of the first server in file order that has the name.
    fn named(&self, host: &str) -> Option<usize> {
        let plain = self.names.get(host).copied();
        let wild = self
            .wild
            .iter()
            .find(|(_, pattern)| wild(pattern, host))
            .map(|(position, _)| *position);
        match (plain, wild) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn by_name(&self, host: &str) -> (usize, Found) {
        if let Some(position) = self.named(host) {
            return (position, Found::Name);
        }
        match self.literals.iter().position(|l| l == host) {
            Some(position) => (position, Found::Literal),
            None => (0, Found::First),
        }
    }

    fn by_path(&self, path: &[u8]) -> (usize, Found) {
        self.paths
            .iter()
            .find(|(_, prefix)| {
                let prefix = prefix.as_bytes();
                path.starts_with(prefix)
                    && (prefix.ends_with(b"/")
                        || matches!(path.get(prefix.len()), None | Some(b'/')))
            })
            .map_or((0, Found::First), |(position, _)| (*position, Found::Path))
    }
}

fn wild(pattern: &str, host: &str) -> bool {
    glob::matches(pattern.as_bytes(), host.as_bytes(), false)
}

/// The address of a tag without its port, as a Host field could name it.
fn literal(address: &HostAddress) -> String {
    let text = address.text.to_ascii_lowercase();
    match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit() || b == b'*') => {
            host.to_string()
        }
        _ => text,
    }
}
