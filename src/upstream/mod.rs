//! Reaching a worker: names, connections, one exchange, and whether a request may be sent again.
//!
//! The way of a request through this room: [`scheme`] says whether its scheme is handled,
//! [`Reslist`] lends an idle connection of the worker or the right to open one, [`connect`] opens it
//! ([`resolve`] finds the addresses on a helper thread), [`exchange`] sends the head and as much of
//! the body as there is and reads the answer's head, [`ResponseBody`] is the rest of the answer and
//! gives the connection back as soon as it was read. [`retry`] judges what failed.
//!
//! Called by `handler::proxy`. It knows workers and bytes; it never chooses a member, never makes a
//! status for a client and knows no client connection (bodies come as sources, interim responses
//! leave through a closure).

pub mod connect;
mod connection;
pub mod exchange;
mod incoming;
mod reslist;
pub mod resolve;
mod response_body;
pub mod retry;
pub mod scheme;
mod sending;
pub mod upstreams;

pub use connection::{Connection, keep_alive_timeout};
pub use exchange::{Exchange, Failure};
pub use reslist::{Lease, PoolFull, Reslist};
pub use response_body::{ResponseBody, Tally};
pub use sending::{BodyFraming, Sending};
pub use upstreams::{Upstreams, Worker};

#[cfg(test)]
mod tests;
