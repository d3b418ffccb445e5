//! The worker of a URL: the longest name that is a prefix of it and covers at least scheme and
//! authority (spec: proxy 2.1).

use crate::config::settings::{Server, Settings};
use crate::config::worker_url::WorkerUrl;
use crate::ids::WorkerNo;

use super::target::Url;

/// The workers that URLs of one server may use, longest name first.
#[derive(Debug, Default)]
pub struct Workers {
    names: Vec<Name>,
}

#[derive(Debug)]
struct Name {
    text: Box<[u8]>,
    no: WorkerNo,
    /// It holds `$1` and the like, each of which stands for any run of bytes.
    wild: bool,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The worker.
    pub no: WorkerNo,
    /// A `$` stands in its host or port: the URL decides where to connect.
    pub wild_host: bool,
}

impl Workers {
    /// Of `server`.
    pub fn new(settings: &Settings, server: &Server) -> Workers {
        let mut names: Vec<Name> = server
            .proxy
            .workers
            .iter()
            .map(|&no| {
                let text = settings.worker(no).name.as_bytes();
                Name {
                    text: text.into(),
                    no,
                    wild: text.contains(&b'$'),
                }
            })
            .collect();
        // Stable: of two equal names the first in the configuration is used.
        names.sort_by_key(|n| std::cmp::Reverse(n.text.len()));
        Workers { names }
    }

    /// The worker for `url`.
    pub fn find(&self, url: &Url<'_>) -> Option<Found> {
        if let Some(found) = self.longest(url.whole, url.base().len()) {
            return Some(found);
        }
        // The URL may be spelt otherwise than the name: capitals, a default port.
        let base = std::str::from_utf8(url.base()).ok()?;
        let canonical = WorkerUrl::parse(base).ok()?;
        if canonical.name == base {
            return None;
        }
        let mut whole = canonical.name.into_bytes();
        let base_len = whole.len();
        whole.extend_from_slice(url.path());
        self.longest(&whole, base_len)
    }

    fn longest(&self, url: &[u8], base_len: usize) -> Option<Found> {
        self.names
            .iter()
            .find(|n| match n.wild {
                false => n.text.len() >= base_len && url.starts_with(&n.text),
                true => wild_prefix(&n.text, url),
            })
            .map(|n| Found {
                no: n.no,
                wild_host: n.wild && dollar_in_authority(&n.text),
            })
    }
}

/// Whether `name`, in which `$0` to `$9` stand for anything, is a prefix of `url`.
fn wild_prefix(name: &[u8], url: &[u8]) -> bool {
    let mut pieces = Pieces(Some(name));
    let Some(first) = pieces.next() else {
        return false;
    };
    let Some(mut rest) = url.strip_prefix(first) else {
        return false;
    };
    pieces.all(|piece| {
        let Some(at) = find(rest, piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
        true
    })
}

/// The text between the `$n`.
struct Pieces<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.0?;
        let at = text
            .windows(2)
            .position(|w| w[0] == b'$' && w[1].is_ascii_digit());
        match at {
            Some(i) => {
                self.0 = Some(&text[i + 2..]);
                Some(&text[..i])
            }
            None => {
                self.0 = None;
                Some(text)
            }
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}

fn dollar_in_authority(name: &[u8]) -> bool {
    let start = find(name, b"://").map_or(0, |i| i + 3);
    let end = name[start..]
        .iter()
        .position(|&b| b == b'/')
        .map_or(name.len(), |i| start + i);
    name[start..end].contains(&b'$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(names: &[&str]) -> Workers {
        let mut names: Vec<Name> = names
            .iter()
            .enumerate()
            .map(|(i, n)| Name {
                text: n.as_bytes().into(),
                no: WorkerNo(i as u16),
                wild: n.contains('$'),
            })
            .collect();
        names.sort_by_key(|n| std::cmp::Reverse(n.text.len()));
        Workers { names }
    }

    fn found(w: &Workers, url: &str) -> Option<u16> {
        w.find(&Url::parse(url.as_bytes()).unwrap()).map(|f| f.no.0)
    }

    #[test]
    fn the_longest_prefix_wins_and_it_is_textual() {
        let w = workers(&["http://b", "http://b/app", "http://b:81/"]);
        assert_eq!(found(&w, "http://b/x"), Some(0));
        assert_eq!(found(&w, "http://b/app2"), Some(1));
        assert_eq!(found(&w, "http://b:81/x"), Some(2));
        assert_eq!(found(&w, "http://b:8/x"), None);
        assert_eq!(found(&w, "http://bb/x"), None);
    }

    #[test]
    fn other_spellings_of_host_and_port_are_found() {
        let w = workers(&["http://b/", "https://c/"]);
        assert_eq!(found(&w, "HTTP://B:80/x"), Some(0));
        assert_eq!(found(&w, "https://c:443/x"), Some(1));
        assert_eq!(found(&w, "http://b:443/x"), None);
    }

    #[test]
    fn dollars_stand_for_anything() {
        let w = workers(&["http://b/$1/x", "http://$1.c/"]);
        assert_eq!(found(&w, "http://b/aaa/xyz"), Some(0));
        let u = Url::parse(b"http://app.c/q").unwrap();
        let f = w.find(&u).unwrap();
        assert_eq!((f.no.0, f.wild_host), (1, true));
        assert_eq!(found(&w, "http://b/aaa"), None);
    }

    #[test]
    fn a_socket_belongs_to_the_name() {
        let w = workers(&["unix:/a|http://x/", "unix:/b|http://x/"]);
        assert_eq!(found(&w, "unix:/b|http://x/p"), Some(1));
        assert_eq!(found(&w, "http://x/p"), None);
    }
}
