//! Tasks and their run queue.

use std::future::Future;

/// Starts a task on this thread's loop. It is polled for the first time in the loop's next step.
pub fn spawn(future: impl Future<Output = ()> + 'static) {
    let _ = future;
    todo!()
}

/// Runs the loop on this thread until `future` is done and gives its value: for tests and for
/// tools that have no child around them.
pub fn block_on<T: 'static>(future: impl Future<Output = T> + 'static) -> T {
    let _ = future;
    todo!()
}
