//! The manager's XML beside httpd's own: the same elements in the same order, the same values where
//! they tell of the configuration.

mod common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use common::server::free_port;
use common::wait::wait_for;
use common::{Client, Server, oracle};

/// A running httpd; ended with all its processes.
struct Httpd(Child);

impl Drop for Httpd {
    fn drop(&mut self) {
        let group = nix::unistd::Pid::from_raw(self.0.id() as i32);
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

const BODY: &str = "<Proxy balancer://one>\n\
    BalancerMember http://127.0.0.1:7001 route=r1 redirect=r2 loadfactor=2.5 lbset=3 timeout=5 retry=7 acquire=50 keepalive=On disablereuse=On connectiontimeout=3 iobuffersize=4096 receivebuffersize=8192\n\
    BalancerMember http://localhost:7002/app status=+H\n\
    BalancerMember http://127.0.0.1:7003 status=+D\n\
    ProxySet stickysession=SID nofailover=On timeout=4 scolonpathdelim=On nonce=n\n</Proxy>\n\
    ProxyIOBufferSize 16384\nProxyReceiveBufferSize 4096\n\
    <Proxy balancer://two>\nBalancerMember http://127.0.0.1:7001\nBalancerMember http://127.0.0.1:7002 iobuffersize=1024\nProxySet nonce=n\n</Proxy>\n\
    <Location /bm>\nSetHandler balancer-manager\nRequire all granted\n</Location>\n";

fn xml(port: u16) -> String {
    let mut c = Client::connect(port);
    c.send(
        "GET /bm?xml=1 HTTP/1.1\r\nHost: localhost\r\nReferer: http://localhost/bm\r\nConnection: close\r\n\r\n",
    )
    .unwrap();
    let r = c.response("GET").unwrap();
    assert_eq!(r.field("content-type"), Some("text/xml"));
    r.text()
}

/// Elements in order: `name` opened, `/name` closed, texts.
fn elements(xml: &str) -> Vec<(String, String)> {
    xml.split("<httpd:")
        .skip(1)
        .filter_map(|piece| {
            let (name, rest) = piece.split_once('>')?;
            let name = name.split(' ').next()?.trim_end_matches('/');
            Some((
                name.to_owned(),
                rest.split('<').next()?.trim_end_matches('\n').to_owned(),
            ))
        })
        .collect()
}

#[test]
fn the_same_elements_in_the_same_order() {
    if !oracle::present() {
        eprintln!("no httpd here: skipped");
        return;
    }
    let server = Server::start(&format!("Listen 127.0.0.1:@PORT@\n{BODY}"));
    let (root, port) = (&server.root, free_port());
    let mut conf = format!(
        "ServerRoot {0}\nServerName localhost\nDefaultRuntimeDir {0}/hrun\nPidFile {0}/hrun/pid\nErrorLog {0}/logs/httpd_error\nListen 127.0.0.1:{port}\n",
        root.display()
    );
    fs::create_dir_all(root.join("hrun")).unwrap();
    for m in [
        "mpm_prefork",
        "authz_core",
        "slotmem_shm",
        "proxy",
        "proxy_http",
        "proxy_balancer",
        "lbmethod_byrequests",
    ] {
        conf.push_str(&format!(
            "LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so\n"
        ));
    }
    if nix::unistd::geteuid().is_root() {
        conf.push_str("User nobody\nGroup nogroup\n");
    }
    conf.push_str(BODY);
    server.write("httpd.conf", conf);
    let child = Command::new("/usr/sbin/apache2")
        .arg("-f")
        .arg(root.join("httpd.conf"))
        .arg("-DFOREGROUND")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let httpd = Httpd(child);
    wait_for("httpd serves", || Client::try_connect(port).ok());
    let theirs = elements(&xml(port));
    let mine = elements(&xml(server.port));
    drop(httpd);
    // What muster tells more of, and what older httpds do not tell.
    let extra = ["nonce", "maxmembers", "usedmembers"];
    let names = |all: &[(String, String)]| -> Vec<String> {
        let kept = all.iter().filter(|(n, _)| !extra.contains(&n.as_str()));
        kept.map(|(n, _)| n.clone()).collect()
    };
    assert_eq!(names(&mine), names(&theirs));
    let told = [
        "name",
        "stickysession",
        "nofailover",
        "timeout",
        "maxattempts",
        "lbmethod",
        "scolonpathdelim",
        "scheme",
        "hostname",
        "loadfactor",
        "port",
        "status",
        "route",
        "redirect",
        "busy",
        "lbset",
        "elected",
        "keepalive",
        "disablereuse",
        "retry",
        "io_buffer_size",
        "recv_buffer_size",
        "transferred",
        "read",
        "retries",
    ];
    let values = |all: &[(String, String)]| -> Vec<(String, String)> {
        all.iter()
            .filter(|(n, _)| told.contains(&n.as_str()))
            .cloned()
            .collect()
    };
    assert_eq!(values(&mine), values(&theirs));
}
