//! Health checks end to end: when a member leaves and returns, what it is sent, who checks.

mod common;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::backend::Reply;
use common::{Backend, Server, eventually, get, wait_for};
use muster::shm::{Snapshot, WorkerInfo, status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const HEAD: &str = "Listen 127.0.0.1:@PORT@\nStartServers 2\nLogLevel proxy_hcheck:debug\nProxyPass / balancer://c/\n";

fn balancer(members: &str) -> String {
    format!("{HEAD}<Proxy balancer://c>\n{members}</Proxy>\n")
}

fn member(port: u16, rest: &str) -> String {
    format!("BalancerMember http://127.0.0.1:{port} {rest}\n")
}

/// A backend whose answers have the status that the number says.
fn moody(status: &Arc<AtomicU16>) -> Backend {
    let status = Arc::clone(status);
    Backend::with(move |_| {
        let status = status.load(Ordering::SeqCst);
        Reply::RawThenClose(
            format!("HTTP/1.1 {status} X\r\nContent-Length: 4\r\n\r\nbody").into_bytes(),
        )
    })
}

fn find(table: &Snapshot, port: u16) -> WorkerInfo {
    let name = format!("http://127.0.0.1:{port}");
    let members = table.balancers.iter().flat_map(|b| &b.members);
    members.clone().find(|w| w.name == name).unwrap().clone()
}

fn text(server: &Server, port: u16) -> String {
    status::text(find(&server.scoreboard(), port).status)
}

fn watchdog(server: &Server) -> i32 {
    wait_for("a watchdog", || {
        let table = server.scoreboard();
        table.children.iter().find(|c| c.watchdog).map(|c| c.pid)
    })
}

#[test]
fn a_member_leaves_after_so_many_bad_checks_and_returns_after_so_many_good_ones() {
    let mood = Arc::new(AtomicU16::new(200));
    let a = moody(&mood);
    let b = Backend::start("b");
    let conf = balancer(&format!(
        "{}{}",
        member(
            a.port,
            "hcmethod=GET hcuri=/up hcinterval=100ms hcfails=3 hcpasses=2"
        ),
        member(b.port, "")
    ));
    let server = Server::start(&conf);
    eventually("a few good checks", || a.count() >= 3);
    assert_eq!(text(&server, a.port), "Init Ok ");
    assert_eq!(
        a.seen()[0].head,
        format!("GET /up HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", a.port)
    );
    let before = find(&server.scoreboard(), a.port);
    mood.store(503, Ordering::SeqCst);
    eventually("it is taken out", || text(&server, a.port) == "Init HcFl ");
    let bad = find(&server.scoreboard(), a.port).health.unwrap().bad;
    assert!(bad >= 3, "{bad}");
    for _ in 0..6 {
        assert!(get(server.port, "/").unwrap().text().starts_with("b "));
    }
    mood.store(200, Ordering::SeqCst);
    eventually("it is back", || text(&server, a.port) == "Init Ok ");
    // Checks are not elections, and count no traffic.
    let after = find(&server.scoreboard(), a.port);
    assert_eq!(
        (after.elected, after.sent, after.received),
        (before.elected, 0, 0)
    );
    eventually("a gets requests again", || {
        get(server.port, "/").unwrap().text() == "body"
    });
}

#[test]
fn log_lines_tell_of_each_step() {
    let mood = Arc::new(AtomicU16::new(500));
    let a = moody(&mood);
    let conf = balancer(&member(a.port, "hcmethod=head hcinterval=100ms"))
        .replace("proxy_hcheck:debug", "info proxy_hcheck:debug");
    let server = Server::start(&conf);
    let name = format!("http://127.0.0.1:{}", a.port);
    server.wait_log(&format!(
        "Health check DISABLING {name} of balancer://c: status 500"
    ));
    mood.store(302, Ordering::SeqCst);
    server.wait_log(&format!("Health check ENABLING {name} of balancer://c"));
    server.wait_log(&format!("Health checking {name}"));
    server.wait_log(&format!("Health check HEAD Status (1) for {name}."));
    server.wait_log(&format!("Health check HEAD Status (0) for {name}."));
}

#[test]
fn a_member_in_error_is_brought_back_before_its_retry_time() {
    let port = common::server::free_port();
    let b = Backend::start("b");
    let conf = balancer(&format!(
        "{}{}",
        member(
            port,
            "retry=3600 hcmethod=TCP hcinterval=100ms hcfails=1000000"
        ),
        member(b.port, "")
    ));
    let server = Server::start(&conf);
    eventually("it is in error", || {
        assert!(get(server.port, "/").unwrap().text().starts_with("b "));
        text(&server, port) == "Init Err "
    });
    let a = Backend::at(port, |_| Reply::Text("a".into()));
    eventually("the error is over", || text(&server, port) == "Init Ok ");
    eventually("a answers", || get(server.port, "/").unwrap().text() == "a");
    drop(a);
}

#[test]
fn refusing_stalling_and_babbling_members_fail() {
    let stalls = Backend::with(|_| Reply::RawThenHang(b"HTTP/1.1 200 OK\r\nX: ".to_vec()));
    let babbles = Backend::with(|_| Reply::RawThenClose(b"\r\nHTTP/1.1 200 OK\r\n\r\n".to_vec()));
    let resets = Backend::with(|_| Reply::Reset);
    let refuses = common::server::free_port();
    let good = Backend::start("good");
    let hc = "hcmethod=GET11 hcinterval=100ms timeout=1";
    let ports = [stalls.port, babbles.port, resets.port, refuses, good.port];
    let lines: String = ports.iter().map(|p| member(*p, hc)).collect();
    let server = Server::start(&balancer(&lines));
    for port in &ports[..4] {
        eventually("it failed", || text(&server, *port) == "Init HcFl ");
    }
    assert_eq!(text(&server, good.port), "Init Ok ");
    // One that stalls delays nobody.
    let before = good.count();
    eventually("the good one is checked on", || good.count() > before + 5);
    assert_eq!(
        good.seen()[0].head,
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", good.port)
    );
}

#[test]
fn expressions_and_templates_decide() {
    let a = Backend::with(|_| {
        Reply::RawThenClose(b"HTTP/1.1 503 X\r\nContent-Length: 11\r\n\r\nall is well".to_vec())
    });
    let b = Backend::with(|_| {
        Reply::RawThenClose(
            b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n11\r\nUnder maintenance\r\n0\r\n\r\n".to_vec(),
        )
    });
    let c = Backend::start("c");
    let conf = format!(
        "ProxyHCExpr Well {{hc('body') =~ /well/}}\n\
         ProxyHCExpr open \"hc('body') !~ /maintenance/\"\n\
         ProxyHCExpr ok234 {{%{{REQUEST_STATUS}} =~ /^[234]/}}\n\
         ProxyHCTemplate often hcmethod=GET hcinterval=100ms hcexpr=well\n{}",
        balancer(&format!(
            "{}{}{}",
            member(a.port, "hctemplate=OFTEN"),
            member(b.port, "hctemplate=often hcexpr=open"),
            member(c.port, "hctemplate=often hcexpr=ok234")
        ))
    );
    let server = Server::start(&conf);
    eventually("checks", || a.count() > 1 && c.count() > 1);
    eventually("b fails", || text(&server, b.port) == "Init HcFl ");
    assert_eq!(text(&server, a.port), "Init Ok ");
    assert_eq!(text(&server, c.port), "Init Ok ");
}

/// An administrator's file takes a member out and brings it back.
#[test]
fn an_expression_may_look_at_a_file() {
    let a = Backend::start("a");
    let members = member(a.port, "hcmethod=GET hcinterval=100ms hcexpr=open");
    let conf = format!(
        "ProxyHCExpr open {{! -f '@ROOT@/closed'}}\n{}",
        balancer(&members)
    );
    let server = Server::start(&conf);
    eventually("checks", || a.count() > 1);
    assert_eq!(text(&server, a.port), "Init Ok ");
    let file = server.root.join("closed");
    std::fs::write(&file, "").unwrap();
    eventually("it is out", || text(&server, a.port) == "Init HcFl ");
    std::fs::remove_file(&file).unwrap();
    eventually("it is back", || text(&server, a.port) == "Init Ok ");
}

/// Set by hand, a check of a member that joined at run time begins, and another URI counts from the
/// next check on.
#[test]
fn a_member_added_by_hand_is_checked_as_the_manager_says() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let text = format!(
        "{}ProxyPass /bm !\n<Location /bm>\nSetHandler balancer-manager\nRequire local\n</Location>\n",
        balancer(&format!(
            "{}ProxySet growth=1 nonce=n\n",
            member(a.port, "")
        ))
    );
    let text = text.replace("ProxyPass / balancer://c/\n", "") + "ProxyPass / balancer://c/\n";
    let server = Server::start(&text);
    let url = format!("http://127.0.0.1:{}", b.port);
    let post = |fields: &str| {
        let mut c = common::Client::connect(server.port);
        let body = format!("b=c&nonce=n&{fields}");
        c.send(format!(
            "POST /bm HTTP/1.1\r\nHost: localhost\r\nReferer: http://localhost/bm\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .unwrap();
        let page = c.response("POST").unwrap();
        assert!(page.text().contains("Changed:"), "{}", page.text());
    };
    post(&format!("b_nwrkr={url}&b_wyes=1"));
    assert_eq!(b.count(), 0, "it has no method yet");
    post(&format!("w={url}&w_hm=GET&w_hi=100&w_hu=/one"));
    let asked = |path: &str| b.seen().iter().filter(|s| s.target() == path).count();
    eventually("it is checked", || asked("/one") > 2);
    post(&format!("w={url}&w_hu=/two"));
    eventually("there", || asked("/two") > 0);
    let before = asked("/one");
    eventually("only there", || asked("/two") > 3);
    assert_eq!(asked("/one"), before);
    post(&format!("w={url}&w_hm=HEAD"));
    eventually("otherwise", || {
        b.seen().last().unwrap().head.starts_with("HEAD /two ")
    });
    assert_eq!(a.count(), 0);
}

#[test]
fn the_time_between_checks_is_the_interval() {
    let times = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let a = Backend::with(move |_| {
        seen.lock().unwrap().push(Instant::now());
        Reply::RawThenClose(b"HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n".to_vec())
    });
    let conf = balancer(&member(a.port, "hcmethod=OPTIONS hcinterval=400ms"));
    let before = Instant::now();
    let server = Server::start(&conf);
    eventually("five checks", || times.lock().unwrap().len() >= 5);
    let times = times.lock().unwrap().clone();
    assert!(times[0] - before >= Duration::from_millis(400));
    for pair in times.windows(2) {
        // Never sooner; how much later is the machine's matter.
        assert!(pair[1] - pair[0] >= Duration::from_millis(395));
    }
    let jobs = server.scoreboard().jobs;
    let job = jobs.iter().find(|j| j.name == "health checks").unwrap();
    assert!(job.runs > 0 && job.due.0 > 0);
}

#[test]
fn stopped_members_are_not_checked_disabled_ones_are() {
    let a = Backend::start("a");
    let b = Backend::start("b");
    let conf = balancer(&format!(
        "{}{}",
        member(a.port, "status=+S hcmethod=GET hcinterval=100ms"),
        member(b.port, "status=+D hcmethod=GET hcinterval=100ms")
    ));
    let _server = Server::start(&conf);
    eventually("b is checked", || b.count() > 5);
    assert_eq!(a.count(), 0);
}

#[test]
fn many_members_are_not_checked_at_one_moment_nor_more_than_so_many_at_once() {
    let now = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (n, m) = (Arc::clone(&now), Arc::clone(&most));
    let a = Backend::with(move |_| {
        m.fetch_max(n.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        n.fetch_sub(1, Ordering::SeqCst);
        Reply::RawThenClose(b"HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n".to_vec())
    });
    let lines: String = (0..50)
        .map(|i| {
            format!(
                "BalancerMember http://127.0.0.1:{}/m{i:02} hcmethod=GET hcinterval=300ms hcexpr=root\n",
                a.port
            )
        })
        .collect();
    // An expression that looks at a file belongs to its check.
    let conf = format!(
        "ProxyHCTPsize 4\nProxyHCExpr root {{-d '/'}}\n{}",
        balancer(&lines)
    );
    let server = Server::start(&conf);
    eventually("each twice", || {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for seen in a.seen() {
            *counts.entry(seen.target().to_string()).or_default() += 1;
        }
        counts.len() == 50 && counts.values().all(|n| *n >= 2)
    });
    assert!(most.load(Ordering::SeqCst) <= 4);
    assert_eq!(server.count_log("failed: condition"), 0);
}

#[test]
fn another_child_takes_over_within_a_second_also_the_check_that_was_running() {
    let hangs = Backend::with(|_| Reply::RawThenHang(Vec::new()));
    let a = Backend::start("a");
    let conf = balancer(&format!(
        "{}{}",
        member(hangs.port, "hcmethod=GET hcinterval=100ms timeout=600"),
        member(a.port, "hcmethod=GET hcinterval=100ms")
    ));
    let server = Server::start(&conf);
    eventually("a check hangs", || hangs.count() == 1 && a.count() > 0);
    let dead = watchdog(&server);
    let killed = Instant::now();
    kill(Pid::from_raw(dead), Signal::SIGKILL).unwrap();
    let next = wait_for("another watchdog", || {
        let table = server.scoreboard();
        let child = table.children.iter().find(|c| c.watchdog);
        child.map(|c| c.pid).filter(|p| *p != dead)
    });
    let handed = killed.elapsed();
    eventually("the hanging one is checked again", || hangs.count() == 2);
    let resumed = killed.elapsed();
    println!("handed over after {handed:?}, checks went on after {resumed:?}");
    // The bound of the specification; usually it takes a few milliseconds.
    assert!(handed < Duration::from_secs(1), "{handed:?}");
    assert_ne!(next, dead);
    let holders = server.scoreboard();
    assert_eq!(holders.children.iter().filter(|c| c.watchdog).count(), 1);
}

#[test]
fn a_stop_of_all_processes_is_followed_by_no_burst_and_no_eviction() {
    let times = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let a = Backend::with(move |_| {
        seen.lock().unwrap().push(Instant::now());
        Reply::RawThenClose(b"HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n".to_vec())
    });
    let conf = balancer(&member(a.port, "hcmethod=GET hcinterval=200ms"));
    let server = Server::start(&conf);
    eventually("checks", || a.count() > 2);
    let mut all = server.children();
    all.push(server.pid());
    let signal = |s| {
        for pid in &all {
            kill(Pid::from_raw(*pid), s).unwrap();
        }
    };
    signal(Signal::SIGSTOP);
    // Longer than several intervals: what is tested is a pause.
    std::thread::sleep(Duration::from_secs(3));
    let before = times.lock().unwrap().len();
    signal(Signal::SIGCONT);
    eventually("checks go on", || times.lock().unwrap().len() >= before + 4);
    let times = times.lock().unwrap()[before..].to_vec();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(195));
    }
    assert_eq!(text(&server, a.port), "Init Ok ");
}

#[test]
fn what_was_found_out_survives_a_graceful_restart() {
    let mood = Arc::new(AtomicU16::new(503));
    let a = moody(&mood);
    let b = Backend::start("b");
    let members = |rest: &str| balancer(&format!("{}{}", member(a.port, rest), member(b.port, "")));
    let checked = "hcmethod=GET hcinterval=100ms";
    let server = Server::start(&members(checked));
    eventually("a failed", || text(&server, a.port) == "Init HcFl ");
    server.graceful();
    assert_eq!(text(&server, a.port), "Init HcFl ");
    let before = a.count();
    eventually("the new generation checks", || a.count() > before + 2);
    // Without checks nobody would ever find it well again.
    server.configure(&members(""));
    server.graceful();
    assert_eq!(text(&server, a.port), "Init Ok ");
}
