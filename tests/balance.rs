//! Balancing end to end: several children, real clients, members that die, stop and come back.

mod common;

use std::thread;

use common::backend::Reply;
use common::load::Load;
use common::server::free_port;
use common::{Backend, Client, Server, eventually, get};
use muster::shm::{WorkerInfo, status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const CHILDREN: &str =
    "Listen 127.0.0.1:@PORT@\nStartServers 3\nKeepAliveTimeout 60\nMaxKeepAliveRequests 0\n";

/// A balancer of members (port, parameters) for all paths.
fn balancer(set: &str, members: &[(u16, &str)]) -> String {
    let lines: String = members
        .iter()
        .map(|(port, params)| format!("BalancerMember http://127.0.0.1:{port} {params}\n"))
        .collect();
    format!(
        "{CHILDREN}<Proxy balancer://c>\n{lines}ProxySet lbmethod=byrequests {set}\n</Proxy>\nProxyPass / balancer://c/\n"
    )
}

fn members(server: &Server) -> Vec<WorkerInfo> {
    server.scoreboard().balancers[0].members.clone()
}

fn assert_level(server: &Server) {
    eventually("nothing is busy", || {
        members(server).iter().all(|m| m.busy == 0)
    });
    let sum: i64 = members(server).iter().map(|m| m.lbstatus).sum();
    assert_eq!(sum, 0, "{:?}", members(server));
}

/// The names of the backends that answer `n` requests over one connection.
fn sequence(client: &mut Client, n: usize) -> String {
    (0..n)
        .map(|_| {
            let r = client.get("/x").unwrap();
            match r.status {
                200 => r.text().chars().next().unwrap(),
                _ => '!',
            }
        })
        .collect()
}

#[test]
fn shares_are_exact_over_children() {
    let backends: Vec<_> = ["a", "b", "c"].map(Backend::start).into();
    let server = Server::start(&balancer(
        "",
        &[
            (backends[0].port, ""),
            (backends[1].port, "loadfactor=4"),
            (backends[2].port, ""),
        ],
    ));
    // 12 clients × 50 requests: 100 rounds of six.
    let port = server.port;
    let clients: Vec<_> = (0..12)
        .map(|_| {
            thread::spawn(move || {
                let mut client = Client::connect(port);
                assert!(!sequence(&mut client, 50).contains('!'));
            })
        })
        .collect();
    for c in clients {
        c.join().unwrap();
    }
    let counts: Vec<_> = backends.iter().map(Backend::count).collect();
    assert_eq!(counts, [100, 400, 100]);
    assert_level(&server);
    let m = members(&server);
    assert_eq!(
        m.iter().map(|m| m.elected).collect::<Vec<_>>(),
        [100, 400, 100]
    );
    assert!(m.iter().all(|m| m.lbstatus == 0));
    let served = server
        .scoreboard()
        .children
        .iter()
        .filter(|c| c.accesses > 0)
        .count();
    assert!(served >= 2, "the clients were spread over children");
    // One at a time: the sequence of the tables, whichever child serves.
    let one_by_one: String = (0..6)
        .map(|_| get(server.port, "/").unwrap().text().remove(0))
        .collect();
    assert_eq!(one_by_one, "babbcb");
}

/// The tables of the manual through the real proxy: one child, and eight that share the turns.
#[test]
fn tables_with_one_child_and_with_eight() {
    let names = ["a", "b", "c", "d"].map(Backend::start);
    let tables: [(&str, &[&str], &str); 4] = [
        (
            "25/25/25/25, b disabled",
            &[
                "loadfactor=25",
                "loadfactor=25 status=+D",
                "loadfactor=25",
                "loadfactor=25",
            ],
            "acdacdacdacd",
        ),
        (
            "70/30",
            &["loadfactor=70", "loadfactor=30"],
            "abaaabaabaabaaabaaba",
        ),
        ("1/4/1", &["", "loadfactor=4", ""], "babbcbbabbcb"),
        ("100/100", &["loadfactor=100", "loadfactor=100"], "abababab"),
    ];
    for children in [1, 8] {
        for (name, members, sequence) in tables {
            let members: Vec<_> = names
                .iter()
                .map(|b| b.port)
                .zip(members.iter().copied())
                .collect();
            let conf = balancer("", &members)
                .replace("StartServers 3", &format!("StartServers {children}"));
            let server = Server::start(&conf);
            // A connection each, so that the children take turns at answering.
            let got: String = sequence
                .chars()
                .map(|_| get(server.port, "/").unwrap().text().remove(0))
                .collect();
            assert_eq!(got, sequence, "{name} with {children} children");
            assert_level(&server);
        }
    }
}

/// Requests that stay open, one after the other: each meets the backend of a letter.
fn held_open(server: &Server, backends: &[Backend], n: usize) -> (String, Vec<Client>) {
    let mut clients = Vec::new();
    let mut picks = String::new();
    for _ in 0..n {
        let before: Vec<usize> = backends.iter().map(Backend::count).collect();
        let mut client = Client::connect(server.port);
        client
            .send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        clients.push(client);
        let at = common::wait_for("it is at a backend", || {
            let mut now = backends.iter().zip(&before);
            now.position(|(b, before)| b.count() > *before)
        });
        picks.push((b'a' + at as u8) as char);
    }
    (picks, clients)
}

/// The other tables (spec: balancer 7.5 to 7.9) through the real proxy, with one child and eight.
#[test]
fn tables_of_other_methods_sessions_and_spares() {
    let gate = common::backend::Gate::default();
    let backends: Vec<_> = ["a", "b", "c"]
        .map(|name| {
            let gate = gate.clone();
            Backend::with(move |r| match r.target() {
                "/held" => Reply::Gated {
                    first: b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n".to_vec(),
                    rest: b"done".to_vec(),
                    gate: gate.clone(),
                },
                _ => Reply::Text(name.into()),
            })
        })
        .into();
    let dead = free_port();
    let [a, b, c] = [0, 1, 2].map(|i: usize| backends[i].port);
    for children in [1, 8] {
        let start = |set: &str, members: &[(u16, &str)]| {
            let conf = balancer(set, members).replace("byrequests lbmethod=", "");
            Server::start(&conf.replace("StartServers 3", &format!("StartServers {children}")))
        };
        let ask = |server: &Server, path: &str| {
            let name = get(server.port, path).unwrap().text().remove(0);
            // The client may have its answer a moment before the member counts as free.
            assert_level(server);
            name
        };
        let picks = |server: &Server, path: &str, n: usize| -> String {
            (0..n).map(|_| ask(server, path)).collect()
        };
        let lbstatus =
            |server: &Server| -> Vec<i64> { members(server).iter().map(|m| m.lbstatus).collect() };
        // 7.5
        let server = start("", &[(a, "loadfactor=2.5"), (b, "")]);
        assert_eq!(picks(&server, "/", 14), "abaaabaabaaaba");
        assert_eq!(lbstatus(&server), [0, 0]);
        // 7.6
        let server = start("lbmethod=bytraffic", &[(a, ""), (b, "loadfactor=3")]);
        assert_eq!(picks(&server, "/", 12), "abbbabbbabbb");
        let server = start("lbmethod=bytraffic", &[(a, ""), (b, "")]);
        assert_eq!(picks(&server, "/", 4), "abab");
        // 7.7
        for (factor, expected, states) in [
            ("", "ababab", [0, 0]),
            ("loadfactor=3", "bababa", [-600, 600]),
        ] {
            let server = start("lbmethod=bybusyness", &[(a, ""), (b, factor)]);
            let (picks, clients) = held_open(&server, &backends[..2], 6);
            assert_eq!(
                (picks.as_str(), lbstatus(&server)),
                (expected, states.into())
            );
            assert!(members(&server).iter().all(|m| m.busy == 3));
            drop(clients);
        }
        let server = start(
            "lbmethod=bybusyness",
            &[(a, ""), (b, "loadfactor=4"), (c, "")],
        );
        // One by one, as byrequests. An answer is out a moment before its request has ended.
        let one = |_| {
            let pick = ask(&server, "/");
            eventually("nothing is busy", || {
                members(&server).iter().all(|m| m.busy == 0)
            });
            pick
        };
        assert_eq!((0..6).map(one).collect::<String>(), "babbcb");
        // 7.8
        let routes = [(a, "route=a"), (b, "route=b"), (c, "route=c")];
        let server = start("stickysession=S", &routes);
        assert_eq!(picks(&server, "/?S=x.a", 3), "aaa");
        assert_eq!(lbstatus(&server), [-600, 300, 300]);
        assert_eq!(picks(&server, "/", 6), "bcbcbc");
        assert_eq!(lbstatus(&server), [0, 0, 0]);
        // 7.9: a dead one, b regular, then a spare and a standby.
        let reserves = |b_is: &'static str, spare: &'static str| {
            [
                (dead, "status=+E retry=600"),
                (b, b_is),
                (a, spare),
                (c, "status=+H"),
            ]
        };
        let server = start("", &reserves("", "status=+R"));
        assert_eq!(picks(&server, "/", 4), "baba");
        let server = start("", &reserves("", "status=+RD"));
        assert_eq!(picks(&server, "/", 3), "bbb");
        let server = start("", &reserves("status=+D", "status=+RD"));
        assert_eq!(picks(&server, "/", 3), "ccc");
    }
    gate.open();
}

#[test]
fn a_key_has_its_member() {
    let backends = ["a", "b", "c", "d"].map(Backend::start);
    let members: Vec<_> = backends.iter().map(|b| (b.port, "retry=600")).collect();
    let ask = |server: &Server, path: &str, field: &str| {
        let mut client = Client::connect(server.port);
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\n{field}\r\nConnection: close\r\n\r\n"
        );
        client.send(head).unwrap();
        client.response("GET").unwrap().text().remove(0)
    };
    let each = |server: &Server, key: &str| -> String {
        (0..40)
            .map(|i| match key {
                "path" => ask(server, &format!("/{i}"), "X-Nothing: 1"),
                "cookie:who" => ask(server, "/", &format!("Cookie: x=y; who=\"{i}\"")),
                _ => ask(server, "/", &format!("x-who: {i}")),
            })
            .collect()
    };
    for key in ["path", "cookie:who", "header:X-Who"] {
        let server = Server::start(&balancer(
            &format!("lbmethod=byhash hashkey={key}"),
            &members,
        ));
        let all = each(&server, key);
        assert!("abcd".chars().all(|c| all.contains(c)), "{key}: {all}");
        assert_eq!(each(&server, key), all, "{key}");
        // Another instance chooses the same, and only keys of a member that is missing move.
        let mut less = members.clone();
        less[1].1 = "status=+D";
        let set = format!("lbmethod=byhash hashkey={key}");
        let other = each(&Server::start(&balancer(&set, &less)), key);
        for (before, after) in all.chars().zip(other.chars()) {
            assert!(
                before == after || before == 'b' && after != 'b',
                "{all} {other}"
            );
        }
    }
    // Two spellings of one path at the member are one key.
    let many: String = (0..30)
        .map(|i| {
            format!(
                "BalancerMember http://127.0.0.1:{}/m{i}\n",
                backends[0].port
            )
        })
        .collect();
    let server = Server::start(&format!(
        "Listen 127.0.0.1:@PORT@\n<Proxy balancer://c>\n{many}ProxySet lbmethod=byhash hashkey=path\n</Proxy>\n\
         ProxyPass /p balancer://c\n"
    ));
    for path in ["/p", "/p/"] {
        assert_eq!(get(server.port, path).unwrap().status, 200);
    }
    let seen = backends[0].seen();
    let [one, other] = seen.last_chunk().unwrap();
    assert_eq!(one.target(), other.target());
    // One client: one member; requests without a key go by turns.
    let server = Server::start(&balancer("lbmethod=byhash", &members));
    let all = each(&server, "client");
    assert!(all.chars().all(|c| all.starts_with(c)), "{all}");
    let server = Server::start(&balancer("lbmethod=byhash hashkey=header:X-No", &members));
    assert_eq!(each(&server, "none"), "abcd".repeat(10));
}

