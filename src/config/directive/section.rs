//! Sections: what opens them, and where they go when they close.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;

use super::pass::lower_authority;
use super::value::number;
use crate::config::args::Args;
use crate::config::draft::ServerDraft;
use crate::config::frame::{Build, Scope};
use crate::config::layer::Layer;
use crate::config::pattern::Pattern;
use crate::config::registry::Opener;
use crate::config::settings::{HostAddress, Matcher, Section, SectionKind};
use crate::ids::ServerNo;

/// What follows goes to a new server.
fn open_virtual_host(b: &mut Build, args: &Args) -> Result<(), String> {
    let mut addresses = Vec::new();
    let mut fault = None;
    for word in &args.words {
        match host_addresses(word) {
            Ok(found) if found.is_empty() => {
                b.warn(format!(
                    "AH00547: Could not resolve host name {} -- ignoring!",
                    split_address(word).map_or(word.as_str(), |(host, _)| host)
                ));
            }
            Ok(found) => addresses.extend(found),
            Err(e) => fault = Some(e),
        }
    }
    let no = u16::try_from(b.draft.servers.len())
        .map_err(|_| "too many virtual hosts (65535 at most)")?;
    b.draft.servers.push(ServerDraft {
        span: b.span.clone(),
        addresses,
        ..ServerDraft::default()
    });
    b.server = ServerNo(no);
    // The server is there even so: faults inside it should be told in the same run.
    fault.map_or(Ok(()), Err)
}

fn close_virtual_host(b: &mut Build, _: Scope) -> Result<(), String> {
    b.server = ServerNo(0);
    Ok(())
}

/// `<VirtualHost ADDR ...>`: the one opener that pushes no scope, so that what stands directly in
/// a virtual host stands at server level. Its closer does not look at the scope it is given.
pub const VIRTUAL_HOST: Opener = Opener {
    open: open_virtual_host,
    close: close_virtual_host,
};

/// `<Location /path>`, `<Location ~ re>`
pub const LOCATION: Opener = Opener {
    open: open_location,
    close,
};
/// `<LocationMatch re>`
pub const LOCATION_MATCH: Opener = Opener {
    open: open_location_match,
    close,
};
/// `<Directory /path>`, `<Directory ~ re>`
pub const DIRECTORY: Opener = Opener {
    open: open_directory,
    close,
};
/// `<DirectoryMatch re>`
pub const DIRECTORY_MATCH: Opener = Opener {
    open: open_directory_match,
    close,
};
/// `<Files name>`, `<Files ~ re>`
pub const FILES: Opener = Opener {
    open: open_files,
    close,
};
/// `<FilesMatch re>`
pub const FILES_MATCH: Opener = Opener {
    open: open_files_match,
    close,
};
/// `<Proxy url>`, `<Proxy ~ re>`
pub const PROXY: Opener = Opener {
    open: open_proxy,
    close,
};
/// `<ProxyMatch re>`
pub const PROXY_MATCH: Opener = Opener {
    open: open_proxy_match,
    close,
};
/// `<Limit METHOD ...>`
pub const LIMIT: Opener = Opener {
    open: open_limit,
    close,
};
/// `<LimitExcept METHOD ...>`
pub const LIMIT_EXCEPT: Opener = Opener {
    open: open_limit_except,
    close,
};

/// Gives a closed section to the section around it, else to its server.
fn close(b: &mut Build, scope: Scope) -> Result<(), String> {
    let Some(kind) = scope.kind else {
        return Ok(());
    };
    let section = Section {
        kind,
        matcher: scope.matcher,
        layer: scope.layer,
        inner: scope.inner,
        span: scope.span,
    };
    match b.scopes.iter_mut().rev().find(|s| s.kind.is_some()) {
        Some(outer) => outer.inner.push(section),
        None => b.server().sections.push(section),
    }
    Ok(())
}

fn open(b: &mut Build, name: &'static str, kind: SectionKind, matcher: Matcher, argument: &str) {
    let span = b.span.clone();
    b.open(Scope {
        name,
        kind: Some(kind),
        matcher,
        argument: argument.to_string(),
        layer: Layer::default(),
        inner: Vec::new(),
        span,
    });
}

/// Either `~ re` or a plain argument: (argument, is it an expression).
fn tilde<'a>(b: &Build, args: &'a Args) -> Result<(&'a str, bool), String> {
    let (text, regex, used) = match args.opt(0) {
        Some("~") => (args.get(1), true, 2),
        _ => (args.get(0), false, 1),
    };
    if text.is_empty() {
        return Err("directive requires additional arguments".into());
    }
    if args.len() > used {
        return Err(format!(
            "Multiple <{}> arguments not (yet) supported. (\"{}\" stands behind \"{text}\"; quote an argument that holds blanks)",
            b.directive,
            args.get(used)
        ));
    }
    Ok((text, regex))
}

