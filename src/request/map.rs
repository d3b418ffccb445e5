//! From a path to a backend's URL: ProxyPass and ProxyPassMatch (spec: proxy 3).

use std::borrow::Cow;
use std::sync::Arc;

use crate::codec::target::{Target, without_parameters};
use crate::config::pattern::{TooManySteps, substitute};
use crate::config::settings::{EncodedSlashes, Mapping, ProxyRule, RuleFrom, RuleTo, Server};

use super::env::Env;
use super::request::{ProxyTarget, Request};
use super::room::Routes;
use super::trace::shown;

/// What a path was mapped to.
#[derive(Debug, PartialEq, Eq)]
pub enum Mapped {
    /// No rule: it goes on with the next kind of rules.
    No,
    /// `proxy_to` or `filename` is set.
    Yes,
    /// `!`: no ProxyPass applies.
    Excluded,
    /// A redirect with this status to this location.
    Redirect(u16, Vec<u8>),
    /// A plain status (`Redirect gone`).
    Status(u16),
}

/// Rules with `mapping=encoded` or `servlet`, which look at the path before it is fully decoded.
pub fn encoded_rules(routes: &Routes, req: &mut Request) -> Result<Mapped, TooManySteps> {
    proxy_rules(routes, req, true)
}

/// The ordinary ProxyPass and ProxyPassMatch rules: the `<Location>`'s, then the server's in order.
pub fn proxy(routes: &Routes, req: &mut Request) -> Result<Mapped, TooManySteps> {
    proxy_rules(routes, req, false)
}

fn proxy_rules(routes: &Routes, req: &mut Request, early: bool) -> Result<Mapped, TooManySteps> {
    let mappable = req.path.decoded.first() == Some(&b'/');
    if !mappable || !req.env.is_empty() && req.env.contains("no-proxy") {
        return Ok(Mapped::No);
    }
    let server = routes.server(req.server);
    let own: Option<Arc<ProxyRule>> = req.layer.proxy_pass.clone();
    let interpolate = req.layer.interpolate_env.unwrap_or(false);
    for rule in own.as_deref().into_iter().chain(&server.proxy.rules) {
        if (rule.mapping != Mapping::Decoded) != early {
            continue;
        }
        let found = apply_rule(server, req, rule, interpolate)?;
        routes
            .trace
            .tried(&rule.span, found != Applied::No, || describe(rule, &found));
        match found {
            Applied::No => {}
            Applied::Excluded => return Ok(Mapped::Excluded),
            Applied::Bad => return Ok(Mapped::Status(400)),
            Applied::To(target, path) => {
                req.proxy_to = Some(target);
                req.handler = Cow::Borrowed("proxy-server");
                if let Some(path) = path {
                    req.path.decoded = path;
                }
                return Ok(Mapped::Yes);
            }
        }
    }
    Ok(Mapped::No)
}

#[derive(Debug, PartialEq, Eq)]
enum Applied {
    No,
    Excluded,
    /// The path would have changed the target's host.
    Bad,
    /// The target, and the path that sections see from now on where it changed.
    To(ProxyTarget, Option<Vec<u8>>),
}

fn apply_rule(
    server: &Server,
    req: &Request,
    rule: &ProxyRule,
    interpolate: bool,
) -> Result<Applied, TooManySteps> {
    let interpolate = interpolate && rule.interpolate;
    let url = match &rule.to {
        RuleTo::Exclude => None,
        RuleTo::Url(url) if interpolate => Some(interpolated(url.as_bytes(), &req.env)),
        RuleTo::Url(url) => Some(Cow::Borrowed(url.as_bytes())),
    };
    let path: &[u8] = match rule.mapping {
        Mapping::Decoded => &req.path.decoded,
        Mapping::Encoded | Mapping::Servlet => &req.path.encoded,
    };
    let mut encoded = rule.mapping != Mapping::Decoded;
    let mut new_path = None;
    let target = match &rule.from {
        RuleFrom::Prefix(prefix) => {
            let prefix = if interpolate {
                interpolated(prefix, &req.env)
            } else {
                Cow::Borrowed(prefix.as_slice())
            };
            let (length, rest) = if rule.mapping == Mapping::Servlet {
                let Some(rest) = match_servlet(&prefix, path) else {
                    return Ok(Applied::No);
                };
                (1, rest)
            } else {
                match match_prefix(&prefix, path) {
                    0 => return Ok(Applied::No),
                    length => (length, Cow::Borrowed(&path[length..])),
                }
            };
            let Some(url) = url else {
                return Ok(Applied::Excluded);
            };
            if rule.mapping == Mapping::Servlet {
                new_path = Some(decoded(&without_parameters(path)));
            }
            let mut rest = rest;
            // A raw path is only used when it was matched as it stands; otherwise what was compared
            // and what is sent would be two different paths.
            let raw = &req.target.raw_path;
            if rule.nocanon
                && !encoded
                && match_prefix(&prefix, raw) == length
                && !has_dot_segment(raw)
            {
                rest = Cow::Borrowed(&raw[length..]);
                encoded = true;
            }
            [&*url, &*rest].concat()
        }
        RuleFrom::Match(pattern) => {
            let Some(groups) = pattern.groups(path)? else {
                return Ok(Applied::No);
            };
            let Some(url) = url else {
                return Ok(Applied::Excluded);
            };
            let raw = &req.target.raw_path;
            let raw_groups = match rule.nocanon && !encoded && !has_dot_segment(raw) {
                true => pattern.groups(raw)?,
                false => None,
            };
            let (subject, groups) = match &raw_groups {
                Some(raw) => {
                    encoded = true;
                    (req.target.raw_path.as_slice(), raw)
                }
                None => (path, &groups),
            };
            let target = substitute(&url, subject, groups);
            // Without a capture in it the whole path follows.
            if target == *url {
                [&*url, subject].concat()
            } else {
                target
            }
        }
    };
    if let RuleTo::Url(template) = &rule.to
        && authority(&target).contains(&b'@')
        && !authority(template.as_bytes()).contains(&b'@')
    {
        // A piece of the path that stands next to the host must not make the host a user's name.
        return Ok(Applied::Bad);
    }
    Ok(Applied::To(
        ProxyTarget {
            url: target,
            encoded,
            kept_slashes: server.encoded_slashes == EncodedSlashes::NoDecode,
            query: req.target.query.clone(),
            span: rule.span.clone(),
        },
        new_path,
    ))
}

