//! A client connection, from accept to close: one task each.
//!
//! It reads heads through the codec, hands each request to `request::phases`, and writes the
//! answer with framing and connection fields of its own. Called by `child`, which accepts. It never
//! decides what the answer is, and never touches a backend.
//!
//! An idle connection is a small task that waits for its socket: no buffer, no request.

mod admission;
mod client_body;
mod connection;
mod deadline;
mod exchange;
mod head;
mod hub;
mod idle;
mod linger;
mod persistence;
mod pool;
mod reply;
mod wire;

pub use connection::serve;
pub use hub::Hub;

#[cfg(test)]
mod tests;
