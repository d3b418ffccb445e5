//! Backends that announce themselves, end to end: they join, leave, return; the reader of their
//! datagrams is killed; what is forged, replayed or too much has no effect.

mod common;
#[path = "beacon/peer.rs"]
mod peer;
#[path = "beacon/restarts.rs"]
mod restarts;

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use common::server::{children_of, is_muster};
use common::{Backend, Client, Server, eventually, free_port, get, wait_for};
use muster::shm::{BeaconInfo, ChildInfo, status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use peer::{Peer, SECRET, now, siphash};

/// What senders sign is what anybody else who knows the two algorithms signs, and each receiver
/// takes the ones that its configuration names.
#[test]
fn both_algorithms_are_spoken_and_understood() {
    let key: [u8; 16] = std::array::from_fn(|i| i as u8);
    let input: [u8; 15] = std::array::from_fn(|i| i as u8);
    // From the description of SipHash.
    assert_eq!(siphash(&key, &input), 0xa129_ca61_49be_45e5);

    let wanted = |port: u16| move |b: &BeaconInfo| b.address.ends_with(&format!(":{port}"));
    let ports: Vec<u16> = (0..3).map(|_| udp_port()).collect();
    let policies = ["", "ProxyBeaconMac siphash", "ProxyBeaconMac any"];
    let mut text = "Listen 127.0.0.1:@PORT@\nStartServers 2\n".to_owned();
    for (port, policy) in ports.iter().zip(policies) {
        text += &format!(
            "<VirtualHost *:@PORT@>\nServerName r{port}.test\nProxyBeaconListen 127.0.0.1:{port}\n\
             ProxyBeaconSecret {SECRET}\n{policy}\n</VirtualHost>\n"
        );
    }
    let server = Server::start(&text);
    holder(&server);
    for (port, takes) in ports
        .iter()
        .zip([[true, false], [false, true], [true, true]])
    {
        let mut peer = Peer::new(*port);
        for (short, taken) in [false, true].into_iter().zip(takes) {
            use muster::codec::beacon::Refusal;
            let counts = || {
                let all = server.scoreboard().beacons;
                let b = all.into_iter().find(wanted(*port)).unwrap();
                (b.accepted, b.drops[Refusal::MacAlgorithm as usize])
            };
            let text = peer.text("http://10.0.0.5", "");
            let before = counts();
            let bytes = match short {
                true => peer.sign_short(&text),
                false => peer.sign(&text),
            };
            let after = match taken {
                true => (before.0 + 1, before.1),
                false => (before.0, before.1 + 1),
            };
            peer.send(&bytes);
            eventually("it is judged", || counts() != before);
            assert_eq!(counts(), after, "{port}, short: {short}");
        }
    }

    let sockets = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    let mut text = "Listen 127.0.0.1:@PORT@\nStartServers 2\n".to_owned();
    for (socket, mac) in sockets.iter().zip(["hmac-sha256", "siphash"]) {
        text += &format!(
            "<VirtualHost *:@PORT@>\nServerName {mac}.test\nProxyBeaconAddress {}\n\
             ProxyBeaconAdvertise http://10.0.0.5\nProxyBeaconSecret {SECRET}\n\
             ProxyBeaconMac {mac}\n</VirtualHost>\n",
            socket.local_addr().unwrap()
        );
    }
    let _sender = Server::start(&text);
    let peer = Peer::new(0);
    for (socket, short) in sockets.iter().zip([false, true]) {
        let wait = Some(Duration::from_secs(10));
        socket.set_read_timeout(wait).unwrap();
        let mut buffer = [0; 2048];
        let n = socket.recv(&mut buffer).unwrap();
        let bytes = buffer[..n].to_vec();
        let signed = String::from_utf8(bytes.clone()).unwrap();
        let (text, _) = signed.rsplit_once(" mac=").unwrap();
        let want = match short {
            true => peer.sign_short(text),
            false => peer.sign(text),
        };
        assert_eq!(bytes, want, "{signed}");
        assert!(
            text.starts_with("BEACON url=http://10.0.0.5 host="),
            "{text}"
        );
    }
}

fn conf(beacon: u16, growth: u16, timeout: &str, more: &str) -> String {
    format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 3\nLogLevel info\n\
         <Proxy balancer://c>\nProxySet growth={growth}\n</Proxy>\nProxyPass / balancer://c/\n\
         ProxyBeaconListen 127.0.0.1:{beacon}\nProxyBeaconBalancer c\nProxyBeaconSecret {SECRET}\n\
         ProxyBeaconTimeout {timeout}\n{more}\n"
    )
}

