//! The request target (RFC 9112 3.2): its forms taken apart.

use super::host::parse_host;
use super::http1::head::{HeadError, Method};
pub use super::path::{
    Path, PathError, as_backends_see, canonical_escape, canonical_escape_kept, for_the_log,
    normalise, normalise_encoded, without_parameters,
};

/// The form that a target was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `/path?query`
    Origin,
    /// `scheme://authority/path?query`
    Absolute {
        /// Lower case.
        scheme: String,
        /// `host[:port]` as received, checked with `parse_host`.
        authority: Vec<u8>,
    },
    /// `host:port` of a CONNECT.
    Authority {
        /// As `codec::host` gives it.
        host: String,
        /// Its port.
        port: u16,
    },
    /// `*` of an OPTIONS.
    Asterisk,
}

/// A target taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedTarget {
    /// Its form.
    pub form: Target,
    /// The path as received, up to `?`: starts with `/`, but `*` for Asterisk and empty for Authority.
    pub raw_path: Vec<u8>,
    /// What stands behind the first `?`, as received; `Some` of nothing for a lone `?`.
    pub query: Option<Vec<u8>>,
}

/// Takes a target apart; `raw` comes from a parsed head, so it is visible ASCII.
///
/// 400 for a fragment, a form that the method does not go with, and an authority that is no
/// `host[:port]`. Escapes are looked at by `normalise`; the query is never decoded and so may hold
/// any visible bytes.
pub fn parse_target(method: &Method, raw: &[u8]) -> Result<ParsedTarget, HeadError> {
    let wrong = |reason| Err(HeadError::new(400, reason));
    if !raw.iter().all(|b| b.is_ascii_graphic()) {
        return wrong("the target holds a byte that is not visible ASCII");
    }
    if raw.contains(&b'#') {
        return wrong("the target has a fragment");
    }
    if *method == Method::Connect {
        return connect(raw);
    }
    match raw {
        [b'/', ..] => Ok(split(Target::Origin, raw)),
        b"*" if *method == Method::Options => Ok(split(Target::Asterisk, raw)),
        b"*" => wrong("the target * goes with OPTIONS only"),
        _ => absolute(method, raw),
    }
}

fn connect(raw: &[u8]) -> Result<ParsedTarget, HeadError> {
    let authority = parse_host(raw)?;
    let Some(port) = authority.port else {
        return Err(HeadError::new(400, "the target of CONNECT has no port"));
    };
    Ok(ParsedTarget {
        form: Target::Authority {
            host: authority.host,
            port,
        },
        raw_path: Vec::new(),
        query: None,
    })
}

fn absolute(method: &Method, raw: &[u8]) -> Result<ParsedTarget, HeadError> {
    let neither = || HeadError::new(400, "the target is neither a path nor a URL");
    let at = memchr::memmem::find(raw, b"://").ok_or_else(neither)?;
    let (scheme, rest) = (&raw[..at], &raw[at + 3..]);
    let in_scheme = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    if !scheme.first().is_some_and(u8::is_ascii_alphabetic) || !scheme.iter().all(in_scheme) {
        return Err(neither());
    }
    let end = rest
        .iter()
        .position(|&b| matches!(b, b'/' | b'?'))
        .unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    parse_host(authority)?;
    let form = Target::Absolute {
        scheme: String::from_utf8_lossy(scheme).to_ascii_lowercase(),
        authority: authority.to_vec(),
    };
    Ok(match path {
        // RFC 9112 3.2.4: OPTIONS of a whole server through a proxy.
        [] if *method == Method::Options => ParsedTarget {
            form,
            raw_path: b"*".to_vec(),
            query: None,
        },
        [b'/', ..] => split(form, path),
        _ => split(form, &[b"/", path].concat()),
    })
}

fn split(form: Target, path: &[u8]) -> ParsedTarget {
    let at = memchr::memchr(b'?', path);
    ParsedTarget {
        form,
        raw_path: path[..at.unwrap_or(path.len())].to_vec(),
        query: at.map(|at| path[at + 1..].to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(method: Method, raw: &str) -> Result<ParsedTarget, u16> {
        parse_target(&method, raw.as_bytes()).map_err(|e| e.status)
    }

    #[test]
    fn forms() {
        let t = parse(Method::Get, "/a/b?c?d").unwrap();
        assert_eq!(t.form, Target::Origin);
        assert_eq!(
            (&t.raw_path[..], t.query),
            (&b"/a/b"[..], Some(b"c?d".to_vec()))
        );
        assert_eq!(parse(Method::Get, "/x?").unwrap().query, Some(Vec::new()));
        let t = parse(Method::Get, "//127.0.0.1:1/x").unwrap();
        assert_eq!(
            (t.form, &t.raw_path[..]),
            (Target::Origin, &b"//127.0.0.1:1/x"[..])
        );
        let t = parse(Method::Get, "HTTP://a.test:81?x").unwrap();
        let form = Target::Absolute {
            scheme: "http".into(),
            authority: b"a.test:81".to_vec(),
        };
        assert_eq!(
            (t.form, &t.raw_path[..], t.query),
            (form, &b"/"[..], Some(b"x".to_vec()))
        );
        let t = parse(Method::Connect, "[::1]:443").unwrap();
        let form = Target::Authority {
            host: "[::1]".into(),
            port: 443,
        };
        assert_eq!((t.form, t.raw_path), (form, Vec::new()));
        assert_eq!(parse(Method::Options, "*").unwrap().form, Target::Asterisk);
        assert_eq!(parse(Method::Options, "http://h").unwrap().raw_path, b"*");
        assert_eq!(
            parse(Method::Get, "/100%?100%").unwrap().query,
            Some(b"100%".to_vec())
        );
    }

    #[test]
    fn targets_that_are_refused() {
        for raw in [
            "",
            "*",
            "a.test:80",
            "x",
            "@127.0.0.1:1/x",
            ":@127.0.0.1:1/x",
            "http:///x",
            "http://",
            "http://a.test@b.test/x",
            "/x#frag",
            "/?x#frag",
            "1http://h/",
            "http:/x",
            "http:x",
            "ht%74p://h/",
            "://h/",
            "http://h:99999/",
            "http://a,b/",
            "/a b",
            "/a\u{e9}",
        ] {
            assert_eq!(parse(Method::Get, raw), Err(400), "{raw}");
        }
        for raw in ["/x", "*", "h", "h:", "h:0", "h:1/x", "http://h:1/", "x@h:1"] {
            assert_eq!(parse(Method::Connect, raw), Err(400), "{raw}");
        }
    }
}
