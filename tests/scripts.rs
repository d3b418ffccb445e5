//! The control script, and the configurations that come with the project.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::server::{binary, is_muster};
use common::{Backend, Server, eventually, get};

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn musterctl(server: &Server, words: &[&str]) -> Output {
    let status = format!("http://127.0.0.1:{}/server-status", server.port);
    Command::new(project("scripts/musterctl"))
        .env("MUSTER", binary())
        .env(
            "MUSTER_ARGUMENTS",
            format!("-f {}", server.conf().display()),
        )
        .env("STATUSURL", status)
        .args(words)
        .output()
        .unwrap()
}

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&[&out.stdout[..], &out.stderr[..]].concat()).into_owned()
}

#[test]
fn musterctl_speaks_apachectls_words() {
    let server = Server::prepare(
        "Listen 127.0.0.1:@PORT@\nStartServers 2\n<Location /server-status>\nSetHandler server-status\nRequire local\n</Location>\n",
    );
    let run = |words: &[&str], code: i32| {
        let out = musterctl(&server, words);
        assert_eq!(out.status.code(), Some(code), "{words:?} {}", text(&out));
        text(&out)
    };
    assert!(run(&["configtest"], 0).contains("Syntax OK"));
    assert!(run(&["stop"], 0).contains("not running"));
    run(&["start"], 0);
    let (pid, children) = (server.pid(), server.children());
    assert!(run(&["status"], 0).contains("Total Accesses:"));
    assert!(run(&["fullstatus"], 0).contains("<html"));
    let board = run(&["scoreboard"], 0);
    assert!(board.contains(&pid.to_string()), "{board}");
    assert!(board.contains(&children[0].to_string()), "{board}");
    assert!(run(&["scoreboard", "--json"], 0).starts_with('{'));
    run(&["graceful"], 0);
    eventually("another generation", || {
        server.children().iter().all(|c| !children.contains(c))
    });
    run(&["restart"], 0);
    assert_eq!(server.pid(), pid);
    assert!(run(&["-v"], 0).contains("Server version: muster/"));
    assert!(run(&["-S"], 0).contains("VirtualHost configuration"));
    assert!(run(&[], 1).contains("graceful-stop"));

    // A broken configuration is refused by all of them.
    let good = std::fs::read_to_string(server.conf()).unwrap();
    std::fs::write(server.conf(), format!("{good}Nonsense on\n")).unwrap();
    for verb in ["configtest", "graceful", "restart", "stop"] {
        assert!(run(&[verb], 1).contains("Nonsense"));
    }
    assert_eq!(server.pid(), pid);
    std::fs::write(server.conf(), good).unwrap();
    run(&["graceful-stop"], 0);
    eventually("the end", || !is_muster(pid));
}

#[test]
fn the_default_configuration_works() {
    let server = Server::prepare("");
    let backend = Backend::start("app");
    let root = server.root.display().to_string();
    let port = server.port.to_string();
    let text = std::fs::read_to_string(project("conf/muster.conf")).unwrap();
    let text = text
        .replace("/etc/muster", &root)
        .replace("/run/muster", &format!("{root}/run"))
        .replace(
            "/var/log/muster/error.log",
            &format!("{root}/logs/error_log"),
        )
        .replace("/var/log/muster", &format!("{root}/logs"))
        .replace("Listen 80", &format!("Listen 127.0.0.1:{port}"));
    std::fs::write(server.conf(), text).unwrap();
    let site = std::fs::read_to_string(project("conf/sites/example.conf")).unwrap();
    let site = site
        .replace("10.0.0.5:8080", &format!("127.0.0.1:{}", backend.port))
        .replace("10.0.0.6:8080", &format!("127.0.0.1:{}", backend.port))
        .replace("/var/log/muster", &format!("{root}/logs"))
        .replace("/var/www/example", &format!("{root}/htdocs"))
        .replace("*:80", &format!("*:{port}"));
    server.write("sites/example.conf", site);
    server.write("htdocs/static/a.txt", "a file");

    let out = server.muster(&["-t"]);
    assert!(out.status.success(), "{out:?}");
    let out = server.muster(&["-D", "EXAMPLE", "-k", "start"]);
    assert!(out.status.success(), "{out:?} {}", server.story());
    assert_eq!(get(server.port, "/x").unwrap().text(), "app GET /x\n");
    assert_eq!(get(server.port, "/static/a.txt").unwrap().text(), "a file");
    assert_eq!(get(server.port, "/admin").unwrap().status, 403);
    assert_eq!(get(server.port, "/server-status").unwrap().status, 200);
    let out = server.control("stop");
    assert!(out.status.success(), "{out:?}");
}
