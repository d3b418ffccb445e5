//! Choosing: a balancer, perhaps a session's route, and one member of it.
//!
//! [`method`], [`hash`], [`select`] and [`sticky`] are pure. [`Balancing`] applies them to the slot table:
//! `choosing` under the balancer's lock, by what `local` keeps of each balancer. Called by
//! `handler::proxy`; never touches sockets, never sleeps while a request waits except for the
//! bounded wait for the lock.

mod balancing;
mod choosing;
pub mod hash;
mod heartbeat;
mod least_time;
mod local;
pub mod method;
pub mod select;
pub mod sticky;

pub use balancing::{Balancing, Busy};
pub use choosing::{Asked, Choice, NoMember};

#[cfg(test)]
mod cost_tests;
