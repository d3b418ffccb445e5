//! A socket that announcements come in by.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Duration;

use super::membership::Membership;
use super::throttle::Throttle;
use crate::clock::{self, Mono};
use crate::codec::beacon::{Announcement, LONGEST, MacPolicy, Refusal, Verifier};
use crate::config::beacon as config;
use crate::ids::Generation;
use crate::log;
use crate::reactor::source::Source;
use crate::reactor::task::yield_now;
use crate::reactor::{spawn, timer};
use crate::shm::{BeaconRow, Scoreboard};
use crate::sys::udp;

/// Datagrams read before the loop's other tasks have their turn: well below a millisecond.
const AT_ONCE: usize = 32;
/// A flood gets so much of each `WINDOW` of this child's time; what the socket cannot hold meanwhile
/// is dropped by the kernel and counted.
const BUDGET: Duration = Duration::from_millis(1);
/// See `BUDGET`.
const WINDOW: Duration = Duration::from_millis(10);
/// Of a socket that never runs empty so many datagrams are read before leases are looked at: more
/// than its queue holds, so that all that had arrived by then was seen.
const QUEUE: u64 = 4096;
/// A holder that ends reads so many times `AT_ONCE`; in a flood the rest is the next one's.
const LAST_READS: usize = 8;

/// A receiver while this child is the holder.
pub(super) struct Receiver {
    source: Source,
    /// `None` once it is closed.
    socket: RefCell<Option<UdpSocket>>,
    board: Rc<Scoreboard>,
    row: BeaconRow,
    verifier: Verifier,
    /// Time stamps before this one are stale.
    floor: i64,
    allow: Vec<config::Allowed>,
    /// `None`: announcements are only logged.
    membership: Option<RefCell<Membership>>,
    throttle: RefCell<Throttle>,
    alive: Rc<Cell<bool>>,
    /// Read since the leases were last looked at.
    read: Cell<u64>,
    /// What the kernel had dropped when that was last looked at, and when it last was more.
    overflows: Cell<u32>,
    overflowed: Cell<Mono>,
}

impl Receiver {
    /// Takes over, and starts the task that reads as long as `alive` says. `deaf`: for so long
    /// nobody heard what was sent.
    ///
    /// # Errors
    /// When the socket cannot be watched.
    pub fn start(
        settings: &config::Receiver,
        socket: UdpSocket,
        board: Rc<Scoreboard>,
        (row, generation): (BeaconRow, Generation),
        membership: Option<Membership>,
        alive: Rc<Cell<bool>>,
        deaf: Duration,
    ) -> io::Result<Rc<Receiver>> {
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let source = Source::new(socket.as_raw_fd())?;
        let overflows = udp::dropped(&socket).unwrap_or(0);
        let max_skew = i64::try_from(settings.max_skew.as_micros()).unwrap_or(i64::MAX);
        let (first, floor) = board.begin_receiver(row, generation, max_skew, clock::read_wall());
        let receiver = Rc::new(Receiver {
            source,
            socket: RefCell::new(Some(socket)),
            board,
            row,
            verifier: Verifier {
                keys: settings.keys.clone(),
                policy: settings.policy,
                max_skew,
            },
            floor,
            allow: settings.allow.clone(),
            membership: membership.map(RefCell::new),
            throttle: RefCell::default(),
            alive,
            read: Cell::new(0),
            overflows: Cell::new(overflows),
            overflowed: Cell::new(Mono(0)),
        });
        log::notice(
            "proxy_beacon",
            &format!("listening for beacons on {address}"),
        );
        if settings.balancer.is_none() {
            ::log::warn!(target: "proxy_beacon", "no ProxyBeaconBalancer at {}: beacons will be logged only", settings.span);
        }
        if settings.policy == MacPolicy::Any {
            ::log::warn!(target: "proxy_beacon", "ProxyBeaconMac any at {}: 64-bit MACs (siphash) are accepted", settings.span);
        }
        if let Some(m) = &receiver.membership {
            let mut m = m.borrow_mut();
            m.take_over(clock::now(), deaf);
            if first {
                m.retry_adds();
            }
            if !settings.allow.is_empty() {
                m.turn_out(|origin| config::admit(&settings.allow, origin, None).is_ok());
            }
        }
        spawn(Rc::clone(&receiver).follow());
        Ok(receiver)
    }

