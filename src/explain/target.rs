//! Where the request goes in the end: a file, a page of our own, or a backend with its state.

use std::path::Path;

use crate::config::settings::{Balancer, Server, Settings, Worker};
use crate::handler::proxy::lookup::Workers;
use crate::handler::proxy::spelling;
use crate::handler::proxy::target::{Url, write_target};
use crate::request::{ProxyTarget, Request};
use crate::shm::{Snapshot, WorkerInfo, inspect};

/// Prints the end of the way by `line`.
pub fn describe(
    settings: &Settings,
    server: &Server,
    req: &Request,
    line: &mut dyn FnMut(&str, String),
) {
    let Some(target) = &req.proxy_to else {
        return local(req, line);
    };
    let url = String::from_utf8_lossy(&target.url).into_owned();
    let query = target.query.as_deref().map(String::from_utf8_lossy);
    let shown = match query {
        Some(q) => format!("{url}?{q}"),
        None => url.clone(),
    };
    line(
        "Target",
        format!("{shown}{}", super::at(Some(&target.span))),
    );
    let now = State::read(settings);
    if url.starts_with("balancer://") {
        return balanced(settings, server, target, &url, &now, line);
    }
    let parsed = Url::parse(&target.url);
    let workers = Workers::new(settings, server);
    match parsed.as_ref().and_then(|u| workers.find(u)) {
        Some(found) => {
            let worker = settings.worker(found.no);
            line(
                "Worker",
                format!("{}{}", worker.name, super::at(Some(&worker.span))),
            );
            line("", parameters(worker));
            asks(&[], target, parsed.as_ref(), line);
            served(&worker.scheme, line);
            line(
                "State",
                now.worker(worker).unwrap_or_else(|| now.why.clone()),
            );
        }
        None => {
            line(
                "Worker",
                "none is defined for it: a new connection for each request".into(),
            );
            asks(&[], target, parsed.as_ref(), line);
            served(url.split(':').next().unwrap_or_default(), line);
        }
    }
}

/// A file, or a page that muster makes itself.
fn local(req: &Request, line: &mut dyn FnMut(&str, String)) {
    if req.handler != "default-handler" {
        return line("End", format!("answered by {}", req.handler));
    }
    let path = String::from_utf8_lossy(&req.filename).into_owned();
    let what = match std::fs::metadata(Path::new(&path)) {
        Ok(m) if m.is_dir() => "a directory".to_string(),
        Ok(m) => format!("a file of {} bytes", m.len()),
        Err(e) => format!("not there: {e}"),
    };
    line("End", format!("file {path} ({what})"));
}

fn balanced(
    settings: &Settings,
    server: &Server,
    target: &ProxyTarget,
    url: &str,
    now: &State,
    line: &mut dyn FnMut(&str, String),
) {
    let name = crate::config::worker_url::balancer_name(url).unwrap_or_default();
    let found = server
        .proxy
        .balancers
        .iter()
        .map(|no| settings.balancer(*no))
        .find(|b| b.name == name);
    let Some(balancer) = found else {
        return line(
            "End",
            format!("answered 500: no balancer {name} is defined for this server"),
        );
    };
    line(
        "Balancer",
        format!("{}{}", balancer.name, super::at(Some(&balancer.span))),
    );
    line("", balancer_parameters(balancer));
    if balancer.members.is_empty() {
        line("End", "answered 503: it has no members".into());
    }
    for no in &balancer.members {
        let worker = settings.worker(*no);
        line(
            "Member",
            format!("{}{}", worker.name, super::at(Some(&worker.span))),
        );
        line("", parameters(worker));
        let parsed = Url::parse(&target.url);
        asks(worker.path.as_bytes(), target, parsed.as_ref(), line);
        served(&worker.scheme, line);
        if let Some(text) = now.worker(worker) {
            line("", format!("now: {text}"));
        }
    }
    if !now.why.is_empty() {
        line("State", now.why.clone());
    }
}

