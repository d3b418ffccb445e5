//! Tasks and their run queue.
//!
//! A task's waker only pushes the task's number on the queue; wakers live in the task's slot and
//! are used again by the next task with that number, so a stale wake-up is at worst one poll too
//! many, which every future must bear anyway.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::driver;

/// A task's number; [`NOBODY`] where no task is meant.
pub type TaskNo = u32;

/// The number that no task has.
pub const NOBODY: TaskNo = u32::MAX;

/// Times that the queue is worked through before the kernel is asked for events again.
const ROUNDS: usize = 4;

type Job = Pin<Box<dyn Future<Output = ()>>>;

struct Slot {
    job: Option<Job>,
    waker: Option<Waker>,
    /// It stands in the queue.
    queued: bool,
    /// A task lives here (its job is out of the slot while it is polled).
    live: bool,
}

struct Tasks {
    slots: RefCell<Vec<Slot>>,
    free: RefCell<Vec<TaskNo>>,
    queue: RefCell<VecDeque<TaskNo>>,
    current: Cell<TaskNo>,
    live: Cell<usize>,
}

thread_local! {
    // Never dropped: a child ends by leaving the process, and without a destructor each access is
    // a plain one.
    static TASKS: ManuallyDrop<Tasks> = const {
        ManuallyDrop::new(Tasks {
            slots: RefCell::new(Vec::new()),
            free: RefCell::new(Vec::new()),
            queue: RefCell::new(VecDeque::new()),
            current: Cell::new(NOBODY),
            live: Cell::new(0),
        })
    };
}

struct TaskWaker {
    number: TaskNo,
    remote: Arc<driver::Remote>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.remote.is_this_thread() {
            queue(self.number);
        } else {
            self.remote.wake(self.number);
        }
    }
}

/// Starts a task on this thread's loop. It is polled for the first time in the loop's next step.
pub fn spawn(future: impl Future<Output = ()> + 'static) {
    spawn_boxed(Box::pin(future));
}

fn spawn_boxed(job: Job) {
    TASKS.with(|t| {
        let mut slots = t.slots.borrow_mut();
        let number = t.free.borrow_mut().pop().unwrap_or_else(|| {
            slots.push(Slot {
                job: None,
                waker: None,
                queued: false,
                live: false,
            });
            (slots.len() - 1) as TaskNo
        });
        let slot = &mut slots[number as usize];
        slot.job = Some(job);
        slot.live = true;
        t.live.set(t.live.get() + 1);
        drop(slots);
        queue(number);
    });
}

/// Puts a task on the run queue; nothing for one that is there already or has ended.
pub fn queue(number: TaskNo) {
    TASKS.with(|t| {
        if let Some(slot) = t.slots.borrow_mut().get_mut(number as usize)
            && slot.live
            && !slot.queued
        {
            slot.queued = true;
            t.queue.borrow_mut().push_back(number);
        }
    });
}

/// The task that is being polled, [`NOBODY`] outside of any.
pub fn current() -> TaskNo {
    TASKS.with(|t| t.current.get())
}

/// Tasks that have not ended.
pub fn count() -> usize {
    TASKS.with(|t| t.live.get())
}

/// Somebody is queued.
pub(super) fn any_queued() -> bool {
    TASKS.with(|t| !t.queue.borrow().is_empty())
}

/// Polls what is queued, and what that queues, for a bounded number of rounds. True when
/// something is left.
pub(super) fn run_queued() -> bool {
    TASKS.with(|t| {
        for _ in 0..ROUNDS {
            let many = t.queue.borrow().len();
            if many == 0 {
                return false;
            }
            for _ in 0..many {
                let Some(number) = t.queue.borrow_mut().pop_front() else {
                    break;
                };
                run(t, number);
            }
        }
        !t.queue.borrow().is_empty()
    })
}

fn run(t: &Tasks, number: TaskNo) {
    let (mut job, waker) = {
        let mut slots = t.slots.borrow_mut();
        let slot = &mut slots[number as usize];
        slot.queued = false;
        let Some(job) = slot.job.take() else {
            return;
        };
        let waker = slot.waker.take().unwrap_or_else(|| {
            Waker::from(Arc::new(TaskWaker {
                number,
                remote: driver::remote(),
            }))
        });
        (job, waker)
    };
    t.current.set(number);
    let polled = job.as_mut().poll(&mut Context::from_waker(&waker));
    t.current.set(NOBODY);
    if polled.is_ready() {
        // Its destructors may wake and spawn: no borrow is held here.
        drop(job);
        let mut slots = t.slots.borrow_mut();
        let slot = &mut slots[number as usize];
        slot.waker = Some(waker);
        slot.live = false;
        t.live.set(t.live.get() - 1);
        t.free.borrow_mut().push(number);
    } else {
        let mut slots = t.slots.borrow_mut();
        let slot = &mut slots[number as usize];
        slot.job = Some(job);
        slot.waker = Some(waker);
    }
}

/// Lets every other queued task run once before this one goes on.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|_| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        queue(current());
        Poll::Pending
    })
    .await;
}

/// Runs the loop on this thread until `future` is done and gives its value: for tests and for
/// tools that have no child around them. Panics where the kernel gives no epoll descriptor.
pub fn block_on<T: 'static>(future: impl Future<Output = T> + 'static) -> T {
    driver::start().expect("an epoll descriptor for the loop");
    let result = Rc::new(Cell::new(None));
    let out = Rc::clone(&result);
    spawn(async move { out.set(Some(future.await)) });
    loop {
        driver::turn();
        if let Some(value) = result.take() {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[test]
    fn tasks_wake_each_other_and_numbers_are_used_again() {
        block_on(async {
            for _ in 0..100 {
                let cell = Rc::new((Cell::new(false), RefCell::new(None::<Waker>)));
                let other = Rc::clone(&cell);
                spawn(async move {
                    other.0.set(true);
                    if let Some(w) = other.1.borrow_mut().take() {
                        w.wake();
                    }
                });
                poll_fn(|cx| {
                    if cell.0.get() {
                        return Poll::Ready(());
                    }
                    *cell.1.borrow_mut() = Some(cx.waker().clone());
                    Poll::Pending
                })
                .await;
            }
            yield_now().await;
        });
        TASKS.with(|t| assert!(t.slots.borrow().len() <= 3));
        assert_eq!(count(), 0);
    }

    #[test]
    fn a_wake_from_another_thread_arrives() {
        block_on(async {
            let mut started = false;
            let flag = Arc::new(std::sync::atomic::AtomicBool::new(false));
            poll_fn(|cx| {
                if flag.load(std::sync::atomic::Ordering::Acquire) {
                    return Poll::Ready(());
                }
                if !started {
                    started = true;
                    let (waker, flag) = (cx.waker().clone(), Arc::clone(&flag));
                    std::thread::spawn(move || {
                        flag.store(true, std::sync::atomic::Ordering::Release);
                        waker.wake();
                    });
                }
                Poll::Pending
            })
            .await;
        });
    }
}
