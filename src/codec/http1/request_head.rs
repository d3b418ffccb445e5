//! Parsing a request's head. httparse finds the parts, the rules here are stricter: CR LF only,
//! visible ASCII in the target, bounds on everything.

use std::mem::MaybeUninit;

use httparse::{Error, Header, Request, Status};
use memchr::memchr;

use super::head::{HeadError, Method, Parsed, RequestHead, Version};
use super::limits::{EMPTY_LINES, HeadLimits, MOST_FIELDS};
use super::lines::{Bounds, Breach, USUAL_FIELDS, check, locate};
use crate::codec::fields::is_token;

/// Parses a request's head from the start of `buf`. Call it again with more bytes after `Incomplete`.
///
/// Skips a few empty lines. Refuses with 400 (syntax, too large or too many fields), 414 (line too
/// long) or 505 (a version other than 1.x).
pub fn parse_request(buf: &[u8], limits: &HeadLimits) -> Result<Parsed<RequestHead>, HeadError> {
    let skipped = skip_empty_lines(buf)?;
    let input = &buf[skipped..];
    let bounds = Bounds {
        line: limits.line,
        field: limits.field,
        fields: match limits.fields {
            0 => MOST_FIELDS,
            n => n,
        },
    };
    let mut slots = [const { MaybeUninit::uninit() }; USUAL_FIELDS];
    let parsed = match parse(input, &bounds, &mut slots) {
        Err(Refusal::Syntax(Error::TooManyHeaders)) if bounds.fields > USUAL_FIELDS => {
            let mut slots = vec![MaybeUninit::uninit(); bounds.fields];
            parse(input, &bounds, &mut slots)
        }
        Err(Refusal::Syntax(Error::Version)) => other_version(input, &bounds),
        other => other,
    };
    match parsed {
        Ok(Parsed::Done { head, used }) => Ok(Parsed::Done {
            head,
            used: skipped + used,
        }),
        Ok(Parsed::Incomplete) => Ok(Parsed::Incomplete),
        Err(refusal) => Err(refused(refusal, input, &bounds)),
    }
}

/// How a head fails, before it is known what to tell the client.
enum Refusal {
    Syntax(Error),
    Breach(Breach),
    Target,
    Version(u16),
}

/// How many bytes of empty lines stand in front; a lone CR or LF is no empty line.
fn skip_empty_lines(buf: &[u8]) -> Result<usize, HeadError> {
    let mut at = 0;
    loop {
        match buf.get(at..) {
            Some([b'\r', b'\n', ..]) => at += 2,
            Some([b'\n', ..]) | Some([b'\r', _, ..]) => {
                return Err(HeadError::new(400, "a line does not end with CR LF"));
            }
            _ => return Ok(at),
        }
        if at > 2 * EMPTY_LINES {
            return Err(HeadError::new(400, "too many empty lines before a request"));
        }
    }
}

fn parse<'b>(
    input: &'b [u8],
    bounds: &Bounds,
    slots: &mut [MaybeUninit<Header<'b>>],
) -> Result<Parsed<RequestHead>, Refusal> {
    let mut request = Request::new(&mut []);
    let used = match request.parse_with_uninit_headers(input, slots) {
        Ok(Status::Complete(used)) => used,
        Ok(Status::Partial) => {
            check(input, bounds, false).map_err(Refusal::Breach)?;
            return Ok(Parsed::Incomplete);
        }
        Err(e) => return Err(Refusal::Syntax(e)),
    };
    let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
    else {
        return Err(Refusal::Syntax(Error::Token));
    };
    let target = target.as_bytes();
    // Invariant of httparse: one blank each between method, target and version.
    let line_len = method.len() + target.len() + " HTTP/1.1".len() + 1;
    if input.get(line_len..line_len + 2) != Some(b"\r\n") {
        return Err(Refusal::Breach(Breach::LineEnd));
    }
    if line_len > bounds.line {
        return Err(Refusal::Breach(Breach::Line));
    }
    if !visible(target) {
        return Err(Refusal::Target);
    }
    if request.headers.len() > bounds.fields {
        return Err(Refusal::Breach(Breach::Fields));
    }
    if used > bounds.head() {
        return Err(Refusal::Breach(Breach::Head));
    }
    let section_at = line_len + 2;
    let fields =
        locate(input, section_at, used, request.headers, bounds, false).map_err(Refusal::Breach)?;
    Ok(Parsed::Done {
        head: RequestHead {
            method: Method::new(method),
            target: target.to_vec(),
            version: match minor {
                0 => Version::Http10,
                _ => Version::Http11,
            },
            fields,
            line: input[..line_len].to_vec(),
        },
        used,
    })
}