    async fn follow(self: Rc<Self>) {
        let (mut window, mut spent) = (clock::now(), Duration::ZERO);
        loop {
            poll_fn(|_| self.source.poll_read_ready()).await;
            if !self.alive.get() {
                return;
            }
            let began = clock::read_mono();
            if began.since(window) >= WINDOW {
                (window, spent) = (began, Duration::ZERO);
            }
            let empty = self.read_some();
            spent += clock::read_mono().since(began);
            if spent >= BUDGET {
                timer::sleep(WINDOW - BUDGET).await;
            } else if !empty {
                yield_now().await;
            }
        }
    }

    /// Reads a few datagrams; true when there are no more.
    fn read_some(&self) -> bool {
        // Larger than what is allowed, so that what is cut is seen to be too long.
        let mut buffer = [0; LONGEST + 64];
        let socket = self.socket.borrow();
        let Some(socket) = &*socket else {
            return true;
        };
        for _ in 0..AT_ONCE {
            match socket.recv_from(&mut buffer) {
                Ok((n, from)) => self.datagram(&buffer[..n], from),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.source.clear_readable();
                    return true;
                }
                // Somebody's ICMP, or an interruption: not the end of the socket.
                Err(_) => {}
            }
            self.read.set(self.read.get() + 1);
        }
        false
    }

    fn datagram(&self, bytes: &[u8], from: SocketAddr) {
        if !self.board.is_receiving(self.row) {
            return;
        }
        let verdict = self.verifier.judge(bytes, clock::wall().0);
        let verdict = verdict.and_then(|a| match self.is_stale(a.ts) {
            true => Err(Refusal::Stale),
            false => Ok(a),
        });
        let outcome = verdict.and_then(|a| self.announcement(&a, from));
        match outcome {
            Ok(()) => self.board.count_accepted(self.row, clock::wall()),
            Err(Refusal::Empty) => {}
            Err(why) => {
                self.board
                    .count_dropped(self.row, why as u8, from, clock::wall());
                let line = self.throttle.borrow_mut().dropped(why, clock::now());
                if let Some(line) = line {
                    // Nothing of what was sent: whoever sent it may not have the key.
                    ::log::warn!(target: "proxy_beacon", "{line}, from {from}");
                }
            }
        }
    }

    /// A bound in the future is of a clock that was set back, and says nothing.
    fn is_stale(&self, ts: i64) -> bool {
        ts < self.floor && self.floor <= clock::wall().0
    }

    fn announcement(&self, a: &Announcement<'_>, from: SocketAddr) -> Result<(), Refusal> {
        if let Some(origin) = &a.origin {
            config::admit(&self.allow, origin, Some(from.ip()))?;
        }
        ::log::info!(target: "proxy_beacon", "received: {}", a.text.escape_ascii());
        match (&self.membership, &a.origin) {
            (Some(m), Some(origin)) => m.borrow_mut().accept(origin, a, clock::now()),
            _ => Ok(()),
        }
    }

    /// Once a slice: whoever is silent for too long is evicted.
    pub fn tick(&self) {
        // After a pause of the machine what waits in the socket counts before silence does.
        let empty = self.read_some();
        if !empty && self.read.get() < QUEUE {
            return;
        }
        self.read.set(0);
        let now = clock::now();
        if let Some(socket) = &*self.socket.borrow()
            && let Ok(n) = udp::dropped(socket)
        {
            if n != self.overflows.replace(n) {
                self.overflowed.set(now);
            }
            self.board.set_overflows(self.row, u64::from(n));
        }
        if let Some(m) = &self.membership {
            m.borrow_mut().sweep(now, self.overflowed.get());
        }
        self.board.set_listened(self.row, now);
    }

    /// Reads what waits, then closes the socket at once: after a change of the address it may still
    /// be the one that the system prefers to the next holder's.
    pub fn close(&self) {
        for _ in 0..LAST_READS {
            if self.read_some() {
                break;
            }
        }
        if let Some(socket) = self.socket.borrow_mut().take() {
            // Others may have it too, so closing alone does not end its events.
            let _ = self.source.unlisten(socket.as_raw_fd());
        }
    }
}
