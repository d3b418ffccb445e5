//! Parsing a backend's response head: the same strictness as for requests, but every failure is 502.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};
use memchr::{memchr, memmem};

use super::head::{HeadError, Parsed, ResponseHead, Version};
use super::limits::{BadHeader, ResponseLimits};
use super::lines::{Bounds, Breach, USUAL_FIELDS, check, locate};
use crate::codec::fields::{Fields, valid_value};

/// Parses a response's head, an interim (1xx) one too, from the start of `buf`.
///
/// One empty line before it is skipped. A folded field is joined (RFC 9112 5.2). All errors are 502.
pub fn parse_response(
    buf: &[u8],
    limits: &ResponseLimits,
) -> Result<Parsed<ResponseHead>, HeadError> {
    let skipped = match buf {
        [b'\r'] => return Ok(Parsed::Incomplete),
        [b'\r', b'\n', ..] => 2,
        _ => 0,
    };
    let input = &buf[skipped..];
    let bounds = Bounds {
        line: limits.field,
        field: limits.field,
        fields: limits.fields,
    };
    let parsed = match limits.bad_header {
        BadHeader::IsError => strict(input, &bounds),
        way => match strict(input, &bounds) {
            Err(_) => lenient(input, &bounds, way),
            good => good,
        },
    };
    match parsed {
        Ok(Parsed::Done { head, used }) => Ok(Parsed::Done {
            head,
            used: skipped + used,
        }),
        Ok(Parsed::Incomplete) => Ok(Parsed::Incomplete),
        Err(reason) => Err(HeadError::new(502, reason)),
    }
}

const START: &[u8] = b"HTTP/1.";

fn strict(input: &[u8], bounds: &Bounds) -> Result<Parsed<ResponseHead>, &'static str> {
    let Some((version, status, reason, line_len)) = status_line(input, bounds)? else {
        return Ok(Parsed::Incomplete);
    };
    // httparse knows 1.0 and 1.1 only; what calls itself 1.2 to 1.9 is read as 1.1.
    let copy;
    let input = match input[START.len()] {
        b'0' | b'1' => input,
        _ => {
            copy = [START, b"1", &input[START.len() + 1..]].concat();
            &copy
        }
    };
    let mut slots = [const { MaybeUninit::uninit() }; USUAL_FIELDS];
    let fields = match fields(input, line_len, bounds, &mut slots) {
        Err(httparse::Error::TooManyHeaders) if bounds.fields > USUAL_FIELDS => {
            let mut slots = vec![MaybeUninit::uninit(); bounds.fields];
            fields(input, line_len, bounds, &mut slots)
        }
        other => other,
    };
    match fields {
        Ok(Some(Ok((fields, used)))) => Ok(Parsed::Done {
            head: ResponseHead {
                status,
                reason: reason.to_vec(),
                version,
                fields,
            },
            used,
        }),
        Ok(Some(Err(breach))) => Err(say(breach)),
        Ok(None) => match check(input, bounds, true) {
            Ok(()) => Ok(Parsed::Incomplete),
            Err(breach) => Err(say(breach)),
        },
        Err(e) => Err(match e {
            httparse::Error::HeaderName => "the response has a line that is no field",
            httparse::Error::HeaderValue => "the response has a control byte in a field's value",
            httparse::Error::TooManyHeaders => "the response has too many fields",
            httparse::Error::NewLine => "the response has a line that does not end with CR LF",
            _ => "the response's status line is malformed",
        }),
    }
}

fn say(breach: Breach) -> &'static str {
    match breach {
        Breach::Line => "the response's status line is too long",
        Breach::Field => "the response has a field that is longer than responsefieldsize",
        Breach::Fields => "the response has too many fields",
        Breach::Head => "the response's head is too large",
        Breach::LineEnd => "the response has a line that does not end with CR LF",
    }
}

type StatusLine<'b> = (Version, u16, &'b [u8], usize);

