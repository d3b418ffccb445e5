//! Whose request is believed: nonces, foreign pages, bodies without end.

use super::*;

#[test]
fn only_the_page_itself_is_believed() {
    let s = site();
    let before = s.state();
    let (nonce, other) = (s.nonce("a"), s.nonce("b"));
    assert_eq!(nonce.len(), 36);
    assert_ne!(nonce, other);
    let form = |nonce: &str| format!("b=a&w=http://127.0.0.1:{}&nonce={nonce}&w_lf=5", s.a.port);
    for wrong in ["", "x", &other, &nonce.to_uppercase().replace('A', "b")] {
        let r = s.post(&form(wrong));
        assert_eq!((r.status, s.state()), (200, before.clone()), "{wrong}");
        assert!(r.text().contains("Nothing was changed:"));
    }
    let form = form(&nonce);
    for fields in [
        "",
        "Referer: http://evil.test/bm\r\n",
        "Referer: null\r\n",
        "Referer: /bm\r\n",
        "Referer: http://localhost.evil.test/\r\n",
        "Referer: http://localhost@evil.test/\r\n",
        "Referer: http://localhost/bm\r\nOrigin: http://evil.test\r\n",
        "Referer: http://localhost/bm\r\nOrigin: null\r\n",
        "Referer: http://localhost/bm\r\nSec-Fetch-Site: cross-site\r\n",
        "Referer: http://localhost/bm\r\nSec-Fetch-Site: same-site\r\n",
    ] {
        let r = s.ask("POST", "/bm", &format!("{fields}{FORM}"), &form);
        assert_eq!((r.status, s.state()), (200, before.clone()), "{fields}");
        assert!(r.text().contains("Nothing was changed:"), "{fields}");
    }
    common::eventually("all are told", || {
        s.server.count_log("cross-site access") >= 10
    });
    // By GET nothing is ever changed.
    let r = s.ask("GET", &format!("/bm?{form}"), PAGE, "");
    assert_eq!((r.status, s.state()), (200, before.clone()));
    // A name that somebody else's DNS leads here.
    let mut c = Client::connect(s.server.port);
    let head =
        format!("POST /bm HTTP/1.1\r\nHost: evil.test\r\nReferer: http://evil.test/bm\r\n{FORM}");
    c.send(format!(
        "{head}Content-Length: {}\r\n\r\n{form}",
        form.len()
    ))
    .unwrap();
    let page = c.response("POST").unwrap().text();
    assert!(page.contains("ServerAlias evil.test"), "{page}");
    s.server
        .wait_log("cross-site access to evil.test: its Host evil.test is no name");
    assert_eq!(s.state(), before);
    // Scheme, port and path of the Referer do not matter.
    let fields =
        format!("Referer: https://LOCALHOST:1/zzz\r\nOrigin: http://localhost:81\r\n{FORM}");
    s.ask("POST", "/bm", &fields, &form);
    assert_eq!(s.member(0).load_factor, 500);
}

