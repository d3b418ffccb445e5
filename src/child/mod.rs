//! One child process: its loop, accepting, draining, the watchdog's lock.
//!
//! `main` hands [`run`] to the supervisor as what a forked child does. It composes the rooms below
//! it (reactor, upstream, handlers, conn) and knows no protocol itself.

mod accept;
mod balance;
mod run;
mod watchdog;

pub use run::run;
