//! Receiving backends' heartbeats (mod_heartmonitor; spec: health 6.2): a job of the watchdog.
//!
//! What comes goes into the rows of the members that have the sender's address, where all children
//! see it at once. With `HeartbeatMaxServers 0` the file that httpd's tools know is written too: by
//! the holder alone, so other children hand on to it what was posted to them.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use super::heard::{FORGET, Heard};
use super::heart_file;
use super::target::{self, Target};
use crate::clock::{self, Mono};
use crate::codec::heartbeat::{self, Heartbeat, LONGEST};
use crate::config::settings::Settings;
use crate::jobs::Job;
use crate::reactor::source::Source;
use crate::reactor::task::yield_now;
use crate::reactor::{Lane, helper, spawn, timer};
use crate::shm::{Assignment, Scoreboard};
use crate::sys::udp;

/// Datagrams read before other tasks have their turn.
const AT_ONCE: usize = 32;
/// How often the file is written.
const PUBLISH: Duration = Duration::from_secs(5);
/// How often the list of members is made anew.
const REFRESH: Duration = Duration::from_secs(1);
/// Between two tries to bind.
const RETRY: Duration = Duration::from_secs(5);

/// Begins each line that children hand on.
const MARK: char = '@';

/// The receiver.
pub struct HeartMonitor {
    settings: Rc<Settings>,
    board: Rc<Scoreboard>,
    rows: Rc<Assignment>,
    configured: Vec<Rc<Target>>,
    grown: RefCell<Vec<Rc<Target>>>,
    /// Bound by the supervisor; `None`: it could not.
    socket: Option<UdpSocket>,
    /// Reading and writing end; `None`: there is no file.
    posts: Option<(OwnedFd, OwnedFd)>,
    /// For the file; the holder's.
    heard: RefCell<Heard>,
    /// What an earlier holder wrote is in `heard`.
    loaded: Cell<bool>,
    /// The file is being written, which may take long.
    writing: Rc<Cell<bool>>,
    /// The file could not be written, which was said.
    unwritten: Rc<Cell<bool>>,
    held: Cell<bool>,
    turn: Cell<u32>,
    published: Cell<Mono>,
    complained: Cell<Mono>,
    refused: Cell<Mono>,
}

impl HeartMonitor {
    /// For a child; it listens once it is the watchdog. `socket` and `posts` (reading and writing end
    /// of a pipe) are shared with all children.
    pub fn new(
        settings: Rc<Settings>,
        board: Rc<Scoreboard>,
        rows: Rc<Assignment>,
        socket: Option<OwnedFd>,
        posts: Option<(OwnedFd, OwnedFd)>,
    ) -> Rc<HeartMonitor> {
        Rc::new(HeartMonitor {
            configured: target::configured(&settings, &rows),
            settings,
            board,
            rows,
            grown: RefCell::default(),
            socket: socket.map(UdpSocket::from),
            posts,
            heard: RefCell::default(),
            loaded: Cell::new(false),
            writing: Rc::default(),
            unwritten: Rc::default(),
            held: Cell::new(false),
            turn: Cell::new(0),
            published: Cell::new(Mono(0)),
            complained: Cell::new(Mono(0)),
            refused: Cell::new(Mono(0)),
        })
    }

    /// As a job of the watchdog; `None` without a HeartbeatListen and a file.
    pub fn job(self: &Rc<Self>) -> Option<Rc<MonitorJob>> {
        let listens = self.settings.process.heartbeat_listen.is_some();
        (listens || self.has_file()).then(|| Rc::new(MonitorJob(Rc::clone(self))))
    }

    fn has_file(&self) -> bool {
        self.settings.process.heartbeat_max_servers == 0
    }

    /// A heartbeat came by HTTP, to whichever child.
    pub fn posted(&self, from: IpAddr, beat: &Heartbeat) {
        self.look_for_grown();
        let from = from.to_canonical();
        self.note(from, beat);
        if self.held.get() {
            self.remember(from, beat);
        } else if let Some((_, writer)) = &self.posts {
            let mut line = String::from(MARK);
            heartbeat::write_line(&mut line, from, beat, 0);
            // A full pipe has newer ones coming.
            let _ = nix::unistd::write(writer, line.as_bytes());
        }
    }