/// A port for datagrams that no test of this program has.
fn udp_port() -> u16 {
    wait_for("a free port for datagrams", || {
        let port = free_port();
        UdpSocket::bind(("127.0.0.1", port)).ok().map(|_| port)
    })
}

/// The members with their status, as `PORT Init Bcn Ok`.
fn members(server: &Server) -> Vec<String> {
    let mut list: Vec<String> = server.scoreboard().balancers[0]
        .members
        .iter()
        .map(|m| {
            let port = m.name.rsplit(':').next().unwrap();
            format!("{port} {}", status::text(m.status).trim_end())
        })
        .collect();
    list.sort();
    list
}

fn is_member(server: &Server, port: u16) -> bool {
    members(server).contains(&format!("{port} Init Bcn Ok"))
}

fn receiver(server: &Server) -> BeaconInfo {
    server.scoreboard().beacons.remove(0)
}

fn drops(server: &Server, reason: &str) -> u64 {
    use muster::codec::beacon::Refusal;
    let reason = Refusal::ALL.iter().find(|r| r.text() == reason).unwrap();
    receiver(server).drops[*reason as usize]
}

fn holder(server: &Server) -> ChildInfo {
    wait_for("a child is the watchdog", || {
        let table = server.scoreboard();
        table
            .children
            .into_iter()
            .find(|c| c.watchdog && is_muster(c.pid))
    })
}

fn bodies(server: &Server, n: usize) -> Vec<String> {
    let body = |_| {
        let r = get(server.port, "/x").unwrap();
        assert_eq!(r.status, 200, "{}", server.story());
        r.text().chars().take(1).collect()
    };
    (0..n).map(body).collect()
}

#[test]
fn backends_join_share_leave_and_return() {
    let backends: Vec<_> = ["a", "b", "c"].map(Backend::start).into();
    let beacon = udp_port();
    let server = Server::start(&conf(beacon, 4, "2", ""));
    assert_eq!(
        get(server.port, "/").unwrap().status,
        503,
        "nobody is there yet"
    );
    let mut peer = Peer::new(beacon);
    for b in &backends {
        peer.announce(b.port, "");
    }
    eventually("all joined", || {
        backends.iter().all(|b| is_member(&server, b.port))
    });
    let all = bodies(&server, 30);
    for name in ["a", "b", "c"] {
        assert_eq!(all.iter().filter(|b| *b == name).count(), 10, "{all:?}");
    }
    // One falls silent.
    let began = Instant::now();
    peer.announce(backends[2].port, "");
    eventually("it is evicted", || {
        for b in &backends[..2] {
            peer.announce(b.port, "");
        }
        members(&server).contains(&format!("{} Init Dis Bcn", backends[2].port))
    });
    assert!(
        began.elapsed() >= Duration::from_millis(1500),
        "not before its time"
    );
    assert!(!bodies(&server, 12).contains(&"c".to_string()));
    peer.announce(backends[2].port, "");
    eventually("it is back", || is_member(&server, backends[2].port));
    // One leaves by its own word, and comes back by another.
    peer.announce(backends[0].port, " state=leaving");
    eventually("it left", || !is_member(&server, backends[0].port));
    peer.announce(backends[0].port, "");
    eventually("it is back", || is_member(&server, backends[0].port));
    assert_eq!(server.count_log("added backend"), 3);
    assert!(
        !server.error_log().contains("0123456789"),
        "no secret in the log"
    );
}

