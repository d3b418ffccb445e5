//! The URL that the mapping gave, taken apart, and the path that is written for the backend
//! (spec: proxy 3.3).

use crate::codec::target::{canonical_escape, canonical_escape_kept};
use crate::fault::{Fault, Kind, Origin, Phase};

/// A mapped URL in pieces; the path is decoded unless the rule says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Url<'a> {
    /// The whole.
    pub whole: &'a [u8],
    /// Where the scheme begins: behind `unix:PATH|`.
    start: u32,
    /// Where it ends.
    colon: u32,
    /// How long everything in front of the path is, `unix:PATH|` included.
    base_len: u32,
}

impl<'a> Url<'a> {
    /// Takes a URL apart. `None`: it has no scheme or no authority.
    pub fn parse(whole: &'a [u8]) -> Option<Url<'a>> {
        // Only at the very front, which is the rule's own text: a request cannot put it there.
        let start = match whole.starts_with(b"unix:") {
            true => whole.iter().position(|&b| b == b'|')? + 1,
            false => 0,
        };
        let colon = start + whole[start..].iter().position(|&b| b == b':')?;
        let scheme = &whole[start..colon];
        let behind = whole[colon..].strip_prefix(b"://")?;
        let end = behind
            .iter()
            .position(|&b| matches!(b, b'/' | b'?' | b'#'))
            .unwrap_or(behind.len());
        let good = scheme
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b));
        if !good || scheme.is_empty() || (end == 0 && start == 0) {
            return None;
        }
        Some(Url {
            whole,
            start: start as u32,
            colon: colon as u32,
            base_len: u32::try_from(colon + 3 + end).ok()?,
        })
    }

    /// Lower case as configured.
    pub fn scheme(&self) -> &'a [u8] {
        &self.whole[self.start as usize..self.colon as usize]
    }

    /// Behind `://`.
    pub fn authority(&self) -> &'a [u8] {
        &self.whole[self.colon as usize + 3..self.base_len as usize]
    }

    /// Everything in front of the path.
    pub fn base(&self) -> &'a [u8] {
        &self.whole[..self.base_len as usize]
    }

    /// From the slash on; may be empty.
    pub fn path(&self) -> &'a [u8] {
        &self.whole[self.base_len as usize..]
    }
}

/// How a path is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// It is decoded: escape it canonically.
    Decoded,
    /// The same, where AllowEncodedSlashes NoDecode left `%2f` in it.
    DecodedButSlashes,
    /// It is sent as it stands (`nocanon`, `mapping=encoded`).
    Encoded,
}

/// Writes the request target: `before` (a member's own path) and `path`, escaped, and the query as
/// it came. Refuses what could break the request line.
pub fn write_target(
    out: &mut Vec<u8>,
    before: &[u8],
    path: &[u8],
    query: Option<&[u8]>,
    spelling: Spelling,
) -> Result<(), Fault> {
    // httpd's canonical path of a balancer's URL is never empty, whatever the member's own path is.
    let slash: &[u8] = match path.first() {
        Some(b'/') => b"",
        _ => b"/",
    };
    for part in [before, slash, path] {
        match spelling {
            Spelling::Encoded if part.iter().copied().all(is_visible) => {
                out.extend_from_slice(part)
            }
            Spelling::Encoded => return Err(refused("path", "AH10415")),
            _ if part.iter().all(|&b| PLAIN[usize::from(b)]) => out.extend_from_slice(part),
            Spelling::Decoded => out.extend_from_slice(&canonical_escape(part)),
            Spelling::DecodedButSlashes => out.extend_from_slice(&canonical_escape_kept(part)),
        }
    }
    if let Some(query) = query {
        if !query.iter().copied().all(is_visible) {
            return Err(refused("query", "AH10408"));
        }
        out.push(b'?');
        out.extend_from_slice(query);
    }
    Ok(())
}

fn is_visible(b: u8) -> bool {
    b > b' ' && b != 0x7f
}

fn refused(which: &str, code: &str) -> Fault {
    Fault::new(
        Origin::Client,
        Phase::Mapping,
        Kind::Denied(403),
        format!("{code}: the {which} for the backend holds a blank or a control byte"),
    )
}

/// Bytes that a canonical path holds as they are.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = (b as u8).is_ascii_alphanumeric();
        b += 1;
    }
    let others = b"~$-_.+!*'(),;:@&=/";
    let mut i = 0;
    while i < others.len() {
        table[others[i] as usize] = true;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn written(before: &str, path: &str, query: Option<&str>, spelling: Spelling) -> String {
        let mut out = Vec::new();
        write_target(
            &mut out,
            before.as_bytes(),
            path.as_bytes(),
            query.map(str::as_bytes),
            spelling,
        )
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_url_falls_into_its_pieces() {
        let u = Url::parse(b"http://h:81/a/b").unwrap();
        assert_eq!(
            (u.scheme(), u.authority(), u.path()),
            (&b"http"[..], &b"h:81"[..], &b"/a/b"[..])
        );
        assert_eq!(u.base().len(), 11);
        let u = Url::parse(b"unix:/run/a.sock|http://x/p").unwrap();
        assert_eq!(
            (u.authority(), u.path(), u.base().len()),
            (&b"x"[..], &b"/p"[..], 25)
        );
        let u = Url::parse(b"balancer://pair").unwrap();
        assert_eq!((u.scheme(), u.path()), (&b"balancer"[..], &b""[..]));
        assert!(Url::parse(b"/a").is_none());
        assert!(Url::parse(b"http:///x").is_none());
        assert!(Url::parse(b"http:/x").is_none());
    }

    #[test]
    fn a_request_cannot_bring_its_own_socket() {
        let u = Url::parse(b"http://h/unix:/etc/x|http://evil/").unwrap();
        assert_eq!(u.authority(), b"h");
    }

    #[test]
    fn plain_paths_are_copied() {
        assert_eq!(written("", "/a/b;c=d", None, Spelling::Decoded), "/a/b;c=d");
        assert_eq!(written("", "", Some("q"), Spelling::Decoded), "/?q");
        assert_eq!(written("", "/x", Some(""), Spelling::Decoded), "/x?");
        assert_eq!(written("/app/", "/x", None, Spelling::Decoded), "/app//x");
        assert_eq!(written("/app", "/x", None, Spelling::Decoded), "/app/x");
        assert_eq!(
            written("", "/%41%2f", Some("%zz"), Spelling::Encoded),
            "/%41%2f?%zz"
        );
    }

    #[test]
    fn what_breaks_the_request_line_is_refused() {
        let mut out = Vec::new();
        assert!(write_target(&mut out, b"", b"/a b", None, Spelling::Encoded).is_err());
        assert!(write_target(&mut out, b"", b"/a", Some(b"x\ny"), Spelling::Decoded).is_err());
        assert!(write_target(&mut out, b"", b"/a", Some(b"x y"), Spelling::Decoded).is_err());
    }
}
