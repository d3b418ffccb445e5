//! Inheritance, sharing and checks, with setters called as the driver calls them.

use super::*;
use crate::config::args::Args;
use crate::config::directive::{balancer, log, pass, proxy, section, server};
use crate::config::frame::{Build, Facts, Scope};
use crate::config::layer::Layer;
use crate::config::registry::Setter;
use crate::config::settings::{Matcher, RuleTo, SectionKind};
use crate::config::span::Span;
use crate::ids::{BalancerNo, ServerNo};

fn build() -> Build {
    Build {
        span: Span::default(),
        directive: "Test",
        server: ServerNo(0),
        scopes: Vec::new(),
        facts: Facts {
            server_root: "/tmp".into(),
            runtime_dir: "/tmp".into(),
            ..Facts::default()
        },
        draft: Draft::new(),
        complaints: Vec::new(),
        notes: Vec::new(),
    }
}

fn run(b: &mut Build, setter: Setter, text: &str) {
    setter(b, &Args::new(text)).unwrap();
}

fn vhost(b: &mut Build, text: &str) {
    run(b, section::VIRTUAL_HOST.open, text);
}

fn in_proxy(b: &mut Build, target: &str, lines: &[(Setter, &str)]) {
    run(b, section::PROXY.open, target);
    for (setter, text) in lines {
        run(b, *setter, text);
    }
    let scope: Scope = b.scopes.pop().unwrap();
    (section::PROXY.close)(b, scope).unwrap();
}

fn names(s: &Settings, list: &[crate::ids::WorkerNo]) -> Vec<String> {
    list.iter().map(|w| s.worker(*w).name.clone()).collect()
}

#[test]
fn an_inherited_balancer_is_the_main_servers() {
    let mut b = build();
    in_proxy(
        &mut b,
        "balancer://Pair",
        &[
            (balancer::balancer_member, "http://a:1 loadfactor=2"),
            (balancer::balancer_member, "http://b:1"),
        ],
    );
    vhost(&mut b, "*:80");
    run(&mut b, pass::proxy_pass, "/ balancer://pair/");
    vhost(&mut b, "*:80");
    run(
        &mut b,
        pass::proxy_pass,
        "/ balancer://pair/ stickysession=S",
    );
    let s = settle(&mut b);
    assert_eq!(s.servers[1].proxy.balancers, [BalancerNo(0)]);
    assert_eq!(s.servers[2].proxy.balancers, [BalancerNo(1)]);
    let copy = s.balancer(BalancerNo(1));
    assert_eq!(names(&s, &copy.members), ["http://a:1", "http://b:1"]);
    assert_eq!(s.worker(copy.members[0]).params.load_factor, 200);
    assert_eq!(s.worker(copy.members[0]).balancer, Some(BalancerNo(1)));
    assert_ne!(copy.members[0], s.balancer(BalancerNo(0)).members[0]);
    assert_eq!(copy.params.sticky, Some(("S".into(), "S".into())));
}

#[test]
fn both_inherit_flags_off_keep_workers_apart() {
    let mut b = build();
    run(&mut b, pass::proxy_pass, "/main http://m:1/");
    vhost(&mut b, "*:80");
    run(&mut b, balancer::balancer_inherit, "Off");
    run(&mut b, proxy::proxy_pass_inherit, "Off");
    run(&mut b, pass::proxy_pass, "/x http://x:1/");
    vhost(&mut b, "*:81");
    run(&mut b, balancer::balancer_inherit, "Off");
    let s = settle(&mut b);
    assert_eq!(names(&s, &s.servers[1].proxy.workers), ["http://x:1/"]);
    assert_eq!(names(&s, &s.servers[2].proxy.workers), ["http://m:1/"]);
    // Rules are inherited whatever the flags say, the main server's in front.
    let rules: Vec<_> = s.servers[1]
        .proxy
        .rules
        .iter()
        .map(|r| r.to.clone())
        .collect();
    assert_eq!(
        rules,
        [
            RuleTo::Url("http://m:1/".into()),
            RuleTo::Url("http://x:1/".into())
        ]
    );
}

