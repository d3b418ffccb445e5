//! Choosing: a balancer, perhaps a session's route, and one member of it.
//!
//! [`method`], [`hash`], [`select`] and [`sticky`] are pure. [`Balancing`] applies them to the slot table under the
//! balancer's lock. Called by `handler::proxy`; never touches sockets, never sleeps while a request
//! waits except for the bounded wait for the lock.

mod balancing;
pub mod hash;
mod heartbeat;
mod least_time;
pub mod method;
pub mod select;
pub mod sticky;

pub use balancing::{Asked, Balancing, Busy, Choice, NoMember};
