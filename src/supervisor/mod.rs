//! The parent process: it reads the configuration, binds, opens logs, maps the scoreboard, forks
//! children, replaces those that die and follows signals. It never touches traffic, so it never
//! crashes because of traffic. Called by `main`; single-threaded up to and including every fork.
//!
//! [`transition`] decides (a pure function over [`state`]); `run` waits, steps and acts; an
//! `estate` is what one generation owns.

pub mod backoff;
mod beacons;
mod child;
pub mod context;
pub mod control;
mod daemon;
pub mod error;
mod estate;
mod hearts;
mod keeping;
pub mod listeners;
mod notes;
mod programs;
mod run;
mod start;
pub mod state;
pub mod transition;

pub use context::ChildContext;
pub use estate::check;
pub use start::{Entry, Options, run};

/// What this program calls itself in logs.
pub const PRODUCT: &str = concat!("muster/", env!("CARGO_PKG_VERSION"));
