//! Receiving backends' heartbeats (mod_heartmonitor; spec: health 6.2): a job of the watchdog.
//!
//! What comes goes into the rows of the members that have the sender's address, where all children
//! see it at once. With `HeartbeatMaxServers 0` the file that httpd's tools know is written too.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::target::{self, Target};
use crate::clock::{self, Mono};
use crate::codec::heartbeat::{self, Heartbeat, LONGEST};
use crate::config::settings::Settings;
use crate::jobs::Job;
use crate::reactor::source::Source;
use crate::reactor::task::yield_now;
use crate::reactor::{helper, spawn, timer};
use crate::shm::{Assignment, Scoreboard};
use crate::sys::udp;

/// Datagrams read before other tasks have their turn.
const AT_ONCE: usize = 32;
/// How often the file is written.
const PUBLISH: Duration = Duration::from_secs(5);
/// A server not heard of for longer is forgotten.
const FORGET: Duration = Duration::from_secs(30);
/// How often the list of members is made anew.
const REFRESH: Duration = Duration::from_secs(1);
/// Between two tries to bind.
const RETRY: Duration = Duration::from_secs(5);
/// Bound of the servers that are remembered for the file, whatever HeartbeatMaxServers says.
const MOST: usize = 4096;

type Key = (IpAddr, Option<u16>);

/// The receiver.
pub struct HeartMonitor {
    settings: Rc<Settings>,
    board: Rc<Scoreboard>,
    rows: Rc<Assignment>,
    configured: Vec<Rc<Target>>,
    grown: RefCell<Vec<Rc<Target>>>,
    heard: RefCell<HashMap<Key, (Heartbeat, Mono)>>,
    held: Cell<bool>,
    turn: Cell<u32>,
    published: Cell<Mono>,
    complained: Cell<Mono>,
}

impl HeartMonitor {
    /// For a child; it listens once it is the watchdog.
    pub fn new(
        settings: Rc<Settings>,
        board: Rc<Scoreboard>,
        rows: Rc<Assignment>,
    ) -> Rc<HeartMonitor> {
        Rc::new(HeartMonitor {
            configured: target::configured(&settings, &rows),
            settings,
            board,
            rows,
            grown: RefCell::default(),
            heard: RefCell::default(),
            held: Cell::new(false),
            turn: Cell::new(0),
            published: Cell::new(Mono(0)),
            complained: Cell::new(Mono(0)),
        })
    }

    /// As a job of the watchdog; `None` without a HeartbeatListen.
    pub fn job(self: &Rc<Self>) -> Option<Rc<MonitorJob>> {
        self.settings.process.heartbeat_listen?;
        Some(Rc::new(MonitorJob(Rc::clone(self))))
    }

    /// A heartbeat came by HTTP, to whichever child.
    pub fn posted(&self, from: IpAddr, beat: &Heartbeat) {
        self.look_for_grown();
        self.note(from.to_canonical(), beat);
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
            let socket = match helper(move || udp::bind_group(address)).await {
                Ok(fd) => UdpSocket::from(fd),
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
            // At most one line a second, whoever sends what.
            if now.since(self.complained.get()) >= Duration::from_secs(1) {
                self.complained.set(now);
                log::warn!(target: "heartmonitor", "malformed message from {}", from.ip().to_canonical());
            }
            return;
        };
        self.note(from.ip().to_canonical(), &beat);
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
            if same_port && target.host.parse() == Ok(ip) {
                self.board
                    .set_heartbeat(target.row, beat.busy, beat.ready, now);
            }
        }
        let most = match self.settings.process.heartbeat_max_servers {
            0 => MOST,
            n => (n as usize).min(MOST),
        };
        let mut heard = self.heard.borrow_mut();
        if heard.len() < most || heard.contains_key(&(ip, beat.port)) {
            heard.insert((ip, beat.port), (*beat, now));
        }
    }

    /// Writes the file when its time has come.
    fn publish(&self) {
        let now = clock::now();
        self.heard
            .borrow_mut()
            .retain(|_, (_, seen)| now.since(*seen) <= FORGET);
        let in_file = self.settings.process.heartbeat_max_servers == 0;
        if !in_file || now.since(self.published.get()) < PUBLISH {
            return;
        }
        self.published.set(now);
        let mut text = String::new();
        for ((ip, _), (beat, seen)) in &*self.heard.borrow() {
            heartbeat::write_line(&mut text, *ip, beat, now.since(*seen).as_secs());
        }
        let path = self.settings.process.heartbeat_storage.clone();
        spawn(async move {
            let shown = path.display().to_string();
            if let Err(e) = helper(move || write(&path, &text)).await {
                log::error!(target: "heartmonitor", "cannot write {shown} (HeartbeatStorage): {e}");
            }
        });
    }
}

/// Beside the file, then in its place, so that readers never see half of it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".tmp.{}", std::process::id()));
    let beside = PathBuf::from(name);
    let _ = std::fs::remove_file(&beside);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    std::fs::rename(&beside, path)
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
    }

    fn run(&self) {
        let me = &self.0;
        me.look_for_grown();
        me.publish();
    }

    fn end(&self) {
        self.0.held.set(false);
        self.0.heard.borrow_mut().clear();
    }
}
