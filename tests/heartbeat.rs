//! Heartbeats of backends: received, used for choosing, written to a file; hostile ones do no harm.

mod common;

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Backend, Server, eventually, free_port, get, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn udp_port() -> u16 {
    wait_for("a free port for datagrams", || {
        let port = free_port();
        UdpSocket::bind(("127.0.0.1", port)).ok().map(|_| port)
    })
}

fn conf(port: u16, more: &str, backends: &[&Backend]) -> String {
    let members: String = backends
        .iter()
        .map(|b| format!("BalancerMember http://127.0.0.1:{}\n", b.port))
        .collect();
    format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 2\nHeartbeatListen 127.0.0.1:{port}\n{more}\
         ProxyPass / balancer://c/\n<Proxy balancer://c>\n{members}ProxySet lbmethod=heartbeat\n</Proxy>\n"
    )
}

/// Sends until `holds`: the holder may not have bound its socket yet.
fn beat(port: u16, messages: &[&[u8]], mut holds: impl FnMut() -> bool) {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    eventually("the heartbeats have their effect", || {
        for message in messages {
            let _ = socket.send_to(message, ("127.0.0.1", port));
        }
        std::thread::sleep(Duration::from_millis(20));
        holds()
    });
}

fn who(server: &Server) -> String {
    let answer = get(server.port, "/").unwrap();
    match answer.status {
        200 => answer.text()[..1].to_string(),
        other => other.to_string(),
    }
}

/// Where the file of heartbeats goes. A child writes it, which runs as another user when the tests are
/// run by root.
fn storage(server: &Server) -> std::path::PathBuf {
    let path = server.root.join("hearts/hb.dat");
    let dir = path.parent().unwrap();
    std::fs::create_dir(dir).unwrap();
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o777)).unwrap();
    path
}

#[test]
fn requests_go_where_slots_are_free() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let port = udp_port();
    let server = Server::start(&conf(port, "", &[&a, &b]));
    // No heartbeat yet: by turns.
    let first: Vec<String> = (0..4).map(|_| who(&server)).collect();
    assert!(first.contains(&"a".into()) && first.contains(&"b".into()));
    server.wait_log("no member's heartbeat is fresh");
    let only_b = [
        format!("v=1&ready=0&busy=5&port={}", a.port),
        format!("v=1&ready=7&busy=5&port={}", b.port),
    ];
    let only_b: Vec<&[u8]> = only_b.iter().map(|m| m.as_bytes()).collect();
    beat(port, &only_b, || (0..10).all(|_| who(&server) == "b"));
    // Nothing is free: nobody is chosen, though both are usable.
    let none = [
        format!("v=1&ready=0&busy=5&port={}", a.port),
        format!("v=1&ready=3&busy=0&port={}", b.port),
    ];
    let none: Vec<&[u8]> = none.iter().map(|m| m.as_bytes()).collect();
    beat(port, &none, || who(&server) == "503");
    // Without a port the message is of all members with that address.
    beat(port, &[b"v=1&ready=4&busy=1"], || {
        let seen: Vec<String> = (0..40).map(|_| who(&server)).collect();
        seen.contains(&"a".into()) && seen.contains(&"b".into())
    });
    let jobs = server.scoreboard().jobs;
    assert!(jobs.iter().any(|j| j.name == "heartbeats"));
}

#[test]
fn a_posted_heartbeat_counts_in_every_child() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let more = "ProxyPass /beat !\n<Location /beat>\nSetHandler heartbeat\n</Location>\n";
    let server = Server::start(&conf(udp_port(), more, &[&a, &b]));
    let post = |body: String| {
        let mut client = common::Client::connect(server.port);
        let answer = client.post("/beat", body.as_bytes()).unwrap();
        (answer.status, answer.text())
    };
    assert_eq!(post("nonsense".into()).0, 400);
    assert_eq!(
        post(format!("ready=1&busy=1&x={}", "x".repeat(1000))).0,
        400
    );
    assert_eq!(get(server.port, "/beat").unwrap().status, 405);
    let ok = post(format!("ready=9&busy=1&port={}", a.port));
    assert_eq!(ok, (200, "OK".into()));
    for _ in 0..20 {
        assert_eq!(who(&server), "a");
    }
}

#[test]
fn hostile_datagrams_do_no_harm() {
    let a = Backend::start("a");
    let port = udp_port();
    let server = Server::start(&conf(port, "", &[&a]));
    let long = vec![b'x'; 4000];
    let messages: [&[u8]; 7] = [
        b"",
        b"\0\0\0",
        b"v=1",
        b"v=1&ready=99999999999&busy=1",
        b"v=1&ready=-5&busy=1",
        b"ready=5&busy=1",
        &long,
    ];
    beat(port, &messages, || {
        server.count_log("malformed message from 127.0.0.1") > 0
    });
    for _ in 0..200 {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let _ = socket.send_to(b"v=1&", ("127.0.0.1", port));
    }
    // None of them was taken for a heartbeat.
    assert_eq!(who(&server), "a");
    assert!(server.count_log("malformed message") < 20);
}

