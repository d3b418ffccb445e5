//! `ProxyPassReverseCookieDomain` and `ProxyPassReverseCookiePath` (spec: proxy 7.2).

use std::borrow::Cow;

/// Rules as (internal, public).
pub type Rules = [(String, String)];

/// A Set-Cookie value with its path and domain made public. Of a repeated attribute only the last is
/// changed, as clients look at the last.
pub fn public<'a>(value: &'a [u8], domains: &Rules, paths: &Rules) -> Cow<'a, [u8]> {
    let mut out = Cow::Borrowed(value);
    if !paths.is_empty() {
        out = replaced(out, b"path", |old| {
            first(paths, |internal| old.starts_with(internal))
        });
    }
    if !domains.is_empty() {
        out = replaced(out, b"domain", |old| {
            first(domains, |internal| {
                old.len() >= internal.len() && old[..internal.len()].eq_ignore_ascii_case(internal)
            })
        });
    }
    out
}

fn first(rules: &Rules, matches: impl Fn(&[u8]) -> bool) -> Option<&[u8]> {
    rules
        .iter()
        .find(|(internal, _)| matches(internal.as_bytes()))
        .map(|(_, public)| public.as_bytes())
}

/// Replaces the whole value of the last attribute `name` by what `new` gives for it.
fn replaced<'a, 'r>(
    cookie: Cow<'a, [u8]>,
    name: &[u8],
    new: impl Fn(&[u8]) -> Option<&'r [u8]>,
) -> Cow<'a, [u8]> {
    let Some((start, end)) = last_attribute(&cookie, name) else {
        return cookie;
    };
    let Some(new) = new(&cookie[start..end]) else {
        return cookie;
    };
    let mut out = cookie[..start].to_vec();
    out.extend_from_slice(new);
    out.extend_from_slice(&cookie[end..]);
    Cow::Owned(out)
}

/// Where the value of the last attribute of this name is. The first part is the cookie itself.
fn last_attribute(cookie: &[u8], name: &[u8]) -> Option<(usize, usize)> {
    let mut found = None;
    let mut at = cookie.iter().position(|&b| b == b';')? + 1;
    loop {
        let end = cookie[at..]
            .iter()
            .position(|&b| b == b';')
            .map_or(cookie.len(), |i| at + i);
        let blanks = cookie[at..end]
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count();
        let part = &cookie[at + blanks..end];
        if part.len() > name.len()
            && part[name.len()] == b'='
            && part[..name.len()].eq_ignore_ascii_case(name)
        {
            found = Some((at + blanks + name.len() + 1, end));
        }
        if end == cookie.len() {
            return found;
        }
        at = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public_text(value: &str) -> String {
        let domains = [("inner.test".to_string(), "front.test".to_string())];
        let paths = [("/b".to_string(), "/a".to_string())];
        String::from_utf8(public(value.as_bytes(), &domains, &paths).into_owned()).unwrap()
    }

    #[test]
    fn the_whole_value_is_replaced() {
        assert_eq!(public_text("s=1; Path=/b/z"), "s=1; Path=/a");
        assert_eq!(
            public_text("s=1; path=/b; Domain=INNER.test; Secure"),
            "s=1; path=/a; Domain=front.test; Secure"
        );
        assert_eq!(
            public_text("s=1;domain=inner.test"),
            "s=1;domain=front.test"
        );
    }

    #[test]
    fn what_does_not_match_stays() {
        assert_eq!(public_text("s=1; Path=/c"), "s=1; Path=/c");
        assert_eq!(
            public_text("s=1; Domain=.inner.test"),
            "s=1; Domain=.inner.test"
        );
        assert_eq!(public_text("path=/b"), "path=/b");
        assert_eq!(public_text("s=1; xpath=/b"), "s=1; xpath=/b");
    }

    #[test]
    fn of_a_repeated_attribute_the_last_counts() {
        assert_eq!(
            public_text("s=1; Path=/b; Path=/c"),
            "s=1; Path=/b; Path=/c"
        );
        assert_eq!(
            public_text("s=1; Path=/c; Path=/b"),
            "s=1; Path=/c; Path=/a"
        );
    }
}
