//! Shell wildcards, as httpd's sections and aliases use them (apr_fnmatch).

/// Does `text` as a whole match `pattern`? `*`, `?`, `[a-z]`, `[!a]`, and `\` before a plain
/// character. With `path` none of them matches a slash.
pub fn matches(pattern: &[u8], text: &[u8], path: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on when a match fails: behind the last star, one more byte taken by it.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(_) => one(&pattern[p..], text[t], path),
            None => None,
        };
        match (step, star) {
            (Some(used), _) => {
                p += used;
                t += 1;
            }
            (None, Some((behind, at))) if !(path && text[at] == b'/') => {
                star = Some((behind, at + 1));
                p = behind;
                t = at + 1;
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

/// Whether a text is to be taken as a wildcard at all.
pub fn is_wild(text: &[u8]) -> bool {
    text.iter().any(|c| matches!(c, b'*' | b'?' | b'['))
}

/// Does the first element of `pattern` match `c`? Gives the element's length.
fn one(pattern: &[u8], c: u8, path: bool) -> Option<usize> {
    match pattern[0] {
        b'?' => (!(path && c == b'/')).then_some(1),
        b'[' => class(pattern, c, path),
        b'\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        other => (other == c).then_some(1),
    }
}

fn class(pattern: &[u8], c: u8, path: bool) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let first = if negated { 2 } else { 1 };
    let mut i = first;
    let mut found = false;
    loop {
        match *pattern.get(i)? {
            b']' if i > first => break,
            low => {
                let high = match (pattern.get(i + 1), pattern.get(i + 2)) {
                    (Some(b'-'), Some(&high)) if high != b']' => {
                        i += 2;
                        high
                    }
                    _ => low,
                };
                found |= (low..=high).contains(&c);
                i += 1;
            }
        }
    }
    (found != negated && !(path && c == b'/')).then_some(i + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stop_at_slashes_only_in_paths() {
        assert!(matches(b"/a/*/c", b"/a/b/c", true));
        assert!(!matches(b"/a/*", b"/a/b/c", true));
        assert!(matches(b"http://*", b"http://b.test/x/y", false));
        assert!(matches(b"*", b"", true));
        assert!(matches(b"*.example.*", b"a.b.example.com", false));
        assert!(!matches(b"*x", b"abc", false));
    }

    #[test]
    fn classes_and_escapes() {
        assert!(matches(b"/[a-c]?", b"/bz", true));
        assert!(!matches(b"/[!a-c]", b"/b", true));
        assert!(matches(b"[]x]", b"]", true));
        assert!(matches(b"a\\*b", b"a*b", true));
        assert!(!matches(b"a\\*b", b"axb", true));
        assert!(!matches(b"[ab", b"a", true));
    }

    #[test]
    fn many_stars_stay_quick() {
        let text = [b'a'; 2000];
        assert!(!matches(b"*a*a*a*a*a*a*a*a*b", &text, false));
    }
}
