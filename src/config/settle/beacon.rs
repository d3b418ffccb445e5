//! Who announces and who receives, with everything that needs the whole configuration: roles,
//! secrets, inherited addresses, the balancer.

use std::time::Duration;

use crate::codec::beacon::{Algorithm, MacPolicy, Reach};
use crate::config::beacon::{BeaconBalancer, HostPort, Receiver, Sender};
use crate::config::draft::BeaconDraft;
use crate::config::frame::Build;
use crate::config::settings::{Balancer, Listen, Server};
use crate::config::span::Span;

const DEFAULT_SKEW: Duration = Duration::from_secs(30);
const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);

/// Resolves the drafts of all servers, in their order.
pub fn resolve(
    build: &mut Build,
    drafts: Vec<BeaconDraft>,
    servers: &[Server],
    listens: &[Listen],
    balancers: &[Balancer],
) -> (Vec<Receiver>, Vec<Sender>) {
    let mut receivers = Vec::new();
    let mut senders = Vec::new();
    for (draft, server) in drafts.into_iter().zip(servers) {
        if draft.listen.is_some() {
            let found = receiver(build, draft, server, listens, balancers);
            let found = found.filter(|r| is_alone(build, r, &receivers));
            if let Some(r) = &found {
                shares_no_key(build, r, &receivers);
            }
            receivers.extend(found);
        } else if draft.address_span.is_some() {
            senders.extend(sender(build, draft, server));
        }
    }
    (receivers, senders)
}

fn receiver(
    build: &mut Build,
    draft: BeaconDraft,
    server: &Server,
    listens: &[Listen],
    balancers: &[Balancer],
) -> Option<Receiver> {
    let (host, port, span) = draft.listen?;
    unused(
        build,
        &[(draft.interval.map(|(_, span)| span), "ProxyBeaconInterval")],
        "receives",
    );
    let place = place(build, host, port, &span, server, listens);
    if draft.secrets.len() > 2 {
        at(build, &draft.secrets[2].span, "ProxyBeaconSecret");
        build.complain("ProxyBeaconSecret and ProxyBeaconSecretFile may stand twice at most on a receiver: the new secret, then the old one");
    }
    let keys: Vec<_> = draft.secrets.into_iter().map(|s| s.key).collect();
    if keys.is_empty() {
        no_secret(build, &span, "ProxyBeaconListen");
    }
    let balancer = match draft.balancer {
        None => {
            at(build, &span, "ProxyBeaconListen");
            build.warn(
                "ProxyBeaconListen: no ProxyBeaconBalancer, so announcements will be logged only",
            );
            None
        }
        Some((name, span)) => Some(find_balancer(build, name, &span, server, balancers)),
    };
    let policy = draft.mac.map_or(MacPolicy::default(), |(policy, _)| policy);
    Some(Receiver {
        server: server.no,
        place: place?,
        balancer,
        timeout: draft.timeout.map_or(Duration::ZERO, |(t, _)| t),
        max_skew: draft.max_skew.map_or(DEFAULT_SKEW, |(t, _)| t),
        keys,
        policy,
        allow: draft.allow,
        span,
    })
}

/// Two servers cannot read one socket.
fn is_alone(build: &mut Build, r: &Receiver, others: &[Receiver]) -> bool {
    let Some(other) = others.iter().find(|o| o.place == r.place) else {
        return true;
    };
    at(build, &r.span, "ProxyBeaconListen");
    build.complain(format!(
        "ProxyBeaconListen: {} is another server's already ({})",
        r.place, other.span
    ));
    false
}

/// What is signed does not say which balancer is meant.
fn shares_no_key(build: &mut Build, r: &Receiver, others: &[Receiver]) {
    let same = |o: &&Receiver| {
        let (a, b) = (&o.balancer, &r.balancer);
        a.is_some() && b.is_some() && a != b && o.keys.iter().any(|k| r.keys.contains(k))
    };
    if let Some(other) = others.iter().find(same) {
        at(build, &r.span, "ProxyBeaconListen");
        build.warn(format!(
            "ProxyBeaconListen: {} has the same secret for another balancer, so what is announced to one of them, recorded and sent to the other, joins that one too; write a secret of its own for each balancer",
            other.span
        ));
    }
}

