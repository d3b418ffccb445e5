//! Where paths go: ProxyPass in all its forms, redirects, aliases.

use std::sync::Arc;

use super::map;
use super::phases::explain;
use super::tests::{get, goes, head, info, location, pass, pattern, routes};
use crate::config::layer::{Alias, EnvAttribute, Layer, Redirect, RedirectFrom, SetEnvIf};
use crate::config::settings::Mapping;

#[test]
fn prefixes_end_at_segments_and_runs_of_slashes_count_once() {
    for (prefix, path, length) in [
        ("/a", "/a", 2),
        ("/a", "/a/x", 2),
        ("/a", "/ab", 0),
        ("/a/", "/a", 0),
        ("/a/", "/a//x", 4),
        ("//a", "/a/x", 2),
        ("/", "/x", 1),
        ("/a/b", "/a", 0),
    ] {
        assert_eq!(
            map::match_prefix(prefix.as_bytes(), path.as_bytes()),
            length,
            "{prefix} {path}"
        );
    }
}

#[test]
fn paths_are_mapped_as_httpd_maps_them() {
    let routes = routes(|s| {
        s.proxy.rules = vec![
            pass("/one/static", "!"),
            pass("/one/", "http://b1/"),
            pass("/two", "http://b2/base"),
            pass("/lh", "http://b2/"),
            pass("~^/img/(.*\\.png)$", "http://b3/pictures/$1"),
            pass("~^/g", "http://b3/gg"),
        ];
    });
    for (path, target) in [
        ("/one/hello.txt", "http://b1/hello.txt"),
        ("/one/static/a.txt", "/srv/www/one/static/a.txt"),
        ("/one", "/srv/www/one"),
        ("/two", "http://b2/base"),
        ("/two/", "http://b2/base/"),
        ("/twofold", "/srv/www/twofold"),
        ("/two/a?x=1&y=%20", "http://b2/base/a?x=1&y=%20"),
        ("/two?", "http://b2/base?"),
        ("/lh/a", "http://b2//a"),
        ("/img/cat.png", "http://b3/pictures/cat.png"),
        ("/img/cat.jpg", "/srv/www/img/cat.jpg"),
        ("/g/x/y", "http://b3/gg/g/x/y"),
        ("/one/a%20b", "http://b1/a b"),
        ("/one/a/../b/./c", "http://b1/b/c"),
        ("/one//double", "http://b1/double"),
    ] {
        assert_eq!(goes(&routes, path), target, "{path}");
    }
}

#[test]
fn encoded_servlet_and_raw_paths() {
    let routes = routes(|s| {
        let mut enc = pass("/enc/", "http://b/e/");
        enc.mapping = Mapping::Encoded;
        let mut servlet = pass("/srv", "http://b/v");
        servlet.mapping = Mapping::Servlet;
        let mut raw = pass("/raw/", "http://b/");
        raw.nocanon = true;
        s.proxy.rules = vec![pass("/enc/", "http://never/"), raw, enc, servlet];
    });
    for (path, target) in [
        ("/enc/a%2fb%20c", "http://b/e/a%2fb%20c"),
        ("/srv;p=1/x", "http://b/v;p=1/x"),
        ("/srv/x;a=b/y", "http://b/v/x;a=b/y"),
        ("/srv;jsessionid=1", "http://b/v"),
        ("/srvx", "/srv/www/srvx"),
        ("/raw/a%20b%3Fc?q", "http://b/a%20b%3Fc?q"),
        // Matched in another spelling than it was sent in: the canonical path goes out.
        ("/r%61w/x%41", "http://b/xA"),
        // Raw dot segments could leave the mapped part.
        ("/raw/%2e%2e/raw/x", "http://b/x"),
    ] {
        assert_eq!(goes(&routes, path), target, "{path}");
    }
    assert!(goes(&routes, "/other%2fx").starts_with("answered 404"));
}

#[test]
fn a_location_wins_over_the_servers_rules_and_no_proxy_over_both() {
    let routes = routes(|s| {
        s.proxy.rules = vec![pass("/", "http://all/")];
        s.sections.push(location(
            "/app",
            Layer {
                proxy_pass: Some(Arc::new(pass("/app", "http://app/x"))),
                ..Layer::default()
            },
        ));
        s.sections.push(location(
            "/app/not",
            Layer {
                proxy_pass: Some(Arc::new(pass("/app/not", "!"))),
                ..Layer::default()
            },
        ));
        s.base.set_env_if.push(SetEnvIf {
            attribute: EnvAttribute::Uri,
            pattern: pattern("^/(self)/"),
            assign: vec![
                ("no-proxy".into(), Some("1".into())),
                ("who".into(), Some("<$1>".into())),
            ],
        });
    });
    assert_eq!(goes(&routes, "/app/y"), "http://app/x/y");
    assert_eq!(goes(&routes, "/app/not/y"), "/srv/www/app/not/y");
    assert_eq!(goes(&routes, "/z"), "http://all/z");
    assert_eq!(goes(&routes, "/self/z"), "/srv/www/self/z");
    let (req, _) = get(&routes, "/self/z", "h");
    assert_eq!(req.env.get("who"), Some(&b"<self>"[..]));
}

