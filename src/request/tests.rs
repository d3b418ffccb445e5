//! The pure parts, on settings made by hand: hosts, sections, maps.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::names;
use super::phases::explain;
use super::request::{ConnInfo, NoLink, Request};
use super::room::Routes;
use crate::body::Length;
use crate::clock::{Mono, Wall};
use crate::codec::fields::Fields;
use crate::codec::http1::head::{Method, RequestHead, Version};
use crate::config::layer::{CanonicalName, ErrorDocument, Layer, Require};
use crate::config::pattern::Pattern;
use crate::config::settings::*;
use crate::ids::{LogNo, ServerNo};

pub(super) fn server(no: u16, name: &str) -> Server {
    Server {
        no: ServerNo(no),
        span: Default::default(),
        addresses: Vec::new(),
        name: name.into(),
        name_is_set: true,
        port: None,
        scheme: "http".into(),
        aliases: Vec::new(),
        wild_aliases: Vec::new(),
        server_path: None,
        admin: None,
        document_root: "/srv/www".into(),
        timeout: Duration::from_secs(60),
        keep_alive: true,
        keep_alive_timeout: Duration::from_secs(5),
        max_keep_alive_requests: 100,
        limits: HeadLimits::default(),
        read_timeout: ReadTimeout::default(),
        encoded_slashes: EncodedSlashes::Off,
        merge_slashes: true,
        physical_port: false,
        strict_host_check: false,
        trace: TraceEnable::Off,
        internal_recursion: 10,
        error_log: LogNo(0),
        error_log_format: None,
        access_logs: Vec::new(),
        base: Layer::default(),
        sections: Vec::new(),
        proxy: ProxyServer {
            rules: Vec::new(),
            workers: Vec::new(),
            balancers: Vec::new(),
            via: Via::Off,
            timeout: Duration::from_secs(60),
            io_buffer: 8192,
            receive_buffer: 0,
            bad_header: BadHeader::IsError,
            max_forwards: None,
            status: ProxyStatus::Off,
            source_address: None,
            block: Vec::new(),
            health_expressions: Vec::new(),
            balancer_inherit: true,
            pass_inherit: true,
            persist: false,
        },
    }
}

pub(super) fn settings(servers: Vec<Server>) -> Rc<Settings> {
    Rc::new(Settings {
        server_root: "/srv".into(),
        process: Process {
            pid_file: "/srv/pid".into(),
            scoreboard_file: "/srv/scoreboard".into(),
            runtime_dir: "/srv".into(),
            user: None,
            group: None,
            start_servers: Some(1),
            server_limit: 256,
            max_request_workers: None,
            max_connections_per_child: 0,
            graceful_shutdown_timeout: Duration::ZERO,
            health_checks_at_once: 16,
            watchdog_interval: std::time::Duration::from_secs(1),
            heartbeat_address: None,
            heartbeat_listen: None,
            heartbeat_max_servers: 10,
            heartbeat_storage: std::path::PathBuf::new(),
            listen_backlog: 511,
            send_buffer: 0,
            receive_buffer: 0,
            core_dump_directory: None,
        },
        listens: Vec::new(),
        servers,
        balancers: Vec::new(),
        workers: Vec::new(),
        receivers: Vec::new(),
        senders: Vec::new(),
        log_targets: vec![LogTarget::Stderr],
        mime_types: Vec::new(),
        notes: Vec::new(),
        defines: Vec::new(),
        files: Vec::new(),
        modules: Vec::new(),
        server_tokens: ServerTokens::Prod,
        extended_status: false,
        see_request_tail: false,
    })
}

fn vhost(no: u16, name: &str, address: &str) -> Server {
    let mut vhost = server(no, name);
    let (ip, port) = address.rsplit_once(':').unwrap();
    vhost.addresses.push(HostAddress {
        ip: ip.parse().ok(),
        port: port.parse().ok(),
        text: address.into(),
    });
    vhost
}

pub(super) fn section(kind: SectionKind, matcher: Matcher, layer: Layer) -> Section {
    Section {
        kind,
        matcher,
        layer,
        inner: Vec::new(),
        span: Default::default(),
    }
}

pub(super) fn location(path: &str, layer: Layer) -> Section {
    section(
        SectionKind::Location,
        Matcher::Prefix(path.as_bytes().to_vec()),
        layer,
    )
}

pub(super) fn pattern(text: &str) -> Pattern {
    Pattern::new(text, false).unwrap()
}

pub(super) fn pass(from: &str, to: &str) -> ProxyRule {
    ProxyRule {
        from: match from.strip_prefix('~') {
            Some(text) => RuleFrom::Match(pattern(text)),
            None => RuleFrom::Prefix(from.as_bytes().to_vec()),
        },
        to: match to {
            "!" => RuleTo::Exclude,
            url => RuleTo::Url(url.into()),
        },
        nocanon: false,
        interpolate: false,
        mapping: Mapping::Decoded,
        span: Default::default(),
    }
}

fn local() -> SocketAddr {
    "127.0.0.1:8080".parse().unwrap()
}

