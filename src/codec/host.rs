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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::http1::head::{Parsed, parse_request};
    use crate::codec::http1::limits::HeadLimits;
    use crate::codec::target::parse_target;

    fn host(text: &str) -> Result<String, u16> {
        parse_host(text.as_bytes())
            .map(|a| match a.port {
                Some(port) => format!("{} {port}", a.host),
                None => a.host,
            })
            .map_err(|e| e.status)
    }

    #[test]
    fn hosts() {
        for (text, expected) in [
            ("a.test", "a.test"),
            ("A.Test.:8080", "a.test 8080"),
            ("a_b-c~d", "a_b-c~d"),
            ("a.test:", "a.test"),
            ("127.0.0.1:1", "127.0.0.1 1"),
            ("a.test:00080", "a.test 80"),
            ("[::1]:8080", "[::1] 8080"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
        ] {
            assert_eq!(host(text), Ok(expected.to_string()), "{text}");
        }
        for text in [
            "",
            ".",
            "a..b",
            "a.test/evil",
            "a.test evil",
            "x@a.test",
            "a.test:80:81",
            "a.test:8x",
            "a.test:99999",
            "a.test:65536",
            "a.test:0",
            "a.test:-1",
            "a.test:+1",
            "[::1",
            "[::1]x",
            "[a.test]",
            "[::1%25eth0]",
            "[]",
            "::1",
            "a\"><b.test",
            "a.test, b.test",
            "a.test\\evil",
            "a%41.test",
            ":80",
            "a.test:80 ",
            "a\u{e9}.test",
            "a.test..",
        ] {
            assert_eq!(host(text), Err(400), "{text}");
        }
    }

    fn of(head: &str) -> Result<Option<String>, u16> {
        let Ok(Parsed::Done { head, .. }) = parse_request(head.as_bytes(), &HeadLimits::default())
        else {
            panic!("{head}");
        };
        let target = parse_target(&head.method, &head.target).map_err(|e| e.status)?;
        request_host(&head, &target)
            .map(|a| a.map(|a| a.host))
            .map_err(|e| e.status)
    }

    #[test]
    fn exactly_one_host_and_the_absolute_target_wins() {
        assert_eq!(
            of("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
            Ok(Some("a.test".into()))
        );
        assert_eq!(of("GET / HTTP/1.0\r\n\r\n"), Ok(None));
        assert_eq!(of("GET / HTTP/1.1\r\n\r\n"), Err(400));
        assert_eq!(of("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"), Err(400));
        assert_eq!(of("GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n"), Err(400));
        assert_eq!(of("GET http://b.test/ HTTP/1.1\r\n\r\n"), Err(400));
        assert_eq!(
            of("GET http://B.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"),
            Ok(Some("b.test".into()))
        );
        assert_eq!(
            of("CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n"),
            Ok(Some("b".into()))
        );
    }
}
