//! Bytes to messages and back: HTTP/1 heads, framing, chunked bodies, targets, hosts, dates.
//!
//! Nothing here touches a socket, a clock, a file or the log: bytes go in, values come out, so that
//! everything is tested and fuzzed without a network. `conn` drives it for clients, `upstream` for
//! backends. Both sides are held to the same rules: what is ambiguous is refused, never repaired.

pub mod beacon;
pub mod date;
pub mod escape;
pub mod fields;
pub mod heartbeat;
pub mod host;
pub mod http1;
pub mod target;

mod path;

#[cfg(test)]
pub(crate) mod fuzz;
#[cfg(test)]
mod fuzz_tests;