/// What the line does not say comes from the server and the Listen lines.
fn place(
    build: &mut Build,
    host: Option<String>,
    port: Option<u16>,
    span: &Span,
    server: &Server,
    listens: &[Listen],
) -> Option<HostPort> {
    let port = port
        .or(server.port)
        .or(listens.first().map(|l| l.address.port()));
    let Some(port) = port else {
        at(build, span, "ProxyBeaconListen");
        build.complain("ProxyBeaconListen: there is no port: write host:port");
        return None;
    };
    let host = host.filter(|h| h != "*").unwrap_or_else(|| {
        let same = listens.iter().find(|l| l.address.port() == port);
        match same.or(listens.first()) {
            Some(l) if !l.any && !l.address.ip().is_unspecified() => l.address.ip().to_string(),
            _ => String::new(),
        }
    });
    Some(HostPort { host, port })
}

fn find_balancer(
    build: &mut Build,
    name: String,
    span: &Span,
    server: &Server,
    balancers: &[Balancer],
) -> BeaconBalancer {
    let found = server
        .proxy
        .balancers
        .iter()
        .filter_map(|no| balancers.get(no.index()))
        .find(|b| b.name == name);
    at(build, span, "ProxyBeaconBalancer");
    match found {
        None => build.warn(format!(
            "ProxyBeaconBalancer: there is no {name} here, so no backend can join; define it with <Proxy \"{name}\"> and growth="
        )),
        Some(b) if b.params.growth == 0 => build.warn(format!(
            "ProxyBeaconBalancer: {name} has no room for new members; write ProxySet growth=N in <Proxy \"{name}\">"
        )),
        Some(_) => {}
    }
    BeaconBalancer {
        name,
        no: found.map(|b| b.no),
    }
}

fn sender(build: &mut Build, draft: BeaconDraft, server: &Server) -> Option<Sender> {
    let span = draft.address_span?;
    unused(
        build,
        &[
            (draft.timeout.map(|(_, span)| span), "ProxyBeaconTimeout"),
            (draft.max_skew.map(|(_, span)| span), "ProxyBeaconMaxSkew"),
            (draft.balancer.map(|(_, span)| span), "ProxyBeaconBalancer"),
            (draft.allow_span, "ProxyBeaconAllow"),
        ],
        "announces itself",
    );
    if let Some(second) = draft.secrets.get(1) {
        at(build, &second.span, "ProxyBeaconSecret");
        build.complain("a server that announces itself has one secret: ProxyBeaconSecret or ProxyBeaconSecretFile once");
    }
    let algorithm = match draft.mac {
        None | Some((MacPolicy::HmacSha256, _)) => Algorithm::HmacSha256,
        Some((MacPolicy::SipHash, _)) => Algorithm::SipHash,
        Some((MacPolicy::Any, line)) => {
            at(build, &line, "ProxyBeaconMac");
            build.complain("ProxyBeaconMac any is for receivers; a server that announces itself signs with one of hmac-sha256 and siphash");
            Algorithm::default()
        }
    };
    let Some(secret) = draft.secrets.into_iter().next() else {
        no_secret(build, &span, "ProxyBeaconAddress");
        return None;
    };
    let here = |host: &str| {
        host == "localhost"
            || host
                .parse()
                .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    };
    if let Some(url) = &draft.advertise
        && url.reach() == Reach::ThisMachine
        && draft.targets.iter().any(|t| !here(&t.host))
    {
        at(build, &span, "ProxyBeaconAdvertise");
        build.warn(format!(
            "ProxyBeaconAdvertise: {url} means each proxy's own machine, so proxies on others drop it as \"unacceptable url\"; write an address at which they reach this server"
        ));
    }
    Some(Sender {
        server: server.no,
        name: if server.name_is_set {
            server.name.clone()
        } else {
            String::new()
        },
        targets: draft.targets,
        advertise: draft.advertise,
        interval: draft.interval.map_or(DEFAULT_INTERVAL, |(t, _)| t),
        key: secret.key,
        algorithm,
        span,
    })
}

fn no_secret(build: &mut Build, span: &Span, directive: &'static str) {
    at(build, span, directive);
    build.complain(format!(
        "{directive} needs ProxyBeaconSecret or ProxyBeaconSecretFile on the same server: announcements are always signed"
    ));
}

/// Directives of the other role are accepted and have no effect.
fn unused(build: &mut Build, lines: &[(Option<Span>, &'static str)], role: &str) {
    for (span, directive) in lines {
        if let Some(span) = span {
            at(build, span, directive);
            build.warn(format!("{directive} has no effect on a server that {role}"));
        }
    }
}

fn at(build: &mut Build, span: &Span, directive: &'static str) {
    build.span = span.clone();
    build.directive = directive;
}
