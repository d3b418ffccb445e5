//! What static files and error answers look like: mod_mime, mod_dir, core.

use std::path::PathBuf;

use super::alias::is_url;
use super::value::{flag, number};
use crate::config::args::Args;
use crate::config::frame::Build;
use crate::config::layer::{ErrorDocument, MimeKind, Options, merged_options};
use crate::config::worker_url::WorkerUrl;

/// Handlers that `SetHandler` may name.
const HANDLERS: [&str; 5] = [
    "server-status",
    "balancer-manager",
    "heartbeat",
    "default-handler",
    "none",
];

/// `Options [+|-]option ...`
pub fn options(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = parse_options(&args.words)?;
    if value.on & Options::INDEXES != 0 {
        b.note("Options Indexes: listings of directories are not there in this version of muster; a directory without an index file is answered 404");
    }
    let layer = b.layer();
    layer.options = merged_options(layer.options, Some(value));
    Ok(())
}

fn parse_options(words: &[String]) -> Result<Options, String> {
    let mut out = Options {
        on: 0,
        off: 0,
        relative: false,
    };
    let signed = |w: &String| w.starts_with(['+', '-']);
    if words.iter().any(signed) {
        if !words.iter().all(signed) {
            return Err("Either all Options must start with + or -, or no Option may.".into());
        }
        out.relative = true;
    }
    for word in words {
        let name = word.trim_start_matches(['+', '-']);
        let bit = match name.to_ascii_lowercase().as_str() {
            "indexes" => Options::INDEXES,
            "includes" | "includesnoexec" => Options::INCLUDES,
            "followsymlinks" => Options::FOLLOW,
            "symlinksifownermatch" => Options::OWNER,
            "execcgi" => Options::EXEC,
            "multiviews" => Options::MULTIVIEWS,
            "none" => 0,
            // httpd's All leaves MultiViews out.
            "all" => Options::INDEXES | Options::INCLUDES | Options::FOLLOW | Options::EXEC,
            _ => return Err(format!("Illegal option {name}")),
        };
        if word.starts_with('-') {
            out.on &= !bit;
            out.off |= bit;
        } else if out.relative {
            out.on |= bit;
            out.off &= !bit;
        } else if bit == 0 {
            out.on = 0;
        } else {
            out.on |= bit;
        }
    }
    Ok(out)
}

/// `DirectoryIndex file ...|disabled`
pub fn directory_index(b: &mut Build, args: &Args) -> Result<(), String> {
    let disabled = args.len() == 1 && args.get(0).eq_ignore_ascii_case("disabled");
    let mut list = b.layer().directory_index.take().unwrap_or_default();
    if disabled {
        list.clear();
    } else {
        list.extend(args.words.iter().cloned());
    }
    b.layer().directory_index = Some(list);
    Ok(())
}

/// `DirectorySlash On|Off`
pub fn directory_slash(b: &mut Build, args: &Args) -> Result<(), String> {
    b.layer().directory_slash = Some(args.flag());
    Ok(())
}

/// `FallbackResource disabled|/path`
pub fn fallback_resource(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    let value = if word.eq_ignore_ascii_case("disabled") {
        String::new()
    } else if word.starts_with('/') {
        word.to_string()
    } else {
        return Err(format!(
            "FallbackResource must be a path that begins with a slash, or disabled, not \"{word}\""
        ));
    };
    b.layer().fallback_resource = Some(value);
    Ok(())
}

/// `AcceptPathInfo On|Off|Default`
pub fn accept_path_info(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    b.layer().accept_path_info = match flag(word) {
        Some(on) => Some(on),
        None if word.eq_ignore_ascii_case("default") => None,
        None => return Err("AcceptPathInfo must be set to on, off or default".into()),
    };
    Ok(())
}

/// `AddType type extension ...`
pub fn add_type(b: &mut Build, args: &Args) -> Result<(), String> {
    let kind = args.get(0).to_ascii_lowercase();
    for pair in pairs(&kind, args) {
        b.layer().add_type.push(pair);
    }
    Ok(())
}

/// `AddLanguage language extension ...`
pub fn add_language(b: &mut Build, args: &Args) -> Result<(), String> {
    let pairs = pairs(args.get(0), args);
    b.layer().add_language.extend(pairs);
    Ok(())
}

/// `AddCharset charset extension ...`
pub fn add_charset(b: &mut Build, args: &Args) -> Result<(), String> {
    let pairs = pairs(args.get(0), args);
    b.layer().add_charset.extend(pairs);
    Ok(())
}

/// `AddEncoding encoding extension ...`
pub fn add_encoding(b: &mut Build, args: &Args) -> Result<(), String> {
    let pairs = pairs(args.get(0), args);
    b.layer().add_encoding.extend(pairs);
    Ok(())
}