/// The request line's target as the backend will see it, written by the code that sends it.
fn asks(
    before: &[u8],
    target: &ProxyTarget,
    url: Option<&Url<'_>>,
    line: &mut dyn FnMut(&str, String),
) {
    let path = url.map_or(&b""[..], |u| u.path());
    let mut out = Vec::new();
    let spelling = spelling(target.encoded, target.kept_slashes);
    match write_target(&mut out, before, path, target.query.as_deref(), spelling) {
        Ok(()) => line("", format!("asked for {}", String::from_utf8_lossy(&out))),
        Err(fault) => line("End", format!("answered 403: {fault}")),
    }
}

fn served(scheme: &str, line: &mut dyn FnMut(&str, String)) {
    if !crate::config::directive::pass::SCHEMES.contains(&scheme) {
        line(
            "End",
            format!("answered 500: nobody handles the scheme {scheme}"),
        );
    }
}

fn parameters(worker: &Worker) -> String {
    let p = &worker.params;
    let mut out = vec![];
    if worker.balancer.is_some() {
        out.push(format!(
            "loadfactor={}.{:02}",
            p.load_factor / 100,
            p.load_factor % 100
        ));
        out.push(format!("lbset={}", p.lbset));
    }
    let known = ["loadfactor", "lbset"];
    for (key, value) in p
        .written
        .iter()
        .filter(|(k, _)| !known.contains(&k.as_str()))
    {
        out.push(format!("{key}={value}"));
    }
    if out.is_empty() {
        out.push("no parameters".into());
    }
    out.join(" ")
}

fn balancer_parameters(b: &Balancer) -> String {
    let p = &b.params;
    let mut out = vec![format!("lbmethod={}", p.lbmethod)];
    if p.lbmethod == "byhash" {
        out.push(format!("hashkey={}", p.hash_key));
    }
    if let Some((cookie, parameter)) = &p.sticky {
        out.push(format!("stickysession={cookie}|{parameter}"));
    }
    if let Some(cookie) = &p.sticky_cookie {
        out.push(format!("stickycookie={cookie}"));
    }
    if p.retry_budget != 20 {
        out.push(format!("retrybudget={}", p.retry_budget));
    }
    if p.no_failover {
        out.push("nofailover=On".into());
    }
    if let Some(n) = p.max_attempts {
        out.push(format!("maxattempts={n}"));
    }
    if !p.timeout.is_zero() {
        out.push(format!("timeout={}", p.timeout.as_secs()));
    }
    out.join(" ")
}

/// What a running server's scoreboard says.
struct State {
    snapshot: Option<Snapshot>,
    /// Why there is nothing to tell; empty when there is.
    why: String,
}

impl State {
    fn read(settings: &Settings) -> State {
        let file = &settings.process.scoreboard_file;
        if !file.exists() {
            return State {
                snapshot: None,
                why: format!(
                    "no server runs with this configuration (no {})",
                    file.display()
                ),
            };
        }
        match inspect::read(file) {
            Ok(snapshot) => {
                let pid = snapshot.supervisor;
                let runs = pid > 0 && Path::new("/proc").join(pid.to_string()).exists();
                let why = match runs {
                    true => String::new(),
                    false => "no server runs; this is what the last one left".into(),
                };
                State {
                    snapshot: Some(snapshot),
                    why,
                }
            }
            Err(e) => State {
                snapshot: None,
                why: format!("unknown: {e}"),
            },
        }
    }

    /// A worker's state in one line.
    fn worker(&self, worker: &Worker) -> Option<String> {
        let snapshot = self.snapshot.as_ref()?;
        let members = snapshot.balancers.iter().flat_map(|b| &b.members);
        let all: Vec<&WorkerInfo> = members
            .chain(&snapshot.workers)
            .filter(|w| w.name == worker.name)
            .collect();
        let info = all.first()?;
        Some(format!(
            "{}busy {} elected {} lbstatus {} sent {} received {}",
            crate::shm::status::text(info.status),
            info.busy,
            info.elected,
            info.lbstatus,
            info.sent,
            info.received
        ))
    }
}