#[test]
fn workers_are_shared_by_prefix_and_say_so() {
    let mut b = build();
    run(&mut b, pass::proxy_pass, "/a http://b/");
    run(&mut b, pass::proxy_pass, "/a/x http://b/x timeout=5");
    run(&mut b, pass::proxy_pass, "/c http://c/x timeout=5");
    run(&mut b, pass::proxy_pass, "/c/x http://c/");
    assert_eq!(b.draft.servers[0].proxy.workers.len(), 3);
    assert!(b.notes.iter().any(|n| n.text.contains("AH01145")));
    assert!(
        b.notes
            .iter()
            .any(|n| n.text.contains("AH01146") && n.warning)
    );
    let bad = pass::proxy_pass(&mut b, &Args::new("/a/y http://b/y retry=abc"));
    assert!(bad.unwrap_err().contains("Retry must be a positive value"));
}

#[test]
fn member_timeouts_are_those_at_the_time_of_reading() {
    let mut b = build();
    run(&mut b, pass::proxy_pass, "/a http://a/");
    run(&mut b, proxy::proxy_timeout, "7");
    run(&mut b, pass::proxy_pass, "/b http://b/");
    run(&mut b, proxy::proxy_timeout, "9");
    let s = settle(&mut b);
    let timeouts: Vec<_> = s.workers.iter().map(|w| w.params.timeout).collect();
    assert_eq!(timeouts, [None, Some(std::time::Duration::from_secs(7))]);
    assert_eq!(s.servers[0].proxy.timeout.as_secs(), 9);
}

#[test]
fn a_virtual_host_stands_over_the_main_server() {
    let mut b = build();
    run(&mut b, server::server_name, "main.test");
    run(&mut b, log::custom_log, "/tmp/main.log %h");
    run(&mut b, crate::config::directive::limits::timeout, "7");
    run(
        &mut b,
        crate::config::directive::limits::allow_encoded_slashes,
        "On",
    );
    vhost(&mut b, "*:8081");
    vhost(&mut b, "*:8081");
    run(&mut b, server::server_name, "host.test");
    run(&mut b, log::custom_log, "/tmp/host.log %h");
    let s = settle(&mut b);
    let (one, two) = (&s.servers[1], &s.servers[2]);
    assert_eq!((one.name.as_str(), one.port), ("main.test", Some(8081)));
    assert_eq!((two.name.as_str(), two.port), ("host.test", None));
    assert_eq!(one.timeout.as_secs(), 7);
    assert_eq!(one.encoded_slashes, Default::default());
    assert_eq!(
        one.access_logs[0].target,
        s.servers[0].access_logs[0].target
    );
    assert_eq!(two.access_logs.len(), 1);
    assert_ne!(two.access_logs[0].target, one.access_logs[0].target);
}

#[test]
fn the_main_servers_sections_come_first() {
    let mut b = build();
    let open = |b: &mut Build, path: &str| {
        b.open(Scope {
            name: "Location",
            kind: Some(SectionKind::Location),
            matcher: Matcher::Prefix(path.into()),
            argument: path.into(),
            layer: Layer::default(),
            inner: Vec::new(),
            span: Span::default(),
        });
        let scope = b.scopes.pop().unwrap();
        (section::LOCATION.close)(b, scope).unwrap();
    };
    vhost(&mut b, "*:80");
    open(&mut b, "/host");
    b.server = ServerNo(0);
    open(&mut b, "/main");
    let s = settle(&mut b);
    let paths: Vec<_> = s.servers[1]
        .sections
        .iter()
        .map(|x| format!("{:?}", x.matcher))
        .collect();
    assert_eq!(paths.len(), 2);
    assert!(paths[0].contains(&format!("{:?}", b"/main".to_vec())));
}

#[test]
fn what_cannot_work_is_said() {
    let mut b = build();
    run(&mut b, pass::proxy_pass, "/ balancer://nobody/");
    run(&mut b, pass::proxy_pass, "/s https://h/");
    settle(&mut b);
    let said = |t: &str| b.notes.iter().any(|n| n.warning && n.text.contains(t));
    assert!(said("has no members"));
    assert!(said("https: TLS to backends"));
}