/// The versions that httparse does not know: 1.2 to 1.9 are read as 1.1.
fn other_version(input: &[u8], bounds: &Bounds) -> Result<Parsed<RequestHead>, Refusal> {
    let lf = memchr(b'\n', input);
    let line = &input[..lf.unwrap_or(input.len())];
    if line.len() > bounds.line + 1 {
        return Err(Refusal::Breach(Breach::Line));
    }
    let version_at = line.iter().rposition(|&b| b == b' ').map_or(0, |i| i + 1);
    match (&line[version_at..], lf) {
        (version, None) if may_become_version(version) => Ok(Parsed::Incomplete),
        (b"HTTP/1.0\r" | b"HTTP/1.1\r", _) => Err(Refusal::Syntax(Error::Token)),
        ([b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9', b'\r'], _) => {
            let mut copy = input.to_vec();
            copy[version_at + 7] = b'1';
            let mut slots = vec![MaybeUninit::uninit(); bounds.fields];
            let mut parsed = parse(&copy, bounds, &mut slots)?;
            if let Parsed::Done { head, .. } = &mut parsed {
                let len = head.line.len();
                head.line.copy_from_slice(&input[..len]);
            }
            Ok(parsed)
        }
        ([b'H', b'T', b'T', b'P', b'/', a, b'.', b, b'\r'], _)
            if a.is_ascii_digit() && b.is_ascii_digit() =>
        {
            Err(Refusal::Version(505))
        }
        _ => Err(Refusal::Version(400)),
    }
}

/// Could more bytes make `HTTP/d.d` CR of it?
fn may_become_version(text: &[u8]) -> bool {
    text.len() <= 9
        && text
            .iter()
            .zip(b"HTTP/0.0\r")
            .all(|(b, pattern)| b == pattern || (*pattern == b'0' && b.is_ascii_digit()))
}

fn visible(target: &[u8]) -> bool {
    target
        .iter()
        .fold(true, |good, &b| good & (b > 0x20) & (b < 0x7f))
}

/// What to tell the client. Slow, but only a broken head comes here.
fn refused(refusal: Refusal, input: &[u8], bounds: &Bounds) -> HeadError {
    // Too long comes first: what is cut off anywhere is also wrong somewhere.
    let breach = match (&refusal, check(input, bounds, false)) {
        (_, Err(breach)) => Some(breach),
        (Refusal::Breach(breach), Ok(())) => Some(*breach),
        _ => None,
    };
    let (status, reason) = match (breach, &refusal) {
        (Some(Breach::Line), _) => (414, "the request line is longer than LimitRequestLine"),
        (Some(Breach::Field), _) => (400, "a field is longer than LimitRequestFieldSize"),
        (Some(Breach::Fields), _) => (400, "there are more fields than LimitRequestFields"),
        (Some(Breach::Head), _) => (400, "the request's head is too large"),
        (Some(Breach::LineEnd), _) => (400, "a line does not end with CR LF"),
        (None, Refusal::Target) => (400, "the target holds a byte that is not visible ASCII"),
        (None, Refusal::Version(505)) => (505, "the protocol version is not HTTP/1.x"),
        (None, Refusal::Version(_)) => (
            400,
            "the request line does not end with HTTP/1.0 or HTTP/1.1",
        ),
        (None, Refusal::Syntax(e)) => (400, syntax(*e, input)),
        (None, Refusal::Breach(_)) => (400, "malformed request"),
    };
    let line = &input[..memchr(b'\n', input).unwrap_or(input.len())];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    HeadError {
        status,
        reason,
        line: line[..line.len().min(bounds.line)].to_vec(),
    }
}

fn syntax(e: Error, input: &[u8]) -> &'static str {
    match e {
        Error::HeaderName => "a field line does not begin with a name directly followed by a colon",
        Error::HeaderValue => "a field's value holds a control byte",
        Error::TooManyHeaders => "there are more fields than LimitRequestFields",
        Error::NewLine => "a line does not end with CR LF",
        _ if !input.first().is_some_and(|&b| is_token(b)) => {
            "the request line does not begin with a method"
        }
        _ => "the request line is not: method, one blank, target, one blank, version",
    }
}

#[cfg(test)]
mod tests;
