//! Variables of a request: mod_setenvif and mod_env.

use crate::config::args::Args;
use crate::config::frame::Build;
use crate::config::layer::{EnvAttribute, SetEnvIf};
use crate::config::pattern::Pattern;

/// `SetEnvIf attribute regex [!]VAR[=value] ...`
pub fn set_env_if(b: &mut Build, args: &Args) -> Result<(), String> {
    add(b, args, false)
}

/// `SetEnvIfNoCase attribute regex [!]VAR[=value] ...`
pub fn set_env_if_no_case(b: &mut Build, args: &Args) -> Result<(), String> {
    add(b, args, true)
}

/// `BrowserMatch regex [!]VAR[=value] ...`
pub fn browser_match(b: &mut Build, args: &Args) -> Result<(), String> {
    add_browser(b, args, false)
}

/// `BrowserMatchNoCase regex [!]VAR[=value] ...`
pub fn browser_match_no_case(b: &mut Build, args: &Args) -> Result<(), String> {
    add_browser(b, args, true)
}

fn add(b: &mut Build, args: &Args, ignore_case: bool) -> Result<(), String> {
    if args.get(0).is_empty() {
        return Err(format!("Missing header-field name for {}", b.directive));
    }
    let attribute = attribute(args.get(0))?;
    push(b, attribute, args.rest(1), ignore_case)
}

fn add_browser(b: &mut Build, args: &Args, ignore_case: bool) -> Result<(), String> {
    let attribute = EnvAttribute::Field("User-Agent".into());
    push(b, attribute, &args.words, ignore_case)
}

fn push(
    b: &mut Build,
    attribute: EnvAttribute,
    words: &[String],
    ignore_case: bool,
) -> Result<(), String> {
    let Some((regex, names)) = words.split_first() else {
        return Err(format!("Missing regular expression for {}", b.directive));
    };
    let pattern = Pattern::new(regex, ignore_case).map_err(|e| {
        format!(
            "{} regex could not be compiled. (\"{regex}\": {e})",
            b.directive
        )
    })?;
    if names.is_empty() {
        return Err(format!("Missing envariable expression for {}", b.directive));
    }
    let assign = names.iter().map(|w| assignment(w)).collect();
    b.layer().set_env_if.push(SetEnvIf {
        attribute,
        pattern,
        assign,
    });
    Ok(())
}

/// `VAR`, `VAR=value` or `!VAR`.
fn assignment(word: &str) -> (String, Option<String>) {
    if let Some(name) = word.strip_prefix('!') {
        return (name.to_string(), None);
    }
    match word.split_once('=') {
        Some((name, value)) => (name.to_string(), Some(value.to_string())),
        None => (word.to_string(), Some("1".into())),
    }
}

fn attribute(word: &str) -> Result<EnvAttribute, String> {
    let attribute = match word.to_ascii_lowercase().as_str() {
        "remote_host" => EnvAttribute::RemoteHost,
        "remote_addr" => EnvAttribute::RemoteAddr,
        "server_addr" => EnvAttribute::ServerAddr,
        "request_method" => EnvAttribute::Method,
        "request_protocol" => EnvAttribute::Protocol,
        "request_uri" => EnvAttribute::Uri,
        _ => {
            let plain = word
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_');
            if plain {
                EnvAttribute::Field(word.to_string())
            } else {
                EnvAttribute::Fields(Pattern::new(word, true).map_err(|e| {
                    format!("Header name regex could not be compiled: \"{word}\": {e}")
                })?)
            }
        }
    };
    Ok(attribute)
}

/// `SetEnv VAR [value]`
pub fn set_env(b: &mut Build, args: &Args) -> Result<(), String> {
    let (name, value) = (args.get(0).to_string(), args.get(1).to_string());
    b.layer().set_env.push((name, Some(value)));
    Ok(())
}

/// `PassEnv VAR ...`
pub fn pass_env(b: &mut Build, args: &Args) -> Result<(), String> {
    for name in &args.words {
        let found = b.facts.environment.iter().find(|(n, _)| n == name);
        match found.map(|(_, v)| v.clone()) {
            Some(value) => b.layer().set_env.push((name.clone(), Some(value))),
            None => b.warn(format!("AH01506: PassEnv variable {name} was undefined")),
        }
    }
    Ok(())
}

/// `UnsetEnv VAR ...`
pub fn unset_env(b: &mut Build, args: &Args) -> Result<(), String> {
    for name in &args.words {
        b.layer().set_env.push((name.clone(), None));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments() {
        assert_eq!(assignment("a"), ("a".into(), Some("1".into())));
        assert_eq!(assignment("a=b=c"), ("a".into(), Some("b=c".into())));
        assert_eq!(assignment("!a"), ("a".into(), None));
    }

    #[test]
    fn attributes() {
        assert!(matches!(attribute("Request_URI"), Ok(EnvAttribute::Uri)));
        assert!(matches!(attribute("X-Foo"), Ok(EnvAttribute::Field(_))));
        assert!(matches!(attribute("^X-"), Ok(EnvAttribute::Fields(_))));
    }
}