#[test]
fn the_file_is_written_where_it_is_asked_for() {
    let a = Backend::start("a");
    let port = udp_port();
    let more = "HeartbeatMaxServers 0\nHeartbeatStorage @ROOT@/hearts/hb.dat\n";
    let mut server = Server::prepare(&conf(port, more, &[&a]));
    let path = storage(&server);
    server.launch(&[], &[]);
    beat(port, &[b"v=1&ready=75&busy=3"], || {
        std::fs::read_to_string(&path).is_ok_and(|text| !text.is_empty())
    });
    let text = wait_for("a line", || std::fs::read_to_string(&path).ok());
    assert!(
        text.starts_with("127.0.0.1 &ready=75&busy=3&lastseen=") && text.ends_with("&port=80\n"),
        "{text}"
    );
}

/// The one that writes the file, and the other one.
fn holder_and_other(server: &Server) -> (Pid, Pid) {
    wait_for("a watchdog", || {
        let children = server.scoreboard().children;
        let pid = |held: bool| {
            let child = children.iter().find(|c| c.watchdog == held)?;
            Some(Pid::from_raw(child.pid))
        };
        Some((pid(true)?, pid(false)?))
    })
}

/// What is posted to a child that does not write the file stands in it all the same, beside what came
/// by datagram, and the next holder goes on with both.
#[test]
fn the_file_holds_what_was_posted_to_any_child_and_outlives_its_writer() {
    let a = Backend::start("a");
    let port = udp_port();
    let more = "HeartbeatMaxServers 0\nHeartbeatStorage @ROOT@/hearts/hb.dat\n\
                ProxyPass /beat !\n<Location /beat>\nSetHandler heartbeat\n</Location>\n";
    let mut server = Server::prepare(&conf(port, more, &[&a]));
    let path = storage(&server);
    server.launch(&[], &[]);
    let (holder, _) = holder_and_other(&server);
    let post = |port: u16| {
        let mut client = common::Client::connect(server.port);
        let body = format!("ready=1&busy=2&port={port}");
        assert_eq!(client.post("/beat", body.as_bytes()).unwrap().status, 200);
    };
    // Only the other one can answer now.
    kill(holder, Signal::SIGSTOP).unwrap();
    post(1001);
    post(1002);
    kill(holder, Signal::SIGCONT).unwrap();
    let holds = |ports: &[u16]| {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let line = |p: &u16| {
            let mut lines = text.lines();
            let end = format!("&port={p}");
            lines.any(|l| l.starts_with("127.0.0.1 &ready=") && l.ends_with(&end))
        };
        ports.iter().all(line)
    };
    beat(port, &[b"v=1&ready=1&busy=1&port=1003"], || {
        holds(&[1001, 1002, 1003])
    });
    kill(holder, Signal::SIGKILL).unwrap();
    eventually("another one holds", || {
        let children = server.scoreboard().children;
        let mut held = children.iter().filter(|c| c.watchdog);
        held.any(|c| c.pid != holder.as_raw())
    });
    post(1004);
    eventually("the file has old and new ones", || {
        holds(&[1001, 1002, 1003, 1004])
    });
}

/// One sender of made-up ports does not fill the file: others are still taken in, and the log says
/// whose heartbeats are not kept.
#[test]
fn one_address_does_not_fill_the_file() {
    let a = Backend::start("a");
    let port = udp_port();
    let more = "HeartbeatMaxServers 0\nHeartbeatStorage @ROOT@/hearts/hb.dat\n";
    let mut server = Server::prepare(&conf(port, more, &[&a]));
    let path = storage(&server);
    server.launch(&[], &[]);
    let messages: Vec<String> = (1000..1200)
        .map(|port| format!("v=1&ready=1&busy=1&port={port}"))
        .collect();
    let messages: Vec<&[u8]> = messages.iter().map(|m| m.as_bytes()).collect();
    let other = UdpSocket::bind(("127.0.0.2", 0)).unwrap();
    let text = || std::fs::read_to_string(&path).unwrap_or_default();
    beat(port, &messages, || {
        let _ = other.send_to(b"v=1&ready=1&busy=1", ("127.0.0.1", port));
        let text = text();
        let of_one = text.lines().filter(|l| l.starts_with("127.0.0.1 "));
        of_one.count() == 64 && text.contains("127.0.0.2 ")
    });
    server.wait_log("a heartbeat from 127.0.0.1 is not kept");
}