    fn is_over(&self, turn: u32) -> bool {
        !self.held.get() || self.turn.get() != turn
    }

    async fn listen(self: Rc<Self>, turn: u32) {
        let Some(address) = self.settings.process.heartbeat_listen else {
            return;
        };
        let mut told = false;
        while !self.is_over(turn) {
            // A descriptor of its own: the task of an earlier time as watchdog may still have one.
            let inherited = self.socket.as_ref().map(UdpSocket::try_clone);
            let bound = match inherited {
                Some(socket) => socket,
                None => {
                    let fd = helper(Lane::Own, move || udp::bind_group(address)).await;
                    fd.map(UdpSocket::from)
                }
            };
            let socket = match bound {
                Ok(socket) => socket,
                Err(e) => {
                    if !told {
                        log::error!(target: "heartmonitor", "cannot listen for heartbeats on {address} (HeartbeatListen): {e}; tried again every {} s", RETRY.as_secs());
                        told = true;
                    }
                    timer::sleep(RETRY).await;
                    continue;
                }
            };
            match Source::new(socket.as_raw_fd()) {
                Ok(source) => return self.read(&socket, &source, turn).await,
                Err(e) => {
                    log::error!(target: "heartmonitor", "heartbeats on {address} cannot be read: {e}");
                    timer::sleep(RETRY).await;
                }
            }
        }
    }

