//! Health checks of balancers' members, made by the child that holds the watchdog's lock.
//!
//! [`Checker`] is a job of the watchdog: at each run it starts the checks whose time has come
//! ([`pace`] spreads them), each a task of its own that opens a connection, sends [`request`]'s bytes,
//! reads the answer by [`answer`] and hands good or bad to [`judge`], whose step goes into the slot
//! table. [`HeartMonitor`] takes what backends say of themselves, [`HeartSender`] tells another proxy of this
//! one. Children only look at the member's status bits; nothing here chooses a member.

pub mod answer;
mod checker;
mod heard;
mod heart_file;
mod heart_monitor;
mod heart_sender;
pub mod judge;
mod looks;
pub mod pace;
mod probe;
pub mod request;
mod target;

pub use checker::Checker;
pub use heart_monitor::HeartMonitor;
pub use heart_sender::HeartSender;