/// The socket is the supervisor's: what waits in it when its reader dies is read by the next one.
#[test]
fn a_datagram_that_waits_when_its_reader_dies_is_not_lost() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let port = udp_port();
    let server = Server::start(&conf(port, "", &[&a, &b]));
    let (holder, _) = holder_and_other(&server);
    // Until it has been heard nobody knows whether the socket is there.
    beat(port, &[b"v=1&ready=1&busy=1"], || {
        let log = server.error_log();
        who(&server).len() == 1 && !log.contains("cannot listen")
    });
    kill(holder, Signal::SIGSTOP).unwrap();
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    for (backend, ready) in [(&a, 0), (&b, 9)] {
        let message = format!("v=1&ready={ready}&busy=1&port={}", backend.port);
        let _ = socket.send_to(message.as_bytes(), ("127.0.0.1", port));
    }
    kill(holder, Signal::SIGKILL).unwrap();
    eventually("the next one has read them", || {
        (0..20).all(|_| who(&server) == "b")
    });
}

/// The socket of a port, as the kernel numbers it.
fn socket_of(port: u16) -> Option<String> {
    let all = std::fs::read_to_string("/proc/net/udp").unwrap();
    let place = format!("0100007F:{port:04X}");
    let line = all.lines().find(|l| l.contains(&place))?;
    line.split_whitespace().nth(9).map(String::from)
}

/// The next generation reads the same socket, so what waits in it at a reload is not lost; it goes
/// with its directive.
#[test]
fn a_reload_keeps_the_socket() {
    let a = Backend::start("a");
    let port = udp_port();
    let server = Server::start(&conf(port, "", &[&a]));
    let before = socket_of(port);
    assert!(before.is_some());
    server.graceful();
    assert_eq!(socket_of(port), before);
    let serving = "resuming normal operations";
    let times = server.count_log(serving);
    assert!(server.control("restart").status.success());
    eventually("a new generation", || server.count_log(serving) > times);
    assert_eq!(socket_of(port), before);
    let text = conf(port, "", &[&a]).replace("HeartbeatListen", "#");
    server.configure(&text);
    server.graceful();
    eventually("it is gone", || socket_of(port).is_none());
}

#[test]
fn a_muster_tells_how_much_room_it_has() {
    let gate = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&gate);
    let a = Backend::with(move |_| {
        common::eventually("the test goes on", || open.load(Ordering::SeqCst));
        common::backend::Reply::Text("a".into())
    });
    let ear = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    ear.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let server = Server::start(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 2\nMaxRequestWorkers 7\nWatchdogInterval 100ms\n\
         HeartbeatAddress {}\nProxyPass / http://127.0.0.1:{}/\n",
        ear.local_addr().unwrap(),
        a.port
    ));
    let heard = || {
        let mut buffer = [0; 200];
        let n = ear.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..n]).into_owned()
    };
    assert_eq!(heard(), "v=1&ready=7&busy=0");
    let mut client = common::Client::connect(server.port);
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    eventually("a request is told of", || heard() == "v=1&ready=6&busy=1");
    let (holder, _) = holder_and_other(&server);
    gate.store(true, Ordering::SeqCst);
    client.response("GET").unwrap();
    kill(holder, Signal::SIGKILL).unwrap();
    // What the dead one sent may still wait.
    eventually("another child goes on", || {
        let next = holder_and_other(&server).0;
        next != holder && heard() == "v=1&ready=7&busy=0"
    });
    let jobs = server.scoreboard().jobs;
    assert!(jobs.iter().any(|j| j.name == "heartbeat sender"));
}

#[test]
fn wrong_directives_are_refused() {
    let server = Server::prepare("");
    for (line, text) in [
        ("HeartbeatListen 239.0.0.1", "No port provided"),
        ("HeartbeatListen 127.0.0.1:0", "the port must be a number"),
        (
            "HeartbeatListen 127.0.0.1:1\nHeartbeatListen 127.0.0.1:2",
            "May only be specified once",
        ),
        ("HeartbeatAddress 239.0.0.1", "No port provided"),
        ("HeartbeatAddress 127.0.0.1:x", "the port must be a number"),
        (
            "HeartbeatAddress 127.0.0.1:1\nHeartbeatAddress 127.0.0.1:2",
            "HeartbeatAddress: May only be specified once",
        ),
        ("HeartbeatMaxServers 5", "Should be 0 for file storage"),
        ("HeartbeatMaxServers x", "Should be 0 for file storage"),
    ] {
        server.configure(&format!("Listen 127.0.0.1:@PORT@\n{line}\n"));
        let out = server.muster(&["-t"]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(
            !out.status.success() && said.contains(text),
            "{line}: {said}"
        );
    }
}
