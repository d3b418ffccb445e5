//! `ProxyPass` and `ProxyPassMatch`: rules, and the workers that they bring into being.

use std::sync::Arc;

use super::balancer::{balancer_mut, each, set_balancer, told, worker_with};
use crate::config::args::Args;
use crate::config::diagnostic::nearest;
use crate::config::draft::PassFlags;
use crate::config::frame::Build;
use crate::config::pattern::Pattern;
use crate::config::settings::{Mapping, Matcher, ProxyRule, RuleFrom, RuleTo, SectionKind};
use crate::config::worker_url::{WorkerUrl, is_balancer};

/// Schemes that a handler serves.
pub const SCHEMES: [&str; 1] = ["http"];

/// `ProxyPass [path] !|URL [key=value ...] [nocanon] [interpolate] [noquery]`
pub fn proxy_pass(b: &mut Build, args: &Args) -> Result<(), String> {
    add(b, args, false)
}

/// `ProxyPassMatch [regex] !|URL [key=value ...]`
pub fn proxy_pass_match(b: &mut Build, args: &Args) -> Result<(), String> {
    add(b, args, true)
}

/// The words of one line, sorted out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Line {
    path: Option<String>,
    target: String,
    parameters: Vec<(String, String)>,
    flags: PassFlags,
    regex: bool,
}

fn add(b: &mut Build, args: &Args, is_match: bool) -> Result<(), String> {
    let location = b
        .within(SectionKind::Location)
        .map(|s| (s.argument.clone(), s.matcher.clone()));
    let line = sort_out(&args.words, location.is_some(), is_match)?;
    let from = match (&line.path, location.as_ref()) {
        (Some(path), _) if line.regex => {
            RuleFrom::Match(Pattern::new(path, false).map_err(|e| {
                format!("Regular expression could not be compiled. (\"{path}\": {e})")
            })?)
        }
        (Some(path), _) => RuleFrom::Prefix(path.clone().into_bytes()),
        (None, Some((_, Matcher::Regex(p)))) => RuleFrom::Match(p.clone()),
        (None, Some((path, Matcher::Wild(_)))) => {
            RuleFrom::Match(Pattern::new(path, false).map_err(|e| {
                format!("Regular expression could not be compiled. (\"{path}\": {e})")
            })?)
        }
        (None, Some((path, _))) => RuleFrom::Prefix(path.clone().into_bytes()),
        (None, None) => {
            return Err(
                "ProxyPass|ProxyPassMatch needs a path when not defined in a location".into(),
            );
        }
    };
    let to = target(b, &line, is_match)?;
    if let (RuleFrom::Prefix(from), RuleTo::Url(to)) = (&from, &to) {
        warn_of_slashes(b, &String::from_utf8_lossy(from), to);
    }
    let rule = ProxyRule {
        from,
        to,
        nocanon: line.flags.nocanon,
        interpolate: line.flags.interpolate,
        mapping: line.flags.mapping,
        span: b.span.clone(),
    };
    if location.is_some() {
        b.layer().proxy_pass = Some(Arc::new(rule));
    } else {
        b.server().proxy.rules.push(rule);
    }
    Ok(())
}

/// The commonest mistakes with prefixes, which httpd takes without a word: what follows the path is
/// put behind the URL as it is.
fn warn_of_slashes(b: &mut Build, path: &str, url: &str) {
    if !path.starts_with('/') {
        b.warn(format!(
            "ProxyPass {path}: a path begins with /, so this fits no request"
        ));
        return;
    }
    let bare = url.split('?').next().unwrap_or(url);
    let (from, to) = (path.ends_with('/'), bare.ends_with('/'));
    if from != to && !url.contains('?') {
        let example = format!(
            "{}x",
            if from {
                path.into()
            } else {
                format!("{path}/")
            }
        );
        let rest = &example[path.len()..];
        b.warn(format!(
            "ProxyPass {path} {url}: {example} goes to {url}{rest}; let both end with / or neither"
        ));
    }
}

