//! The reverse proxy: from a mapped URL to a backend's answer.

use std::rc::Rc;

use crate::balancer::Balancing;
use crate::request::{Handler, Handling, Request, RequestBody, Room};
use crate::upstream::Upstreams;

/// The handler `proxy-server`. One per child.
pub struct Proxy {
    upstreams: Rc<Upstreams>,
    balancing: Rc<Balancing>,
}

impl Proxy {
    /// For a child: its connections to backends and its balancers.
    pub fn new(upstreams: Rc<Upstreams>, balancing: Rc<Balancing>) -> Proxy {
        Proxy {
            upstreams,
            balancing,
        }
    }
}

impl Handler for Proxy {
    fn handle<'a>(
        &'a self,
        room: &'a Room,
        req: &'a mut Request,
        body: &'a mut RequestBody,
    ) -> Handling<'a> {
        let _ = (room, req, body, &self.upstreams, &self.balancing);
        todo!()
    }
}
