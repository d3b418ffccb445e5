//! The status page: `SetHandler server-status` (spec: logging 5).
//!
//! HTML for people, `?auto` for programs, both from one [`Facts`]. Everything in them is ASCII: other
//! characters are written as references or escapes, so no charset can change what a byte means.
//! What other clients sent is escaped, and the queries of their requests are not shown.

mod auto;
mod beacons;
mod facts;
mod html;
mod number;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use crate::codec::http1::head::Method;
use crate::fault::Fault;
use crate::request::answer;
use crate::request::{Answer, Handler, Handling, Request, RequestBody, Room};
use crate::shm::Assignment;

use facts::Facts;

/// The handler `server-status`. One per child.
pub struct Status {
    assignment: Rc<Assignment>,
}

/// What the query asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wishes {
    /// `auto`
    auto: bool,
    /// `notable`
    no_table: bool,
    /// `refresh`, `refresh=N`: seconds.
    refresh: Option<u32>,
}

impl Status {
    /// `assignment` tells which balancers of the table are this generation's.
    pub fn new(assignment: Rc<Assignment>) -> Status {
        Status { assignment }
    }

    fn answer(&self, room: &Room, req: &Request) -> Result<Answer, Fault> {
        if !matches!(req.head.method, Method::Get | Method::Head) {
            return Err(Fault::status(405, "server-status answers GET only"));
        }
        let wishes = wishes(req.target.query.as_deref().unwrap_or_default());
        let facts = Facts::collect(room, req, &self.assignment);
        let mut head = answer::head(200);
        let (content_type, body) = if wishes.auto {
            ("text/plain; charset=ISO-8859-1", auto::text(&facts))
        } else {
            (
                "text/html; charset=ISO-8859-1",
                html::page(&facts, !wishes.no_table),
            )
        };
        let fields = &mut head.fields;
        if let Some(seconds) = wishes.refresh {
            fields.push(b"Refresh", seconds.to_string().as_bytes());
        }
        fields.push(b"Content-Type", content_type.as_bytes());
        for (name, value) in GUARDS {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        Ok(answer::own(head, body.into_bytes()))
    }
}

/// The page has no script, no style, no form and no picture, and is to be framed by nobody.
const GUARDS: [(&str, &str); 4] = [
    ("X-Content-Type-Options", "nosniff"),
    (
        "Content-Security-Policy",
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
];

impl Handler for Status {
    fn handle<'a>(
        &'a self,
        room: &'a Room,
        req: &'a mut Request,
        _: &'a mut RequestBody,
    ) -> Handling<'a> {
        Box::pin(async move { self.answer(room, req) })
    }
}

fn wishes(query: &[u8]) -> Wishes {
    let mut wishes = Wishes::default();
    for word in query.split(|&b| b == b'&') {
        let (name, value) = match word.iter().position(|&b| b == b'=') {
            Some(at) => (&word[..at], &word[at + 1..]),
            None => (word, &b""[..]),
        };
        match name {
            b"auto" => wishes.auto = true,
            b"notable" => wishes.no_table = true,
            b"refresh" => {
                let seconds = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
                wishes.refresh = Some(seconds.filter(|s| *s > 0).unwrap_or(REFRESH));
            }
            _ => {}
        }
    }
    wishes
}

/// Seconds of a `refresh` without a usable number.
const REFRESH: u32 = 10;
