//! Who may: `Require`, and `Order`, `Allow`, `Deny`, `Satisfy` (spec: modules 6).
//!
//! Pure: names that must be looked up first are found with [`wanted`] and handed in.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::codec::http1::head::Method;
use crate::config::layer::{Compat, HostRule, Layer, Order, Require};

use super::env::Env;

/// What the rules look at.
pub struct Asker<'a> {
    /// The client.
    pub client: IpAddr,
    /// The address that it connected to.
    pub local: IpAddr,
    /// The client's verified name, where one was wanted and found.
    pub name: Option<&'a str>,
    /// Addresses of the names that `forward-dns` rules mention.
    pub forward: &'a HashMap<String, Vec<IpAddr>>,
    /// The request's variables.
    pub env: &'a Env,
    /// Its method.
    pub method: &'a Method,
}

/// Why it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// By `Require`: AH01630.
    Require,
    /// By `Order`, `Allow`, `Deny`: AH01797.
    Compat,
}

/// Names that must be looked up before [`check`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The client's name.
    pub reverse: bool,
    /// These names' addresses.
    pub forward: Vec<String>,
}

/// Which look-ups the rules of a layer need.
pub fn wanted(layer: &Layer) -> Wanted {
    let mut wanted = Wanted::default();
    if let Some(require) = &layer.require {
        walk(require, &mut wanted);
    }
    if let Some(compat) = &layer.compat {
        wanted.reverse |= compat
            .allow
            .iter()
            .chain(&compat.deny)
            .any(|rule| matches!(rule, HostRule::Host(_)));
    }
    wanted
}

fn walk(require: &Require, wanted: &mut Wanted) {
    match require {
        Require::Host(_) => wanted.reverse = true,
        Require::ForwardDns(names) => wanted.forward.extend(names.iter().cloned()),
        Require::Not(inner) => walk(inner, wanted),
        Require::AllOf(all) | Require::AnyOf(all) | Require::NoneOf(all) => {
            all.iter().for_each(|r| walk(r, wanted));
        }
        Require::All(_)
        | Require::Ip(_)
        | Require::Local
        | Require::Env(_)
        | Require::Method(_) => {}
    }
}

