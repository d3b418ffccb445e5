//! What the merged sections say about a request, in the words of the configuration.

use ipnet::IpNet;

use crate::config::layer::{Compat, HostRule, Layer, Order, Require};

/// One line for each thing that holds and is worth telling.
pub fn effects(layer: &Layer) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(rule) = &layer.require {
        out.push(format!("access: Require {}", require(rule)));
    }
    if let Some(rules) = &layer.compat {
        out.push(format!("access: {}", compat(rules)));
    }
    if layer.require.is_some() && layer.compat.is_some() {
        let all = layer.satisfy_all.unwrap_or(true);
        out.push(format!(
            "access: Satisfy {}",
            if all { "All" } else { "Any" }
        ));
    }
    if layer.preserve_host == Some(true) {
        out.push("ProxyPreserveHost On".into());
    }
    if layer.add_headers == Some(false) {
        out.push("ProxyAddHeaders Off".into());
    }
    if layer.error_override.as_ref().is_some_and(|o| o.on) {
        out.push("ProxyErrorOverride On".into());
    }
    for rule in &layer.reverse {
        out.push(format!("ProxyPassReverse {} {}", rule.fake, rule.real));
    }
    out
}

fn require(rule: &Require) -> String {
    let nets = |list: &[IpNet]| list.iter().map(net).collect::<Vec<_>>().join(" ");
    match rule {
        Require::All(true) => "all granted".into(),
        Require::All(false) => "all denied".into(),
        Require::Ip(list) => format!("ip {}", nets(list)),
        Require::Host(list) => format!("host {}", list.join(" ")),
        Require::ForwardDns(list) => format!("forward-dns {}", list.join(" ")),
        Require::Local => "local".into(),
        Require::Env(list) => format!("env {}", list.join(" ")),
        Require::Method(list) => format!("method {}", list.join(" ")),
        Require::Not(inner) => format!("not {}", require(inner)),
        Require::AllOf(list) => group("all of", list),
        Require::AnyOf(list) => match list.as_slice() {
            [one] => require(one),
            many => group("any of", many),
        },
        Require::NoneOf(list) => group("none of", list),
    }
}

fn group(name: &str, list: &[Require]) -> String {
    let parts: Vec<String> = list.iter().map(require).collect();
    format!("{name} ({})", parts.join("; "))
}

/// A single address without its length.
fn net(net: &IpNet) -> String {
    if net.prefix_len() == net.max_prefix_len() {
        net.addr().to_string()
    } else {
        net.to_string()
    }
}

fn compat(rules: &Compat) -> String {
    let order = match rules.order {
        Order::DenyAllow => "deny,allow",
        Order::AllowDeny => "allow,deny",
        Order::MutualFailure => "mutual-failure",
    };
    let list = |rules: &[HostRule]| {
        let word = |r: &HostRule| match r {
            HostRule::All => "all".to_string(),
            HostRule::Net(n) => net(n),
            HostRule::Host(h) => h.clone(),
            HostRule::Env(name, true) => format!("env={name}"),
            HostRule::Env(name, false) => format!("env=!{name}"),
        };
        rules.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    let mut out = format!("Order {order}");
    if !rules.allow.is_empty() {
        out.push_str(&format!(", Allow from {}", list(&rules.allow)));
    }
    if !rules.deny.is_empty() {
        out.push_str(&format!(", Deny from {}", list(&rules.deny)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_told_in_the_configurations_words() {
        let rule = Require::AllOf(vec![
            Require::Ip(vec![
                "10.0.0.0/8".parse().unwrap(),
                "::1/128".parse().unwrap(),
            ]),
            Require::Not(Box::new(Require::Local)),
        ]);
        assert_eq!(require(&rule), "all of (ip 10.0.0.0/8 ::1; not local)");
    }
}
