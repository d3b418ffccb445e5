//! Whether a request comes from the manager's own page (spec: manager 2.2).

use std::borrow::Cow;
use std::net::IpAddr;

use nix::unistd::gethostname;

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
    Foreign(Cow<'static, str>),
}

impl Trust {
    /// For the page and the log.
    pub fn reason(&self) -> Cow<'static, str> {
        match self {
            Trust::Own => "".into(),
            Trust::Unknown => "the request has no Referer".into(),
            Trust::Foreign(why) => why.clone(),
        }
    }

    fn foreign(why: impl Into<Cow<'static, str>>) -> Trust {
        Trust::Foreign(why.into())
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
        return Trust::foreign("the browser says that it comes from another site (Sec-Fetch-Site)");
    }
    if let Some(origin) = fields.get("Origin")
        && host_of(origin).is_none_or(|h| h != own.to_ascii_lowercase())
    {
        return Trust::foreign("its Origin is another host");
    }
    match fields.get("Referer") {
        None => return Trust::Unknown,
        Some(referer) if host_of(referer).is_none_or(|h| h != own.to_ascii_lowercase()) => {
            return Trust::foreign("its Referer is another host");
        }
        Some(_) => {}
    }
    let server = room.settings.server(req.server);
    if changes
        && let Some(host) = &req.host
        && !is_name_of(server, &host.host)
    {
        let (host, name) = (&host.host, &server.name);
        return Trust::foreign(format!(
            "its Host {host} is no name of this server, which is called {name}; write ServerName {host}, or in a virtual host ServerAlias {host}, or ask by address, as localhost or by the machine's own name"
        ));
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

/// Whether no page elsewhere can come under this host's name: another's DNS can make a name of its
/// own lead here, and no address, nor `localhost` or a name of ours.
fn is_name_of(server: &Server, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == server.name
        || host == "localhost"
        || address.parse::<IpAddr>().is_ok()
        || server.aliases.contains(&host)
        || server
            .wild_aliases
            .iter()
            .any(|w| glob::matches(w.as_bytes(), host.as_bytes(), false))
        || gethostname().is_ok_and(|n| n.to_string_lossy().eq_ignore_ascii_case(&host))
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
