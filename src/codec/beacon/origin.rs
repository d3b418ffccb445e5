//! The one spelling of a backend's URL: `scheme://host[:port]`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A canonical origin: what a lease, a member and a log line call the backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(String);

/// Longest names that the slot table and httpd's hold.
const MAX_URL: usize = 383;
const MAX_HOST: usize = 255;

/// Schemes that a member may have, with their default ports.
const SCHEMES: [(&str, u16); 4] = [("http", 80), ("https", 443), ("ws", 80), ("wss", 443)];

impl Origin {
    /// Reads a URL as it was announced; `None` when it is not acceptable: another scheme, a path
    /// beyond `/`, query, fragment, userinfo, a bad host or port, too long.
    pub fn parse(url: &[u8]) -> Option<Origin> {
        if url.len() > MAX_URL + 1 || !url.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let url = std::str::from_utf8(url).ok()?;
        let (scheme, rest) = url.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let (_, default) = SCHEMES.iter().find(|(s, _)| *s == scheme)?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = split(authority)?;
        let host = host.to_ascii_lowercase();
        if host.is_empty() || host.len() > MAX_HOST || !host_is_valid(&host) {
            return None;
        }
        let port = match port {
            None => *default,
            Some(text) => read_port(text)?,
        };
        let mut text = format!("{scheme}://{host}");
        if port != *default {
            text.push_str(&format!(":{port}"));
        }
        (text.len() <= MAX_URL).then_some(Origin(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host: a name, an IPv4 address, or an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        match split(rest) {
            Some((host, _)) => host.trim_start_matches('[').trim_end_matches(']'),
            None => "",
        }
    }

    /// The port, the scheme's default filled in.
    pub fn port(&self) -> u16 {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("", ""));
        let written = split(rest).and_then(|(_, port)| read_port(port?));
        let default = SCHEMES.iter().find(|(s, _)| *s == scheme);
        written.or(default.map(|(_, p)| *p)).unwrap_or(0)
    }

    /// Whether the host is an address that stands for any (`0.0.0.0`, `::`) or for none of a network
    /// (the rest of 0.0.0.0/8): one that a connection can be made to only by a system's kindness.
    pub fn is_unspecified(&self) -> bool {
        match self.host().parse() {
            Ok(IpAddr::V4(v4)) => v4.octets()[0] == 0,
            Ok(IpAddr::V6(v6)) => {
                let v4 = v4_within(v6).filter(|_| !v6.is_loopback());
                v6.is_unspecified() || v4.is_some_and(|v4| v4.octets()[0] == 0)
            }
            Err(_) => false,
        }
    }

    /// The address that the host stands for; of an IPv6 one that leads to an IPv4 one, that.
    /// `None`: it is a name.
    pub fn address(&self) -> Option<IpAddr> {
        match self.host().parse().ok()? {
            IpAddr::V6(v6) if Reach::of(v6.into()) == Reach::Elsewhere => {
                Some(v4_within(v6).map_or(IpAddr::V6(v6), IpAddr::V4))
            }
            ip => Some(ip),
        }
    }

    /// Where the host leads as far as its text tells.
    pub fn reach(&self) -> Reach {
        let host = self.host();
        if let Ok(ip) = host.parse::<IpAddr>() {
            return reach_of(ip);
        }
        let name = host.trim_end_matches('.');
        if name == "localhost" || name.ends_with(".localhost") {
            return Reach::ThisMachine;
        }
        // Resolvers take `127.1`, `2130706433` and `0x7f.1` for addresses.
        let last = name.rsplit('.').next().unwrap_or("");
        let number = |s: &str, hex: bool| {
            !s.is_empty()
                && s.bytes().all(|b| {
                    if hex {
                        b.is_ascii_hexdigit()
                    } else {
                        b.is_ascii_digit()
                    }
                })
        };
        if number(last, false) || last.strip_prefix("0x").is_some_and(|s| number(s, true)) {
            return Reach::Nowhere;
        }
        Reach::Elsewhere
    }
}

/// Where an origin's host leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To another machine, or a name that must be looked up.
    Elsewhere,
    /// To the machine that asks: loopback and unspecified addresses.
    ThisMachine,
    /// Not to one backend: link-local addresses (metadata services live there), multicast, and
    /// spellings that only look like a name.
    Nowhere,
}

