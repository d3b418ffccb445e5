//! The list of connections that wait for a request, longest waiting first: those that can be
//! closed when descriptors run out, and all of them when an old generation must make room.

use std::cell::RefCell;

use crate::reactor::task::{self, TaskNo};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    task: TaskNo,
    next: u32,
    previous: u32,
    /// Told to close.
    told: bool,
}

struct List {
    entries: Vec<Entry>,
    free: Vec<u32>,
    first: u32,
    last: u32,
    count: u32,
}

/// All idle connections of a child.
pub(super) struct Idle(RefCell<List>);

/// A connection's place in the list; given up when dropped.
pub(super) struct Place<'a> {
    idle: &'a Idle,
    key: u32,
}

impl Idle {
    pub(super) fn new() -> Idle {
        Idle(RefCell::new(List {
            entries: Vec::new(),
            free: Vec::new(),
            first: NONE,
            last: NONE,
            count: 0,
        }))
    }

    /// The current task waits for a request from now on.
    pub(super) fn enter(&self) -> Place<'_> {
        let list = &mut *self.0.borrow_mut();
        let entry = Entry {
            task: task::current(),
            next: NONE,
            previous: list.last,
            told: false,
        };
        let key = match list.free.pop() {
            Some(key) => {
                list.entries[key as usize] = entry;
                key
            }
            None => {
                list.entries.push(entry);
                (list.entries.len() - 1) as u32
            }
        };
        match list.last {
            NONE => list.first = key,
            last => list.entries[last as usize].next = key,
        }
        list.last = key;
        list.count += 1;
        Place { idle: self, key }
    }

    /// How many wait.
    pub(super) fn count(&self) -> u32 {
        self.0.borrow().count
    }

    /// Tells the `most` connections that wait longest to close; says how many it told.
    pub(super) fn close(&self, most: usize) -> usize {
        let mut tasks = Vec::new();
        {
            let list = &mut *self.0.borrow_mut();
            let mut at = list.first;
            while at != NONE && tasks.len() < most {
                let entry = &mut list.entries[at as usize];
                if !entry.told {
                    entry.told = true;
                    tasks.push(entry.task);
                }
                at = entry.next;
            }
        }
        tasks.iter().for_each(|&t| task::queue(t));
        tasks.len()
    }
}

impl Place<'_> {
    /// It was told to close.
    pub(super) fn told(&self) -> bool {
        self.idle.0.borrow().entries[self.key as usize].told
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let list = &mut *self.idle.0.borrow_mut();
        let entry = list.entries[self.key as usize];
        match entry.previous {
            NONE => list.first = entry.next,
            previous => list.entries[previous as usize].next = entry.next,
        }
        match entry.next {
            NONE => list.last = entry.previous,
            next => list.entries[next as usize].previous = entry.previous,
        }
        list.free.push(self.key);
        list.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_waiting_are_told_first() {
        let idle = Idle::new();
        let a = idle.enter();
        let b = idle.enter();
        let c = idle.enter();
        drop(b);
        assert_eq!(idle.close(1), 1);
        assert!(a.told() && !c.told());
        assert_eq!(idle.close(5), 1);
        assert!(c.told());
        drop(a);
        drop(c);
        assert_eq!(idle.count(), 0);
        let d = idle.enter();
        assert!(!d.told());
        assert_eq!(idle.0.borrow().entries.len(), 3);
    }
}
