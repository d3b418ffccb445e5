//! Logs of a running server: programs that hang or end, a disk that is full, levels and layouts.

mod common;

use common::{Client, Server, eventually, get};

/// A format of 1000 bytes a line, so that pipes and buffers are soon full.
fn long_format() -> String {
    format!("%U {}", "x".repeat(995))
}

#[test]
fn a_program_that_hangs_stops_nobody_and_lost_lines_are_counted() {
    let server = Server::start(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\nMaxKeepAliveRequests 0\n\
         CustomLog \"|$while [ ! -e @ROOT@/go ]; do sleep 0.05; done; exec cat >> @ROOT@/logs/out\" \"{}\"\n",
        long_format()
    ));
    let mut client = Client::connect(server.port);
    for _ in 0..900 {
        assert_eq!(client.get("/ab").unwrap().status, 404);
    }
    server.write("go", "");
    // Lines that come later show that it goes on, and what was lost before.
    let mut asked = 900;
    eventually("the log goes on", || {
        client.get("/cd").unwrap();
        asked += 1;
        server.log("out").contains("/cd ")
    });
    server.wait_log("takes lines again; ");
    let text = server.error_log();
    let at = text.find("takes lines again; ").unwrap();
    let lost: usize = text[at + 19..].split(' ').next().unwrap().parse().unwrap();
    assert!(lost > 0);
    eventually("every line is there or counted", || {
        server.log("out").lines().count() + lost == asked
    });
    let out = server.log("out");
    assert!(out.lines().all(|l| l.len() == 999), "lines are whole");
}

#[test]
fn a_program_that_ends_is_started_again_on_the_same_pipe() {
    let server = Server::start(
        "Listen 127.0.0.1:@PORT@\nStartServers 2\n\
         CustomLog \"|$head -n 1 >> @ROOT@/logs/out\" %U\n",
    );
    for n in 1..4 {
        get(server.port, &format!("/{n}")).unwrap();
        eventually("one more line", || server.log("out").lines().count() == n);
    }
    assert_eq!(server.log("out"), "/1\n/2\n/3\n");
    server.wait_log("AH00106");
}

#[test]
fn programs_end_with_their_generation() {
    let server = Server::start(
        "Listen 127.0.0.1:@PORT@\nStartServers 2\n\
         CustomLog \"|$echo begin >> @ROOT@/logs/out; cat >> @ROOT@/logs/out; echo end >> @ROOT@/logs/out\" %U\n",
    );
    get(server.port, "/first").unwrap();
    eventually("the first line", || server.log("out").contains("/first\n"));
    server.graceful();
    get(server.port, "/second").unwrap();
    eventually("the second program wrote", || {
        server.log("out").contains("/second\n")
    });
    eventually("the first program ended", || {
        server.log("out").contains("end\n")
    });
    assert_eq!(server.log("out").matches("begin\n").count(), 2);
}

#[test]
fn a_full_disk_loses_lines_and_nothing_else() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let server = Server::start(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\nMaxKeepAliveRequests 0\n\
         CustomLog /dev/full %U\nCustomLog logs/good %U\n",
    );
    let mut client = Client::connect(server.port);
    for _ in 0..300 {
        assert_eq!(client.get("/x").unwrap().status, 404);
    }
    eventually("the other log is whole", || {
        server.log("good").lines().count() == 300
    });
}

#[test]
fn levels_layout_and_a_program_for_the_error_log() {
    let server = Server::start(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\n\
         ErrorLog \"|$exec cat >> @ROOT@/logs/error_log\"\n\
         ErrorLogFormat \"<%{cu}t> %l %m [%a] %M% ,\\\\ from\\\\ %{Referer}i\"\n\
         LogLevel warn core:info\n\
         <Location /quiet>\n LogLevel core:warn\n</Location>\n",
    );
    let mut client = Client::connect(server.port);
    let mut ask = |path: &str| {
        client
            .send(format!(
                "GET {path} HTTP/1.1\r\nHost: a\r\nReferer: http://r/\"x\\\r\n\r\n"
            ))
            .unwrap();
        client.response("GET").unwrap();
    };
    ask("/quiet/x");
    ask("/loud/x");
    server.wait_log("loud/x");
    let text = server.error_log();
    let line = text.lines().find(|l| l.contains("loud/x")).unwrap();
    assert!(
        line.starts_with("<2") && line.contains("> info core [127.0.0.1:"),
        "{line}"
    );
    assert!(line.contains("] AH00128: File does not exist: "), "{line}");
    assert!(line.ends_with(", from http://r/\"x\\\\"), "{line}");
    assert!(!text.contains("quiet/x"), "{text}");
}

#[test]
fn a_log_that_cannot_be_opened_is_named_before_anything_starts() {
    for (line, name) in [
        ("CustomLog @ROOT@/none/access %U", "none"),
        ("ErrorLog @ROOT@/none/error", "none"),
        ("CustomLog \"|cat\" %U", "cat"),
        ("CustomLog \"|/no/such/program\" %U", "/no/such/program"),
        ("CustomLog logs %U", "logs"),
    ] {
        let server = Server::prepare(&format!("Listen 127.0.0.1:@PORT@\n{line}\n"));
        for words in [&["-t"][..], &["-k", "start"]] {
            let out = server.muster(words);
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(!out.status.success(), "{line} {words:?}");
            assert!(said.contains(name), "{line} {words:?}: {said}");
            if line.starts_with("CustomLog") {
                // Behind the five lines of the harness and Listen.
                assert!(said.contains("muster.conf:7"), "{line} {words:?}: {said}");
            }
        }
        assert!(server.try_pid().is_none());
    }
}
