//! Host names for `Require host`, `Allow from`, `HostnameLookups` and `UseCanonicalName DNS`, asked
//! on helper threads and kept for a while.
//!
//! Each is asked for once at a time, however many requests need it: they wait for the one answer, so
//! that a name server that is silent about one does not keep all threads from the others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::hash::Hash;
use std::net::{IpAddr, ToSocketAddrs};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::clock::{self, Mono};
use crate::reactor::{Lane, helper, spawn};

/// How long an answer is believed.
const TTL: Duration = Duration::from_secs(60);
/// At most so many answers are kept; then all are forgotten.
const BOUND: usize = 2048;
/// At most so many are asked for at once; what else is needed then counts as not found.
const MOST_ASKED: usize = 2048;

/// Answers that are still believed.
#[derive(Default)]
pub struct Names {
    reverse: Rc<Kept<IpAddr, Option<String>>>,
    forward: Rc<Kept<String, Vec<IpAddr>>>,
}

impl Names {
    /// The name of an address, and only if the name's addresses hold it again.
    pub async fn verified(&self, ip: IpAddr) -> Option<String> {
        self.reverse.get(&ip, name_of).await
    }

    /// The addresses of a name.
    pub async fn addresses(&self, name: &str) -> Vec<IpAddr> {
        self.forward.get(&name.to_string(), addresses_of).await
    }
}

/// Blocks: only on a helper thread.
fn name_of(ip: &IpAddr) -> Option<String> {
    let name = dns_lookup::lookup_addr(ip).ok()?;
    let same = addresses_of(&name).contains(ip);
    same.then(|| name.trim_end_matches('.').to_ascii_lowercase())
}

/// Blocks: only on a helper thread.
#[allow(clippy::ptr_arg)]
fn addresses_of(name: &String) -> Vec<IpAddr> {
    (name.as_str(), 0)
        .to_socket_addrs()
        .map(|all| all.map(|a| a.ip().to_canonical()).collect())
        .unwrap_or_default()
}

struct Kept<K, V> {
    known: RefCell<HashMap<K, (Mono, V)>>,
    /// What is asked for now, and who waits for it.
    asked: RefCell<HashMap<K, Vec<Waker>>>,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Kept {
            known: RefCell::default(),
            asked: RefCell::default(),
        }
    }
}

impl<K, V> Kept<K, V>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Default + Send + 'static,
{
    /// `ask` blocks.
    async fn get(self: &Rc<Self>, key: &K, ask: impl FnOnce(&K) -> V + Copy + Send + 'static) -> V {
        poll_fn(|cx| {
            if let Some(known) = self.fresh(key) {
                return Poll::Ready(known);
            }
            let mut asked = self.asked.borrow_mut();
            if let Some(waiting) = asked.get_mut(key) {
                waiting.push(cx.waker().clone());
                return Poll::Pending;
            }
            if asked.len() >= MOST_ASKED {
                return Poll::Ready(V::default());
            }
            asked.insert(key.clone(), vec![cx.waker().clone()]);
            spawn(Rc::clone(self).look_up(key.clone(), ask));
            Poll::Pending
        })
        .await
    }

    /// A task of its own, so that it ends even when the request that wanted it is gone.
    async fn look_up(self: Rc<Self>, key: K, ask: impl FnOnce(&K) -> V + Send + 'static) {
        let theirs = key.clone();
        let found = helper(Lane::Clients, move || ask(&theirs)).await;
        let waiting = self.asked.borrow_mut().remove(&key);
        self.keep(key, found);
        for waker in waiting.into_iter().flatten() {
            waker.wake();
        }
    }

    fn fresh(&self, key: &K) -> Option<V> {
        self.known
            .borrow()
            .get(key)
            .filter(|(since, _)| clock::now() - *since < TTL)
            .map(|(_, value)| value.clone())
    }

    fn keep(&self, key: K, value: V) {
        let mut known = self.known.borrow_mut();
        if known.len() >= BOUND {
            known.clear();
        }
        known.insert(key, (clock::now(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::task::{block_on, yield_now};
    use crate::reactor::timeout;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static GATE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    static ASKED: AtomicUsize = AtomicUsize::new(0);

    fn slow(key: &u32) -> u32 {
        if *key == 0 {
            ASKED.fetch_add(1, Ordering::SeqCst);
            let _closed = GATE.lock();
        }
        *key + 1
    }

    /// A name that a silent name server holds up takes one thread, so others are still found.
    #[test]
    fn many_requests_for_one_name_ask_once() {
        let closed = GATE.lock();
        block_on(async {
            let kept: Rc<Kept<u32, u32>> = Rc::default();
            for _ in 0..100 {
                let kept = Rc::clone(&kept);
                spawn(async move {
                    assert_eq!(kept.get(&0, slow).await, 1);
                });
            }
            yield_now().await;
            let other = timeout(Duration::from_secs(10), kept.get(&5, slow)).await;
            assert_eq!(other, Ok(6));
        });
        assert_eq!(ASKED.load(Ordering::SeqCst), 1);
        drop(closed);
    }

    #[test]
    fn all_that_wait_get_the_answer() {
        let sum = block_on(async {
            let kept: Rc<Kept<u32, u32>> = Rc::default();
            let sum = Rc::new(RefCell::new(0));
            for _ in 0..10 {
                let (kept, sum) = (Rc::clone(&kept), Rc::clone(&sum));
                spawn(async move {
                    let value = kept.get(&7, slow).await;
                    *sum.borrow_mut() += value;
                });
            }
            while *sum.borrow() < 80 {
                yield_now().await;
            }
            assert!(kept.asked.borrow().is_empty());
            *sum.borrow()
        });
        assert_eq!(sum, 80);
    }
}
