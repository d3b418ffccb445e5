//! HTTP/1.0 and 1.1 messages (RFC 9112), strictly: line ends are CR LF, nothing is folded, one
//! length per message, everything bounded.

pub mod chunked;
pub mod encode;
pub mod framing;
pub mod head;
pub mod limits;

mod lines;
mod request_head;
mod response_head;
