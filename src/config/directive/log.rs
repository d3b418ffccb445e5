//! Logs: targets, formats, levels.

use std::path::Path;

use crate::config::args::Args;
use crate::config::draft::LogDraft;
use crate::config::frame::Build;
use crate::config::layer::LogLevels;
use crate::config::settings::LogTarget;

/// `ErrorLog path|"|program"|syslog[:facility[:tag]]`
pub fn error_log(b: &mut Build, args: &Args) -> Result<(), String> {
    let place = target(b, args.get(0))?;
    let span = b.span.clone();
    b.server().error_log = Some((place, span));
    Ok(())
}

/// `ErrorLogFormat [connection|request] format`
pub fn error_log_format(b: &mut Build, args: &Args) -> Result<(), String> {
    if let Some(format) = args.opt(1) {
        let kind = args.get(0).to_ascii_lowercase();
        if kind != "connection" && kind != "request" {
            return Err("ErrorLogFormat type must be one of request, connection".into());
        }
        let _ = format;
        b.warn(format!("ErrorLogFormat {kind}: the extra lines for each {kind} are not there in this version of muster"));
        return Ok(());
    }
    if !args.get(0).contains("%M") {
        return Err("main ErrorLogFormat must contain message format string '%M'".into());
    }
    let format = args.get(0).to_string();
    crate::log::error_format::ErrorFormat::compile(&format)?;
    b.server().error_log_format = Some(format);
    Ok(())
}

/// `LogLevel [module:]level ...`
pub fn log_level(b: &mut Build, args: &Args) -> Result<(), String> {
    let mut levels = b.layer().log_level.take().unwrap_or(LogLevels {
        plain: None,
        modules: Vec::new(),
    });
    for word in &args.words {
        match word.split_once(':') {
            None => {
                levels.plain = Some(level(word)?);
                levels.modules.clear();
            }
            Some((module, text)) => {
                let level = level(text).map_err(|e| format!("{word}: {e}"))?;
                let name = module_name(module);
                if !known_module(b, &name) {
                    return Err(format!("Cannot find module {module}"));
                }
                levels.modules.retain(|(m, _)| *m != name);
                levels.modules.push((name, level));
            }
        }
    }
    b.layer().log_level = Some(levels);
    Ok(())
}

/// The identifier without `mod_`, `.c` and `_module`.
fn module_name(text: &str) -> String {
    let name = text.strip_suffix(".c").unwrap_or(text);
    let name = name.strip_prefix("mod_").unwrap_or(name);
    name.strip_suffix("_module").unwrap_or(name).to_string()
}

/// httpd's core modules have odd source names (`core.c`, `http_core.c` is `http_module`).
fn known_module(b: &Build, name: &str) -> bool {
    let alias = match name {
        "http_core" => "http",
        other => other,
    };
    alias == "core" || b.loaded(alias)
}

/// A level's number: 0 emerg ... 7 debug, 8 to 15 trace1 to trace8.
pub fn level(text: &str) -> Result<u8, String> {
    const NAMES: [&str; 8] = [
        "emerg", "alert", "crit", "error", "warn", "notice", "info", "debug",
    ];
    let word = text.to_ascii_lowercase();
    let plain = NAMES.iter().position(|n| *n == word).map(|i| i as u8);
    let trace = || {
        let n = word.strip_prefix("trace")?.parse::<u8>().ok()?;
        (1..=8).contains(&n).then_some(7 + n)
    };
    plain.or_else(trace).ok_or_else(|| {
        format!("Log level keyword must be one of emerg/alert/crit/error/warn/notice/info/debug/trace1/.../trace8, not \"{text}\"")
    })
}

/// `LogFormat format [nickname]`
pub fn log_format(b: &mut Build, args: &Args) -> Result<(), String> {
    let format = args.get(0).to_string();
    check_format(&format)?;
    match args.opt(1) {
        Some(nickname) => {
            let nickname = nickname.to_string();
            b.server().nicknames.push((nickname, format));
        }
        None => b.server().transfer_format = Some(format),
    }
    Ok(())
}

/// `CustomLog target format|nickname [env=[!]VAR]`
pub fn custom_log(b: &mut Build, args: &Args) -> Result<(), String> {
    let log = access_log(b, args)?;
    b.server().logs.push(log);
    Ok(())
}