/// May `asker` have what the layer protects? No rules at all: yes.
pub fn check(layer: &Layer, asker: &Asker<'_>) -> Result<(), Refusal> {
    if layer.require.is_none() && layer.compat.is_none() {
        return Ok(());
    }
    let compat = layer.compat.as_ref().is_none_or(|c| compatible(c, asker));
    // Only a plain yes lets in; a tree that decides nothing does not.
    let require = layer
        .require
        .as_ref()
        .is_none_or(|r| decide(r, asker) == Decision::Granted);
    if layer.satisfy_all == Some(false) {
        // One of the two is enough.
        return if compat || layer.require.is_some() && require {
            Ok(())
        } else {
            Err(Refusal::Require)
        };
    }
    match (compat, require) {
        (false, _) => Err(Refusal::Compat),
        (true, false) => Err(Refusal::Require),
        (true, true) => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Granted,
    Denied,
    /// Says nothing either way.
    Neutral,
}

fn decide(require: &Require, asker: &Asker<'_>) -> Decision {
    let yes = |yes: bool| {
        if yes {
            Decision::Granted
        } else {
            Decision::Denied
        }
    };
    match require {
        Require::All(granted) => yes(*granted),
        Require::Ip(nets) => yes(nets.iter().any(|n| n.contains(&asker.client))),
        Require::Host(names) => yes(names.iter().any(|n| named(asker.name, n))),
        Require::ForwardDns(names) => yes(names.iter().any(|name| {
            asker
                .forward
                .get(name)
                .is_some_and(|all| all.contains(&asker.client))
        })),
        Require::Local => yes(is_local(asker)),
        Require::Env(names) => yes(names.iter().any(|n| asker.env.contains(n))),
        Require::Method(names) => yes(names.iter().any(|n| same_method(n, asker.method))),
        // A negated rule can refuse, never grant.
        Require::Not(inner) => match decide(inner, asker) {
            Decision::Granted => Decision::Denied,
            Decision::Denied | Decision::Neutral => Decision::Neutral,
        },
        Require::AllOf(all) => {
            let mut sum = Decision::Neutral;
            for rule in all {
                match decide(rule, asker) {
                    Decision::Denied => return Decision::Denied,
                    Decision::Granted => sum = Decision::Granted,
                    Decision::Neutral => {}
                }
            }
            sum
        }
        Require::AnyOf(all) => {
            let mut sum = Decision::Neutral;
            for rule in all {
                match decide(rule, asker) {
                    Decision::Granted => return Decision::Granted,
                    Decision::Denied => sum = Decision::Denied,
                    Decision::Neutral => {}
                }
            }
            sum
        }
        Require::NoneOf(all) => {
            if all.iter().any(|r| decide(r, asker) == Decision::Granted) {
                Decision::Denied
            } else {
                Decision::Neutral
            }
        }
    }
}

/// GET and HEAD count as one, as in httpd.
fn same_method(name: &str, method: &Method) -> bool {
    let one = |m: &str| matches!(m, "GET" | "HEAD");
    name == method.as_str() || one(name) && one(method.as_str())
}

fn compatible(rules: &Compat, asker: &Asker<'_>) -> bool {
    let allowed = || listed(&rules.allow, asker);
    let denied = || listed(&rules.deny, asker);
    match rules.order {
        Order::DenyAllow => allowed() || !denied(),
        Order::AllowDeny | Order::MutualFailure => allowed() && !denied(),
    }
}

fn listed(rules: &[HostRule], asker: &Asker<'_>) -> bool {
    rules.iter().any(|rule| match rule {
        HostRule::All => true,
        HostRule::Net(net) => net.contains(&asker.client),
        HostRule::Host(name) => named(asker.name, name),
        HostRule::Env(name, set) => asker.env.contains(name) == *set,
    })
}

/// `wanted` is the whole name or its end at a label.
fn named(name: Option<&str>, wanted: &str) -> bool {
    let Some(name) = name else {
        return false;
    };
    let wanted = wanted.as_bytes();
    let bare = wanted.strip_prefix(b".").unwrap_or(wanted);
    let name = name.as_bytes();
    let Some(split) = name.len().checked_sub(bare.len()) else {
        return false;
    };
    name[split..].eq_ignore_ascii_case(bare)
        && if split == 0 {
            wanted.len() == bare.len()
        } else {
            name[split - 1] == b'.'
        }
}

/// A loopback client, or one that has the address it talks to.
fn is_local(asker: &Asker<'_>) -> bool {
    asker.client.is_loopback() || asker.client == asker.local
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn ask(layer: &Layer, client: &str, name: Option<&str>) -> Result<(), Refusal> {
        check(
            layer,
            &Asker {
                client: client.parse().unwrap(),
                local: "10.0.0.1".parse().unwrap(),
                name,
                forward: &HashMap::from([(
                    "bastion.test".to_string(),
                    vec!["192.0.2.7".parse().unwrap()],
                )]),
                env: &{
                    let mut env = Env::default();
                    env.set("ok", "1");
                    env
                },
                method: &Method::Get,
            },
        )
    }

    fn require(tree: Require) -> Layer {
        Layer {
            require: Some(Arc::new(tree)),
            ..Layer::default()
        }
    }

    fn net(text: &str) -> Require {
        Require::Ip(vec![text.parse().unwrap()])
    }

    #[test]
    fn trees_decide_as_httpd_does() {
        use Require::{All, AllOf, AnyOf, NoneOf, Not};
        let all = require(AllOf(vec![All(true), Not(Box::new(net("192.0.2.0/24")))]));
        assert!(ask(&all, "198.51.100.1", None).is_ok());
        assert_eq!(ask(&all, "192.0.2.1", None), Err(Refusal::Require));
        let any = require(AnyOf(vec![net("10.0.0.0/8"), net("2001:db8::/32")]));
        assert!(ask(&any, "2001:db8::1", None).is_ok());
        assert!(ask(&any, "192.0.2.1", None).is_err());
        let none = require(AllOf(vec![
            NoneOf(vec![net("192.0.2.0/24")]),
            Require::Env(vec!["ok".into()]),
        ]));
        assert!(ask(&none, "10.1.1.1", None).is_ok());
        assert!(ask(&none, "192.0.2.9", None).is_err());
        // A lone negation never grants.
        assert!(
            ask(
                &require(Not(Box::new(net("10.0.0.0/8")))),
                "192.0.2.1",
                None
            )
            .is_err()
        );
        assert!(ask(&require(AnyOf(vec![])), "192.0.2.1", None).is_err());
        assert!(ask(&require(Require::Local), "10.0.0.1", None).is_ok());
        assert!(
            ask(
                &require(Require::Method(vec!["POST".into()])),
                "10.0.0.1",
                None
            )
            .is_err()
        );
        assert!(
            ask(
                &require(Require::Method(vec!["HEAD".into()])),
                "10.0.0.1",
                None
            )
            .is_ok()
        );
    }

    #[test]
    fn names_match_whole_labels() {
        let layer = require(Require::Host(vec![
            "example.org".into(),
            ".sub.test".into(),
        ]));
        assert!(ask(&layer, "192.0.2.1", Some("Example.org")).is_ok());
        assert!(ask(&layer, "192.0.2.1", Some("a.example.org")).is_ok());
        assert!(ask(&layer, "192.0.2.1", Some("badexample.org")).is_err());
        assert!(ask(&layer, "192.0.2.1", Some("x.sub.test")).is_ok());
        assert!(ask(&layer, "192.0.2.1", Some("sub.test")).is_err());
        assert!(ask(&layer, "192.0.2.1", None).is_err());
        assert!(wanted(&layer).reverse);
        let forward = require(Require::ForwardDns(vec!["bastion.test".into()]));
        assert!(ask(&forward, "192.0.2.7", None).is_ok());
        assert!(ask(&forward, "192.0.2.8", None).is_err());
    }

    #[test]
    fn old_style_orders() {
        let compat = |order, allow: Vec<HostRule>, deny: Vec<HostRule>| Layer {
            compat: Some(Arc::new(Compat { order, allow, deny })),
            ..Layer::default()
        };
        let ten = || HostRule::Net("10.0.0.0/8".parse().unwrap());
        let l = compat(Order::DenyAllow, vec![ten()], vec![HostRule::All]);
        assert!(ask(&l, "10.1.1.1", None).is_ok());
        assert_eq!(ask(&l, "192.0.2.1", None), Err(Refusal::Compat));
        let l = compat(Order::AllowDeny, vec![HostRule::All], vec![ten()]);
        assert!(ask(&l, "10.1.1.1", None).is_err());
        assert!(ask(&l, "192.0.2.1", None).is_ok());
        let l = compat(Order::AllowDeny, vec![], vec![]);
        assert!(ask(&l, "192.0.2.1", None).is_err());
        let l = compat(
            Order::DenyAllow,
            vec![HostRule::Env("ok".into(), true)],
            vec![HostRule::All],
        );
        assert!(ask(&l, "192.0.2.1", None).is_ok());
    }

    #[test]
    fn satisfy_any_needs_only_one() {
        let mut layer = require(Require::All(false));
        layer.compat = Some(Arc::new(Compat {
            order: Order::DenyAllow,
            allow: vec![HostRule::Net("10.0.0.0/8".parse().unwrap())],
            deny: vec![HostRule::All],
        }));
        assert!(ask(&layer, "10.1.1.1", None).is_err());
        layer.satisfy_all = Some(false);
        assert!(ask(&layer, "10.1.1.1", None).is_ok());
        assert!(ask(&layer, "192.0.2.1", None).is_err());
    }
}
