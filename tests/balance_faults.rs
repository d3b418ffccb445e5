//! Balanced requests in trouble: how often a request is executed, whose fault puts a member in
//! error, and what a session, an average or a wait comes to then.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use common::backend::{Gate, Reply};
use common::server::free_port;
use common::{Backend, Client, Server, eventually, get};
use muster::shm::{WorkerInfo, status};
use socket2::{Domain, Socket, Type};

fn conf(set: &str, members: &[(u16, &str)], more: &str) -> String {
    let lines: String = members
        .iter()
        .map(|(port, params)| format!("BalancerMember http://127.0.0.1:{port} {params}\n"))
        .collect();
    format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\nMaxKeepAliveRequests 0\n{more}\n<Proxy balancer://c>\n{lines}ProxySet {set}\n</Proxy>\nProxyPass / balancer://c/\n"
    )
}

fn members(server: &Server) -> Vec<WorkerInfo> {
    server.scoreboard().balancers[0].members.clone()
}

fn states(server: &Server) -> Vec<String> {
    members(server)
        .iter()
        .map(|m| status::text(m.status))
        .collect()
}

fn ask(port: u16, request: &str) -> common::client::Response {
    let mut client = Client::connect(port);
    client.send(request).unwrap();
    client.response(request.split(' ').next().unwrap()).unwrap()
}

/// Reads a request and closes.
fn closer() -> Backend {
    Backend::with(|_| Reply::RawThenClose(Vec::new()))
}

#[test]
fn a_request_that_ends_backends_meets_two_of_them() {
    let backends: Vec<Backend> = (0..4).map(|_| closer()).collect();
    let list: Vec<(u16, &str)> = backends.iter().map(|b| (b.port, "")).collect();
    let server = Server::start(&conf("lbmethod=byrequests", &list, ""));
    for (request, executions) in [
        ("GET / HTTP/1.0\r\n\r\n", 2),
        ("PUT / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", 2),
        ("POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", 1),
    ] {
        let before: usize = backends.iter().map(Backend::count).sum();
        assert_eq!(ask(server.port, request).status, 502, "{request}");
        let after: usize = backends.iter().map(Backend::count).sum();
        assert_eq!(after - before, executions, "{request}");
    }
}

#[test]
fn a_kept_connection_that_breaks_counts_as_one_of_the_two() {
    let make = || {
        Backend::with(|seen| match seen.target() {
            "/end" => Reply::RawThenClose(Vec::new()),
            _ => Reply::Text("ok".into()),
        })
    };
    let (a, b) = (make(), make());
    let list = [(a.port, ""), (b.port, "")];
    let server = Server::start(&conf("lbmethod=byrequests", &list, ""));
    for _ in 0..4 {
        assert_eq!(get(server.port, "/").unwrap().status, 200);
    }
    assert_eq!(get(server.port, "/end").unwrap().status, 502);
    let ends = |b: &Backend| b.seen().iter().filter(|s| s.target() == "/end").count();
    assert_eq!(ends(&a) + ends(&b), 2);
}

#[test]
fn a_slow_client_puts_no_member_in_error() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let list = [(a.port, ""), (b.port, "")];
    let set = "failontimeout=On failonstatus=408,504";
    let server = Server::start(&conf(set, &list, "RequestReadTimeout body=1"));
    let slow = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc";
    assert_eq!(ask(server.port, slow).status, 408);
    assert_eq!(states(&server), ["Init Ok ", "Init Ok "]);
}

#[test]
fn fast_errors_and_slow_uploads_mislead_no_average() {
    let failing =
        Backend::with(|_| Reply::Raw(b"HTTP/1.1 500 Oops\r\nContent-Length: 1\r\n\r\nf".to_vec()));
    let slow = Backend::with(|_| {
        thread::sleep(Duration::from_millis(5));
        Reply::Text("s".into())
    });
    let list = [(failing.port, ""), (slow.port, "")];
    let server = Server::start(&conf("lbmethod=byleasttime", &list, ""));
    let failed = (0..100).filter(|_| get(server.port, "/").unwrap().status == 500);
    assert!(failed.count() < 30, "of 100 requests");

    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let list = [(a.port, "route=a"), (b.port, "route=b")];
    let set = "lbmethod=byleasttime stickysession=S";
    let server = Server::start(&conf(set, &list, ""));
    let mut upload = Client::connect(server.port);
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nCookie: S=.a\r\nContent-Length: {}\r\n\r\n",
        40 * 1024
    );
    upload.send(head).unwrap();
    for _ in 0..40 {
        upload.send(vec![b'x'; 1024]).unwrap();
        thread::sleep(Duration::from_millis(25));
    }
    assert_eq!(upload.response("POST").unwrap().status, 200);
    let mut client = Client::connect(server.port);
    let mut at_a = 0;
    for _ in 0..200 {
        at_a += u32::from(client.get("/").unwrap().text().starts_with('a'));
    }
    // Of two that are equally fast one may get nearly all; of one taken to be slow nobody would know.
    assert!(at_a > 0, "{at_a} of 200");
}

