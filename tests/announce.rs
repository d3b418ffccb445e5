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

/// `muster announce` to nobody, around a command or without one.
fn alone(root: &Path, words: &[&str]) -> Command {
    let secret = root.join("alone.secret");
    if !secret.exists() {
        let made = muster(&["beacon", "secret", &secret.to_string_lossy()]);
        assert!(made.status.success(), "{made:?}");
    }
    let mut command = Command::new(binary());
    command
        .args(["announce", "--to=127.0.0.1:9", "--url=http://127.0.0.1:9"])
        .arg(format!("--secret-file={}", secret.display()))
        .args(words)
        .stdin(Stdio::null())
        .stderr(fs::File::create(root.join("alone.log")).unwrap());
    command
}

/// Whatever ends the sidecar, and whenever: its command does not stay behind, unannounced and on
/// its port. The command holds the pipe, so its end is the pipe's.
#[test]
fn no_command_outlives_its_announcer() {
    let root = Root::new();
    for round in 0..24u64 {
        let mut announcer = Announcer(
            alone(&root.0, &["--drain=0", "--", "sleep", "300"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let pipe = announcer.0.stdout.take().unwrap();
        std::thread::sleep(Duration::from_micros(round * 400));
        let last = match round % 4 {
            3 => Signal::SIGKILL,
            _ => Signal::SIGTERM,
        };
        announcer.signal(last);
        wait_for("it ends", || announcer.0.try_wait().unwrap());
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut pipe = pipe;
            let _ = std::io::Read::read_to_end(&mut pipe, &mut Vec::new());
            let _ = done.send(());
        });
        let ended = ended.recv_timeout(Duration::from_secs(20));
        assert!(ended.is_ok(), "round {round}: the command still runs");
    }
}

#[test]
fn a_command_starts_as_if_alone_and_its_end_is_handed_on() {
    let root = Root::new();
    let code = |words: &[&str]| {
        let mut announcer = Announcer(alone(&root.0, words).spawn().unwrap());
        announcer.exit_code()
    };
    assert_eq!(code(&["--", "sh", "-c", "kill -9 $$"]), Some(128 + 9));
    // Words behind -- are the command's.
    let out = alone(&root.0, &["--", "printf", "%s\\n", "--help"])
        .output()
        .unwrap();
    assert_eq!(text(&out.stdout), "--help\n");
    let states = |announcer: &mut Command| {
        let out = announcer.output().unwrap();
        let said = text(&out.stdout);
        let of = |name: &str| {
            let line = said.lines().find_map(|l| l.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        // Without the realtime ones, which are as they were.
        (of("SigBlk:") & 0x7fff_ffff, of("SigIgn:") & 0x7fff_ffff)
    };
    let status = ["--", "cat", "/proc/self/status"];
    assert_eq!(states(&mut alone(&root.0, &status)), (0, 0));
    // nohup has it ignore HUP, and so does the command.
    let inner = alone(&root.0, &status);
    let mut nohup = Command::new("nohup");
    nohup.arg(inner.get_program()).args(inner.get_args());
    let hup = 1 << (Signal::SIGHUP as u32 - 1);
    assert_eq!(states(&mut nohup), (0, hup));
}

/// A terminal that is closed (an ssh session that ends) is the end of both, and a withdrawal.
#[test]
fn a_closed_terminal_ends_it_and_its_command() {
    let root = Root::new();
    let terminal = nix::pty::openpty(None, None).unwrap();
    // Only this process holds the other end.
    let flags = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC);
    nix::fcntl::fcntl(&terminal.master, flags).unwrap();
    let words = ["--check=none", "--drain=0", "--", "sleep", "300"];
    let command = alone(&root.0, &words);
    let mut setsid = Command::new("setsid");
    setsid
        .args(["--ctty", "--wait"])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(terminal.slave)
        .stderr(fs::File::create(root.0.join("alone.log")).unwrap());
    let mut announcer = Announcer(setsid.spawn().unwrap());
    let log = root.0.join("alone.log");
    eventually("it announces", || read(&log).contains("announcing"));
    drop(terminal.master);
    assert_eq!(announcer.exit_code(), Some(128 + Signal::SIGHUP as i32));
    assert!(read(&log).contains("withdrew"));
}

/// A standard error that nobody reads, and which is full, costs lines and nothing else: the backend
/// is announced, withdrawn and stopped.
#[test]
fn a_full_standard_error_keeps_nothing_up() {
    let root = Root::new();
    let proxy = UdpSocket::bind("127.0.0.1:0").unwrap();
    proxy
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let (_reader, mut writer) = std::io::pipe().unwrap();
    let flags = nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK);
    nix::fcntl::fcntl(&writer, flags).unwrap();
    while writer.write(&[b'x'; 512]).is_ok() {}
    let flags = nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::empty());
    nix::fcntl::fcntl(&writer, flags).unwrap();
    let to = format!("--to={}", proxy.local_addr().unwrap());
    let words = [&to, "--check=none", "--drain=0", "--", "sleep", "300"];
    let mut announcer = Announcer(alone(&root.0, &words).stderr(writer).spawn().unwrap());
    let mut buffer = [0; 2048];
    let mut next = || {
        let n = proxy.recv(&mut buffer).expect("a datagram comes");
        text(&buffer[..n])
    };
    assert!(!next().contains(" state=leaving"));
    announcer.signal(Signal::SIGTERM);
    while !next().contains(" state=leaving") {}
    assert_eq!(announcer.exit_code(), Some(128 + Signal::SIGTERM as i32));
}

