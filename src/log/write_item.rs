//! What each `%` directive of an access log prints. Everything that others control is escaped.

use std::borrow::Cow;
use std::io::Write;

use super::access::Record;
use super::escape;
use super::format::{Item, Kind, TimePattern, Unit};
use super::time::{strftime, write_clf};
use crate::clock::Wall;
use crate::codec::fields::trim;

/// Appends the directive's value, `-` where there is none.
pub(super) fn write_item(out: &mut Vec<u8>, item: &Item, record: &dyn Record) {
    let side = item.side;
    let text = |out: &mut Vec<u8>, value: Option<&[u8]>| match value {
        Some(value) => escape::access(out, value),
        None => out.push(b'-'),
    };
    let cow = |out: &mut Vec<u8>, value: Option<Cow<'_, [u8]>>| text(out, value.as_deref());
    match &item.kind {
        Kind::Host => match record.client_name() {
            Some(name) => escape::access(out, name.as_bytes()),
            None => show(out, record.client().ip().to_canonical()),
        },
        Kind::ClientAddress => show(out, record.client().ip().to_canonical()),
        Kind::PeerAddress => show(out, record.peer().ip().to_canonical()),
        Kind::LocalAddress => show(out, record.local().ip().to_canonical()),
        Kind::Nothing => out.push(b'-'),
        Kind::User => match record.user() {
            Some([]) => out.extend_from_slice(b"\"\""),
            user => text(out, user),
        },
        Kind::Time => write_clf(out, record.received()),
        Kind::TimeBy { end, pattern } => {
            let received = record.received();
            let at = match end {
                false => received,
                true => {
                    let micros = i64::try_from(record.duration().as_micros()).unwrap_or(0);
                    Wall(received.0.saturating_add(micros))
                }
            };
            write_time(out, at, pattern);
        }
        Kind::Line => match record.line(side) {
            [] => out.push(b'-'),
            line => escape::access(out, &without_password(line)),
        },
        Kind::Status => show(out, record.status(side)),
        Kind::BodyBytes { dash } => match record.body_bytes() {
            0 if *dash => out.push(b'-'),
            n => show(out, n),
        },
        Kind::Filename => cow(out, record.filename(side)),
        Kind::Path => cow(out, record.path(side)),
        Kind::Query => {
            if let Some(query) = record.query(side) {
                out.push(b'?');
                escape::access(out, query);
            }
        }
        Kind::Method => escape::access(out, record.method(side).as_bytes()),
        Kind::Protocol => escape::access(out, record.protocol().as_bytes()),
        Kind::ServerName => escape::access(out, record.server_name().as_bytes()),
        Kind::CanonicalName => escape::access(out, record.canonical_name().as_bytes()),
        Kind::CanonicalPort => show(out, record.canonical_port()),
        Kind::LocalPort => show(out, record.local().port()),
        Kind::PeerPort => show(out, record.peer().port()),
        Kind::Duration(unit) => show(out, unit.of(record.duration())),
        Kind::Connection => out.push(match (record.aborted(), record.kept()) {
            (true, _) => b'X',
            (false, true) => b'+',
            (false, false) => b'-',
        }),
        Kind::Served => show(out, record.served()),
        Kind::Handler => text(out, record.handler(side).map(str::as_bytes)),
        Kind::LogId { connection } => text(out, record.log_id(*connection).map(str::as_bytes)),
        Kind::Pid { hex: false } => show(out, std::process::id()),
        Kind::Pid { hex: true } => show(out, format_args!("{:x}", std::process::id())),
        Kind::RequestField(name) => cow(out, record.request_field(side, name)),
        Kind::ResponseField(name) => cow(out, record.response_field(side, name)),
        Kind::ContentType => {
            let value = record.response_field(side, "Content-Type");
            let value = value.as_deref();
            let bare = value.map(|v| trim(v.split(|&b| b == b';').next().unwrap_or(v)));
            text(out, bare);
        }
        Kind::RequestTrailer(name) => cow(out, record.request_trailer(name)),
        Kind::ResponseTrailer(name) => cow(out, record.response_trailer(name)),
        Kind::Env(name) => cow(out, record.env(side, name)),
        Kind::Note(name) => cow(out, record.note(side, name)),
        Kind::Cookie(name) => {
            let field = record.request_field(side, "Cookie");
            text(out, field.as_deref().and_then(|f| cookie(f, name)));
        }
        Kind::BytesIn => show(out, record.bytes_in()),
        Kind::BytesOut => show(out, record.bytes_out()),
        Kind::BytesBoth => show(out, record.bytes_in().saturating_add(record.bytes_out())),
        Kind::FirstByte => match record.first_byte() {
            Some(after) => show(out, Unit::Micros.of(after)),
            None => out.push(b'-'),
        },
    }
}

fn show(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    // Writing into a Vec cannot fail.
    let _ = write!(out, "{value}");
}

fn write_time(out: &mut Vec<u8>, at: Wall, pattern: &TimePattern) {
    let fraction = at.0.rem_euclid(1_000_000);
    match pattern {
        TimePattern::Seconds => show(out, at.seconds()),
        TimePattern::Millis => show(out, at.0.div_euclid(1000)),
        TimePattern::Micros => show(out, at.0),
        TimePattern::MilliFraction => show(out, format_args!("{:03}", fraction / 1000)),
        TimePattern::MicroFraction => show(out, format_args!("{fraction:06}")),
        TimePattern::Usual => write_clf(out, at),
        TimePattern::Strftime(pattern) => {
            // A line feed in the pattern must not make two lines of one.
            let mut text = Vec::new();
            strftime(&mut text, at.seconds(), pattern);
            escape::access(out, &text);
        }
    }
}

/// The value of a cookie in a Cookie field (any letter case; the plain Netscape syntax).
fn cookie<'a>(field: &'a [u8], name: &str) -> Option<&'a [u8]> {
    field.split(|&b| b == b';').find_map(|pair| {
        let at = pair.iter().position(|&b| b == b'=')?;
        trim(&pair[..at])
            .eq_ignore_ascii_case(name.as_bytes())
            .then(|| trim(&pair[at + 1..]))
    })
}

/// A request line with the password of a URL's user information masked.
fn without_password(line: &[u8]) -> Cow<'_, [u8]> {
    let masked = || {
        let start = memchr::memmem::find(line, b"://")? + 3;
        let authority = line[start..]
            .split(|b| matches!(b, b'/' | b'?' | b'#' | b' '))
            .next()?;
        let at = start + authority.iter().rposition(|&b| b == b'@')?;
        let colon = start + authority.iter().position(|&b| b == b':')?;
        (colon < at).then(|| [&line[..=colon], b"XXXXXXXX", &line[at..]].concat())
    };
    masked().map_or(Cow::Borrowed(line), Cow::Owned)
}