#[test]
fn interpolation_and_host_changes() {
    let routes = routes(|s| {
        let mut rule = pass("/i", "http://h/${where}");
        rule.interpolate = true;
        s.proxy.rules = vec![rule, pass("~^/x(.*)$", "http://inner$1")];
        s.base.interpolate_env = Some(true);
        s.base.set_env_if.push(SetEnvIf {
            attribute: EnvAttribute::Field("X-Where".into()),
            pattern: pattern("(.*)"),
            assign: vec![("where".into(), Some("$1".into()))],
        });
    });
    let (req, ..) = explain(
        &routes,
        head("GET", "/i/a", &[("Host", "h"), ("X-Where", "there")]),
        info(),
    );
    assert_eq!(req.proxy_to.unwrap().url, b"http://h/there/a");
    assert!(goes(&routes, "/x@evil.test/").starts_with("answered 400"));
    assert_eq!(goes(&routes, "/x/y"), "http://inner/y");
}

#[test]
fn redirects_escape_what_comes_from_the_path() {
    let redirect = |from, status, to: Option<&str>| Redirect {
        from,
        status,
        to: to.map(String::from),
        span: Default::default(),
    };
    let routes = routes(|s| {
        s.base.redirects = vec![
            redirect(RedirectFrom::Prefix(b"/r1".to_vec()), 302, Some("/r2")),
            redirect(
                RedirectFrom::Prefix(b"/r3".to_vec()),
                301,
                Some("http://x.test/y"),
            ),
            redirect(
                RedirectFrom::Match(pattern("^/rm/(.*)$")),
                302,
                Some("http://x.test/new/$1"),
            ),
            redirect(
                RedirectFrom::Prefix(b"/q".to_vec()),
                303,
                Some("http://x.test/a?b=c"),
            ),
            redirect(RedirectFrom::Prefix(b"/gone".to_vec()), 410, None),
        ];
        s.proxy.rules = vec![pass("/p/", "http://b/")];
        s.sections.push(location(
            "/p/moved",
            Layer {
                redirects: vec![redirect(
                    RedirectFrom::Section,
                    302,
                    Some("http://x.test/loc"),
                )],
                ..Layer::default()
            },
        ));
    });
    for (path, end) in [
        ("/r1/a%20b", "redirected (302) to http://h.test/r2/a%20b"),
        (
            "/r3/%3f%c3%a9x?q=1",
            "redirected (301) to http://x.test/y/%3f%c3%a9x?q=1",
        ),
        (
            "/rm/a%0d%0aX:%201%3fb%22?z=1",
            "redirected (302) to http://x.test/new/a%0d%0aX:%201%3fb%22?z=1",
        ),
        ("/q?d", "redirected (303) to http://x.test/a?b=c"),
        ("/gone/x", "answered 410"),
        (
            "/p/moved/x?q=1",
            "redirected (302) to http://x.test/loc?q=1",
        ),
        ("/p/x", "http://b/x"),
    ] {
        assert_eq!(goes(&routes, path), end, "{path}");
    }
}

#[test]
fn aliases_and_the_document_root() {
    let routes = routes(|s| {
        s.base.aliases = vec![
            Alias {
                from: RedirectFrom::Prefix(b"/icons/".to_vec()),
                to: "/usr/share/icons/".into(),
                span: Default::default(),
            },
            Alias {
                from: RedirectFrom::Match(pattern("^/~([a-z]+)(.*)$")),
                to: "/home/$1/www$2".into(),
                span: Default::default(),
            },
        ];
    });
    let (req, _) = get(&routes, "/icons/a.png", "h");
    assert_eq!(req.filename, b"/usr/share/icons/a.png");
    assert_eq!(req.document_root.as_deref().unwrap(), "/usr/share/icons/");
    let (req, _) = get(&routes, "/~bob/x", "h");
    assert_eq!(req.filename, b"/home/bob/www/x");
    assert_eq!(req.document_root.as_deref().unwrap(), "/home");
    assert_eq!(goes(&routes, "/a%3bb"), "/srv/www/a;b");
}
