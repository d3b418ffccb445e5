//! The one normalised path that sections, access control, ProxyPass and aliases look at, and the
//! escaping of a path for a request line. Nothing is decoded twice.

use std::borrow::Cow;

use crate::config::settings::EncodedSlashes;

/// The path in the two spellings that are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Escapes decoded once, dot segments resolved, slashes merged: sections, ProxyPass and aliases
    /// look at it. With `EncodedSlashes::NoDecode` a `%2f` stays, and so does every `%25` that
    /// would become the beginning of one when decoded, so that the two cannot be mixed up.
    pub decoded: Vec<u8>,
    /// Only unreserved bytes decoded, dot segments resolved, slashes merged (`mapping=encoded`).
    pub encoded: Vec<u8>,
}

/// A path that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PathError {
    /// 400 or 404.
    pub status: u16,
    /// Why; holds nothing of the path.
    pub reason: &'static str,
}

const BAD_ESCAPE: PathError = PathError {
    status: 400,
    reason: "the path has a % without two hexadecimal digits",
};
const NUL: PathError = PathError {
    status: 404,
    reason: "the path has an encoded NUL",
};
const SLASH: PathError = PathError {
    status: 404,
    reason: "the path has an encoded slash and AllowEncodedSlashes is Off",
};
const NO_SLASH: PathError = PathError {
    status: 400,
    reason: "the path does not begin with a slash",
};
const ABOVE: PathError = PathError {
    status: 400,
    reason: "the path climbs above the root",
};
const PARAMETER: PathError = PathError {
    status: 400,
    reason: "the path has a dot segment with a parameter",
};

/// Normalises a path (httpd: `ap_normalize_path`, then `ap_unescape_url_ex`).
///
/// 400: a bad escape, climbing above the root, a dot segment with a parameter (`..;x`, which
/// backends that cut parameters would resolve). 404: `%00`, and `%2f` where it is not allowed.
pub fn normalise(
    raw_path: &[u8],
    encoded_slashes: EncodedSlashes,
    merge_slashes: bool,
) -> Result<Path, PathError> {
    // Nearly all paths need nothing done.
    if is_plain(raw_path) {
        return Ok(Path {
            decoded: raw_path.to_vec(),
            encoded: raw_path.to_vec(),
        });
    }
    let encoded = normalise_encoded(raw_path, merge_slashes)?;
    let decoded = decode(&encoded, encoded_slashes)?;
    let decoded = resolve(&decoded, merge_slashes, false)?;
    Ok(Path { decoded, encoded })
}

/// A path that `normalise` refused, for the log: decoded as far as that goes, runs of slashes as one.
pub fn for_the_log(raw_path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw_path.len());
    for b in percent_encoding::percent_decode(raw_path) {
        if b != b'/' || out.last() != Some(&b'/') {
            out.push(b);
        }
    }
    out
}

/// Only the `encoded` spelling of `normalise`, in which `%2f` is never refused (`mapping=encoded`
/// rules are tried before AllowEncodedSlashes answers 404).
pub fn normalise_encoded(raw_path: &[u8], merge_slashes: bool) -> Result<Vec<u8>, PathError> {
    if raw_path.first() != Some(&b'/') {
        return Err(NO_SLASH);
    }
    let mut out = Vec::with_capacity(raw_path.len());
    let mut rest = raw_path;
    while let [b, after @ ..] = rest {
        if *b != b'%' {
            out.push(*b);
            rest = after;
            continue;
        }
        match escape(rest)? {
            0 => return Err(NUL),
            plain if is_unreserved(plain) => out.push(plain),
            _ => out.extend_from_slice(&rest[..3]),
        }
        rest = &rest[3..];
    }
    resolve(&out, merge_slashes, true)
}

/// The path with `;...` cut from each segment, as many backends see it; for access control. A
/// segment of nothing but parameters goes with its slash, as they merge slashes after cutting.
pub fn without_parameters(decoded: &[u8]) -> Cow<'_, [u8]> {
    if !decoded.contains(&b';') {
        return Cow::Borrowed(decoded);
    }
    let mut out = Vec::with_capacity(decoded.len());
    let mut cutting = false;
    for &b in decoded {
        match b {
            b'/' if cutting => {
                cutting = false;
                if out.last() == Some(&b'/') {
                    continue;
                }
            }
            b';' => cutting = true,
            _ => {}
        }
        if !cutting {
            out.push(b);
        }
    }
    Cow::Owned(out)
}

/// The path as a backend may see it that takes an encoded slash for a slash and cuts parameters;
/// for access control. `None`: the same as `path.decoded`. 400: so seen it climbs above the root.
pub fn as_backends_see(path: &Path) -> Result<Option<Vec<u8>>, PathError> {
    let has_slash = memchr::memchr_iter(b'%', &path.encoded)
        .any(|at| matches!(path.encoded[at + 1..], [b'2', b'f' | b'F', ..]));
    if has_slash {
        let decoded = decode(&path.encoded, EncodedSlashes::On)?;
        let resolved = resolve(&decoded, true, false)?;
        return Ok(Some(without_parameters(&resolved).into_owned()));
    }
    Ok(match without_parameters(&path.decoded) {
        Cow::Owned(cut) => Some(cut),
        Cow::Borrowed(_) => None,
    })
}

