//! The real httpd as the oracle: one configuration and the same bytes for it and for muster, and
//! what both gave to the client and to the backends side by side.

use std::fmt::Write;
use std::fs;
use std::io::{Read, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::backend::{Backend, Reply, Seen};
use super::server::{Server, free_port};
use super::wait::wait_for;

/// Where Debian puts httpd and its modules.
const HTTPD: &str = "/usr/sbin/apache2";
const MODULES_DIR: &str = "/usr/lib/apache2/modules";
/// What muster does itself, as modules of httpd.
const MODULES: &[&str] = &[
    "mpm_prefork",
    "authn_core",
    "authz_core",
    "authz_host",
    "access_compat",
    "alias",
    "allowmethods",
    "dir",
    "mime",
    "env",
    "setenvif",
    "reqtimeout",
    "status",
    "slotmem_shm",
    "proxy",
    "proxy_http",
    "proxy_balancer",
    "lbmethod_byrequests",
    "lbmethod_bytraffic",
    "lbmethod_bybusyness",
];

/// Those that a configuration with HeartbeatListen needs besides.
const HEARTBEAT_MODULES: &[&str] = &["heartmonitor", "lbmethod_heartbeat"];

/// Whether there is an httpd to ask.
pub fn present() -> bool {
    Path::new(HTTPD).exists() && Path::new(MODULES_DIR).join("mod_proxy.so").exists()
}

/// A case: a configuration for both servers and the requests.
///
/// In the configuration and the requests, `@PORT@`, `@PORT2@`, `@ROOT@`, `@B1@`, `@B2@` (ports of
/// recording backends) and `@DEAD@` (nobody listens) are replaced.
#[derive(Default)]
pub struct Case {
    conf: String,
    files: Vec<(String, String)>,
    requests: Vec<Request>,
    logs: Vec<&'static str>,
    sparse_logs: Vec<&'static str>,
    allowed: Vec<&'static str>,
}

struct Request {
    bytes: String,
    second_port: bool,
}

impl Case {
    /// Starts with a configuration.
    pub fn new(conf: &str) -> Case {
        Case {
            conf: conf.to_owned(),
            ..Case::default()
        }
    }

    /// A file below the server root for both.
    pub fn file(mut self, name: &str, text: &str) -> Case {
        self.files.push((name.into(), text.into()));
        self
    }

    /// `GET path` with `Host: front.test`, one connection.
    pub fn get(self, path: &str) -> Case {
        self.ask(&format!("GET {path} HTTP/1.1|Host: front.test"))
    }

    /// A request: `|` stands for a line end, `||` for the one in front of the body. `Connection:
    /// close` is added where no Connection field is written.
    pub fn ask(mut self, line: &str) -> Case {
        self.requests.push(request(line, false));
        self
    }

    /// The same to the second port.
    pub fn ask2(mut self, line: &str) -> Case {
        self.requests.push(request(line, true));
        self
    }

    /// These bytes as they are.
    pub fn raw(mut self, bytes: &str) -> Case {
        self.requests.push(Request {
            bytes: bytes.into(),
            second_port: false,
        });
        self
    }

    /// The lines of this file below `logs`, which not every request writes to, are compared when the
    /// servers have ended.
    pub fn sparse_log(mut self, name: &'static str) -> Case {
        self.sparse_logs.push(name);
        self
    }

    /// The lines of this file below `logs` are compared too: one for each request.
    pub fn log(mut self, name: &'static str) -> Case {
        self.logs.push(name);
        self
    }

    /// Differences whose text holds this are meant.
    pub fn allow(mut self, text: &'static str) -> Case {
        self.allowed.push(text);
        self
    }

    /// Runs both and panics with every difference that is not meant. Without an httpd nothing is
    /// compared, and the output says so.
    pub fn compare(self) {
        if !present() {
            eprintln!("no httpd at {HTTPD}: nothing is compared");
            return;
        }
        let text = self.all_differences();
        assert!(text.is_empty(), "httpd and muster differ:\n{text}");
    }

    /// Runs both and panics where this is not among the differences. Without an httpd nothing is
    /// compared.
    pub fn differ(self, what: &str) {
        if present() {
            let text = self.all_differences();
            assert!(text.contains(what), "not as {what}:\n{text}");
        }
    }

    fn all_differences(&self) -> String {
        let ours = self.run(Kind::Muster);
        let theirs = self.run(Kind::Httpd);
        let mut text = String::new();
        for (a, m) in theirs.iter().zip(&ours) {
            let mut lines = Vec::new();
            if a.request.starts_with("log ") {
                line_differences(&a.answer, &m.answer, &mut lines);
            } else {
                differences("answer", &a.answer, &m.answer, &mut lines);
            }
            differences("backend", &a.backend, &m.backend, &mut lines);
            lines.retain(|l| !self.allowed.iter().any(|t| l.contains(t)));
            if !lines.is_empty() {
                let _ = writeln!(text, "{}\n  {}", a.request, lines.join("\n  "));
            }
        }
        text
    }

    fn run(&self, kind: Kind) -> Vec<Exchange> {
        let backends = [recorder("b1"), recorder("b2")];
        let dead = free_port();
        let fill = |text: &str, port: u16, port2: u16, root: &str| {
            text.replace("@PORT@", &port.to_string())
                .replace("@PORT2@", &port2.to_string())
                .replace("@ROOT@", root)
                .replace("@B1@", &backends[0].port.to_string())
                .replace("@B2@", &backends[1].port.to_string())
                .replace("@DEAD@", &dead.to_string())
        };
        let server = Server::prepare("");
        let root = server.root.to_string_lossy().into_owned();
        let (port, port2) = (server.port, server.port2);
        for (name, text) in &self.files {
            server.write(name, fill(text, port, port2, &root));
        }
        let conf = fill(&self.conf, port, port2, &root);
        let running = Running::start(kind, server, &conf);
        let plain = |text: String| {
            let mut text = text.replace(&root, "@ROOT@");
            for (port, name) in [
                (port, "@PORT@"),
                (port2, "@PORT2@"),
                (backends[0].port, "@B1@"),
                (backends[1].port, "@B2@"),
                (dead, "@DEAD@"),
            ] {
                text = text.replace(&port.to_string(), name);
            }
            text
        };
        let mut out = Vec::new();
        for (i, r) in self.requests.iter().enumerate() {
            let before: Vec<usize> = backends.iter().map(Backend::count).collect();
            let bytes = fill(&r.bytes, port, port2, &root);
            let answer = exchange(if r.second_port { port2 } else { port }, bytes.as_bytes());
            let mut seen = String::new();
            for (b, n) in backends.iter().zip(before) {
                for s in &b.seen()[n..] {
                    seen.push_str(&s.head);
                    seen.push_str(&String::from_utf8_lossy(&s.body));
                }
            }
            // Lines of several children come in the order of the requests only when they are awaited.
            for name in &self.logs {
                wait_for("the log has a line for each request", || {
                    (running.server.log(name).lines().count() > i).then_some(())
                });
            }
            out.push(Exchange {
                request: r.bytes.lines().next().unwrap_or_default().to_owned(),
                answer: plain(answer),
                backend: plain(seen),
            });
        }
        for name in &self.logs {
            for (i, line) in running.server.log(name).lines().enumerate() {
                out.push(Exchange {
                    request: format!("line {} of {name}", i + 1),
                    answer: plain(line.to_owned()),
                    backend: String::new(),
                });
            }
        }
        let ports = [
            (port, "@PORT@".to_string()),
            (port2, "@PORT2@".to_string()),
            (dead, "@DEAD@".to_string()),
        ];
        let backend_ports = backends
            .iter()
            .enumerate()
            .map(|(i, b)| (b.port, format!("@B{}@", i + 1)));
        let ports: Vec<(u16, String)> = ports.into_iter().chain(backend_ports).collect();
        for (name, text) in self.sparse_logs.iter().zip(running.end(&self.sparse_logs)) {
            let text = ports
                .iter()
                .fold(text.replace(&root, "@ROOT@"), |t, (port, name)| {
                    t.replace(&port.to_string(), name)
                });
            out.push(Exchange {
                request: format!("log {name}"),
                answer: text,
                backend: String::new(),
            });
        }
        out
    }
}

struct Exchange {
    request: String,
    answer: String,
    backend: String,
}

fn request(line: &str, second_port: bool) -> Request {
    let (head, body) = line.split_once("||").unwrap_or((line, ""));
    let mut head = head.replace('|', "\r\n");
    if !head.to_ascii_lowercase().contains("\r\nconnection:") {
        head.push_str("\r\nConnection: close");
    }
    Request {
        bytes: format!("{head}\r\n\r\n{body}"),
        second_port,
    }
}

/// Answers with its name and the request line, or as the path says: `/status/NNN`, `/to?LOCATION`
/// (302), `/cookie?VALUE`, `/hdr?NAME=VALUE`.
fn recorder(name: &'static str) -> Backend {
    Backend::with(move |seen: &Seen| {
        let target = seen.target();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut status = "200 OK".to_string();
        let mut fields = String::new();
        if let Some(at) = path.find("/status/") {
            status = format!("{} Status", &path[at + 8..]);
        } else if path.ends_with("/to") {
            status = "302 Found".into();
            fields = format!("Location: {query}\r\n");
        } else if path.ends_with("/cookie") {
            fields = format!("Set-Cookie: {}\r\n", query.replace("%20", " "));
        } else if path.ends_with("/hdr") {
            fields = format!("{}\r\n", query.replacen('=', ": ", 1));
        }
        let body = format!("{name} {}\n", seen.line());
        let shown = if seen.line().starts_with("HEAD ") {
            ""
        } else {
            &body
        };
        Reply::Raw(
            format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{fields}Content-Length: {}\r\n\r\n{shown}",
                body.len()
            )
            .into_bytes(),
        )
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Httpd,
    Muster,
}

struct Running {
    httpd: Option<Child>,
    server: Server,
}

impl Running {
    fn start(kind: Kind, mut server: Server, conf: &str) -> Running {
        if kind == Kind::Muster {
            server.configure(conf);
            server.launch(&[], &[]);
            return Running {
                httpd: None,
                server,
            };
        }
        let root = &server.root;
        server.write(
            "mime.types",
            "text/html html\ntext/plain txt\ntext/css css\nimage/png png\n",
        );
        let mut text = format!(
            "ServerRoot \"{0}\"\nDefaultRuntimeDir \"{0}/run\"\nPidFile \"{0}/run/httpd.pid\"\nErrorLog \"{0}/logs/error_log\"\nServerName localhost\nStartServers 2\n",
            root.display()
        );
        let hearts = conf.contains("HeartbeatListen");
        let more = if hearts { HEARTBEAT_MODULES } else { &[] };
        for m in MODULES.iter().chain(more) {
            let _ = writeln!(text, "LoadModule {m}_module {MODULES_DIR}/mod_{m}.so");
        }
        text.push_str(conf);
        let path = root.join("httpd.conf");
        fs::write(&path, text).unwrap();
        let out = fs::File::create(root.join("logs/httpd.out")).unwrap();
        let child = Command::new(HTTPD)
            .args([
                "-d".as_ref(),
                root.as_os_str(),
                "-f".as_ref(),
                path.as_os_str(),
                "-DFOREGROUND".as_ref(),
            ])
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            // httpd passes SIGTERM on to its whole group, which must not be the test's.
            .process_group(0)
            .spawn()
            .unwrap();
        let mut running = Running {
            httpd: Some(child),
            server,
        };
        let port = running.server.port;
        wait_for("httpd serves", || {
            let ended = running.httpd.as_mut().unwrap().try_wait().unwrap();
            assert!(
                ended.is_none(),
                "httpd ended: {}",
                running.server.log("httpd.out") + &running.server.error_log()
            );
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        running
    }
}

impl Running {
    /// Ends the server in order and gives the logs.
    fn end(mut self, logs: &[&str]) -> Vec<String> {
        if self.httpd.is_some() {
            self.stop_httpd();
        } else {
            self.server.signal(nix::sys::signal::Signal::SIGTERM);
            self.server.wait_exit();
        }
        logs.iter().map(|name| self.server.log(name)).collect()
    }

    fn stop_httpd(&mut self) {
        if let Some(mut child) = self.httpd.take() {
            let pid = nix::unistd::Pid::from_raw(child.id() as i32);
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
            let _ = child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop_httpd();
    }
}

/// Sends the bytes and reads until the other side closes.
fn exchange(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    stream.write_all(bytes).unwrap();
    let mut all = Vec::new();
    let mut piece = [0; 16384];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => all.extend_from_slice(&piece[..n]),
            Err(e) => {
                all.extend_from_slice(format!("<{:?}>", e.kind()).as_bytes());
                break;
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
    all.iter().map(|b| char::from(*b)).collect()
}

/// Compares messages: start lines, fields without regard to their order, bodies. Pages of the
/// servers' own are compared by their presence alone.
fn differences(what: &str, theirs: &str, ours: &str, out: &mut Vec<String>) {
    let (a, m) = (messages(theirs), messages(ours));
    if a.len() != m.len() {
        out.push(format!(
            "{what}: httpd {} messages, muster {}: {theirs:?} / {ours:?}",
            a.len(),
            m.len()
        ));
        return;
    }
    for (a, m) in a.iter().zip(&m) {
        let (a, m) = (Message::parse(a), Message::parse(m));
        if a.start != m.start {
            out.push(format!("{what}: httpd {:?}, muster {:?}", a.start, m.start));
        }
        for f in a.fields.iter().filter(|f| !m.fields.contains(f)) {
            out.push(format!("{what}: only httpd: {f}"));
        }
        for f in m.fields.iter().filter(|f| !a.fields.contains(f)) {
            out.push(format!("{what}: only muster: {f}"));
        }
        if a.body != m.body {
            out.push(format!(
                "{what} body: httpd {:?}, muster {:?}",
                a.body, m.body
            ));
        }
    }
}

/// Compares logs line by line.
fn line_differences(theirs: &str, ours: &str, out: &mut Vec<String>) {
    let (a, m): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    if a.len() != m.len() {
        out.push(format!(
            "httpd has {} lines, muster {}: {a:?} / {m:?}",
            a.len(),
            m.len()
        ));
    }
    for (a, m) in a.iter().zip(&m).filter(|(a, m)| a != m) {
        out.push(format!("httpd  {a}"));
        out.push(format!("muster {m}"));
    }
}

/// Splits a stream where a status line or request line begins.
fn messages(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        let status = line.starts_with("HTTP/1.") && line.ends_with("\r\n");
        let request = line.ends_with(" HTTP/1.1\r\n") || line.ends_with(" HTTP/1.0\r\n");
        if status || request || out.is_empty() {
            out.push(String::new());
        }
        out.last_mut().unwrap().push_str(line);
    }
    out
}

struct Message {
    start: String,
    fields: Vec<String>,
    body: String,
}

impl Message {
    fn parse(text: &str) -> Message {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let mut lines = head.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let page = body.to_ascii_lowercase().contains("<html");
        let body = if page { "PAGE" } else { body };
        let mut fields: Vec<String> = lines
            .filter_map(|l| {
                let (name, value) = l.split_once(':')?;
                let name = name.to_ascii_lowercase();
                // What depends on the clock, the program or the wording of a page.
                let free = ["date", "server", "etag", "last-modified"].contains(&name.as_str())
                    || (page && ["content-length", "content-type"].contains(&name.as_str()));
                Some(if free {
                    format!("{name}: *")
                } else {
                    format!("{name}: {}", value.trim())
                })
            })
            .collect();
        fields.sort();
        Message {
            start,
            fields,
            body: body.to_owned(),
        }
    }
}
