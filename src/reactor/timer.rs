//! Timers: one ordered list per duration, since most are one of a few values. Arming, re-arming
//! and cancelling take constant time; nothing here asks the kernel.
//!
//! Time stands still within a turn of the loop, so timers of one duration end in the order in
//! which they were armed, and a new one goes to the end of its list. Where there would be too many
//! different durations, further ones are rounded up by an eighth at most.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use super::forever::{Access, Forever};
use super::task::{self, NOBODY, TaskNo};
use crate::clock::{self, Mono};

/// Lists that are kept for exact durations.
const EXACT: usize = 48;

/// No entry.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    deadline: Mono,
    next: u32,
    previous: u32,
    list: u32,
    task: TaskNo,
}

/// An entry that has ended or is not armed stands in no list.
const NO_LIST: u32 = u32::MAX;

struct List {
    duration: u64,
    first: u32,
    last: u32,
}

struct Timers {
    entries: Vec<Entry>,
    free: Vec<u32>,
    lists: Vec<List>,
}

thread_local! {
    static TIMERS: Forever<Timers> = const {
        Forever::new(Timers {
            entries: Vec::new(),
            free: Vec::new(),
            lists: Vec::new(),
        })
    };
}

impl Timers {
    fn list_for(&mut self, nanos: u64) -> u32 {
        if let Some(i) = self.lists.iter().position(|l| l.duration == nanos) {
            return i as u32;
        }
        let exact = self.lists.len() < EXACT;
        let duration = if exact { nanos } else { rounded(nanos) };
        if !exact && let Some(i) = self.lists.iter().position(|l| l.duration == duration) {
            return i as u32;
        }
        // An empty list may serve another duration.
        if !exact && let Some(i) = self.lists.iter().position(|l| l.first == NONE) {
            self.lists[i].duration = duration;
            return i as u32;
        }
        self.lists.push(List {
            duration,
            first: NONE,
            last: NONE,
        });
        (self.lists.len() - 1) as u32
    }

    fn arm(&mut self, key: u32, after: Duration, task: TaskNo) {
        let nanos = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        let list = self.list_for(nanos);
        let last = self.lists[list as usize].last;
        self.entries[key as usize] = Entry {
            deadline: Mono(
                clock::now()
                    .0
                    .saturating_add(self.lists[list as usize].duration),
            ),
            next: NONE,
            previous: last,
            list,
            task,
        };
        let list = &mut self.lists[list as usize];
        list.last = key;
        if last == NONE {
            list.first = key;
        } else {
            self.entries[last as usize].next = key;
        }
    }

    fn unlink(&mut self, key: u32) {
        let entry = self.entries[key as usize];
        if entry.list == NO_LIST {
            return;
        }
        let list = &mut self.lists[entry.list as usize];
        if entry.previous == NONE {
            list.first = entry.next;
        } else {
            self.entries[entry.previous as usize].next = entry.next;
        }
        if entry.next == NONE {
            self.lists[entry.list as usize].last = entry.previous;
        } else {
            self.entries[entry.next as usize].previous = entry.previous;
        }
        self.entries[key as usize].list = NO_LIST;
    }
}

/// Rounds up so that at most eight lists serve the durations between a power of two and the next.
fn rounded(nanos: u64) -> u64 {
    let step = (nanos.max(1).ilog2()).saturating_sub(3);
    let mask = (1u64 << step) - 1;
    nanos.saturating_add(mask) & !mask
}

/// The time of [`timeout`] was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the time is used up")]
pub struct Elapsed;

/// A future that is ready once its duration has passed since it was made or last re-armed.
#[derive(Debug)]
pub struct Timer {
    key: u32,
}

impl Timer {
    /// Armed at once.
    pub fn new(after: Duration) -> Timer {
        TIMERS.changed(|t| {
            let key = t.free.pop().unwrap_or_else(|| {
                t.entries.push(Entry {
                    deadline: Mono(0),
                    next: NONE,
                    previous: NONE,
                    list: NO_LIST,
                    task: NOBODY,
                });
                (t.entries.len() - 1) as u32
            });
            t.arm(key, after, task::current());
            Timer { key }
        })
    }

    /// Starts again from now, with this duration.
    pub fn rearm(&mut self, after: Duration) {
        TIMERS.changed(|t| {
            t.unlink(self.key);
            t.arm(self.key, after, task::current());
        });
    }

