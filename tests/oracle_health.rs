//! The bytes of health checks beside httpd's, and its words about wrong parameters.

mod common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::backend::Reply;
use common::{Backend, Server, eventually};
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