/// How many bytes of `path` a prefix matches: runs of slashes count as one, and the prefix must end
/// at a segment (httpd's alias_match). 0: no match.
pub fn match_prefix(prefix: &[u8], path: &[u8]) -> usize {
    let (mut a, mut p) = (0, 0);
    while a < prefix.len() && p < path.len() {
        if prefix[a] == b'/' {
            if path[p] != b'/' {
                return 0;
            }
            while prefix.get(a) == Some(&b'/') {
                a += 1;
            }
            while path.get(p) == Some(&b'/') {
                p += 1;
            }
        } else if prefix[a] == path[p] {
            a += 1;
            p += 1;
        } else {
            return 0;
        }
    }
    let ended = a == prefix.len();
    let boundary = prefix.ends_with(b"/") || matches!(path.get(p), None | Some(b'/'));
    if ended && boundary { p } else { 0 }
}

/// `mapping=servlet`: path parameters do not count for the match. What is left over keeps its own;
/// those of the last matched segment stay in front of it, and are dropped where nothing is left.
fn match_servlet<'a>(prefix: &[u8], path: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let (mut a, mut p) = (0, 0);
    while a < prefix.len() {
        match path.get(p) {
            Some(b';') => p = segment_end(path, p),
            Some(&c) if c == prefix[a] => {
                a += 1;
                p += 1;
            }
            _ => return None,
        }
    }
    let rest = &path[p..];
    if prefix.ends_with(b"/") {
        return Some(Cow::Borrowed(rest));
    }
    match rest.first() {
        None => Some(Cow::Borrowed(rest)),
        Some(b'/') => Some(Cow::Borrowed(rest)),
        Some(b';') => {
            let end = segment_end(rest, 0);
            Some(Cow::Borrowed(if end == rest.len() { b"" } else { rest }))
        }
        Some(_) => None,
    }
}

/// Whether a raw path holds `.` or `..` as a segment, also in escaped spelling.
fn has_dot_segment(raw: &[u8]) -> bool {
    raw.split(|c| *c == b'/')
        .any(|segment| segment.len() <= 6 && matches!(decoded(segment).as_slice(), b"." | b".."))
}

/// The `host[:port]` of a URL.
fn authority(url: &[u8]) -> &[u8] {
    let after = memchr::memmem::find(url, b"://").map_or(url, |i| &url[i + 3..]);
    let end = after
        .iter()
        .position(|c| matches!(c, b'/' | b'?' | b'#'))
        .unwrap_or(after.len());
    &after[..end]
}

fn segment_end(path: &[u8], from: usize) -> usize {
    memchr::memchr(b'/', &path[from..]).map_or(path.len(), |i| from + i)
}

fn decoded(path: &[u8]) -> Vec<u8> {
    percent_encoding::percent_decode(path).collect()
}

/// `${NAME}` replaced by the request's variables; an unset one gives nothing.
pub fn interpolated<'a>(text: &'a [u8], env: &Env) -> Cow<'a, [u8]> {
    if memchr::memmem::find(text, b"${").is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, b"${") {
        out.extend_from_slice(&rest[..at]);
        let Some(end) = memchr::memchr(b'}', &rest[at..]) else {
            rest = &rest[at..];
            break;
        };
        if let Ok(name) = std::str::from_utf8(&rest[at + 2..at + end]) {
            out.extend_from_slice(env.get(name).unwrap_or_default());
        }
        rest = &rest[at + end + 1..];
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// `OPTIONS *` and CONNECT are mapped to nothing.
pub fn is_path(req: &Request) -> bool {
    matches!(req.target.form, Target::Origin | Target::Absolute { .. })
}

fn describe(rule: &ProxyRule, found: &Applied) -> String {
    let from = match &rule.from {
        RuleFrom::Prefix(prefix) => format!("ProxyPass {}", shown(prefix)),
        RuleFrom::Match(pattern) => format!("ProxyPassMatch {}", pattern.text()),
    };
    match (&rule.to, found) {
        (_, Applied::To(target, _)) => format!("{from} gives {}", shown(&target.url)),
        (RuleTo::Exclude, _) => format!("{from} !"),
        (RuleTo::Url(url), _) => format!("{from} {url}"),
    }
}
