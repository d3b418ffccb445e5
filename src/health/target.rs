//! The members that may be checked: those of the configuration and those added at run time.

use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use crate::config::settings::{Settings, Worker};
use crate::config::worker_url::WorkerUrl;
use crate::ids::ServerNo;
use crate::shm::{Assignment, Scoreboard, WorkerRow};

/// A member as checks need to know it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub row: WorkerRow,
    /// Its canonical name.
    pub name: String,
    /// Its balancer's.
    pub balancer: String,
    pub scheme: String,
    pub host: String,
    /// Where the host is written as an address: whose heartbeats it takes.
    pub ip: Option<IpAddr>,
    pub port: u16,
    pub unix: Option<PathBuf>,
    pub path: String,
    pub server: ServerNo,
    /// To connect.
    pub connect: Duration,
    /// From there to the end of the answer; also of each read.
    pub timeout: Duration,
    pub address_ttl: Option<Duration>,
    /// Of a member added at run time: the row's count when it was found.
    pub grown: Option<u32>,
}

/// The members of the configuration.
pub(super) fn configured(settings: &Settings, rows: &Assignment) -> Vec<Rc<Target>> {
    let of = |w: &Worker| {
        let balancer = &settings.balancer(w.balancer?).name;
        Some(Rc::new(of(settings, w, balancer, rows.worker(w.no)?)))
    };
    settings.workers.iter().filter_map(of).collect()
}

fn of(settings: &Settings, w: &Worker, balancer: &str, row: WorkerRow) -> Target {
    let timeout = w
        .params
        .timeout
        .unwrap_or(settings.server(w.server).proxy.timeout);
    Target {
        row,
        name: w.name.clone(),
        balancer: balancer.to_owned(),
        scheme: w.scheme.clone(),
        host: w.host.clone(),
        ip: address(&w.host),
        port: w.port,
        unix: w.unix.clone(),
        path: w.path.clone(),
        server: w.server,
        connect: w.params.connection_timeout.unwrap_or(timeout),
        timeout,
        address_ttl: w.params.address_ttl,
        grown: None,
    }
}

fn address(host: &str) -> Option<IpAddr> {
    let ip: IpAddr = host.parse().ok()?;
    Some(ip.to_canonical())
}

/// Those that joined a balancer while it ran.
pub(super) fn grown(settings: &Settings, rows: &Assignment, board: &Scoreboard) -> Vec<Rc<Target>> {
    let mut out = Vec::new();
    for b in &settings.balancers {
        let timeout = settings.server(b.server).proxy.timeout;
        for &row in rows.grown(b.no) {
            let Some(found) = board.found(row) else {
                continue;
            };
            let Ok(url) = WorkerUrl::parse(&found.name) else {
                continue;
            };
            out.push(Rc::new(Target {
                row,
                name: found.name,
                balancer: b.name.clone(),
                scheme: url.scheme,
                ip: address(&url.host),
                host: url.host,
                port: url.port,
                unix: url.unix,
                path: url.path,
                server: b.server,
                connect: timeout,
                timeout,
                address_ttl: None,
                grown: Some(found.taken),
            }));
        }
    }
    out
}