/// `RemoveType extension ...`
pub fn remove_type(b: &mut Build, args: &Args) -> Result<(), String> {
    remove(b, args, MimeKind::Type)
}

/// `RemoveLanguage extension ...`
pub fn remove_language(b: &mut Build, args: &Args) -> Result<(), String> {
    remove(b, args, MimeKind::Language)
}

/// `RemoveCharset extension ...`
pub fn remove_charset(b: &mut Build, args: &Args) -> Result<(), String> {
    remove(b, args, MimeKind::Charset)
}

/// `RemoveEncoding extension ...`
pub fn remove_encoding(b: &mut Build, args: &Args) -> Result<(), String> {
    remove(b, args, MimeKind::Encoding)
}

fn remove(b: &mut Build, args: &Args, kind: MimeKind) -> Result<(), String> {
    for word in &args.words {
        b.layer().remove_mime.push((kind, extension(word)));
    }
    Ok(())
}

/// (extension, value) for each extension behind the first word.
fn pairs(value: &str, args: &Args) -> Vec<(String, String)> {
    let of = |w: &String| (extension(w), value.to_string());
    args.rest(1).iter().map(of).collect()
}

fn extension(word: &str) -> String {
    word.trim_start_matches('.').to_ascii_lowercase()
}

/// `ForceType type|None`
pub fn force_type(b: &mut Build, args: &Args) -> Result<(), String> {
    b.layer().force_type = Some(args.get(0).to_ascii_lowercase());
    Ok(())
}

/// `DefaultLanguage language`
pub fn default_language(b: &mut Build, args: &Args) -> Result<(), String> {
    b.layer().default_language = Some(args.get(0).to_string());
    Ok(())
}

/// `AddDefaultCharset On|Off|charset`
pub fn add_default_charset(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    let value = match flag(word) {
        Some(true) => "iso-8859-1",
        Some(false) => "",
        None => word,
    };
    b.layer().default_charset = Some(value.to_string());
    Ok(())
}

/// `TypesConfig file`
pub fn types_config(b: &mut Build, args: &Args) -> Result<(), String> {
    let path: PathBuf = b.path(args.get(0));
    b.draft.types_config = Some((path, b.span.clone()));
    Ok(())
}

/// `FileETag [+|-]INode|MTime|Size|All|None|Digest ...`
pub fn file_etag(b: &mut Build, args: &Args) -> Result<(), String> {
    let base = b.layer().file_etag.unwrap_or((false, true, true));
    let value = parse_etag(base, &args.words)?;
    b.layer().file_etag = Some(value);
    Ok(())
}

fn parse_etag(base: (bool, bool, bool), words: &[String]) -> Result<(bool, bool, bool), String> {
    let relative = words.iter().all(|w| w.starts_with(['+', '-']));
    let mut out = if relative {
        base
    } else {
        (false, false, false)
    };
    for word in words {
        let on = !word.starts_with('-');
        match word.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str() {
            "inode" => out.0 = on,
            "mtime" => out.1 = on,
            "size" => out.2 = on,
            "all" => out = (on, on, on),
            "none" => out = (false, false, false),
            "digest" => return Err("FileETag Digest is not there in this version of muster; there are INode, MTime and Size".into()),
            _ => return Err(format!("Unknown keyword '{word}' for FileETag directive; there are INode, MTime, Size, All and None")),
        }
    }
    Ok(out)
}

/// `MaxRanges default|unlimited|none|n`
pub fn max_ranges(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    let value =
        match word.to_ascii_lowercase().as_str() {
            "default" => Some(200),
            "unlimited" => None,
            "none" => Some(0),
            w => Some(number::<u32>(w).filter(|n| *n > 0).ok_or(
                "MaxRanges requires 'none', 'default', 'unlimited' or a positive integer",
            )?),
        };
    b.layer().max_ranges = Some(value);
    Ok(())
}

/// `EnableSendfile On|Off`
pub fn enable_sendfile(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = flag(args.get(0)).ok_or("parameter must be 'on' or 'off'")?;
    b.layer().sendfile = Some(value);
    Ok(())
}

/// `SetHandler name|none`
pub fn set_handler(b: &mut Build, args: &Args) -> Result<(), String> {
    let name = args.get(0);
    let known = HANDLERS.iter().find(|h| h.eq_ignore_ascii_case(name));
    if let Some(h) = known {
        b.layer().handler = Some((*h).to_string());
        return Ok(());
    }
    if let Some(target) = name.strip_prefix("proxy:") {
        return proxy_handler(b, name, target);
    }
    let reason = match name {
        n if n.starts_with("expr=") => {
            "expressions are not there in this version of muster".to_string()
        }
        _ => format!("nothing here handles it; there are {}", HANDLERS.join(", ")),
    };
    Err(format!("SetHandler {name}: {reason}"))
}

