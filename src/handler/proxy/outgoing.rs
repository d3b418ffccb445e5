//! The request's body on its way out: what has arrived with the head is taken without waiting and
//! kept, so that the request may be repeated; the rest is streamed.

use std::future::poll_fn;
use std::task::{Context, Poll};

use crate::body::{Length, Source};
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::request::RequestBody;
use crate::upstream::{BodyFraming, Sending};

/// Bytes of a body that are taken before a backend is contacted.
const KEPT: usize = 16 * 1024;

/// Bytes of a body that are collected where its length must be known.
const COLLECTED: usize = 1 << 20;

/// Takes what is there. `quiet`: without asking the client for it (no `100 Continue` goes out).
pub fn prefetch(
    cx: &mut Context<'_>,
    body: &mut RequestBody,
    quiet: bool,
) -> Result<Sending, Fault> {
    if body.is_none() {
        return Ok(Sending::new(Vec::new(), true));
    }
    let mut kept = Vec::new();
    let whole = take(cx, body, quiet, &mut kept)?;
    Ok(Sending::new(kept, whole))
}

/// Takes the whole body, waiting for it: for backends that must be told its length. Bounded, since
/// it is held in memory.
pub async fn collect(body: &mut RequestBody, kept: Vec<u8>) -> Result<Sending, Fault> {
    let mut kept = kept;
    while poll_fn(|cx| body.poll_fill(cx)).await? {
        let n = body.data().len();
        if kept.len() + n > COLLECTED {
            return Err(Fault::new(
                Origin::Client,
                Phase::Sending,
                Kind::TooLarge(413),
                format!(
                    "a body without Content-Length is larger than {COLLECTED} bytes, and proxy-sendcl or HTTP/1.0 needs its length"
                ),
            ));
        }
        kept.extend_from_slice(body.data());
        body.consume(n);
    }
    Ok(Sending::new(kept, true))
}

/// True when the body ended.
fn take(
    cx: &mut Context<'_>,
    body: &mut RequestBody,
    quiet: bool,
    kept: &mut Vec<u8>,
) -> Result<bool, Fault> {
    loop {
        if body.ended() {
            return Ok(true);
        }
        if kept.len() == KEPT {
            return Ok(false);
        }
        let filled = match quiet {
            true => body.poll_arrived(cx),
            false => body.poll_fill(cx),
        };
        match filled {
            Poll::Pending => return Ok(false),
            Poll::Ready(filled) => {
                if !filled? {
                    return Ok(true);
                }
            }
        }
        let data = body.data();
        let n = data.len().min(KEPT - kept.len());
        kept.extend_from_slice(&data[..n]);
        body.consume(n);
    }
}

/// How the body goes out: counted when all of it is there, else in the framing that it came in.
pub fn framing(sending: &Sending, length: Length) -> BodyFraming {
    match length {
        Length::None => BodyFraming::None,
        _ if sending.is_whole() => BodyFraming::Length(sending.kept().len() as u64),
        Length::Exact(n) => BodyFraming::Length(n),
        Length::Unknown => BodyFraming::Chunked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_is_counted() {
        let whole = Sending::new(b"hello".to_vec(), true);
        assert_eq!(framing(&whole, Length::Unknown), BodyFraming::Length(5));
        assert_eq!(framing(&whole, Length::Exact(5)), BodyFraming::Length(5));
        let none = Sending::new(Vec::new(), true);
        assert_eq!(framing(&none, Length::None), BodyFraming::None);
        assert_eq!(framing(&none, Length::Exact(0)), BodyFraming::Length(0));
        let part = Sending::new(vec![0; 16], false);
        assert_eq!(framing(&part, Length::Exact(99)), BodyFraming::Length(99));
        assert_eq!(framing(&part, Length::Unknown), BodyFraming::Chunked);
    }
}