impl Reach {
    /// Where an address leads.
    pub fn of(ip: IpAddr) -> Reach {
        reach_of(ip)
    }

    /// Whether a receiver takes it from a sender at `from`: a URL that means the machine that uses
    /// it may only be said by a sender on that machine.
    pub fn admits(self, from: IpAddr) -> bool {
        match self {
            Reach::Elsewhere => true,
            Reach::ThisMachine => from.to_canonical().is_loopback(),
            Reach::Nowhere => false,
        }
    }
}

fn reach_of(ip: IpAddr) -> Reach {
    match ip {
        IpAddr::V4(v4) => reach_of_v4(v4),
        IpAddr::V6(v6) if v6.is_loopback() || v6.is_unspecified() => Reach::ThisMachine,
        IpAddr::V6(v6) if v6.is_unicast_link_local() || v6.is_multicast() => Reach::Nowhere,
        IpAddr::V6(AMAZON_METADATA) => Reach::Nowhere,
        IpAddr::V6(v6) => v4_within(v6).map_or(Reach::Elsewhere, reach_of_v4),
    }
}

/// A metadata service that is not link-local.
const AMAZON_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The IPv4 address that an IPv6 one leads to: mapped (`::ffff:1.2.3.4`), compatible (`::1.2.3.4`),
/// or through a translator (`64:ff9b::1.2.3.4`).
fn v4_within(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            let [.., a, b, c, d] = ip.octets();
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

fn reach_of_v4(ip: Ipv4Addr) -> Reach {
    // All of 0.0.0.0/8 is "this host" (RFC 1122 section 3.2.1.3).
    if ip.is_loopback() || ip.octets()[0] == 0 {
        Reach::ThisMachine
    } else if ip.is_link_local() || ip.is_multicast() || ip.is_broadcast() {
        Reach::Nowhere
    } else {
        Reach::Elsewhere
    }
}

/// Host and written port.
fn split(authority: &str) -> Option<(&str, Option<&str>)> {
    if authority.starts_with('[') {
        let end = authority.find(']')? + 1;
        let (host, rest) = authority.split_at(end);
        return match rest {
            "" => Some((host, None)),
            _ => Some((host, Some(rest.strip_prefix(':')?))),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, Some(port))),
        None => Some((authority, None)),
    }
}

fn host_is_valid(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')),
    }
}

/// 1 to 5 digits, 1 to 65535.
fn read_port(text: &str) -> Option<u16> {
    let digits = (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .filter(|p| *p > 0)
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Origin {
        Origin::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn parts() {
        for (text, host, port) in [
            ("http://H", "h", 80),
            ("https://h:8443/", "h", 8443),
            ("ws://[::1]:81", "::1", 81),
            ("wss://[2001:DB8::1]", "2001:db8::1", 443),
        ] {
            assert_eq!((origin(text).host(), origin(text).port()), (host, port));
        }
    }

    #[test]
    fn where_hosts_lead() {
        for text in [
            "localhost",
            "a.localhost.",
            "127.0.0.9",
            "0.0.0.0",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::127.0.0.1]",
            "[64:ff9b::127.0.0.1]",
            "[::]",
        ] {
            assert_eq!(
                origin(&format!("http://{text}")).reach(),
                Reach::ThisMachine,
                "{text}"
            );
        }
        for text in [
            "169.254.169.254",
            "[fe80::1]",
            "224.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "[::ffff:169.254.0.1]",
            "[::169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "[fd00:ec2::254]",
            "[::224.0.0.1]",
        ] {
            assert_eq!(
                origin(&format!("http://{text}")).reach(),
                Reach::Nowhere,
                "{text}"
            );
        }
        for text in [
            "10.0.0.5",
            "web1",
            "a.b.example",
            "[2001:db8::1]",
            "[64:ff9b::10.0.0.1]",
            "xlocalhost",
            "10.example",
        ] {
            assert_eq!(
                origin(&format!("http://{text}")).reach(),
                Reach::Elsewhere,
                "{text}"
            );
        }
    }
}
