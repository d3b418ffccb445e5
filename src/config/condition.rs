//! `<IfModule>`, `<IfDefine>`, `<IfVersion>` and their kin: true or false, while reading.

use std::cmp::Ordering;

use super::lexer::next_word;
use super::pattern::Pattern;

/// The version of httpd whose language this is.
pub const VERSION: [u32; 3] = [2, 4, 71];

/// Whether a guard lets its lines be read.
///
/// `argument` is what stands between the name and the `>`; `known` answers for the guard's own
/// question (is this module loaded, is this name defined, ...). The error is a message's text.
pub fn holds(guard: &str, argument: &str, known: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    if guard == "IfVersion" {
        return version(argument);
    }
    let (negated, rest) = match argument.trim().strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, argument),
    };
    let word = next_word(rest).map(|(w, _)| w).unwrap_or_default();
    // The mark may also stand inside the quotes: <IfModule "!mod_x.c">.
    let (negated, word) = match word.strip_prefix('!') {
        Some(rest) if !negated => (true, rest.to_string()),
        _ => (negated, word),
    };
    if word.is_empty() {
        return Err(format!("<{guard}> directive requires additional arguments"));
    }
    Ok(known(&word) != negated)
}

/// `<IfVersion [[!]operator] version>`.
fn version(argument: &str) -> Result<bool, String> {
    let Some((first, rest)) = next_word(argument) else {
        return Err(INVALID.to_string());
    };
    let (negated, operator) = match first.strip_prefix('!') {
        Some(rest) => (true, rest.to_string()),
        None => (false, first),
    };
    let (operator, version) = match next_word(rest) {
        Some((version, _)) => (operator, version),
        None => ("=".to_string(), operator),
    };
    let compared = || numbers(&version).map(|v| VERSION.cmp(&v));
    let slashes = version.strip_prefix('/').and_then(|v| v.strip_suffix('/'));
    let held = match operator.as_str() {
        "=" | "==" if slashes.is_some() => matches(slashes.unwrap_or_default())?,
        "=" | "==" => compared()?.is_eq(),
        "~" => matches(slashes.unwrap_or(&version))?,
        ">" => compared()? == Ordering::Greater,
        ">=" => compared()?.is_ge(),
        "<" => compared()? == Ordering::Less,
        "<=" => compared()?.is_le(),
        _ => return Err(format!("unrecognized operator '{operator}'")),
    };
    Ok(held != negated)
}

fn matches(pattern: &str) -> Result<bool, String> {
    let [major, minor, patch] = VERSION;
    let text = format!("{major}.{minor}.{patch}");
    let pattern = Pattern::new(pattern, false)
        .map_err(|e| format!("Unable to compile regular expression '{pattern}': {e}"))?;
    Ok(pattern.is_match(text.as_bytes()).unwrap_or(false))
}

const INVALID: &str = "Version appears to be invalid. It must have the format major[.minor[.patch]] where major, minor and patch are numbers.";

/// Up to three numbers; missing ones count as 0.
fn numbers(version: &str) -> Result<[u32; 3], String> {
    let mut out = [0; 3];
    let mut parts = version.split('.');
    for (slot, part) in out.iter_mut().zip(parts.by_ref()) {
        *slot = part.parse().map_err(|_| INVALID.to_string())?;
    }
    match parts.next() {
        None => Ok(out),
        Some(_) => Err(INVALID.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_with_2_4_71() {
        let cases = [
            ("2.4.71", true),
            ("2.4", false),
            ("= 2.4.71", true),
            (">= 2.4", true),
            ("> 2.4.71", false),
            ("!> 2.4.71", true),
            ("< 3", true),
            ("<= 2.4.70", false),
            ("~ ^2\\.4\\.", true),
            ("= /^2.4/", true),
            ("!~ ^2\\.2", true),
        ];
        for (text, want) in cases {
            assert_eq!(version(text), Ok(want), "{text}");
        }
        assert!(version("").is_err() && version("?? 2").is_err() && version("> x.y").is_err());
    }

    #[test]
    fn exclamation_marks_turn_the_answer() {
        let known = |n: &str| n == "mod_so.c";
        for (text, want) in [
            ("mod_so.c", true),
            ("!mod_so.c", false),
            ("\"!mod_so.c\"", false),
            ("!x", true),
            ("\"mod_so.c\" more", true),
        ] {
            assert_eq!(holds("IfModule", text, &known), Ok(want), "{text}");
        }
        assert!(holds("IfModule", "", &known).is_err());
    }
}