fn sort_out(words: &[String], in_location: bool, is_match: bool) -> Result<Line, String> {
    let mut line = Line {
        regex: is_match,
        ..Line::default()
    };
    let mut rest = words.iter();
    let mut first = rest.next();
    if first.is_some_and(|w| w == "~") {
        if is_match {
            return Err("ProxyPassMatch invalid syntax ('~' usage).".into());
        }
        line.regex = true;
        first = rest.next();
    }
    let first = first.ok_or("ProxyPass|ProxyPassMatch needs a URL or !")?;
    if in_location {
        line.target = first.clone();
    } else {
        line.path = Some(first.clone());
        line.target = rest
            .next()
            .ok_or("ProxyPass|ProxyPassMatch needs a path when not defined in a location")?
            .clone();
    }
    for word in rest {
        match word.to_ascii_lowercase().as_str() {
            "nocanon" => line.flags.nocanon = true,
            "interpolate" => line.flags.interpolate = true,
            // Taken and without effect on HTTP targets, as in httpd.
            "noquery" => {}
            _ => {
                let Some((key, value)) = word.split_once('=') else {
                    if in_location && line.target.starts_with('/') {
                        return Err("ProxyPass|ProxyPassMatch can not have a path when defined in a location.".into());
                    }
                    return Err(format!(
                        "Invalid ProxyPass|ProxyPassMatch parameter. Parameter must be in the form 'key=value'. (\"{word}\")"
                    ));
                };
                if key.eq_ignore_ascii_case("mapping") {
                    line.flags.mapping = match value.to_ascii_lowercase().as_str() {
                        "encoded" => Mapping::Encoded,
                        "servlet" => Mapping::Servlet,
                        "decoded" => Mapping::Decoded,
                        _ => {
                            return Err(format!(
                                "unknown mapping \"{value}\"; there are encoded and servlet"
                            ));
                        }
                    };
                } else {
                    line.parameters.push((key.to_string(), value.to_string()));
                }
            }
        }
    }
    Ok(line)
}

/// Defines the worker or balancer and gives the right side of the rule.
fn target(b: &mut Build, line: &Line, is_match: bool) -> Result<RuleTo, String> {
    if line.target == "!" {
        return Ok(RuleTo::Exclude);
    }
    let name = if is_match {
        "ProxyPassMatch"
    } else {
        "ProxyPass"
    };
    if is_balancer(&line.target) {
        let at = balancer_mut(b, &line.target).map_err(|e| format!("{name} {e}"))?;
        each(b, &line.parameters, |b, key, value| {
            set_balancer(b, at, key, value).map_err(|e| told("ProxyPass", &e, key, value))
        })?;
        return Ok(RuleTo::Url(lower_authority(&line.target)));
    }
    if line.target.starts_with('/') || !line.target.contains(':') {
        return Err(format!("ProxyPass URL must be absolute!: {}", line.target));
    }
    let url = WorkerUrl::parse(&line.target).map_err(|e| format!("{name} {e}"))?;
    warn_of_scheme(b, &url)?;
    worker_with(b, url, &line.parameters)?;
    Ok(RuleTo::Url(lower_authority(&line.target)))
}

/// Says it when nobody serves the scheme of a URL. One that no httpd has either is a slip of the pen.
pub fn warn_of_scheme(b: &mut Build, url: &WorkerUrl) -> Result<(), String> {
    let scheme = &url.scheme;
    let Some(missing) = missing_scheme(scheme) else {
        return Ok(());
    };
    if missing == NO_SUCH {
        let known = SCHEMES.iter().chain(&OTHERS);
        let hint = match nearest(scheme, known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("schemes that work: {}", SCHEMES.join(", ")),
        };
        return Err(format!("{}: there is no scheme {scheme}; {hint}", url.name));
    }
    b.warn(format!(
        "{scheme}: {missing} is not there in this version of muster; requests for {} are answered 500. Schemes that work: {}",
        url.name,
        SCHEMES.join(", ")
    ));
    Ok(())
}

