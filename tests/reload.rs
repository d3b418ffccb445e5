//! Graceful restarts: nothing is lost, nothing half-done takes effect.

mod common;

use common::backend::{Gate, Reply};
use common::load::{Load, Outcome};
use common::server::is_muster;
use common::{Backend, Client, Server, eventually, get};
use nix::sys::signal::Signal;

const PLAIN: &str = "Listen 127.0.0.1:@PORT@\nStartServers 2\n";

fn proxy(backend: &Backend) -> String {
    format!(
        "{PLAIN}KeepAliveTimeout 30\nMaxKeepAliveRequests 0\nProxyPass / http://127.0.0.1:{}/\n",
        backend.port
    )
}

fn assert_lossless(outcome: &Outcome) {
    assert!(outcome.failures.is_empty(), "{:#?}", outcome.failures);
    assert!(outcome.answered > 0);
}

#[test]
fn fifty_graceful_restarts_under_load_lose_nothing() {
    let backend = Backend::start("one");
    let good = proxy(&backend);
    let server = Server::start(&good);
    let load = Load::start(server.port, "/p", 8, 3, |body| body.starts_with("one "));
    for round in 0..50 {
        load.more(20);
        if round % 10 == 5 {
            // A broken configuration in between changes nothing and is named.
            server.configure(&format!("{good}Nonsense on\n"));
            let before = server.count_log("Nonsense");
            server.signal(Signal::SIGUSR1);
            eventually("the fault is in the log", || {
                server.count_log("Nonsense") > before
            });
            server.configure(&good);
        } else {
            server.graceful();
        }
    }
    load.more(50);
    let outcome = load.stop();
    assert_lossless(&outcome);
    assert!(outcome.reopened > 0, "connections were ended by an answer");
    eventually("old generations end", || server.children().len() == 2);
}

/// A daemon is in `/` when it reads its configuration again.
#[test]
fn a_relative_server_root_is_meant_from_where_muster_was_started() {
    let server = Server::prepare(&format!(
        "{PLAIN}ServerRoot .\nCustomLog logs/access \"%r\"\n"
    ));
    for verb in ["start", "graceful"] {
        let out = std::process::Command::new(common::server::binary())
            .current_dir(&server.root)
            .args(["-k", verb, "-f", "muster.conf", "-d", "."])
            .output()
            .unwrap();
        assert!(out.status.success(), "{out:?}\n{}", server.story());
    }
    assert_eq!(server.scoreboard().generation.0, 1);
    assert!(get(server.port, "/").is_ok());
}

#[test]
fn a_refused_reload_changes_nothing_and_control_says_so() {
    let server = Server::start(PLAIN);
    let (pid, children) = (server.pid(), server.children());
    let generation = server.scoreboard().generation;

    // A port that another has: only the supervisor can notice.
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let busy = taken.local_addr().unwrap();
    server.configure(&format!("{PLAIN}Listen {busy}\n"));
    let out = server.control("graceful");
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        text.contains("refused") && text.contains("error log"),
        "{text}"
    );
    assert!(
        server
            .error_log()
            .contains(&format!("could not bind to address {busy}"))
    );

    // A log whose directory is gone.
    server.configure(&format!("{PLAIN}CustomLog @ROOT@/gone/x common\n"));
    server.signal(Signal::SIGUSR1);
    server.wait_log("/gone");

    assert_eq!((server.pid(), server.children()), (pid, children));
    assert_eq!(server.scoreboard().generation, generation);
    assert!(get(server.port, "/").is_ok());
    server.configure(PLAIN);
    server.graceful();
    assert!(server.scoreboard().generation > generation);
}

#[test]
fn an_idle_connection_is_answered_once_more_and_a_download_goes_on() {
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
    let server = Server::start(&proxy(&backend));
    let mut download = Client::connect(server.port);
    download
        .send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    eventually("it has begun", || backend.count() == 1);
    let mut idle: Vec<Client> = (0..20).map(|_| Client::connect(server.port)).collect();
    for c in &mut idle {
        c.get("/x").unwrap();
    }
    let old = server.children();
    server.graceful();
    for c in &mut idle {
        assert!(c.is_quiet(), "it is not closed at the reload");
        let answer = c.get("/y").unwrap();
        assert_eq!(answer.text(), "ok");
        assert_eq!(answer.field("connection"), Some("close"));
        assert!(c.closed());
    }
    assert!(
        old.iter().any(|c| is_muster(*c)),
        "the download's child stays"
    );
    gate.open();
    assert_eq!(download.response("GET").unwrap().text(), "1234567890");
    // Its head was sent before the reload, so the connection would stay for another request.
    drop(download);
    eventually("the old generation ends", || {
        old.iter().all(|c| !is_muster(*c))
    });
}

#[test]
fn listeners_come_and_go() {
    let server = Server::start(PLAIN);
    assert!(Client::try_connect(server.port2).is_err());
    let mut old = Client::connect(server.port);
    old.get("/").unwrap();

    server.configure("Listen 127.0.0.1:@PORT@\nListen 127.0.0.1:@PORT2@\nStartServers 2\n");
    server.graceful();
    assert!(get(server.port, "/").is_ok());
    assert!(get(server.port2, "/").is_ok());

    server.configure("Listen 127.0.0.1:@PORT2@\nStartServers 2\n");
    let mut kept = Client::connect(server.port);
    kept.get("/").unwrap();
    server.graceful();
    assert!(get(server.port2, "/").is_ok());
    eventually("the port is given up", || {
        Client::try_connect(server.port).is_err()
    });
    assert!(kept.get("/").is_ok(), "a connection on it goes on");
}

