//! The head that a backend gets, written anew from the parsed request (spec: proxy 6, security 0.9).
//!
//! Order: Host, the client's fields as they came with edits in place, then what is added, then the
//! body's framing, then Connection. Repeated fields are joined as httpd joins them.

use std::io::Write;
use std::net::IpAddr;

use crate::codec::fields::{Fields, tokens};
use crate::codec::http1::head::Version;
use crate::config::settings::Via;
use crate::upstream::BodyFraming;

/// What decides the head beside the client's fields.
#[derive(Clone, Copy, Debug)]
pub struct HeadInput<'a> {
    /// The client's fields.
    pub fields: &'a Fields,
    /// The client's version, for Via.
    pub version: Version,
    /// The value of Host.
    pub host: &'a [u8],
    /// `ProxyAddHeaders`.
    pub add: Option<Added<'a>>,
    /// `ProxyVia`.
    pub via: Via,
    /// `name[:port]` for Via.
    pub via_name: &'a str,
    /// Max-Forwards.
    pub max_forwards: Option<u64>,
    /// The client's expectation is passed on, or one of our own (`ping`).
    pub expect: Expect,
    /// How the body goes out.
    pub framing: BodyFraming,
    /// `close` or `Keep-Alive`.
    pub keep_alive: bool,
    /// HTTP/1.0 (`force-proxy-request-1.0`): no Connection field.
    pub old: bool,
}

/// The X-Forwarded fields.
#[derive(Clone, Copy, Debug)]
pub struct Added<'a> {
    /// The client.
    pub client: IpAddr,
    /// Its Host field.
    pub host: Option<&'a [u8]>,
    /// ServerName.
    pub server: &'a str,
}

/// `Expect: 100-continue` towards the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Not sent.
    Drop,
    /// As the client sent it.
    Relay,
    /// Our own.
    Ping,
}

/// What becomes of a client's field.
enum Fate {
    Copy,
    Drop,
    /// Joined with this value of ours.
    Join(Joined),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    For,
    Host,
    Server,
    Via,
    MaxForwards,
}

/// Writes everything behind the request line, the empty line included.
pub fn write_fields(out: &mut Vec<u8>, input: &HeadInput<'_>) {
    field(out, b"Host", |out| out.extend_from_slice(input.host));
    let mut done = [false; 5];
    let fields = input.fields;
    let nominated = fields.contains("Connection");
    let repeats = may_repeat(fields);
    for (i, (name, value)) in fields.iter().enumerate() {
        let same = |(n, _): &(&[u8], &[u8])| n.eq_ignore_ascii_case(name);
        let fate = fate(name, input);
        if matches!(fate, Fate::Drop)
            || (nominated && is_nominated(fields, name) && !is_protected(name))
            || (repeats && fields.iter().take(i).any(|f| same(&f)))
        {
            continue;
        }
        let joined = match fate {
            Fate::Join(joined) => Some(joined),
            _ => None,
        };
        field(out, name, |out| {
            if joined == Some(Joined::MaxForwards) {
                done[joined_at(Joined::MaxForwards)] = true;
                return max_forwards(out, input);
            }
            out.extend_from_slice(value);
            if repeats {
                for (_, more) in fields.iter().skip(i + 1).filter(same) {
                    out.extend_from_slice(b", ");
                    out.extend_from_slice(more);
                }
            }
            if let Some(joined) = joined {
                done[joined_at(joined)] = true;
                if can_write(joined, input) {
                    out.extend_from_slice(b", ");
                    own(out, joined, input);
                }
            }
        });
    }
    let add: [(&[u8], Joined); 5] = [
        (b"Max-Forwards", Joined::MaxForwards),
        (b"Via", Joined::Via),
        (b"X-Forwarded-For", Joined::For),
        (b"X-Forwarded-Host", Joined::Host),
        (b"X-Forwarded-Server", Joined::Server),
    ];
    for (name, joined) in add {
        if joined == Joined::For && input.expect == Expect::Ping && !fields.contains("Expect") {
            out.extend_from_slice(b"Expect: 100-Continue\r\n");
        }
        if !done[joined_at(joined)] && can_write(joined, input) {
            field(out, name, |out| own(out, joined, input));
        }
    }
    match input.framing {
        BodyFraming::None => {}
        BodyFraming::Length(n) => field(out, b"Content-Length", |out| number(out, n)),
        BodyFraming::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
    if !input.old {
        out.extend_from_slice(match input.keep_alive {
            true => b"Connection: Keep-Alive\r\n".as_slice(),
            false => b"Connection: close\r\n",
        });
    }
    out.extend_from_slice(b"\r\n");
}

fn field(out: &mut Vec<u8>, name: &[u8], value: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    value(out);
    out.extend_from_slice(b"\r\n");
}

fn joined_at(joined: Joined) -> usize {
    joined as usize
}

/// Whether there is a value of ours for it.
fn can_write(joined: Joined, input: &HeadInput<'_>) -> bool {
    match joined {
        Joined::For | Joined::Server => input.add.is_some(),
        Joined::Host => input.add.is_some_and(|a| a.host.is_some()),
        Joined::Via => matches!(input.via, Via::On | Via::Full),
        Joined::MaxForwards => input.max_forwards.is_some(),
    }
}

fn own(out: &mut Vec<u8>, joined: Joined, input: &HeadInput<'_>) {
    match (joined, &input.add) {
        (Joined::For, Some(add)) => {
            address(out, add.client);
        }
        (Joined::Host, Some(add)) => out.extend_from_slice(add.host.unwrap_or_default()),
        (Joined::Server, Some(add)) => out.extend_from_slice(add.server.as_bytes()),
        (Joined::Via, _) => write_via(out, input.version, input.via_name, input.via),
        (Joined::MaxForwards, _) => max_forwards(out, input),
        _ => {}
    }
}

fn max_forwards(out: &mut Vec<u8>, input: &HeadInput<'_>) {
    if let Some(n) = input.max_forwards {
        number(out, n);
    }
}

/// `1.1 name[:port]`, with the product's name for `Full`.
pub fn write_via(out: &mut Vec<u8>, version: Version, name: &str, via: Via) {
    out.extend_from_slice(match version {
        Version::Http10 => b"1.0 ".as_slice(),
        Version::Http11 => b"1.1 ",
    });
    out.extend_from_slice(name.as_bytes());
    if via == Via::Full {
        out.extend_from_slice(concat!(" (muster/", env!("CARGO_PKG_VERSION"), ")").as_bytes());
    }
}

/// The usual text of an address; IPv4 without the formatter, since each request has one.
fn address(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => {
            for (i, byte) in ip.octets().into_iter().enumerate() {
                if i > 0 {
                    out.push(b'.');
                }
                number(out, u64::from(byte));
            }
        }
        // Writing to memory does not fail.
        IpAddr::V6(ip) => drop(write!(out, "{ip}")),
    }
}

