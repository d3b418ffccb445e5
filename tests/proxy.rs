//! Requests through the proxy, against recording backends: what a backend gets, what a client gets,
//! and which connections carry it.

mod common;

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use common::backend::{Gate, Reply, Seen};
use common::{Backend, Client, Response, Server, eventually, free_port, get};

/// One server with one line of configuration behind `Listen`.
fn proxy(lines: &str) -> Server {
    Server::start(&format!("Listen 127.0.0.1:@PORT@\nStartServers 1\n{lines}"))
}

fn in_front_of(backend: &Backend) -> Server {
    proxy(&format!("ProxyPass / http://127.0.0.1:{}/", backend.port))
}

fn ok(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")
}

/// Sends a request as it stands and reads one final answer.
fn ask(server: &Server, request: &str) -> Response {
    let mut client = Client::connect(server.port);
    client.send(request).unwrap();
    let method = request.split(' ').next().unwrap();
    client.response(method).unwrap()
}

#[test]
fn a_backend_gets_a_head_made_anew() {
    let backend = Backend::start("b");
    let server = in_front_of(&backend);
    let answer = ask(
        &server,
        "GET /a?q=%2F HTTP/1.1\r\nHost: front.test\r\nX-A:  1\r\nConnection: X-Gone\r\n\
         X-Gone: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nX-A: 2\r\n\r\n",
    );
    assert_eq!(answer.status, 200, "{}", server.story());
    let seen = &backend.seen()[0];
    let port = backend.port;
    assert_eq!(
        seen.head,
        format!(
            "GET /a?q=%2F HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-A: 1, 2\r\n\
             X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: front.test\r\n\
             X-Forwarded-Server: localhost\r\nConnection: Keep-Alive\r\n\r\n"
        )
    );
}

#[test]
fn one_backend_connection_serves_many_clients() {
    let backend = Backend::start("b");
    let server = in_front_of(&backend);
    for _ in 0..20 {
        assert_eq!(get(server.port, "/").unwrap().status, 200);
    }
    let mut client = Client::connect(server.port);
    for _ in 0..20 {
        assert_eq!(client.get("/").unwrap().status, 200);
    }
    assert_eq!(backend.connections(), 1);
}

#[test]
fn a_connection_that_the_backend_closed_is_no_clients_business() {
    let backend = Backend::with(|_| Reply::RawThenClose(format!("{}x", ok(1)).into()));
    let server = proxy(&format!(
        "MaxKeepAliveRequests 0\nProxyPass / http://127.0.0.1:{}/",
        backend.port
    ));
    let mut client = Client::connect(server.port);
    for _ in 0..200 {
        assert_eq!(client.get("/").unwrap().status, 200, "{}", server.story());
    }
}

#[test]
fn a_get_is_repeated_on_a_fresh_connection_and_a_post_is_not() {
    // Each connection answers one request and breaks with the next.
    let answered = std::sync::Mutex::new(std::collections::HashSet::new());
    let backend =
        Backend::with(
            move |r: &Seen| match answered.lock().unwrap().insert(r.connection) {
                true => Reply::Raw(format!("{}x", ok(1)).into()),
                false => Reply::Reset,
            },
        );
    let server = in_front_of(&backend);
    let mut client = Client::connect(server.port);
    assert_eq!(client.get("/1").unwrap().status, 200);
    assert_eq!(client.get("/2").unwrap().status, 200, "{}", server.story());
    let targets: Vec<_> = backend
        .seen()
        .iter()
        .map(|s| s.target().to_string())
        .collect();
    assert_eq!(targets, ["/1", "/2", "/2"]);
    let answer = client.post("/3", b"body").unwrap();
    assert_eq!(answer.status, 502);
    let posts = backend.seen().iter().filter(|s| s.target() == "/3").count();
    assert_eq!(posts, 1);
}

