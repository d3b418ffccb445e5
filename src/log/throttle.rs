//! Keeps a flood of messages from becoming a flood of lines.
//!
//! A message about no client may stand once a second with the same text; messages of one kind that
//! one client causes, ten times a second. What was held back is counted and told afterwards.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::time::Duration;

use crate::clock::Mono;
use crate::ids::ServerNo;

const WINDOW: Duration = Duration::from_secs(1);
/// Lines of one kind about one client within the window.
const PER_CLIENT: u32 = 10;
/// Kinds that are watched at a time; the oldest makes room.
const MOST: usize = 64;

/// What has been said lately.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    entries: Vec<Entry>,
    /// Some entry has held something back.
    pending: bool,
}

#[derive(Debug)]
struct Entry {
    key: u64,
    since: Mono,
    said: u32,
    held: u32,
    about: About,
}

/// Enough of a message to tell later how often it was held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct About {
    pub server: ServerNo,
    pub level: u8,
    pub module: String,
    pub client: Option<IpAddr>,
    pub text: String,
}

impl About {
    /// What is told of those that were held back: of several connections, so that no port is right.
    pub fn held_back(&self, count: u32) -> String {
        let whose = self
            .client
            .map_or(String::new(), |ip| format!(" from {ip}"));
        format!("{} ({count} more of this kind{whose})", self.text)
    }
}

impl Throttle {
    /// May this message be written now?
    pub fn admit(
        &mut self,
        now: Mono,
        server: ServerNo,
        level: u8,
        module: &str,
        client: Option<IpAddr>,
        text: &str,
    ) -> bool {
        let (kind, most) = match client {
            Some(_) => (kind(text), PER_CLIENT),
            None => (text, 1),
        };
        let mut hasher = DefaultHasher::new();
        (server, module, client, kind).hash(&mut hasher);
        let key = hasher.finish();
        if let Some(e) = self.entries.iter_mut().find(|e| e.key == key) {
            if now.since(e.since) >= WINDOW && e.held == 0 {
                e.since = now;
                e.said = 0;
            }
            if e.said < most {
                e.said += 1;
                return true;
            }
            if e.held == 0 {
                e.about = About {
                    server,
                    level,
                    module: module.to_string(),
                    client,
                    text: text.chars().take(200).collect(),
                };
            }
            e.held += 1;
            self.pending = true;
            return false;
        }
        if self.entries.len() >= MOST {
            // One that holds nothing back may go; if all do, the message is simply written.
            let oldest = (0..MOST)
                .filter(|&i| self.entries[i].held == 0)
                .min_by_key(|&i| self.entries[i].since);
            match oldest {
                Some(i) => drop(self.entries.swap_remove(i)),
                None => return true,
            }
        }
        self.entries.push(Entry {
            key,
            since: now,
            said: 1,
            held: 0,
            about: About {
                server,
                level,
                module: String::new(),
                client: None,
                text: String::new(),
            },
        });
        true
    }

    /// What was held back and whose second is over, with how many messages it was.
    pub fn due(&mut self, now: Mono) -> Vec<(u32, About)> {
        if !self.pending {
            return Vec::new();
        }
        let mut due = Vec::new();
        for e in &mut self.entries {
            if e.held > 0 && now.since(e.since) >= WINDOW {
                due.push((e.held, e.about.clone()));
                e.held = 0;
                // The report counts as the line of the next second.
                e.since = now;
                e.said = u32::MAX;
            }
        }
        self.pending = self.entries.iter().any(|e| e.held > 0);
        due
    }

    /// Is something held back that `due` will tell?
    pub fn is_pending(&self) -> bool {
        self.pending
    }
}

/// What messages of one kind have in common: the number that they begin with, else their beginning.
fn kind(text: &str) -> &str {
    match text.split_once([':', ' ']) {
        Some((first, _)) if first.len() > 4 && first.starts_with("AH") => first,
        _ => {
            let end = text.char_indices().nth(20).map_or(text.len(), |(i, _)| i);
            &text[..end]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn repeats_are_told_as_a_number() {
        let mut t = Throttle::default();
        let say =
            |t: &mut Throttle, at, text| t.admit(Mono(at), ServerNo(0), 3, "proxy", None, text);
        assert!(say(&mut t, S, "a"));
        assert!(say(&mut t, S, "b"));
        assert!(!say(&mut t, S + 5, "a"));
        assert!(!say(&mut t, S + 6, "a"));
        assert!(t.is_pending());
        assert!(t.due(Mono(S + 7)).is_empty());
        let due = t.due(Mono(2 * S + 1));
        assert_eq!((due.len(), due[0].0, &due[0].1.text[..]), (1, 2, "a"));
        assert!(!t.is_pending());
        assert!(!say(&mut t, 2 * S + 2, "a"));
        assert!(say(&mut t, 2 * S + 3, "b"));
        assert_eq!(t.due(Mono(3 * S + 1)).len(), 1);
        assert!(say(&mut t, 5 * S, "a"));
    }

    /// Nothing is made up of a client of whom only the address is known.
    #[test]
    fn what_was_held_back_is_told_of_an_address() {
        let mut about = About {
            server: ServerNo(0),
            level: 3,
            module: "proxy".into(),
            client: "192.0.2.1".parse().ok(),
            text: "a".into(),
        };
        assert_eq!(about.held_back(2), "a (2 more of this kind from 192.0.2.1)");
        about.client = None;
        assert_eq!(about.held_back(2), "a (2 more of this kind)");
    }

    #[test]
    fn one_client_cannot_flood() {
        let mut t = Throttle::default();
        let mut count = |ip: &str| {
            let ip = ip.parse().ok();
            (0..100)
                .filter(|i| {
                    let text = format!("AH01630: client denied: /{i}");
                    t.admit(Mono(S), ServerNo(0), 3, "core", ip, &text)
                })
                .count()
        };
        assert_eq!(count("192.0.2.1"), 10);
        assert_eq!(count("192.0.2.2"), 10);
        let due = t.due(Mono(3 * S));
        assert_eq!(due.iter().map(|(n, _)| n).sum::<u32>(), 180);
    }

    #[test]
    fn many_kinds_take_little_room() {
        let mut t = Throttle::default();
        for i in 0..1000 {
            assert!(t.admit(Mono(S + i), ServerNo(0), 3, "m", None, &format!("text {i}")));
        }
        assert!(t.entries.len() <= MOST);
    }
}
