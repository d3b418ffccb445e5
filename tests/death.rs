//! Processes that die: children, and the supervisor.

mod common;

use common::backend::{Gate, Reply};
use common::load::Load;
use common::server::{children_of, is_muster, zombies_of};
use common::{Backend, Client, Server, eventually, get};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PLAIN: &str = "Listen 127.0.0.1:@PORT@\nStartServers 2\n";

fn slay(pid: i32) {
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

fn with_backend(backend: &Backend) -> String {
    format!("{PLAIN}ProxyPass / http://127.0.0.1:{}/\n", backend.port)
}

/// The child that serves a connection whose request waits at the backend.
fn busy_child(server: &Server) -> i32 {
    common::wait_for("a child with a request", || {
        let table = server.scoreboard();
        table
            .children
            .iter()
            .find(|c| c.requests > 0)
            .map(|c| c.pid)
    })
}

#[test]
fn an_idle_child_is_replaced() {
    let server = Server::start(PLAIN);
    let before = server.children();
    slay(before[0]);
    eventually("two children again", || {
        let now = server.children();
        now.len() == 2 && !now.contains(&before[0])
    });
    assert!(
        server.children().contains(&before[1]),
        "the other one stays"
    );
    for _ in 0..8 {
        assert!(get(server.port, "/").is_ok());
    }
    assert_eq!(server.count_log("exit signal Killed (9)"), 1);
    assert_eq!(zombies_of(server.pid()), 0);
    let table = server.scoreboard();
    assert!(table.children.iter().all(|c| c.pid != before[0]));
}

#[test]
fn only_the_requests_of_a_dead_child_are_lost() {
    let gate = Gate::default();
    let at_backend = gate.clone();
    let backend = Backend::with(move |r| match r.target() {
        "/slow" => Reply::Gated {
            first: b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345".to_vec(),
            rest: b"67890".to_vec(),
            gate: at_backend.clone(),
        },
        _ => Reply::Text("ok".into()),
    });
    let server = Server::start(&with_backend(&backend));
    let mut victim = Client::connect(server.port);
    victim
        .send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let dead = busy_child(&server);
    eventually("its answer has begun", || backend.count() == 1);
    let head = victim.read_until(b"\r\n\r\n").unwrap();
    assert!(head.starts_with(b"HTTP/1.1 200"));
    slay(dead);
    // Cut: five bytes at most, then the end.
    let rest = victim.read_to_end().unwrap_or_default();
    assert!(rest.len() <= 5, "{rest:?}");
    gate.open();
    for _ in 0..8 {
        assert_eq!(get(server.port, "/x").unwrap().text(), "ok");
    }
    assert_eq!(
        backend
            .seen()
            .iter()
            .filter(|r| r.target() == "/slow")
            .count(),
        1,
        "not repeated"
    );
    eventually("nothing is busy", || {
        let t = server.scoreboard();
        t.children.len() == 2
            && t.children.iter().all(|c| c.requests == 0)
            && t.workers.iter().all(|w| w.busy == 0)
    });
}

#[test]
fn killing_children_under_load_loses_only_what_they_had() {
    let one = Backend::start("one");
    let two = Backend::start("two");
    let server = Server::start(&format!(
        "{PLAIN}KeepAliveTimeout 60\nMaxKeepAliveRequests 0\n\
         <Proxy balancer://b>\nBalancerMember http://127.0.0.1:{}\nBalancerMember http://127.0.0.1:{}\n</Proxy>\n\
         ProxyPass / balancer://b/\n",
        one.port, two.port
    ));
    let load = Load::start(server.port, "/p", 8, 2, |body| {
        body.starts_with("one ") || body.starts_with("two ")
    });
    load.more(200);
    let kills = 5;
    for _ in 0..kills {
        let before = server.children();
        slay(before[0]);
        eventually("two children again", || {
            let now = server.children();
            now.len() == 2 && !now.contains(&before[0])
        });
        // Failures of this kill are counted below; what matters is that the rest goes on.
        let goal = load.answered() + 100;
        eventually("answers go on", || load.answered() >= goal);
    }
    let outcome = load.stop();
    // A client has one request at a time, and loses it once for each child that had it. One that
    // was about to connect or reuse a connection of the dead child loses that.
    assert!(
        outcome.failures.len() <= 10 * kills,
        "{} failures: {:#?}",
        outcome.failures.len(),
        outcome.failures
    );
    assert!(
        outcome
            .failures
            .iter()
            .all(|f| !f.contains(": 5") && !f.contains("200 ")),
        "{:#?}",
        outcome.failures
    );
    eventually("nothing is busy, lbstatus sums to 0", || {
        let t = server.scoreboard();
        let members = || t.balancers.iter().flat_map(|b| &b.members);
        members().count() == 2
            && members().all(|m| m.busy == 0)
            && members().map(|m| m.lbstatus).sum::<i64>() == 0
    });
    let t = server.scoreboard();
    let elected: Vec<u64> = t.balancers[0].members.iter().map(|m| m.elected).collect();
    assert!(
        elected[0].abs_diff(elected[1]) <= 1,
        "exact shares: {elected:?}"
    );
    assert_eq!(zombies_of(server.pid()), 0);
}

/// How long a test under load lasts: short where all tests run, a minute by hand.
fn seconds() -> u64 {
    let set = std::env::var("MUSTER_TEST_SECONDS").ok();
    set.and_then(|s| s.parse().ok()).unwrap_or(8)
}

const METHODS: [&str; 6] = [
    "byrequests",
    "bytraffic",
    "bybusyness",
    "byleasttime",
    "byhash",
    "heartbeat",
];
const PATHS: [&str; 6] = ["/m0/x", "/m1/x", "/m2/x", "/m3/x", "/m4/x", "/m5/x"];

/// A random child dies each second while all methods have requests. Afterwards nothing is busy, the
/// sum of lbstatus is what it was (also where a new load factor has made it another one), each
/// choice is counted once, and byrequests and bytraffic have given each member its share but for the
/// choices that death interrupted.
#[test]
fn children_that_die_at_random_leave_every_method_exact() {
    use std::time::{Duration, Instant};
    let backends = ["a", "b", "c"].map(Backend::start);
    let ports = backends.each_ref().map(|b| b.port);
    let beats = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let listen = {
        let free = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        free.local_addr().unwrap().port()
    };
    let mut conf = format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 8\nKeepAliveTimeout 60\nMaxKeepAliveRequests 0\n\
         HeartbeatListen 127.0.0.1:{listen}\n<Location /bm>\nSetHandler balancer-manager\n</Location>\n"
    );
    for (i, method) in METHODS.iter().enumerate() {
        conf += &format!("<Proxy balancer://m{i}>\n");
        for (port, factor) in ports.iter().zip([1, 4, 1]) {
            conf += &format!("BalancerMember http://127.0.0.1:{port} loadfactor={factor}\n");
        }
        conf += &format!(
            "ProxySet lbmethod={method} nonce=known\n</Proxy>\nProxyPass /m{i}/ balancer://m{i}/\n"
        );
    }
    let server = Server::start(&conf);
    // bybusyness gets another sum.
    let w = format!("http%3A%2F%2F127.0.0.1%3A{}", ports[0]);
    let body = format!("b=m2&w={w}&nonce=known&w_lf=2");
    let mut admin = Client::connect(server.port);
    admin
        .send(format!(
            "POST /bm HTTP/1.1\r\nHost: localhost\r\nReferer: http://localhost/bm\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .unwrap();
    assert!(admin.response("POST").unwrap().status < 400);
    let sums = |server: &Server| -> Vec<i64> {
        let table = server.scoreboard();
        let sum = |i: usize| {
            let name = format!("balancer://m{i}");
            let b = table.balancers.iter().find(|b| b.name == name).unwrap();
            b.members.iter().map(|m| m.lbstatus).sum()
        };
        (0..METHODS.len()).map(sum).collect()
    };
    let expected = [0, 0, 700, 0, 0, 0];
    assert_eq!(sums(&server), expected);

    let loads = PATHS.map(|path| {
        Load::start(server.port, path, 2, 1, |body| {
            body.starts_with(['a', 'b', 'c'])
        })
    });
    let end = Instant::now() + Duration::from_secs(seconds());
    let (mut kills, mut random) = (0u64, u64::from(std::process::id()));
    while Instant::now() < end {
        let next = Instant::now() + Duration::from_secs(1);
        eventually("a second of load", || {
            for port in ports {
                let text = format!("v=1&ready=5&busy=1&port={port}");
                let _ = beats.send_to(text.as_bytes(), ("127.0.0.1", listen));
            }
            Instant::now() >= next
        });
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let now = server.children();
        if let Some(victim) = now.get((random >> 33) as usize % now.len().max(1)) {
            slay(*victim);
            kills += 1;
        }
    }
    let outcomes = loads.map(Load::stop);
    eventually("nothing is busy", || {
        let t = server.scoreboard();
        let mut members = t.balancers.iter().flat_map(|b| &b.members);
        members.all(|m| m.busy == 0)
    });
    eventually("all sums are as they were", || sums(&server) == expected);
    let table = server.scoreboard();
    let mut report = format!("{kills} kills in {} s;", seconds());
    for (i, (method, outcome)) in METHODS.iter().zip(&outcomes).enumerate() {
        let lost = outcome.failures.len() as u64;
        let answered = outcome.answered as u64;
        // A client loses the request that a dead child had, and perhaps a connect.
        assert!(lost <= 2 * 3 * kills, "{method}: {:#?}", outcome.failures);
        let own = |f: &String| f.contains(": 5") || f.contains("200 ");
        assert!(!outcome.failures.iter().any(own), "{:#?}", outcome.failures);
        let name = format!("balancer://m{i}");
        let b = table.balancers.iter().find(|b| b.name == name).unwrap();
        let elected: Vec<u64> = b.members.iter().map(|m| m.elected).collect();
        let sum: u64 = elected.iter().sum();
        assert!(
            (answered..=answered + lost).contains(&sum),
            "{method}: {elected:?} for {answered} answers and {lost} lost requests"
        );
        report += &format!(" {method} {answered} answered, {lost} lost, elected {elected:?};");
        if *method == "bytraffic" {
            // But for what was in flight all have moved as much for their factors.
            let moved = b.members.iter().map(|m| m.sent + m.received);
            let size = moved.clone().sum::<u64>() / sum.max(1) + 1;
            let each: Vec<u64> = moved.zip([1, 4, 1]).map(|(n, factor)| n / factor).collect();
            let spread = each.iter().max().unwrap() - each.iter().min().unwrap();
            assert!(spread <= (4 + kills) * size, "{each:?} of {size} a request");
        }
        if *method == "byrequests" {
            for (n, factor) in elected.iter().zip([1, 4, 1]) {
                assert!(n.abs_diff(sum * factor / 6) <= 2 + kills, "{elected:?}");
            }
        }
    }
    println!("{report}");
}

#[test]
fn after_the_supervisors_death_requests_finish_and_a_start_succeeds_at_once() {
    let gate = Gate::default();
    let at_backend = gate.clone();
    let backend = Backend::with(move |_| Reply::Gated {
        first: b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n".to_vec(),
        rest: b"done".to_vec(),
        gate: at_backend.clone(),
    });
    let conf = format!("{PLAIN}ProxyPass /b/ http://127.0.0.1:{}/\n", backend.port);
    let server = Server::daemon(&conf);
    let mut busy = Client::connect(server.port);
    busy.send("GET /b/x HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut idle = Client::connect(server.port);
    idle.get("/").unwrap();
    eventually("the request is at the backend", || backend.count() == 1);
    let (dead, children) = (server.pid(), server.children());
    slay(dead);

    let out = server.control("start");
    assert_eq!(out.status.code(), Some(0), "{out:?} {}", server.story());
    assert_ne!(server.pid(), dead);
    assert!(server.error_log().contains("AH00098"), "{}", server.story());
    assert!(get(server.port, "/").is_ok());

    // An idle connection may be answered once more or closed.
    if let Ok(answer) = idle.get("/") {
        assert_eq!(answer.field("connection"), Some("close"));
    }
    gate.open();
    assert_eq!(busy.response("GET").unwrap().text(), "done");
    eventually("the old children are gone", || {
        children.iter().all(|c| !is_muster(*c))
    });
    assert_eq!(server.children().len(), 2);
    let out = server.control("stop");
    assert_eq!(out.status.code(), Some(0), "{out:?}");
}

#[test]
fn a_whole_instance_killed_at_once_starts_again() {
    let server = Server::daemon(PLAIN);
    for _ in 0..10 {
        let supervisor = server.pid();
        let mut all = server.children();
        all.push(supervisor);
        all.iter().for_each(|p| slay(*p));
        let out = server.control("start");
        assert_eq!(out.status.code(), Some(0), "{out:?} {}", server.story());
        get(server.port, "/").unwrap_or_else(|e| panic!("{e} {}", server.story()));
    }
}

#[test]
fn a_stopped_child_does_not_keep_new_connections() {
    let server = Server::start("Listen 127.0.0.1:@PORT@\nStartServers 3\n");
    let stopped = server.children()[0];
    kill(Pid::from_raw(stopped), Signal::SIGSTOP).unwrap();
    for _ in 0..100 {
        assert!(get(server.port, "/").is_ok());
    }
    kill(Pid::from_raw(stopped), Signal::SIGCONT).unwrap();
    eventually("all children take part again", || {
        let _ = get(server.port, "/");
        children_of(server.pid()).len() == 3
    });
}

#[test]
fn the_table_may_be_truncated_and_the_supervisor_survives() {
    let server = Server::start(PLAIN);
    let pid = server.pid();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(server.table())
        .unwrap();
    file.set_len(0).unwrap();
    // Whatever the children make of it, a reload gives a new table and new children.
    server.signal(Signal::SIGUSR1);
    eventually("a new generation", || {
        server.count_log("resuming normal operations") > 1
    });
    assert_eq!(server.pid(), pid);
    eventually("it serves", || get(server.port, "/").is_ok());
    assert_eq!(server.scoreboard().supervisor, pid);
}
