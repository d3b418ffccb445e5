//! Calls that may block for as long as somebody else likes (a name server that does not answer),
//! each on a thread of its own: they take no helper thread away from requests. The caller bounds how
//! many there are.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::Mutex;

use super::driver;
use super::task;

/// Runs `job` on a thread of its own, started at the first poll; the future gives its value. It may
/// be given up and polled again later, by the same task. Dropped, it leaves the thread to end by
/// itself, and its value is thrown away.
///
/// # Errors
/// Of the job, or when no thread could be started.
pub fn alone<T: Send + 'static>(
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> impl Future<Output = io::Result<T>> {
    let result = Arc::new(Mutex::new(None));
    let mut job = Some(job);
    poll_fn(move |_| {
        if let Some(job) = job.take() {
            let (result, remote, number) = (Arc::clone(&result), driver::remote(), task::current());
            let started = std::thread::Builder::new()
                .name("alone".into())
                .stack_size(256 * 1024)
                .spawn(move || {
                    let value = job();
                    *result.lock() = Some(value);
                    remote.wake(number);
                });
            if let Err(e) = started {
                return Poll::Ready(Err(e));
            }
        }
        match result.lock().take() {
            Some(value) => Poll::Ready(value),
            None => Poll::Pending,
        }
    })
}