#[test]
fn bodies_are_bounded_and_whole() {
    let s = site();
    let before = s.state();
    let nonce = s.nonce("a");
    let form = format!(
        "b=a&w=http://127.0.0.1:{}&nonce={nonce}&w_lf=5&w_wr=x",
        s.a.port
    );
    let json = format!("{PAGE}Content-Type: application/json\r\n");
    assert_eq!(s.ask("POST", "/bm", &json, &form).status, 415);
    assert_eq!(s.ask("POST", "/bm", PAGE, &form).status, 415);
    let long = format!("{form}&x={}", "x".repeat(70_000));
    assert_eq!(s.post(&long).status, 413);
    let many: String = (0..1000).map(|i| format!("&p{i}=1")).collect();
    assert_eq!(s.post(&format!("{form}{many}")).status, 400);
    assert_eq!(s.post(&format!("{form}&w_rr=%00")).status, 400);
    assert_eq!(s.state(), before);
    // In pieces, chunked, with much that has no meaning: the same.
    let mut c = Client::connect(s.server.port);
    c.send(format!(
        "POST /bm HTTP/1.1\r\nHost: localhost\r\n{PAGE}{FORM}Transfer-Encoding: chunked\r\n\r\n"
    ))
    .unwrap();
    let body = format!("x={}&{form}", "y".repeat(2000));
    for piece in body.as_bytes().chunks(701) {
        c.send(format!("{:x}\r\n", piece.len())).unwrap();
        c.send(piece).unwrap();
        c.send("\r\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    c.send("0\r\n\r\n").unwrap();
    assert_eq!(c.response("POST").unwrap().status, 200);
    let m = s.member(0);
    assert_eq!((m.load_factor, m.route.as_str()), (500, "x"));
    // Of two values the last one counts; what was escaped twice is understood.
    let twice = format!("http%253A%252F%252F127.0.0.1%253A{}", s.a.port);
    s.post(&format!("b=a&w={twice}&nonce={nonce}&w_lf=7&w_lf=8"));
    assert_eq!(s.member(0).load_factor, 800);
}

#[test]
fn without_a_nonce_the_referer_is_enough() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let server = Server::start(&conf(a.port, b.port, "nonce=None"));
    let s = Site { server, a, b };
    s.post(&format!("b=a&w=http://127.0.0.1:{}&w_lf=5", s.a.port));
    assert_eq!(s.member(0).load_factor, 500);
    let form = format!("b=a&w=http://127.0.0.1:{}&w_lf=6", s.a.port);
    s.ask("POST", "/bm", FORM, &form);
    assert_eq!(s.member(0).load_factor, 500);
}

/// Of two whole forms at once one is in force afterwards, never parts of both.
#[test]
fn of_two_administrators_at_once_the_last_one_wins_wholly() {
    let s = site();
    let (nonce, url, port) = (
        s.nonce("a"),
        format!("http://127.0.0.1:{}", s.a.port),
        s.server.port,
    );
    let send = |n: u32| {
        let body = format!(
            "b=a&w={url}&nonce={nonce}&w_lf={n}&w_ls={n}&w_wr=r{n}&w_hi={n}s&w_hp={n}&b_tmo={n}&b_max={n}&b_ss=S{n}"
        );
        let mut c = Client::connect(port);
        c.send(format!(
            "POST /bm HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{PAGE}{FORM}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .unwrap();
        assert_eq!(c.response("POST").unwrap().status, 200);
    };
    for round in 0..20 {
        std::thread::scope(|scope| {
            for n in [2, 3, 4 + round % 3] {
                let send = &send;
                scope.spawn(move || send(n));
            }
        });
        let b = s.balancer();
        let m = &b.members[0];
        let n = m.lbset;
        let all = (
            m.load_factor,
            m.route.clone(),
            b.timeout_ms,
            b.max_attempts_set,
            b.sticky_cookie.clone(),
        );
        assert_eq!(
            all,
            (
                n * 100,
                format!("r{n}"),
                u64::from(n) * 1000,
                Some(n),
                format!("S{n}")
            )
        );
    }
}

/// Behind a router or a mapped port the server knows neither its address nor its name; addresses,
/// localhost and the machine's own name cannot be somebody else's.
#[test]
fn hosts_that_nobody_else_can_have() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let text = conf(a.port, b.port, "").replacen(
        "<Location",
        "ServerName main.test\n<VirtualHost *>\nServerName front.test\nServerAlias other.test *.wild.test\n</VirtualHost>\n<Location",
        1,
    );
    let server = Server::start(&text);
    let s = Site { server, a, b };
    let nonce = s.nonce("a");
    let machine = nix::unistd::gethostname().unwrap();
    let machine = machine.to_string_lossy();
    let ask = |host: &str, route: &str| {
        let form = format!(
            "b=a&w=http://127.0.0.1:{}&nonce={nonce}&w_wr={route}",
            s.a.port
        );
        let mut c = Client::connect(s.server.port);
        c.send(format!(
            "POST /bm?json HTTP/1.1\r\nHost: {host}:81\r\nReferer: http://{host}:81/bm\r\n{FORM}Content-Length: {}\r\n\r\n{form}",
            form.len()
        ))
        .unwrap();
        c.response("POST").unwrap();
        s.member(0).route
    };
    for (i, host) in [
        "front.test",
        "other.test",
        "x.wild.test",
        "localhost",
        "203.0.113.9",
        "[2001:db8::1]",
        &machine,
    ]
    .into_iter()
    .enumerate()
    {
        let route = format!("r{i}");
        assert_eq!(ask(host, &route), route, "{host}");
    }
    for host in ["evil.test", "localhost.evil.test", "203.0.113.9.evil.test"] {
        assert_eq!(ask(host, "evil"), "r6", "{host}");
    }
}
