//! One worker's connections in this child: the idle ones, how many are in use, and who waits.
//!
//! The most recently used connection is lent first, so that those that are not needed grow old and
//! are closed. A bound (`max`) is kept by handing a place from the one who is done with it straight
//! to the first who waits: nobody overtakes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::connection::Connection;
use crate::config::settings::WorkerParams;
use crate::reactor::timer::timeout;

/// Idle connections that are kept where `smax` is not written.
const SMAX: usize = 64;

/// How long a connection may be idle where `ttl` is not written.
const TTL: Duration = Duration::from_secs(60);

/// No connection became free within `acquire`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all connections are in use and none became free in time")]
pub struct PoolFull;

/// The connections of one worker in this child.
#[derive(Debug)]
pub struct Reslist {
    min: usize,
    smax: usize,
    max: Option<usize>,
    ttl: Duration,
    acquire: Option<Duration>,
    /// Oldest first.
    idle: RefCell<VecDeque<Connection>>,
    in_use: Cell<usize>,
    waiting: RefCell<VecDeque<Rc<Ticket>>>,
    given_up: Cell<usize>,
}

/// What somebody who waits for a place holds.
#[derive(Debug, Default)]
struct Ticket {
    /// The place is his: it counts as in use.
    granted: Cell<bool>,
    given_up: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Reslist {
    /// Empty, with a worker's bounds.
    pub fn new(params: &WorkerParams) -> Reslist {
        let max = params.max.filter(|&m| m > 0).map(|m| m as usize);
        let smax = params.smax.map_or(SMAX, |s| s as usize);
        let smax = max.map_or(smax, |m| smax.min(m));
        Reslist {
            min: (params.min as usize).min(smax),
            smax,
            max,
            ttl: params.ttl.unwrap_or(TTL),
            acquire: params.acquire,
            idle: RefCell::default(),
            in_use: Cell::new(0),
            waiting: RefCell::default(),
            given_up: Cell::new(0),
        }
    }

    /// Lends an idle connection, or a place to make a new one in ([`Lease::connection`] is `None`).
    /// `fresh`: never an idle one. `peek`: look at the socket before lending it, for requests that
    /// cannot be repeated. `None`: `max` are in use, or others wait already.
    pub fn try_acquire(self: &Rc<Self>, fresh: bool, peek: bool) -> Option<Lease> {
        if let Some(max) = self.max
            && (self.in_use.get() >= max || self.someone_waits())
        {
            return None;
        }
        self.in_use.set(self.in_use.get() + 1);
        Some(self.lease(fresh, peek))
    }

    /// The same, waiting for at most `acquire` when `max` are in use.
    pub async fn acquire(self: &Rc<Self>, fresh: bool, peek: bool) -> Result<Lease, PoolFull> {
        if let Some(lease) = self.try_acquire(fresh, peek) {
            return Ok(lease);
        }
        self.wait().await?;
        Ok(self.lease(fresh, peek))
    }

    /// For a place that is counted already; the lease gives it back.
    fn lease(self: &Rc<Self>, fresh: bool, peek: bool) -> Lease {
        let mut lease = Lease {
            reslist: self.clone(),
            connection: None,
        };
        if fresh {
            self.make_room();
        } else {
            lease.connection = self.take_idle(peek);
        }
        lease
    }

    /// Closes idle connections that are too old or that an event came on. True while some are left.
    pub fn sweep(&self) -> bool {
        let mut idle = self.idle.borrow_mut();
        let mut left = idle.len();
        idle.retain(|c| {
            // `min` spares from `ttl` alone, never from a close that the backend announced.
            let ttl = if left <= self.min {
                Duration::MAX
            } else {
                self.ttl
            };
            let keep = c.usable(ttl, false);
            left -= usize::from(!keep);
            keep
        });
        !idle.is_empty()
    }

    /// Closes all idle connections: the backend is gone, or this child ends.
    pub fn close_idle(&self) {
        self.idle.borrow_mut().clear();
    }

    /// Idle connections at the moment.
    pub fn idle(&self) -> usize {
        self.idle.borrow().len()
    }

    /// Connections (and attempts to make one) in use at the moment.
    pub fn in_use(&self) -> usize {
        self.in_use.get()
    }

    fn take_idle(&self, peek: bool) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        while let Some(connection) = idle.pop_back() {
            if connection.usable(self.ttl, peek) {
                return Some(connection);
            }
        }
        None
    }

    /// A new connection beside idle ones must not exceed the bound.
    fn make_room(&self) {
        let Some(max) = self.max else { return };
        let mut idle = self.idle.borrow_mut();
        while !idle.is_empty() && idle.len() + self.in_use.get() > max {
            idle.pop_front();
        }
    }

    fn put(&self, mut connection: Connection) {
        // What came behind the answer, or an end that came with it, is not for the next request.
        if self.smax == 0 || !connection.stream.is_quiet() {
            return;
        }
        connection.rest();
        let mut idle = self.idle.borrow_mut();
        while idle.len() >= self.smax {
            idle.pop_front();
        }
        idle.push_back(connection);
    }

