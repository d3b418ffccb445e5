//! The watchdog's holder runs all receivers and senders of its configuration.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use super::membership::{Joined, Membership};
use super::names;
use super::receiver::Receiver;
use super::sender::{FIRST_PAUSE, LONGEST_PAUSE, Sender};
use crate::clock::{self, Mono};
use crate::config::beacon as config;
use crate::config::settings::Settings;
use crate::jobs::Job;
use crate::reactor::{Lane, helper, spawn, timer};
use crate::shm::{Assignment, BeaconRow, Scoreboard};
use crate::sys::udp;

/// This child's part in it.
pub struct Holder {
    settings: Rc<Settings>,
    board: Rc<Scoreboard>,
    assignment: Rc<Assignment>,
    /// By receiver: what the supervisor bound; `None` where it could not.
    sockets: RefCell<Vec<Option<OwnedFd>>>,
    /// Tables that holders of older generations wrote to.
    former: RefCell<Vec<Rc<Scoreboard>>>,
    alive: Rc<Cell<bool>>,
    running: Rc<RefCell<Vec<Rc<Receiver>>>>,
    senders: RefCell<Vec<Rc<Sender>>>,
}

/// The first try of an address that the supervisor could not bind.
const SOON: Duration = Duration::from_secs(1);

/// How often the job runs where there is no receiver.
const IDLE: Duration = Duration::from_secs(60);

impl Holder {
    /// `sockets`: one for each of `Settings::receivers`.
    pub fn new(
        settings: Rc<Settings>,
        board: Rc<Scoreboard>,
        assignment: Rc<Assignment>,
        sockets: Vec<Option<OwnedFd>>,
        former: Vec<Rc<Scoreboard>>,
    ) -> Holder {
        Holder {
            settings,
            board,
            assignment,
            sockets: RefCell::new(sockets),
            former: RefCell::new(former),
            alive: Rc::new(Cell::new(false)),
            running: Rc::default(),
            senders: RefCell::default(),
        }
    }

    /// Nothing happens when this child is the holder no longer.
    /// `deaf`: the socket is a new one, so what was sent since somebody last listened is lost.
    fn start_receiver(
        &self,
        receiver: &config::Receiver,
        row: BeaconRow,
        socket: UdpSocket,
        deaf: bool,
    ) {
        if !self.alive.get() {
            return;
        }
        let membership = receiver.balancer.as_ref().map(|balancer| {
            Membership::new(
                Rc::clone(&self.board),
                row,
                balancer.name.clone(),
                self.joined(balancer),
                self.others(receiver),
                receiver.timeout,
                receiver.max_skew,
            )
        });
        let board = Rc::clone(&self.board);
        let alive = Rc::clone(&self.alive);
        let listened = board.listened(row);
        let deaf = match deaf && listened != Mono(0) {
            true => clock::now().since(listened),
            false => Duration::ZERO,
        };
        let place = (row, self.assignment.generation());
        let started = Receiver::start(receiver, socket, board, place, membership, alive, deaf);
        match started {
            Ok(started) => self.running.borrow_mut().push(started),
            Err(e) => {
                log::error!(target: "proxy_beacon", "cannot listen for beacons on {}: {e}", receiver.place);
            }
        }
    }

    fn joined(&self, balancer: &config::BeaconBalancer) -> Option<Joined> {
        let no = balancer.no?;
        let members = &self.settings.balancer(no).members;
        Some(Joined {
            row: self.assignment.balancer(no)?,
            configured: members
                .iter()
                .filter_map(|&m| self.assignment.worker(m))
                .collect(),
            grown: self.assignment.grown(no).to_vec(),
        })
    }

    /// The other receivers of a receiver's balancer.
    fn others(&self, receiver: &config::Receiver) -> Vec<BeaconRow> {
        let of = |r: &config::Receiver| r.balancer.as_ref().and_then(|b| b.no);
        let all = self.settings.receivers.iter().enumerate();
        let same = all.filter(|(_, r)| r.server != receiver.server && of(r) == of(receiver));
        same.filter_map(|(i, _)| self.assignment.receiver(i))
            .collect()
    }

    fn clone_for(&self) -> Holder {
        Holder {
            settings: Rc::clone(&self.settings),
            board: Rc::clone(&self.board),
            assignment: Rc::clone(&self.assignment),
            sockets: RefCell::default(),
            former: RefCell::default(),
            alive: Rc::clone(&self.alive),
            running: Rc::clone(&self.running),
            senders: RefCell::default(),
        }
    }
}

