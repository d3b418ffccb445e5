//! Accepting from the listeners that all children share.
//!
//! Each listener is in every child's epoll set with `EPOLLEXCLUSIVE`, level-triggered: an arrival
//! wakes one waiting child. That child decides by the counts in the slot table. One that has
//! clearly more connections than another leaves the set and nudges that other child, which then
//! accepts until the queue is empty or its own turn to pass has come; so a queue that somebody saw
//! is always somebody's business. What dies or stops with a nudge unseen is found by the unasked
//! accept of every tick.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit};
use socket2::SockRef;

use super::balance::{Taker, taker};
use crate::clock::{self, Mono};
use crate::conn::{self, Hub};
use crate::ids::{ChildNo, Generation};
use crate::reactor::source::Source;
use crate::reactor::{spawn, timer};
use crate::shm::Scoreboard;
use crate::sys::accept::accept;
use crate::sys::nudge::Nudge;

/// Most connections accepted from one listener in one turn.
const BATCH: u32 = 32;

/// How long accepting rests when descriptors have run out and none could be freed.
const REST: Duration = Duration::from_millis(100);

/// How often a child that left the set looks whether it may come back, at most.
const LOOK: Duration = Duration::from_millis(5);

/// Most that a draining child takes of what is queued.
const LAST: u32 = 4096;

struct Listener {
    /// `None` once it is closed.
    fd: RefCell<Option<OwnedFd>>,
    source: Source,
    /// Where it listens, when that is one address.
    local: Option<SocketAddr>,
    /// It hands out connections only once they have sent something (AcceptFilter).
    deferred: bool,
    /// How many to accept at the next event. Grows while the queue outlasts it and shrinks when it
    /// was emptied, so that at low load no call is made that finds nothing.
    batch: Cell<u32>,
}

/// What a look at one listener ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The queue is empty.
    Empty,
    /// So many were taken as were asked for.
    Enough,
    /// Another child was asked to go on.
    Passed,
    /// Out of descriptors.
    Exhausted,
}

/// Who this child is among the others.
pub(super) struct Place {
    pub(super) child: ChildNo,
    pub(super) generation: Generation,
    pub(super) scoreboard: Rc<Scoreboard>,
    pub(super) nudges: Rc<[Nudge]>,
}

/// The accepting side of a child.
pub(super) struct Acceptor {
    hub: Rc<Hub>,
    place: Place,
    listeners: Vec<Rc<Listener>>,
    /// The listeners are in this child's set.
    listening: Cell<bool>,
    looked: Cell<Mono>,
    /// Accepting rests until then.
    rests_until: Cell<Mono>,
    ended: Cell<bool>,
    accepted: Cell<u64>,
    /// Descriptors from this number on are a reserve for connections to backends.
    reserve_from: RawFd,
    complained: Cell<Mono>,
}

impl Acceptor {
    /// `listeners`: each with whether it waits for a connection's first bytes.
    pub(super) fn new(
        hub: Rc<Hub>,
        place: Place,
        listeners: impl Iterator<Item = (bool, OwnedFd)>,
    ) -> Rc<Acceptor> {
        let listeners = listeners.map(|(deferred, fd)| {
            // Accepted sockets inherit it, which saves a call for each of them.
            let _ = SockRef::from(&fd).set_tcp_nodelay(true);
            let local = SockRef::from(&fd).local_addr().ok();
            let local = local
                .and_then(|a| a.as_socket())
                .filter(|a| !a.ip().is_unspecified());
            Rc::new(Listener {
                fd: RefCell::new(Some(fd)),
                source: Source::unregistered(),
                local,
                deferred,
                batch: Cell::new(1),
            })
        });
        Rc::new(Acceptor {
            hub,
            place,
            listeners: listeners.collect(),
            listening: Cell::new(false),
            looked: Cell::new(Mono(0)),
            rests_until: Cell::new(Mono(0)),
            ended: Cell::new(false),
            accepted: Cell::new(0),
            reserve_from: reserve(),
            complained: Cell::new(Mono(0)),
        })
    }