pub(super) fn info() -> ConnInfo {
    ConnInfo {
        client: "192.0.2.1:4711".parse().unwrap(),
        local: local(),
        served: 0,
        received: (Mono(1), Wall(1)),
        body_length: Length::None,
        link: Rc::new(NoLink),
    }
}

pub(super) fn head(method: &str, target: &str, fields: &[(&str, &str)]) -> RequestHead {
    let mut list = Fields::default();
    for (name, value) in fields {
        list.push(name.as_bytes(), value.as_bytes());
    }
    RequestHead {
        method: Method::new(method),
        target: target.as_bytes().to_vec(),
        version: Version::Http11,
        fields: list,
        line: format!("{method} {target} HTTP/1.1").into_bytes(),
    }
}

pub(super) fn get(routes: &Routes, target: &str, host: &str) -> (Request, Result<(), String>) {
    let (req, _, end) = explain(routes, head("GET", target, &[("Host", host)]), info());
    (req, end)
}

pub(super) fn routes(change: impl FnOnce(&mut Server)) -> Routes {
    let mut main = server(0, "front.test");
    change(&mut main);
    Routes::new(settings(vec![main]))
}

/// Where a path goes: the target with its query, `file` or how it ended.
pub(super) fn goes(routes: &Routes, target: &str) -> String {
    let (req, end) = get(routes, target, "h.test");
    match (end, &req.proxy_to) {
        (Err(end), _) => end,
        (Ok(()), Some(_)) => String::from_utf8(req.file_or_url()[6..].to_vec()).unwrap(),
        (Ok(()), None) => String::from_utf8(req.filename).unwrap(),
    }
}

#[test]
fn hosts_are_found_in_one_bucket_only() {
    let mut second = vhost(2, "b.test", "*:8080");
    second.aliases.push("bb.test".into());
    second.wild_aliases.push("*.b.test".into());
    let mut third = vhost(3, "127.0.0.1", "*:8080");
    third.name = "c.b.test".into();
    let servers = vec![
        server(0, "main.test"),
        vhost(1, "a.test", "*:8080"),
        second,
        third,
        vhost(4, "other.test", "192.0.2.9:8080"),
        vhost(5, "any.test", "*:*"),
    ];
    let routes = Routes::new(settings(servers));
    let find =
        |local: &str, host: Option<&str>| routes.hosts.find(local.parse().unwrap(), host, b"/").0.0;
    assert_eq!(find("127.0.0.1:8080", Some("a.test")), 1);
    assert_eq!(find("127.0.0.1:8080", Some("bb.test")), 2);
    // The wildcard stands before the plain name in file order.
    assert_eq!(find("127.0.0.1:8080", Some("c.b.test")), 2);
    assert_eq!(find("127.0.0.1:8080", Some("nobody.test")), 1);
    assert_eq!(find("127.0.0.1:8080", None), 1);
    assert_eq!(find("[::ffff:127.0.0.1]:8080", Some("b.test")), 2);
    assert_eq!(find("192.0.2.9:8080", Some("a.test")), 4);
    assert_eq!(find("127.0.0.1:9999", Some("a.test")), 5);
}

#[test]
fn without_virtual_hosts_the_main_server_answers() {
    let routes = routes(|_| {});
    assert_eq!(routes.hosts.find(local(), Some("x"), b"/").0, ServerNo(0));
    assert!(routes.hosts.knows(&routes.settings, local(), "front.test"));
    assert!(!routes.hosts.knows(&routes.settings, local(), "x.test"));
}

#[test]
fn sections_merge_in_order_and_are_kept() {
    let layer = |handler: &str| Layer {
        handler: Some(handler.into()),
        ..Layer::default()
    };
    let routes = routes(|s| {
        s.sections.push(location("/a/b", layer("later")));
        s.sections.push(location("/a", layer("last")));
        s.sections.push(section(
            SectionKind::Location,
            Matcher::Wild(b"/w/*".to_vec()),
            layer("wild"),
        ));
        s.sections.push(section(
            SectionKind::Location,
            Matcher::Regex(pattern("^/re/(?<who>[a-z]+)")),
            layer("regex"),
        ));
    });
    let handler = |path: &str| get(&routes, path, "h").0.handler.into_owned();
    assert_eq!(handler("/a/b/c"), "last");
    assert_eq!(handler("/ab"), "default-handler");
    assert_eq!(handler("/w/x"), "wild");
    assert_eq!(handler("/w/x/y"), "default-handler");
    let (req, _) = get(&routes, "/re/bob/x", "h");
    assert_eq!(req.handler, "regex");
    assert_eq!(req.env.get("MATCH_WHO"), Some(&b"bob"[..]));
    let again = get(&routes, "/a/b/d", "h").0;
    assert!(Rc::ptr_eq(
        &again.layer,
        &get(&routes, "/a/b/e", "h").0.layer
    ));
}