impl Job for Holder {
    fn name(&self) -> &'static str {
        "beacons"
    }

    fn interval(&self) -> Duration {
        match self.settings.receivers.is_empty() {
            true => IDLE,
            false => config::SLICE,
        }
    }

    fn begin(&self) {
        self.alive.set(true);
        let memory = self.settings.receivers.iter().map(|r| r.max_skew * 2).max();
        let former = std::mem::take(&mut *self.former.borrow_mut());
        for table in &former {
            let memory = memory.unwrap_or_default();
            self.board.follow_table(table, clock::now(), memory);
        }
        for (i, r) in self.settings.receivers.iter().enumerate() {
            if let (Some(row), Some(_)) = (self.assignment.receiver(i), &r.balancer) {
                let memory = r.max_skew * 2;
                let generation = self.assignment.generation();
                self.board
                    .adopt_marks(row, generation, &former, clock::now(), memory);
            }
        }
        let mut sockets = std::mem::take(&mut *self.sockets.borrow_mut()).into_iter();
        for (i, receiver) in self.settings.receivers.iter().enumerate() {
            let socket = sockets.next().flatten().map(UdpSocket::from);
            let Some(row) = self.assignment.receiver(i) else {
                continue;
            };
            match socket {
                Some(socket) => self.start_receiver(receiver, row, socket, false),
                None => spawn(bind_later(self.clone_for(), i, row)),
            }
        }
        for (i, sender) in self.settings.senders.iter().enumerate() {
            if let Some(row) = self.assignment.sender(i) {
                let alive = Rc::clone(&self.alive);
                let started = Sender::start(sender.clone(), Rc::clone(&self.board), row, alive);
                self.senders.borrow_mut().push(started);
            }
        }
    }

    fn run(&self) {
        for receiver in &*self.running.borrow() {
            receiver.tick();
        }
    }

    fn depart(&self) {
        let own = self.senders.borrow();
        for sender in &*own {
            sender.depart();
        }
        if !own.is_empty() {
            return;
        }
        for (i, sender) in self.settings.senders.iter().enumerate() {
            if let Some(row) = self.assignment.sender(i) {
                Sender::withdraw_for_others(sender.clone(), Rc::clone(&self.board), row);
            }
        }
    }

    /// What it announced it can still withdraw, until another holder has taken that over.
    fn close(&self) -> bool {
        self.sockets.borrow_mut().clear();
        self.former.borrow_mut().clear();
        self.senders.borrow().iter().any(|s| !s.has_departed())
    }

    /// Nothing is read or sent from now on: this child drains.
    fn end(&self) {
        self.alive.set(false);
        for receiver in self.running.borrow_mut().drain(..) {
            receiver.close();
        }
    }
}