/// `SetHandler proxy:URL`: the file's name goes behind the URL.
fn proxy_handler(b: &mut Build, name: &str, target: &str) -> Result<(), String> {
    let url = WorkerUrl::parse(target).map_err(|e| format!("SetHandler {name}: {e}"))?;
    if let Some(missing) = super::pass::missing_scheme(&url.scheme) {
        return Err(format!(
            "SetHandler {name}: {missing} is not there in this version of muster"
        ));
    }
    b.layer().handler = Some(name.to_string());
    Ok(())
}

/// `ErrorDocument code text|/path|URL|default`
pub fn error_document(b: &mut Build, args: &Args) -> Result<(), String> {
    let (code, text) = (args.get(0), args.get(1));
    let status = number::<u16>(code)
        .filter(|c| ERROR_STATUSES.contains(c))
        .ok_or_else(|| format!("Unsupported HTTP response code {code}"))?;
    let document = classify(text);
    if status == 401 && matches!(document, ErrorDocument::Url(_)) {
        b.warn("cannot use a full URL in a 401 ErrorDocument directive --- ignoring!");
        return Ok(());
    }
    if text.starts_with("expr=") || text.contains("%{") {
        return Err(format!(
            "expressions such as \"{text}\" are not there in this version of muster"
        ));
    }
    b.layer().error_documents.push((status, document));
    Ok(())
}

fn classify(text: &str) -> ErrorDocument {
    if text.eq_ignore_ascii_case("default") {
        ErrorDocument::Default
    } else if text.contains(' ') || text.starts_with('"') {
        ErrorDocument::Text(text.trim_start_matches('"').to_string())
    } else if text.starts_with('/') {
        ErrorDocument::Path(text.to_string())
    } else if is_url(text) {
        ErrorDocument::Url(text.to_string())
    } else {
        ErrorDocument::Text(text.to_string())
    }
}

/// Statuses that have an error page.
const ERROR_STATUSES: [u16; 40] = [
    400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418,
    421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505, 506, 507, 508,
    510, 511,
];

/// `HostnameLookups On|Off|Double`
pub fn hostname_lookups(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    let value = match flag(word) {
        Some(on) => on,
        None if word.eq_ignore_ascii_case("double") => true,
        None => return Err("parameter must be 'on', 'off', or 'double'".into()),
    };
    b.layer().hostname_lookups = Some(value);
    Ok(())
}

/// `AllowOverride None|...`: .htaccess files are never read.
pub fn allow_override(b: &mut Build, args: &Args) -> Result<(), String> {
    let all_none = args.words.iter().all(|w| w.eq_ignore_ascii_case("none"));
    for word in &args.words {
        let name = word.split('=').next().unwrap_or("").to_ascii_lowercase();
        let known = [
            "limit",
            "options",
            "fileinfo",
            "authconfig",
            "indexes",
            "nonfatal",
            "none",
            "all",
        ];
        if !known.contains(&name.as_str()) {
            return Err(format!("Illegal override option {word}"));
        }
    }
    if !all_none {
        b.warn(format!("AllowOverride {}: .htaccess files are never read here; put what they say into this configuration", args.words.join(" ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn options_are_all_signed_or_none() {
        let o = parse_options(&words("+FollowSymLinks -Indexes")).unwrap();
        assert_eq!(
            (o.on, o.off, o.relative),
            (Options::FOLLOW, Options::INDEXES, true)
        );
        let o = parse_options(&words("Indexes FollowSymLinks")).unwrap();
        assert_eq!(
            (o.on, o.off, o.relative),
            (Options::FOLLOW | Options::INDEXES, 0, false)
        );
        assert!(parse_options(&words("Indexes +FollowSymLinks")).is_err());
        assert!(parse_options(&words("Fly")).is_err());
        assert_eq!(parse_options(&words("None")).unwrap().on, 0);
    }

    #[test]
    fn error_documents_are_told_apart() {
        assert_eq!(classify("/x"), ErrorDocument::Path("/x".into()));
        assert_eq!(
            classify("http://h/x"),
            ErrorDocument::Url("http://h/x".into())
        );
        assert_eq!(
            classify("gone away"),
            ErrorDocument::Text("gone away".into())
        );
        assert_eq!(classify("\"quoted"), ErrorDocument::Text("quoted".into()));
        assert_eq!(classify("default"), ErrorDocument::Default);
    }

    #[test]
    fn etag_words() {
        let d = (false, true, true);
        assert_eq!(parse_etag(d, &words("None")), Ok((false, false, false)));
        assert_eq!(parse_etag(d, &words("+INode")), Ok((true, true, true)));
        assert_eq!(parse_etag(d, &words("MTime Size")), Ok((false, true, true)));
        assert!(parse_etag(d, &words("Colour")).is_err());
    }
}
