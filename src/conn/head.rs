//! Reading a request's head: in bounded memory, within `RequestReadTimeout`.

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use super::deadline::Deadline;
use super::wire::Wire;
use crate::codec::http1::head::{HeadError, Parsed, RequestHead, parse_request};
use crate::config::settings::HeadLimits;
use crate::reactor::Timer;
use crate::reactor::buffers::{self, Buf};

/// New bytes without a line end that are looked at again: a head that drips in is not parsed anew
/// for every byte, and an endless line is still noticed.
const LOOK_AGAIN: usize = 1024;

/// What came instead of a whole head.
pub(super) enum Reading {
    /// A head; what is behind it stands in the connection's buffer.
    Head(RequestHead),
    /// It breaks the rules.
    Refused(HeadError),
    /// The client closed or broke the connection before its request line was complete.
    Gone,
    /// There was nothing to read after all.
    Nothing,
    /// Too slow; the request line as far as it is complete.
    TooSlow(Option<Vec<u8>>),
}

/// The bytes of a head: a pooled buffer, or more memory for a head that is larger than one. The
/// codec bounds how much that may be.
#[derive(Default)]
struct Bytes {
    large: Vec<u8>,
    buf: Option<Buf>,
}

impl Bytes {
    fn all(&mut self) -> &[u8] {
        // While there is a large part, everything is moved there before it is looked at.
        if !self.large.is_empty() {
            if let Some(buf) = &mut self.buf {
                self.large.extend_from_slice(buf);
                let n = buf.len();
                buf.consume(n);
            }
            return &self.large;
        }
        match &mut self.buf {
            Some(buf) if buf.is_full() => {
                self.large.extend_from_slice(buf);
                let n = buf.len();
                buf.consume(n);
                &self.large
            }
            Some(buf) => buf,
            None => &[],
        }
    }

    /// Leaves what is behind the first `used` bytes in a buffer.
    fn rest(mut self, used: usize) -> Option<Buf> {
        if self.large.is_empty() {
            if let Some(buf) = &mut self.buf {
                buf.consume(used);
            }
            return self.buf;
        }
        // What came behind a large head came with its last read, so it fits.
        let mut buf = self.buf.take().unwrap_or_else(buffers::take);
        buf.put(&self.large[used.min(self.large.len())..]);
        Some(buf)
    }
}

/// Reads the next head. `patience`: `Timeout`, where the stage has no limit of its own.
pub(super) async fn read_head(
    wire: &Wire,
    limits: &HeadLimits,
    mut deadline: Deadline,
    patience: Duration,
) -> Reading {
    let mut bytes = Bytes {
        large: Vec::new(),
        buf: wire.take_buf(),
    };
    wire.bytes_in
        .set(bytes.buf.as_ref().map_or(0, |b| b.len() as u64));
    let mut looked = 0;
    let mut stall: Option<Timer> = None;
    loop {
        let all = bytes.all();
        if all.len() >= looked + LOOK_AGAIN || all[looked..].contains(&b'\n') {
            looked = all.len();
            match parse_request(all, limits) {
                Ok(Parsed::Done { head, used }) => {
                    let rest = bytes.rest(used);
                    let behind = rest.as_ref().map_or(0, |b| b.len() as u64);
                    wire.bytes_in.set(wire.bytes_in.get() - behind);
                    wire.put_buf(rest);
                    return Reading::Head(head);
                }
                Ok(Parsed::Incomplete) => {}
                Err(error) => return Reading::Refused(error),
            }
        }
        let read = poll_fn(|cx| match wire.poll_fill(cx, &mut bytes.buf) {
            Poll::Ready(read) => Poll::Ready(Some(read)),
            Poll::Pending if bytes.buf.is_none() && bytes.large.is_empty() => Poll::Ready(None),
            Poll::Pending => {
                let stall = stall.get_or_insert_with(|| Timer::new(patience));
                if deadline.poll_passed(cx).is_ready() || stall.poll_elapsed(cx).is_ready() {
                    return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
                }
                Poll::Pending
            }
        })
        .await;
        match read {
            None => return Reading::Nothing,
            Some(Ok(0)) => {
                return match first_line(bytes.all()) {
                    Some(line) => Reading::Refused(HeadError {
                        status: 400,
                        reason: "the client ended the connection within the head",
                        line,
                    }),
                    None => Reading::Gone,
                };
            }
            Some(Ok(n)) => {
                stall = None;
                deadline.received(n);
                if deadline.passed() {
                    return Reading::TooSlow(first_line(bytes.all()));
                }
            }
            Some(Err(e)) if e.kind() == io::ErrorKind::TimedOut => {
                return Reading::TooSlow(first_line(bytes.all()));
            }
            Some(Err(_)) => return Reading::Gone,
        }
    }
}

/// The request line, when its end is there.
fn first_line(bytes: &[u8]) -> Option<Vec<u8>> {
    let start = bytes.iter().position(|b| !b"\r\n".contains(b))?;
    let line = &bytes[start..];
    let end = line.iter().position(|&b| b == b'\n')?;
    let line = &line[..end];
    Some(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
}
