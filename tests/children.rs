//! Children: how they share connections, run out, wear out, and end.

mod common;

use std::time::Duration;

use common::server::{descriptors, is_muster};
use common::{Backend, Client, Server, eventually, get, wait_for};
use muster::shm::ChildState;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn proxy(children: u32, backend: &Backend, more: &str) -> Server {
    Server::start(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers {children}\nKeepAliveTimeout 30\n{more}\n\
         ProxyPass / http://127.0.0.1:{}/\n",
        backend.port
    ))
}

/// A keep-alive connection that was answered once.
fn kept(port: u16) -> Client {
    let mut client = Client::connect(port);
    assert_eq!(client.get("/").unwrap().status, 200);
    client
}

#[test]
fn long_lived_connections_are_shared_evenly() {
    let backend = Backend::start("b");
    for children in [2, 4] {
        let server = proxy(children, &backend, "");
        // All at once, as a load balancer in front or a benchmark opens them.
        let mut open: Vec<Client> = (0..64).map(|_| Client::connect(server.port)).collect();
        for client in &mut open {
            client
                .send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .unwrap();
        }
        let counts = wait_for("all are accepted", || {
            let table = server.scoreboard();
            let counts: Vec<u32> = table.children.iter().map(|c| c.connections).collect();
            (counts.iter().sum::<u32>() == 64).then_some(counts)
        });
        let most = *counts.iter().max().unwrap();
        assert!(
            f64::from(most) <= 1.3 * 64.0 / f64::from(children),
            "{counts:?}"
        );
        for mut client in open {
            assert_eq!(client.response("GET").unwrap().status, 200);
        }
    }
}

#[test]
fn a_stopped_child_keeps_nobody_waiting() {
    let backend = Backend::start("b");
    let server = proxy(4, &backend, "");
    let stopped = Pid::from_raw(server.children()[1]);
    kill(stopped, Signal::SIGSTOP).unwrap();
    for _ in 0..200 {
        let mut client = Client::connect(server.port);
        client
            .send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        assert_eq!(client.response("GET").unwrap().status, 200);
    }
    kill(stopped, Signal::SIGCONT).unwrap();
    assert_eq!(get(server.port, "/").unwrap().status, 200);
}

#[test]
fn a_killed_child_loses_its_own_connections_only() {
    let backend = Backend::start("b");
    let server = proxy(2, &backend, "");
    let mut clients: Vec<Client> = (0..16).map(|_| kept(server.port)).collect();
    let victim = server.scoreboard().children[0].clone();
    kill(Pid::from_raw(victim.pid), Signal::SIGKILL).unwrap();
    eventually("the child is replaced", || {
        let table = server.scoreboard();
        table.children.len() == 2
            && table
                .children
                .iter()
                .all(|c| c.pid != victim.pid && c.state == ChildState::Serving)
    });
    let alive = clients
        .iter_mut()
        .filter_map(|c| c.get("/").ok())
        .filter(|r| r.status == 200)
        .count();
    assert_eq!(alive, 16 - victim.connections as usize);
    eventually("nothing counts as in flight", || {
        server.scoreboard().children.iter().all(|c| c.requests == 0)
    });
    eventually("one child is the watchdog", || {
        let table = server.scoreboard();
        table.children.iter().filter(|c| c.watchdog).count() == 1
    });
}

#[test]
fn descriptors_that_run_out_cost_idle_connections_first() {
    let backend = Backend::start("b");
    let mut server = Server::prepare(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\nKeepAliveTimeout 60\n\
         ProxyPass / http://127.0.0.1:{}/\n",
        backend.port
    ));
    let mut process = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 64; exec \"$0\" -f \"$1\" -DFOREGROUND"])
        .arg(common::server::binary())
        .arg(server.conf())
        .stdin(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert!(server.wait_serving().is_ok());
    let child = server.children()[0];
    let _kept: Vec<Client> = (0..100).map(|_| kept(server.port)).collect();
    assert!(descriptors(child) <= 64);
    let complaints = server.count_log("no more connections can be accepted");
    assert!(complaints <= 5, "{}", server.story());
    // Half a request each: none of these is idle, so nothing can be freed. No busy loop follows.
    let halves: Vec<Client> = (0..80)
        .map(|_| {
            let mut client = Client::connect(server.port);
            client.send("GET / HTTP/1.1\r\nHo").unwrap();
            client
        })
        .collect();
    server.wait_log("no more connections can be accepted");
    let before = processor_ticks(child);
    std::thread::sleep(Duration::from_secs(1));
    assert!(processor_ticks(child) - before <= 10);
    drop(halves);
    assert_eq!(get(server.port, "/").unwrap().status, 200);
    server.signal(Signal::SIGTERM);
    process.wait().unwrap();
}

/// Processor time of a process so far, in hundredths of a second.
fn processor_ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_worn_out_child_is_replaced_without_a_loss() {
    let backend = Backend::start("b");
    let server = proxy(2, &backend, "MaxConnectionsPerChild 20");
    let before = server.children();
    for _ in 0..150 {
        let mut client = Client::connect(server.port);
        client
            .send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        assert_eq!(client.response("GET").unwrap().status, 200);
    }
    eventually("both children are new ones", || {
        get(server.port, "/").unwrap();
        let now = server.children();
        now.len() == 2 && before.iter().all(|p| !now.contains(p))
    });
}

#[test]
fn without_a_supervisor_children_answer_and_end() {
    let gate = common::backend::Gate::default();
    let pass = gate.clone();
    let backend = Backend::with(move |_| {
        pass.pass();
        common::backend::Reply::Text("late".into())
    });
    let server = proxy(2, &backend, "");
    let children = server.children();
    let mut waiting = Client::connect(server.port);
    waiting
        .send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    eventually("the request is under way", || backend.count() == 1);
    kill(Pid::from_raw(server.pid()), Signal::SIGKILL).unwrap();
    eventually("nobody listens any more", || {
        Client::try_connect(server.port).is_err()
    });
    gate.open();
    let answer = waiting.response("GET").unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("Connection"), Some("close"));
    assert!(waiting.closed());
    eventually("the children are gone", || {
        children.iter().all(|p| !is_muster(*p))
    });
}

#[test]
fn reloads_under_load_lose_nothing() {
    let backend = Backend::start("b");
    let server = proxy(2, &backend, "");
    let port = server.port;
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let load: Vec<_> = (0..6)
        .map(|i| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let mut client = Client::connect(port);
                let mut done = 0u32;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let answer = client.get("/").unwrap();
                    assert_eq!(answer.status, 200);
                    done += 1;
                    if i % 2 == 0 || answer.field("Connection") == Some("close") {
                        client = Client::connect(port);
                    }
                    // Now and then a client rests longer than a reload takes.
                    if done.is_multiple_of(40) {
                        std::thread::sleep(Duration::from_millis(120));
                    }
                }
                done
            })
        })
        .collect();
    for _ in 0..12 {
        server.graceful();
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let done: u32 = load.into_iter().map(|t| t.join().unwrap()).sum();
    assert!(done > 100);
}