    /// `Ready` once the time has passed.
    pub fn poll_elapsed(&mut self, _: &mut Context<'_>) -> Poll<()> {
        TIMERS.changed(|t| {
            let entry = &mut t.entries[self.key as usize];
            if entry.list == NO_LIST {
                return Poll::Ready(());
            }
            entry.task = task::current();
            Poll::Pending
        })
    }

    /// Whether the time has passed, without waiting for it.
    pub fn elapsed(&self) -> bool {
        TIMERS.borrowed(|t| t.entries[self.key as usize].list == NO_LIST)
    }

    /// When it will be ready.
    pub fn deadline(&self) -> Mono {
        TIMERS.borrowed(|t| t.entries[self.key as usize].deadline)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        TIMERS.changed(|t| {
            t.unlink(self.key);
            t.free.push(self.key);
        });
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_elapsed(cx)
    }
}

/// Waits for `future`, at most `after`. The timer is armed only when the future is not ready at
/// its first poll; a future that is given up is dropped. A zero duration means no waiting at all.
///
/// # Errors
/// [`Elapsed`] when the time passed first.
pub async fn timeout<F: Future>(after: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let mut timer = None;
    poll_fn(|cx| {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(value));
        }
        let timer = timer.get_or_insert_with(|| Timer::new(after));
        timer.poll_elapsed(cx).map(|()| Err(Elapsed))
    })
    .await
}

/// Waits.
pub async fn sleep(after: Duration) {
    Timer::new(after).await;
}

/// When the loop must wake at the latest; `None` without any timer.
pub(super) fn next_deadline() -> Option<Mono> {
    TIMERS.borrowed(|t| {
        t.lists
            .iter()
            .filter(|l| l.first != NONE)
            .map(|l| t.entries[l.first as usize].deadline)
            .min()
    })
}

/// Ends the timers whose time has come and queues their tasks.
pub(super) fn fire(now: Mono) {
    TIMERS.changed(|t| {
        for i in 0..t.lists.len() {
            loop {
                let first = t.lists[i].first;
                if first == NONE || t.entries[first as usize].deadline > now {
                    break;
                }
                t.unlink(first);
                let waiting = t.entries[first as usize].task;
                if waiting != NOBODY {
                    task::queue(waiting);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::task::block_on;
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn timers_end_in_the_order_of_their_deadlines() {
        let order = block_on(async {
            let order = Rc::new(RefCell::new(Vec::new()));
            for ms in [30, 10, 20, 10] {
                let order = Rc::clone(&order);
                super::super::spawn(async move {
                    sleep(MS(ms)).await;
                    order.borrow_mut().push(ms);
                });
            }
            sleep(MS(45)).await;
            order.take()
        });
        assert_eq!(order, [10, 10, 20, 30]);
    }

    #[test]
    fn a_timer_that_is_armed_again_or_dropped_does_not_fire() {
        block_on(async {
            let mut kept = Timer::new(MS(20));
            drop(Timer::new(MS(5)));
            kept.rearm(Duration::from_secs(3600));
            sleep(MS(40)).await;
            assert!(!kept.elapsed());
            kept.rearm(Duration::ZERO);
            kept.await;
            assert_eq!(next_deadline(), None);
        });
    }

    #[test]
    fn timeout_gives_the_value_or_gives_up() {
        block_on(async {
            assert_eq!(
                timeout(MS(1), std::future::pending::<()>()).await,
                Err(Elapsed)
            );
            assert_eq!(timeout(Duration::ZERO, async { 7 }).await, Ok(7));
        });
    }

    #[test]
    fn many_durations_share_lists() {
        block_on(async {
            let timers: Vec<Timer> = (0..5000)
                .map(|i| Timer::new(Duration::from_secs(1000) + MS(i * 17)))
                .collect();
            TIMERS.borrowed(|t| assert!(t.lists.len() < EXACT + 80));
            for (i, timer) in timers.iter().enumerate() {
                let asked = Duration::from_secs(1000) + MS(i as u64 * 17);
                let given = timer.deadline().since(clock::now());
                assert!(given >= asked && given <= asked * 9 / 8);
            }
        });
        assert_eq!(next_deadline(), None);
    }
}
