//! What is decided before a backend is thought of: Max-Forwards and TRACE (spec: proxy 4).

use crate::codec::http1::head::Method;
use crate::config::settings::{Server, TraceEnable};
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::request::answer;
use crate::request::{Answer, AnswerBody, Request};

/// How a request goes on.
pub enum Prologue {
    /// To a backend, with this Max-Forwards.
    Forward(Option<u64>),
    /// It is answered here.
    Answer(Answer),
}

/// Looks at Max-Forwards and TRACE.
pub fn check(req: &Request, server: &Server, has_body: bool) -> Result<Prologue, Fault> {
    let trace = req.head.method == Method::Trace;
    let left = match req.head.fields.get("Max-Forwards") {
        None => server.proxy.max_forwards,
        Some(value) => Some(
            parse(value)
                .ok_or_else(|| refuse(400, "Max-Forwards request header could not be parsed"))?,
        ),
    };
    if trace && server.trace == TraceEnable::Off {
        return Err(refuse(405, "TRACE is off (TraceEnable)"));
    }
    if trace && server.trace == TraceEnable::On && has_body {
        return Err(refuse(413, "TRACE with a request body is not allowed"));
    }
    // Only a value that the client sent counts down.
    if !req.head.fields.contains("Max-Forwards") {
        return Ok(Prologue::Forward(left));
    }
    match left {
        Some(0) if trace => Ok(Prologue::Answer(echo(req))),
        Some(0) if req.head.method == Method::Options => Ok(Prologue::Answer(options())),
        Some(0) => Err(refuse(400, "Max-Forwards has reached zero - proxy loop?")),
        left => Ok(Prologue::Forward(left.map(|n| n - 1))),
    }
}

/// A number that fits 63 bits and nothing else.
fn parse(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n = std::str::from_utf8(value).ok()?.parse::<u64>().ok()?;
    (n <= i64::MAX as u64).then_some(n)
}

/// TRACE's answer: the head as it was received (RFC 9110 9.3.8).
fn echo(req: &Request) -> Answer {
    let mut body = req.head.line.clone();
    body.extend_from_slice(b"\r\n");
    for (name, value) in req.head.fields.iter() {
        body.extend_from_slice(name);
        body.extend_from_slice(b": ");
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"\r\n");
    let mut head = answer::head(200);
    head.fields.push(b"Content-Type", b"message/http");
    Answer {
        head,
        body: AnswerBody::Bytes(body),
        close: false,
        from_backend: false,
    }
}

fn options() -> Answer {
    let mut head = answer::head(200);
    head.fields.push(b"Allow", b"GET,POST,OPTIONS,HEAD");
    Answer {
        head,
        body: AnswerBody::Bytes(Vec::new()),
        close: false,
        from_backend: false,
    }
}

fn refuse(status: u16, detail: &str) -> Fault {
    Fault::new(Origin::Client, Phase::Mapping, Kind::Status(status), detail)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn only_plain_numbers_count() {
        assert_eq!(parse(b"0"), Some(0));
        assert_eq!(parse(b"10"), Some(10));
        for bad in [
            &b""[..],
            b"-1",
            b"+1",
            b"1 ",
            b"x",
            b"9223372036854775808",
            b"99999999999999999999",
        ] {
            assert_eq!(parse(bad), None);
        }
    }
}
