//! The bytes of health checks beside httpd's, and its words about wrong parameters.

mod common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::backend::Reply;
use common::{Backend, Client, Server, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const HTTPD: &str = "/usr/sbin/apache2";
const MODULES_DIR: &str = "/usr/lib/apache2/modules";
const MODULES: [&str; 8] = [
    "mpm_prefork",
    "authz_core",
    "slotmem_shm",
    "proxy",
    "proxy_http",
    "proxy_balancer",
    "lbmethod_byrequests",
    "proxy_hcheck",
];

fn present() -> bool {
    let there = Path::new(MODULES_DIR).join("mod_proxy_hcheck.so").exists();
    if !there {
        eprintln!("no httpd with mod_proxy_hcheck: nothing is compared");
    }
    there
}

fn prologue(server: &Server) -> String {
    let mut text = format!(
        "ServerRoot \"{0}\"\nDefaultRuntimeDir \"{0}/run\"\nPidFile \"{0}/run/httpd.pid\"\nErrorLog \"{0}/logs/error_log\"\nServerName localhost\n",
        server.root.display()
    );
    for m in MODULES {
        text.push_str(&format!("LoadModule {m}_module {MODULES_DIR}/mod_{m}.so\n"));
    }
    text
}

struct Httpd {
    process: Child,
    _server: Server,
}

impl Httpd {
    fn start(conf: &str) -> Httpd {
        let server = Server::prepare("");
        let text = prologue(&server) + conf;
        let path = server.root.join("httpd.conf");
        fs::write(&path, text.replace("@PORT@", &server.port.to_string())).unwrap();
        let process = Command::new(HTTPD)
            .args(["-f".as_ref(), path.as_os_str(), "-DFOREGROUND".as_ref()])
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        Httpd {
            process,
            _server: server,
        }
    }
}

impl Drop for Httpd {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.process.id() as i32), Signal::SIGTERM);
        let _ = self.process.wait();
    }
}

fn conf(backend: &Backend, path: &str, keys: &str) -> String {
    format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\nProxyPass / balancer://c/\n<Proxy balancer://c>\n\
         BalancerMember http://127.0.0.1:{}{path} hcinterval=200ms {keys}\n</Proxy>\n",
        backend.port
    )
}

fn backend() -> Backend {
    Backend::with(|_| {
        Reply::RawThenClose(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())
    })
}

/// What the backend was sent in its first check, its port taken out.
fn probe_bytes(backend: &Backend) -> String {
    eventually("a check", || backend.count() > 0);
    backend.seen()[0]
        .head
        .replace(&backend.port.to_string(), "PORT")
}

#[test]
fn the_bytes_of_checks_are_the_same() {
    if !present() {
        return;
    }
    for (path, keys) in [
        ("", "hcmethod=GET hcuri=/up?a=b"),
        ("/app", "hcmethod=GET"),
        ("", "hcmethod=HEAD hcuri=/up"),
        ("", "hcmethod=OPTIONS hcuri=/up"),
        ("", "hcmethod=GET11 hcuri=/up"),
        ("", "hcmethod=HEAD11 hcuri=/up"),
        ("/app", "hcmethod=OPTIONS11"),
    ] {
        let (theirs, ours) = (backend(), backend());
        let httpd = Httpd::start(&conf(&theirs, path, keys));
        let muster = Server::start(&conf(&ours, path, keys));
        assert_eq!(probe_bytes(&ours), probe_bytes(&theirs), "{path} {keys}");
        drop((httpd, muster));
    }
}

