//! `muster scoreboard` and the status page, on a running server; what `muster beacon` answers.

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::backend::{Gate, Reply};
use common::server::binary;
use common::wait::within;
use common::{Backend, Client, Server, eventually, free_port, get};
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

/// Where the table is stands in the configuration: what is wrong with that is the answer then.
#[test]
fn a_fault_of_the_configuration_is_told_when_no_file_is_named() {
    let server = Server::prepare("Listen 127.0.0.1:@PORT@\nNonsense\n");
    let out = server.muster(&["scoreboard"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1));
    assert!(said.contains("Invalid command 'Nonsense'"), "{said}");
    assert!(said.contains("name its file"), "{said}");
    let path = server.root.join("none");
    let out = server.muster(&["scoreboard", path.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("no such file"));
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

/// The tools say what is asked of them, and do nothing that was not.
#[test]
fn tools_answer_what_is_asked() {
    use muster::codec::beacon::{Algorithm, Fields, Key, Origin, Signer};
    let server = Server::prepare("Listen 127.0.0.1:@PORT@\n");
    let root = server.root.join("tools");
    fs::create_dir(&root).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    let run = |words: &[&str]| {
        let mut command = Command::new(binary());
        command.arg("beacon").args(words).current_dir(&root);
        let out = command.stdin(Stdio::null()).output().unwrap();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    for words in [["secret", "--help"], ["check", "--help"]] {
        let (code, out, err) = run(&words);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out.contains("usage: muster beacon check"), "{out}");
    }
    assert_eq!(run(&["secret", "--halp"]).0, Some(2));
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "no such file");
    assert_eq!(run(&["secret", "key"]).0, Some(0));
    let key = read("key");
    let (code, _, err) = run(&["check", "--secret-file", key.trim(), "x"]);
    assert!(
        code == Some(2) && err.contains("a secret, not a path"),
        "{err}"
    );
    assert!(!err.contains(key.trim()));
    let (code, _, err) = run(&["check", "--secret-file", "key", "a", "b"]);
    assert!(code == Some(2) && err.contains("one datagram"), "{err}");
    let signer = Signer {
        key: Key::of_secret(key.trim().as_bytes()).unwrap(),
        algorithm: Algorithm::HmacSha256,
    };
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let leaving = text(&signer.datagram(&Fields {
        origin: Origin::parse(b"http://10.0.0.5").as_ref(),
        ts: since.unwrap().as_micros() as i64,
        leaving: true,
        ..Fields::default()
    }));
    let (code, out, _) = run(&["check", "--secret-file", "key", &leaving]);
    assert!(code == Some(0) && out.contains("would get no new"), "{out}");
    // A configuration with two receivers and without a running instance.
    let conf = root.join("two.conf");
    let receiver = |port: u16, secret: &str| {
        format!("ProxyBeaconListen 127.0.0.1:{port}\nProxyBeaconBalancer c\n{secret}\n")
    };
    let lines = format!(
        "Listen 127.0.0.1:9\nServerName a.test\nScoreBoardFile {}/none\n<Proxy balancer://c>\nProxySet growth=2\n</Proxy>\n{}<VirtualHost *:9>\nServerName b.test\n{}</VirtualHost>\n",
        root.display(),
        receiver(7001, "ProxyBeaconSecret another"),
        receiver(
            7002,
            &format!("ProxyBeaconSecretFile {}/key", root.display())
        ),
    );
    fs::write(&conf, lines).unwrap();
    let judge = |more: &[&str]| {
        let words = ["-f", conf.to_str().unwrap(), "beacon", "check", &leaving];
        let words = [&words[..], more].concat();
        let out = Command::new(binary()).args(words).output().unwrap();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    let (code, out, err) = judge(&[]);
    assert!(code == Some(1) && out.contains("mac mismatch"), "{out}");
    assert!(err.contains("127.0.0.1:7001 does; --receiver chooses another: 127.0.0.1:7002"));
    let (code, out, _) = judge(&["--receiver", "127.0.0.1:7002"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("no new requests in balancer://c (no instance is running)"));
    let (code, _, err) = judge(&["--receiver", "127.0.0.1:1"]);
    assert!(code == Some(2) && err.contains("7001, 127.0.0.1:7002"));
    let log = root.join("listens");
    let port = free_port();
    let place = format!("localhost:{port}");
    let mut listens = Command::new(binary())
        .args(["beacon", "check", "--listen", &place])
        .args(["--secret-file", root.join("key").to_str().unwrap()])
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = within(Duration::from_secs(10), || {
        (!read("listens").is_empty()).then(|| read("listens"))
    });
    let _ = (listens.kill(), listens.wait());
    let here = [format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    let here = here.map(|at| Some(format!("listening at {at}\n")));
    assert!(here.contains(&said), "{said:?}");
}