/// Who stops the backend once its announcer has ended can have it wait, so that proxies have taken
/// the withdrawal in; a second signal is for those in a hurry.
#[test]
fn without_a_command_it_waits_as_long_as_it_is_told_to() {
    let root = Root::new();
    let log = root.0.join("alone.log");
    for hurry in [false, true] {
        let drain = if hurry {
            "--drain=300"
        } else {
            "--drain=500ms"
        };
        let mut announcer = Announcer(alone(&root.0, &[drain]).spawn().unwrap());
        eventually("it announces", || read(&log).contains("announcing"));
        let began = std::time::Instant::now();
        announcer.signal(Signal::SIGTERM);
        eventually("it withdraws", || read(&log).contains("withdrew"));
        if hurry {
            announcer.signal(Signal::SIGTERM);
        }
        assert_eq!(announcer.exit_code(), Some(0));
        assert!(hurry || began.elapsed() >= Duration::from_millis(500));
    }
}

/// As a container's first process it is given the children of processes that end.
#[test]
fn children_that_it_never_started_leave_no_zombies() {
    let root = Root::new();
    let inner = alone(&root.0, &["--check=none"]);
    let words: Vec<String> = std::iter::once(inner.get_program())
        .chain(inner.get_args())
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "sleep 0.2 & exec \"$@\"", "sh"])
        .args(&words)
        .stderr(Stdio::null());
    let announcer = Announcer(shell.spawn().unwrap());
    let pid = announcer.0.id();
    let children = || read(Path::new(&format!("/proc/{pid}/task/{pid}/children")));
    eventually("the shell's child is gone", || {
        let name = read(Path::new(&format!("/proc/{pid}/comm")));
        name.trim() == "muster" && children().trim().is_empty()
    });
}

#[test]
fn hup_has_it_read_its_secret_again() {
    let root = Root::new();
    let mut announcer = Announcer(alone(&root.0, &[]).spawn().unwrap());
    let log = root.0.join("alone.log");
    eventually("it announces", || read(&log).contains("announcing"));
    let secret = root.0.join("alone.secret");
    announcer.signal(Signal::SIGHUP);
    eventually("it says so", || read(&log).contains("alone.secret again"));
    fs::write(&secret, "hex:short").unwrap();
    announcer.signal(Signal::SIGHUP);
    eventually("it keeps the one from before", || {
        read(&log).contains("the secret from before is still used")
    });
    assert!(!read(&log).contains("short"));
    announcer.signal(Signal::SIGTERM);
    assert_eq!(announcer.exit_code(), Some(0));
}

/// A directory that ends with the test.
struct Root(PathBuf);