#[test]
fn wrong_parameters_are_told_in_the_same_words() {
    if !present() {
        return;
    }
    let member = |keys: &str| {
        format!("<Proxy balancer://c>\nBalancerMember http://127.0.0.1:1 {keys}\n</Proxy>\n")
    };
    let long = format!("hcuri=/{}", "x".repeat(63));
    let cases = [
        member("hcmethod=foo"),
        member("hcmethod=CPING"),
        member("hcmethod=provider"),
        member("hcinterval=abc"),
        member("hcinterval=99ms"),
        member("hcpasses=-1"),
        member("hcfails=-1"),
        member(&long),
        member("hctemplate=no"),
        member("hcexpr=no"),
        "ProxyHCTemplate a b\n".into(),
        "ProxyHCTemplate a hcmethod=zz\n".into(),
        "ProxyHCTemplate\n".into(),
        "ProxyHCExpr\n".into(),
        "ProxyHCExpr a\n".into(),
        "ProxyHCExpr aaaaaaaaaaaaaaaa {true}\n".into(),
        "ProxyHCExpr a {true} b\n".into(),
        "ProxyHCExpr a {%{FOO} == 1}\n".into(),
        "ProxyHCTPsize -1\n".into(),
    ];
    for text in cases {
        let server = Server::prepare(&format!("Listen 127.0.0.1:@PORT@\n{text}"));
        let path = server.root.join("httpd.conf");
        fs::write(&path, prologue(&server) + &text).unwrap();
        let theirs = Command::new(HTTPD)
            .args(["-t".as_ref(), "-f".as_ref(), path.as_os_str()])
            .output()
            .unwrap();
        let ours = server.muster(&["-t"]);
        let last = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.lines().last().unwrap_or_default().to_string()
        };
        let (theirs, ours) = (last(&theirs.stderr), last(&ours.stderr));
        // What would be right may follow; the reason why an expression is wrong is told otherwise.
        let head = theirs.split("\": ").next().unwrap_or_default();
        assert!(
            ours.starts_with(head),
            "{text}\nhttpd:  {theirs}\nmuster: {ours}"
        );
    }
}

/// Names of the members that are down, from the manager's XML.
fn down(port: u16) -> Vec<String> {
    let ask = || {
        let mut c = Client::try_connect(port).ok()?;
        let head = "GET /bm?xml=1 HTTP/1.1\r\nHost: localhost\r\nReferer: http://localhost/bm\r\nConnection: close\r\n\r\n";
        c.send(head).ok()?;
        Some(c.response("GET").ok()?.text())
    };
    let xml = ask().unwrap_or_default();
    let workers = xml.split("<httpd:worker>").skip(1);
    let failed = workers.filter(|w| w.contains("HcFl"));
    let name = |w: &str| {
        w.split(['<', '>'])
            .nth(2)?
            .rsplit('/')
            .next()
            .map(String::from)
    };
    failed.filter_map(name).collect()
}

/// Expressions that look at files: what httpd holds for true and for false.
#[test]
fn expressions_see_the_same_of_files() {
    if !present() {
        return;
    }
    let dir = std::env::temp_dir().join(format!("muster-oracle-files-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("empty"), "").unwrap();
    fs::write(dir.join("full"), "x").unwrap();
    std::os::unix::fs::symlink("full", dir.join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.join("dangling")).unwrap();
    let tests = [
        "-f '@/full'",
        "-f '@'",
        "-f '@/link'",
        "-d '@'",
        "-d '@/full'",
        "-e '@/empty'",
        "-e '@/dangling'",
        "-e '@'",
        "-s '@/full'",
        "-s '@/empty'",
        "-s '@'",
        "-L '@/link'",
        "-h '@/link'",
        "-L '@/full'",
        "-x '/bin/sh'",
        "-x '@/full'",
        "! -e '@/nowhere'",
    ];
    let conf = |backend: &Backend| {
        let mut text =
            "Listen 127.0.0.1:@PORT@\nStartServers 1\nProxyPass /bm !\nProxyPass / balancer://c/\n\
                        <Location /bm>\nSetHandler balancer-manager\nRequire all granted\n</Location>\n"
                .to_string();
        let mut members = String::new();
        for (i, test) in tests.iter().enumerate() {
            let test = test.replace('@', &dir.display().to_string());
            text.push_str(&format!("ProxyHCExpr e{i:02} {{{test}}}\n"));
            members.push_str(&format!(
                "BalancerMember http://127.0.0.1:{}/e{i:02} hcmethod=GET hcinterval=200ms hcexpr=e{i:02}\n",
                backend.port
            ));
        }
        format!("{text}<Proxy balancer://c>\n{members}</Proxy>\n")
    };
    let (theirs, ours) = (backend(), backend());
    let httpd = Httpd::start(&conf(&theirs));
    let muster = Server::start(&conf(&ours));
    // Each was checked, and each that was found bad is marked.
    let checked = |b: &Backend| {
        let seen = b.seen();
        let times = |i: usize| {
            seen.iter()
                .filter(|s| s.target().ends_with(&format!("e{i:02}")))
                .count()
        };
        (0..tests.len()).all(|i| times(i) > 1)
    };
    eventually("checks", || checked(&theirs) && checked(&ours));
    let port = httpd._server.port;
    let wanted = ["e01", "e04", "e06", "e09", "e10", "e13", "e15"];
    eventually("the same are down", || {
        down(port) == wanted && down(muster.port) == wanted
    });
    fs::remove_dir_all(&dir).unwrap();
}