#[test]
fn a_killed_reader_loses_no_announcement_and_no_lease() {
    let backends: Vec<_> = ["a", "b"].map(Backend::start).into();
    let (a, b) = (backends[0].port, backends[1].port);
    let beacon = udp_port();
    let server = Server::start(&conf(beacon, 4, "5", ""));
    let first = holder(&server).pid;
    let mut peer = Peer::new(beacon);
    let old = peer.announce(a, "");
    eventually("the first joined", || is_member(&server, a));
    let heard = Instant::now();
    // Nobody reads while the reader is dead, and still nothing is lost.
    kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    let killed = Instant::now();
    peer.announce(b, "");
    eventually("the other joined", || is_member(&server, b));
    assert!(
        killed.elapsed() < Duration::from_secs(2),
        "{:?}",
        killed.elapsed()
    );
    assert_ne!(holder(&server).pid, first);
    server.wait_log("took over 1 existing member(s) (1 with a current lease)");
    // What was heard before is a replay after it, and no sign of life.
    peer.send(&old);
    eventually("the replay is counted", || {
        drops(&server, "replayed/reordered ts") == 1
    });
    eventually("the first is evicted", || {
        peer.announce(b, "");
        !is_member(&server, a)
    });
    let lived = heard.elapsed();
    assert!(lived >= Duration::from_secs(4), "evicted early: {lived:?}");
    assert!(lived < Duration::from_secs(9), "kept late: {lived:?}");
    assert!(is_member(&server, b));
    peer.announce(a, "");
    eventually("the first is back", || is_member(&server, a));
}

#[test]
fn a_reload_keeps_members_leases_and_what_waits_in_the_socket() {
    let backends: Vec<_> = ["a", "b"].map(Backend::start).into();
    let (a, b) = (backends[0].port, backends[1].port);
    let beacon = udp_port();
    let server = Server::start(&conf(beacon, 4, "30", ""));
    let mut peer = Peer::new(beacon);
    let old = peer.announce(a, " route=r1 loadfactor=2.5");
    eventually("it joined", || is_member(&server, a));
    server.graceful();
    peer.announce(b, "");
    eventually("the other joined", || is_member(&server, b));
    assert!(is_member(&server, a));
    let m = server.scoreboard().balancers[0].members[0].clone();
    assert_eq!((m.route.as_str(), m.load_factor), ("r1", 250));
    assert_eq!(bodies(&server, 7).len(), 7);
    // Also into a larger table.
    server.configure(&conf(beacon, 90, "30", ""));
    server.graceful();
    eventually("the new generation reads", || {
        peer.send(&old);
        drops(&server, "replayed/reordered ts") > 0
    });
    assert!(is_member(&server, a) && is_member(&server, b));
    assert_eq!(bodies(&server, 7).len(), 7);
}

#[test]
fn what_is_not_right_has_no_effect_and_is_counted() {
    let beacon = udp_port();
    let server = Server::start(&conf(beacon, 4, "30", ""));
    holder(&server);
    let mut peer = Peer::new(beacon);
    let mut stranger = Peer::new(beacon);
    stranger.key = *b"another key 1234";
    let url = "http://127.0.0.1:1";
    let signed = |text: &str| peer.sign(text);
    let ts = now();
    let with = |more: &str| signed(&format!("BEACON url={url} ts={ts}{more}"));
    let other = |url: &str| signed(&format!("BEACON url={url} ts={ts}"));
    let mut tampered = other(url);
    tampered[12] ^= 1;
    let mut short = other(url);
    short.pop();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        (
            "mac mismatch",
            stranger.sign(&format!("BEACON url={url} ts={ts}")),
        ),
        ("mac mismatch", tampered),
        ("bad mac length", short),
        ("no mac", format!("BEACON url={url} ts={ts}").into_bytes()),
        (
            "mac algorithm not accepted",
            format!("BEACON url={url} ts={ts} mac=0123456789abcdef").into_bytes(),
        ),
        (
            "oversized datagram",
            with(&format!(" pad={}", "x".repeat(2000))),
        ),
        ("oversized datagram", vec![b'x'; 60_000]),
        ("nul in datagram", with(" a=\0")),
        ("bad format", with("  a=1")),
        ("bad format", with(" url=http://x")),
        ("bad format", signed(&format!("beacon url={url} ts={ts}"))),
        ("no ts", signed(&format!("BEACON url={url}"))),
        ("bad ts", signed(&format!("BEACON url={url} ts=-5"))),
        (
            "stale timestamp",
            signed(&format!("BEACON url={url} ts={}", ts - 31_000_000)),
        ),
        (
            "stale timestamp",
            signed(&format!("BEACON url={url} ts={}", ts + 31_000_000)),
        ),
        ("unacceptable url", other("http://127.0.0.1:1/path")),
        ("unacceptable url", other("balancer://c")),
        ("unacceptable url", other("http://169.254.169.254")),
        ("unacceptable url", other("http://u@h")),
        ("bad route", with(&format!(" route={}", "r".repeat(64)))),
        ("bad loadfactor", with(" loadfactor=101")),
        ("bad state", with(" state=gone")),
    ];
    for (reason, bytes) in cases {
        let before = drops(&server, reason);
        peer.send(&bytes);
        eventually(&format!("{reason} is counted"), || {
            drops(&server, reason) == before + 1
        });
    }
    peer.send(b"");
    assert!(members(&server).is_empty());
    let log = server.error_log();
    assert!(
        !log.contains("pad=xxx") && !log.contains("beacon url="),
        "{log}"
    );
    let last = receiver(&server).last_drop.unwrap();
    assert!(last.2.starts_with("127.0.0.1:"), "{last:?}");
    // And one that is right.
    let b = Backend::start("a");
    peer.announce(b.port, "");
    eventually("it joined", || is_member(&server, b.port));
}