#[test]
fn a_slow_member_gets_less() {
    let slow = Backend::with(|_| {
        thread::sleep(std::time::Duration::from_millis(60));
        Reply::Text("s".into())
    });
    let quick = Backend::start("q");
    let members = [(slow.port, ""), (quick.port, "")];
    let server = Server::start(&balancer("lbmethod=byleasttime", &members));
    let mut client = Client::connect(server.port);
    let got = sequence(&mut client, 60);
    // It is tried, and left alone then (until what was seen of it has faded).
    let n = got.matches('s').count();
    assert!((1..=6).contains(&n), "{got}");
    assert_level(&server);
}

#[test]
fn further_tries_keep_to_their_budget() {
    let (x, y) = (free_port(), free_port());
    let tried = |set: &str, requests: usize| -> u64 {
        let server = Server::start(&balancer(set, &[(x, "retry=0"), (y, "retry=0")]));
        for _ in 0..requests {
            assert_eq!(get(server.port, "/").unwrap().status, 503);
        }
        assert_level(&server);
        members(&server).iter().map(|m| m.elected).sum()
    };
    assert_eq!(tried("retrybudget=0", 5), 5);
    // A quiet proxy tries everybody; of many requests in ten seconds a hundred tries are free.
    assert_eq!(tried("", 20), 40);
    assert_eq!(tried("", 150), 250);
    assert_eq!(tried("retrybudget=100", 150), 300);
}

