//! Answers, and how faults become answers: the only place that makes a status of a [`Fault`].

use crate::body::{Length, Source};
use crate::codec::http1::head::ResponseHead;
use crate::fault::Fault;

use super::request::Request;

/// An answer on its way to the client.
pub struct Answer {
    /// Status, reason and fields. Fields start with Date and Server (see [`head`]); the connection
    /// adds framing and connection fields itself.
    pub head: ResponseHead,
    /// The body; `None` for HEAD (Content-Length is then already in the fields), 204, 304.
    pub body: AnswerBody,
    /// The client's connection must not be kept after it.
    pub close: bool,
    /// A backend's answer, not one of our own.
    pub from_backend: bool,
}

/// The body of an answer.
pub enum AnswerBody {
    /// None.
    None,
    /// All of it.
    Bytes(Vec<u8>),
    /// It comes bit by bit.
    Source(Box<dyn Source>),
}

impl AnswerBody {
    /// How long it is.
    pub fn length(&self) -> Length {
        match self {
            AnswerBody::None => Length::None,
            AnswerBody::Bytes(b) => Length::Exact(b.len() as u64),
            AnswerBody::Source(s) => s.length(),
        }
    }
}

/// The head of an answer with the standard reason, Date and Server in front. A proxied answer
/// replaces these two in place with the backend's (`Fields::set`).
pub fn head(status: u16) -> ResponseHead {
    let _ = status;
    todo!()
}

/// For `ProxyErrorOverride`: the fault that a handler returns so that our own page stands in for a
/// backend's answer with this status, its reason phrase and, for 401, its WWW-Authenticate field.
pub fn overridden(
    req: &mut Request,
    status: u16,
    reason: &[u8],
    www_authenticate: Option<&[u8]>,
) -> Fault {
    let _ = (req, status, reason, www_authenticate);
    todo!()
}

/// For handlers: go on with another local path (may hold a query), as after an internal redirect.
/// The handler returns the fault that this gives.
pub fn elsewhere(req: &mut Request, target: Vec<u8>) -> Fault {
    req.elsewhere = Some(target);
    Fault::status(200, "internal redirect")
}
