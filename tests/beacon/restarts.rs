//! What was heard before a restart or a reload is known after it.

use super::*;

/// What was recorded before a restart of any kind is of no use to whoever recorded it.
#[test]
fn replays_are_seen_after_every_kind_of_restart() {
    let backend = Backend::start("a");
    let beacon = udp_port();
    let mut server = Server::start(&conf(beacon, 4, "30", ""));
    let mut peer = Peer::new(beacon);
    let mut last = Vec::new();
    for kind in ["HUP", "stop", "graceful stop", "kill"] {
        holder(&server);
        eventually("it joined", || {
            last = peer.announce(backend.port, "");
            is_member(&server, backend.port)
        });
        eventually("the last one is recorded", || {
            receiver(&server).leases[0].last_ts == peer.last
        });
        let pid = server.pid();
        match kind {
            "HUP" => {
                server.signal(Signal::SIGHUP);
                eventually("the new generation serves, with a new table", || {
                    let new = server.scoreboard();
                    let balancer = new.balancers.first();
                    new.generation.0 > 0 && balancer.is_some_and(|b| b.members.is_empty())
                });
            }
            "stop" | "graceful stop" => {
                let graceful = kind != "stop";
                server.signal(if graceful {
                    Signal::SIGWINCH
                } else {
                    Signal::SIGTERM
                });
                server.wait_exit();
                server.launch(&[], &[]);
            }
            _ => {
                kill_all(pid);
                server.wait_exit();
                server.launch(&[], &[]);
            }
        }
        holder(&server);
        eventually(&format!("the replay after {kind} is counted"), || {
            peer.send(&last);
            drops(&server, "replayed/reordered ts") > 0
        });
        assert!(members(&server).is_empty(), "{kind}");
    }
    // A new message is one.
    peer.announce(backend.port, "");
    eventually("it joined again", || is_member(&server, backend.port));
}

/// The process that is alone too.
#[test]
fn a_single_process_leaves_its_marks() {
    let backend = Backend::start("a");
    let beacon = udp_port();
    let mut server = Server::prepare(&conf(beacon, 4, "30", ""));
    server.launch(&["-X"], &[]);
    let mut peer = Peer::new(beacon);
    let mut last = Vec::new();
    eventually("it joined", || {
        last = peer.announce(backend.port, "");
        is_member(&server, backend.port)
    });
    server.signal(Signal::SIGTERM);
    server.wait_exit();
    server.launch(&[], &[]);
    holder(&server);
    eventually("the replay is counted", || {
        peer.send(&last);
        drops(&server, "replayed/reordered ts") > 0
    });
    assert!(members(&server).is_empty());
}

/// A disk that is full at the stop, and whatever stands where the marks are written first.
#[test]
fn marks_that_cannot_be_saved_stay_in_the_table() {
    let backend = Backend::start("a");
    let beacon = udp_port();
    let mut server = Server::start(&conf(beacon, 4, "30", ""));
    let mut peer = Peer::new(beacon);
    let table = server.table();
    let beside = table.with_extension("beacons.new");
    for kind in ["pipe", "not writable"] {
        holder(&server);
        let last = peer.announce(backend.port, "");
        eventually("it joined", || is_member(&server, backend.port));
        if kind == "pipe" {
            nix::unistd::mkfifo(&beside, nix::sys::stat::Mode::S_IRWXU).unwrap();
        } else {
            fs::create_dir_all(beside.join("full")).unwrap();
            // What an earlier stop wrote knows nothing of the last one.
            fs::remove_file(table.with_extension("beacons")).unwrap();
        }
        server.signal(Signal::SIGTERM);
        server.wait_exit();
        assert_eq!(table.exists(), kind != "pipe", "{}", server.story());
        server.launch(&[], &[]);
        holder(&server);
        eventually(&format!("the replay is counted ({kind})"), || {
            peer.send(&last);
            drops(&server, "replayed/reordered ts") > 0
        });
        assert!(members(&server).is_empty(), "{kind}");
    }
    server.wait_log("could not save the replay marks of announcements");
}

/// A receiver that a reload takes away and another brings back knows what was sent to it before,
/// also when all was killed meanwhile; and what else a reload changes holds at once.
#[test]
fn a_reload_that_changes_a_receiver_forgets_no_mark() {
    let (a, b) = (Backend::start("a").port, Backend::start("b").port);
    let beacon = udp_port();
    let skew = |t: &str| format!("ProxyBeaconMaxSkew {t}");
    let on = conf(beacon, 1, "30", &skew("60"));
    let lines = on.lines().filter(|l| !l.starts_with("ProxyBeacon"));
    let off = lines.collect::<Vec<_>>().join("\n");
    let mut server = Server::start(&on);
    let mut peer = Peer::new(beacon);
    let old = peer.announce(a, "");
    eventually("it joined", || is_member(&server, a));
    let reload = |server: &Server, conf: &str, listens: usize| {
        let before = server.scoreboard().generation;
        server.configure(conf);
        server.graceful();
        eventually("the new generation serves alone", || {
            let table = server.scoreboard();
            let mut old = table.children.iter().filter(|c| is_muster(c.pid));
            table.generation > before && !old.any(|c| c.generation < table.generation)
        });
        eventually("it listens", || {
            server.count_log("listening for beacons on") >= listens
        });
    };
    reload(&server, &off, 1);
    server.wait_log("no ProxyBeaconListen feeds it any more, and 1 member(s)");
    reload(&server, &on, 2);
    peer.announce(a, " state=leaving");
    eventually("it left", || !is_member(&server, a));
    reload(&server, &off, 2);
    reload(&server, &on, 3);
    peer.send(&old);
    eventually("the replay is counted", || {
        drops(&server, "replayed/reordered ts") == 1
    });
    assert!(!is_member(&server, a));
    // Killed while there was no receiver.
    reload(&server, &off, 3);
    kill_all(server.pid());
    server.wait_exit();
    server.configure(&on);
    server.launch(&[], &[]);
    holder(&server);
    eventually("the replay is counted after a crash", || {
        peer.send(&old);
        drops(&server, "replayed/reordered ts") > 0
    });
    assert!(members(&server).is_empty());
    // More room is used at once, and what is not allowed any more is taken out.
    peer.announce(a, "");
    eventually("it joined again", || is_member(&server, a));
    peer.announce(b, "");
    eventually("there is no room", || {
        drops(&server, "balancer add failed (full?)") > 0
    });
    reload(&server, &conf(beacon, 2, "30", &skew("300ms")), 5);
    peer.announce(b, "");
    eventually("there is room now", || is_member(&server, b));
    let old = peer.announce(b, " state=leaving");
    eventually("it left", || !is_member(&server, b));
    eventually("its mark is released", || {
        receiver(&server).leases.len() == 1
    });
    let list = "ProxyBeaconAllow 10.0.0.0/8 127.0.0.2/32";
    reload(
        &server,
        &conf(beacon, 2, "30", &format!("{}\n{list}", skew("60"))),
        6,
    );
    eventually("it is out", || {
        members(&server).contains(&format!("{a} Init Dis Bcn"))
    });
    let stale = drops(&server, "stale timestamp");
    peer.send(&old);
    eventually("it is as stale as it was", || {
        drops(&server, "stale timestamp") > stale
    });
}

/// The supervisor first, so that it starts no other child.
fn kill_all(supervisor: i32) {
    let mut all = vec![supervisor];
    all.extend(children_of(supervisor));
    for pid in &all {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    eventually("all are gone", || {
        !all.iter().skip(1).any(|p| is_muster(*p))
    });
}