#[test]
fn the_route_cookie_is_set() {
    let a = Backend::start("a");
    let b = Backend::start("b");
    let set = "stickycookie=ROUTE";
    let conf = |params: &str| {
        let first = format!("route=ra {params}");
        balancer(set, &[(a.port, &first), (b.port, "route=rb")])
    };
    let ask = |server: &Server, cookie: &str| {
        let mut client = Client::connect(server.port);
        let cookie = match cookie {
            "" => String::new(),
            c => format!("Cookie: {c}\r\n"),
        };
        let head =
            format!("GET / HTTP/1.1\r\nHost: localhost\r\n{cookie}Connection: close\r\n\r\n");
        client.send(head).unwrap();
        let r = client.response("GET").unwrap();
        let set = r.field("Set-Cookie").unwrap_or_default().to_string();
        (r.text().remove(0), set)
    };
    let of = |route: &str| format!("ROUTE=.{route}; Path=/; HttpOnly; SameSite=Lax");
    let server = Server::start(&conf(""));
    assert_eq!(ask(&server, ""), ('a', of("ra")));
    assert_eq!(ask(&server, ""), ('b', of("rb")));
    for _ in 0..3 {
        assert_eq!(ask(&server, "x=1; ROUTE=.rb"), ('b', String::new()));
        assert_eq!(ask(&server, "ROUTE=.ra"), ('a', String::new()));
    }
    // A member that is gone, and a route that nobody has: the cookie of the one that answered.
    assert_eq!(ask(&server, "ROUTE=.gone").1.len(), of("ra").len());
    let server = Server::start(&conf("status=+D"));
    assert_eq!(ask(&server, "ROUTE=.ra"), ('b', of("rb")));
}