/// What a scheme lacks that nobody knows.
const NO_SUCH: &str = "a handler for this scheme";
/// Schemes that httpd's modules serve and this version of muster does not.
const OTHERS: [&str; 12] = [
    "https", "wss", "ws", "ajp", "fcgi", "scgi", "uwsgi", "h2", "h2c", "ftp", "fd", "express",
];

/// What would have to be there to serve a scheme; `None` for those that are served.
pub fn missing_scheme(scheme: &str) -> Option<&'static str> {
    if SCHEMES.contains(&scheme) || scheme.contains('$') {
        return None;
    }
    Some(match scheme {
        "https" | "wss" => "TLS to backends (mod_ssl's SSLProxyEngine)",
        "ws" => "WebSocket to backends (mod_proxy_wstunnel)",
        "ajp" => "AJP (mod_proxy_ajp)",
        "fcgi" => "FastCGI (mod_proxy_fcgi)",
        "scgi" => "SCGI (mod_proxy_scgi)",
        "uwsgi" => "uwsgi (mod_proxy_uwsgi)",
        "h2" | "h2c" => "HTTP/2 to backends (mod_proxy_http2)",
        "ftp" => "FTP (mod_proxy_ftp)",
        "fd" => "passing descriptors (mod_proxy_fdpass)",
        "express" => "mod_proxy_express",
        _ => NO_SUCH,
    })
}

/// Scheme and authority in lower case; path and a socket's path stay.
pub fn lower_authority(url: &str) -> String {
    let start = match url.find('|') {
        Some(i)
            if url
                .get(..5)
                .is_some_and(|s| s.eq_ignore_ascii_case("unix:")) =>
        {
            i + 1
        }
        _ => 0,
    };
    let authority = url[start..]
        .find("://")
        .map_or(url.len(), |i| start + i + 3);
    let end = url[authority..]
        .find(['/', '?'])
        .map_or(url.len(), |i| authority + i);
    // A variable that the request fills in keeps its letters.
    if url[start..end].contains("${") {
        return url.to_string();
    }
    format!(
        "{}{}{}",
        &url[..start],
        url[start..end].to_ascii_lowercase(),
        &url[end..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn lines_are_sorted_out() {
        let l = sort_out(
            &words("/a http://h/ retry=5 nocanon Mapping=servlet"),
            false,
            false,
        )
        .unwrap();
        assert_eq!(l.path.as_deref(), Some("/a"));
        assert_eq!(l.parameters, [("retry".to_string(), "5".to_string())]);
        assert!(l.flags.nocanon && l.flags.mapping == Mapping::Servlet);
        let l = sort_out(&words("http://h/ retry=5"), true, false).unwrap();
        assert_eq!((l.path, l.target.as_str()), (None, "http://h/"));
        assert!(
            sort_out(&words("~ ^/x http://h"), false, false)
                .unwrap()
                .regex
        );
    }

    #[test]
    fn bad_lines_are_refused() {
        for (text, location) in [
            ("/a", false),
            ("/a http://h x", false),
            ("/a http://h mapping=x", false),
            ("/a http://h", true),
        ] {
            assert!(sort_out(&words(text), location, false).is_err(), "{text}");
        }
        assert!(sort_out(&words("~ x http://h"), false, true).is_err());
    }

    #[test]
    fn only_the_authority_is_lowered() {
        assert_eq!(lower_authority("HTTP://Host/Path"), "http://host/Path");
        assert_eq!(
            lower_authority("unix:/Run/A|HTTP://L/P"),
            "unix:/Run/A|http://l/P"
        );
        assert_eq!(lower_authority("balancer://Pair"), "balancer://pair");
        assert_eq!(lower_authority("http://${HOST}/X"), "http://${HOST}/X");
    }
}
