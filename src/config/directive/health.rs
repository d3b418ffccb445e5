//! Health checks of members: the `hc...` keys, `ProxyHCTemplate`, `ProxyHCExpr`, `ProxyHCTPsize`
//! (mod_proxy_hcheck; spec: health 1).

use super::value::{TIME_FORM, Unit, interval, number};
use crate::config::args::Args;
use crate::config::diagnostic::nearest;
use crate::config::frame::Build;
use crate::config::health::{
    HealthExpression, HealthMethod, HealthNames, HealthParams, HealthTemplate, LEAST_INTERVAL,
    MAX_EXPRESSION_NAME, MAX_URI, find_expression,
};
use crate::config::lexer::{is_blank, next_word};
use crate::expr::Expression;

/// Whether a worker's key is one of these.
pub fn is_key(key: &str) -> bool {
    KEYS.iter().any(|k| k.eq_ignore_ascii_case(key))
}

/// The keys, for messages.
pub const KEYS: [&str; 7] = [
    "hcmethod",
    "hcinterval",
    "hcpasses",
    "hcfails",
    "hcuri",
    "hctemplate",
    "hcexpr",
];

/// Applies one key. Names are looked for in the current server, then in the main one.
pub fn set(b: &Build, p: &mut HealthParams, key: &str, value: &str) -> Result<(), String> {
    match key.to_ascii_lowercase().as_str() {
        "hcmethod" => p.method = HealthMethod::parse(value)?,
        "hcinterval" => {
            let time = interval(value, Unit::Seconds)
                .ok_or_else(|| format!("Unparse-able hcinterval setting; {TIME_FORM}"))?;
            if time < LEAST_INTERVAL {
                return Err(
                    "Interval must be a positive value greater than 100ms; 100ms is the least"
                        .into(),
                );
            }
            p.interval = time;
        }
        "hcpasses" => p.passes = count(value, "Passes")?,
        "hcfails" => p.fails = count(value, "Fails")?,
        "hcuri" => {
            if value.len() > MAX_URI {
                return Err("Health check uri length must be < 64 characters".into());
            }
            // It becomes part of a request line.
            if value.bytes().any(|c| c <= b' ' || c == 0x7f) {
                return Err("Health check uri must not hold blanks or control bytes".into());
            }
            p.uri = value.to_string();
        }
        "hctemplate" => {
            *p = template(b, value)
                .ok_or_else(|| {
                    format!(
                        "Unknown ProxyHCTemplate name: {value}; it must stand above, in this server or the main one"
                    )
                })?
                .params
                .clone();
        }
        "hcexpr" => {
            let found = find_expression(expressions(b), value).ok_or_else(|| {
                format!(
                    "Unknown health check condition expr: {value}; its ProxyHCExpr must stand above, in this server or the main one"
                )
            })?;
            // As it is defined, so that everybody finds it by the same letters.
            p.expression = found.name.clone();
        }
        other => {
            let near = nearest(other, KEYS.iter());
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            return Err(format!("unknown Worker hcheck parameter{hint}"));
        }
    }
    Ok(())
}

fn count(value: &str, name: &str) -> Result<u32, String> {
    number(value)
        .filter(|n| (1..=0x7fff_ffff).contains(n))
        .ok_or_else(|| {
            format!("{name} must be a positive value; write a number from 1 to 2147483647")
        })
}

/// The first of this name in the current server, else in the main one.
fn template<'b>(b: &'b Build, name: &str) -> Option<&'b HealthTemplate> {
    let servers = [b.server.index(), 0];
    servers
        .into_iter()
        .flat_map(|s| &b.draft.servers[s].proxy.health_templates)
        .find(|t| t.name.eq_ignore_ascii_case(name))
}

/// Those of the main server, then the current one's.
fn expressions(b: &Build) -> impl DoubleEndedIterator<Item = &HealthExpression> {
    let servers = [0, b.server.index()];
    servers
        .into_iter()
        .flat_map(|s| &b.draft.servers[s].proxy.health_expressions)
}

/// `ProxyHCTemplate NAME key=value ...`
pub fn proxy_hc_template(b: &mut Build, args: &Args) -> Result<(), String> {
    let name = args
        .opt(0)
        .ok_or("Missing template name for ProxyHCTemplate")?;
    let mut params = HealthParams::template();
    for word in args.rest(1) {
        let (key, value) = word.split_once('=').ok_or(
            "Invalid ProxyHCTemplate parameter. Parameter must be in the form 'key=value'",
        )?;
        set(b, &mut params, key, value).map_err(|e| match e.split_once("; ") {
            Some((text, hint)) => format!("ProxyHCTemplate: {text} {key}={value}; {name} ({hint})"),
            None => format!("ProxyHCTemplate: {e} {key}={value}; {name}"),
        })?;
    }
    let templates = &mut b.server().proxy.health_templates;
    if templates.iter().any(|t| t.name.eq_ignore_ascii_case(name)) {
        b.warn(format!(
            "ProxyHCTemplate {name} is defined above already; that one is used"
        ));
        return Ok(());
    }
    templates.push(HealthTemplate {
        name: name.to_string(),
        params,
    });
    Ok(())
}

/// `ProxyHCExpr NAME {expression}` or `NAME "expression"`
pub fn proxy_hc_expr(b: &mut Build, args: &Args) -> Result<(), String> {
    let (name, rest) = next_word(&args.raw).ok_or("Missing expression name for ProxyHCExpr")?;
    if name.len() > MAX_EXPRESSION_NAME {
        return Err(format!(
            "Expression name limited to {MAX_EXPRESSION_NAME} characters"
        ));
    }
    let (text, rest) = braced(rest)
        .or_else(|| next_word(rest))
        .ok_or("Missing expression for ProxyHCExpr")?;
    let expression = Expression::parse(&text, &HealthNames)
        .map_err(|e| format!("Could not parse expression \"{text}\": {e}"))?;
    if !rest.trim_matches(is_blank).is_empty() {
        return Err(format!(
            "error: extra parameter(s): one expression is expected, between {{ and }} or quotes, and then nothing (\"{}\")",
            rest.trim_matches(is_blank)
        ));
    }
    let all = &mut b.server().proxy.health_expressions;
    all.push(HealthExpression { name, expression });
    Ok(())
}

/// `{...}` with braces in it that match; `None` where the text does not begin so.
fn braced(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('{')?;
    let mut depth = 1;
    let mut escaped = false;
    for (i, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((inner[..i].to_string(), &inner[i + 1..]));
        }
    }
    Some((inner.to_string(), ""))
}

/// `ProxyHCTPsize n`: checks at once; 0: one.
pub fn proxy_hc_tpsize(b: &mut Build, args: &Args) -> Result<(), String> {
    let n = number::<u32>(args.get(0))
        .ok_or("Invalid ProxyHCTPsize parameter. Parameter must be >= 0")?;
    b.draft.process.health_checks_at_once = Some(n);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_within_braces() {
        assert_eq!(
            braced("{%{A} -in {'x'}} y"),
            Some(("%{A} -in {'x'}".into(), " y"))
        );
        assert_eq!(braced(r"{/\}/}"), Some((r"/\}/".into(), "")));
        assert_eq!(braced("x"), None);
    }
}
