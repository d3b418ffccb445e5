//! Access control: `Require` with its containers, `Order`, `Allow`, `Deny`, `Satisfy`
//! (spec: modules 6).

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net};

use crate::config::args::Args;
use crate::config::frame::{Build, Scope};
use crate::config::layer::{AuthMerging, Compat, HostRule, Layer, Order, Require};
use crate::config::registry::Opener;
use crate::config::settings::Matcher;

/// `Require [not] provider argument ...`
pub fn require(b: &mut Build, args: &Args) -> Result<(), String> {
    let negated = args.get(0).eq_ignore_ascii_case("not");
    let words = args.rest(usize::from(negated));
    let Some((provider, rest)) = words.split_first() else {
        return Err("Require takes a provider such as all, ip, host or local".into());
    };
    let rule = provider_rule(provider, rest)?;
    if negated && let Some(other) = not_all(b) {
        return Err(format!(
            "negative Require directive has no effect in <{other}> directive; put it into <RequireAll> beside a Require that grants"
        ));
    }
    add(
        b,
        if negated {
            Require::Not(Box::new(rule))
        } else {
            rule
        },
    );
    Ok(())
}

fn provider_rule(provider: &str, words: &[String]) -> Result<Require, String> {
    let missing = |what: &str| Err(format!("'{provider}' in Require needs {what}"));
    let rule = match provider.to_ascii_lowercase().as_str() {
        "all" => match words {
            [w] if w.eq_ignore_ascii_case("granted") => Require::All(true),
            [w] if w.eq_ignore_ascii_case("denied") => Require::All(false),
            _ => return Err("Argument for 'Require all' must be 'granted' or 'denied'".into()),
        },
        "ip" if words.is_empty() => {
            return Err("'require ip' requires an argument".into());
        }
        "ip" => Require::Ip(
            words
                .iter()
                .map(|w| {
                    network(w).ok_or_else(|| format!("ip address '{w}' appears to be invalid: The specified IP address is invalid."))
                })
                .collect::<Result<_, _>>()?,
        ),
        "host" if words.is_empty() => return missing("a host name or domain"),
        "host" => Require::Host(lower(words)),
        "forward-dns" if words.is_empty() => return missing("a host name"),
        "forward-dns" => Require::ForwardDns(lower(words)),
        "local" if !words.is_empty() => {
            return Err("'require local' does not take arguments".into());
        }
        "local" => Require::Local,
        "env" if words.is_empty() => return missing("the name of a variable"),
        "env" => Require::Env(words.to_vec()),
        "method" if words.is_empty() => return missing("a method"),
        "method" => Require::Method(words.to_vec()),
        "valid-user" | "user" | "group" | "file-owner" | "file-group" | "ldap-user"
        | "dbm-group" => {
            return Err(format!(
                "Require {provider} needs authentication (mod_auth_basic, mod_authn_file, mod_authz_user), which is not there in this version of muster"
            ));
        }
        "expr" => {
            return Err("Require expr needs expressions (ap_expr), which are not there in this version of muster".into());
        }
        _ => {
            return Err(format!(
                "Unknown Authz provider: {provider} (there are all, ip, local, host, forward-dns, env, method, each also behind not)"
            ));
        }
    };
    Ok(rule)
}

fn lower(words: &[String]) -> Vec<String> {
    words.iter().map(|w| w.to_ascii_lowercase()).collect()
}

/// An address or network: full, `a/bits`, `a/mask`, or the first one to three numbers of an
/// IPv4 address.
pub fn network(text: &str) -> Option<IpNet> {
    if let Some((address, mask)) = text.split_once('/') {
        let ip: IpAddr = match address.parse() {
            Ok(ip) => ip,
            Err(_) => IpAddr::V4(partial(address)?.0),
        };
        if let Ok(bits) = mask.parse::<u8>() {
            return IpNet::new(ip, bits).ok().map(|n| n.trunc());
        }
        let mask: IpAddr = mask.parse().ok()?;
        return IpNet::with_netmask(ip, mask).ok().map(|n| n.trunc());
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(IpNet::from(ip));
    }
    let (ip, bits) = partial(text)?;
    Ipv4Net::new(ip, bits).ok().map(IpNet::V4)
}

/// `10`, `10.1`, `10.1.2`, each also with a dot at the end.
fn partial(text: &str) -> Option<(Ipv4Addr, u8)> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let mut octets = [0u8; 4];
    let mut n = 0;
    for part in text.split('.') {
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        *octets.get_mut(n)? = digits.then(|| part.parse().ok()).flatten()?;
        n += 1;
    }
    Some((Ipv4Addr::from(octets), n as u8 * 8))
}