    async fn read(&self, socket: &UdpSocket, source: &Source, turn: u32) {
        // Larger than what is allowed, so that what is cut is seen to be too long.
        let mut buffer = [0; LONGEST + 64];
        loop {
            poll_fn(|_| source.poll_read_ready()).await;
            for _ in 0..AT_ONCE {
                if self.is_over(turn) {
                    return;
                }
                match socket.recv_from(&mut buffer) {
                    Ok((n, from)) => self.datagram(&buffer[..n], from),
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                        source.clear_readable();
                        break;
                    }
                    Err(_) => {}
                }
            }
            yield_now().await;
        }
    }

    fn datagram(&self, bytes: &[u8], from: SocketAddr) {
        let now = clock::now();
        let Some(beat) = heartbeat::parse(bytes, true) else {
            if now_and_then(&self.complained, now) {
                log::warn!(target: "heartmonitor", "malformed message from {}", from.ip().to_canonical());
            }
            return;
        };
        let ip = from.ip().to_canonical();
        self.note(ip, &beat);
        self.remember(ip, &beat);
    }

    /// Reads what other children hand on.
    async fn follow_posts(self: Rc<Self>, turn: u32) {
        let reader = self.posts.as_ref().map(|(reader, _)| reader.try_clone());
        let Some(Ok(reader)) = reader else {
            return;
        };
        let source = match Source::new(reader.as_raw_fd()) {
            Ok(source) => source,
            Err(e) => {
                log::error!(target: "heartmonitor", "posted heartbeats cannot be read: {e}");
                return;
            }
        };
        // Each line was written in one piece; one that was cut where an earlier holder stopped is
        // no line.
        let mut lines = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            poll_fn(|_| source.poll_read_ready()).await;
            if self.is_over(turn) {
                return;
            }
            match nix::unistd::read(&reader, &mut buffer) {
                Ok(0) => return,
                Ok(n) => lines.extend_from_slice(&buffer[..n]),
                Err(nix::errno::Errno::EAGAIN) => source.clear_readable(),
                Err(nix::errno::Errno::EINTR) => {}
                Err(_) => return,
            }
            while let Some(end) = lines.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = lines.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let line = line
                    .strip_prefix(MARK)
                    .and_then(|l| heartbeat::read_line(l.trim_end()));
                if let Some((from, beat, _)) = line {
                    self.remember(from, &beat);
                }
            }
            yield_now().await;
        }
    }

    /// Goes on from what the holder before wrote.
    async fn load(self: Rc<Self>, turn: u32) {
        let path = self.settings.process.heartbeat_storage.clone();
        let known = helper(Lane::Own, move || heart_file::read(&path)).await;
        if self.is_over(turn) {
            return;
        }
        let now = clock::now();
        let mut heard = self.heard.borrow_mut();
        for (from, beat, ago) in known {
            if ago <= FORGET {
                let ago = u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX);
                let seen = Mono(now.0.saturating_sub(ago));
                // What was heard meanwhile is newer.
                let _ = heard.note(from, beat, seen);
            }
        }
        drop(heard);
        self.loaded.set(true);
    }

    fn look_for_grown(&self) {
        *self.grown.borrow_mut() = target::grown(&self.settings, &self.rows, &self.board);
    }

    /// Gives it to the members that have this address.
    fn note(&self, ip: IpAddr, beat: &Heartbeat) {
        let now = clock::now();
        log::debug!(target: "heartmonitor", "{ip} busy={} ready={}", beat.busy, beat.ready);
        let all = self.configured.iter();
        for target in all.chain(&*self.grown.borrow()) {
            let same_port = beat.port.is_none_or(|p| p == target.port);
            if same_port && target.ip == Some(ip) {
                self.board
                    .set_heartbeat(target.row, beat.busy, beat.ready, now);
            }
        }
    }

    /// Keeps it for the file.
    fn remember(&self, ip: IpAddr, beat: &Heartbeat) {
        if !self.has_file() {
            return;
        }
        let now = clock::now();
        if let Err(full) = self.heard.borrow_mut().note(ip, *beat, now)
            && now_and_then(&self.refused, now)
        {
            log::warn!(target: "heartmonitor", "a heartbeat from {ip} is not kept for the file (HeartbeatStorage): {full}");
        }
    }

    /// Writes the file when its time has come.
    fn publish(&self) {
        let now = clock::now();
        self.heard.borrow_mut().forget_old(now);
        if !self.loaded.get() || self.writing.get() || now.since(self.published.get()) < PUBLISH {
            return;
        }
        self.published.set(now);
        let mut text = String::new();
        for (ip, beat, seen) in self.heard.borrow().all() {
            heartbeat::write_line(&mut text, ip, beat, now.since(seen).as_secs());
        }
        let path = self.settings.process.heartbeat_storage.clone();
        let (said, writing) = (Rc::clone(&self.unwritten), Rc::clone(&self.writing));
        writing.set(true);
        spawn(async move {
            let shown = path.display().to_string();
            let done = helper(Lane::Own, move || heart_file::write(&path, &text)).await;
            if let Err(e) = &done
                && !said.get()
            {
                log::error!(target: "heartmonitor", "cannot write {shown} (HeartbeatStorage): {e}");
            }
            said.set(done.is_err());
            writing.set(false);
        });
    }
}

/// Whether a line may be logged, at most one a second, whoever sends what.
fn now_and_then(last: &Cell<Mono>, now: Mono) -> bool {
    let may = now.since(last.get()) >= Duration::from_secs(1);
    if may {
        last.set(now);
    }
    may
}

/// [`HeartMonitor`] as a job.
pub struct MonitorJob(Rc<HeartMonitor>);

impl Job for MonitorJob {
    fn name(&self) -> &'static str {
        "heartbeats"
    }

    fn interval(&self) -> Duration {
        REFRESH
    }

    fn begin(&self) {
        let me = &self.0;
        me.held.set(true);
        me.turn.set(me.turn.get().wrapping_add(1));
        spawn(Rc::clone(me).listen(me.turn.get()));
        if me.has_file() {
            spawn(Rc::clone(me).load(me.turn.get()));
            spawn(Rc::clone(me).follow_posts(me.turn.get()));
        }
    }

    fn run(&self) {
        let me = &self.0;
        me.look_for_grown();
        me.publish();
    }

    fn end(&self) {
        self.0.held.set(false);
        self.0.loaded.set(false);
        self.0.heard.borrow_mut().clear();
    }
}
