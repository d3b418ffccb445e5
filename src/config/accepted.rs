//! Setters of directives that are taken only where they ask for what muster does anyway.

use super::args::Args;
use super::frame::Build;
use super::registry;

/// A switch that is only there switched off.
pub fn only_off(b: &mut Build, args: &Args) -> Result<(), String> {
    if args.get(0).eq_ignore_ascii_case("off") {
        return Ok(());
    }
    let found = registry::find(b.directive, false);
    let (module, help) = found.map_or(("", ""), |d| (d.module, d.help));
    let help = help.get(..1).unwrap_or("").to_lowercase() + help.get(1..).unwrap_or("");
    Err(format!(
        "{} ({module}) is there only as Off in muster so far: otherwise it would {help}",
        b.directive
    ))
}

/// A list that is only there as None.
pub fn only_none(b: &mut Build, args: &Args) -> Result<(), String> {
    if args.len() == 1 && args.get(0).eq_ignore_ascii_case("none") {
        return Ok(());
    }
    Err(format!(
        "{} is only there as None: muster reads no .htaccess files, so put their directives into the configuration",
        b.directive
    ))
}

/// A bound on something that muster itself never does, so that the bound always holds.
pub fn no_reader(b: &mut Build, _: &Args) -> Result<(), String> {
    let name = b.directive;
    b.note(format!(
        "{name} always holds: what it bounds does not happen here"
    ));
    Ok(())
}

/// `Error "text"`
pub fn error(_: &mut Build, args: &Args) -> Result<(), String> {
    let text = args.raw.as_str();
    if text.is_empty() {
        return Err("The Error directive was used with no message.".to_string());
    }
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    Err(inside('"').or(inside('\'')).unwrap_or(text).to_string())
}

/// `Port`, which httpd refuses too.
pub fn port(_: &mut Build, _: &Args) -> Result<(), String> {
    Err("Port was replaced with Listen in Apache 2.0".to_string())
}

/// `FancyIndexing`, which httpd refuses too.
pub fn fancy_indexing(_: &mut Build, _: &Args) -> Result<(), String> {
    Err(
        "The FancyIndexing directive is no longer supported. Use IndexOptions FancyIndexing."
            .into(),
    )
}

/// `SSLLog`, which httpd refuses too.
pub fn ssl_log(_: &mut Build, _: &Args) -> Result<(), String> {
    Err("SSLLog directive is no longer supported - use ErrorLog.".to_string())
}

/// `SSLLogLevel`, which httpd refuses too.
pub fn ssl_log_level(_: &mut Build, _: &Args) -> Result<(), String> {
    Err("SSLLogLevel directive is no longer supported - use LogLevel.".to_string())
}

/// `RegexDefaultOptions`: only what is the default.
pub fn regex_options(_: &mut Build, args: &Args) -> Result<(), String> {
    for word in &args.words {
        let name = word.trim_start_matches('+');
        let usual = ["DOTALL", "DOLLAR_ENDONLY"];
        if !usual.iter().any(|u| u.eq_ignore_ascii_case(name)) {
            return Err(format!(
                "RegexDefaultOptions {word} is not there: expressions are always read with DOTALL and DOLLAR_ENDONLY; write (?i) and the like into the expression"
            ));
        }
    }
    Ok(())
}

/// `UserDir`: only to switch it off.
pub fn user_dir(_: &mut Build, args: &Args) -> Result<(), String> {
    if args.len() == 1 && args.get(0).eq_ignore_ascii_case("disabled") {
        return Ok(());
    }
    Err("UserDir (mod_userdir) is there only as disabled in muster so far: otherwise it would serve directories of the machine's users".to_string())
}

/// `SetOutputFilter FILTER[;FILTER...]`
pub fn set_output_filter(b: &mut Build, args: &Args) -> Result<(), String> {
    filters(b, args.get(0))
}

/// `AddOutputFilter FILTER[;FILTER...] extension ...`
pub fn add_output_filter(b: &mut Build, args: &Args) -> Result<(), String> {
    filters(b, args.get(0))
}

/// `AddOutputFilterByType FILTER[;FILTER...] type ...`
pub fn add_output_filter_by_type(b: &mut Build, args: &Args) -> Result<(), String> {
    filters(b, args.get(0))
}

/// Filters that only save bytes may be left out; others would change what clients get.
fn filters(b: &mut Build, list: &str) -> Result<(), String> {
    const SAVING: [&str; 5] = [
        "DEFLATE",
        "BROTLI_COMPRESS",
        "CACHE",
        "BUFFER",
        "CONTENT_LENGTH",
    ];
    for name in list.split(';').map(str::trim).filter(|n| !n.is_empty()) {
        if name.eq_ignore_ascii_case("none") {
            continue;
        }
        if !SAVING.iter().any(|s| s.eq_ignore_ascii_case(name)) {
            return Err(format!(
                "{} {name} is not there in muster yet: it would change what clients get",
                b.directive
            ));
        }
        let text = format!(
            "the filter {name} is accepted but has no effect yet: answers leave as they are"
        );
        if !b.notes.iter().any(|n| n.text == text) {
            b.warn(text);
        }
    }
    Ok(())
}

/// `AddHandler handler extension ...`: type maps only choose between files.
pub fn add_handler(b: &mut Build, args: &Args) -> Result<(), String> {
    if args.get(0).eq_ignore_ascii_case("type-map") {
        b.warn("AddHandler type-map is accepted but has no effect yet: nothing is negotiated");
        return Ok(());
    }
    Err(format!(
        "AddHandler (mod_mime) is not there in muster yet: it would let {} answer for files by extension",
        args.get(0)
    ))
}

#[cfg(test)]
mod tests {
    use crate::config::build::{Invocation, load};

    #[test]
    fn only_what_changes_nothing_is_taken() {
        let complaints = |line: &str| {
            let loaded = load(&Invocation {
                file: Some("/dev/null".into()),
                before: vec![line.to_string()],
                skip_document_root: true,
                ..Invocation::default()
            });
            let all = loaded.complaints.iter();
            all.map(|c| c.text.clone())
                .filter(|t| !t.contains("AH0"))
                .collect::<Vec<_>>()
        };
        for line in [
            "RewriteEngine off",
            "SSLEngine Off",
            "UserDir disabled",
            "SetOutputFilter DEFLATE;BROTLI_COMPRESS",
            "AddHandler type-map var",
            "RegexDefaultOptions +DOTALL DOLLAR_ENDONLY",
        ] {
            assert_eq!(complaints(line), [""; 0], "{line}");
        }
        for line in [
            "RewriteEngine on",
            "SSLEngine optional",
            "UserDir enabled x",
            "SetOutputFilter DEFLATE;INCLUDES",
            "AddHandler cgi-script .cgi",
            "RegexDefaultOptions EXTENDED",
        ] {
            assert_eq!(complaints(line).len(), 1, "{line}");
        }
        assert!(complaints("RewriteEngine on")[0].contains("switch rewriting rules on"));
    }
}
