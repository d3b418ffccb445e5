//! mod_alias: `Alias` and `Redirect`.

use super::value::number;
use crate::config::args::Args;
use crate::config::frame::Build;
use crate::config::layer::{Alias, Redirect, RedirectFrom};
use crate::config::pattern::Pattern;
use crate::config::settings::{Matcher, SectionKind};

/// `Alias /path directory`, in a `<Location>` also `Alias directory`
pub fn alias(b: &mut Build, args: &Args) -> Result<(), String> {
    let span = b.span.clone();
    let (from, to) = match args.opt(1) {
        Some(to) => (RedirectFrom::Prefix(args.get(0).as_bytes().to_vec()), to),
        None => match b.scope() {
            Some(s) if s.kind == Some(SectionKind::Location) => {
                let from = match &s.matcher {
                    Matcher::Regex(p) => RedirectFrom::Match(p.clone()),
                    // Nothing is appended: the whole section is this file or directory.
                    _ => RedirectFrom::Section,
                };
                (from, args.get(0))
            }
            _ => {
                return Err(
                    "Alias must have two arguments when used globally: a path and a directory"
                        .into(),
                );
            }
        },
    };
    let to = b.path(to);
    b.layer().aliases.push(Alias { from, to, span });
    Ok(())
}

/// `AliasMatch regex directory`
pub fn alias_match(b: &mut Build, args: &Args) -> Result<(), String> {
    let from = RedirectFrom::Match(regex(args.get(0))?);
    let (to, span) = (b.path(args.get(1)), b.span.clone());
    b.layer().aliases.push(Alias { from, to, span });
    Ok(())
}

/// `Redirect [status] [/path] URL`
pub fn redirect(b: &mut Build, args: &Args) -> Result<(), String> {
    let (status, words) = match status(args.get(0)) {
        Some(code) => (code, args.rest(1)),
        None if args.len() > 2 => {
            return Err("Redirect: invalid first argument (of three); write a status code or permanent, temp, seeother, gone".into());
        }
        None => (302, args.rest(0)),
    };
    add(b, status, words, false)
}

/// `RedirectMatch [status] regex URL`
pub fn redirect_match(b: &mut Build, args: &Args) -> Result<(), String> {
    let (status, words) = match status(args.get(0)) {
        Some(code) => (code, args.rest(1)),
        None if args.len() > 2 => {
            return Err("RedirectMatch: invalid first argument (of three); write a status code or permanent, temp, seeother, gone".into());
        }
        None => (302, args.rest(0)),
    };
    add(b, status, words, true)
}

/// `RedirectPermanent /path URL`
pub fn redirect_permanent(b: &mut Build, args: &Args) -> Result<(), String> {
    add(b, 301, &args.words, false)
}

/// `RedirectTemp /path URL`
pub fn redirect_temp(b: &mut Build, args: &Args) -> Result<(), String> {
    add(b, 302, &args.words, false)
}

/// The status that the first word of a Redirect names, if it does.
fn status(word: &str) -> Option<u16> {
    match word.to_ascii_lowercase().as_str() {
        "permanent" => Some(301),
        "temp" => Some(302),
        "seeother" => Some(303),
        "gone" => Some(410),
        w => number(w),
    }
}

fn add(b: &mut Build, status: u16, words: &[String], is_match: bool) -> Result<(), String> {
    if !(300..=599).contains(&status) {
        return Err(format!("Redirect: {status} is no status from 300 to 599"));
    }
    let redirects = (300..400).contains(&status);
    let in_location = b
        .scope()
        .is_some_and(|s| s.kind == Some(SectionKind::Location));
    let (from, to) = match (words, redirects) {
        ([to], true) if in_location && !is_match => (None, Some(to)),
        ([], false) if in_location && !is_match => (None, None),
        ([from], false) => (Some(from), None),
        ([_], true) | ([], _) => return Err("URL to redirect to is missing".into()),
        ([_, _], false) => return Err("Redirect URL not valid for this status".into()),
        ([from, to], true) => (Some(from), Some(to)),
        _ => return Err("Redirect takes a status, a path and a URL at most".into()),
    };
    if let Some(to) = to {
        // Only a section's target is an expression in httpd; elsewhere it is plain text.
        if from.is_none() && to.contains("%{") {
            return Err(format!(
                "expressions such as \"{to}\" are not there in this version of muster"
            ));
        }
        if !is_url(to) && !to.starts_with('/') {
            return Err(format!(
                "Redirect to non-URL: \"{to}\"; write a URL with a scheme or a path"
            ));
        }
    }
    let from = match from {
        None => RedirectFrom::Section,
        Some(text) if is_match => RedirectFrom::Match(regex(text)?),
        Some(text) => RedirectFrom::Prefix(text.as_bytes().to_vec()),
    };
    let span = b.span.clone();
    let to = to.cloned();
    b.layer().redirects.push(Redirect {
        from,
        status,
        to,
        span,
    });
    Ok(())
}

/// Does the text begin with a scheme and a colon?
pub fn is_url(text: &str) -> bool {
    let scheme = text
        .bytes()
        .take_while(|c| c.is_ascii_alphanumeric() || b"+-.".contains(c))
        .count();
    scheme > 0 && text.as_bytes().get(scheme) == Some(&b':')
}

fn regex(text: &str) -> Result<Pattern, String> {
    Pattern::new(text, false)
        .map_err(|e| format!("Regular expression could not be compiled. (\"{text}\": {e})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        assert_eq!(status("Permanent"), Some(301));
        assert_eq!(status("404"), Some(404));
        assert_eq!(status("/x"), None);
    }

    #[test]
    fn urls() {
        assert!(is_url("http://x") && is_url("mailto:x") && !is_url("/x") && !is_url("x"));
    }
}
