//! A request's way, the fixed list of phases in order.

use crate::codec::http1::head::{HeadError, RequestHead};

use super::answer::Answer;
use super::body::RequestBody;
use super::request::{ConnInfo, Request};
use super::room::Room;

/// Takes a parsed head in: target, Host, virtual host, normalised path. What is wrong with it is
/// remembered in the request and answered by [`run`]; so every head gives a request, and every
/// request an answer and a log line.
pub fn begin(room: &Room, head: RequestHead, info: ConnInfo) -> Request {
    let _ = (room, head, info);
    todo!()
}

/// The same for a head that could not be parsed; [`run`] gives the error page, and the connection
/// closes.
pub fn begin_refused(room: &Room, error: HeadError, info: ConnInfo) -> Request {
    let _ = (room, error, info);
    todo!()
}

/// A plain error answer for a request whose handling was given up (timeouts while reading its body
/// and the like): no ErrorDocument by path.
pub fn give_up(room: &Room, req: &mut Request, fault: crate::fault::Fault) -> Answer {
    let _ = (room, req, fault);
    todo!()
}

/// All phases, ErrorDocument and internal redirects included. Never fails: faults become answers.
pub async fn run(room: &Room, req: &mut Request, body: &mut RequestBody) -> Answer {
    let _ = (room, req, body);
    todo!()
}