/// The innermost `<Require...>` container that is open directly here.
fn container(b: &Build) -> &'static str {
    // Lines that stand directly in a section are taken as if in a <RequireAny>.
    let open = b.scopes.last().filter(|s| s.kind.is_none());
    open.map_or("RequireAny", |s| s.name)
}

/// The container's name where it is no `<RequireAll>`: there a rule that only refuses would never
/// decide anything.
fn not_all(b: &Build) -> Option<&'static str> {
    Some(container(b)).filter(|name| *name != "RequireAll")
}

/// Adds a rule to the open container, else to the section's own list.
fn add(b: &mut Build, rule: Require) {
    let layer: &mut Layer = match b.scopes.last_mut() {
        Some(scope) if scope.kind.is_none() => &mut scope.layer,
        _ => b.layer(),
    };
    let mut list = match layer.require.take().map(Arc::unwrap_or_clone) {
        Some(Require::AnyOf(list)) => list,
        Some(other) => vec![other],
        None => Vec::new(),
    };
    list.push(rule);
    layer.require = Some(Arc::new(Require::AnyOf(list)));
}

/// `<RequireAll>`
pub const REQUIRE_ALL: Opener = Opener {
    open: open_all,
    close: close_all,
};
/// `<RequireAny>`
pub const REQUIRE_ANY: Opener = Opener {
    open: open_any,
    close: close_any,
};
/// `<RequireNone>`
pub const REQUIRE_NONE: Opener = Opener {
    open: open_none,
    close: close_none,
};

fn open_all(b: &mut Build, args: &Args) -> Result<(), String> {
    open(b, args, "RequireAll")
}

fn open_any(b: &mut Build, args: &Args) -> Result<(), String> {
    open(b, args, "RequireAny")
}

fn open_none(b: &mut Build, args: &Args) -> Result<(), String> {
    open(b, args, "RequireNone")
}

/// The list of a container stands in its scope's own layer until it closes.
fn open(b: &mut Build, args: &Args, name: &'static str) -> Result<(), String> {
    let span = b.span.clone();
    b.open(Scope {
        name,
        kind: None,
        matcher: Matcher::Prefix(Vec::new()),
        argument: String::new(),
        layer: Layer::default(),
        inner: Vec::new(),
        span,
    });
    if args.raw.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "<{name}> directive doesn't take additional arguments"
        ))
    }
}

fn close_all(b: &mut Build, scope: Scope) -> Result<(), String> {
    let list = listed(&scope)?;
    if list.iter().all(is_negative) {
        return Err(
            "AH01624: <RequireAll> directive contains only negative authorization directives"
                .into(),
        );
    }
    add(b, Require::AllOf(list));
    Ok(())
}

fn close_any(b: &mut Build, scope: Scope) -> Result<(), String> {
    let list = listed(&scope)?;
    add(b, Require::AnyOf(list));
    Ok(())
}

fn close_none(b: &mut Build, scope: Scope) -> Result<(), String> {
    let list = listed(&scope)?;
    if let Some(other) = not_all(b) {
        return Err(format!(
            "<RequireNone> directive has no effect in <{other}> directive; put it into <RequireAll> beside a Require that grants"
        ));
    }
    add(b, Require::NoneOf(list));
    Ok(())
}

fn listed(scope: &Scope) -> Result<Vec<Require>, String> {
    match scope.layer.require.as_deref() {
        Some(Require::AnyOf(list)) => Ok(list.clone()),
        _ => Err(format!(
            "<{}> directive contains no authorization directives",
            scope.name
        )),
    }
}

fn is_negative(rule: &Require) -> bool {
    matches!(rule, Require::Not(_) | Require::NoneOf(_))
}

/// `AuthMerging Off|And|Or`
pub fn auth_merging(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = match args.get(0).to_ascii_lowercase().as_str() {
        "off" => AuthMerging::Off,
        "and" => AuthMerging::And,
        "or" => AuthMerging::Or,
        w => {
            return Err(format!(
                "AuthMerging must be one of: Off | And | Or, not \"{w}\""
            ));
        }
    };
    b.layer().auth_merging = Some(value);
    Ok(())
}

/// `Order deny,allow|allow,deny|mutual-failure`
pub fn order(b: &mut Build, args: &Args) -> Result<(), String> {
    let order =
        match args.get(0).to_ascii_lowercase().as_str() {
            "allow,deny" => Order::AllowDeny,
            "deny,allow" => Order::DenyAllow,
            "mutual-failure" => Order::MutualFailure,
            _ => return Err(
                "unknown order; write deny,allow or allow,deny or mutual-failure, without a blank"
                    .into(),
            ),
        };
    compat(b, |c| c.order = order);
    Ok(())
}

