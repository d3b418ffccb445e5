//! Where announced URLs may lead (`ProxyBeaconAllow`).

use std::net::IpAddr;

use ipnet::IpNet;

use super::directive::access::network;
use crate::codec::beacon::{Origin, Reach, Refusal};

/// A part of the operator's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// An address or network.
    Network(IpNet),
    /// A host's name, lower case.
    Name(String),
    /// All names below this one, which begins with a dot (`*.example.com`).
    Below(String),
}

impl Allowed {
    /// Reads a word of the list; `None`: it is neither a network nor a name.
    pub fn parse(word: &str) -> Option<Allowed> {
        if let Some(net) = network(word) {
            return Some(Allowed::Network(net));
        }
        let word = word.to_ascii_lowercase();
        let (below, name) = match word.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, word.as_str()),
        };
        let origin = Origin::parse(format!("http://{name}").as_bytes())?;
        let is_name = origin.host() == name && origin.reach() != Reach::Nowhere;
        is_name.then(|| match below {
            true => Allowed::Below(format!(".{name}")),
            false => Allowed::Name(name.to_owned()),
        })
    }

    fn covers(&self, origin: &Origin) -> bool {
        let host = origin.host();
        match (self, origin.address()) {
            (Allowed::Network(net), Some(ip)) => {
                // Loopback, link-local addresses and the like are meant only by a network of such.
                let reach = Reach::of(ip);
                let special = reach == Reach::Elsewhere
                    || (Reach::of(net.network()) == reach && Reach::of(net.broadcast()) == reach);
                net.contains(&ip) && special
            }
            (Allowed::Name(name), None) => host == name,
            (Allowed::Below(end), None) => host.len() > end.len() && host.ends_with(end.as_str()),
            _ => false,
        }
    }
}

/// Whether a sender at `from` (`None`: not known, taken to be here) may announce this origin. Without
/// a list all
/// that leads to other machines may, and to this one what is announced by a sender on it. With one
/// it decides alone; names are allowed as names, since what they will lead to is not known.
///
/// # Errors
/// Why it may not.
pub fn admit(list: &[Allowed], origin: &Origin, from: Option<IpAddr>) -> Result<(), Refusal> {
    if list.is_empty() {
        let reach = origin.reach();
        return match from.map_or(reach != Reach::Nowhere, |from| reach.admits(from)) {
            true => Ok(()),
            false => Err(Refusal::Url),
        };
    }
    match list.iter().any(|allowed| allowed.covers(origin)) {
        true => Ok(()),
        false => Err(Refusal::NotAllowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_decides_alone_and_special_addresses_are_named_by_themselves() {
        let verdict = |words: &str, url: &str| {
            let list: Vec<_> = words
                .split_whitespace()
                .map(|w| Allowed::parse(w).unwrap())
                .collect();
            let origin = Origin::parse(url.as_bytes()).unwrap();
            admit(&list, &origin, Some([10, 0, 0, 1].into()))
        };
        let no = Err(Refusal::NotAllowed);
        for (words, url, want) in [
            ("", "http://192.0.2.1", Ok(())),
            ("", "http://web1", Ok(())),
            ("", "http://127.0.0.1", Err(Refusal::Url)),
            ("", "http://169.254.169.254", Err(Refusal::Url)),
            ("10.0.0.0/8", "http://10.1.2.3:8080", Ok(())),
            ("10", "http://10.1.2.3", Ok(())),
            ("10.0.0.0/8", "http://[::ffff:10.1.2.3]", Ok(())),
            ("10.0.0.0/8", "http://192.0.2.1", no),
            ("10.0.0.0/8 192.0.2.1", "http://192.0.2.1", Ok(())),
            ("10.0.0.0/8", "http://web1", no),
            ("10.0.0.0/8", "http://127.0.0.1", no),
            ("0.0.0.0/0", "http://192.0.2.1", Ok(())),
            ("0.0.0.0/0", "http://127.0.0.1", no),
            ("0.0.0.0/0", "http://169.254.169.254", no),
            ("::/0", "http://[fd00:ec2::254]", no),
            ("127.0.0.0/8", "http://127.0.0.1", Ok(())),
            ("169.254.0.0/16", "http://169.254.7.7", Ok(())),
            ("fe80::/10", "http://[fe80::1]", Ok(())),
            ("web1 *.example.com", "http://WEB1:80", Ok(())),
            ("web1 *.example.com", "http://a.b.example.com", Ok(())),
            ("web1 *.example.com", "http://example.com", no),
            ("web1 *.example.com", "http://badexample.com", no),
            ("*.example.com", "http://web1", no),
            // A shortened address is none of a network and no name.
            ("10.0.0.0/8 127.0.0.0/8", "http://127.1", no),
            ("localhost", "http://localhost", Ok(())),
        ] {
            assert_eq!(verdict(words, url), want, "{words}: {url}");
        }
    }

    #[test]
    fn words_that_mean_nothing_are_refused() {
        for word in [
            "",
            "*",
            "*.",
            "10.0.0.0/33",
            "a/b",
            "http://a",
            "a:80",
            "0x7f.1",
            "300.1.1.1",
            "u@h",
            "[::1]",
        ] {
            assert_eq!(Allowed::parse(word), None, "{word}");
        }
    }
}