    /// Puts the listeners into the loop and starts a task for each.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub(super) fn start(self: &Rc<Self>) -> io::Result<()> {
        self.listen()?;
        for listener in &self.listeners {
            spawn(Rc::clone(self).follow(Rc::clone(listener)));
        }
        if let Some(nudge) = self.place.nudges.get(self.place.child.index()) {
            let source = Source::new(nudge.as_raw_fd())?;
            spawn(Rc::clone(self).follow_nudges(source));
        }
        Ok(())
    }

    async fn follow(self: Rc<Self>, listener: Rc<Listener>) {
        loop {
            poll_fn(|_| listener.source.poll_read_ready()).await;
            listener.source.clear_readable();
            if self.listening.get() {
                let batch = listener.batch.get();
                let end = self.take(&listener, batch);
                listener.batch.set(match end {
                    End::Enough => (batch * 2).min(BATCH),
                    _ => (batch / 2).max(1),
                });
            }
        }
    }

    async fn follow_nudges(self: Rc<Self>, source: Source) {
        loop {
            poll_fn(|_| source.poll_read_ready()).await;
            source.clear_readable();
            self.look();
        }
    }

    /// Accepts unasked: at ticks, when somebody died, when another child passed the turn.
    pub(super) fn look(self: &Rc<Self>) {
        self.come_back();
        if self.ended.get() || self.rests() {
            return;
        }
        for listener in &self.listeners {
            while self.take(listener, BATCH) == End::Enough {}
        }
    }

    /// Once a turn: a child that left the set comes back when it is no longer above the others.
    pub(super) fn after_turn(self: &Rc<Self>) {
        if !self.listening.get() && clock::now().since(self.looked.get()) >= LOOK {
            self.come_back();
        }
    }

    fn come_back(&self) {
        self.looked.set(clock::now());
        if self.listening.get() || self.ended.get() || self.rests() || self.taker() != Taker::Me {
            return;
        }
        if let Err(e) = self.listen() {
            self.complain(&format!("listening again failed: {e}"));
        }
    }

    /// Stops accepting: takes what is queued already, then closes the listeners.
    pub(super) fn end(self: &Rc<Self>) {
        if self.ended.replace(true) {
            return;
        }
        self.leave();
        for listener in &self.listeners {
            // Whoever connected before this process left has been promised an answer, and where
            // no other process listens nobody else can give it.
            self.take(listener, LAST);
            *listener.fd.borrow_mut() = None;
        }
    }

    /// How many connections this child has accepted.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted.get()
    }

    /// Whether another child of the generation accepts.
    pub(super) fn has_others(&self) -> bool {
        let now = clock::now();
        let place = &self.place;
        let most = u32::MAX;
        let slots = place.scoreboard.slots();
        taker(place.child, most, place.generation, now, slots) != Taker::Me
    }

    fn listen(&self) -> io::Result<()> {
        for listener in &self.listeners {
            if let Some(fd) = &*listener.fd.borrow() {
                match listener.source.listen(fd.as_raw_fd()) {
                    Err(e) if e.raw_os_error() != Some(libc::EEXIST) => return Err(e),
                    _ => {}
                }
            }
        }
        self.listening.set(true);
        Ok(())
    }

    fn leave(&self) {
        self.listening.set(false);
        for listener in &self.listeners {
            if let Some(fd) = &*listener.fd.borrow() {
                // It fails only when it was not in.
                let _ = listener.source.unlisten(fd.as_raw_fd());
            }
        }
    }

    fn rests(&self) -> bool {
        clock::now() < self.rests_until.get()
    }

    fn taker(&self) -> Taker {
        let place = &self.place;
        taker(
            place.child,
            self.hub.connections(),
            place.generation,
            clock::now(),
            place.scoreboard.slots(),
        )
    }

    /// Accepts at most `most` connections.
    fn take(self: &Rc<Self>, listener: &Listener, most: u32) -> End {
        let Some(fd) = listener.fd.borrow().as_ref().map(AsRawFd::as_raw_fd) else {
            return End::Empty;
        };
        for _ in 0..most {
            if !self.ended.get()
                && let Taker::Other(child) = self.taker()
                && let Some(nudge) = self.place.nudges.get(child.index())
            {
                // First out, then the nudge: what arrives in between is found by the other.
                self.leave();
                nudge.give();
                return End::Passed;
            }
            match accept(fd) {
                Ok((socket, client)) => self.serve(socket, client, listener),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return End::Empty,
                Err(e) if is_exhaustion(&e) => {
                    self.exhausted(&e);
                    return End::Exhausted;
                }
                // The connection broke before it was accepted; others of its kind likewise.
                Err(_) => {}
            }
        }
        End::Enough
    }

    fn serve(self: &Rc<Self>, socket: OwnedFd, client: Option<SocketAddr>, listener: &Listener) {
        self.accepted.set(self.accepted.get() + 1);
        if socket.as_raw_fd() >= self.reserve_from && self.hub.close_idle(1) == 0 {
            let full = io::Error::from_raw_os_error(libc::EMFILE);
            self.exhausted(&full);
        }
        let (local, deferred) = (listener.local, listener.deferred);
        if let Err(e) = conn::serve(&self.hub, socket, client, local, deferred) {
            self.complain(&format!("a connection could not be served: {e}"));
        }
    }

    /// Makes room where possible, else rests; existing connections go on.
    fn exhausted(self: &Rc<Self>, error: &io::Error) {
        self.complain(&format!(
            "no more connections can be accepted for now: {error}; raise the limit of open files, \
             or lower KeepAliveTimeout"
        ));
        let some = (self.hub.idle_connections() / 8).max(8);
        self.hub.close_idle(some as usize);
        if self.ended.get() || self.rests() {
            return;
        }
        self.leave();
        self.rests_until.set(clock::now() + REST);
        let me = Rc::clone(self);
        spawn(async move {
            timer::sleep(REST).await;
            me.look();
        });
    }

    /// One line a second at most.
    fn complain(&self, text: &str) {
        if clock::now().since(self.complained.get()) >= Duration::from_secs(1) {
            self.complained.set(clock::now());
            log::error!(target: "core", "{text}");
        }
    }
}

fn is_exhaustion(e: &io::Error) -> bool {
    matches!(
        e.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
    )
}

/// A sixteenth of the descriptors, 8 to 512, is kept for connections to backends, files and logs.
fn reserve() -> RawFd {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    let kept = (limit / 16).clamp(8, 512);
    RawFd::try_from(limit.saturating_sub(kept)).unwrap_or(RawFd::MAX)
}
