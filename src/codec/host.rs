//! `host[:port]`, as the Host field and absolute targets carry it (RFC 9110 7.2, RFC 3986 3.2.2),
//! and which of the two decides.

use std::net::Ipv6Addr;

use super::http1::head::{HeadError, RequestHead, Version};
use super::target::{ParsedTarget, Target};

/// A host and perhaps a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authority {
    /// Lower case, no trailing dot, IPv6 in brackets.
    pub host: String,
    /// 1 to 65535.
    pub port: Option<u16>,
}

/// Parses `host[:port]`; an empty port counts as none.
///
/// The host is letters, digits, `-`, `.`, `_` and `~`, or an IPv6 address in brackets. User
/// information, lists, quotes, blanks, slashes, empty labels and ports above 65535 are 400.
pub fn parse_host(value: &[u8]) -> Result<Authority, HeadError> {
    let wrong = |reason| HeadError::new(400, reason);
    let (host, port) = if let [b'[', rest @ ..] = value {
        let close = rest.iter().position(|&b| b == b']');
        let Some((address, after)) = close.map(|i| (&rest[..i], &rest[i + 1..])) else {
            return Err(wrong("the host has an unclosed bracket"));
        };
        let address = std::str::from_utf8(address)
            .ok()
            .filter(|text| text.parse::<Ipv6Addr>().is_ok())
            .ok_or_else(|| wrong("the host is not an IPv6 address in its brackets"))?;
        let port = match after {
            [] => None,
            [b':', digits @ ..] => Some(digits),
            _ => return Err(wrong("the host has something behind its bracket")),
        };
        (format!("[{}]", address.to_ascii_lowercase()), port)
    } else {
        let (name, port) = match value.iter().position(|&b| b == b':') {
            Some(i) => (&value[..i], Some(&value[i + 1..])),
            None => (value, None),
        };
        let name = name.strip_suffix(b".").unwrap_or(name);
        let Some(host) = reg_name(name) else {
            return Err(wrong("the host is empty or holds what a host name cannot"));
        };
        (host, port)
    };
    let port = match port {
        None | Some([]) => None,
        Some(digits) => Some(
            parse_port(digits)
                .ok_or_else(|| wrong("the host's port is not a number from 1 to 65535"))?,
        ),
    };
    Ok(Authority { host, port })
}

/// Which host a request is for: an absolute target's decides over the Host field, which must be
/// right all the same: exactly one in HTTP/1.1, at most one in HTTP/1.0 (RFC 9112 3.2). `None`: a
/// 1.0 request that names none.
pub fn request_host(
    head: &RequestHead,
    target: &ParsedTarget,
) -> Result<Option<Authority>, HeadError> {
    let with_line = |mut e: HeadError| {
        e.line.clone_from(&head.line);
        e
    };
    let mut values = head.fields.get_all("host");
    let field = match (values.next(), values.next()) {
        (None, _) if head.version == Version::Http10 => None,
        (None, _) => {
            return Err(with_line(HeadError::new(
                400,
                "an HTTP/1.1 request has no Host",
            )));
        }
        (Some(_), Some(_)) => {
            return Err(with_line(HeadError::new(
                400,
                "there is more than one Host",
            )));
        }
        (Some(value), None) => Some(parse_host(value).map_err(with_line)?),
    };
    match &target.form {
        Target::Origin | Target::Asterisk => Ok(field),
        Target::Absolute { authority, .. } => parse_host(authority).map(Some).map_err(with_line),
        Target::Authority { host, port } => Ok(Some(Authority {
            host: host.clone(),
            port: Some(*port),
        })),
    }
}

fn reg_name(name: &[u8]) -> Option<String> {
    let good = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    if !name.iter().all(good) || name.split(|&b| b == b'.').any(<[u8]>::is_empty) {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?;
    Some(name.to_ascii_lowercase())
}

fn parse_port(digits: &[u8]) -> Option<u16> {
    if digits.len() > 16 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(digits).ok()?;
    text.parse().ok().filter(|&port| port > 0)
}
