//! Functions whose value depends on nothing but their argument.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::Digest;

/// A function that is known everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pure {
    ToLower,
    ToUpper,
    Escape,
    Unescape,
    Base64,
    Unbase64,
    Md5,
    Sha1,
}

impl Pure {
    pub(super) fn find(name: &str) -> Option<Pure> {
        Some(match name {
            "tolower" => Pure::ToLower,
            "toupper" => Pure::ToUpper,
            "escape" => Pure::Escape,
            "unescape" => Pure::Unescape,
            "base64" => Pure::Base64,
            "unbase64" => Pure::Unbase64,
            "md5" => Pure::Md5,
            "sha1" => Pure::Sha1,
            _ => return None,
        })
    }

    /// `None`: the argument is not of the right form, which counts as an empty text.
    pub(super) fn of(self, argument: &[u8]) -> Option<Vec<u8>> {
        Some(match self {
            Pure::ToLower => argument.to_ascii_lowercase(),
            Pure::ToUpper => argument.to_ascii_uppercase(),
            Pure::Escape => escaped(argument),
            Pure::Unescape => unescaped(argument)?,
            Pure::Base64 => STANDARD.encode(argument).into_bytes(),
            Pure::Unbase64 => STANDARD.decode(argument).ok()?,
            Pure::Md5 => hex(&md5::Md5::digest(argument)),
            Pure::Sha1 => hex(&sha1::Sha1::digest(argument)),
        })
    }
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(bytes.len() * 2);
    for b in bytes {
        let _ = write!(out, "{b:02x}");
    }
    out.into_bytes()
}

/// As httpd escapes a path segment (`ap_os_escape_path` without its guard for a first colon).
fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &b in bytes {
        if b.is_ascii_alphanumeric() || b"$-_.+!*'(),:@&=/~;".contains(&b) {
            out.push(b);
        } else {
            out.extend_from_slice(format!("%{b:02x}").as_bytes());
        }
    }
    out
}

/// `None` for a `%` without two digits behind it, for an encoded NUL or slash: httpd refuses those.
fn unescaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&b, tail)) = rest.split_first() {
        rest = tail;
        if b != b'%' {
            out.push(b);
            continue;
        }
        let digit = |i: usize| char::from(*tail.get(i)?).to_digit(16);
        let value = (digit(0)? * 16 + digit(1)?) as u8;
        if value == 0 || value == b'/' {
            return None;
        }
        out.push(value);
        rest = &tail[2..];
    }
    Some(out)
}