#[test]
fn a_flood_is_bounded_in_log_and_memory_and_the_right_ones_come_through() {
    let backend = Backend::start("a");
    let beacon = udp_port();
    let server = Server::start(&conf(beacon, 2, "30", ""));
    holder(&server);
    let mut peer = Peer::new(beacon);
    let garbage = [b"BEACON url=http://h ts=1 mac=".as_slice(), &[b'0'; 64]].concat();
    for i in 0..20_000 {
        peer.send(&garbage);
        if i % 4000 == 3999 {
            peer.announce(backend.port, "");
        }
    }
    eventually("it joined", || {
        peer.announce(backend.port, "");
        is_member(&server, backend.port)
    });
    assert_eq!(get(server.port, "/").unwrap().status, 200);
    let r = receiver(&server);
    assert!(r.dropped() + r.overflows > 1000, "{r:?}");
    // One line a second: this took some seconds at most.
    assert!(server.count_log("announcement(s) (last: mac mismatch)") < 60);
    // More backends than records: all others are untouched.
    for i in 0..400 {
        let text = peer.text(&format!("http://10.1.{}.{}", i / 250, i % 250), "");
        peer.send(&peer.sign(&text));
        if i % 50 == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    eventually("the table is full", || {
        let text = peer.text("http://10.9.9.9", "");
        peer.send(&peer.sign(&text));
        drops(&server, "member table full") > 0
    });
    assert_eq!(receiver(&server).leases.len(), 256);
    assert!(is_member(&server, backend.port));
    assert_eq!(members(&server).len(), 2);
}

#[test]
fn a_muster_announces_itself_to_another() {
    let beacon = udp_port();
    let secret = "ProxyBeaconSecret \"new secret\"\n";
    let front = Server::start(&conf(beacon, 4, "2", "").replace(
        &format!("ProxyBeaconSecret {SECRET}\n"),
        &format!("{secret}ProxyBeaconSecret {SECRET}\n"),
    ));
    for key in ["\"new secret\"", SECRET] {
        let mut back = Server::prepare(&format!(
            "Listen 127.0.0.1:@PORT@\nStartServers 2\nDocumentRoot \"@ROOT@/htdocs\"\n\
             <Directory \"@ROOT@/htdocs\">\nRequire all granted\n</Directory>\n\
             ProxyBeaconAddress 127.0.0.1:{beacon} no.such.name.invalid:9\n\
             ProxyBeaconAdvertise http://127.0.0.1:@PORT@/\nProxyBeaconSecret {key}\nProxyBeaconInterval 100ms\n"
        ));
        back.write("htdocs/hello", "hello from behind");
        back.launch(&[], &[]);
        let port = back.port;
        eventually("it joined", || is_member(&front, port));
        let r = get(front.port, "/hello").unwrap();
        assert_eq!((r.status, r.text()), (200, "hello from behind".into()));
        // Another child goes on: later stamps, no eviction.
        let before = receiver(&front).accepted;
        kill(Pid::from_raw(holder(&back).pid), Signal::SIGKILL).unwrap();
        eventually("it goes on", || receiver(&front).accepted > before + 5);
        assert!(is_member(&front, port));
        assert_eq!(drops(&front, "replayed/reordered ts"), 0);
        drop(back);
        eventually("it is evicted", || !is_member(&front, port));
    }
}

#[test]
fn a_secret_that_others_can_read_is_refused() {
    let server = Server::prepare(&conf(udp_port(), 1, "1", "").replace(
        &format!("ProxyBeaconSecret {SECRET}"),
        "ProxyBeaconSecretFile \"@ROOT@/secret\"",
    ));
    server.write("secret", format!("{SECRET}\n"));
    let secret = server.root.join("secret");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    let out = server.muster(&["-t"]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        !out.status.success() && text.contains("mode 0644"),
        "{text}"
    );
    assert!(!text.contains(SECRET));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let out = server.muster(&["-t"]);
    assert!(out.status.success(), "{out:?}");
    let dump = server.muster(&["-t", "-D", "DUMP_CONFIG"]);
    assert!(!String::from_utf8_lossy(&dump.stdout).contains(SECRET));
}

/// Old children that still answer somebody must not keep the new receiver deaf, whichever of the
/// two addresses the system prefers.
#[test]
fn the_address_changes_at_a_reload_and_nobody_is_evicted() {
    let backends: Vec<_> = ["a", "b", "c"].map(Backend::start).into();
    let beacon = udp_port();
    let with = |place: &str| {
        let place = format!("ProxyBeaconListen {place}:{beacon}\n");
        conf(beacon, 4, "5", "KeepAliveTimeout 120")
            .replace(&format!("ProxyBeaconListen 127.0.0.1:{beacon}\n"), &place)
    };
    let server = Server::start(&with("127.0.0.1"));
    let mut peer = Peer::new(beacon);
    peer.announce(backends[0].port, "");
    eventually("it joined", || is_member(&server, backends[0].port));
    for (place, next) in [("0.0.0.0", 1), ("127.0.0.1", 2)] {
        // Connections that keep each child of the old generation.
        let idle: Vec<_> = (0..12)
            .map(|_| {
                let mut client = Client::connect(server.port);
                client.get("/x").unwrap();
                client
            })
            .collect();
        server.configure(&with(place));
        server.graceful();
        eventually("the next joined", || {
            for b in &backends[..=next] {
                peer.announce(b.port, "");
            }
            is_member(&server, backends[next].port)
        });
        assert!(is_member(&server, backends[0].port));
        drop(idle);
    }
    assert_eq!(server.count_log("evicted backend"), 0);
    assert_eq!(server.count_log("cannot listen for beacons"), 0);
}

/// The address may be a name; it is looked up by whoever reads there.
#[test]
fn a_receiver_may_be_told_by_name() {
    let backends: Vec<_> = ["a", "b"].map(Backend::start).into();
    let beacon = udp_port();
    let by_name = |more: &str| {
        conf(beacon, 4, "30", more)
            .replace("ProxyBeaconListen 127.0.0.1", "ProxyBeaconListen localhost")
    };
    let server = Server::start(&by_name(""));
    let mut peer = Peer::new(beacon);
    for (i, b) in backends.iter().enumerate() {
        eventually("it joined", || {
            peer.announce(b.port, "");
            is_member(&server, b.port)
        });
        if i == 0 {
            server.configure(&by_name("Timeout 50"));
            server.graceful();
        }
    }
    assert_eq!(server.count_log("cannot listen for beacons"), 0);
}

/// A holder of the secret cannot make the proxy talk to places that its operator did not list.
#[test]
fn the_operator_says_where_backends_may_be() {
    let backend = Backend::start("a");
    let beacon = udp_port();
    let allow = "ProxyBeaconAllow 127.0.0.0/8 10.0.0.0/8\nProxyBeaconAllow *.backends.test";
    let server = Server::start(&conf(beacon, 4, "30", allow));
    holder(&server);
    let mut peer = Peer::new(beacon);
    for (i, host) in ["192.0.2.1", "169.254.169.254", "localhost", "web1.test"]
        .iter()
        .enumerate()
    {
        let text = peer.text(&format!("http://{host}"), "");
        peer.send(&peer.sign(&text));
        eventually(&format!("{host} is refused"), || {
            drops(&server, "url not allowed") == 1 + i as u64
        });
    }
    // The tool says the same of it.
    let text = peer.text("http://192.0.2.1", "");
    let datagram = String::from_utf8(peer.sign(&text)).unwrap();
    let out = server.muster(&["beacon", "check", &datagram]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        !out.status.success() && said.contains("dropped: url not allowed"),
        "{said}"
    );
    let text = peer.text("http://a.backends.test", "");
    peer.send(&peer.sign(&text));
    peer.announce(backend.port, "");
    eventually("the others joined", || members(&server).len() == 2);
    server.wait_log("dropped 1 announcement(s) (last: url not allowed)");
}

/// Every page says how long a member's lease still runs and what was dropped last, from whom; none
/// says the secret.
#[test]
fn pages_show_leases_and_drops() {
    let backends: Vec<_> = ["a", "b"].map(Backend::start).into();
    let beacon = udp_port();
    let pages = "ProxyStatus On\n<Location /m>\nSetHandler balancer-manager\nRequire all granted\n\
                 </Location>\n<Location /s>\nSetHandler server-status\nRequire all granted\n</Location>";
    let text = conf(beacon, 4, "30", pages);
    let text = text.replace(
        "ProxyPass / ",
        "ProxyPass /m !\nProxyPass /s !\nProxyPass / ",
    );
    let server = Server::start(&text);
    holder(&server);
    let mut peer = Peer::new(beacon);
    for b in &backends {
        peer.announce(b.port, "");
    }
    eventually("both joined", || members(&server).len() == 2);
    peer.announce(backends[1].port, " state=leaving");
    peer.send(b"BEACON mac=");
    eventually("the last one is dropped", || {
        drops(&server, "bad mac length") == 1
    });
    let page = |path: &str| {
        let r = get(server.port, path).unwrap();
        assert_eq!(r.status, 200, "{path}");
        let text = r.text();
        assert!(!text.contains(&SECRET[4..]), "{path}");
        text
    };
    for (path, parts) in [
        ("/m", vec![">live, 2", " s left<", ">left<"]),
        (
            "/m?xml=1",
            vec![
                "<httpd:lease>live</httpd:lease>",
                "<httpd:leaseremaining>2",
                "<httpd:lease>left</httpd:lease>",
            ],
        ),
        (
            "/m?json",
            vec![
                "\"lease\":{\"state\":\"live\",\"remaining_ms\":2",
                "\"lease\":{\"state\":\"left\",\"remaining_ms\":null}",
            ],
        ),
        (
            "/s",
            vec![
                "(last: bad mac length, from 127.0.0.1:",
                "<p>Dropped: 1 &times; bad mac length</p>",
                "<td>live</td>",
                "<td>left</td>",
            ],
        ),
        (
            "/s?auto",
            vec![
                "Lease: live\n",
                "LeaseRemaining: 2",
                "Lease: left\n",
                "ProxyBeacon[0]Balancer: balancer://c\nProxyBeacon[0]Accepted: 3\nProxyBeacon[0]Dropped: 1\n",
                "ProxyBeacon[0]LastDrop: bad mac length\n",
                "ProxyBeacon[0]LastDropFrom: 127.0.0.1:",
            ],
        ),
    ] {
        let text = page(path);
        for part in parts {
            assert!(text.contains(part), "{path}: {part}\n{text}");
        }
    }
    let out = server.muster(&["scoreboard"]);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    for part in [
        "(last: bad mac length, from 127.0.0.1:",
        "1 x bad mac length",
        "live",
        "left",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// The reader is stopped for longer than a lease lasts while the backend goes on announcing itself;
/// then more threads than there are processors do nothing but count. Announcements that wait are read
/// before anybody is judged, and checks are measured by the clock: nobody is evicted, and the work
/// goes on afterwards.
#[test]
fn neither_a_stopped_reader_nor_busy_processors_evict_who_is_there() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let (a, checked) = (Backend::start("a"), Backend::start("c"));
    let beacon = udp_port();
    let more = format!(
        "<Proxy balancer://h>\nBalancerMember http://127.0.0.1:{} hcmethod=TCP hcinterval=200ms hcfails=1\n</Proxy>",
        checked.port
    );
    let server = Server::start(&conf(beacon, 4, "2", &more));
    let over = Arc::new(AtomicBool::new(false));
    let announcer = {
        let (over, port) = (over.clone(), a.port);
        std::thread::spawn(move || {
            let mut peer = Peer::new(beacon);
            while !over.load(Relaxed) {
                peer.announce(port, "");
                std::thread::park_timeout(Duration::from_millis(200));
            }
        })
    };
    let checks = || {
        let table = server.scoreboard();
        let mut all = table.balancers.iter().flat_map(|b| &b.members);
        all.find_map(|m| m.health.as_ref()).unwrap().checks
    };
    eventually("it joined and the other is checked", || {
        is_member(&server, a.port) && checks() > 1
    });
    let lasts = |what: &str, time: Duration| {
        let end = Instant::now() + time;
        eventually(what, || {
            assert!(is_member(&server, a.port), "{what}: {}", server.story());
            Instant::now() >= end
        });
    };
    let go_on = |what: &str| {
        let (before, accepted) = (checks(), receiver(&server).accepted);
        eventually(what, || {
            checks() > before + 2 && receiver(&server).accepted > accepted + 2
        });
        lasts(what, Duration::from_secs(1));
    };

    let reader = Pid::from_raw(holder(&server).pid);
    kill(reader, Signal::SIGSTOP).unwrap();
    lasts("its reader is stopped", Duration::from_secs(3));
    for _ in 0..10 {
        assert_eq!(get(server.port, "/").unwrap().status, 200);
    }
    kill(reader, Signal::SIGCONT).unwrap();
    go_on("after the stop");

    let burners: Vec<_> = (0..8)
        .map(|_| {
            let over = over.clone();
            std::thread::spawn(move || {
                while !over.load(Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    lasts("processors are busy", Duration::from_secs(3));
    assert_eq!(get(server.port, "/").unwrap().status, 200);
    go_on("beside them");
    over.store(true, Relaxed);
    for thread in burners {
        thread.join().unwrap();
    }
    announcer.join().unwrap();
    assert_eq!(server.count_log("Health check DISABLING"), 0);
    assert_eq!(server.count_log("evicted"), 0);
}

/// Two servers, one balancer, two secrets: each receiver's backends outlive reloads and the other's
/// silence.
#[test]
fn two_receivers_feed_one_balancer() {
    let backends: Vec<_> = ["a", "b"].map(Backend::start).into();
    let (a, b) = (backends[0].port, backends[1].port);
    let (first, second) = (udp_port(), udp_port());
    let other = format!(
        "<VirtualHost *:@PORT@>\nServerName other.test\nProxyBeaconListen 127.0.0.1:{second}\n\
         ProxyBeaconBalancer c\nProxyBeaconSecret hex:ffffffffffffffffffffffffffffffff\n\
         ProxyBeaconTimeout 2\n</VirtualHost>\n"
    );
    let server = Server::start(&conf(first, 4, "2", &other));
    let mut one = Peer::new(first);
    let mut two = Peer::new(second);
    two.key = [0xff; 16];
    let mut both = |what: &str, holds: &dyn Fn() -> bool| {
        eventually(what, || {
            one.announce(a, "");
            two.announce(b, "");
            holds()
        });
    };
    both("both joined", &|| {
        is_member(&server, a) && is_member(&server, b)
    });
    server.graceful();
    let began = Instant::now();
    both("both outlive the timeout of the other one", &|| {
        began.elapsed() > Duration::from_millis(3500)
    });
    assert!(is_member(&server, a) && is_member(&server, b));
    assert_eq!(server.count_log("evicted backend"), 0);
    eventually("one alone is evicted", || {
        one.announce(a, "");
        !is_member(&server, b)
    });
    assert!(is_member(&server, a));
}
