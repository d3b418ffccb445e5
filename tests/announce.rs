//! `muster announce` and `muster beacon`: backends that are no muster, and the tools around.

mod common;

use std::fs;
use std::io::Write;
use std::net::UdpSocket;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use common::server::binary;
use common::wait::within;
use common::{Backend, Server, eventually, free_port, get, wait_for};
use muster::shm::status;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

struct Stand {
    server: Server,
    beacon: u16,
    secret: PathBuf,
}

impl Stand {
    /// A proxy that never evicts: who leaves did so by word.
    fn new() -> Stand {
        let beacon = wait_for("a free port for datagrams", || {
            let port = free_port();
            UdpSocket::bind(("127.0.0.1", port)).ok().map(|_| port)
        });
        let mut server = Server::prepare(&format!(
            "Listen 127.0.0.1:@PORT@\nStartServers 2\n<Proxy balancer://c>\nProxySet growth=4\n</Proxy>\n\
             ProxyPass / balancer://c/\nProxyBeaconListen 127.0.0.1:{beacon}\nProxyBeaconBalancer c\n\
             ProxyBeaconSecretFile \"@ROOT@/secret\"\n"
        ));
        let secret = server.root.join("secret");
        let out = muster(&["beacon", "secret", &secret.to_string_lossy()]);
        assert!(out.status.success(), "{out:?}");
        server.launch(&[], &[]);
        Stand {
            server,
            beacon,
            secret,
        }
    }

    fn announce(&self, port: u16, more: &[&str]) -> Announcer {
        let log = self.server.root.join(format!("announce-{port}"));
        let process = Command::new(binary())
            .args(["announce", "--to", &format!("127.0.0.1:{}", self.beacon)])
            .args(["--url", &format!("http://127.0.0.1:{port}")])
            .arg(format!("--secret-file={}", self.secret.display()))
            .args(["--interval", "200ms"])
            .args(more)
            .stdin(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Announcer(process)
    }

    fn status(&self, port: u16) -> String {
        let members = self.server.scoreboard().balancers.remove(0).members;
        let name = format!("http://127.0.0.1:{port}");
        let found = members.iter().find(|m| m.name == name);
        found.map_or(String::new(), |m| status::text(m.status))
    }

    fn joins(&self, port: u16) {
        eventually("it joins", || self.status(port) == "Init Bcn Ok ");
    }

    fn leaves(&self, port: u16) {
        eventually("it leaves", || self.status(port) == "Init Dis Bcn ");
    }
}

/// Killed when the test ends early.
struct Announcer(Child);

impl Announcer {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }

