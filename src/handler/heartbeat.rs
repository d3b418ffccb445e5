//! Heartbeats by POST: `SetHandler heartbeat` (mod_heartmonitor; spec: health 6.2).
//!
//! Like httpd's it asks nobody for a password: who may post must be said with `Require`.

use std::future::poll_fn;
use std::rc::Rc;

use crate::codec::heartbeat::{LONGEST, parse};
use crate::codec::http1::head::Method;
use crate::fault::Fault;
use crate::health::HeartMonitor;
use crate::request::answer;
use crate::request::{Answer, Handler, Handling, Request, RequestBody, Room};

/// The handler `heartbeat`. One per child.
pub struct Heartbeats(Rc<HeartMonitor>);

impl Heartbeats {
    /// What comes is told to `monitor`.
    pub fn new(monitor: Rc<HeartMonitor>) -> Heartbeats {
        Heartbeats(monitor)
    }

    async fn answer(&self, req: &Request, body: &mut RequestBody) -> Result<Answer, Fault> {
        if req.head.method != Method::Post {
            return Err(Fault::status(405, "heartbeat answers POST only"));
        }
        let mut message = Vec::new();
        if let Some(source) = body.source() {
            while poll_fn(|cx| source.poll_fill(cx)).await? {
                let n = source.data().len();
                message.extend_from_slice(source.data());
                source.consume(n);
                if message.len() > LONGEST {
                    return Err(Fault::status(400, "a heartbeat is longer than 1000 bytes"));
                }
            }
        }
        let Some(beat) = parse(&message, false) else {
            return Err(Fault::status(
                400,
                "a heartbeat names busy and ready as numbers",
            ));
        };
        self.0.posted(req.client.ip(), &beat);
        let mut head = answer::head(200);
        head.fields.push(b"Content-Type", b"text/plain");
        Ok(answer::own(head, b"OK".to_vec()))
    }
}

impl Handler for Heartbeats {
    fn handle<'a>(
        &'a self,
        _: &'a Room,
        req: &'a mut Request,
        body: &'a mut RequestBody,
    ) -> Handling<'a> {
        Box::pin(async move { self.answer(req, body).await })
    }
}
