//! The watchdog: one child of the instance at a time holds a file lock and does the work that must
//! be done once. The kernel gives the lock back when its holder dies; children try for it at every
//! tick, and at once when the supervisor tells of a death. What the holder does is `jobs`' matter.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::jobs::Jobs;
use crate::shm::ChildView;
use crate::sys::filelock::FileLock;

/// This child's part in it.
pub(super) struct Watchdog {
    lock: RefCell<Option<FileLock>>,
    held: Cell<bool>,
    view: ChildView,
    jobs: Rc<Jobs>,
}

impl Watchdog {
    pub(super) fn new(lock: FileLock, view: ChildView, jobs: Rc<Jobs>) -> Watchdog {
        Watchdog {
            lock: RefCell::new(Some(lock)),
            held: Cell::new(false),
            view,
            jobs,
        }
    }

    /// Tries for the lock; true when this child is the holder.
    pub(super) fn try_hold(&self) -> bool {
        if self.held.get() {
            return true;
        }
        let Some(lock) = &mut *self.lock.borrow_mut() else {
            return false;
        };
        match lock.try_lock() {
            Ok(true) => {
                self.held.set(true);
                self.view.set_watchdog(true);
                log::debug!(target: "watchdog", "this child is the watchdog now");
                self.jobs.begin();
            }
            Ok(false) => {}
            Err(e) => log::warn!(target: "watchdog", "trying for the watchdog lock failed: {e}"),
        }
        self.held.get()
    }

    /// The whole instance ends: the jobs say their last word, and no child begins them anew.
    pub(super) fn depart(&self) {
        self.jobs.depart();
        self.give_up();
    }

    /// The supervisor's word that a stop follows. Between two holders nobody has the lock: then it is
    /// the last word of whoever gets it here, or had it before.
    pub(super) fn stop_follows(&self) {
        let mine = match &mut *self.lock.borrow_mut() {
            Some(lock) => self.held.get() || lock.try_lock().unwrap_or(false),
            None => true,
        };
        if mine {
            self.jobs.last_word();
        }
        self.give_up();
    }

    /// Gives the lock to another child for good: this one drains.
    pub(super) fn give_up(&self) {
        if self.held.replace(false) {
            // Before the lock is free: never two that do the work.
            self.jobs.end();
            self.view.set_watchdog(false);
        }
        *self.lock.borrow_mut() = None;
        self.jobs.close();
    }
}