/// Where no error keeps requests from a dead member, its average must: it may not fade below that
/// of a member which answers.
#[test]
fn a_dead_member_that_stays_usable_is_not_the_fastest() {
    for usable in ["status=+I", "retry=0"] {
        let slow = Backend::with(|_| {
            thread::sleep(Duration::from_millis(5));
            Reply::Text("s".into())
        });
        let list = [(slow.port, ""), (free_port(), usable)];
        let set = "lbmethod=byleasttime maxattempts=0";
        let server = Server::start(&conf(set, &list, ""));
        let failed = (0..100).filter(|_| get(server.port, "/").unwrap().status == 503);
        assert!(failed.count() < 30, "{usable}");
    }
}

#[test]
fn a_broken_exchange_does_not_move_a_session() {
    let a = Backend::with(|seen| match seen.target() {
        "/end" => Reply::RawThenClose(Vec::new()),
        _ => Reply::Text("a".into()),
    });
    let b = Backend::start("b");
    let list = [(a.port, "route=a"), (b.port, "route=b")];
    let server = Server::start(&conf("stickycookie=R", &list, ""));
    let r = ask(
        server.port,
        "GET /end HTTP/1.1\r\nHost: localhost\r\nCookie: R=.a\r\nConnection: close\r\n\r\n",
    );
    assert_eq!((r.status, r.text().starts_with('b')), (200, true));
    assert_eq!(r.field("Set-Cookie"), None);
    // A member that is gone does move it.
    drop(a);
    eventually("the session is moved", || {
        let r = ask(
            server.port,
            "GET / HTTP/1.1\r\nHost: localhost\r\nCookie: R=.a\r\nConnection: close\r\n\r\n",
        );
        r.field("Set-Cookie") == Some("R=.b; Path=/; HttpOnly; SameSite=Lax")
    });
}

#[test]
fn a_draining_member_does_not_keep_the_others_in_error() {
    let a = Backend::start("a");
    let port = free_port();
    let list = [(a.port, "status=N route=a"), (port, "route=b")];
    let server = Server::start(&conf("stickysession=S", &list, ""));
    assert_eq!(get(server.port, "/").unwrap().status, 503);
    assert_eq!(states(&server)[1], "Init Err ");
    let _b = Backend::at(port, |_| Reply::Text("b".into()));
    assert_eq!(get(server.port, "/").unwrap().status, 200);
}

#[test]
fn when_a_member_is_tried_again_is_told_where_it_is_known() {
    let list = [(free_port(), "retry=40"), (free_port(), "retry=30")];
    let server = Server::start(&conf("forcerecovery=Off", &list, ""));
    assert_eq!(get(server.port, "/").unwrap().status, 503);
    let r = get(server.port, "/").unwrap();
    let after: u64 = r.field("Retry-After").unwrap().parse().unwrap();
    assert_eq!(
        (r.status, (20..=30).contains(&after)),
        (503, true),
        "{after}"
    );
    let server = Server::start(&conf("forcerecovery=On", &list, ""));
    let r = get(server.port, "/").unwrap();
    assert_eq!((r.status, r.field("Retry-After")), (503, None));

    // A session that may go nowhere else waits for its own member, or the one that stands in for it.
    let well = Backend::start("well");
    let list = [
        (free_port(), "route=a redirect=b retry=60"),
        (free_port(), "route=b retry=40"),
        (free_port(), "route=other retry=10"),
        (well.port, "route=well"),
    ];
    let set = "stickysession=S nofailover=On";
    let server = Server::start(&conf(set, &list, ""));
    let session = |route: &str| {
        let r = ask(
            server.port,
            &format!("GET / HTTP/1.0\r\nCookie: S=.{route}\r\n\r\n"),
        );
        let after = r.field("Retry-After").map(|text| text.parse().unwrap());
        (r.status, after)
    };
    for route in ["a", "b", "other"] {
        assert_eq!(session(route).0, 503, "now they are in error");
    }
    for (route, least, most) in [("a", 30, 40), ("b", 30, 40), ("other", 1, 10)] {
        let (status, after): (u16, Option<u64>) = session(route);
        assert_eq!(status, 503);
        assert!(
            after.is_some_and(|s| (least..=most).contains(&s)),
            "{route}: {after:?}"
        );
    }
    assert_eq!(session("well").0, 200);
}