fn regex(text: &str) -> Result<Matcher, String> {
    Pattern::new(text, false)
        .map(Matcher::Regex)
        .map_err(|e| format!("Regex could not be compiled: \"{text}\": {e}"))
}

fn plain_or_wild(text: &str) -> Matcher {
    if is_wild(text) {
        Matcher::Wild(text.as_bytes().to_vec())
    } else {
        Matcher::Prefix(text.as_bytes().to_vec())
    }
}

/// Does this hold characters of shell wildcards?
pub fn is_wild(text: &str) -> bool {
    text.contains(['*', '?'])
        || text
            .split_once('[')
            .is_some_and(|(_, rest)| rest.contains(']'))
}

fn open_location(b: &mut Build, args: &Args) -> Result<(), String> {
    let (text, is_regex) = tilde(b, args)?;
    let matcher = if is_regex {
        regex(text)?
    } else {
        plain_or_wild(text)
    };
    if !is_regex && !text.starts_with(['/', '*', '?', '[']) {
        b.warn(format!(
            "<Location \"{text}\"> matches no request, since paths begin with a slash"
        ));
    }
    open(b, "Location", SectionKind::Location, matcher, text);
    Ok(())
}

fn open_location_match(b: &mut Build, args: &Args) -> Result<(), String> {
    let text = only(b, args)?;
    let matcher = regex(text)?;
    open(b, "LocationMatch", SectionKind::Location, matcher, text);
    Ok(())
}

fn open_directory(b: &mut Build, args: &Args) -> Result<(), String> {
    let (text, is_regex) = tilde(b, args)?;
    if is_regex {
        let matcher = regex(text)?;
        open(b, "Directory", SectionKind::DirectoryMatch, matcher, text);
        return Ok(());
    }
    // httpd takes a relative one from where it was started; the server root is what is meant.
    let wild_start = text.starts_with(['*', '?', '[']);
    let absolute = if wild_start {
        PathBuf::from(text)
    } else {
        b.path(text)
    };
    let path = normal_path(&absolute.to_string_lossy());
    open(
        b,
        "Directory",
        SectionKind::Directory,
        plain_or_wild(&path),
        text,
    );
    Ok(())
}

fn open_directory_match(b: &mut Build, args: &Args) -> Result<(), String> {
    let text = only(b, args)?;
    let matcher = regex(text)?;
    open(
        b,
        "DirectoryMatch",
        SectionKind::DirectoryMatch,
        matcher,
        text,
    );
    Ok(())
}

fn open_files(b: &mut Build, args: &Args) -> Result<(), String> {
    let (text, is_regex) = tilde(b, args)?;
    let matcher = if is_regex {
        regex(text)?
    } else {
        plain_or_wild(text)
    };
    open(b, "Files", SectionKind::Files, matcher, text);
    Ok(())
}

fn open_files_match(b: &mut Build, args: &Args) -> Result<(), String> {
    let text = only(b, args)?;
    let matcher = regex(text)?;
    open(b, "FilesMatch", SectionKind::Files, matcher, text);
    Ok(())
}

fn open_proxy(b: &mut Build, args: &Args) -> Result<(), String> {
    if args.opt(0) == Some("~") {
        let (text, _) = tilde(b, args)?;
        let matcher = regex(text)?;
        open(b, "Proxy", SectionKind::Proxy, matcher, text);
        return Ok(());
    }
    let written = args.get(0);
    if written.is_empty() {
        return Err("<Proxy> block must specify a path".into());
    }
    let text = match written.get(..6) {
        Some(p) if p.eq_ignore_ascii_case("proxy:") => &written[6..],
        _ => written,
    };
    let parameters = args.rest(1);
    let mut outcome = Ok(());
    if !parameters.is_empty() {
        outcome = if is_wild(text) {
            Err("<Proxy> arguments are not supported for wildchar url.".to_string())
        } else if !text.contains(':') {
            Err("<Proxy> arguments are not supported for non url.".to_string())
        } else {
            super::balancer::configure(b, text, parameters, "<Proxy")
        };
    }
    open(
        b,
        "Proxy",
        SectionKind::Proxy,
        plain_or_wild(&lower_authority(text)),
        text,
    );
    outcome
}

fn open_proxy_match(b: &mut Build, args: &Args) -> Result<(), String> {
    if args.len() > 1 {
        return Err("Multiple <ProxyMatch> arguments not (yet) supported.".into());
    }
    let text = only(b, args)?;
    let matcher = regex(text)?;
    open(b, "ProxyMatch", SectionKind::Proxy, matcher, text);
    Ok(())
}