/// What the client sees of a member's troubles, and when the member leaves and returns.
#[test]
fn members_in_trouble() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
    let trouble = Arc::new(AtomicU8::new(0));
    let own = trouble.clone();
    let a = Backend::with(move |_| match own.load(SeqCst) {
        1 => Reply::RawThenHang(Vec::new()),
        2 => Reply::Raw(b"HTTP/1.1 503 Busy\r\nContent-Length: 1\r\n\r\na".to_vec()),
        3 => Reply::Reset,
        _ => Reply::Text("a".into()),
    });
    let b = Backend::start("b");
    let run = |set: &str, kind: u8| {
        trouble.store(0, SeqCst);
        let members_of = [(a.port, "timeout=1 retry=1 route=ra"), (b.port, "route=rb")];
        let server = Server::start(&balancer(&format!("stickysession=S {set}"), &members_of));
        let ask = |server: &Server| {
            let mut client = Client::connect(server.port);
            let head = "POST / HTTP/1.1\r\nHost: localhost\r\nCookie: S=.ra\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
            client.send(head).unwrap();
            let r = client.response("POST").unwrap();
            (r.status, r.text().chars().next().unwrap_or('!'))
        };
        assert_eq!(ask(&server), (200, 'a'));
        trouble.store(kind, SeqCst);
        let seen = ask(&server).0;
        let state = status::text(members(&server)[0].status);
        if state == "Init Err " {
            assert_eq!(ask(&server), (200, 'b'), "its sessions go elsewhere");
        }
        trouble.store(0, SeqCst);
        eventually("it is back", || ask(&server) == (200, 'a'));
        assert_eq!(status::text(members(&server)[0].status), "Init Ok ");
        assert_level(&server);
        (seen, state)
    };
    let (well, ill) = ("Init Ok ".to_string(), "Init Err ".to_string());
    assert_eq!(run("", 1), (504, well.clone()));
    assert_eq!(run("failontimeout=On", 1), (504, ill.clone()));
    assert_eq!(run("", 2), (503, well.clone()));
    assert_eq!(run("failonstatus=503", 2), (503, ill));
    assert_eq!(run("", 3), (502, well));
}