/// A port where connections are neither taken nor refused.
struct BlackHole {
    port: u16,
    _listener: Socket,
    _filling: Vec<Socket>,
}

impl BlackHole {
    fn new() -> BlackHole {
        let make = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let listener = make();
        listener
            .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
            .unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let filling = (0..4)
            .map(|_| {
                let s = make();
                s.set_nonblocking(true).unwrap();
                let _ = s.connect(&address);
                s
            })
            .collect();
        BlackHole {
            port: address.as_socket().unwrap().port(),
            _listener: listener,
            _filling: filling,
        }
    }
}

#[test]
fn who_waits_for_a_connection_leaves_with_the_member() {
    let hole = BlackHole::new();
    let b = Backend::start("b");
    let list = [
        (hole.port, "max=1 connectiontimeout=1"),
        (b.port, "max=100"),
    ];
    let server = Server::start(&conf("lbmethod=byrequests", &list, ""));
    let began = Instant::now();
    let port = server.port;
    let clients: Vec<_> = (0..12)
        .map(|_| thread::spawn(move || get(port, "/").unwrap().status))
        .collect();
    let answers: Vec<u16> = clients.into_iter().map(|c| c.join().unwrap()).collect();
    assert_eq!(answers, [200; 12]);
    // One time-out for all, not one for each (6 were drawn to the dead member).
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn an_unanswered_ping_on_a_kept_connection_is_tried_on_a_fresh_one() {
    // Of each connection only the first request is answered, and that with its 100 first.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut s, _)) = listener.accept() {
            thread::spawn(move || serve_one(&mut s));
        }
    });
    let list = [(port, "ping=1")];
    let server = Server::start(&conf("lbmethod=byrequests", &list, ""));
    let post =
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    for _ in 0..2 {
        assert_eq!(ask(server.port, post).status, 200);
        assert_eq!(states(&server), ["Init Ok "]);
    }
}

fn serve_one(s: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut part = [0; 1024];
    while !seen.windows(4).any(|w| w == b"\r\n\r\n") {
        match s.read(&mut part) {
            Ok(n) if n > 0 => seen.extend_from_slice(&part[..n]),
            _ => return,
        }
    }
    let _ = s.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
    while !seen.ends_with(b"hi") {
        match s.read(&mut part) {
            Ok(n) if n > 0 => seen.extend_from_slice(&part[..n]),
            _ => return,
        }
    }
    let _ = s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    while s.read(&mut part).is_ok_and(|n| n > 0) {}
}

#[test]
fn bytes_count_as_they_move() {
    let gate = Gate::default();
    let own = gate.clone();
    let a = Backend::with(move |_| Reply::Gated {
        first: b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"
            .iter()
            .copied()
            .chain([b'x'; 1000])
            .collect(),
        rest: vec![b'x'; 1000],
        gate: own.clone(),
    });
    let server = Server::start(&conf("lbmethod=bytraffic", &[(a.port, "")], ""));
    let mut client = Client::connect(server.port);
    client
        .send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    eventually("the first half counts", || {
        members(&server)[0].received >= 1000
    });
    gate.open();
    assert_eq!(client.response("GET").unwrap().body.len(), 2000);
    let line = "HTTP/1.1 200 OK".len() as u64;
    eventually("all counts once", || {
        members(&server)[0].received == 2000 + line
    });
}

#[test]
fn choices_are_told_at_level_debug() {
    let b = Backend::start("b");
    let list = [(free_port(), "route=a"), (b.port, "route=b")];
    let set = "stickysession=S";
    let server = Server::start(&conf(set, &list, "LogLevel proxy_balancer:debug"));
    let r = ask(
        server.port,
        "GET /x HTTP/1.1\r\nHost: localhost\r\nCookie: S=1.a\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(r.status, 200);
    for line in [
        "AH01161: balancer://c: Found route a for stickysession S".to_string(),
        "AH01162: balancer://c: Route changed from a to b".to_string(),
        format!(
            "AH01172: balancer://c: worker (balancer://c) rewritten to http://127.0.0.1:{}",
            b.port
        ),
    ] {
        eventually(&line, || server.error_log().contains(&line));
    }
}
