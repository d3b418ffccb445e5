//! `muster scoreboard` and the status page, on a running server.

mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use common::backend::{Gate, Reply};
use common::server::binary;
use common::{Backend, Client, Server, eventually, get};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::tcgetattr;
use nix::unistd::Pid;

const CONF: &str = "Listen 127.0.0.1:@PORT@\nStartServers 2\nProxyStatus On\n\
    <Location /server-status>\nSetHandler server-status\nRequire local\n</Location>\n\
    ProxyPass /server-status !\n";

fn conf(backend: &Backend) -> String {
    format!(
        "{CONF}<Proxy balancer://c>\nBalancerMember http://127.0.0.1:{} route=r<1\n</Proxy>\nProxyPass / balancer://c/\n",
        backend.port
    )
}

/// A server with one request in flight at its backend.
fn busy(gate: &Gate) -> (Server, Backend, Client) {
    let at_backend = gate.clone();
    let backend = Backend::with(move |r| match r.target() {
        t if t.starts_with("/slow") => Reply::Gated {
            first: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1".to_vec(),
            rest: b"2".to_vec(),
            gate: at_backend.clone(),
        },
        _ => Reply::Text("ok".into()),
    });
    let server = Server::start(&conf(&backend));
    let mut client = Client::connect(server.port);
    client
        .send("GET /slow<b>?key=secret HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    (server, backend, client)
}

#[test]
fn the_command_shows_a_running_server() {
    let gate = Gate::default();
    let (server, backend, mut client) = busy(&gate);
    eventually("the backend has the request", || backend.count() == 1);
    let out = server.muster(&["scoreboard"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success());
    for part in [
        &format!("supervisor {} running", server.pid()),
        "serving",
        "GET /slow<b>?key=secret",
        "balancer://c   byrequests",
        "Init Ok",
        &format!("-> http://127.0.0.1:{}", backend.port),
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let out = server.muster(&["scoreboard", "--json"]);
    let json = String::from_utf8(out.stdout).unwrap();
    assert!(json.contains("\"busy\": 1") && json.contains("\"route\": \"r<1\""));
    let table = server.table();
    let words = ["scoreboard", "--json", table.to_str().unwrap()];
    assert!(server.muster(&words).status.success());

    // The status page: escaped, and other clients' queries are nobody's business.
    let page = get(server.port, "/server-status").unwrap();
    assert_eq!(page.status, 200);
    assert_eq!(
        page.field("content-type"),
        Some("text/html; charset=ISO-8859-1")
    );
    assert_eq!(page.field("x-content-type-options"), Some("nosniff"));
    let policy = page.field("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    let html = page.text();
    assert!(html.contains("GET /slow&lt;b&gt;?... HTTP/1.1"));
    assert!(!html.contains("secret") && !html.contains("<b>?"));
    assert!(html.contains("<td>r&lt;1</td>") && !html.contains("r<1"));
    assert!(html.contains("Proxy LoadBalancer Status for balancer://c"));
    let auto = get(server.port, "/server-status?auto&refresh=3").unwrap();
    assert_eq!(auto.field("refresh"), Some("3"));
    let text = auto.text();
    assert!(text.starts_with("localhost\nServerVersion: muster\nServerMPM: prefork\n"));
    // The waiting one and this one; the page's may take a moment to be over.
    eventually("two requests", || {
        let text = get(server.port, "/server-status?auto").unwrap().text();
        text.contains("\nBusyWorkers: 2\n")
    });
    assert!(text.contains("ProxyBalancer[0]Worker[0]Busy: 1\n"));
    assert_eq!(
        Client::connect(server.port)
            .post("/server-status", b"x")
            .unwrap()
            .status,
        405
    );
    gate.open();
    assert_eq!(client.response("GET").unwrap().text(), "12");
    eventually("nothing is in flight", || {
        let t = server.scoreboard();
        t.children.iter().all(|c| c.requests == 0) && t.balancers[0].members[0].busy == 0
    });
    let m = &server.scoreboard().balancers[0].members[0];
    assert!(m.sent > 0);
    // `HTTP/1.1 200 OK` and the body.
    assert_eq!(m.received, 17);
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let server = Server::prepare("Listen 127.0.0.1:@PORT@\n");
    let say = |name: &str| {
        let path = server.root.join(name);
        let out = server.muster(&["scoreboard", path.to_str().unwrap()]);
        assert_eq!(out.status.code(), Some(1));
        String::from_utf8(out.stderr).unwrap()
    };
    assert!(say("none").contains("no such file"));
    server.write("foreign", "hello world, this is no table");
    assert!(say("foreign").contains("not muster's slot table: it begins with \"hello wo\""));
    server.write("empty", "");
    assert!(say("empty").contains("is empty"));
    assert!(say("logs").contains("a directory"));
    let out = server.muster(&["scoreboard", "--nonsense"]);
    assert_eq!(out.status.code(), Some(2));
    let out = server.muster(&["scoreboard", "--watch"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("needs a terminal"));
}

#[test]
fn watching_ends_by_key_and_leaves_the_terminal_as_it_was() {
    let backend = Backend::start("a");
    let server = Server::start(&conf(&backend));
    for end in ["q", "\x03", "TERM"] {
        let size = Winsize {
            ws_row: 30,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(Some(&size), None).unwrap();
        let before = tcgetattr(&pty.slave).unwrap();
        let stream = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut child = Command::new(binary())
            .arg("-f")
            .arg(server.conf())
            .args(["scoreboard", "--watch"])
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut master = File::from(pty.master.try_clone().unwrap());
        let reader = {
            let seen = seen.clone();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(n @ 1..) = master.read(&mut bytes) {
                    seen.lock().unwrap().extend_from_slice(&bytes[..n]);
                }
            })
        };
        let shows = |text: &str| String::from_utf8_lossy(&seen.lock().unwrap()).contains(text);
        eventually("the table is shown", || {
            shows("balancer://c") && shows("q quits")
        });
        assert!(shows("\x1b[?1049h"));
        assert_ne!(
            tcgetattr(&pty.slave).unwrap().local_flags,
            before.local_flags
        );
        if end == "q" {
            // It follows what happens.
            for _ in 0..7 {
                assert_eq!(get(server.port, "/x").unwrap().status, 200);
            }
            eventually("the next look shows the requests", || shows("requests 7"));
        }
        match end {
            "TERM" => kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap(),
            key => File::from(pty.master.try_clone().unwrap())
                .write_all(key.as_bytes())
                .unwrap(),
        }
        let status = common::wait_for("it ends", || child.try_wait().unwrap());
        assert!(status.success(), "{end:?}: {status}");
        eventually("the screen is left", || shows("\x1b[?1049l"));
        let after = tcgetattr(&pty.slave).unwrap();
        assert_eq!(after.local_flags, before.local_flags);
        assert_eq!(after.input_flags, before.input_flags);
        assert!(pty.slave.as_fd().as_raw_fd() >= 0);
        drop(pty);
        reader.join().unwrap();
    }
}
