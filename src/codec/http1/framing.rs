//! Where a message's body ends (RFC 9112 6.3), with every ambiguity refused.

use super::head::{HeadError, Method, RequestHead, ResponseHead};

/// How a body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body at all.
    None,
    /// So many bytes.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Up to the end of the connection (responses only).
    UntilClose,
}

/// How a request's body is delimited.
pub fn request_framing(head: &RequestHead) -> Result<Framing, HeadError> {
    let _ = head;
    todo!()
}

/// How the body of a response to a request with this method is delimited.
pub fn response_framing(head: &ResponseHead, request: &Method) -> Result<Framing, HeadError> {
    let _ = (head, request);
    todo!()
}