impl Root {
    fn new() -> Root {
        let name = format!("muster-announce-{}-{}", std::process::id(), free_port());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Root(path)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A full disk is a message and a status, not a panic, and not silence.
#[test]
fn output_that_cannot_be_written_is_told_of() {
    let root = Root::new();
    let conf = root.0.join("a.conf");
    fs::write(&conf, "Listen 127.0.0.1:9\nServerName a.test\n").unwrap();
    let secret = root.0.join("secret");
    let (conf, secret) = (conf.to_str().unwrap(), secret.to_str().unwrap());
    let calls: [&[&str]; 10] = [
        &["announce", "--help"],
        &["beacon", "--help"],
        &["beacon", "secret", secret],
        &["beacon", "check", "--secret-file", secret, "x"],
        &["-L"],
        &["-l"],
        &["-V"],
        &["-f", conf, "-S"],
        &["-f", conf, "--explain", "http://a.test/"],
        &["scoreboard", "--help"],
    ];
    for words in calls {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let out = Command::new(binary())
            .args(words)
            .stdout(full.unwrap())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{words:?}: {said}");
        assert!(
            said.contains("No space left on device"),
            "{words:?}: {said}"
        );
        // Nor is there a panic when nobody can be told.
        let full = || {
            fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap()
        };
        let mute = Command::new(binary())
            .args(words)
            .args(["--no-such-word"])
            .stdout(full())
            .stderr(full())
            .status()
            .unwrap();
        assert!(matches!(mute.code(), Some(0..=2)), "{words:?}: {mute}");
        // A reader that has enough is no fault.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let out = Command::new(binary())
            .args(words.iter().filter(|w| **w != "secret"))
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert!(!text(&out.stderr).contains("panicked"), "{words:?}");
    }
}

/// What a receiver would refuse is not called good.
#[test]
fn a_check_knows_where_a_url_may_lead() {
    use muster::codec::beacon::{Algorithm, Fields, Key, Origin, Signer};
    let root = Root::new();
    let secret = root.0.join("secret");
    assert!(
        muster(&["beacon", "secret", secret.to_str().unwrap()])
            .status
            .success()
    );
    let check = |url: &str| {
        let signer = Signer {
            key: Key::of_secret(read(&secret).trim().as_bytes()).unwrap(),
            algorithm: Algorithm::HmacSha256,
        };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let datagram = signer.datagram(&Fields {
            origin: Origin::parse(url.as_bytes()).as_ref(),
            ts: now.unwrap().as_micros() as i64,
            route: Some(""),
            ..Fields::default()
        });
        let datagram = text(&datagram);
        let out = muster(&[
            "beacon",
            "check",
            "--secret-file",
            secret.to_str().unwrap(),
            &datagram,
        ]);
        (out.status.code(), text(&out.stdout))
    };
    let (code, said) = check("http://169.254.169.254");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("dropped: unacceptable url") && said.contains("link-local"),
        "{said}"
    );
    let (code, said) = check("http://127.0.0.1:81");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("if it comes from the receiver's own machine"),
        "{said}"
    );
    let (code, said) = check("http://10.0.0.5");
    assert!(code == Some(0) && !said.contains("own machine"), "{said}");
}

/// One proxy that cannot be found takes nothing from the other.
#[test]
fn an_unresolvable_proxy_costs_the_other_no_message() {
    let root = Root::new();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    // A label that no name has: refused without asking anybody.
    let nowhere = format!("--to={}.invalid:5555", "x".repeat(64));
    let to = format!("--to={}", socket.local_addr().unwrap());
    let _announcer = Announcer(
        alone(&root.0, &[&nowhere, &to, "--interval=100ms", "--route="])
            .spawn()
            .unwrap(),
    );
    let mut buffer = [0; 4096];
    let mut number = |n: u64| {
        let n_bytes = socket.recv(&mut buffer).unwrap();
        let said = text(&buffer[..n_bytes]);
        assert!(said.contains(&format!(" seq={n} ")), "{said}");
        let ts = said.split_once(" ts=").unwrap().1;
        ts.split(' ').next().unwrap().parse::<i64>().unwrap()
    };
    let stamps: Vec<i64> = (0..5).map(&mut number).collect();
    assert!(stamps.is_sorted_by(|a, b| a < b), "{stamps:?}");
    let log = root.0.join("alone.log");
    eventually("it says which", || read(&log).contains("cannot look xxx"));
}

/// Wherever a secret is written, no log and no dump repeats it.
#[test]
fn no_secret_is_logged_or_dumped() {
    const SECRET: &str = "hex:00112233445566778899aabbccddeeff";
    let beacon = free_port();
    let mut server = Server::prepare(&format!(
        "Listen 127.0.0.1:@PORT@\nProxyBeaconListen 127.0.0.1:{beacon}\n"
    ));
    let define = format!("Define BEACON_KEY {SECRET}");
    let plain = format!("ProxyBeaconSecret {SECRET}");
    let words = [
        "-C",
        &define,
        "-c",
        "ProxyBeaconSecret ${BEACON_KEY}",
        "-c",
        &plain,
    ];
    server.launch(&words, &[]);
    let told = server.error_log();
    assert!(told.contains("-C Define BEACON_KEY *** -c "), "{told}");
    assert!(told.contains("can see the command line (ps)"), "{told}");
    assert!(!told.contains("0011"), "{told}");
    let dumps = ["-t", "-D", "DUMP_CONFIG", "-D", "DUMP_RUN_CFG"];
    let out = server.muster(&[&words[..], &dumps[..]].concat());
    let (said, told) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{told}");
    assert!(said.contains("Define: BEACON_KEY=***"), "{said}");
    assert!(said.contains("ProxyBeaconSecret ***"), "{said}");
    assert!(
        !said.contains("0011") && !told.contains("0011"),
        "{said}{told}"
    );
}

