//! `MaxRequestWorkers`: how many requests may be in flight at once in all children.
//!
//! Each child may use its part freely and looks at the others' counts only above it, so that a
//! request costs nothing extra as long as the load is even. Without a bound nothing is counted here.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use crate::clock::{self, Mono};
use crate::reactor::Timer;
use crate::reactor::task::{self, TaskNo};
use crate::shm::{ChildView, Scoreboard};

/// How often the other children's counts are looked at while requests wait here.
const LOOK: Duration = Duration::from_millis(20);

/// The gate that requests pass before they are handled.
pub(super) struct Admission {
    bound: Option<Bound>,
}

struct Bound {
    all: u32,
    part: u32,
    scoreboard: Rc<Scoreboard>,
    view: ChildView,
    waiting: RefCell<VecDeque<TaskNo>>,
    said: Cell<Mono>,
}

impl Admission {
    pub(super) fn new(
        most: Option<u32>,
        children: u16,
        scoreboard: Rc<Scoreboard>,
        view: ChildView,
    ) -> Admission {
        Admission {
            bound: most.map(|all| Bound {
                all,
                part: all / u32::from(children.max(1)),
                scoreboard,
                view,
                waiting: RefCell::new(VecDeque::new()),
                said: Cell::new(Mono(0)),
            }),
        }
    }

    /// Waits until a request may begin, at most `longest`; false when that was not enough.
    pub(super) async fn pass(&self, longest: Duration) -> bool {
        match &self.bound {
            None => true,
            Some(bound) => bound.pass(longest).await,
        }
    }

    /// A request of this child ended.
    pub(super) fn ended(&self) {
        if let Some(bound) = &self.bound
            && let Some(&first) = bound.waiting.borrow().front()
        {
            task::queue(first);
        }
    }
}

impl Bound {
    async fn pass(&self, longest: Duration) -> bool {
        if self.waiting.borrow().is_empty() && self.has_room() {
            return true;
        }
        self.say();
        let me = task::current();
        self.waiting.borrow_mut().push_back(me);
        let _left = Left { bound: self, me };
        let until = clock::now() + longest;
        let mut timer = Timer::new(LOOK.min(longest));
        poll_fn(|cx| {
            loop {
                if self.waiting.borrow().front() == Some(&me) && self.has_room() {
                    return Poll::Ready(true);
                }
                if clock::now() >= until {
                    return Poll::Ready(false);
                }
                if timer.poll_elapsed(cx).is_pending() {
                    return Poll::Pending;
                }
                timer.rearm(LOOK.min(until.since(clock::now())));
            }
        })
        .await
    }

    fn has_room(&self) -> bool {
        self.view.requests() < self.part
            || self
                .scoreboard
                .slots()
                .map(|s| u64::from(s.requests))
                .sum::<u64>()
                < u64::from(self.all)
    }

    /// Once a second at most.
    fn say(&self) {
        if clock::now().since(self.said.get()) >= Duration::from_secs(1) {
            self.said.set(clock::now());
            log::error!(
                target: "core",
                "server reached MaxRequestWorkers ({}): requests wait until others end; raise it if \
                 backends and memory allow more",
                self.all
            );
        }
    }
}

/// Takes a task out of the queue and lets the next one look.
struct Left<'a> {
    bound: &'a Bound,
    me: TaskNo,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        let mut waiting = self.bound.waiting.borrow_mut();
        waiting.retain(|&t| t != self.me);
        if let Some(&first) = waiting.front() {
            task::queue(first);
        }
    }
}