/// `TransferLog target`
pub fn transfer_log(b: &mut Build, args: &Args) -> Result<(), String> {
    let place = target(b, args.get(0))?;
    let span = b.span.clone();
    b.server().logs.push(LogDraft {
        place,
        format: None,
        condition: None,
        span,
    });
    Ok(())
}

/// `GlobalLog target format|nickname [env=[!]VAR]`
pub fn global_log(b: &mut Build, args: &Args) -> Result<(), String> {
    if b.server.0 != 0 {
        return Err("GlobalLog cannot occur within <VirtualHost> section".into());
    }
    let log = access_log(b, args)?;
    b.draft.global_logs.push(log);
    Ok(())
}

fn access_log(b: &mut Build, args: &Args) -> Result<LogDraft, String> {
    let condition = match args.opt(2) {
        None => None,
        Some(text) => Some(condition(text)?),
    };
    let format = args.get(1);
    if format.contains('%') {
        check_format(format)?;
    }
    Ok(LogDraft {
        place: target(b, args.get(0))?,
        format: Some(format.to_string()),
        condition,
        span: b.span.clone(),
    })
}

fn condition(text: &str) -> Result<(String, bool), String> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if key.eq_ignore_ascii_case("env") && value.trim_start_matches('!').is_empty() {
        return Err("missing environment variable name".into());
    }
    if key.eq_ignore_ascii_case("env") && !value.trim_start_matches('!').is_empty() {
        return Ok(match value.strip_prefix('!') {
            Some(name) => (name.to_string(), false),
            None => (value.to_string(), true),
        });
    }
    if key.eq_ignore_ascii_case("expr") {
        return Err("error in condition clause: expressions (expr=) are not there in this version of muster; use env=NAME or env=!NAME".into());
    }
    Err(format!(
        "error in condition clause: write env=NAME or env=!NAME, not \"{text}\""
    ))
}

fn check_format(format: &str) -> Result<(), String> {
    crate::log::access::Format::compile(format).map(|_| ())
}

/// Where a log goes.
fn target(b: &Build, text: &str) -> Result<LogTarget, String> {
    if text.is_empty() {
        return Err("a file name, \"|program\" or syslog is needed".into());
    }
    if let Some(program) = text.strip_prefix('|') {
        if let Some(command) = program.strip_prefix('$') {
            return Ok(LogTarget::ShellPipe(command.trim().to_string()));
        }
        let words = crate::config::lexer::words(program.trim_start_matches('|'));
        if words.is_empty() {
            return Err("the program behind | is missing".into());
        }
        return Ok(LogTarget::Pipe(words));
    }
    if text == "syslog" || text.starts_with("syslog:") {
        let mut parts = text.splitn(3, ':').skip(1);
        let facility = parts.next().filter(|f| !f.is_empty()).unwrap_or("local7");
        let tag = parts.next().filter(|t| !t.is_empty()).unwrap_or("muster");
        if !FACILITIES.contains(&facility) {
            return Err(format!(
                "unknown syslog facility \"{facility}\"; there are {}",
                FACILITIES.join(", ")
            ));
        }
        return Ok(LogTarget::Syslog {
            facility: facility.to_string(),
            tag: tag.to_string(),
        });
    }
    let path = b.path(text);
    if path == Path::new("/dev/stderr") {
        return Ok(LogTarget::Stderr);
    }
    Ok(LogTarget::File(path))
}

const FACILITIES: [&str; 20] = [
    "auth", "authpriv", "cron", "daemon", "ftp", "kern", "lpr", "mail", "news", "syslog", "user",
    "uucp", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_numbers() {
        assert_eq!(level("Emerg"), Ok(0));
        assert_eq!(level("debug"), Ok(7));
        assert_eq!(level("trace8"), Ok(15));
        assert!(level("trace9").is_err() && level("loud").is_err());
    }

    #[test]
    fn modules_have_three_spellings() {
        for text in ["proxy", "mod_proxy.c", "proxy_module"] {
            assert_eq!(module_name(text), "proxy");
        }
    }

    #[test]
    fn conditions() {
        assert_eq!(condition("env=!x"), Ok(("x".into(), false)));
        assert_eq!(condition("env=x"), Ok(("x".into(), true)));
        assert!(condition("env=").is_err() && condition("x").is_err());
    }
}
