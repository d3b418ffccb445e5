//! What one loop offers its tasks: a run queue, sockets with cached readiness, timers, pooled
//! buffers, helper threads. All of it belongs to the thread that runs the loop and is made after
//! the fork; nothing here may be used by the supervisor.
//!
//! Callers: `upstream`, `conn`, `child`, handlers. It knows no protocol and no configuration.
//!
//! A task is polled as a whole: a future inside it that waits remembers the number of the task,
//! not the waker it was given, so a task that waits for several things at once polls each of them
//! whenever it is woken.

mod alone;
pub mod buffers;
pub mod driver;
mod forever;
pub mod helper;
pub mod source;
pub mod splice;
pub mod stream;
pub mod task;
pub mod timer;

pub use alone::alone;
pub use buffers::Buf;
pub use helper::{Lane, helper};
pub use stream::Stream;
pub use task::spawn;
pub use timer::{Elapsed, Timer, timeout};
