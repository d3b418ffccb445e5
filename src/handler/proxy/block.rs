//! `ProxyBlock`: hosts that are not proxied to (spec: proxy 5). The words that are addresses, or
//! names of addresses, are looked at again when a connection is made.

use crate::fault::{Fault, Kind, Origin, Phase};

/// Whether a word blocks this host by its name: a part of it, or `*`.
pub fn names(words: &[String], host: &str) -> bool {
    words.iter().any(|word| {
        word.starts_with('*')
            || host
                .to_ascii_lowercase()
                .contains(&word.to_ascii_lowercase())
    })
}

/// What the client is told.
pub fn fault(host: &str) -> Fault {
    Fault::new(
        Origin::Client,
        Phase::Mapping,
        Kind::Denied(403),
        format!("Connect to remote machine blocked: {host} (ProxyBlock)"),
    )
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_part_of_the_name_or_a_star_blocks() {
        let words = |list: &[&str]| list.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        assert!(names(&words(&["news.example"]), "www.News.example"));
        assert!(names(&words(&["*"]), "any.test"));
        assert!(!names(&words(&["other"]), "any.test"));
        assert!(!names(&[], "any.test"));
    }
}