#[test]
fn a_dead_member_costs_nobody_a_request() {
    let a = Backend::start("a");
    let b = Backend::start("b");
    let dead = free_port();
    let server = Server::start(&balancer(
        "",
        &[(dead, ""), (a.port, ""), (b.port, "loadfactor=2")],
    ));
    let mut client = Client::connect(server.port);
    assert!(!sequence(&mut client, 30).contains('!'));
    let m = members(&server);
    assert_eq!(status::text(m[0].status), "Init Err ");
    assert_eq!(m[0].elected, 1, "tried once");
    assert_eq!(m[1].elected + m[2].elected, 30);
    assert_eq!(a.count() * 2, b.count());
    assert_level(&server);
    assert_eq!(server.count_log("disabling worker"), 1);
    server.wait_log(&format!(
        ": disabling worker http://127.0.0.1:{dead} for 60s\n"
    ));
    // A POST moves on as well: nothing of it was sent to the dead one.
    let server = Server::start(&balancer("", &[(dead, ""), (a.port, "")]));
    let before = a.count();
    let answer = Client::connect(server.port).post("/", b"12345").unwrap();
    assert_eq!((answer.status, a.count() - before), (200, 1));
}

#[test]
fn a_member_comes_back_by_one_probe() {
    let a = Backend::start("a");
    let port = free_port();
    let server = Server::start(&balancer("", &[(port, "retry=1"), (a.port, "")]));
    let mut client = Client::connect(server.port);
    assert_eq!(sequence(&mut client, 4), "aaaa");
    let b = Backend::at(port, |_| Reply::Text("b".into()));
    eventually("the member is tried and back in turn", || {
        sequence(&mut client, 1) == "b"
    });
    let m = &members(&server)[0];
    assert_eq!(status::text(m.status), "Init Ok ");
    assert_eq!((m.retries, m.error_time.0), (0, 0));
    let after = sequence(&mut client, 20);
    assert!(!after.contains('!') && after.contains('b'), "{after}");
    assert!(b.count() > 1);
    assert_level(&server);
}

