//! Which session a request belongs to (spec: balancer 8).

use crate::config::settings::BalancerParams;

/// A session that a request carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The name it was found under (parameter or cookie).
    pub name: String,
    /// Its route, never empty.
    pub route: Vec<u8>,
}

/// Looks into the URL (path and query), then the cookies (several Cookie lines joined by `, `).
/// `None`: the balancer is not sticky, or there is no session or no route in it.
pub fn find(_params: &BalancerParams, _url: &[u8], _cookie: Option<&[u8]>) -> Option<Session> {
    todo!()
}