    /// A place became free: it goes to the first who waits.
    fn leave(&self) {
        let mut waiting = self.waiting.borrow_mut();
        while let Some(ticket) = waiting.pop_front() {
            if ticket.given_up.get() {
                self.given_up.set(self.given_up.get().saturating_sub(1));
                continue;
            }
            ticket.granted.set(true);
            if let Some(waker) = ticket.waker.take() {
                waker.wake();
            }
            return;
        }
        self.in_use.set(self.in_use.get().saturating_sub(1));
    }

    fn someone_waits(&self) -> bool {
        self.waiting.borrow().len() > self.given_up.get()
    }

    async fn wait(&self) -> Result<(), PoolFull> {
        let ticket = Rc::new(Ticket::default());
        self.waiting.borrow_mut().push_back(ticket.clone());
        let place = Place {
            reslist: self,
            ticket: &ticket,
        };
        let granted = poll_fn(|cx| {
            if ticket.granted.get() {
                return Poll::Ready(());
            }
            *ticket.waker.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        });
        match self.acquire {
            None => granted.await,
            Some(most) => timeout(most, granted).await.map_err(|_| PoolFull)?,
        }
        // Served: there is nothing to pass on.
        std::mem::forget(place);
        Ok(())
    }

    fn forget(&self, ticket: &Ticket) {
        if ticket.granted.get() {
            // It was given in the same moment: pass it on.
            return self.leave();
        }
        ticket.given_up.set(true);
        self.given_up.set(self.given_up.get() + 1);
        let mut waiting = self.waiting.borrow_mut();
        // Those who gave up stay in the queue until it moves; not more of them than of the others.
        if self.given_up.get() * 2 > waiting.len() {
            waiting.retain(|t| !t.given_up.get());
            self.given_up.set(0);
        }
    }
}

/// Gives a waiter's place back when its request is dropped or its time is used up.
struct Place<'a> {
    reslist: &'a Reslist,
    ticket: &'a Ticket,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.reslist.forget(self.ticket);
    }
}

/// A place among a worker's connections and, once there is one, the connection. Dropping it closes
/// the connection; [`Lease::give_back`] keeps it for the next request.
#[derive(Debug)]
pub struct Lease {
    reslist: Rc<Reslist>,
    /// The connection; `None` until it was made.
    pub connection: Option<Connection>,
}

impl Lease {
    /// The connection goes back to the idle ones. `served` becomes one more.
    pub fn give_back(mut self) {
        if let Some(connection) = self.connection.take() {
            self.reslist.put(connection);
        }
    }

    /// Takes a connection that became idle meanwhile. False when there is none.
    pub fn take_idle(&mut self, peek: bool) -> bool {
        self.connection = self.reslist.take_idle(peek);
        self.connection.is_some()
    }

    /// Closes the idle connections beside it: this backend does not answer.
    pub fn close_others(&self) {
        self.reslist.close_idle();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Close the socket first, so that the place is really free.
        self.connection = None;
        self.reslist.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    fn list(max: u32) -> Rc<Reslist> {
        Rc::new(Reslist::new(&WorkerParams {
            max: Some(max),
            ..WorkerParams::default()
        }))
    }

    fn now<T>(f: impl Future<Output = T>) -> Option<T> {
        match pin!(f).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(v) => Some(v),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_place_goes_to_the_first_who_waits() {
        let list = list(1);
        let first = now(list.acquire(false, false)).unwrap().unwrap();
        let mut second = Box::pin(list.acquire(false, false));
        let mut third = Box::pin(list.acquire(false, false));
        assert!(now(second.as_mut()).is_none());
        assert!(now(third.as_mut()).is_none());
        drop(first);
        assert!(now(third.as_mut()).is_none());
        let second = now(second.as_mut()).unwrap().unwrap();
        assert_eq!(list.in_use(), 1);
        drop(second);
        assert!(now(third.as_mut()).unwrap().is_ok());
        drop(third);
        assert_eq!(list.in_use(), 0);
    }

    #[test]
    fn one_who_gives_up_passes_his_place_on() {
        let list = list(1);
        let first = now(list.acquire(false, false)).unwrap().unwrap();
        let mut second = Box::pin(list.acquire(false, false));
        let mut third = Box::pin(list.acquire(false, false));
        assert!(now(second.as_mut()).is_none());
        assert!(now(third.as_mut()).is_none());
        drop(first);
        // Granted, but never polled again.
        drop(second);
        assert!(now(third.as_mut()).unwrap().is_ok());
    }

    #[test]
    fn without_a_bound_nobody_waits() {
        let list = Rc::new(Reslist::new(&WorkerParams::default()));
        let leases: Vec<_> = (0..100)
            .map(|_| now(list.acquire(false, false)).unwrap().unwrap())
            .collect();
        assert_eq!(list.in_use(), 100);
        drop(leases);
        assert_eq!(list.in_use(), 0);
    }
}