/// Escapes a decoded path for the request line (httpd: `ap_proxy_canonenc` for paths).
pub fn canonical_escape(path: &[u8]) -> Vec<u8> {
    escape_path(path, |_| 0)
}

/// The same for a path normalised with `EncodedSlashes::NoDecode`: what was kept escaped there
/// stays as it is.
pub fn canonical_escape_kept(path: &[u8]) -> Vec<u8> {
    escape_path(path, kept_len)
}

fn escape_path(path: &[u8], kept: impl Fn(&[u8]) -> usize) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(path.len() + 16);
    let mut rest = path;
    while let [b, after @ ..] = rest {
        let b = *b;
        if stands_unescaped(b) {
            out.push(b);
        } else {
            let keep = if b == b'%' { kept(rest) } else { 0 };
            if keep > 0 {
                out.extend_from_slice(&rest[..keep]);
                rest = &rest[keep..];
                continue;
            }
            out.extend_from_slice(&[b'%', HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]);
        }
        rest = after;
    }
    out
}

/// Bytes of a leading `%2f`, `%252f`, `%25252f` and so on; 0 where there is none.
fn kept_len(text: &[u8]) -> usize {
    let mut at = 1;
    while text[at..].starts_with(b"25") {
        at += 2;
    }
    match text[at..] {
        [b'2', b'f' | b'F', ..] => at + 2,
        _ => 0,
    }
}

/// Decodes all that is still escaped.
fn decode(encoded: &[u8], encoded_slashes: EncodedSlashes) -> Result<Vec<u8>, PathError> {
    let mut out = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let [b, after @ ..] = rest {
        if *b != b'%' {
            out.push(*b);
            rest = after;
            continue;
        }
        let byte = escape(rest)?;
        match (byte, encoded_slashes) {
            (b'/', EncodedSlashes::Off) => return Err(SLASH),
            (b'/' | b'%', EncodedSlashes::NoDecode) if kept_len(rest) > 0 => {
                let keep = kept_len(rest);
                out.extend_from_slice(&rest[..keep]);
                rest = &rest[keep..];
                continue;
            }
            _ => out.push(byte),
        }
        rest = &rest[3..];
    }
    Ok(out)
}

/// Resolves dot segments and merges slashes. An empty segment counts as one when they are not merged.
/// `escaped`: reserved bytes are still escaped, the semicolon among them.
fn resolve(path: &[u8], merge_slashes: bool, escaped: bool) -> Result<Vec<u8>, PathError> {
    let Some(inner) = path.strip_prefix(b"/") else {
        return Err(NO_SLASH);
    };
    let mut out = Vec::with_capacity(path.len());
    out.push(b'/');
    let mut segments = inner.split(|&b| b == b'/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            b"." => continue,
            b".." => {
                // `out` ends in the slash before this segment; go to the one before that.
                let above = out[..out.len() - 1].iter().rposition(|&b| b == b'/');
                out.truncate(above.ok_or(ABOVE)? + 1);
                continue;
            }
            _ if has_dots_and_parameter(segment, escaped) => return Err(PARAMETER),
            b"" if merge_slashes || last => {
                if !last {
                    continue;
                }
            }
            _ => out.extend_from_slice(segment),
        }
        if !last {
            out.push(b'/');
        }
    }
    Ok(out)
}

/// `.;` or `..;` and more.
fn has_dots_and_parameter(segment: &[u8], escaped: bool) -> bool {
    let Some(rest) = segment.strip_prefix(b".") else {
        return false;
    };
    match rest.strip_prefix(b".").unwrap_or(rest) {
        [b';', ..] => true,
        [b'%', b'3', b'b' | b'B', ..] => escaped,
        _ => false,
    }
}

/// Begins with a slash and holds neither an escape, nor a dot or empty segment, nor a parameter.
fn is_plain(path: &[u8]) -> bool {
    path.first() == Some(&b'/')
        && !path.iter().fold(false, |odd, &b| odd | (b == b'%'))
        && path
            .windows(2)
            .all(|pair| !(pair[0] == b'/' && matches!(pair[1], b'/' | b'.')))
}

/// The value of the escape that `text` begins with.
fn escape(text: &[u8]) -> Result<u8, PathError> {
    let digit = |b: u8| char::from(b).to_digit(16);
    match text {
        [b'%', high, low, ..] => match (digit(*high), digit(*low)) {
            (Some(high), Some(low)) => Ok((high << 4 | low) as u8),
            _ => Err(BAD_ESCAPE),
        },
        _ => Err(BAD_ESCAPE),
    }
}

/// RFC 3986 2.3.
fn is_unreserved(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')
}

/// What a path may hold unescaped (spec: the canonicalisation table; httpd's `ap_proxy_canonenc`).
fn stands_unescaped(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"~$-_.+!*'(),;:@&=/".contains(&b)
}

#[cfg(test)]
mod tests;
