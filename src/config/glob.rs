//! Shell wildcards as `apr_fnmatch` compares them.

/// Whether a text holds a wildcard character.
pub fn is_wild(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether `pattern` matches the whole of `text`.
///
/// `*` any run, `?` one byte, `[a-z]`, `[!a]`, `[^a]` sets, `\x` the character x. With `path`
/// none of them matches a slash. Case counts. Time is bounded by the product of both lengths.
pub fn matches(pattern: &[u8], text: &[u8], path: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go back to after the latest star: (pattern behind it, text it may swallow next).
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            None if t == text.len() => return true,
            None => None,
            Some(_) => text.get(t).and_then(|&c| one(&pattern[p..], c, path)),
        };
        if let Some(used) = step {
            p += used;
            t += 1;
            continue;
        }
        match star {
            Some((after, from)) if from < text.len() && !(path && text[from] == b'/') => {
                star = Some((after, from + 1));
                (p, t) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

/// How many pattern bytes the element in front takes if it matches `c`.
fn one(pattern: &[u8], c: u8, path: bool) -> Option<usize> {
    let hidden = path && c == b'/';
    match pattern[0] {
        b'?' => (!hidden).then_some(1),
        b'[' => match set(pattern, c) {
            Some((hit, used)) => (hit && !hidden).then_some(used),
            None => (c == b'[').then_some(1),
        },
        b'\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        b => (b == c).then_some(1),
    }
}

/// A bracket expression: whether it holds `c`, and its length; `None` when it is not closed.
fn set(pattern: &[u8], c: u8) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = if negated { 2 } else { 1 };
    let mut i = start;
    let mut hit = false;
    loop {
        match *pattern.get(i)? {
            b']' if i > start => return Some((hit != negated, i + 1)),
            low => {
                if pattern.get(i + 1) == Some(&b'-')
                    && let Some(&high) = pattern.get(i + 2)
                    && high != b']'
                {
                    hit |= (low..=high).contains(&c);
                    i += 3;
                } else {
                    hit |= low == c;
                    i += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn wildcards() {
        let cases = [
            ("*.conf", "a.conf", true, true),
            ("*.conf", "a.conf~", true, false),
            ("/a/*/c", "/a/b/c", true, true),
            ("/a/*/c", "/a/b/x/c", true, false),
            ("/a/*/c", "/a/b/x/c", false, true),
            ("[a-c]?[!x]", "bzy", true, true),
            ("[a-c]?[!x]", "bzx", true, false),
            ("a[", "a[", true, true),
            ("a\\*b", "a*b", true, true),
            ("*", "", true, true),
            ("?", "/", true, false),
            ("http://*.test/*", "http://a.test/x/y", false, true),
        ];
        for (pattern, text, path, want) in cases {
            let got = matches(pattern.as_bytes(), text.as_bytes(), path);
            assert_eq!(got, want, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_end_soon() {
        let pattern = "*a".repeat(200);
        assert!(!matches(pattern.as_bytes(), &[b'a'; 199], false));
        assert!(!matches(pattern.as_bytes(), &[b'b'; 20_000], false));
    }
}
