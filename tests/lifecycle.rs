//! Starting, stopping, the command line, the pid file, and who may be signalled.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use common::server::{binary, children_of, descriptors, is_muster, zombies_of};
use common::{Backend, Client, Server, eventually, free_port, get, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PLAIN: &str = "Listen 127.0.0.1:@PORT@\nStartServers 2\n";

fn stdout(out: &std::process::Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn stderr(out: &std::process::Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

#[test]
fn a_daemon_starts_stops_and_leaves_nothing_behind() {
    let server = Server::daemon(PLAIN);
    let pid = server.pid();
    let children = server.children();
    assert_eq!(children.len(), 2);
    assert!(get(server.port, "/").is_ok());
    let session = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session: i32 = session
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(3)
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(session, pid, "a session of its own");

    let out = server.control("start");
    assert_eq!(out.status.code(), Some(0));
    assert!(
        stdout(&out).contains(&format!("(pid {pid}) already running")),
        "{out:?}"
    );

    let out = server.control("stop");
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert!(!is_muster(pid));
    assert!(children.iter().all(|c| !is_muster(*c)));
    assert!(Client::try_connect(server.port).is_err());
    let left: Vec<_> = fs::read_dir(server.root.join("run")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(server.error_log().contains("caught SIGTERM, shutting down"));

    for verb in ["stop", "graceful-stop"] {
        let out = server.control(verb);
        assert_eq!(out.status.code(), Some(0));
        assert!(stdout(&out).contains("not running"), "{out:?}");
    }
    let out = server.control("graceful");
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert!(
        stdout(&out).contains("not running, trying to start"),
        "{out:?}"
    );
    assert!(get(server.port, "/").is_ok());
}

#[test]
fn a_start_ends_for_those_who_read_its_output() {
    // A script that collects the output of `-k start` waits for the end of the pipe: no process of
    // the daemon may hold it.
    let server = Server::prepare(PLAIN);
    let out = Command::new("/bin/sh")
        .arg("-c")
        .arg(format!(
            "x=$({} -f {} -k start 2>&1); echo \"$x\"",
            binary().display(),
            server.conf().display()
        ))
        .output()
        .unwrap();
    assert!(out.status.success());
    assert_eq!(stdout(&out).trim(), "");
    assert!(get(server.port, "/").is_ok());
}

#[test]
fn a_second_instance_is_refused_and_the_first_goes_on() {
    let server = Server::daemon(PLAIN);
    let (pid, children) = (server.pid(), server.children());
    let out = server.muster(&["-DFOREGROUND"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        stderr(&out).contains(&format!("held by process {pid}")),
        "{out:?}"
    );

    // The same port or the same table under another pid file.
    for extra in ["", "Listen @PORT2@\n"] {
        let other = Server::prepare("");
        other.configure(&format!(
            "{}\nScoreBoardFile {}\n",
            if extra.is_empty() {
                format!("Listen 127.0.0.1:{}", server.port)
            } else {
                extra.to_owned()
            },
            if extra.is_empty() {
                "@ROOT@/run/other.scoreboard".to_owned()
            } else {
                server.table().display().to_string()
            }
        ));
        let out = other.muster(&["-DFOREGROUND"]);
        assert_eq!(out.status.code(), Some(1), "{out:?}");
        let text = stderr(&out);
        if extra.is_empty() {
            assert!(
                text.contains("(98)Address already in use: AH00072"),
                "{text}"
            );
            assert!(text.contains("no listening sockets available, shutting down"));
        } else {
            assert!(text.contains(&format!("in use by process {pid}")), "{text}");
        }
        assert_eq!(other.try_pid(), None, "its pid file is gone");
    }
    assert_eq!((server.pid(), server.children()), (pid, children));
    assert!(get(server.port, "/").is_ok());
}

#[test]
fn a_stale_pid_file_is_noticed_and_a_strangers_process_is_left_alone() {
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    for content in ["999999\n", "garbage", "", &format!("{}\n", stranger.id())] {
        let mut server = Server::prepare(PLAIN);
        server.write("run/muster.pid", content);
        let out = server.control("stop");
        assert_eq!(out.status.code(), Some(0));
        assert!(stdout(&out).contains("not running"), "{out:?}");
        server.launch(&[], &[]);
        assert_eq!(server.pid(), server.process_id().unwrap());
        let stale = content.trim().parse::<i32>().is_ok();
        assert_eq!(server.error_log().contains("AH00098"), stale, "{content:?}");
    }
    assert!(stranger.try_wait().unwrap().is_none(), "it lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_symbolic_link_in_the_pid_files_place_is_not_followed() {
    let mut server = Server::prepare(PLAIN);
    server.write("precious", "keep me");
    std::os::unix::fs::symlink(server.root.join("precious"), server.pid_file()).unwrap();
    server.launch(&[], &[]);
    assert_eq!(fs::read(server.root.join("precious")).unwrap(), b"keep me");
    assert!(server.pid_file().symlink_metadata().unwrap().is_file());
}

#[test]
fn a_living_apache_is_refused_by_name() {
    let server = Server::prepare(PLAIN);
    // Anything that calls itself apache2.
    let fake = server.root.join("apache2");
    fs::copy("/bin/sleep", &fake).unwrap();
    let mut apache = Command::new(&fake).arg("600").spawn().unwrap();
    server.write("run/muster.pid", format!("{}\n", apache.id()));
    let out = server.muster(&["-DFOREGROUND"]);
    assert_eq!(out.status.code(), Some(1));
    let text = stderr(&out);
    assert!(
        text.contains(&format!("running apache2 (pid {})", apache.id())),
        "{text}"
    );
    apache.kill().unwrap();
    apache.wait().unwrap();
}

#[test]
fn a_start_that_fails_says_why_and_exits_with_1() {
    let server = Server::prepare("Listen 127.0.0.1:@PORT@\n");
    let cases = [
        ("", "no listening sockets available, shutting down"),
        (
            "Listen 192.0.2.7:80\n",
            "(99)Cannot assign requested address: AH00072",
        ),
        ("Listen 127.0.0.1:@PORT@\nUser no-such-user\n", "AH00543"),
        (
            "Listen 127.0.0.1:@PORT@\nCustomLog /no/such/dir/x common\n",
            "/no/such/dir",
        ),
        ("Lisen 80\n", "Lisen"),
    ];
    for (conf, text) in cases {
        if conf.contains("User") && !nix::unistd::geteuid().is_root() {
            continue;
        }
        server.configure(conf);
        for words in [&["-k", "start"][..], &["-DFOREGROUND"][..]] {
            let out = server.muster(words);
            assert_eq!(out.status.code(), Some(1), "{conf} {out:?}");
            assert!(stderr(&out).contains(text), "{conf} {out:?}");
        }
        assert_eq!(server.try_pid(), None);
    }
}

#[test]
fn a_broken_configuration_keeps_k_from_signalling() {
    let server = Server::daemon(PLAIN);
    let (pid, children) = (server.pid(), server.children());
    server.configure("Listen 127.0.0.1:@PORT@\nStartServers 2\nNonsense on\n");
    for verb in ["stop", "restart", "graceful", "graceful-stop", "start"] {
        let out = server.control(verb);
        assert_eq!(out.status.code(), Some(1), "{verb} {out:?}");
        assert!(stderr(&out).contains("Nonsense"), "{out:?}");
    }
    assert_eq!((server.pid(), server.children()), (pid, children));
    assert!(!server.error_log().contains("caught"));
}

#[test]
fn wrong_words_give_the_usage_and_versions_are_told() {
    let server = Server::prepare(PLAIN);
    for words in [
        &["-q"][..],
        &["-k", "begin"],
        &["-h"],
        &["-k", "stop", "-k", "stop"],
        &["x"],
    ] {
        let out = server.muster(words);
        assert_eq!(out.status.code(), Some(1), "{words:?}");
        assert!(stderr(&out).contains("Usage: muster"), "{out:?}");
    }
    assert!(stderr(&server.muster(&["-q"])).starts_with("muster: illegal option -- q"));
    let out = server.muster(&["-v"]);
    assert_eq!(out.status.code(), Some(0));
    let text = stdout(&out);
    assert!(
        text.contains("muster/") && text.contains("Apache/2.4.71"),
        "{text}"
    );
    let out = server.muster(&["-t"]);
    assert_eq!(
        (out.status.code(), stderr(&out).trim()),
        (Some(0), "Syntax OK")
    );
}

#[test]
fn one_process_serves_and_is_stopped_by_int() {
    let mut server = Server::prepare(PLAIN);
    server.launch(&["-X"], &[]);
    let pid = server.pid();
    assert_eq!(Some(pid), server.process_id());
    assert!(children_of(pid).is_empty());
    assert!(get(server.port, "/").is_ok());
    server.signal(Signal::SIGINT);
    assert!(server.wait_exit().success());
}

#[test]
fn int_and_term_end_the_foreground_and_only_own_children_are_signalled() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut server = Server::prepare(PLAIN);
        // As from a script without job control: the script is in the same process group.
        let script = format!(
            "trap '' INT; trap 'echo hit >{0}/hit; exit 7' TERM USR1 HUP WINCH; {1} -f {2} -DFOREGROUND & wait $!; echo $? >{0}/status; exec sleep 600",
            server.root.display(),
            binary().display(),
            server.conf().display()
        );
        let mut shell = Command::new("/bin/sh")
            .arg("-c")
            .arg(script)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        server.wait_serving().unwrap();
        for harmless in [Signal::SIGUSR1, Signal::SIGHUP] {
            let before = server.count_log("resuming normal operations");
            server.signal(harmless);
            eventually("a new generation", || {
                server.count_log("resuming normal operations") > before
            });
        }
        server.signal(signal);
        let status = wait_for("its status", || {
            fs::read_to_string(server.root.join("status"))
                .ok()
                .filter(|s| s.ends_with('\n'))
        });
        assert_eq!(status.trim(), "0");
        assert!(
            !server.root.join("hit").exists(),
            "the script was signalled"
        );
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
}

#[test]
fn children_ignore_the_terminals_signals() {
    let server = Server::start(PLAIN);
    let children = server.children();
    for child in &children {
        for signal in [Signal::SIGINT, Signal::SIGWINCH, Signal::SIGHUP] {
            kill(Pid::from_raw(*child), signal).unwrap();
        }
    }
    for _ in 0..8 {
        assert!(get(server.port, "/").is_ok());
    }
    assert_eq!(server.children(), children);
}

#[test]
fn stop_takes_no_longer_than_killing_needs() {
    // A backend that never answers, and a child that does not react at all.
    let backend = Backend::with(|_| common::backend::Reply::RawThenHang(Vec::new()));
    let mut server = Server::start(&format!(
        "{PLAIN}ProxyPass / http://127.0.0.1:{}/\n",
        backend.port
    ));
    let mut client = Client::connect(server.port);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    eventually("the request is at the backend", || backend.count() == 1);
    let children = server.children();
    kill(Pid::from_raw(children[0]), Signal::SIGSTOP).unwrap();
    server.signal(Signal::SIGTERM);
    let status = server.wait_exit();
    assert_eq!(status.code(), Some(0), "{:?}", status.signal());
    assert!(children.iter().all(|c| !is_muster(*c)));
    assert!(client.closed());
}

#[test]
fn a_graceful_stop_finishes_requests_and_frees_the_port_at_once() {
    let gate = common::backend::Gate::default();
    let at_backend = gate.clone();
    let backend = Backend::with(move |_| common::backend::Reply::Gated {
        first: b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n".to_vec(),
        rest: b"done".to_vec(),
        gate: at_backend.clone(),
    });
    let conf = format!("{PLAIN}ProxyPass /b/ http://127.0.0.1:{}/\n", backend.port);
    let mut server = Server::start(&conf);
    let mut busy = Client::connect(server.port);
    busy.send("GET /b/x HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut idle = Client::connect(server.port);
    idle.get("/").unwrap();
    eventually("the request is at the backend", || backend.count() == 1);
    let pid = server.pid();
    let out = server.control("graceful-stop");
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert_eq!(server.try_pid(), None);
    assert!(is_muster(pid), "it finishes what it has");
    eventually("the port is free", || {
        Client::try_connect(server.port).is_err()
    });

    // Another instance may start right away, in the same places.
    let out = server.control("start");
    assert_eq!(out.status.code(), Some(0), "{out:?} {}", server.story());
    assert!(get(server.port, "/").is_ok());

    let answer = idle.get("/").unwrap();
    assert_eq!(answer.field("connection"), Some("close"), "{}", answer.head);
    gate.open();
    assert_eq!(busy.response("GET").unwrap().text(), "done");
    assert!(server.wait_exit().success());
    assert!(
        get(server.port, "/").is_ok(),
        "the new instance is untouched"
    );
    let out = server.control("stop");
    assert_eq!(out.status.code(), Some(0), "{out:?}");
}

/// A balancer whose changes are kept, with a manager.
fn persistent(backend: &Backend) -> String {
    format!(
        "{PLAIN}BalancerPersist On\n<Location /bm>\nSetHandler balancer-manager\n</Location>\n\
         <Proxy balancer://c>\nBalancerMember http://127.0.0.1:{}\nProxySet nonce=known\n</Proxy>\n\
         ProxyPass /b/ balancer://c/\n",
        backend.port
    )
}

/// Gives the balancer's member another load factor by the manager's form.
fn set_factor(client: &mut Client, backend: &Backend, factor: u32) {
    let w = format!("http%3A%2F%2F127.0.0.1%3A{}", backend.port);
    let body = format!("b=c&w={w}&nonce=known&w_lf={factor}");
    let form = "Referer: http://localhost/bm\r\nContent-Type: application/x-www-form-urlencoded";
    let length = body.len();
    client
        .send(format!(
            "POST /bm HTTP/1.1\r\nHost: localhost\r\n{form}\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
        .unwrap();
    let answer = client.response("POST").unwrap();
    assert!(answer.status < 400, "{}", answer.text());
}

fn factor(server: &Server) -> u32 {
    server.scoreboard().balancers[0].members[0].load_factor
}

/// BalancerPersist: what is changed while a graceful stop drains is kept too, unless another
/// instance that was started meanwhile has kept its own.
#[test]
fn changes_during_a_graceful_stop_are_kept() {
    let gate = common::backend::Gate::default();
    let at_backend = gate.clone();
    let backend = Backend::with(move |_| common::backend::Reply::Gated {
        first: b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n".to_vec(),
        rest: b"done".to_vec(),
        gate: at_backend.clone(),
    });
    for another in [false, true] {
        let mut server = Server::start(&persistent(&backend));
        let before = backend.count();
        let mut busy = Client::connect(server.port);
        busy.send("GET /b/x HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut admin = Client::connect(server.port);
        admin.get("/").unwrap();
        eventually("the request is there", || backend.count() > before);
        let out = server.control("graceful-stop");
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        if another {
            assert!(server.control("start").status.success());
            set_factor(&mut Client::connect(server.port), &backend, 7);
            assert!(server.control("stop").status.success());
        }
        set_factor(&mut admin, &backend, 3);
        gate.open();
        assert_eq!(busy.response("GET").unwrap().text(), "done");
        drop((busy, admin));
        assert!(server.wait_exit().success());
        server.launch(&[], &[]);
        assert_eq!(factor(&server), if another { 700 } else { 300 });
    }
}

/// BalancerPersist without a supervisor.
#[test]
fn one_process_keeps_changes_as_well() {
    let backend = Backend::start("a");
    let mut server = Server::prepare(&persistent(&backend));
    server.launch(&["-X"], &[]);
    set_factor(&mut Client::connect(server.port), &backend, 3);
    server.signal(Signal::SIGINT);
    assert!(server.wait_exit().success());
    server.launch(&["-X"], &[]);
    assert_eq!(factor(&server), 300);
}

#[test]
fn a_graceful_stop_is_bounded_by_its_timeout() {
    let backend = Backend::with(|_| common::backend::Reply::RawThenHang(Vec::new()));
    let mut server = Server::start(&format!(
        "{PLAIN}GracefulShutdownTimeout 1\nProxyPass / http://127.0.0.1:{}/\n",
        backend.port
    ));
    let mut client = Client::connect(server.port);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    eventually("the request is at the backend", || backend.count() == 1);
    server.signal(Signal::SIGWINCH);
    assert!(server.wait_exit().success());
    assert!(client.closed());
}

#[test]
fn a_piped_log_program_is_started_again() {
    let server = Server::start(
        &format!("{PLAIN}CustomLog \"|/bin/cat >> @ROOT@/logs/piped\" \"%r\"\n")
            .replace("\"|/bin", "\"|$/bin"),
    );
    get(server.port, "/first").unwrap();
    eventually("the line arrives", || {
        server.log("piped").contains("/first")
    });
    let own = server.children();
    let helpers =
        |pids: Vec<i32>| -> Vec<i32> { pids.into_iter().filter(|p| !is_muster(*p)).collect() };
    let programs = helpers(own.clone());
    assert_eq!(programs.len(), 1, "{own:?}");
    let status = fs::read_to_string(format!("/proc/{}/status", programs[0])).unwrap();
    for mask in ["SigBlk", "SigIgn"] {
        let line = status.lines().find(|l| l.starts_with(mask)).unwrap();
        let set = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        // 32 and 33 are the C library's own.
        assert_eq!(set & 0x7fff_ffff, 0, "{line}");
    }
    kill(Pid::from_raw(programs[0]), Signal::SIGKILL).unwrap();
    eventually("another program", || {
        let now = helpers(server.children());
        now.len() == 1 && now != programs
    });
    eventually("lines arrive again", || {
        get(server.port, "/second").unwrap();
        server.log("piped").contains("/second")
    });
    assert_eq!(zombies_of(server.pid()), 0);
}

#[test]
fn a_child_has_only_what_is_its_own() {
    let server = Server::start(PLAIN);
    let pid = server.pid();
    let before: Vec<usize> = server.children().iter().map(|c| descriptors(*c)).collect();
    let own = descriptors(pid);
    for _ in 0..3 {
        server.graceful();
    }
    eventually("the old generations are gone", || {
        server.children().len() == 2
    });
    let after: Vec<usize> = server.children().iter().map(|c| descriptors(*c)).collect();
    assert_eq!(
        before.iter().max(),
        after.iter().max(),
        "{before:?} {after:?}"
    );
    assert_eq!(own, descriptors(pid));
    for child in server.children() {
        for fd in fs::read_dir(format!("/proc/{child}/fd")).unwrap() {
            let to = fs::read_link(fd.unwrap().path()).unwrap_or_default();
            let to = to.to_string_lossy().into_owned();
            assert!(!to.contains("muster.pid"), "{to}");
            assert!(!to.ends_with(".scoreboard"), "{to}");
        }
    }
}

#[test]
fn root_becomes_somebody_else() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let server =
        Server::start("Listen 127.0.0.1:@PORT@\nStartServers 1\nUser nobody\nGroup nogroup\n");
    let child = server.children()[0];
    let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap();
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap().uid;
    let line = status.lines().find(|l| l.starts_with("Uid:")).unwrap();
    let ids: Vec<&str> = line.split_whitespace().skip(1).collect();
    assert_eq!(ids, [nobody.to_string().as_str(); 4]);
    assert!(!server.error_log().contains("without User"));

    let server = Server::prepare("Listen 127.0.0.1:@PORT@\nUser root\n");
    let out = server.muster(&["-t"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(stderr(&out).contains("User root is"), "{out:?}");
}

#[test]
fn a_configuration_that_everybody_may_write_is_refused_to_root() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let server = Server::prepare(PLAIN);
    fs::set_permissions(server.conf(), fs::Permissions::from_mode(0o666)).unwrap();
    for words in [&["-t"][..], &["-k", "start"], &["-DFOREGROUND"]] {
        let out = server.muster(words);
        assert_eq!(out.status.code(), Some(1));
        assert!(
            stderr(&out).contains("can be written by everybody"),
            "{out:?}"
        );
    }
    let out = server.muster(&["-t", "-D", "ALLOW_WRITABLE_CONFIG"]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
}

#[test]
fn ports_are_not_given_twice() {
    let mut ports: Vec<u16> = (0..20).map(|_| free_port()).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 20);
}