#[test]
fn limits_restrict_their_methods_only() {
    let deny = || Layer {
        require: Some(Arc::new(Require::All(false))),
        ..Layer::default()
    };
    let methods = |except| Matcher::Methods {
        names: vec!["GET".into()],
        except,
    };
    let routes = routes(|s| {
        let mut outer = location("/ro", Layer::default());
        outer
            .inner
            .push(section(SectionKind::Limit, methods(true), deny()));
        s.sections.push(outer);
        let mut outer = location("/wo", Layer::default());
        outer
            .inner
            .push(section(SectionKind::Limit, methods(false), deny()));
        s.sections.push(outer);
    });
    let ends =
        |method: &str, path: &str| explain(&routes, head(method, path, &[("Host", "h")]), info()).2;
    assert!(ends("GET", "/ro").is_ok());
    assert!(ends("HEAD", "/ro").is_ok());
    assert!(ends("PUT", "/ro").is_err());
    assert!(ends("HEAD", "/wo").is_err());
    assert!(ends("PUT", "/wo").is_ok());
}

#[test]
fn access_control_sees_every_spelling() {
    let routes = routes(|s| {
        s.proxy.rules = vec![pass("/", "http://b/")];
        s.sections.push(location(
            "/private",
            Layer {
                require: Some(Arc::new(Require::All(false))),
                ..Layer::default()
            },
        ));
        for url in ["http://b/secret", "http://b/a/secret"] {
            s.sections.push(section(
                SectionKind::Proxy,
                Matcher::Prefix(url.as_bytes().to_vec()),
                Layer {
                    require: Some(Arc::new(Require::All(false))),
                    ..Layer::default()
                },
            ));
        }
    });
    for path in [
        "/private/x",
        "/app/../private/x",
        "/%70rivate/x",
        "//private/x",
        "/./private/x",
        "/app/%2e%2e/private/x",
        "/private;x=1/x",
        "/private;/",
        "http://h.test/private/x",
        "/secret",
        "/a/secret",
        "/a;x=1/secret",
    ] {
        assert!(goes(&routes, path).starts_with("answered 403"), "{path}");
    }
    assert_eq!(goes(&routes, "/privates"), "http://b/privates");
    assert_eq!(
        goes(&routes, "/app/%252e%252e/private/x"),
        "http://b/app/%2e%2e/private/x"
    );
}

#[test]
fn targets_and_hosts_that_are_refused() {
    let routes = routes(|_| {});
    let ends = |method: &str, target: &str, fields: &[(&str, &str)]| {
        explain(&routes, head(method, target, fields), info())
            .2
            .err()
            .map(|e| e.split(':').next().unwrap_or_default().to_string())
    };
    let h = ("Host", "a.test");
    assert_eq!(ends("GET", "/", &[h]), None);
    for (method, target, fields, status) in [
        ("GET", "/", &[][..], 400),
        ("GET", "/", &[h, h][..], 400),
        ("GET", "/", &[("Host", "")][..], 400),
        ("GET", "/", &[("Host", "a b")][..], 400),
        ("GET", "ftp://a.test/", &[h][..], 400),
        ("GET", "/%zz", &[h][..], 400),
        ("GET", "/../x", &[h][..], 400),
        ("GET", "/a%2fb", &[h][..], 404),
        ("CONNECT", "a.test:80", &[h][..], 405),
        ("GET", "/", &[h, ("Expect", "more")][..], 417),
    ] {
        assert_eq!(
            ends(method, target, fields),
            Some(format!("answered {status}")),
            "{method} {target}"
        );
    }
}

#[test]
fn an_absolute_target_decides_the_host() {
    let servers = vec![
        server(0, "main.test"),
        vhost(1, "a.test", "*:8080"),
        vhost(2, "b.test", "*:8080"),
    ];
    let routes = Routes::new(settings(servers));
    let (req, end) = get(&routes, "http://B.test:81/x", "a.test");
    assert!(end.is_ok());
    assert_eq!(req.server, ServerNo(2));
    assert_eq!(req.head.fields.get("Host"), Some(&b"B.test:81"[..]));
    assert_eq!(names::self_authority(&routes, &req), "b.test:81");
}

#[test]
fn own_names_follow_use_canonical_name() {
    let routes = routes(|s| {
        s.port = Some(8443);
        s.physical_port = true;
        s.sections.push(location(
            "/on",
            Layer {
                canonical_name: Some(CanonicalName::On),
                ..Layer::default()
            },
        ));
    });
    let named =
        |path: &str, host: &str| names::self_authority(&routes, &get(&routes, path, host).0);
    assert_eq!(named("/off", "x.test:99"), "x.test:99");
    assert_eq!(named("/off", "x.test"), "x.test:8080");
    assert_eq!(named("/on", "x.test:99"), "front.test:8443");
}

#[test]
fn error_documents_are_found_per_code() {
    let routes = routes(|s| {
        s.base.error_documents = vec![
            (404, ErrorDocument::Text("none".into())),
            (404, ErrorDocument::Path("/404".into())),
            (500, ErrorDocument::Text("x".into())),
            (500, ErrorDocument::Default),
        ];
    });
    let (req, _) = get(&routes, "/", "h");
    assert_eq!(
        super::answer::document(&req, 404),
        Some(&ErrorDocument::Path("/404".into()))
    );
    assert_eq!(super::answer::document(&req, 500), None);
    assert_eq!(super::answer::document(&req, 403), None);
}
