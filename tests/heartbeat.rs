//! Heartbeats of backends: received, used for choosing, written to a file; hostile ones do no harm.

mod common;

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use common::{Backend, Server, eventually, get, wait_for};

fn udp_port() -> u16 {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    socket.local_addr().unwrap().port()
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
    let path = server.root.join("hearts/hb.dat");
    // A child writes it, which runs as another user when the tests are run by root.
    let dir = path.parent().unwrap();
    std::fs::create_dir(dir).unwrap();
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o777)).unwrap();
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
