//! Helper threads for calls that block (name resolution, file systems that may hang). They are
//! started lazily, after the fork, and talk to the loop only through its waker.
//!
//! Each kind of call has a [`Lane`] with threads of its own: what hangs in one lane holds up what
//! waits in the same lane only.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::{Condvar, Mutex};

use super::driver;
use super::task;

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Names of backends and of beacons' places, each of which is looked up once at a time.
    Backends,
    /// Names and addresses of clients, which may be as many as there are clients.
    Clients,
    /// Files that the expressions of health checks look at.
    Checks,
    /// The server's own files and sockets.
    Own,
}

impl Lane {
    const COUNT: usize = 4;

    /// Threads at most. A silent name server may hold all of a lane's; what needs one then waits
    /// its turn.
    const fn threads(self) -> usize {
        match self {
            Lane::Backends | Lane::Clients => 16,
            Lane::Checks | Lane::Own => 4,
        }
    }
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    threads: usize,
}

#[derive(Default)]
struct Helpers {
    queue: Mutex<Queue>,
    more: Condvar,
}

thread_local! {
    static HELPERS: ManuallyDrop<OnceCell<[Arc<Helpers>; Lane::COUNT]>> =
        const { ManuallyDrop::new(OnceCell::new()) };
}

/// Runs `job` on a thread of the lane; the future gives its value. The job is handed over at the
/// first poll. When the future is dropped, a job that waits for a thread is never begun; one that
/// runs goes on and its value is thrown away.
pub fn helper<T: Send + 'static>(
    lane: Lane,
    job: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = T> {
    let result = Arc::new(Mutex::new(None));
    let mut job = Some(job);
    poll_fn(move |_| {
        if let Some(job) = job.take() {
            let (result, remote, number) = (Arc::clone(&result), driver::remote(), task::current());
            let job = Box::new(move || {
                if Arc::strong_count(&result) == 1 {
                    return;
                }
                let value = job();
                *result.lock() = Some(value);
                remote.wake(number);
            });
            hand_over(lane, job);
        }
        match result.lock().take() {
            Some(value) => Poll::Ready(value),
            None => Poll::Pending,
        }
    })
}

fn hand_over(lane: Lane, job: Job) {
    let helpers = HELPERS.with(|h| Arc::clone(&h.get_or_init(Default::default)[lane as usize]));
    let mut queue = helpers.queue.lock();
    queue.jobs.push_back(job);
    if queue.idle >= queue.jobs.len() || queue.threads >= lane.threads() {
        helpers.more.notify_one();
        return;
    }
    let theirs = Arc::clone(&helpers);
    let started = std::thread::Builder::new()
        .name("helper".into())
        .stack_size(256 * 1024)
        .spawn(move || work(&theirs));
    match started {
        Ok(_) => queue.threads += 1,
        Err(_) if queue.threads > 0 => {
            helpers.more.notify_one();
        }
        Err(e) => {
            log::error!(target: "core", "no helper thread could be started: {e}");
            // Better to block once than never to answer.
            if let Some(job) = queue.jobs.pop_back() {
                drop(queue);
                job();
            }
        }
    }
}

fn work(helpers: &Helpers) {
    let mut queue = helpers.queue.lock();
    loop {
        match queue.jobs.pop_front() {
            Some(job) => {
                drop(queue);
                job();
                queue = helpers.queue.lock();
            }
            None => {
                queue.idle += 1;
                helpers.more.wait(&mut queue);
                queue.idle -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::task::{block_on, spawn, yield_now};
    use crate::reactor::timer::timeout;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn jobs_run_beside_the_loop_and_give_their_values() {
        let sum = block_on(async {
            let mut sum = 0;
            for i in 0..20u64 {
                sum += helper(Lane::Own, move || {
                    std::thread::sleep(Duration::from_millis(1));
                    i
                })
                .await;
            }
            sum
        });
        assert_eq!(sum, 190);
    }

    /// Hung file systems and silent name servers of clients must not take members' names along.
    #[test]
    fn a_lane_that_hangs_holds_up_no_other() {
        let mut gates = Vec::new();
        let mut stuck = || {
            let (open, wait) = channel::<()>();
            gates.push(open);
            wait
        };
        let jobs: Vec<_> = [Lane::Checks, Lane::Clients, Lane::Own]
            .iter()
            .flat_map(|lane| (0..20).map(move |_| *lane))
            .map(|lane| (lane, stuck()))
            .collect();
        block_on(async move {
            for (lane, wait) in jobs {
                spawn(async move {
                    let _ = helper(lane, move || wait.recv()).await;
                });
            }
            yield_now().await;
            assert_eq!(timeout(LONG, helper(Lane::Backends, || 7)).await, Ok(7));
        });
        drop(gates);
    }

    /// Nobody waits for it any more, so it would only hold up others.
    #[test]
    fn what_nobody_waits_for_is_not_begun() {
        let begun = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&begun);
        let gates: Vec<_> = (0..Lane::Own.threads()).map(|_| channel::<()>()).collect();
        block_on(async move {
            let (open, waits): (Vec<_>, Vec<_>) = gates.into_iter().unzip();
            for wait in waits {
                spawn(async move {
                    let _ = helper(Lane::Own, move || wait.recv()).await;
                });
            }
            yield_now().await;
            let count = move || seen.fetch_add(1, Ordering::SeqCst);
            let given_up = timeout(Duration::from_millis(1), helper(Lane::Own, count)).await;
            assert!(given_up.is_err());
            drop(open);
            assert_eq!(timeout(LONG, helper(Lane::Own, || 7)).await, Ok(7));
        });
        assert_eq!(begun.load(Ordering::SeqCst), 0);
    }
}