/// The supervisor could not bind it (names are looked up here): tries again, less and less often.
async fn bind_later(holder: Holder, index: usize, row: BeaconRow) {
    let receiver = holder.settings.receivers[index].clone();
    let mut pause = FIRST_PAUSE;
    // The holder before may have bound it itself, and closes it about now.
    let mut soon = 3;
    if !receiver.place.is_name() {
        timer::sleep(SOON).await;
    }
    loop {
        if !holder.alive.get() {
            return;
        }
        let place = receiver.place.clone();
        let bound: io::Result<OwnedFd> = helper(Lane::Backends, move || bind_place(&place)).await;
        match bound {
            Ok(fd) => return holder.start_receiver(&receiver, row, UdpSocket::from(fd), true),
            Err(e)
                if soon > 0 && receiver.place.is_name() && e.kind() == io::ErrorKind::AddrInUse =>
            {
                soon -= 1;
                timer::sleep(SOON).await;
            }
            Err(e) => {
                log::error!(
                    target: "proxy_beacon",
                    "cannot listen for beacons on {}: {e}; next try in {} s",
                    receiver.place,
                    pause.as_secs()
                );
                timer::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Blocks for a look-up, within a bound.
pub(super) fn bind_place(place: &config::HostPort) -> io::Result<OwnedFd> {
    if !place.is_name() {
        return udp::bind(&place.host, place.port);
    }
    let asked = place.clone();
    let found = names::within(names::LOOKUP, move || names::look_up(&asked))?;
    let mut last = names::too_late();
    for address in found {
        match udp::bind(&address.ip().to_string(), address.port()) {
            Ok(fd) => return Ok(fd),
            Err(e) => last = e,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::beacon::MacPolicy;
    use crate::codec::beacon::{Algorithm, Key, Origin};
    use crate::config::bare::bare;
    use crate::config::beacon::{HostPort, Receiver as Wanted};
    use crate::ids::{Generation, ServerNo};
    use crate::shm::test_dir;

    /// A stop may come when no child is the holder, when one has just become it, and when one was it:
    /// proxies are told in each case, once, and hear of no announcement afterwards.
    #[test]
    fn a_stop_between_two_holders_withdraws() {
        let dir = test_dir("departs");
        let proxy = UdpSocket::bind("127.0.0.1:0").unwrap();
        proxy.set_nonblocking(true).unwrap();
        let mut settings = bare(&dir);
        settings.senders.push(config::Sender {
            server: ServerNo(0),
            name: "test".into(),
            targets: vec![HostPort {
                host: "127.0.0.1".into(),
                port: proxy.local_addr().unwrap().port(),
            }],
            advertise: Origin::parse(b"http://10.0.0.5"),
            interval: config::SLICE,
            key: Key::of_secret(b"secret").unwrap(),
            algorithm: Algorithm::HmacSha256,
            span: Default::default(),
        });
        let settings = Rc::new(settings);
        let board = Scoreboard::create(&dir.join("board"), &settings, 1, Generation(0)).unwrap();
        let rows = Rc::new(board.assign(&settings, Generation(0)).unwrap());
        let child = || {
            let (board, rows) = (Rc::clone(&board), Rc::clone(&rows));
            Holder::new(Rc::clone(&settings), board, rows, Vec::new(), Vec::new())
        };
        // A for an announcement, L for the word that it leaves.
        let heard = move || {
            let mut buffer = [0; 2048];
            let mut all = String::new();
            while let Ok(n) = proxy.recv(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..n]).into_owned();
                all.push(if text.contains(" state=leaving") {
                    'L'
                } else {
                    'A'
                });
            }
            all
        };
        // None has begun; the next one finds it done.
        child().depart();
        assert_eq!(heard(), "LLL");
        child().depart();
        assert_eq!(heard(), "");
        let (was, new) = (child(), child());
        crate::reactor::task::block_on(async move {
            was.begin();
            timer::sleep(config::SLICE * 3).await;
            assert!(heard().starts_with('A'));
            was.end();
            assert!(was.close(), "it may have a last word");
            was.depart();
            assert_eq!(heard(), "LLL");
            assert!(!was.close());
            board_announced(&new);
            new.begin();
            new.depart();
            timer::sleep(config::SLICE * 3).await;
            assert_eq!(heard(), "LLL");
        });
        let _ = std::fs::remove_dir_all(dir);
    }

    /// As if a holder had announced since the last withdrawal.
    fn board_announced(holder: &Holder) {
        let row = holder.assignment.sender(0).unwrap();
        holder.board.next_stamp(row, clock::wall(), false);
    }

    /// A look-up that ends after the lock went to another child must not make a second reader.
    #[test]
    fn who_is_no_holder_any_more_starts_no_receiver() {
        let dir = test_dir("holder");
        let mut settings = bare(&dir);
        settings.receivers.push(Wanted {
            server: ServerNo(0),
            place: HostPort {
                host: "127.0.0.1".into(),
                port: 5555,
            },
            balancer: None,
            timeout: Duration::ZERO,
            max_skew: Duration::from_secs(30),
            keys: Vec::new(),
            policy: MacPolicy::default(),
            allow: Vec::new(),
            span: Default::default(),
        });
        let board = Scoreboard::create(&dir.join("board"), &settings, 1, Generation(0)).unwrap();
        let rows = board.assign(&settings, Generation(0)).unwrap();
        let row = rows.receiver(0).unwrap();
        let receiver = settings.receivers[0].clone();
        let holder = Holder::new(
            Rc::new(settings),
            board,
            Rc::new(rows),
            vec![None],
            Vec::new(),
        );
        holder.alive.set(true);
        holder.end();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        holder.start_receiver(&receiver, row, socket, false);
        assert!(holder.running.borrow().is_empty());
        assert!(UdpSocket::bind(address).is_ok(), "its socket is closed");
        let _ = std::fs::remove_dir_all(dir);
    }
}