#[test]
fn bodies_go_out_counted_when_they_are_whole() {
    let backend = Backend::start("b");
    let server = in_front_of(&backend);
    let small = ask(
        &server,
        "POST /s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    );
    assert_eq!(small.status, 200);
    let none = ask(&server, "POST /n HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(none.status, 200);
    let zero = ask(
        &server,
        "POST /z HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!(zero.status, 200);
    let seen = backend.seen();
    assert_eq!(
        (seen[0].field("content-length"), &seen[0].body[..]),
        (Some("5"), &b"hello"[..])
    );
    assert_eq!(seen[0].field("transfer-encoding"), None);
    assert_eq!(
        (
            seen[1].field("content-length"),
            seen[1].field("transfer-encoding")
        ),
        (None, None)
    );
    assert_eq!(seen[2].field("content-length"), Some("0"));
}

#[test]
fn large_bodies_arrive_whole_in_the_framing_they_came_in() {
    let backend = Backend::with(|r: &Seen| Reply::Text(format!("{}", r.body.len())));
    let server = in_front_of(&backend);
    let body: Vec<u8> = (0..5_000_000u32).map(|i| (i % 251) as u8).collect();
    let mut client = Client::connect(server.port);
    assert_eq!(client.post("/counted", &body).unwrap().text(), "5000000");
    client
        .send("POST /chunked HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    for piece in body.chunks(70_000) {
        client.send(format!("{:x}\r\n", piece.len())).unwrap();
        client.send(piece).unwrap();
        client.send("\r\n").unwrap();
    }
    client.send("0\r\n\r\n").unwrap();
    assert_eq!(client.response("POST").unwrap().text(), "5000000");
    let seen = backend.seen();
    assert!(seen.iter().all(|s| s.body == body));
    assert_eq!(seen[0].field("content-length"), Some("5000000"));
    assert_eq!(seen[1].field("transfer-encoding"), Some("chunked"));
}

#[test]
fn large_answers_arrive_whole() {
    let body: Vec<u8> = (0..3_000_000u32).map(|i| (i % 253) as u8).collect();
    let sent = body.clone();
    let backend = Backend::with(move |r: &Seen| {
        let mut out = match r.target() {
            "/close" => b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
            "/counted" => ok(sent.len()).into_bytes(),
            _ => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
        };
        match r.target() {
            "/chunked" => {
                for piece in sent.chunks(9_999) {
                    out.extend_from_slice(format!("{:X}\r\n", piece.len()).as_bytes());
                    out.extend_from_slice(piece);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\nX-Trailer: 1\r\n\r\n");
                Reply::Raw(out)
            }
            "/close" => {
                out.extend_from_slice(&sent);
                Reply::RawThenClose(out)
            }
            _ => {
                out.extend_from_slice(&sent);
                Reply::Raw(out)
            }
        }
    });
    let server = in_front_of(&backend);
    let mut client = Client::connect(server.port);
    for path in ["/counted", "/chunked", "/close", "/counted"] {
        let answer = client.get(path).unwrap();
        assert!(answer.body == body, "{path}: {} bytes", answer.body.len());
    }
}

#[test]
fn a_cut_answer_looks_cut() {
    let backend = Backend::with(|r: &Seen| match r.target() {
        "/counted" => Reply::RawThenClose(format!("{}short", ok(100)).into()),
        _ => Reply::RawThenClose(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n".to_vec(),
        ),
    });
    let server = in_front_of(&backend);
    for path in ["/counted", "/chunked"] {
        assert!(get(server.port, path).is_err(), "{path}");
    }
}

#[test]
fn an_answer_before_the_whole_request_is_passed_on() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 64];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(
                b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig",
            );
        }
    });
    let server = proxy(&format!("ProxyPass / http://127.0.0.1:{port}/"));
    for _ in 0..10 {
        let mut client = Client::connect(server.port);
        client
            .send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n")
            .unwrap();
        // The proxy may close before all is taken.
        let _ = client.send(vec![b'z'; 3_000_000]);
        let answer = client.response("POST").unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (413, "big"));
        assert!(client.closed());
    }
}

