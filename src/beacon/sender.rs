//! This server announces itself to proxies.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::names;
use crate::clock::{self, Mono};
use crate::codec::beacon::{Algorithm, Fields, Signer};
use crate::config::beacon::{self as config, HostPort};
use crate::log;
use crate::reactor::{alone, spawn, timer};
use crate::shm::{BeaconRow, Scoreboard};

/// A withdrawal is said so often, since datagrams get lost.
const REPEAT: u32 = 3;
/// How often a name is looked up again.
const AGAIN: Duration = Duration::from_secs(60);
/// Pauses after a failure, doubled up to the last.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// See `FIRST_PAUSE`.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Finds the addresses of a place; may block for long.
type Resolve = dyn Fn(&HostPort) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// A look-up on its thread.
type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>>>>;

/// A sender while this child is the holder.
pub(super) struct Sender {
    settings: config::Sender,
    board: Rc<Scoreboard>,
    row: BeaconRow,
    signer: Signer,
    targets: Vec<Target>,
    alive: Rc<Cell<bool>>,
    complained: Cell<Mono>,
    /// It has withdrawn: nothing is announced any more.
    departed: Cell<bool>,
    resolve: Arc<Resolve>,
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
        Sender::start_with(settings, board, row, alive, Arc::new(names::look_up))
    }

    fn start_with(
        settings: config::Sender,
        board: Rc<Scoreboard>,
        row: BeaconRow,
        alive: Rc<Cell<bool>>,
        resolve: Arc<Resolve>,
    ) -> Rc<Sender> {
        let sender = Rc::new(Sender::new(settings, board, row, alive, resolve));
        for index in 0..sender.targets.len() {
            spawn(Rc::clone(&sender).keep_open(index));
        }
        spawn(Rc::clone(&sender).announce());
        sender
    }

    /// Nothing runs yet. What needs no look-up is open at once, since a stop may follow at once.
    fn new(
        settings: config::Sender,
        board: Rc<Scoreboard>,
        row: BeaconRow,
        alive: Rc<Cell<bool>>,
        resolve: Arc<Resolve>,
    ) -> Sender {
        let sender = Sender {
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
            departed: Cell::new(false),
            resolve,
        };
        for (target, place) in sender.targets.iter().zip(&sender.settings.targets) {
            // What fails here fails again, and is told of, in its task.
            if let Ok(ip) = place.host.parse::<IpAddr>() {
                let address = SocketAddr::new(ip, place.port);
                *target.open.borrow_mut() = open(address).ok().map(|socket| (address, socket));
            }
        }
        sender
    }

    /// Withdraws what other children announced: this server ends while none of them is the holder.
    pub fn withdraw_for_others(settings: config::Sender, board: Rc<Scoreboard>, row: BeaconRow) {
        let resolve = Arc::new(names::look_up);
        Sender::new(settings, board, row, Rc::default(), resolve).depart();
    }

    /// Whether it has withdrawn.
    pub fn has_departed(&self) -> bool {
        self.departed.get()
    }

    /// This server ends: muster proxies send it nothing new from now on, instead of until its lease
    /// ends. httpd would take the datagram for a renewal, since it does not know the field, so only
    /// those are told that take muster's own signature.
    pub fn depart(&self) {
        // Also what a former holder announced.
        let open = self.targets.iter().any(|t| t.open.borrow().is_some());
        if !self.departed.replace(true)
            && open
            && !self.board.has_left(self.row)
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
        while self.alive.get() && !self.departed.get() {
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
        let (ts, seq) = self.board.next_stamp(self.row, clock::wall(), leaving);
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

    /// Opens a target's socket, and follows its name to other addresses. One look-up at a time, on a
    /// thread of its own: one that hangs delays nothing but this target.
    async fn keep_open(self: Rc<Self>, index: usize) {
        let place = &self.settings.targets[index];
        if let Ok(ip) = place.host.parse::<IpAddr>() {
            let mut pause = FIRST_PAUSE;
            while self.alive.get() {
                let address = SocketAddr::new(ip, place.port);
                if self.targets[index].open.borrow().is_some() {
                    log::notice("proxy_beacon", &format!("beaconing to {address}"));
                    return;
                }
                match self.found(index, address) {
                    Ok(()) => return,
                    Err(e) => timer::sleep(failed(place, &e, &mut pause)).await,
                }
            }
            return;
        }
        let mut pause = FIRST_PAUSE;
        let mut running: Option<Lookup> = None;
        while self.alive.get() {
            let lookup = running.get_or_insert_with(|| self.look_up(index));
            let found = match timer::timeout(names::LOOKUP, lookup.as_mut()).await {
                Ok(found) => {
                    running = None;
                    found
                }
                // It goes on; no other is started beside it.
                Err(_) => Err(names::too_late()),
            };
            if !self.alive.get() {
                return;
            }
            let wait = match found.and_then(|list| self.listed(index, &list)) {
                Ok(()) => {
                    pause = FIRST_PAUSE;
                    AGAIN
                }
                Err(e) => failed(place, &e, &mut pause),
            };
            let due = clock::now() + wait;
            // What comes late is used all the same, and a late failure was told of already.
            if let Some(lookup) = &mut running
                && let Ok(late) = timer::timeout(wait, lookup.as_mut()).await
            {
                running = None;
                if self.alive.get() && late.and_then(|list| self.listed(index, &list)).is_ok() {
                    pause = FIRST_PAUSE;
                }
            }
            timer::sleep(due.since(clock::now())).await;
        }
    }

    fn look_up(&self, index: usize) -> Lookup {
        let (resolve, place) = (
            Arc::clone(&self.resolve),
            self.settings.targets[index].clone(),
        );
        Box::pin(alone(move || resolve(&place)))
    }

    /// Takes over what a name has: the address in use while it is still listed.
    fn listed(&self, index: usize, list: &[SocketAddr]) -> io::Result<()> {
        let used = self.targets[index].open.borrow().as_ref().map(|(a, _)| *a);
        let address = names::choose(used, list).ok_or_else(names::too_late)?;
        self.found(index, address)
    }

    fn found(&self, index: usize, address: SocketAddr) -> io::Result<()> {
        let target = &self.targets[index];
        let used = target.open.borrow().as_ref().map(|(a, _)| *a);
        if used != Some(address) {
            let socket = open(address)?;
            log::notice("proxy_beacon", &format!("beaconing to {address}"));
            *target.open.borrow_mut() = Some((address, socket));
            target.fresh.set(true);
        }
        Ok(())
    }
}

/// Tells of it; gives the time until the next try.
fn failed(place: &HostPort, e: &io::Error, pause: &mut Duration) -> Duration {
    ::log::error!(target: "proxy_beacon", "cannot announce to {place}: {e}; next try in {} s", pause.as_secs());
    let wait = *pause;
    *pause = (wait * 2).min(LONGEST_PAUSE);
    wait
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
    use crate::codec::beacon::Key;
    use crate::config::bare::bare;
    use crate::ids::{Generation, ServerNo};
    use crate::reactor::{Lane, helper, task};
    use crate::shm::test_dir;
    use std::sync::Mutex;
    use std::sync::mpsc;

    fn sender_to(to: &[(&str, u16)]) -> config::Sender {
        config::Sender {
            server: ServerNo(0),
            name: "test".into(),
            targets: to
                .iter()
                .map(|(host, port)| HostPort {
                    host: (*host).into(),
                    port: *port,
                })
                .collect(),
            advertise: None,
            interval: Duration::from_millis(100),
            key: Key::of_secret(b"secret").unwrap(),
            algorithm: Algorithm::HmacSha256,
            span: Default::default(),
        }
    }

    /// More names that hang than there are helper threads delay neither the other target nor what
    /// requests need the helper threads for; and each has one thread, however long it hangs.
    #[test]
    fn names_that_hang_delay_nothing_else() {
        let proxy = UdpSocket::bind("127.0.0.1:0").unwrap();
        proxy.set_nonblocking(true).unwrap();
        let port = proxy.local_addr().unwrap().port();
        let mut to: Vec<(&str, u16)> = ["a", "b", "c", "d", "e"].map(|n| (n, 1)).into();
        to.push(("good", port));
        let dir = test_dir("sender");
        let mut settings = bare(&dir);
        settings.senders.push(sender_to(&to));
        let board = Scoreboard::create(&dir.join("board"), &settings, 1, Generation(0)).unwrap();
        let rows = board.assign(&settings, Generation(0)).unwrap();
        let (release, hangs) = mpsc::channel::<()>();
        let hangs = Mutex::new(hangs);
        let resolve = move |place: &HostPort| {
            if place.host != "good" {
                // The first waits for the end of the test, the others for the first.
                let _ = hangs.lock().unwrap().recv();
                return Err(names::too_late());
            }
            Ok(vec![SocketAddr::from(([127, 0, 0, 1], place.port))])
        };
        let (row, sender) = (rows.sender(0).unwrap(), settings.senders[0].clone());
        let heard = task::block_on(async move {
            let alive = Rc::new(Cell::new(true));
            Sender::start_with(sender, board, row, Rc::clone(&alive), Arc::new(resolve));
            let mut heard = 0;
            for _ in 0..2000 {
                // As a request that looks a name up does.
                let looked = timer::timeout(names::LOOKUP, helper(Lane::Backends, || ())).await;
                assert!(looked.is_ok(), "helper threads are left");
                heard += usize::from(proxy.recv(&mut [0; 2048]).is_ok());
                if heard == 3 {
                    break;
                }
                timer::sleep(Duration::from_millis(5)).await;
            }
            alive.set(false);
            heard
        });
        drop(release);
        assert_eq!(heard, 3);
        let _ = std::fs::remove_dir_all(dir);
    }

    #[test]
    fn jitter_never_delays() {
        let interval = Duration::from_secs(5);
        for _ in 0..1000 {
            let j = jittered(interval);
            assert!(j <= interval && j >= interval * 9 / 10, "{j:?}");
        }
    }
}
