//! Lingering close (RFC 9112 9.6): after the last answer the sending side is closed, and what the
//! client still sends is read and thrown away for a while. A plain close would reset the
//! connection when bytes are unread, and the client could lose the answer.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use super::wire::Wire;
use crate::clock;
use crate::reactor::{Timer, buffers, task};

/// Longest silence.
const GAP: Duration = Duration::from_secs(2);

/// Longest in all.
const WHOLE: Duration = Duration::from_secs(30);

/// Reads before the other connections have their turn.
const TURNS: u32 = 8;

/// Most that is read: who sends more has had its chance.
const MOST: u64 = 64 * 1024 * 1024;

/// Ends the connection so that the client gets all that was written.
pub(super) async fn linger(wire: &Wire) {
    wire.put_buf(None);
    if wire.stream.is_broken() || wire.stream.shutdown_write().is_err() {
        return;
    }
    let until = clock::now() + WHOLE;
    let mut seen = 0;
    let mut gap = Timer::new(GAP);
    poll_fn(|cx| {
        for turn in 0.. {
            if turn == TURNS {
                // A client that sends faster than this reads must not hold up the others.
                task::queue(task::current());
                return Poll::Pending;
            }
            if wire.stream.poll_readable(cx).is_pending() {
                break;
            }
            let mut buf = buffers::take();
            match wire.stream.poll_read(cx, buf.spare()) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(n)) => {
                    seen += n as u64;
                    gap.rearm(GAP);
                }
                Poll::Pending => break,
            }
            if seen > MOST {
                return Poll::Ready(());
            }
        }
        if clock::now() >= until {
            return Poll::Ready(());
        }
        gap.poll_elapsed(cx)
    })
    .await;
}
