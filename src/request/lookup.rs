//! Host names for `Require host`, `Allow from`, `HostnameLookups` and `UseCanonicalName DNS`, asked
//! on helper threads and kept for a while.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, ToSocketAddrs};
use std::time::Duration;

use crate::clock::{self, Mono};
use crate::reactor::{self, Lane};

/// How long an answer is believed.
const TTL: Duration = Duration::from_secs(60);
/// At most so many answers are kept; then all are forgotten.
const BOUND: usize = 2048;

/// Answers that are still believed.
#[derive(Default)]
pub struct Names {
    reverse: RefCell<HashMap<IpAddr, (Mono, Option<String>)>>,
    forward: RefCell<HashMap<String, (Mono, Vec<IpAddr>)>>,
}

impl Names {
    /// The name of an address, and only if the name's addresses hold it again.
    pub async fn verified(&self, ip: IpAddr) -> Option<String> {
        if let Some(known) = fresh(&self.reverse, &ip) {
            return known;
        }
        let found = reactor::helper(Lane::Clients, move || {
            let name = dns_lookup::lookup_addr(&ip).ok()?;
            addresses(&name).contains(&ip).then_some(name)
        })
        .await
        .map(|name| name.trim_end_matches('.').to_ascii_lowercase());
        keep(&self.reverse, ip, found.clone());
        found
    }

    /// The addresses of a name.
    pub async fn addresses(&self, name: &str) -> Vec<IpAddr> {
        if let Some(known) = fresh(&self.forward, name) {
            return known;
        }
        let asked = name.to_string();
        let found = reactor::helper(Lane::Clients, move || addresses(&asked)).await;
        keep(&self.forward, name.to_string(), found.clone());
        found
    }
}

fn addresses(name: &str) -> Vec<IpAddr> {
    (name, 0)
        .to_socket_addrs()
        .map(|all| all.map(|a| a.ip().to_canonical()).collect())
        .unwrap_or_default()
}

fn fresh<K, Q, V>(kept: &RefCell<HashMap<K, (Mono, V)>>, key: &Q) -> Option<V>
where
    K: std::hash::Hash + Eq + std::borrow::Borrow<Q>,
    Q: std::hash::Hash + Eq + ?Sized,
    V: Clone,
{
    kept.borrow()
        .get(key)
        .filter(|(since, _)| clock::now() - *since < TTL)
        .map(|(_, value)| value.clone())
}

fn keep<K: std::hash::Hash + Eq, V>(kept: &RefCell<HashMap<K, (Mono, V)>>, key: K, value: V) {
    let mut kept = kept.borrow_mut();
    if kept.len() >= BOUND {
        kept.clear();
    }
    kept.insert(key, (clock::now(), value));
}