/// `Allow from rule ...`
pub fn allow(b: &mut Build, args: &Args) -> Result<(), String> {
    let rules = host_rules(args)?;
    compat(b, |c| c.allow.extend(rules));
    Ok(())
}

/// `Deny from rule ...`
pub fn deny(b: &mut Build, args: &Args) -> Result<(), String> {
    let rules = host_rules(args)?;
    compat(b, |c| c.deny.extend(rules));
    Ok(())
}

/// `Satisfy All|Any`
pub fn satisfy(b: &mut Build, args: &Args) -> Result<(), String> {
    let all = match args.get(0).to_ascii_lowercase().as_str() {
        "all" => true,
        "any" => false,
        _ => return Err("Satisfy either 'any' or 'all'.".into()),
    };
    b.layer().satisfy_all = Some(all);
    Ok(())
}

fn compat(b: &mut Build, change: impl FnOnce(&mut Compat)) {
    let layer = b.layer();
    let mut value = layer
        .compat
        .take()
        .map(Arc::unwrap_or_clone)
        .unwrap_or_default();
    change(&mut value);
    layer.compat = Some(Arc::new(value));
}

fn host_rules(args: &Args) -> Result<Vec<HostRule>, String> {
    if !args.get(0).eq_ignore_ascii_case("from") {
        return Err("allow and deny must be followed by 'from'".into());
    }
    if args.len() < 2 {
        return Err(
            "allow and deny need an address, a host name, env=NAME or all behind 'from'".into(),
        );
    }
    args.rest(1).iter().map(|w| host_rule(w)).collect()
}

fn host_rule(word: &str) -> Result<HostRule, String> {
    if word.eq_ignore_ascii_case("all") {
        return Ok(HostRule::All);
    }
    if let Some(name) = word
        .get(..4)
        .filter(|k| k.eq_ignore_ascii_case("env="))
        .map(|_| &word[4..])
    {
        return Ok(match name.strip_prefix('!') {
            Some(n) => HostRule::Env(n.to_string(), false),
            None => HostRule::Env(name.to_string(), true),
        });
    }
    if let Some(net) = network(word) {
        return Ok(HostRule::Net(net));
    }
    // What looks like an address but is none must not be taken for a host name that never comes.
    if word.contains('/') {
        return Err(format!(
            "The specified network mask is invalid. (\"{word}\")"
        ));
    }
    if word.contains(':') || word.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(format!("The specified IP address is invalid. (\"{word}\")"));
    }
    Ok(HostRule::Host(word.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> String {
        network(text).map_or("-".into(), |n| n.to_string())
    }

    #[test]
    fn networks_have_many_forms() {
        assert_eq!(net("10"), "10.0.0.0/8");
        assert_eq!(net("10."), "10.0.0.0/8");
        assert_eq!(net("10.1"), "10.1.0.0/16");
        assert_eq!(net("192.168.0.7"), "192.168.0.7/32");
        assert_eq!(net("192.168.0.7/24"), "192.168.0.0/24");
        assert_eq!(net("10.1/16"), "10.1.0.0/16");
        assert_eq!(net("10.0.0.0/255.0.0.0"), "10.0.0.0/8");
        assert_eq!(net("::1"), "::1/128");
        assert_eq!(net("2001:db8::/32"), "2001:db8::/32");
        for bad in [
            "",
            "300.1.1.1",
            "10.0.0.0/33",
            "10.0.0.0/255.0.255.0",
            "a.b",
            "1.2.3.4.5",
            "10..1",
        ] {
            assert_eq!(net(bad), "-", "{bad}");
        }
    }

    #[test]
    fn host_rules_are_told_apart() {
        assert!(matches!(host_rule("ALL"), Ok(HostRule::All)));
        assert!(matches!(host_rule("env=!x"), Ok(HostRule::Env(_, false))));
        assert!(matches!(host_rule("10.1"), Ok(HostRule::Net(_))));
        assert!(matches!(host_rule(".Example.org"), Ok(HostRule::Host(h)) if h == ".example.org"));
        assert!(host_rule("10.0.0.0/40").is_err());
        assert!(host_rule("300.1.2.3").is_err());
    }

    #[test]
    fn providers_that_are_not_there_are_named() {
        assert!(
            provider_rule("valid-user", &[])
                .unwrap_err()
                .contains("authentication")
        );
        assert!(
            provider_rule("foo", &[])
                .unwrap_err()
                .starts_with("Unknown Authz provider: foo (there are all, ip,")
        );
        assert!(provider_rule("ip", &["x".into()]).is_err());
        assert!(provider_rule("all", &["maybe".into()]).is_err());
    }
}