#[test]
fn when_all_are_dead() {
    let (x, y) = (free_port(), free_port());
    // Forced recovery: each request tries both and gets 503. What is done with members in error is
    // told at level debug.
    let conf = balancer("", &[(x, ""), (y, "")]);
    let server = Server::start(&format!("LogLevel proxy_balancer:debug\n{conf}"));
    for _ in 0..3 {
        assert_eq!(get(server.port, "/").unwrap().status, 503);
    }
    for port in [x, y] {
        let named = format!("worker http://127.0.0.1:{port} of balancer://c");
        server.wait_log(&format!("AH01165: forcing recovery for {named}"));
    }
    server.wait_log(&format!(
        "AH00933: too soon to retry worker http://127.0.0.1:{x} of balancer://c"
    ));
    let tried: u64 = members(&server).iter().map(|m| m.elected).sum();
    assert_eq!(tried, 6);
    // Without it nobody is tried until `retry` has passed.
    let server = Server::start(&balancer("forcerecovery=Off", &[(x, ""), (y, "")]));
    for _ in 0..3 {
        assert_eq!(get(server.port, "/").unwrap().status, 503);
    }
    let tried: u64 = members(&server).iter().map(|m| m.elected).sum();
    assert_eq!(tried, 2);
    // maxattempts=0: one try.
    let a = Backend::start("a");
    let server = Server::start(&balancer("maxattempts=0", &[(x, ""), (a.port, "")]));
    assert_eq!(get(server.port, "/").unwrap().status, 503);
    assert_eq!(get(server.port, "/").unwrap().status, 200);
    // A member that ignores errors never becomes unusable, so nobody moves on from it.
    let server = Server::start(&balancer("", &[(x, "status=+I"), (a.port, "")]));
    let mut client = Client::connect(server.port);
    let statuses: Vec<_> = (0..4)
        .map(|_| get(server.port, "/").unwrap().status)
        .collect();
    assert_eq!(statuses, [503, 200, 503, 200]);
    assert!(client.get("/").is_ok());
    assert_level(&server);
}

