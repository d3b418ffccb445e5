//! Reading good, foreign, cut and damaged files.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use super::*;
use crate::config::bare::bare;
use crate::config::settings::{BalancerParams, WorkerParams};
use crate::ids::{ChildNo, Generation, WorkerNo};
use crate::shm::layout;
use crate::shm::{ChildState, RequestInfo, Scoreboard, test_dir};

/// A table with something in it, as bytes.
fn sample(name: &str) -> (PathBuf, Vec<u8>) {
    let dir = test_dir(name);
    let path = dir.join("board");
    let member = |route: &str| WorkerParams {
        route: route.into(),
        ..WorkerParams::default()
    };
    let settings = bare(&dir)
        .with_balancer(
            "balancer://c",
            BalancerParams {
                sticky: Some(("SID".into(), "sid".into())),
                ..BalancerParams::default()
            },
            &[("http://a:8080", member("ra")), ("http://b", member("rb"))],
        )
        .with_worker("http://plain", WorkerParams::default());
    let board = Scoreboard::create(&path, &settings, 1, Generation(0)).unwrap();
    let rows = board.assign(&settings, Generation(0)).unwrap();
    let child = board.child(board.claim_slot(ChildNo(0), Generation(0)).unwrap());
    board.set_pid(child.slot(), 4711);
    child.set_state(ChildState::Serving);
    let request = child.begin_request(&RequestInfo {
        client: "192.0.2.1:999".parse().unwrap(),
        vhost: "front.test",
        port: 80,
        method: "GET",
        target: b"/hello?\"x\"",
        tail: false,
        minor: 1,
        since: crate::clock::read_mono(),
    });
    let a = rows.worker(WorkerNo(0)).unwrap();
    request.member(a);
    board.enter(child.slot(), a);
    board.set_error(rows.worker(WorkerNo(1)).unwrap(), crate::clock::read_mono());
    // It stays in flight, as far as the file tells.
    std::mem::forget(request);
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

fn clean(path: &std::path::Path) {
    let _ = fs::remove_dir_all(path.parent().unwrap());
}

#[test]
fn people_and_programs_get_everything() {
    let (path, _) = sample("show");
    let snapshot = read(&path).unwrap();
    let people = people::text(&snapshot);
    for part in [
        "running",
        "4711",
        "serving",
        "GET /hello?\"x\"",
        "192.0.2.1:999",
        "-> http://a:8080",
        "balancer://c   byrequests   main   sticky SID|sid",
        "Init Err",
        "retry in 59.",
        "workers outside balancers",
        "http://plain",
    ] {
        assert!(people.contains(part), "{part} is missing in\n{people}");
    }
    let json = json::text(&snapshot);
    for part in [
        "\"pid\": 4711",
        "\"request\": \"GET /hello?\\\"x\\\"\"",
        "\"lbstatus_sum\": 0",
        "\"member\": \"http://a:8080\"",
        "\"loadfactor\": 1.00",
        "\"busy\": 1",
    ] {
        assert!(json.contains(part), "{part} is missing in\n{json}");
    }
    // Another parser agrees that it is JSON.
    if let Ok(mut python) = std::process::Command::new("python3")
        .args(["-c", "import json,sys; json.load(sys.stdin)"])
        .stdin(std::process::Stdio::piped())
        .spawn()
    {
        python
            .stdin
            .take()
            .unwrap()
            .write_all(json.as_bytes())
            .unwrap();
        assert!(python.wait().unwrap().success());
    }
    clean(&path);
}

#[test]
fn other_files_get_a_clear_message() {
    let (path, good) = sample("other");
    let message = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read(&path).unwrap_err().to_string()
    };
    let with = |at: usize, value: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        bytes
    };
    assert!(message(b"").contains("is empty"));
    assert!(message(b"MUST").contains("is cut: 4 bytes"));
    assert!(message(b"#!/bin/sh\n").contains("begins with \"#!/bin/s\""));
    assert!(message(&[0; 8192]).contains("begins with zeros"));
    assert!(message(&with(8, 0)).contains("an older muster"));
    assert!(message(&with(8, 99)).contains("a newer muster"));
    assert!(message(&with(12, 0x0403_0201)).contains("byte order"));
    assert!(message(&with(56, u32::MAX)).contains("damaged"));
    assert!(message(&with(68, 5000)).contains("damaged"));
    assert!(message(&with(36, 1)).contains("record size"));
    assert!(message(&good[..good.len() - 1]).contains("is cut"));
    let dir = path.parent().unwrap();
    assert!(read(dir).unwrap_err().to_string().contains("a directory"));
    assert!(
        read(&dir.join("none"))
            .unwrap_err()
            .to_string()
            .contains("no such file")
    );
    nix::unistd::mkfifo(&dir.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(
        read(&dir.join("fifo"))
            .unwrap_err()
            .to_string()
            .contains("a named pipe")
    );
    clean(&path);
}

#[test]
fn cut_at_every_64th_byte() {
    let (path, good) = sample("cut");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    for end in (0..good.len()).step_by(64).rev() {
        file.set_len(end as u64).unwrap();
        assert!(read(&path).is_err(), "cut at {end}");
    }
    fs::write(&path, [&good[..], b"more"].concat()).unwrap();
    assert!(read(&path).is_ok(), "something behind it does no harm");
    clean(&path);
}

#[test]
fn random_bytes_never_harm() {
    let (path, good) = sample("random");
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut shown = 0;
    for round in 0..300 {
        let mut bytes = good.clone();
        // A third of the rounds leaves the header alone, so that the tables' garbage is shown.
        let from = if round % 3 == 0 { 0 } else { layout_header() };
        for _ in 0..1 << (round % 12) {
            let at = from + next() as usize % (bytes.len() - from);
            bytes[at] = next() as u8;
        }
        if round % 7 == 0 {
            for b in &mut bytes[from..] {
                *b = next() as u8;
            }
        }
        if round % 11 == 0 {
            for b in &mut bytes[from..] {
                *b = 0xff;
            }
        }
        // Children, requests and members that look in use, with garbage in all else.
        if round % 2 == 0 {
            let offset =
                |at: usize| u64::from_ne_bytes(good[at..at + 8].try_into().unwrap()) as usize;
            let (children, balancers, workers) = (offset(80), offset(88), offset(96));
            for (at, value) in [
                (children, 2u32),
                (children + layout::CHILD, 3),
                (children + layout::CHILD_HEAD + 4, 1),
                (children + layout::CHILD_HEAD + layout::RECORD + 4, 2),
                (balancers + 128, 1),
                (workers + 64, 1),
                (workers + layout::WORKER + 64, 1),
                (workers + layout::WORKER + 76, 1),
            ] {
                bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            }
        }
        fs::write(&path, &bytes).unwrap();
        if let Ok(snapshot) = read(&path) {
            shown += 1;
            let people = people::text(&snapshot);
            let raw = people
                .lines()
                .find(|l| !l.bytes().all(|b| (0x20..0x7f).contains(&b)));
            assert_eq!(raw, None);
            let json = json::text(&snapshot);
            assert!(json.is_ascii());
        }
    }
    assert!(shown > 150, "{shown}");
    clean(&path);
}

fn layout_header() -> usize {
    crate::shm::layout::HEADER
}
