//! Helper threads for calls that block (name resolution, file systems that may hang). They are
//! started lazily, after the fork, and talk to the loop only through its waker.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::{Condvar, Mutex};

use super::driver;
use super::task;

/// Threads at most. Slow name servers may hold all of them; what needs one then waits its turn.
const THREADS: usize = 4;

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
    static HELPERS: ManuallyDrop<OnceCell<Arc<Helpers>>> =
        const { ManuallyDrop::new(OnceCell::new()) };
}

/// Runs `job` on a helper thread; the future gives its value. The job is handed over at the first
/// poll. A future that is dropped leaves the job running and its value is thrown away.
pub fn helper<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = T> {
    let result = Arc::new(Mutex::new(None));
    let mut job = Some(job);
    poll_fn(move |_| {
        if let Some(job) = job.take() {
            let (result, remote, number) = (Arc::clone(&result), driver::remote(), task::current());
            hand_over(Box::new(move || {
                let value = job();
                *result.lock() = Some(value);
                remote.wake(number);
            }));
        }
        match result.lock().take() {
            Some(value) => Poll::Ready(value),
            None => Poll::Pending,
        }
    })
}

fn hand_over(job: Job) {
    let helpers = HELPERS.with(|h| Arc::clone(h.get_or_init(Arc::default)));
    let mut queue = helpers.queue.lock();
    queue.jobs.push_back(job);
    if queue.idle >= queue.jobs.len() || queue.threads >= THREADS {
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
    use std::time::Duration;

    #[test]
    fn jobs_run_beside_the_loop_and_give_their_values() {
        let sum = super::super::task::block_on(async {
            let mut sum = 0;
            for i in 0..20u64 {
                sum += helper(move || {
                    std::thread::sleep(Duration::from_millis(1));
                    i
                })
                .await;
            }
            sum
        });
        assert_eq!(sum, 190);
    }
}