#[test]
fn a_slow_client_does_not_keep_the_backends_connection() {
    let backend = Backend::with(|_| Reply::Text("x".repeat(12_000)));
    let server = in_front_of(&backend);
    let mut slow = Client::connect(server.port);
    // Reads nothing yet.
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    eventually("the backend is asked", || backend.count() == 1);
    for _ in 0..5 {
        assert_eq!(get(server.port, "/").unwrap().body.len(), 12_000);
    }
    assert_eq!(backend.connections(), 1);
    assert_eq!(slow.response("GET").unwrap().body.len(), 12_000);
}

#[test]
fn silence_and_drips_end_in_time() {
    let backend = Backend::with(|r: &Seen| match r.target() {
        "/silent" => Reply::RawThenHang(Vec::new()),
        "/middle" => Reply::RawThenHang(format!("{}short", ok(100)).into()),
        _ => Reply::Text("x".into()),
    });
    let server = proxy(&format!(
        "ProxyTimeout 1\nProxyPass / http://127.0.0.1:{}/",
        backend.port
    ));
    let begun = Instant::now();
    assert_eq!(get(server.port, "/silent").unwrap().status, 504);
    assert!(get(server.port, "/middle").is_err());
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(get(server.port, "/").unwrap().status, 200);
}

#[test]
fn interim_responses_are_for_clients_that_know_them() {
    let backend = Backend::with(|r: &Seen| {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        let times = if r.target() == "/many" { 10 } else { 1 };
        Reply::Raw(
            format!(
                "HTTP/1.1 100 Continue\r\n\r\n{}{}x",
                hints.repeat(times),
                ok(1)
            )
            .into(),
        )
    });
    let server = in_front_of(&backend);
    let mut client = Client::connect(server.port);
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let first = client.any_response("GET").unwrap();
    assert_eq!((first.status, first.field("link")), (103, Some("</a>")));
    assert_eq!(client.any_response("GET").unwrap().status, 200);
    let mut old = Client::connect(server.port);
    old.send("GET / HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(old.any_response("GET").unwrap().status, 200);
    assert_eq!(get(server.port, "/many").unwrap().status, 502);
}

#[test]
fn an_expectation_is_relayed() {
    let backend = Backend::with(|r: &Seen| Reply::Text(String::from_utf8_lossy(&r.body).into()));
    let server = in_front_of(&backend);
    let mut client = Client::connect(server.port);
    client
        .send("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        .unwrap();
    assert_eq!(client.any_response("POST").unwrap().status, 100);
    client.send("hello").unwrap();
    assert_eq!(client.any_response("POST").unwrap().text(), "hello");
    // One that does not wait.
    client
        .send(
            "POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nthere",
        )
        .unwrap();
    assert_eq!(client.response("POST").unwrap().text(), "there");
    assert!(backend.seen().iter().all(|s| s.field("expect").is_some()));
}

#[test]
fn an_unsolicited_answer_reaches_nobody() {
    let backend = Backend::with(|r: &Seen| match r.target() {
        "/more" => Reply::Raw(
            format!(
                "{}okHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON",
                ok(2)
            )
            .into(),
        ),
        _ => Reply::Text("clean".into()),
    });
    let server = in_front_of(&backend);
    let mut client = Client::connect(server.port);
    for _ in 0..5 {
        assert_eq!(client.get("/more").unwrap().text(), "ok");
        assert_eq!(client.get("/").unwrap().text(), "clean");
    }
}

#[test]
fn bodies_that_must_not_be_there_are_not_passed_on() {
    let backend = Backend::with(|r: &Seen| {
        let (status, body) = match r.target() {
            "/204" => (
                "204 None",
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON",
            ),
            "/304" => (
                "304 Same",
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON",
            ),
            _ => ("200 OK", ""),
        };
        Reply::Raw(format!("HTTP/1.1 {status}\r\nContent-Length: 44\r\n\r\n{body}").into())
    });
    let server = in_front_of(&backend);
    let mut client = Client::connect(server.port);
    assert_eq!(client.get("/204").unwrap().status, 204);
    assert_eq!(client.get("/304").unwrap().status, 304);
    client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let head = client.response("HEAD").unwrap();
    assert_eq!(
        (head.status, head.field("content-length")),
        (200, Some("44"))
    );
    client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(client.response("HEAD").unwrap().status, 200);
}

#[test]
fn urls_and_cookies_become_public() {
    let backend = Backend::with(|r: &Seen| {
        let fields = match r.target() {
            "/base/to" => "Location: http://in.test/base/x?y\r\n",
            "/base/path" => "Location: /base/z\r\nContent-Location: http://other/q\r\n",
            _ => {
                "Set-Cookie: a=1; Path=/base/q; Domain=in.test\r\nX-After: 1\r\nSet-Cookie: b=2\r\n\
                 Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT\r\nKeep-Alive: timeout=9\r\n\
                 Connection: X-Secret\r\nX-Secret: 1\r\n"
            }
        };
        Reply::Raw(format!("HTTP/1.1 302 Found\r\n{fields}Content-Length: 0\r\n\r\n").into())
    });
    let server = proxy(&format!(
        "ProxyPass /app http://127.0.0.1:{}/base\n\
         ProxyPassReverse /app http://in.test/base\nProxyPassReverse /app /base\n\
         ProxyPassReverseCookieDomain in.test front.test\nProxyPassReverseCookiePath /base /app\n\
         ProxyVia On",
        backend.port
    ));
    let mut client = Client::connect(server.port);
    let to = client.get("/app/to").unwrap();
    assert_eq!(to.field("location"), Some("http://localhost/app/x?y"));
    let path = client.get("/app/path").unwrap();
    assert_eq!(path.field("location"), Some("http://localhost/app/z"));
    assert_eq!(path.field("content-location"), Some("http://other/q"));
    let other = client.get("/app/c").unwrap();
    let cookies: Vec<_> = other
        .head
        .lines()
        .filter(|l| l.starts_with("Set-Cookie"))
        .collect();
    assert_eq!(
        cookies,
        [
            "Set-Cookie: a=1; Path=/app; Domain=front.test",
            "Set-Cookie: b=2"
        ]
    );
    assert_eq!(
        other.field("last-modified"),
        Some("Sun, 06 Nov 1994 08:49:37 GMT")
    );
    assert_eq!(other.field("x-secret"), None);
    assert!(
        other
            .field("via")
            .is_some_and(|v| v.starts_with("1.1 localhost"))
    );
}

#[test]
fn our_page_stands_in_where_that_is_asked_for() {
    let backend = Backend::with(|r: &Seen| {
        let status = r.target().trim_start_matches('/').to_string();
        Reply::Raw(
            format!("HTTP/1.1 {status} Nope\r\nX-B: 1\r\nContent-Length: 4\r\n\r\nback").into(),
        )
    });
    let server = proxy(&format!(
        "ProxyErrorOverride On 404 503\nProxyPass / http://127.0.0.1:{}/",
        backend.port
    ));
    let other = get(server.port, "/500").unwrap();
    assert_eq!((other.status, other.text().as_str()), (500, "back"));
    let ours = get(server.port, "/404").unwrap();
    assert_eq!(ours.status, 404);
    assert!(
        ours.head.starts_with("HTTP/1.1 404 Nope\r\n"),
        "{}",
        ours.head
    );
    assert_eq!(ours.field("x-b"), None);
    assert!(!ours.text().contains("back"));
}

#[test]
fn a_scheme_that_nobody_speaks_is_named() {
    let server = proxy(
        "ProxyPass /f fcgi://127.0.0.1:9/\nProxyPass /s https://127.0.0.1:9/\n\
         ProxyPass /b balancer://none/",
    );
    assert_eq!(get(server.port, "/f/x").unwrap().status, 500);
    assert_eq!(get(server.port, "/s/x").unwrap().status, 500);
    server.wait_log("scheme fcgi");
    server.wait_log("TLS to backends is not there");
}

#[test]
fn a_unix_socket_is_a_backend() {
    let server = Server::prepare("");
    let path = server.root.join("app.sock");
    let listener = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for _ in 0..2 {
            let mut got = Vec::new();
            while !got.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap() == 0 {
                    return;
                }
                got.push(byte[0]);
            }
            let answer = format!("{}{}", ok(got.len()), String::from_utf8(got).unwrap());
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let mut server = server;
    server.configure(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\nProxyPass / \"unix:@ROOT@/app.sock|http://inner.test/p/\"",
    );
    server.launch(&[], &[]);
    for _ in 0..2 {
        let answer = get(server.port, "/x").unwrap();
        assert_eq!(answer.status, 200, "{}", server.story());
        assert!(
            answer
                .text()
                .starts_with("GET /p/x HTTP/1.1\r\nHost: inner.test\r\n")
        );
    }
}

#[test]
fn a_bound_on_connections_queues_and_refuses() {
    let gate = Gate::default();
    let backend = {
        let gate = gate.clone();
        Backend::with(move |r: &Seen| match r.target() {
            "/held" => Reply::Gated {
                first: Vec::new(),
                rest: format!("{}x", ok(1)).into(),
                gate: gate.clone(),
            },
            _ => Reply::Text("x".into()),
        })
    };
    let server = proxy(&format!(
        "ProxyPass / http://127.0.0.1:{}/ max=1 acquire=300",
        backend.port
    ));
    let mut held = Client::connect(server.port);
    held.send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    eventually("the one connection is in use", || backend.count() == 1);
    assert_eq!(get(server.port, "/").unwrap().status, 503);
    // One that waits gets the place as soon as it is free.
    let mut waits = Client::connect(server.port);
    waits.send("GET /w HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    gate.open();
    assert_eq!(held.response("GET").unwrap().status, 200);
    assert_eq!(waits.response("GET").unwrap().status, 200);
    assert_eq!(backend.connections(), 1);
}

/// Whoever reads that a pool is full needs to know whose: a member may stand in several balancers.
#[test]
fn a_full_pool_is_named() {
    let gate = Gate::default();
    let backend = {
        let gate = gate.clone();
        Backend::with(move |_: &Seen| Reply::Gated {
            first: Vec::new(),
            rest: format!("{}x", ok(1)).into(),
            gate: gate.clone(),
        })
    };
    let server = proxy(&format!(
        "<Proxy balancer://pair>\nBalancerMember http://127.0.0.1:{} max=1 acquire=100\n</Proxy>\n\
         ProxyPass / balancer://pair/",
        backend.port
    ));
    let mut held = Client::connect(server.port);
    held.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    eventually("the one connection is in use", || backend.count() == 1);
    assert_eq!(get(server.port, "/").unwrap().status, 503);
    server.wait_log(&format!(
        "balancer://pair: http://127.0.0.1:{}: all connections are in use",
        backend.port
    ));
    gate.open();
    assert_eq!(held.response("GET").unwrap().status, 200);
}

#[test]
fn another_member_takes_over_from_a_dead_one() {
    let backend = Backend::start("b");
    let dead = free_port();
    let server = proxy(&format!(
        "<Proxy balancer://pair>\nBalancerMember http://127.0.0.1:{dead}\n\
         BalancerMember http://127.0.0.1:{}/app\n</Proxy>\nProxyPass /lb/ balancer://pair/\n\
         CustomLog @ROOT@/logs/access \"%{{BALANCER_WORKER_NAME}}e %s\"",
        backend.port
    ));
    let mut client = Client::connect(server.port);
    for _ in 0..4 {
        let answer = client.post("/lb/x", b"once").unwrap();
        assert_eq!(answer.status, 200, "{}", server.story());
        assert_eq!(answer.text(), "b POST /app/x\n");
    }
    assert_eq!(backend.count(), 4);
    server.wait_log("disabling worker");
    eventually("the member's name is logged", || {
        let line = format!("http://127.0.0.1:{}/app 200\n", backend.port);
        server.log("access").matches(&line).count() == 4
    });
}

#[test]
fn max_forwards_counts_down() {
    let backend = Backend::start("b");
    let server = in_front_of(&backend);
    let with = |method: &str, n: &str| {
        ask(
            &server,
            &format!("{method} / HTTP/1.1\r\nHost: x\r\nMax-Forwards: {n}\r\n\r\n"),
        )
        .status
    };
    assert_eq!(with("GET", "3"), 200);
    assert_eq!(backend.seen()[0].field("max-forwards"), Some("2"));
    assert_eq!(with("OPTIONS", "0"), 200);
    assert_eq!(with("GET", "0"), 400);
    assert_eq!(with("GET", "x"), 400);
    assert_eq!(backend.count(), 1);
}

#[test]
fn paths_are_spelt_as_the_rule_says() {
    let backend = Backend::start("b");
    let port = backend.port;
    let server = proxy(&format!(
        "ProxyPass /raw/ http://127.0.0.1:{port}/ nocanon\nProxyPass /two http://127.0.0.1:{port}/base\n\
         ProxyPass /one/ http://127.0.0.1:{port}/"
    ));
    for (asked, expected) in [
        ("/one/a%20b/%e4?q=%2F", "/a%20b/%E4?q=%2F"),
        ("/one/%41%7e;x", "/A~;x"),
        ("/one/x?", "/x?"),
        ("/two", "/base"),
        ("/two/a", "/base/a"),
        ("/raw/a%20b%3Fc?%41", "/a%20b%3Fc?%41"),
    ] {
        let answer = get(server.port, asked).unwrap();
        assert_eq!(answer.text(), format!("b GET {expected}\n"), "{asked}");
    }
}

#[test]
fn a_blocked_host_is_refused() {
    let backend = Backend::start("b");
    let conf = |word: &str| {
        format!(
            "ProxyBlock {word}\nProxyPass / http://127.0.0.1:{}/",
            backend.port
        )
    };
    for word in ["127.0.0", "localhost", "*"] {
        assert_eq!(
            get(proxy(&conf(word)).port, "/").unwrap().status,
            403,
            "{word}"
        );
    }
    assert_eq!(
        get(proxy(&conf("192.0.2.1")).port, "/").unwrap().status,
        200
    );
    assert_eq!(backend.count(), 1);
}

#[test]
fn an_old_backend_is_told_the_length() {
    let backend = Backend::start("b");
    let server = proxy(&format!(
        "SetEnv force-proxy-request-1.0 1\nProxyPass / http://127.0.0.1:{}/",
        backend.port
    ));
    let mut client = Client::connect(server.port);
    client
        .send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    for _ in 0..30 {
        client
            .send(format!("3e8\r\n{}\r\n", "z".repeat(1000)))
            .unwrap();
    }
    client.send("0\r\n\r\n").unwrap();
    assert_eq!(
        client.response("POST").unwrap().status,
        200,
        "{}",
        server.story()
    );
    let seen = &backend.seen()[0];
    assert!(
        seen.head.starts_with("POST / HTTP/1.0\r\n"),
        "{}",
        seen.head
    );
    assert_eq!(seen.field("content-length"), Some("30000"));
    assert_eq!((seen.field("connection"), seen.body.len()), (None, 30_000));
}

#[test]
fn a_name_that_does_not_resolve_is_a_bad_gateway() {
    let backend = Backend::start("b");
    let server = proxy(&format!(
        "ProxyPass /no/ http://no-such-host.invalid/\nProxyPass / http://localhost:{}/",
        backend.port
    ));
    assert_eq!(get(server.port, "/no/x").unwrap().status, 502);
    assert_eq!(get(server.port, "/x").unwrap().status, 200);
    server.wait_log("no-such-host.invalid");
}