fn open_limit(b: &mut Build, args: &Args) -> Result<(), String> {
    limit(b, args, "Limit", false)
}

fn open_limit_except(b: &mut Build, args: &Args) -> Result<(), String> {
    limit(b, args, "LimitExcept", true)
}

fn limit(b: &mut Build, args: &Args, name: &'static str, except: bool) -> Result<(), String> {
    let mut names = args.words.clone();
    if names.iter().any(|m| m == "TRACE") {
        return Err(format!(
            "TRACE cannot be controlled by <{name}>, see TraceEnable"
        ));
    }
    if names.iter().any(|m| m == "GET") {
        names.push("HEAD".into());
    }
    open(
        b,
        name,
        SectionKind::Limit,
        Matcher::Methods { names, except },
        &args.raw,
    );
    Ok(())
}

fn only<'a>(b: &Build, args: &'a Args) -> Result<&'a str, String> {
    match args.opt(0) {
        Some(text) if args.len() == 1 && !text.is_empty() => Ok(text),
        Some(text) if !text.is_empty() => Err(format!(
            "Multiple <{}> arguments not (yet) supported. (\"{}\" stands behind \"{text}\"; quote an argument that holds blanks)",
            b.directive,
            args.get(1)
        )),
        _ => Err("directive requires additional arguments".into()),
    }
}

/// Slashes merged, `.` and `..` resolved, no slash at the end but the root's.
fn normal_path(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            p => parts.push(p),
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// The addresses that one word of a `<VirtualHost>` line stands for; none where a name did not
/// resolve.
fn host_addresses(word: &str) -> Result<Vec<HostAddress>, String> {
    let (host, port) = split_address(word)?;
    let address = |ip| HostAddress {
        ip,
        port,
        text: host.to_string(),
    };
    if host == "*" || host.eq_ignore_ascii_case("_default_") {
        return Ok(vec![address(None)]);
    }
    if let Ok(ip) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(vec![address(Some(ip))]);
    }
    let mut ips: Vec<IpAddr> = match (host, 0).to_socket_addrs() {
        Ok(found) => found.map(|a| a.ip()).collect(),
        Err(_) => Vec::new(),
    };
    ips.dedup();
    Ok(ips.into_iter().map(|ip| address(Some(ip))).collect())
}

/// Host and port of an address; `*` and a missing port give `None`.
fn split_address(word: &str) -> Result<(&str, Option<u16>), String> {
    let behind = match word.rfind(']') {
        Some(i) => i + 1,
        None => 0,
    };
    let tail = &word[behind..];
    // An IPv6 address without brackets is one address without a port.
    if behind == 0 && tail.matches(':').count() > 1 {
        return Ok((word, None));
    }
    let Some(colon) = tail.rfind(':').map(|i| i + behind) else {
        return Ok((word, None));
    };
    let (host, port) = (&word[..colon], &word[colon + 1..]);
    if port == "*" {
        return Ok((host, None));
    }
    number::<u16>(port)
        .filter(|p| *p > 0 && !host.is_empty())
        .map(|p| (host, Some(p)))
        .ok_or_else(|| format!("The address or port is invalid: \"{word}\" (write ADDRESS:PORT, *:PORT or [IPV6]:PORT with a port from 1 to 65535)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(word: &str) -> (Option<IpAddr>, Option<u16>) {
        let a = host_addresses(word).unwrap();
        assert_eq!(a.len(), 1, "{word}");
        (a[0].ip, a[0].port)
    }

    #[test]
    fn virtual_host_addresses() {
        let v4 = Some("10.0.0.1".parse().unwrap());
        let v6 = Some("::1".parse().unwrap());
        assert_eq!(one("10.0.0.1:80"), (v4, Some(80)));
        assert_eq!(one("10.0.0.1"), (v4, None));
        assert_eq!(one("*:80"), (None, Some(80)));
        assert_eq!(one("_default_:80"), (None, Some(80)));
        assert_eq!(one("*"), (None, None));
        assert_eq!(one("*:*"), (None, None));
        assert_eq!(one("[::1]:80"), (v6, Some(80)));
        assert_eq!(one("[::1]"), (v6, None));
        assert_eq!(one("::1"), (v6, None));
        for bad in ["*:0", "*:99999", "1.2.3.4:x", ":80"] {
            assert!(host_addresses(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn directories_are_normalised() {
        assert_eq!(normal_path("/"), "/");
        assert_eq!(normal_path("/a//b/../c/"), "/a/c");
    }

    #[test]
    fn wildcards() {
        assert!(is_wild("/a*") && is_wild("/[ab]") && !is_wild("/a[") && !is_wild("/a"));
    }
}
