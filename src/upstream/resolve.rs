//! Names to addresses, on a helper thread, remembered per child.
//!
//! A worker's name is looked up once and kept for ever (or for `addressttl`), as httpd does; when
//! all of its addresses fail it is looked up once more. Requests that need the same name while it
//! is being looked up wait for the one look-up.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::net::{IpAddr, ToSocketAddrs};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::clock::{self, Mono};
use crate::reactor::{Lane, helper, spawn};

/// Names remembered at once. A configuration has few; a URL made from a request may name any.
const MOST_NAMES: usize = 1024;

/// The addresses of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// In the resolver's order, none twice, at least one.
    pub list: Rc<[IpAddr]>,
    /// When they were looked up; `None` for a name that is an address.
    at: Option<Mono>,
}

/// The name did not resolve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ResolveError(pub String);

/// A child's memory of names.
#[derive(Debug, Default)]
pub struct Resolver {
    names: RefCell<HashMap<String, Entry>>,
}

#[derive(Debug)]
enum Entry {
    Known(Addresses),
    Pending(Rc<Lookup>),
}

/// A look-up under way.
#[derive(Debug, Default)]
struct Lookup {
    result: RefCell<Option<Result<Addresses, ResolveError>>>,
    wakers: RefCell<Vec<Waker>>,
}

impl Resolver {
    /// The addresses of `host` (IPv6 without brackets). `ttl`: how long an answer is good for;
    /// `None`: for ever. `not`: addresses that all failed, so that only a newer look-up will do.
    pub async fn resolve(
        self: &Rc<Self>,
        host: &str,
        ttl: Option<Duration>,
        not: Option<&Addresses>,
    ) -> Result<Addresses, ResolveError> {
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(Addresses {
                list: Rc::new([ip]),
                at: None,
            });
        }
        let lookup = {
            let mut names = self.names.borrow_mut();
            match names.get(host) {
                Some(Entry::Known(known)) if fresh(known, ttl) && Some(known) != not => {
                    return Ok(known.clone());
                }
                Some(Entry::Pending(lookup)) => lookup.clone(),
                _ => {
                    let lookup = Rc::new(Lookup::default());
                    if names.len() >= MOST_NAMES && !names.contains_key(host) {
                        names.retain(|_, e| matches!(e, Entry::Pending(_)));
                    }
                    names.insert(host.into(), Entry::Pending(lookup.clone()));
                    spawn(self.clone().look_up(host.to_string(), lookup.clone()));
                    lookup
                }
            }
        };
        poll_fn(|cx| match &*lookup.result.borrow() {
            Some(result) => Poll::Ready(result.clone()),
            None => {
                lookup.wakers.borrow_mut().push(cx.waker().clone());
                Poll::Pending
            }
        })
        .await
    }

    /// Runs as a task of its own, so that it ends even when the request that wanted it is gone.
    async fn look_up(self: Rc<Self>, host: String, lookup: Rc<Lookup>) {
        let name = host.clone();
        let found = helper(Lane::Backends, move || ask(&name)).await;
        let result = match found {
            Ok(list) => Ok(Addresses {
                list: list.into(),
                at: Some(clock::now()),
            }),
            Err(e) => Err(ResolveError(e)),
        };
        {
            let mut names = self.names.borrow_mut();
            match &result {
                Ok(addresses) => names.insert(host, Entry::Known(addresses.clone())),
                Err(_) => names.remove(&host),
            };
        }
        *lookup.result.borrow_mut() = Some(result);
        for waker in lookup.wakers.take() {
            waker.wake();
        }
    }
}

fn fresh(known: &Addresses, ttl: Option<Duration>) -> bool {
    match (ttl, known.at) {
        (Some(ttl), Some(at)) => clock::now().since(at) < ttl,
        _ => true,
    }
}

/// Blocks: only on a helper thread.
fn ask(host: &str) -> Result<Vec<IpAddr>, String> {
    let found = (host, 0).to_socket_addrs().map_err(|e| e.to_string())?;
    let mut list: Vec<IpAddr> = Vec::new();
    for address in found {
        if !list.contains(&address.ip()) {
            list.push(address.ip());
        }
    }
    if list.is_empty() {
        return Err("the name has no address".into());
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_expires_with_its_time_only() {
        clock::tick();
        let known = Addresses {
            list: Rc::new([IpAddr::from([127, 0, 0, 1])]),
            at: Some(clock::now()),
        };
        assert!(fresh(&known, None));
        assert!(!fresh(&known, Some(Duration::ZERO)));
        assert!(fresh(&known, Some(Duration::from_secs(60))));
    }

    #[test]
    fn localhost_has_each_address_once() {
        let list = ask("localhost").unwrap();
        let mut once = list.clone();
        once.dedup();
        assert!(!list.is_empty() && list == once);
    }
}
