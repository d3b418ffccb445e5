//! The parent process: it reads the configuration, binds, opens logs, maps the scoreboard, forks
//! children, replaces those that die and follows signals. It never touches traffic, so it never
//! crashes because of traffic. Called by `main`; single-threaded up to and including every fork.

pub mod context;

pub use context::ChildContext;
