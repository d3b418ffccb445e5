//! `SetEnvIf`, `BrowserMatch`, `SetEnv` and the variables with an effect (spec: modules 4).

use std::borrow::Cow;

use crate::codec::fields::Fields;
use crate::codec::http1::head::Version;
use crate::config::layer::{EnvAttribute, SetEnvIf};
use crate::config::pattern::{TooManySteps, substitute};

use super::request::{Effects, Request};

/// Applies the rules in order.
pub fn set_env_if(req: &mut Request, rules: &[SetEnvIf]) -> Result<(), TooManySteps> {
    for rule in rules {
        if let EnvAttribute::Fields(names) = &rule.attribute {
            let mut values = Vec::new();
            for (name, value) in req.head.fields.iter() {
                if names.is_match(name)? {
                    values.push(value.to_vec());
                }
            }
            for value in values {
                apply(req, rule, &value)?;
            }
            continue;
        }
        let value = attribute(req, &rule.attribute).into_owned();
        apply(req, rule, &value)?;
    }
    Ok(())
}

fn apply(req: &mut Request, rule: &SetEnvIf, value: &[u8]) -> Result<(), TooManySteps> {
    let refers = rule
        .assign
        .iter()
        .any(|(_, v)| v.as_ref().is_some_and(|v| v.contains('$')));
    let groups = if refers {
        match rule.pattern.groups(value)? {
            Some(groups) => Some(groups),
            None => return Ok(()),
        }
    } else if rule.pattern.is_match(value)? {
        None
    } else {
        return Ok(());
    };
    for (name, assigned) in &rule.assign {
        match (assigned, &groups) {
            (None, _) => req.env.unset(name),
            (Some(text), None) => req.env.set(name.clone(), text.as_bytes()),
            (Some(text), Some(groups)) => req
                .env
                .set(name.clone(), substitute(text.as_bytes(), value, groups)),
        }
    }
    Ok(())
}

/// What a rule looks at; nothing where it is missing, so that `^$` matches an absent field.
fn attribute<'a>(req: &'a Request, attribute: &EnvAttribute) -> Cow<'a, [u8]> {
    match attribute {
        EnvAttribute::Field(name) => joined(&req.head.fields, name)
            .or_else(|| req.env.get(name).map(Cow::Borrowed))
            .unwrap_or_default(),
        EnvAttribute::Fields(_) => Cow::default(),
        EnvAttribute::RemoteHost => match &req.remote_host {
            Some(Some(name)) => Cow::Borrowed(name.as_bytes()),
            _ => Cow::default(),
        },
        EnvAttribute::RemoteAddr => Cow::Owned(req.client.ip().to_string().into_bytes()),
        EnvAttribute::ServerAddr => Cow::Owned(req.local.ip().to_string().into_bytes()),
        EnvAttribute::Method => Cow::Borrowed(req.head.method.as_str().as_bytes()),
        EnvAttribute::Protocol => Cow::Borrowed(req.head.version.as_str().as_bytes()),
        EnvAttribute::Uri => Cow::Borrowed(&req.path.decoded),
    }
}

/// All values of a field, joined as a list.
pub fn joined<'a>(fields: &'a Fields, name: &str) -> Option<Cow<'a, [u8]>> {
    let mut all = fields
        .iter()
        .filter(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, v)| v);
    let first = all.next()?;
    match all.next() {
        None => Some(Cow::Borrowed(first)),
        Some(second) => {
            let mut out = first.to_vec();
            for value in std::iter::once(second).chain(all) {
                out.extend_from_slice(b", ");
                out.extend_from_slice(value);
            }
            Some(Cow::Owned(out))
        }
    }
}

/// `SetEnv`, `PassEnv` and `UnsetEnv` of the merged layer.
pub fn set_env(req: &mut Request) {
    if req.layer.set_env.is_empty() {
        return;
    }
    let layer = req.layer.clone();
    for (name, value) in &layer.set_env {
        match value {
            Some(value) => req.env.set(name.clone(), value.as_bytes()),
            None => req.env.unset(name),
        }
    }
}

/// What the variables ask of the connection.
pub fn effects(req: &Request) -> Effects {
    if req.env.is_empty() {
        return Effects::default();
    }
    let downgrade = req.env.contains("downgrade-1.0");
    let old = downgrade || req.head.version == Version::Http10;
    Effects {
        downgrade,
        response_10: old && req.env.contains("force-response-1.0"),
        no_keep_alive: req.env.contains("nokeepalive"),
    }
}
