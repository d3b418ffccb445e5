//! `host[:port]`, as the Host field and absolute targets carry it (RFC 9110 7.2, RFC 3986 3.2.2).

use super::http1::head::HeadError;

/// A host and perhaps a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authority {
    /// Lower case, no trailing dot, IPv6 in brackets.
    pub host: String,
    /// 1 to 65535.
    pub port: Option<u16>,
}

/// Parses `host[:port]`; refuses user information, lists, quotes and whatever else is no host.
pub fn parse_host(value: &[u8]) -> Result<Authority, HeadError> {
    let _ = value;
    todo!()
}