/// What the manager's form says of the first member.
fn by_hand(server: &Server, fields: &str) {
    let page = get(server.port, "/bm?json").unwrap().text();
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    let balancer = &page["balancers"][0];
    let word = |v: &serde_json::Value| v.as_str().unwrap().replace(':', "%3A").replace('/', "%2F");
    let body = format!(
        "b=c&w={}&nonce={}&{fields}",
        word(&balancer["members"][0]["name"]),
        word(&balancer["nonce"])
    );
    let mut client = Client::connect(server.port);
    let head = "POST /bm HTTP/1.1\r\nHost: localhost\r\nReferer: http://localhost/bm\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n";
    client
        .send(format!(
            "{head}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .unwrap();
    assert!(client.response("POST").unwrap().status < 400);
}

/// Whether nobody moves on from a member that fails is up to the flag as it stands now, however the
/// configuration began.
#[test]
fn ignoring_errors_may_be_changed_by_hand() {
    let a = Backend::start("a");
    let dead = free_port();
    let conf = |params| {
        balancer("", &[(dead, params), (a.port, "")]).replace(
            "ProxyPass /",
            "<Location /bm>\nSetHandler balancer-manager\n</Location>\nProxyPass /bm !\nProxyPass /",
        )
    };
    let statuses = |server: &Server| [0; 4].map(|_| get(server.port, "/").unwrap().status);
    let server = Server::start(&conf("status=+I retry=0"));
    by_hand(&server, "w_status_I=0");
    assert_eq!(statuses(&server), [200; 4]);
    let server = Server::start(&conf("retry=0"));
    by_hand(&server, "w_status_I=1");
    let mut seen = statuses(&server);
    seen.sort_unstable();
    assert_eq!(seen, [200, 200, 503, 503]);
}

#[test]
fn spares_and_standbys_wait_until_they_are_needed() {
    let names = ["b", "r", "s"].map(Backend::start);
    let dead = free_port();
    let server = Server::start(&balancer(
        "",
        &[
            (dead, ""),
            (names[0].port, ""),
            (names[1].port, "status=+R"),
            (names[2].port, "status=+H"),
        ],
    ));
    let mut client = Client::connect(server.port);
    // The first request meets the dead one and fails over; then b and r by turns.
    let first = sequence(&mut client, 1);
    assert!(first == "b" || first == "r", "{first}");
    let rest = sequence(&mut client, 10);
    assert!(rest.starts_with("br") || rest.starts_with("rb"), "{rest}");
    assert!(!rest.contains("bb") && !rest.contains("rr"), "{rest}");
    assert_eq!(names[2].count(), 0);

    let server = Server::start(&balancer(
        "",
        &[
            (names[0].port, "status=+D"),
            (names[1].port, "lbset=1"),
            (names[2].port, "status=+H"),
        ],
    ));
    let mut client = Client::connect(server.port);
    assert_eq!(
        sequence(&mut client, 4),
        "ssss",
        "a standby of set 0 before set 1"
    );
    let server = Server::start(&balancer(
        "",
        &[(names[0].port, "status=+N"), (names[1].port, "lbset=1")],
    ));
    let mut client = Client::connect(server.port);
    assert_eq!(
        sequence(&mut client, 3),
        "rrr",
        "a draining member takes nothing new"
    );
}

#[test]
fn sessions_stay_with_their_member() {
    let a = Backend::start("a");
    let b = Backend::start("b");
    let both = |set: &str, a_params: &str| {
        balancer(
            &format!("stickysession=SID|sid scolonpathdelim=On {set}"),
            &[
                (a.port, &format!("route=ra {a_params}")),
                (b.port, "route=rb"),
            ],
        )
    };
    let server = Server::start(&both("", ""));
    let ask = |server: &Server, path: &str, cookie: &str| {
        let mut client = Client::connect(server.port);
        let cookie = match cookie {
            "" => String::new(),
            c => format!("Cookie: {c}\r\n"),
        };
        client
            .send(format!(
                "GET {path} HTTP/1.1\r\nHost: localhost\r\n{cookie}Connection: close\r\n\r\n"
            ))
            .unwrap();
        let r = client.response("GET").unwrap();
        (r.status, r.text().chars().next().unwrap_or('!'))
    };
    for _ in 0..3 {
        assert_eq!(ask(&server, "/", "x=1; SID=abc.ra"), (200, 'a'));
        assert_eq!(ask(&server, "/", "SID=\"abc.rb\""), (200, 'b'));
        assert_eq!(ask(&server, "/p;sid=abc.ra;v=1?q", ""), (200, 'a'));
        assert_eq!(ask(&server, "/p?q=1&sid=abc.rb", "SID=abc.ra"), (200, 'b'));
    }
    assert_level(&server);
    // A session's member that is down: another one, unless nofailover says no.
    let server = Server::start(&both("", "status=+S"));
    assert_eq!(ask(&server, "/", "SID=abc.ra"), (200, 'b'));
    let server = Server::start(&both("nofailover=On", "status=+S"));
    assert_eq!(ask(&server, "/", "SID=abc.ra").0, 503);
    server.wait_log("All workers are in error state for route (ra)");
    assert_eq!(ask(&server, "/", "SID=abc.unknown"), (200, 'b'));
    // A draining member keeps its sessions; a redirect leads to another.
    let server = Server::start(&both("", "status=+N"));
    assert_eq!(ask(&server, "/", "SID=abc.ra"), (200, 'a'));
    assert_eq!(ask(&server, "/", ""), (200, 'b'));
    let server = Server::start(&both("", "status=+D redirect=rb"));
    assert_eq!(ask(&server, "/", "SID=abc.ra"), (200, 'b'));
}

#[test]
fn answers_that_put_a_member_in_error() {
    let a = Backend::with(|r| match r.target() {
        "/500" => Reply::Raw(b"HTTP/1.1 500 Oops\r\nContent-Length: 1\r\n\r\na".to_vec()),
        "/404" => Reply::Raw(b"HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\na".to_vec()),
        _ => Reply::Text("a".into()),
    });
    let b = Backend::start("b");
    let server = Server::start(&balancer(
        "failonstatus=500,503",
        &[(a.port, ""), (b.port, "")],
    ));
    let mut client = Client::connect(server.port);
    assert_eq!(client.get("/404").unwrap().status, 404);
    assert_eq!(sequence(&mut client, 1), "b");
    assert_eq!(client.get("/500").unwrap().status, 500);
    // A 500 ends the client's connection, as in httpd.
    let mut client = Client::connect(server.port);
    assert_eq!(sequence(&mut client, 3), "bbb");
    assert_eq!(status::text(members(&server)[0].status), "Init Err ");
    assert_level(&server);
}

#[test]
fn a_reload_keeps_turns_counts_and_errors() {
    let a = Backend::start("a");
    let b = Backend::start("b");
    let dead = free_port();
    let conf = |more: &str| balancer("", &[(a.port, more), (b.port, ""), (dead, "retry=600")]);
    let server = Server::start(&conf(""));
    let mut client = Client::connect(server.port);
    let before = sequence(&mut client, 7);
    assert!(!before.contains('!'));
    let old = members(&server);
    drop(client);
    server.configure(&conf("loadfactor=3"));
    server.graceful();
    let new = members(&server);
    assert_eq!(new[0].load_factor, 300);
    for (o, n) in old.iter().zip(&new) {
        assert_eq!((o.lbstatus, o.elected), (n.lbstatus, n.elected));
        assert_eq!(o.status, n.status);
    }
    assert_eq!(status::text(new[2].status), "Init Err ");
    let mut client = Client::connect(server.port);
    let after = sequence(&mut client, 40);
    assert_eq!(after.matches('a').count(), 30, "{after}");
    assert_eq!(
        server.scoreboard().balancers[0].members[2].elected,
        old[2].elected
    );
    assert_level(&server);
}

/// The hook is there in debug builds only.
#[cfg(debug_assertions)]
#[test]
fn owners_of_the_lock_that_are_killed_or_stopped() {
    let a = Backend::start("a");
    let b = Backend::start("b");
    let mut server = Server::prepare(&balancer("", &[(a.port, ""), (b.port, "")]));
    // Each child stops itself inside the critical section at every 60th choice.
    server.launch(&[], &[("MUSTER_STOP_IN_LOCK", "60")]);
    let load = Load::start(server.port, "/p", 6, 2, |_| true);
    for round in 0..6 {
        let stopped = common::wait_for("a child that stopped in the lock", || {
            server.children().into_iter().find(|p| is_stopped(*p))
        });
        // The others go on meanwhile, without the lock.
        let before = load.answered();
        eventually("others answer", || {
            load.answered() > before + 5 || server.children().iter().all(|p| is_stopped(*p))
        });
        let signal = if round % 2 == 0 {
            Signal::SIGKILL
        } else {
            Signal::SIGCONT
        };
        kill(Pid::from_raw(stopped), signal).unwrap();
    }
    // From here on all that stop go on at once.
    let port = server.port;
    let pid = server.pid();
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let waker = {
        let over = over.clone();
        thread::spawn(move || {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                for p in common::server::children_of(pid) {
                    if is_stopped(p) {
                        let _ = kill(Pid::from_raw(p), Signal::SIGCONT);
                    }
                }
                thread::yield_now();
            }
        })
    };
    drop(load);
    for _ in 0..4 {
        assert_eq!(get(port, "/").unwrap().status, 200);
    }
    // The next turn at the balancer, at the latest the watchdog's, puts right what was left.
    eventually("the sum is zero", || {
        members(&server).iter().map(|m| m.lbstatus).sum::<i64>() == 0
    });
    assert_level(&server);
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    waker.join().unwrap();
    let table = server.scoreboard();
    assert!(table.balancers[0].lock_repairs >= 1);
    assert!(server.count_log("died inside the balancer's lock") >= 1);
    let (x, y) = (members(&server)[0].elected, members(&server)[1].elected);
    assert!(x.abs_diff(y) <= 8, "{x} {y}");
}

#[cfg(debug_assertions)]
fn is_stopped(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|s| {
            s.rsplit_once(')')
                .map(|(_, r)| r.trim_start().starts_with('T'))
        })
        .unwrap_or(false)
}
