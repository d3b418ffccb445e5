//! The loop itself: waits for events, moves time on, wakes tasks, runs them.
//!
//! `mio::Poll` is the only place that blocks. One turn is: wait (until the next timer at most),
//! read the clock, note readiness, fire timers, run what is queued.

use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use parking_lot::Mutex;

use super::task::{self, TaskNo};
use super::{source, timer};
use crate::clock;

/// Events taken from the kernel in one turn; what is left comes with the next.
const EVENTS: usize = 256;

const WAKER: Token = Token(usize::MAX);

struct Driver {
    poll: RefCell<Poll>,
    events: RefCell<Events>,
    remote: Arc<Remote>,
    /// Tasks were left in the queue by the turn before.
    busy: Cell<bool>,
}

thread_local! {
    static DRIVER: ManuallyDrop<OnceCell<Driver>> = const { ManuallyDrop::new(OnceCell::new()) };
}

/// The part of the loop that other threads may touch.
pub(super) struct Remote {
    thread: ThreadId,
    woken: Mutex<Vec<TaskNo>>,
    waker: Waker,
}

impl Remote {
    pub(super) fn is_this_thread(&self) -> bool {
        std::thread::current().id() == self.thread
    }

    /// Wakes a task from another thread.
    pub(super) fn wake(&self, number: TaskNo) {
        self.woken.lock().push(number);
        // It fails only when the eventfd is gone, and then the loop is gone.
        let _ = self.waker.wake();
    }
}

/// Makes this thread's loop. Nothing when it has one.
///
/// # Errors
/// Out of descriptors.
pub fn start() -> io::Result<()> {
    DRIVER.with(|cell| {
        if cell.get().is_some() {
            return Ok(());
        }
        let poll = Poll::new()?;
        let remote = Arc::new(Remote {
            thread: std::thread::current().id(),
            woken: Mutex::new(Vec::new()),
            waker: Waker::new(poll.registry(), WAKER)?,
        });
        let _ = cell.set(Driver {
            poll: RefCell::new(poll),
            events: RefCell::new(Events::with_capacity(EVENTS)),
            remote,
            busy: Cell::new(false),
        });
        clock::tick();
        Ok(())
    })
}

fn with<T>(f: impl FnOnce(&Driver) -> T) -> T {
    DRIVER.with(|cell| match cell.get() {
        Some(driver) => f(driver),
        None => unreachable!("reactor::start comes before anything else of the reactor"),
    })
}

pub(super) fn remote() -> Arc<Remote> {
    with(|d| Arc::clone(&d.remote))
}

/// The loop's epoll descriptor.
pub(super) fn epoll_fd() -> RawFd {
    with(|d| d.poll.borrow().as_raw_fd())
}

/// Registers a descriptor for both directions, edge-triggered, with its source's number.
pub(super) fn register(fd: RawFd, key: u32) -> io::Result<()> {
    with(|d| {
        d.poll.borrow().registry().register(
            &mut mio::unix::SourceFd(&fd),
            Token(key as usize),
            mio::Interest::READABLE | mio::Interest::WRITABLE,
        )
    })
}

/// One turn. Waits as long as there is nothing to do.
pub fn turn() {
    with(|d| {
        let wait = if d.busy.get() || task::any_queued() {
            Some(Duration::ZERO)
        } else {
            timer::next_deadline().map(|at| at.since(clock::now()))
        };
        let mut events = d.events.borrow_mut();
        let polled = d.poll.borrow_mut().poll(&mut events, wait);
        let now = clock::tick();
        match polled {
            Ok(()) => {
                for event in events.iter() {
                    if event.token() == WAKER {
                        let woken = std::mem::take(&mut *d.remote.woken.lock());
                        woken.into_iter().for_each(task::queue);
                    } else {
                        source::note(event);
                    }
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => log::error!(target: "core", "waiting for events failed: {e}"),
        }
        drop(events);
        timer::fire(now);
        d.busy.set(task::run_queued());
    });
}