#[test]
fn a_listener_moves_between_all_addresses_and_one_without_a_refused_connection() {
    let backend = Backend::start("one");
    let rest = format!(
        "StartServers 2\nKeepAliveTimeout 30\nMaxKeepAliveRequests 0\nProxyPass / http://127.0.0.1:{}/\n",
        backend.port
    );
    let at = |address: &str| format!("Listen {address}\n{rest}");
    let server = Server::start(&at("@PORT@"));
    let load = Load::start(server.port, "/p", 4, 4, |body| body.starts_with("one "));
    let places = [
        "127.0.0.1:@PORT@",
        "@PORT@",
        "0.0.0.0:@PORT@",
        "127.0.0.1:@PORT@",
        "@PORT@",
    ];
    for place in places.iter().cycle().take(15) {
        load.more(50);
        server.configure(&at(place));
        server.graceful();
    }
    load.more(50);
    assert_lossless(&load.stop());
    // At the end all addresses are served; then one only.
    server.configure(&at("127.0.0.1:@PORT@"));
    server.graceful();
    assert!(get(server.port, "/").is_ok());
}

#[test]
fn the_number_of_children_may_change() {
    let backend = Backend::start("one");
    let with = |n: u32| {
        format!(
            "Listen 127.0.0.1:@PORT@\nStartServers {n}\nProxyPass / http://127.0.0.1:{}/\n",
            backend.port
        )
    };
    let server = Server::start(&with(2));
    let load = Load::start(server.port, "/p", 4, 2, |body| body.starts_with("one "));
    for n in [9, 1, 3] {
        load.more(50);
        server.configure(&with(n));
        server.graceful();
        eventually("the right number of children", || {
            server.children().len() == n as usize
        });
    }
    assert_lossless(&load.stop());
}

#[test]
fn a_storm_of_signals_becomes_two_generations() {
    let server = Server::start(PLAIN);
    let before = server.count_log("resuming normal operations");
    for _ in 0..50 {
        server.signal(Signal::SIGUSR1);
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    eventually("the generations end", || {
        server.count_log("resuming normal operations") > before && server.children().len() == 2
    });
    // The last request of the storm is followed once it is quiet.
    eventually("the second follows", || {
        server.count_log("resuming normal operations") == before + 2
    });
    assert!(get(server.port, "/").is_ok());
    eventually("only the last stays", || server.children().len() == 2);
    assert_eq!(server.count_log("resuming normal operations"), before + 2);
}

#[test]
fn a_restart_cuts_but_keeps_the_port() {
    let backend = Backend::with(|_| Reply::RawThenHang(Vec::new()));
    let server = Server::start(&format!(
        "{PLAIN}ProxyPass /b/ http://127.0.0.1:{}/\n",
        backend.port
    ));
    let mut busy = Client::connect(server.port);
    busy.send("GET /b/x HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    eventually("the request is at the backend", || backend.count() == 1);
    let old = server.children();
    let out = server.control("restart");
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    eventually("the old generation is gone", || {
        old.iter().all(|c| !is_muster(*c))
    });
    assert!(busy.closed());
    assert!(get(server.port, "/").is_ok());
    assert!(server.error_log().contains("SIGHUP received"));
}

#[test]
fn generations_that_stay_are_told_to_close_idle_connections() {
    let server = Server::start(&format!("{PLAIN}KeepAliveTimeout 600\n"));
    let mut held: Vec<Client> = Vec::new();
    for _ in 0..6 {
        let mut c = Client::connect(server.port);
        c.get("/").unwrap();
        held.push(c);
        server.graceful();
    }
    assert!(held[0].closed(), "the oldest's idle connection");
    assert!(server.children().len() <= 8);
}

/// Virtual hosts of one name at several ports, as for http and https: each keeps its own state,
/// wherever a reload finds it in the file.
#[test]
fn hosts_of_one_name_are_told_apart_by_their_ports() {
    let backend = Backend::start("one");
    let other = common::server::free_port();
    let host = |port: &str| {
        format!(
            "<VirtualHost 127.0.0.1:{port}>\nServerName same.test\n<Proxy balancer://c>\nBalancerMember http://127.0.0.1:{}\n</Proxy>\nProxyPass / balancer://c/\n</VirtualHost>\n",
            backend.port
        )
    };
    let conf = |first: &str, second: &str| {
        format!(
            "{PLAIN}Listen 127.0.0.1:{other}\n{}{}",
            host(first),
            host(second)
        )
    };
    let second = other.to_string();
    let server = Server::start(&conf("@PORT@", &second));
    for (port, n) in [(server.port, 3), (other, 1)] {
        for _ in 0..n {
            assert_eq!(get(port, "/").unwrap().status, 200);
        }
    }
    let elected = || {
        let of = |port: u16| {
            let table = server.scoreboard();
            let mut all = table.balancers.into_iter();
            let own = all.find(|b| b.server.ends_with(&format!(":{port}")));
            own.unwrap().members[0].elected
        };
        (of(server.port), of(other))
    };
    assert_eq!(elected(), (3, 1));
    server.configure(&conf(&second, "@PORT@"));
    server.graceful();
    assert_eq!(elected(), (3, 1));
}
