//! Whether a connection is kept after an answer, and what is said of it (spec: config 9.3).

use std::time::Duration;

use crate::codec::http1::head::Version;

/// What the decision rests on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// `KeepAlive`.
    pub(super) allowed: bool,
    /// `KeepAliveTimeout`.
    pub(super) timeout: Duration,
    /// `MaxKeepAliveRequests`; 0: no bound.
    pub(super) most: u32,
    /// Requests before this one on the connection.
    pub(super) served: u32,
    /// What the client speaks.
    pub(super) version: Version,
    /// It sent `Connection: close`.
    pub(super) says_close: bool,
    /// It sent `Connection: keep-alive`.
    pub(super) says_keep: bool,
    /// The answer's status.
    pub(super) status: u16,
    /// The client can tell where the answer ends without a close.
    pub(super) delimited: bool,
    /// Something else asks for a close: the answer itself, a variable, a body that was not read to
    /// its end, a child that drains.
    pub(super) must_close: bool,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    /// `Connection: close`.
    Close,
    /// Kept, without a word.
    Keep,
    /// Kept, with `Keep-Alive: timeout=T, max=N` (no `max` where there is no bound) and
    /// `Connection: Keep-Alive`, since the client asked for it by name.
    Told {
        /// Whole seconds.
        timeout: u64,
        /// Requests that may still follow.
        max: Option<u32>,
    },
}

impl Persistence {
    pub(super) fn decide(f: &Facts) -> Persistence {
        let asked = !f.says_close && (f.version == Version::Http11 || f.says_keep);
        let more = f.most == 0 || f.served < f.most;
        if !f.allowed
            || f.timeout.is_zero()
            || !asked
            || !more
            || !f.delimited
            || f.must_close
            || drops_connection(f.status)
        {
            return Persistence::Close;
        }
        if !f.says_keep {
            return Persistence::Keep;
        }
        Persistence::Told {
            timeout: f.timeout.as_secs(),
            max: (f.most > 0).then(|| f.most - f.served),
        }
    }

    pub(super) fn keeps(self) -> bool {
        self != Persistence::Close
    }
}

/// Statuses after which httpd trusts a connection no more.
fn drops_connection(status: u16) -> bool {
    matches!(status, 400 | 408 | 411 | 413 | 414 | 500 | 501 | 503)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            allowed: true,
            timeout: Duration::from_millis(1500),
            most: 2,
            served: 0,
            version: Version::Http11,
            says_close: false,
            says_keep: false,
            status: 200,
            delimited: true,
            must_close: false,
        }
    }

    #[test]
    fn a_client_that_names_keep_alive_is_told_how_long() {
        let with = |served| {
            Persistence::decide(&Facts {
                says_keep: true,
                version: Version::Http10,
                served,
                ..facts()
            })
        };
        assert_eq!(
            with(0),
            Persistence::Told {
                timeout: 1,
                max: Some(2)
            }
        );
        assert_eq!(
            with(1),
            Persistence::Told {
                timeout: 1,
                max: Some(1)
            }
        );
        assert_eq!(with(2), Persistence::Close);
    }

    #[test]
    fn what_closes_a_connection() {
        assert_eq!(Persistence::decide(&facts()), Persistence::Keep);
        let closing = [
            Facts {
                allowed: false,
                ..facts()
            },
            Facts {
                timeout: Duration::ZERO,
                ..facts()
            },
            Facts {
                version: Version::Http10,
                ..facts()
            },
            Facts {
                says_close: true,
                says_keep: true,
                ..facts()
            },
            Facts {
                status: 503,
                ..facts()
            },
            Facts {
                delimited: false,
                ..facts()
            },
            Facts {
                must_close: true,
                ..facts()
            },
        ];
        for f in closing {
            assert_eq!(Persistence::decide(&f), Persistence::Close, "{f:?}");
        }
    }
}
