//! Whether a request comes from the manager's own page (spec: manager 2.2).

use std::net::IpAddr;

use crate::codec::host::parse_host;
use crate::config::glob;
use crate::config::settings::Server;
use crate::request::names;
use crate::request::{Request, Room};

/// Where a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// From the page.
    Own,
    /// It does not say.
    Unknown,
    /// From elsewhere: why.
    Foreign(&'static str),
}

impl Trust {
    /// For the page and the log.
    pub fn reason(&self) -> &'static str {
        match self {
            Trust::Own => "",
            Trust::Unknown => "the request has no Referer",
            Trust::Foreign(why) => why,
        }
    }
}

/// Looks at the fields that browsers send and pages can't make up. `changes`: then Host must also be
/// one of the server's names, or a name that an attacker owns could be made to lead here.
pub fn judge(room: &Room, req: &Request, changes: bool) -> Trust {
    let fields = &req.head.fields;
    let own = names::self_name(&room.routes, req);
    if let Some(site) = fields.get("Sec-Fetch-Site")
        && site != b"same-origin"
        && site != b"none"
    {
        return Trust::Foreign("the browser says that it comes from another site (Sec-Fetch-Site)");
    }
    if let Some(origin) = fields.get("Origin")
        && host_of(origin).is_none_or(|h| h != own.to_ascii_lowercase())
    {
        return Trust::Foreign("its Origin is another host");
    }
    match fields.get("Referer") {
        None => return Trust::Unknown,
        Some(referer) if host_of(referer).is_none_or(|h| h != own.to_ascii_lowercase()) => {
            return Trust::Foreign("its Referer is another host");
        }
        Some(_) => {}
    }
    let server = room.settings.server(req.server);
    if changes
        && let Some(host) = &req.host
        && !is_name_of(server, &host.host, req.local.ip())
    {
        return Trust::Foreign("its Host is no name or address of this server");
    }
    Trust::Own
}

/// The host of an absolute URL.
fn host_of(url: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(url).ok()?.trim();
    let (scheme, rest) = text.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let authority = authority.rsplit('@').next()?;
    let host = parse_host(authority.as_bytes()).ok()?.host;
    (!host.is_empty()).then_some(host)
}

fn is_name_of(server: &Server, host: &str, local: IpAddr) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(ip) = address.parse::<IpAddr>() {
        return ip.to_canonical() == local.to_canonical();
    }
    let host = host.to_ascii_lowercase();
    host == server.name
        || server.aliases.contains(&host)
        || (host == "localhost" && local.to_canonical().is_loopback())
        || server
            .wild_aliases
            .iter()
            .any(|w| glob::matches(w.as_bytes(), host.as_bytes(), false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_urls() {
        assert_eq!(host_of(b"http://A.test:1/x?y").as_deref(), Some("a.test"));
        assert_eq!(host_of(b"https://u:p@b.test").as_deref(), Some("b.test"));
        assert_eq!(host_of(b"http://[::1]:80/").as_deref(), Some("[::1]"));
        for bad in [
            "null",
            "",
            "/x",
            "http://",
            "about:blank",
            "file:///etc",
            "javascript://a.test/",
            "http:///x",
        ] {
            assert_eq!(host_of(bad.as_bytes()), None, "{bad}");
        }
    }
}
