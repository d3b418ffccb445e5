//! May a request that failed be sent again? The rules are pure: what was written, what came back,
//! on what kind of connection, and what the method promises.

use super::exchange::Failure;
use crate::codec::http1::head::Method;
use crate::fault::{Kind, Origin, Retry};

/// What is known of the request besides its failure.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Nothing of the body beyond what is kept was taken from the client.
    pub repeatable: bool,
    /// A backend may have acted on it already, and it was sent again: that is done once.
    pub repeated: bool,
    /// The connection was made for this try because a kept one had been closed.
    pub renewed: bool,
    /// Another member of a balancer could have it.
    pub balanced: bool,
}

/// Judges a failure of the exchange (not of the connect).
///
/// - On a reused connection the backend may have closed it before the request came: it goes to a
///   fresh one when the method is idempotent (RFC 9110 9.2.2), or nothing was written, or nothing of
///   its body was, since the backend has then no whole request to act on.
/// - On a fresh one an idempotent request may go to another member, any other only when nothing of
///   it was written.
/// - What a backend may have acted on is sent again once, wherever: a request that ends backends
///   must not meet them one after the other.
/// - An unanswered `ping` means that the body was never sent: a fresh connection may have it, then
///   anybody.
/// - Never after a byte of an answer, never after a time-out, never for the client's faults.
pub fn judge(failure: &Failure, attempt: &Attempt<'_>) -> Retry {
    if failure.fault.origin != Origin::Upstream || failure.answered || !attempt.repeatable {
        return Retry::No;
    }
    let renewable = failure.reused && !attempt.renewed;
    if failure.unanswered_ping {
        return match renewable {
            true => Retry::Fresh,
            false => Retry::Elsewhere,
        };
    }
    if !matches!(failure.fault.kind, Kind::Eof | Kind::Broken) {
        return Retry::No;
    }
    let safe = attempt.method.is_idempotent() && !attempt.repeated;
    if renewable && (safe || failure.unread()) {
        return Retry::Fresh;
    }
    match attempt.balanced && (safe || failure.written == 0) {
        true => Retry::Elsewhere,
        false => Retry::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Fault, Phase};

    fn failure(kind: Kind, reused: bool, written: u64, answered: bool) -> Failure {
        Failure {
            fault: Fault::new(Origin::Upstream, Phase::ResponseHead, kind, ""),
            written,
            answered,
            reused,
            unanswered_ping: false,
            incomplete: false,
        }
    }

    fn attempt(method: &Method) -> Attempt<'_> {
        Attempt {
            method,
            repeatable: true,
            repeated: false,
            renewed: false,
            balanced: false,
        }
    }

    #[test]
    fn a_stale_connection_is_replaced_where_that_is_safe() {
        let stale = failure(Kind::Eof, true, 100, false);
        assert_eq!(judge(&stale, &attempt(&Method::Get)), Retry::Fresh);
        assert_eq!(judge(&stale, &attempt(&Method::Put)), Retry::Fresh);
        assert_eq!(judge(&stale, &attempt(&Method::Post)), Retry::No);
        let unwritten = failure(Kind::Broken, true, 0, false);
        assert_eq!(judge(&unwritten, &attempt(&Method::Post)), Retry::Fresh);
    }

    #[test]
    fn it_is_replaced_once_and_never_after_an_answer_began() {
        let stale = failure(Kind::Eof, true, 100, false);
        let get = attempt(&Method::Get);
        assert_eq!(
            judge(
                &stale,
                &Attempt {
                    repeated: true,
                    renewed: true,
                    ..get
                }
            ),
            Retry::No
        );
        let begun = failure(Kind::Eof, true, 100, true);
        assert_eq!(judge(&begun, &get), Retry::No);
        let used_up = Attempt {
            repeatable: false,
            ..get
        };
        assert_eq!(judge(&stale, &used_up), Retry::No);
        let silent = failure(Kind::Timeout, true, 100, false);
        assert_eq!(judge(&silent, &get), Retry::No);
    }

    #[test]
    fn a_fresh_connection_that_breaks_is_for_another_member_or_nobody() {
        let broke = failure(Kind::Eof, false, 100, false);
        let get = attempt(&Method::Get);
        assert_eq!(judge(&broke, &get), Retry::No);
        let balanced = Attempt {
            balanced: true,
            ..get
        };
        assert_eq!(judge(&broke, &balanced), Retry::Elsewhere);
        let post = Attempt {
            balanced: true,
            ..attempt(&Method::Post)
        };
        assert_eq!(judge(&broke, &post), Retry::No);
    }

    #[test]
    fn what_may_have_been_acted_on_is_sent_again_once() {
        let again = Attempt {
            repeated: true,
            balanced: true,
            ..attempt(&Method::Get)
        };
        assert_eq!(
            judge(&failure(Kind::Eof, true, 100, false), &again),
            Retry::No
        );
        assert_eq!(
            judge(&failure(Kind::Eof, false, 100, false), &again),
            Retry::No
        );
        let unwritten = failure(Kind::Broken, true, 0, false);
        assert_eq!(judge(&unwritten, &again), Retry::Fresh);
        let renewed = Attempt {
            renewed: true,
            ..again
        };
        assert_eq!(judge(&unwritten, &renewed), Retry::Elsewhere);
    }

    #[test]
    fn a_request_without_its_body_was_not_acted_on() {
        let mut stale = failure(Kind::Eof, true, 100, false);
        stale.incomplete = true;
        assert_eq!(judge(&stale, &attempt(&Method::Post)), Retry::Fresh);
        // On a fresh one a backend has read it: no other sees its head.
        stale.reused = false;
        let post = Attempt {
            balanced: true,
            ..attempt(&Method::Post)
        };
        assert_eq!(judge(&stale, &post), Retry::No);
    }

    #[test]
    fn an_unanswered_ping_lets_even_a_post_go_on() {
        let mut silent = failure(Kind::Timeout, false, 200, false);
        silent.unanswered_ping = true;
        assert_eq!(judge(&silent, &attempt(&Method::Post)), Retry::Elsewhere);
        // A kept connection may be dead without a sign: that says nothing about the backend yet.
        silent.reused = true;
        assert_eq!(judge(&silent, &attempt(&Method::Post)), Retry::Fresh);
        let renewed = Attempt {
            renewed: true,
            ..attempt(&Method::Post)
        };
        assert_eq!(judge(&silent, &renewed), Retry::Elsewhere);
    }
}
