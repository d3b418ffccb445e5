//! One line a second for what is dropped, however much that is.

use std::time::Duration;

use crate::clock::Mono;
use crate::codec::beacon::Refusal;

const GAP: Duration = Duration::from_secs(1);
/// A full table stays full for a while: that alone is said once a minute.
const FULL_GAP: Duration = Duration::from_secs(60);

/// Counts what was dropped since the last line.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    dropped: u64,
    said: Option<Mono>,
    said_full: Option<Mono>,
}

impl Throttle {
    /// One more was dropped: the line to write now, if any.
    pub fn dropped(&mut self, why: Refusal, now: Mono) -> Option<String> {
        self.dropped += 1;
        let early = |said: Option<Mono>, gap| said.is_some_and(|at| now.since(at) < gap);
        if early(self.said, GAP) {
            return None;
        }
        if why == Refusal::TableFull {
            if early(self.said_full, FULL_GAP) {
                return None;
            }
            self.said_full = Some(now);
        }
        self.said = Some(now);
        let n = std::mem::take(&mut self.dropped);
        Some(format!(
            "dropped {n} announcement(s) (last: {})",
            why.text()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_counts_all() {
        let mut t = Throttle::default();
        let at = |ms: u64| Mono(1_000_000_000_000 + ms * 1_000_000);
        let line = |n: u32, why: &str| Some(format!("dropped {n} announcement(s) (last: {why})"));
        assert_eq!(
            t.dropped(Refusal::MacMismatch, at(0)),
            line(1, "mac mismatch")
        );
        for ms in 1..1000 {
            assert_eq!(t.dropped(Refusal::NoMac, at(ms)), None);
        }
        assert_eq!(
            t.dropped(Refusal::Stale, at(1000)),
            line(1000, "stale timestamp")
        );
        assert_eq!(
            t.dropped(Refusal::TableFull, at(2000)),
            line(1, "member table full")
        );
        assert_eq!(t.dropped(Refusal::TableFull, at(4000)), None);
        assert_eq!(t.dropped(Refusal::NoTs, at(4001)), line(2, "no ts"));
        assert_eq!(
            t.dropped(Refusal::TableFull, at(63_000)),
            line(1, "member table full")
        );
    }
}
