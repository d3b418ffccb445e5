//! Sockets for announcements of backends: bound here and inherited by every generation, so that what
//! waits in one is lost neither at a reload nor when its reader dies.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::estate::Estate;
use crate::clock;
use crate::config::beacon::{HostPort, Receiver};
use crate::config::settings::Settings;
use crate::ids::Generation;
use crate::shm::marks::{self, Marks};
use crate::shm::{Scoreboard, WorkerInfo, status};
use crate::sys::udp;

/// A bound socket, shared by the generations that use it.
#[derive(Debug)]
pub struct BeaconSocket {
    place: HostPort,
    fd: OwnedFd,
}

/// By receiver.
pub type Beacons = Vec<Option<Rc<BeaconSocket>>>;

/// Keeps the sockets whose address stays, and binds the others. An address that cannot be had is no
/// reason not to start: it is said, and the watchdog's holder tries again. It also binds what is told
/// by name.
pub fn bind(settings: &Settings, serving: Option<&Estate>, patience: Duration) -> Beacons {
    let old = serving.map_or(&[][..], |e| &e.beacons);
    let kept = |r: &Receiver| {
        let mut sockets = old.iter().flatten();
        sockets.find(|s| s.place == r.place).cloned()
    };
    // Those that go with the generation that serves now may overlap the new ones.
    let stays = |s: &BeaconSocket| settings.receivers.iter().any(|r| r.place == s.place);
    let going: Vec<_> = old.iter().flatten().filter(|s| !stays(s)).collect();
    settings
        .receivers
        .iter()
        .map(|r| kept(r).or_else(|| bind_new(r, &going, patience)))
        .collect()
}

fn bind_new(
    receiver: &Receiver,
    going: &[&Rc<BeaconSocket>],
    patience: Duration,
) -> Option<Rc<BeaconSocket>> {
    let place = receiver.place.clone();
    if place.is_name() {
        // A look-up may take long, and nothing may wait for it here: the watchdog's holder does it.
        return None;
    }
    let same_port = going.iter().filter(|s| s.place.port == place.port);
    let beside: Vec<_> = same_port.map(|s| s.fd.as_fd()).collect();
    let until = clock::read_mono() + patience;
    loop {
        match udp::bind_beside(&place.host, place.port, &beside) {
            Ok(fd) => return Some(Rc::new(BeaconSocket { place, fd })),
            // The children of a supervisor that was killed let go of it in a moment.
            Err(e) if e.raw_os_error() == Some(libc::EADDRINUSE) && clock::read_mono() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => {
                ::log::error!(
                    target: "proxy_beacon",
                    "cannot listen for beacons on {place} (ProxyBeaconListen at {}): {e}; next try in a second",
                    receiver.span
                );
                return None;
            }
        }
    }
}

/// What makes replays visible: of former receivers (`kept`), and of all tables. `serving`: the
/// generation whose receivers are there.
pub fn marks(kept: &Marks, estates: &[Estate], serving: Option<Generation>) -> Marks {
    let wall = clock::read_wall();
    let mut all = kept.clone();
    all.switch_off();
    all.prune(wall);
    let serves = |e: &&Estate| Some(e.generation) == serving;
    let now = estates.iter().find(serves).or(estates.last());
    // A table that was cut says nothing.
    let tables = estates.iter().filter(|e| !e.board.damaged());
    let mut seen: Vec<&Rc<Scoreboard>> = Vec::new();
    for e in tables {
        let is_serving = now.is_some_and(|n| Rc::ptr_eq(&n.board, &e.board));
        if is_serving || seen.iter().any(|b| Rc::ptr_eq(b, &e.board)) {
            continue;
        }
        seen.push(&e.board);
        let mut marks = e.board.marks();
        marks.switch_off();
        marks.prune(wall);
        all.absorb(marks);
    }
    if let Some(e) = now.filter(|e| !e.board.damaged()) {
        all.absorb(e.board.marks());
    }
    all
}

/// What to warn of when a reload takes receivers away whose members stay.
pub fn orphans(estate: &Estate, before: &Estate) -> Vec<String> {
    let names = |e: &Estate| -> Vec<String> {
        let receivers = e.settings.receivers.iter();
        let balancers = receivers.filter_map(|r| r.balancer.as_ref());
        balancers.map(|b| b.name.clone()).collect()
    };
    let now = names(estate);
    let gone: Vec<_> = names(before)
        .into_iter()
        .filter(|name| !now.contains(name))
        .collect();
    if gone.is_empty() {
        return Vec::new();
    }
    let balancers = estate.board.snapshot().balancers.into_iter();
    let gone = balancers.filter(|b| gone.contains(&b.name));
    let joined =
        |m: &&WorkerInfo| m.status & status::BEACON != 0 && m.status & status::DISABLED == 0;
    gone.filter_map(|b| {
        let n = b.members.iter().filter(joined).count();
        (n > 0).then(|| {
            format!(
                "{}: no ProxyBeaconListen feeds it any more, and {n} member(s) that joined by announcement stay; nobody evicts them now: disable them in the balancer manager, or restart with HUP",
                b.name
            )
        })
    })
    .collect()
}

/// They outlive the instance. False: they could not be saved, so the table is the only place where
/// they stand.
#[must_use]
pub fn save_marks(marks: &Marks, table: &Path) -> bool {
    let path = marks::path_for(table);
    let saved = marks.save(&path);
    if let Err(error) = &saved {
        ::log::error!(
            target: "proxy_beacon",
            "could not save the replay marks of announcements to {}: {error}; {} stays for the next start to read them",
            path.display(),
            table.display()
        );
    }
    saved.is_ok()
}

/// The sockets as a child's own descriptors.
pub fn own(beacons: Beacons) -> io::Result<Vec<Option<OwnedFd>>> {
    let own = |socket: Rc<BeaconSocket>| match Rc::try_unwrap(socket) {
        Ok(s) => Ok(s.fd),
        Err(shared) => shared.fd.try_clone(),
    };
    beacons
        .into_iter()
        .map(|s| s.map(own).transpose())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::bare::bare;
    use crate::ids::ServerNo;

    /// A name server that does not answer must not keep the supervisor from its children.
    #[test]
    fn names_are_not_looked_up_here() {
        let mut settings = bare(Path::new("/"));
        settings.receivers = ["localhost", "127.0.0.1", ""]
            .map(|host| Receiver {
                server: ServerNo(0),
                place: HostPort {
                    host: host.into(),
                    port: 0,
                },
                balancer: None,
                timeout: Duration::ZERO,
                max_skew: Duration::from_secs(30),
                keys: Vec::new(),
                policy: Default::default(),
                allow: Vec::new(),
                span: Default::default(),
            })
            .into();
        let bound = bind(&settings, None, Duration::ZERO);
        let here: Vec<_> = bound.iter().map(Option::is_some).collect();
        assert_eq!(here, [false, true, true]);
    }
}
