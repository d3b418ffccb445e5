//! Telling another proxy how much room there is here (mod_heartbeat; spec: health 6.1): a job of the
//! watchdog that sends a datagram at each run.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::rc::Rc;
use std::time::Duration;

use crate::codec::heartbeat;
use crate::config::settings::Settings;
use crate::jobs::Job;
use crate::shm::Scoreboard;

/// Requests that a child is taken to have room for where MaxRequestWorkers says nothing: children
/// have no slots that could be counted, and proxies only compare the numbers.
const ROOM: u32 = 256;

/// The sender.
pub struct HeartSender {
    board: Rc<Scoreboard>,
    address: SocketAddr,
    interval: Duration,
    capacity: u32,
    socket: RefCell<Option<UdpSocket>>,
    complained: Cell<bool>,
}

impl HeartSender {
    /// As a job; `None` without a HeartbeatAddress.
    pub fn job(settings: &Settings, board: Rc<Scoreboard>, children: u16) -> Option<Rc<Self>> {
        let process = &settings.process;
        let capacity = process.max_request_workers;
        Some(Rc::new(HeartSender {
            board,
            address: process.heartbeat_address?,
            interval: process.watchdog_interval,
            capacity: capacity.unwrap_or(ROOM * u32::from(children)),
            socket: RefCell::default(),
            complained: Cell::new(false),
        }))
    }

    fn send(&self) -> io::Result<()> {
        let requests = self.board.slots().map(|s| u64::from(s.requests));
        let busy = u32::try_from(requests.sum::<u64>()).unwrap_or(u32::MAX);
        let ready = self.capacity.saturating_sub(busy);
        let mut socket = self.socket.borrow_mut();
        let socket = match &mut *socket {
            Some(socket) => socket,
            none => none.insert(open(self.address)?),
        };
        let message = heartbeat::message(busy, ready);
        socket.send_to(message.as_bytes(), self.address).map(|_| ())
    }
}

fn open(to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = match to {
        SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)),
    }?;
    socket.set_nonblocking(true)?;
    if to.is_ipv4() {
        // A proxy on this machine hears it too.
        socket.set_multicast_loop_v4(true)?;
    }
    Ok(socket)
}

impl Job for HeartSender {
    fn name(&self) -> &'static str {
        "heartbeat sender"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    fn run(&self) {
        match self.send() {
            Ok(()) => self.complained.set(false),
            // Nobody listens there at the moment, which an earlier datagram found out.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(e) => {
                if !self.complained.replace(true) {
                    log::error!(target: "heartbeat", "cannot send heartbeats to {} (HeartbeatAddress): {e}", self.address);
                }
            }
        }
    }

    fn end(&self) {
        *self.socket.borrow_mut() = None;
    }
}
