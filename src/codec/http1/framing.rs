//! Where a message's body ends (RFC 9112 6.3), with every ambiguity refused: one Content-Length
//! of digits only, or exactly `chunked`, never both.

use super::head::{HeadError, Method, RequestHead, ResponseHead, Version};
use crate::codec::fields::{Fields, same_name, tokens, valid_name};

/// How a body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body at all.
    None,
    /// So many bytes, possibly 0; fits 63 bits.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Up to the end of the connection (responses only).
    UntilClose,
}

/// How a request's body is delimited.
///
/// 400 for what is ambiguous, 501 for codings in front of `chunked`, which are not understood here.
/// `HeadError::line` is the request's.
pub fn request_framing(head: &RequestHead) -> Result<Framing, HeadError> {
    let refuse = |(status, reason)| HeadError {
        status,
        reason,
        line: head.line.clone(),
    };
    match declared(&head.fields, head.version, false) {
        Ok(Declared::Nothing) => Ok(Framing::None),
        Ok(Declared::Length(n)) => Ok(Framing::Length(n)),
        Ok(Declared::Chunked) => Ok(Framing::Chunked),
        Err(e) => Err(refuse(e)),
    }
}

/// How the body of a response to a request with this method is delimited. All errors are 502.
///
/// The fields are checked also where there is no body (HEAD, 1xx, 204, 304, a tunnel). Equal
/// repeated Content-Length fields count as one: write one anew.
pub fn response_framing(head: &ResponseHead, request: &Method) -> Result<Framing, HeadError> {
    let declared = declared(&head.fields, head.version, true)
        .map_err(|(_, reason)| HeadError::new(502, reason))?;
    let tunnel = *request == Method::Connect && (200..300).contains(&head.status);
    if *request == Method::Head || matches!(head.status, 100..=199 | 204 | 304) || tunnel {
        return Ok(Framing::None);
    }
    Ok(match declared {
        Declared::Length(n) => Framing::Length(n),
        Declared::Chunked => Framing::Chunked,
        Declared::Nothing => Framing::UntilClose,
    })
}

enum Declared {
    Nothing,
    Length(u64),
    Chunked,
}

/// What the fields say, with the status for a client where they say too much.
fn declared(
    fields: &Fields,
    version: Version,
    equal_lengths: bool,
) -> Result<Declared, (u16, &'static str)> {
    let mut length = None;
    let mut coding = None;
    for (name, value) in fields.iter() {
        // By length first: nearly all fields are neither.
        if name.len() == 14 && same_name(name, b"Content-Length") {
            match length {
                None => length = Some(value),
                Some(first) if equal_lengths && first == value => {}
                Some(_) => return Err((400, "there is more than one Content-Length")),
            }
        } else if name.len() == 17 && same_name(name, b"Transfer-Encoding") {
            match coding {
                None => coding = Some(value),
                Some(_) => return Err((400, "there is more than one Transfer-Encoding")),
            }
        }
    }
    match (length, coding) {
        (None, None) => Ok(Declared::Nothing),
        (Some(_), Some(_)) => Err((400, "there are both Content-Length and Transfer-Encoding")),
        (Some(value), None) => match content_length(value) {
            Some(n) => Ok(Declared::Length(n)),
            None => Err((400, "the Content-Length is not a number of at most 63 bits")),
        },
        (None, Some(_)) if version == Version::Http10 => {
            Err((400, "an HTTP/1.0 message has a Transfer-Encoding"))
        }
        (None, Some(value)) if same_name(value, b"chunked") => Ok(Declared::Chunked),
        (None, Some(value)) => Err(unknown_coding(value)),
    }
}

/// `1*DIGIT`, at most 63 bits.
fn content_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    let mut n: u64 = 0;
    for &b in value {
        if !b.is_ascii_digit() {
            return None;
        }
        n = n.checked_mul(10)?.checked_add(u64::from(b - b'0'))?;
    }
    (n <= i64::MAX as u64).then_some(n)
}

/// RFC 9112 6.1: 501 for codings that are not understood, as long as the length would be known.
fn unknown_coding(value: &[u8]) -> (u16, &'static str) {
    let chunked = |t: &[u8]| t.eq_ignore_ascii_case(b"chunked");
    let good = tokens(value).all(valid_name);
    let last = tokens(value).last().is_some_and(chunked);
    if good && last && tokens(value).filter(|t| chunked(t)).count() == 1 {
        (501, "the Transfer-Encoding has a coding other than chunked")
    } else {
        (400, "the Transfer-Encoding is not chunked")
    }
}
