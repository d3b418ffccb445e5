//! The request target (RFC 9112 3.2) and the one normalised path that everything else looks at.

use std::borrow::Cow;

use super::http1::head::{HeadError, Method};
use crate::config::settings::EncodedSlashes;

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

/// The path in the two spellings that are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Escapes decoded once, dot segments resolved, slashes merged: sections, ProxyPass and aliases look at it.
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

/// Takes a target apart; `raw` comes from a parsed head.
pub fn parse_target(method: &Method, raw: &[u8]) -> Result<ParsedTarget, HeadError> {
    let _ = (method, raw);
    todo!()
}

/// Normalises a path. Refuses bad escapes, `%00`, climbing above the root, and dot segments with a parameter (`..;x`).
pub fn normalise(
    raw_path: &[u8],
    encoded_slashes: EncodedSlashes,
    merge_slashes: bool,
) -> Result<Path, PathError> {
    let _ = (raw_path, encoded_slashes, merge_slashes);
    todo!()
}

/// Only the `encoded` spelling of `normalise`, in which `%2f` is never refused (`mapping=encoded`
/// rules are tried before AllowEncodedSlashes answers 404).
pub fn normalise_encoded(raw_path: &[u8], merge_slashes: bool) -> Result<Vec<u8>, PathError> {
    let _ = (raw_path, merge_slashes);
    todo!()
}

/// The path with `;...` cut from each segment, as many backends see it; for access control.
pub fn without_parameters(decoded: &[u8]) -> Cow<'_, [u8]> {
    Cow::Borrowed(decoded)
}

/// Escapes a decoded path for the request line (spec: proxy 3.3).
pub fn canonical_escape(path: &[u8]) -> Vec<u8> {
    let _ = path;
    todo!()
}

/// The same for a path normalised with `EncodedSlashes::NoDecode`: a `%2f` that was left stays as it is.
pub fn canonical_escape_kept(path: &[u8]) -> Vec<u8> {
    let _ = path;
    todo!()
}
