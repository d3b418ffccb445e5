//! This server announces itself to proxies.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::rc::Rc;
use std::time::Duration;

use super::names;
use crate::clock::{self, Mono};
use crate::codec::beacon::{Algorithm, Fields, Signer};
use crate::config::beacon::{self as config, HostPort};
use crate::log;
use crate::reactor::{Lane, helper, spawn, timer};
use crate::shm::{BeaconRow, Scoreboard};

/// A withdrawal is said so often, since datagrams get lost.
const REPEAT: u32 = 3;
/// How often a name is looked up again.
const AGAIN: Duration = Duration::from_secs(60);
/// Pauses after a failure, doubled up to the last.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// See `FIRST_PAUSE`.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// A sender while this child is the holder.
pub(super) struct Sender {
    settings: config::Sender,
    board: Rc<Scoreboard>,
    row: BeaconRow,
    signer: Signer,
    targets: Vec<Target>,
    alive: Rc<Cell<bool>>,
    complained: Cell<Mono>,
}

#[derive(Default)]
struct Target {
    open: RefCell<Option<(SocketAddr, UdpSocket)>>,
    /// Opened, and not told of anything yet.
    fresh: Cell<bool>,
}

impl Sender {
    /// Starts the tasks that announce and look names up, as long as `alive` says.
    pub fn start(
        settings: config::Sender,
        board: Rc<Scoreboard>,
        row: BeaconRow,
        alive: Rc<Cell<bool>>,
    ) -> Rc<Sender> {
        let sender = Rc::new(Sender {
            signer: Signer {
                key: settings.key.clone(),
                algorithm: settings.algorithm,
            },
            targets: settings.targets.iter().map(|_| Target::default()).collect(),
            settings,
            board,
            row,
            alive,
            complained: Cell::new(Mono(0)),
        });
        for index in 0..sender.targets.len() {
            spawn(Rc::clone(&sender).keep_open(index));
        }
        spawn(Rc::clone(&sender).announce());
        sender
    }

    /// This server ends: muster proxies send it nothing new from now on, instead of until its lease
    /// ends. httpd would take the datagram for a renewal, since it does not know the field, so only
    /// those are told that take muster's own signature.
    pub fn depart(&self) {
        // Also what a former holder announced.
        let open = self.targets.iter().any(|t| t.open.borrow().is_some());
        if open
            && self.settings.advertise.is_some()
            && self.settings.algorithm == Algorithm::HmacSha256
        {
            for _ in 0..REPEAT {
                self.send(true);
            }
            log::notice(
                "proxy_beacon",
                "withdrew from all proxies: this server ends",
            );
        }
    }

    async fn announce(self: Rc<Self>) {
        let mut due = Mono(0);
        while self.alive.get() {
            let open = self.targets.iter().any(|t| t.open.borrow().is_some());
            let fresh = self.targets.iter().any(|t| t.fresh.get());
            if open && (fresh || clock::now() >= due) {
                self.send(false);
                due = clock::now() + jittered(self.settings.interval);
            }
            timer::sleep(config::SLICE.min(self.settings.interval)).await;
        }
    }

    /// The same datagram to each target that is open.
    fn send(&self, leaving: bool) {
        let (ts, seq) = self.board.next_stamp(self.row, clock::wall());
        let bytes = self.signer.datagram(&Fields {
            origin: self.settings.advertise.as_ref(),
            host: &self.settings.name,
            pid: std::process::id(),
            seq,
            ts,
            leaving,
            ..Fields::default()
        });
        for target in &self.targets {
            target.fresh.set(false);
            let Some((address, socket)) = &*target.open.borrow() else {
                continue;
            };
            if let Err(e) = socket.send_to(&bytes, address)
                && (self.complained.get() == Mono(0)
                    || clock::now().since(self.complained.get()) >= Duration::from_secs(1))
            {
                self.complained.set(clock::now());
                ::log::warn!(target: "proxy_beacon", "announcement to {address} could not be sent: {e}");
            }
        }
    }

    /// Opens a target's socket, and follows its name to other addresses.
    async fn keep_open(self: Rc<Self>, index: usize) {
        let place = &self.settings.targets[index];
        let target = &self.targets[index];
        let mut pause = FIRST_PAUSE;
        while self.alive.get() {
            let before = target.open.borrow().as_ref().map(|(a, _)| *a);
            let found = resolve(place, before).await;
            let wait = match found.and_then(|to| Ok((to, open(to)?))) {
                Ok((address, socket)) => {
                    if before != Some(address) {
                        log::notice("proxy_beacon", &format!("beaconing to {address}"));
                        *target.open.borrow_mut() = Some((address, socket));
                        target.fresh.set(true);
                    }
                    if place.host.parse::<IpAddr>().is_ok() {
                        return;
                    }
                    pause = FIRST_PAUSE;
                    AGAIN
                }
                Err(e) => {
                    ::log::error!(target: "proxy_beacon", "cannot announce to {place}: {e}; next try in {} s", pause.as_secs());
                    let wait = pause;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    wait
                }
            };
            timer::sleep(wait).await;
        }
    }
}

/// The address of a name, looked up beside the loop: the one `used` while it is still listed.
async fn resolve(place: &HostPort, used: Option<SocketAddr>) -> io::Result<SocketAddr> {
    if let Ok(ip) = place.host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, place.port));
    }
    let place = place.clone();
    match timer::timeout(
        names::LOOKUP,
        helper(Lane::Backends, move || names::look_up(&place)),
    )
    .await
    {
        Ok(found) => names::choose(used, &found?).ok_or_else(names::too_late),
        Err(_) => Err(names::too_late()),
    }
}

/// An unbound socket of the address's family.
pub(super) fn open(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Up to a tenth earlier, so that many senders that began together spread.
pub(super) fn jittered(interval: Duration) -> Duration {
    let random = RandomState::new().hash_one(0) % 1000;
    interval - interval / 10 * random as u32 / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_never_delays() {
        let interval = Duration::from_secs(5);
        for _ in 0..1000 {
            let j = jittered(interval);
            assert!(j <= interval && j >= interval * 9 / 10, "{j:?}");
        }
    }
}