fn number(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn fate(name: &[u8], input: &HeadInput<'_>) -> Fate {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    let Some(first) = name.first().map(u8::to_ascii_lowercase) else {
        return Fate::Drop;
    };
    let drop = match first {
        b'c' => is("Connection") || is("Content-Length"),
        b'e' => is("Expect") && input.expect == Expect::Drop,
        b'h' => is("Host") || is("HTTP2-Settings"),
        b'k' => is("Keep-Alive"),
        b'm' if is("Max-Forwards") => return Fate::Join(Joined::MaxForwards),
        b'p' => is("Proxy-Connection"),
        b't' => is("TE") || is("Trailer") || is("Transfer-Encoding"),
        b'u' => is("Upgrade"),
        b'v' if is("Via") => match input.via {
            Via::Block => true,
            _ => return Fate::Join(Joined::Via),
        },
        b'x' if is("X-Forwarded-For") => return Fate::Join(Joined::For),
        b'x' if is("X-Forwarded-Host") => return Fate::Join(Joined::Host),
        b'x' if is("X-Forwarded-Server") => return Fate::Join(Joined::Server),
        _ => false,
    };
    match drop || is_disguised(name) {
        true => Fate::Drop,
        false => Fate::Copy,
    }
}

/// A client's Connection field names it.
fn is_nominated(fields: &Fields, name: &[u8]) -> bool {
    fields
        .get_all("Connection")
        .flat_map(tokens)
        .any(|t| t.eq_ignore_ascii_case(name))
}

/// Fields that a client cannot nominate away (RFC 9110 7.6.1 lets an intermediary choose): without
/// them the backend would believe something else of the request.
fn is_protected(name: &[u8]) -> bool {
    const NAMES: &[&str] = &[
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Authorization",
        "Proxy-Authorization",
        "Cookie",
        "Forwarded",
        "Via",
        "Max-Forwards",
        "Content-Type",
        "X-Real-IP",
    ];
    NAMES
        .iter()
        .any(|n| name.eq_ignore_ascii_case(n.as_bytes()))
        || begins_forwarded(name)
}

fn begins_forwarded(name: &[u8]) -> bool {
    const START: &[u8] = b"X-Forwarded-";
    name.len() > START.len() && name[..START.len()].eq_ignore_ascii_case(START)
}

/// `_` where a field that matters has `-`: backends that turn both into the same variable would
/// take it for the real one.
fn is_disguised(name: &[u8]) -> bool {
    if !name.contains(&b'_') {
        return false;
    }
    let real: Vec<u8> = name
        .iter()
        .map(|&b| if b == b'_' { b'-' } else { b })
        .collect();
    const ALSO: &[&str] = &["Keep-Alive", "Proxy-Connection", "HTTP2-Settings"];
    is_protected(&real) || ALSO.iter().any(|n| real.eq_ignore_ascii_case(n.as_bytes()))
}

/// Whether two fields may have one name: a quick look that may say yes wrongly.
fn may_repeat(fields: &Fields) -> bool {
    let mut seen = 0u64;
    fields.iter().any(|(name, _)| {
        let first = name.first().map_or(0, u8::to_ascii_lowercase);
        let last = name.last().map_or(0, u8::to_ascii_lowercase);
        let hash = (name.len() as u64)
            .wrapping_mul(31)
            .wrapping_add(u64::from(first) * 7)
            .wrapping_add(u64::from(last));
        let bit = 1u64 << (hash & 63);
        let hit = seen & bit != 0;
        seen |= bit;
        hit
    })
}

#[cfg(test)]
mod tests;
