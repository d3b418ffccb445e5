//! All that one child has towards backends.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;

use super::connect::{ConnectError, Destination, connect};
use super::connection::Connection;
use super::reslist::Reslist;
use super::resolve::Resolver;
use crate::clock::{self, Mono};
use crate::config::settings::{self, Settings, WorkerParams};
use crate::reactor::spawn;
use crate::reactor::timer::Timer;

/// How often idle connections are looked at.
const SWEEP: Duration = Duration::from_secs(1);

/// Head buffers kept for the next requests.
const SPARE_HEADS: usize = 64;

/// A larger head's buffer is not kept.
const LARGE_HEAD: usize = 16 * 1024;

/// A worker as this child uses it.
#[derive(Debug)]
pub struct Worker {
    /// Its connections.
    pub reslist: Rc<Reslist>,
    /// The value of the Host field for it.
    pub host_field: Vec<u8>,
    /// Its connections may be used again.
    pub reuse: bool,
    complained: Cell<Mono>,
    kept_quiet: Cell<u32>,
}

/// All workers of a child, its resolver and its spare buffers.
#[derive(Debug)]
pub struct Upstreams {
    settings: Rc<Settings>,
    workers: Vec<Worker>,
    /// Members that join at run time, made when they are first used.
    grown: Box<[OnceCell<Worker>]>,
    generic: Worker,
    resolver: Rc<Resolver>,
    heads: RefCell<Vec<Vec<u8>>>,
    sweeping: Cell<bool>,
}

impl Worker {
    fn of(w: &settings::Worker) -> Worker {
        let port = (w.port_is_set && w.unix.is_none()).then_some(w.port);
        let mut worker = Worker::new(&w.params, host_field(&w.host, port));
        // As in httpd, one that a `$1` is a part of is used again only when that is said.
        let said = w.params.written.iter().any(|(key, _)| {
            ["enablereuse", "disablereuse"].contains(&key.to_ascii_lowercase().as_str())
        });
        worker.reuse &= said || !w.name.contains('$');
        worker
    }

    fn new(params: &WorkerParams, host_field: Vec<u8>) -> Worker {
        Worker {
            reslist: Rc::new(Reslist::new(params)),
            host_field,
            reuse: params.reuse && params.address_ttl != Some(Duration::ZERO),
            complained: Cell::new(Mono(0)),
            kept_quiet: Cell::new(0),
        }
    }

    /// Whether a failure may be logged now: one line a second for each worker. The number is how
    /// many were left out before it.
    pub fn may_complain(&self) -> Option<u32> {
        let now = clock::now();
        let last = self.complained.get();
        if last != Mono(0) && now.since(last) < Duration::from_secs(1) {
            self.kept_quiet.set(self.kept_quiet.get().saturating_add(1));
            return None;
        }
        self.complained.set(now);
        Some(self.kept_quiet.take())
    }
}

impl Upstreams {
    /// For a child; nothing is connected yet.
    pub fn new(settings: Rc<Settings>) -> Rc<Upstreams> {
        let workers = settings.workers.iter().map(Worker::of).collect();
        // Its connections are never kept.
        let generic = WorkerParams {
            smax: Some(0),
            reuse: false,
            ..WorkerParams::default()
        };
        Rc::new(Upstreams {
            grown: (0..settings.growth()).map(|_| OnceCell::new()).collect(),
            settings,
            workers,
            generic: Worker::new(&generic, Vec::new()),
            resolver: Rc::default(),
            heads: RefCell::default(),
            sweeping: Cell::new(false),
        })
    }

    /// What this child has of a worker; `None`: the generic one, for URLs without a worker.
    pub fn worker(&self, of: Option<&settings::Worker>) -> &Worker {
        let Some(of) = of else {
            return &self.generic;
        };
        match of.no.index().checked_sub(self.workers.len()) {
            None => &self.workers[of.no.index()],
            Some(i) => match self.grown.get(i) {
                Some(place) => place.get_or_init(|| Worker::of(of)),
                None => &self.generic,
            },
        }
    }

    /// All that have connections of their own.
    fn all(&self) -> impl Iterator<Item = &Worker> {
        let grown = self.grown.iter().filter_map(OnceCell::get);
        self.workers.iter().chain(grown)
    }

    /// Opens a connection.
    pub async fn connect(&self, to: &Destination<'_>) -> Result<Connection, ConnectError> {
        connect(&self.resolver, to).await
    }

    /// An empty buffer for a request's head.
    pub fn head_buffer(&self) -> Vec<u8> {
        let kept = self.heads.borrow_mut().pop();
        kept.unwrap_or_else(|| Vec::with_capacity(2048))
    }

    /// Keeps a head's buffer for another request.
    pub fn give_head_buffer(&self, mut buffer: Vec<u8>) {
        let mut heads = self.heads.borrow_mut();
        // One that went away with an early answer left nothing.
        if heads.len() < SPARE_HEADS && (1..=LARGE_HEAD).contains(&buffer.capacity()) {
            buffer.clear();
            heads.push(buffer);
        }
    }

    /// Closes all idle connections (this child drains or ends).
    pub fn close_idle(&self) {
        for worker in self.all() {
            worker.reslist.close_idle();
        }
    }

    /// Idle connections and those in use, for the status page.
    pub fn connections(&self) -> (usize, usize) {
        let lists = self.all().chain([&self.generic]);
        lists.fold((0, 0), |(idle, used), w| {
            (idle + w.reslist.idle(), used + w.reslist.in_use())
        })
    }

    /// Sees to it that idle connections grow old: cheap to call before each exchange.
    pub fn keep_swept(self: &Rc<Self>) {
        if !self.sweeping.replace(true) {
            spawn(sweep(Rc::downgrade(self)));
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Rc<Settings> {
        &self.settings
    }
}

/// Runs while there are idle connections or some in use that will be idle.
async fn sweep(upstreams: Weak<Upstreams>) {
    let mut timer = Timer::new(SWEEP);
    loop {
        (&mut timer).await;
        let Some(upstreams) = upstreams.upgrade() else {
            return;
        };
        let mut left = false;
        for worker in upstreams.all() {
            left |= worker.reslist.sweep() || worker.reslist.in_use() > 0;
        }
        if !left {
            return upstreams.sweeping.set(false);
        }
        timer.rearm(SWEEP);
    }
}

/// `host[:port]`, IPv6 in brackets.
pub fn host_field(host: &str, port: Option<u16>) -> Vec<u8> {
    let mut out = Vec::with_capacity(host.len() + 8);
    match host.contains(':') && !host.starts_with('[') {
        true => {
            out.push(b'[');
            out.extend_from_slice(host.as_bytes());
            out.push(b']');
        }
        false => out.extend_from_slice(host.as_bytes()),
    }
    if let Some(port) = port {
        out.extend_from_slice(format!(":{port}").as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_field_shows_what_is_not_the_default() {
        assert_eq!(host_field("h", None), b"h");
        assert_eq!(host_field("h", Some(8080)), b"h:8080");
        assert_eq!(host_field("::1", Some(81)), b"[::1]:81");
    }

    #[test]
    fn complaints_come_once_a_second() {
        clock::tick();
        let worker = Worker::new(&WorkerParams::default(), Vec::new());
        assert_eq!(worker.may_complain(), Some(0));
        assert_eq!(worker.may_complain(), None);
        worker.complained.set(Mono(0));
        assert_eq!(worker.may_complain(), Some(1));
    }
}
