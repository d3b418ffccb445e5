//! `muster --explain URL` says what a request for that URL really does.

mod common;

use common::backend::{Backend, Reply};
use common::{Client, Server, eventually};

/// What stands behind a label.
fn labelled<'a>(text: &'a str, label: &str) -> Vec<&'a str> {
    let lines = text.lines().filter(|l| l.starts_with(label));
    lines.map(|l| l[label.len()..].trim()).collect()
}

fn told(server: &Server, url: &str) -> String {
    let out = server.muster(&["--explain", url]);
    assert!(out.status.success(), "{url}: {out:?}");
    String::from_utf8(out.stdout).unwrap()
}

/// The targets that the backend would be asked for.
fn asked(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter_map(|l| l.strip_prefix("asked for ")).collect()
}

#[test]
fn it_agrees_with_what_happens() {
    let backend = Backend::with(|seen| Reply::Text(seen.target().to_string()));
    let port = backend.port;
    let server = Server::start(&format!(
        "Listen 127.0.0.1:@PORT@\n\
         <VirtualHost *:@PORT@>\n\
         ServerName a.test\n\
         DocumentRoot @ROOT@/htdocs\n\
         ProxyPass /static !\n\
         ProxyPass /one/ http://127.0.0.1:{port}/x/\n\
         ProxyPass /two http://127.0.0.1:{port}/base nocanon\n\
         ProxyPassMatch ^/img/(.*)$ http://127.0.0.1:{port}/pics/$1\n\
         ProxyPass /enc http://127.0.0.1:{port}/e mapping=encoded\n\
         ProxyPass /bal/ balancer://c/z/\n\
         <Location /loc>\n ProxyPass http://127.0.0.1:{port}/loc\n</Location>\n\
         <Location /shut>\n Require all denied\n</Location>\n\
         <Proxy balancer://c>\n BalancerMember http://127.0.0.1:{port}/sub\n</Proxy>\n\
         Redirect /gone http://other.test/new\n\
         </VirtualHost>\n\
         <VirtualHost *:@PORT@>\n ServerName b.test\n ProxyPass / http://127.0.0.1:{port}/b/\n</VirtualHost>\n"
    ));
    let urls = [
        "a.test/one/y%20z?q=%20",
        "a.test/one",
        "a.test/two/%7e%20x",
        "a.test/img/a%2520b.png",
        "a.test/enc/%2f",
        "a.test/bal/m?",
        "a.test/loc/x/../y",
        "a.test/static/x",
        "a.test/shut/x",
        "a.test/gone/a",
        "a.test/none",
        "b.test/one/x",
        "a.test/%zz",
        "a.test/x%2fy",
    ];
    for url in urls {
        let (host, path) = url.split_once('/').unwrap();
        let mut client = Client::connect(server.port);
        let head = format!(
            "GET /{path} HTTP/1.1\r\nHost: {host}:{}\r\nConnection: close\r\n\r\n",
            server.port
        );
        let before = backend.count();
        client.send(head).unwrap();
        let answer = client.response("GET").unwrap();
        let text = told(&server, &format!("http://{host}:{}/{path}", server.port));
        let seen = backend.seen();
        if seen.len() > before {
            assert_eq!(asked(&text), [seen[before].target()], "{url}\n{text}");
            continue;
        }
        assert!(asked(&text).is_empty(), "{url} reached no backend\n{text}");
        let end = labelled(&text, "End");
        assert_eq!(end.len(), 1, "{url}\n{text}");
        match answer.status {
            301..=399 => assert!(end[0].contains(answer.field("location").unwrap()), "{text}"),
            404 if end[0].starts_with("file ") => assert!(end[0].contains("not there"), "{text}"),
            status => assert!(
                end[0].contains(&status.to_string()),
                "{url} gave {status}\n{text}"
            ),
        }
    }
}

#[test]
fn members_are_shown_with_their_state() {
    let backend = Backend::start("b");
    let dead = common::free_port();
    let conf = format!(
        "Listen 127.0.0.1:@PORT@\n\
         <Proxy balancer://c>\n\
         BalancerMember http://127.0.0.1:{} route=live\n\
         BalancerMember http://127.0.0.1:{dead} retry=60\n\
         </Proxy>\n\
         ProxyPass / balancer://c/\n",
        backend.port
    );
    let stopped = Server::prepare(&conf);
    let url = format!("http://localhost:{}/x", stopped.port);
    assert!(told(&stopped, &url).contains("no server runs"));

    let server = Server::start(&conf);
    let url = format!("http://localhost:{}/x", server.port);
    for _ in 0..6 {
        assert_eq!(common::get(server.port, "/x").unwrap().status, 200);
    }
    eventually("the dead member is shown in error", || {
        let text = told(&server, &url);
        text.contains("now: Init Ok busy 0") && text.contains("now: Init Err busy 0")
    });
    assert_eq!(backend.count(), 6, "explaining sends nothing");
}