/// The same of a muster that announces itself: every message, in order.
#[test]
fn an_unresolvable_target_costs_the_other_no_message() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let back = Server::start(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 2\n\
         ProxyBeaconAddress {}.invalid:5555 {}\nProxyBeaconAdvertise http://10.0.0.5\n\
         ProxyBeaconInterval 100ms\nProxyBeaconSecret secret\n",
        "x".repeat(64),
        socket.local_addr().unwrap()
    ));
    let mut buffer = [0; 4096];
    let mut stamps = Vec::new();
    for number in 0..8 {
        let n = socket.recv(&mut buffer).unwrap();
        let said = text(&buffer[..n]);
        assert!(said.contains(&format!(" seq={number} ")), "{said}");
        let ts = said.split_once(" ts=").unwrap().1;
        stamps.push(ts.split(' ').next().unwrap().parse::<i64>().unwrap());
    }
    assert!(stamps.is_sorted_by(|a, b| a < b), "{stamps:?}");
    back.wait_log("cannot announce to xxx");
}

/// With `--fails 2` one bad answer between good ones is forgiven, two in a row are not.
#[test]
fn a_check_may_fail_now_and_then() {
    let root = Root::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let check = format!("--check=http://{}/", listener.local_addr().unwrap());
    let _announcer = Announcer(
        alone(&root.0, &[&check, "--fails=2", "--interval=100ms"])
            .spawn()
            .unwrap(),
    );
    let log = root.0.join("alone.log");
    let mut answers = [200, 503, 200, 200, 503, 200, 503, 503]
        .into_iter()
        .peekable();
    while let Some(status) = answers.next() {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = std::io::Read::read(&mut stream, &mut [0; 2048]);
        let _ = stream.write_all(format!("HTTP/1.1 {status} X\r\n\r\n").as_bytes());
        if answers.peek().is_some() {
            assert!(!read(&log).contains("withdrew"), "too early");
        }
    }
    eventually("it is withdrawn", || read(&log).contains("withdrew"));
    assert!(read(&log).contains("it answers 503"));
    // Another reason is news, the same one is not.
    drop(listener);
    eventually("it says that nothing listens now", || {
        read(&log).contains("Connection refused")
    });
    assert_eq!(read(&log).matches("it answers 503").count(), 1);
}

/// A muster that announces itself and stops is drained at once, not when its lease ends; one that
/// only restarts stays a member.
#[test]
fn a_muster_that_stops_leaves_at_once() {
    let stand = Stand::new();
    let mut back = Server::prepare(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 2\nProxyBeaconAddress 127.0.0.1:{}\n\
         ProxyBeaconAdvertise http://127.0.0.1:@PORT@\nProxyBeaconInterval 100ms\n\
         ProxyBeaconSecretFile \"{}\"\n",
        stand.beacon,
        stand.secret.display()
    ));
    let left = || stand.server.count_log("(it leaves)");
    let accepted = || stand.server.scoreboard().beacons[0].accepted;
    for (round, how) in [Signal::SIGTERM, Signal::SIGWINCH, Signal::SIGINT]
        .into_iter()
        .enumerate()
    {
        let single: &[&str] = if how == Signal::SIGINT { &["-X"] } else { &[] };
        back.launch(single, &[]);
        stand.joins(back.port);
        if round == 0 {
            for restart in [Signal::SIGHUP, Signal::SIGUSR1] {
                let serving = || back.count_log("resuming normal operations");
                let times = serving();
                back.signal(restart);
                eventually("it has restarted", || serving() > times);
                let before = accepted();
                eventually("it goes on", || accepted() > before + 5);
            }
            assert_eq!(left(), 0, "a restart is no end");
        }
        let before = left();
        if round == 0 {
            // As systemd does: all processes of the service, in any order.
            for child in back.children() {
                kill(Pid::from_raw(child), how).unwrap();
            }
        }
        back.signal(how);
        back.wait_exit();
        stand.leaves(back.port);
        // More than once when a child was told first and replaced.
        assert!(left() > before);
    }
}