    fn exit_code(&mut self) -> Option<i32> {
        wait_for("it ends", || self.0.try_wait().unwrap()).code()
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        // Softly first, so that its command ends too.
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
        let ended = within(Duration::from_secs(3), || self.0.try_wait().ok().flatten());
        if ended.is_none() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

fn muster(words: &[&str]) -> Output {
    Command::new(binary())
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_backend_is_announced_while_it_answers_and_withdrawn_at_the_end() {
    let stand = Stand::new();
    let port = free_port();
    let check = format!("http://127.0.0.1:{port}/up");
    let more = ["--check", &check, "--route", "r1", "--loadfactor", "2"];
    let mut announcer = stand.announce(port, &more);
    // Nothing listens there yet.
    let log = stand.server.root.join(format!("announce-{port}"));
    eventually("it says why not", || {
        fs::read_to_string(&log).unwrap().contains("not announcing")
    });
    assert_eq!(stand.status(port), "");
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let backend = std::thread::spawn(move || {
        listener.set_nonblocking(true).unwrap();
        while stopped.try_recv().is_err() {
            if let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.set_nonblocking(false);
                let mut request = [0; 2048];
                let _ = std::io::Read::read(&mut stream, &mut request);
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
                );
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    });
    stand.joins(port);
    let member = stand
        .server
        .scoreboard()
        .balancers
        .remove(0)
        .members
        .remove(0);
    assert_eq!((member.route.as_str(), member.load_factor), ("r1", 200));
    assert_eq!(get(stand.server.port, "/").unwrap().text(), "ok");
    // It does not answer any more.
    stop.send(()).unwrap();
    backend.join().unwrap();
    stand.leaves(port);
    announcer.signal(Signal::SIGTERM);
    assert_eq!(announcer.exit_code(), Some(0));
}

#[test]
fn a_signal_withdraws_at_once() {
    let stand = Stand::new();
    let backend = Backend::start("a");
    let mut announcer = stand.announce(backend.port, &["--check=tcp"]);
    stand.joins(backend.port);
    announcer.signal(Signal::SIGTERM);
    assert_eq!(announcer.exit_code(), Some(0));
    stand.leaves(backend.port);
    assert_eq!(get(stand.server.port, "/").unwrap().status, 503);
    let _again = stand.announce(backend.port, &[]);
    stand.joins(backend.port);
}

const BACKEND: &str = r#"
import signal, socket, sys, threading, time
port, note = int(sys.argv[1]), sys.argv[2]
def note_down(name):
    with open(note, "a") as f:
        f.write(name + "\n")
def term(*_):
    note_down("TERM")
    sys.exit(7)
signal.signal(signal.SIGTERM, term)
signal.signal(signal.SIGUSR1, lambda *_: note_down("USR1"))
time.sleep(0.5)
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", port))
s.listen()
s.settimeout(0.05)
while True:
    try:
        c, _ = s.accept()
    except socket.timeout:
        continue
    c.settimeout(1)
    try:
        c.recv(4096)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\npython\n")
    except OSError:
        pass
    c.close()
"#;

#[test]
fn a_command_is_withdrawn_before_it_is_stopped() {
    let stand = Stand::new();
    let port = free_port();
    stand.server.write("backend.py", BACKEND);
    let script = stand.server.root.join("backend.py");
    let note = stand.server.root.join("note");
    let words = ["--drain", "500ms", "--", "python3"];
    let rest = [
        script.to_str().unwrap(),
        &port.to_string(),
        note.to_str().unwrap(),
    ]
    .map(str::to_owned);
    let more: Vec<&str> = words
        .into_iter()
        .chain(rest.iter().map(String::as_str))
        .collect();
    let mut announcer = stand.announce(port, &more);
    stand.joins(port);
    assert_eq!(get(stand.server.port, "/").unwrap().text(), "python\n");
    let noted = |name: &str| read(&note).contains(name);
    announcer.signal(Signal::SIGUSR1);
    eventually("the signal is handed on", || noted("USR1"));
    announcer.signal(Signal::SIGTERM);
    eventually("it is withdrawn, and only then told to stop", || {
        let told = noted("TERM");
        let left = stand.status(port) == "Init Dis Bcn ";
        assert!(left || !told, "told to stop while proxies send requests");
        told
    });
    assert_eq!(announcer.exit_code(), Some(7));
    // A command that ends by itself is withdrawn too.
    let mut announcer = stand.announce(port, &["--", "sh", "-c", "exit 3"]);
    assert_eq!(announcer.exit_code(), Some(3));
    let mut announcer = stand.announce(port, &["--", "/no/such/program"]);
    assert_eq!(announcer.exit_code(), Some(1));
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn secrets_are_made_private_and_checks_tell_why() {
    let stand = Stand::new();
    assert_eq!(fs::metadata(&stand.secret).unwrap().mode() & 0o777, 0o600);
    let secret = read(&stand.secret);
    assert!(secret.starts_with("hex:") && secret.len() == 37, "{secret}");
    let again = muster(&["beacon", "secret", &stand.secret.to_string_lossy()]);
    assert!(!again.status.success() && text(&again.stderr).contains("never overwritten"));
    assert_eq!(read(&stand.secret), secret);
    // What a sidecar sends, caught and judged.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap().to_string();
    let file = stand.secret.to_string_lossy().into_owned();
    let _announcer = Announcer(
        Command::new(binary())
            .args([
                "announce",
                "--to",
                &to,
                "--url",
                "http://10.0.0.5:81",
                "--secret-file",
                &file,
            ])
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    socket
        .set_read_timeout(Some(std::time::Duration::from_secs(10)))
        .unwrap();
    let mut buffer = [0; 4096];
    let n = socket.recv(&mut buffer).unwrap();
    let datagram = text(&buffer[..n]);
    let check = |words: &[&str]| {
        let out = muster(&[&["beacon", "check"], words].concat());
        (out.status.code(), text(&out.stdout))
    };
    let (code, said) = check(&["--secret-file", &file, &datagram]);
    assert!(
        code == Some(0) && said.contains("http://10.0.0.5:81 would join"),
        "{said}"
    );
    let (code, said) = check(&["--secret-file", &file, "--mac", "siphash", &datagram]);
    assert!(
        code == Some(1) && said.contains("mac algorithm not accepted"),
        "{said}"
    );
    let (code, said) = check(&[
        "--secret-file",
        &file,
        &datagram.replace("10.0.0.5", "10.0.0.6"),
    ]);
    assert!(code == Some(1) && said.contains("mac mismatch"), "{said}");
    let conf = stand.server.conf();
    let conf = conf.to_str().unwrap();
    let out = muster(&["-f", conf, "beacon", "check", &datagram]);
    assert!(
        text(&out.stdout).contains("would be added to balancer://c"),
        "{out:?}"
    );
    // The running instance takes it once.
    socket
        .send_to(&buffer[..n], ("127.0.0.1", stand.beacon))
        .unwrap();
    eventually("it is a replay now", || {
        let out = muster(&["-f", conf, "beacon", "check", &datagram]);
        text(&out.stdout).contains("replayed/reordered ts")
    });
    let shown = text(&stand.server.muster(&["scoreboard"]).stdout);
    assert!(
        shown.contains("beacons at 127.0.0.1:") && shown.contains("http://10.0.0.5:81"),
        "{shown}"
    );
    let json = text(&stand.server.muster(&["scoreboard", "--json"]).stdout);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["beacons"][0]["leases"][0]["state"], "live");
    assert!(!shown.contains(&secret[4..36]));
}