/// `HTTP/1.d ddd[ reason]` CR LF; `None`: not there yet.
fn status_line<'b>(
    input: &'b [u8],
    bounds: &Bounds,
) -> Result<Option<StatusLine<'b>>, &'static str> {
    let Some(lf) = memchr(b'\n', input) else {
        let seen = input.len().min(START.len());
        if input[..seen] != START[..seen] {
            return Err("the response does not begin with HTTP/1.");
        }
        if input.len() > bounds.line + 1 {
            return Err(say(Breach::Line));
        }
        return Ok(None);
    };
    let Some(line) = input[..lf].strip_suffix(b"\r") else {
        return Err(say(Breach::LineEnd));
    };
    if line.len() > bounds.line {
        return Err(say(Breach::Line));
    }
    let malformed = "the response's status line is malformed";
    let (minor, status, reason) = match line.strip_prefix(START) {
        Some(&[minor, b' ', a, b, c]) => (minor, [a, b, c], &[][..]),
        Some(&[minor, b' ', a, b, c, b' ', ref reason @ ..]) => (minor, [a, b, c], reason),
        Some(_) => return Err(malformed),
        None => return Err("the response does not begin with HTTP/1."),
    };
    if !minor.is_ascii_digit() || !status.iter().all(u8::is_ascii_digit) || !valid_value(reason) {
        return Err(malformed);
    }
    let status = status.iter().fold(0, |n, d| n * 10 + u16::from(d - b'0'));
    if status < 100 {
        return Err("the response's status is below 100");
    }
    let version = match minor {
        b'0' => Version::Http10,
        _ => Version::Http11,
    };
    Ok(Some((version, status, reason, line.len())))
}

type Section = Result<(Fields, usize), Breach>;

/// The field section behind a status line of `line_len` bytes; `None`: its end is not there yet.
fn fields<'b>(
    input: &'b [u8],
    line_len: usize,
    bounds: &Bounds,
    slots: &mut [MaybeUninit<Header<'b>>],
) -> Result<Option<Section>, httparse::Error> {
    let mut config = ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let mut response = Response::new(&mut []);
    let used = match config.parse_response_with_uninit_headers(&mut response, input, slots)? {
        Status::Complete(used) => used,
        Status::Partial => return Ok(None),
    };
    let headers = &*response.headers;
    Ok(Some(section(input, line_len + 2, used, headers, bounds)))
}

fn section(
    input: &[u8],
    section_at: usize,
    used: usize,
    headers: &[Header<'_>],
    bounds: &Bounds,
) -> Section {
    if headers.len() > bounds.fields {
        return Err(Breach::Fields);
    }
    if used > bounds.head() {
        return Err(Breach::Head);
    }
    let fields = locate(input, section_at, used, headers, bounds, true)?;
    if headers.iter().all(|h| memchr(b'\n', h.value).is_none()) {
        return Ok((fields, used));
    }
    let mut joined = Fields::default();
    for header in headers {
        joined.push(header.name.as_bytes(), &unfolded(header.value)?);
    }
    Ok((joined, used))
}

/// A folded value as one line: its line ends go, the blanks behind them stay.
fn unfolded(value: &[u8]) -> Result<Vec<u8>, Breach> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(lf) = memchr(b'\n', rest) {
        let Some(line) = rest[..lf].strip_suffix(b"\r") else {
            return Err(Breach::LineEnd);
        };
        out.extend_from_slice(line);
        rest = &rest[lf + 1..];
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// `ProxyBadHeader Ignore` and `StartBody`: the operator asked for leniency with lines without a colon.
fn lenient(
    input: &[u8],
    bounds: &Bounds,
    way: BadHeader,
) -> Result<Parsed<ResponseHead>, &'static str> {
    let Some((_, _, _, line_len)) = status_line(input, bounds)? else {
        return Ok(Parsed::Incomplete);
    };
    let end = memmem::find(&input[line_len..], b"\r\n\r\n").map(|at| line_len + at + 4);
    if end.unwrap_or(input.len()) > bounds.head() {
        return Err(say(Breach::Head));
    }
    let mut kept = input[..line_len + 2].to_vec();
    let mut at = line_len + 2;
    while let Some(len) = memmem::find(&input[at..], b"\r\n") {
        let line = &input[at..at + len];
        if line.is_empty() {
            break;
        }
        if memchr(b':', line).is_some() {
            kept.extend_from_slice(&input[at..at + len + 2]);
        } else if way == BadHeader::StartBody {
            if kept.len() == line_len + 2 {
                return Err("the response has a line that is no field");
            }
            kept.extend_from_slice(b"\r\n");
            return with_used(strict(&kept, bounds)?, at);
        }
        at += len + 2;
    }
    let Some(end) = end else {
        return Ok(Parsed::Incomplete);
    };
    kept.extend_from_slice(b"\r\n");
    with_used(strict(&kept, bounds)?, end)
}

fn with_used(
    parsed: Parsed<ResponseHead>,
    used: usize,
) -> Result<Parsed<ResponseHead>, &'static str> {
    match parsed {
        Parsed::Done { head, .. } => Ok(Parsed::Done { head, used }),
        Parsed::Incomplete => Err("the response has a line that is no field"),
    }
}

#[cfg(test)]
mod tests;
