//! Names and places of a server, and what it says of itself.

use super::value::{flag, number};
use crate::config::args::Args;
use crate::config::frame::Build;
use crate::config::layer::{CanonicalName, Signature};
use crate::config::settings::ServerTokens;

/// `ServerName [scheme://]host[:port]`
pub fn server_name(b: &mut Build, args: &Args) -> Result<(), String> {
    let name = parse_name(args.get(0))?;
    b.server().name = Some(name);
    Ok(())
}

/// Scheme, host (lower case) and port of a ServerName.
fn parse_name(text: &str) -> Result<(Option<String>, String, Option<u16>), String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((s, rest)) => (Some(s.to_ascii_lowercase()), rest),
        None => (None, text),
    };
    if let Some(s) = &scheme {
        let good = !s.is_empty()
            && s.bytes()
                .all(|c| c.is_ascii_alphanumeric() || b"+-.".contains(&c));
        if !good {
            return Err(format!(
                "Invalid scheme in \"{text}\"; write http:// or https://"
            ));
        }
    }
    let behind = rest.rfind(']').map_or(0, |i| i + 1);
    let (host, port) = match rest[behind..].find(':') {
        Some(i) => (&rest[..behind + i], Some(&rest[behind + i + 1..])),
        None => (rest, None),
    };
    if host.is_empty() || host.contains(['/', ' ']) {
        return Err(format!(
            "\"{text}\" is not a server name; write [scheme://]host[:port]"
        ));
    }
    let port = match port {
        None => None,
        Some(p) => Some(number::<u16>(p).filter(|n| *n > 0).ok_or_else(|| {
            format!("The port number \"{text}\" is outside the appropriate range (i.e., 1..65535).")
        })?),
    };
    Ok((scheme, host.to_ascii_lowercase(), port))
}

/// `ServerAlias name ...`
pub fn server_alias(b: &mut Build, args: &Args) -> Result<(), String> {
    if b.server.index() == 0 {
        return Err("ServerAlias only used in <VirtualHost>".into());
    }
    for word in &args.words {
        let name = word.to_ascii_lowercase();
        if name.contains(['*', '?']) {
            b.server().wild_aliases.push(name);
        } else {
            b.server().aliases.push(name);
        }
    }
    Ok(())
}

/// `ServerPath /path`
pub fn server_path(b: &mut Build, args: &Args) -> Result<(), String> {
    let path = args.get(0);
    if !path.starts_with('/') {
        return Err(format!(
            "ServerPath must begin with a slash, not \"{path}\""
        ));
    }
    b.server().server_path = Some(path.to_string());
    Ok(())
}

/// `ServerAdmin address`
pub fn server_admin(b: &mut Build, args: &Args) -> Result<(), String> {
    b.server().admin = Some(args.get(0).to_string());
    Ok(())
}

/// `DocumentRoot directory`. Whether it is there is looked at here, so that the line is named.
pub fn document_root(b: &mut Build, args: &Args) -> Result<(), String> {
    let written = args.get(0);
    if written.is_empty() {
        return Err("DocumentRoot must be a directory".into());
    }
    let path = b.path(written);
    let span = b.span.clone();
    let missing = b.facts.check_paths && !path.is_dir();
    let shown = path.display().to_string();
    b.server().document_root = Some((path, span));
    if missing {
        return Err(format!(
            "DocumentRoot '{shown}' is not a directory, or is not readable"
        ));
    }
    Ok(())
}

/// `UseCanonicalName On|Off|DNS`
pub fn use_canonical_name(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    let value = match flag(word) {
        Some(true) => CanonicalName::On,
        Some(false) => CanonicalName::Off,
        None if word.eq_ignore_ascii_case("dns") => CanonicalName::Dns,
        None => return Err("parameter must be 'on', 'off', or 'dns'".into()),
    };
    b.layer().canonical_name = Some(value);
    Ok(())
}

/// `UseCanonicalPhysicalPort On|Off`
pub fn use_canonical_physical_port(b: &mut Build, args: &Args) -> Result<(), String> {
    if !b.at_server_level() {
        return Err("UseCanonicalPhysicalPort works only in the server or a <VirtualHost> here, not in a section".into());
    }
    let word = args.get(0);
    if !word.eq_ignore_ascii_case("on") && !word.eq_ignore_ascii_case("off") {
        return Err("parameter must be 'on' or 'off'".into());
    }
    b.server().physical_port = Some(args.flag());
    Ok(())
}

/// `StrictHostCheck On|Off`
pub fn strict_host_check(b: &mut Build, args: &Args) -> Result<(), String> {
    b.server().strict_host_check = Some(args.flag());
    Ok(())
}

/// `ServerSignature On|Off|EMail`
pub fn server_signature(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    let value = match flag(word) {
        Some(true) => Signature::On,
        Some(false) => Signature::Off,
        None if word.eq_ignore_ascii_case("email") => Signature::Email,
        None => return Err("ServerSignature: use one of: off | on | email".into()),
    };
    b.layer().signature = Some(value);
    Ok(())
}

/// `ServerTokens Full|OS|Min|Minor|Major|Prod`
pub fn server_tokens(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = match args.get(0).to_ascii_lowercase().as_str() {
        "prod" | "productonly" => ServerTokens::Prod,
        "os" | "min" | "minimal" | "major" | "minor" | "full" => ServerTokens::Version,
        _ => return Err("ServerTokens takes 1 argument: 'Prod(uctOnly)', 'Major', 'Minor', 'Min(imal)', 'OS', or 'Full'".into()),
    };
    b.draft.server_tokens = Some(value);
    Ok(())
}

/// `SeeRequestTail On|Off`
pub fn see_request_tail(b: &mut Build, args: &Args) -> Result<(), String> {
    b.draft.see_request_tail = Some(args.flag());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_have_three_parts() {
        assert_eq!(parse_name("A.Test"), Ok((None, "a.test".into(), None)));
        assert_eq!(
            parse_name("https://a.test:8443"),
            Ok((Some("https".into()), "a.test".into(), Some(8443)))
        );
        assert_eq!(parse_name("[::1]:80"), Ok((None, "[::1]".into(), Some(80))));
        for bad in ["a:0", "a:99999", "a:x", ":80", "://a", "a/b"] {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
    }
}
