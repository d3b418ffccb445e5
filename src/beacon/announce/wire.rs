//! Signed datagrams to all proxies, in order, and none behind the withdrawal.
//!
//! Each proxy's name is looked up by a thread of its own, so that a name server that does not answer
//! delays neither the other proxies nor a check nor the withdrawal. An address once found is used
//! until another one is.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::options::Options;
use super::say;
use super::secret::SecretFile;
use crate::beacon::names;
use crate::beacon::sender::open;
use crate::clock::read_wall;
use crate::codec::beacon::{Algorithm, Fields, Signer};
use crate::config::beacon::HostPort;

/// How often names are looked up again.
const AGAIN: Duration = Duration::from_secs(60);
/// Pause after a look-up that failed, doubled up to `AGAIN`: a proxy's name may appear after the
/// backend does (containers that start together).
const SOON: Duration = Duration::from_secs(1);
/// A withdrawal is said so often, since datagrams get lost.
const REPEAT: u32 = 3;

/// Finds the addresses of a place, within a bound.
type Resolve = dyn Fn(&HostPort) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// What all threads share.
pub struct Wire {
    options: Options,
    host: String,
    resolve: Box<Resolve>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    signer: Signer,
    secret: SecretFile,
    targets: Vec<Target>,
    last_ts: i64,
    seq: u64,
    /// A member, as far as we have told.
    announced: bool,
    /// No more announcements.
    stopped: bool,
    /// Goes up when names are to be looked up now.
    asked: u32,
}

#[derive(Default)]
struct Target {
    /// All that its name has, the one in use first.
    addresses: Vec<SocketAddr>,
    socket: Option<UdpSocket>,
    /// What went wrong last, so that it is said once.
    trouble: Option<String>,
}

impl Wire {
    /// Nothing is looked up or sent yet.
    pub fn new(options: Options) -> Wire {
        Wire::with(
            options,
            Box::new(|place| {
                let place = place.clone();
                names::within(names::LOOKUP, move || names::look_up(&place))
            }),
        )
    }

    fn with(options: Options, resolve: Box<Resolve>) -> Wire {
        let host = nix::unistd::gethostname()
            .ok()
            .and_then(|h| h.into_string().ok());
        let target = |place: &HostPort| Target {
            addresses: literal(place).into_iter().collect(),
            ..Target::default()
        };
        Wire {
            host: host.unwrap_or_default(),
            resolve,
            state: Mutex::new(State {
                signer: Signer {
                    key: options.secret.key().clone(),
                    algorithm: options.algorithm,
                },
                secret: options.secret.clone(),
                targets: options.to.iter().map(target).collect(),
                last_ts: 0,
                seq: 0,
                announced: false,
                stopped: false,
                asked: 0,
            }),
            options,
            changed: Condvar::new(),
        }
    }

    /// Starts a thread for each proxy that is named and not written as an address.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn follow_names(self: &Arc<Self>) -> io::Result<()> {
        for (index, place) in self.options.to.iter().enumerate() {
            if literal(place).is_none() {
                let wire = Arc::clone(self);
                std::thread::Builder::new()
                    .name("lookup".into())
                    .spawn(move || wire.follow_name(index))?;
            }
        }
        Ok(())
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked under it left nothing half-done that matters here.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Announces the backend, unless it was withdrawn for good.
    pub fn announce(&self) {
        let mut state = self.lock();
        if state.stopped {
            return;
        }
        let first = !std::mem::replace(&mut state.announced, true);
        self.send(&mut state, false);
        if first {
            say(&format!("announcing {}", self.options.origin));
        }
    }

    /// Tells proxies to send nothing more, when they were told of it; says whether they were.
    /// `last`: for good.
    pub fn withdraw(&self, last: bool) -> bool {
        let mut state = self.lock();
        state.stopped |= last;
        let announced = std::mem::take(&mut state.announced);
        let told = announced && state.targets.iter().any(|t| !t.addresses.is_empty());
        // httpd knows no withdrawal: it would take it for a renewal.
        if told && self.options.algorithm == Algorithm::SipHash {
            say(&format!(
                "announcing {} no longer: httpd proxies use it until its lease ends",
                self.options.origin
            ));
        } else if told {
            for _ in 0..REPEAT {
                self.send(&mut state, true);
            }
            say(&format!("withdrew {}", self.options.origin));
        }
        self.changed.notify_all();
        told
    }

    /// Reads the secret and looks names up, instead of when their time comes; then says that the
    /// backend is there, if it is.
    pub fn reload(&self) {
        let mut state = self.lock();
        let read = state.secret.read();
        state.asked = state.asked.wrapping_add(1);
        self.changed.notify_all();
        if state.announced && !state.stopped {
            self.send(&mut state, false);
        }
        match read {
            Ok(()) => say(&format!("read {} again", state.secret.shown())),
            Err(text) => say(&format!("{text}; the secret from before is still used")),
        }
    }

    /// Sleeps; false when it is over.
    pub fn pause(&self, time: Duration) -> bool {
        let state = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(state, time, |state| !state.stopped);
        !waited.unwrap_or_else(|e| e.into_inner()).0.stopped
    }

    /// To all, and only then what is to be said of it.
    fn send(&self, state: &mut State, leaving: bool) {
        let mut news = match state.secret.follow() {
            None => Vec::new(),
            Some(Ok(())) => vec![format!("{} has changed and is used", state.secret.shown())],
            Some(Err(text)) => vec![format!("{text}; the secret from before is still used")],
        };
        state.signer.key.clone_from(state.secret.key());
        state.last_ts = read_wall().0.max(state.last_ts + 1);
        let bytes = state.signer.datagram(&Fields {
            origin: Some(&self.options.origin),
            host: &self.host,
            pid: std::process::id(),
            seq: state.seq,
            ts: state.last_ts,
            route: self.options.route.as_deref(),
            load_factor: self.options.load_factor,
            leaving,
        });
        state.seq += 1;
        for (target, place) in state.targets.iter_mut().zip(&self.options.to) {
            news.extend(target.send(&bytes, place));
        }
        for text in news {
            say(&text);
        }
    }

    /// Looks one name up again and again, without the lock.
    fn follow_name(&self, index: usize) {
        let place = &self.options.to[index];
        let mut pause = SOON;
        loop {
            let asked = self.lock().asked;
            let found = (self.resolve)(place);
            let mut state = self.lock();
            let wait = match found {
                Ok(found) => {
                    if state.targets[index].listed(found) && state.announced && !state.stopped {
                        self.send(&mut state, false);
                    }
                    pause = SOON;
                    AGAIN
                }
                Err(e) => {
                    let text = format!("cannot look {} up: {e}", place.host);
                    if let Some(text) = state.targets[index].in_trouble(text) {
                        say(&text);
                    }
                    let wait = pause;
                    pause = (pause * 2).min(AGAIN);
                    wait
                }
            };
            let idle = |state: &mut State| !state.stopped && state.asked == asked;
            let waited = self.changed.wait_timeout_while(state, wait, idle);
            if waited.unwrap_or_else(|e| e.into_inner()).0.stopped {
                return;
            }
        }
    }
}

impl Target {
    /// Takes over what its name has; true when another address is in use now.
    fn listed(&mut self, mut found: Vec<SocketAddr>) -> bool {
        let used = self.addresses.first().copied();
        let Some(chosen) = names::choose(used, &found) else {
            return false;
        };
        found.retain(|a| *a != chosen);
        found.insert(0, chosen);
        self.addresses = found;
        if used == Some(chosen) {
            return false;
        }
        self.socket = None;
        self.trouble = None;
        true
    }

    /// Gives what is to be told.
    fn send(&mut self, bytes: &[u8], place: &HostPort) -> Option<String> {
        let &address = self.addresses.first()?;
        let mut refused = false;
        if let Some(socket) = &self.socket {
            match socket.send(bytes) {
                Ok(_) => {
                    self.trouble = None;
                    return None;
                }
                // The datagram before this one was; this one was not sent.
                Err(e) => refused = e.kind() == io::ErrorKind::ConnectionRefused,
            }
        }
        // Made anew also after other faults: this machine may have other addresses now.
        self.socket = None;
        let sent = connected(address).and_then(|socket| {
            socket.send(bytes)?;
            self.socket = Some(socket);
            Ok(())
        });
        match sent {
            Ok(()) if !refused => {
                self.trouble = None;
                None
            }
            Ok(()) => {
                let news = self.in_trouble(format!(
                    "nothing listens at {address} ({place}); its ProxyBeaconListen says where the proxy does"
                ));
                if self.addresses.len() > 1 {
                    // Perhaps the name's next one.
                    self.addresses.rotate_left(1);
                    self.socket = None;
                }
                news
            }
            Err(e) => self.in_trouble(format!("could not send to {address} ({place}): {e}")),
        }
    }

    /// The text, when it is news.
    fn in_trouble(&mut self, text: String) -> Option<String> {
        if self.trouble.as_ref() == Some(&text) {
            return None;
        }
        self.trouble = Some(text.clone());
        Some(text)
    }
}

fn literal(place: &HostPort) -> Option<SocketAddr> {
    let ip: IpAddr = place.host.parse().ok()?;
    Some(SocketAddr::new(ip, place.port))
}

/// Connected, so that the kernel tells when nothing listens there.
fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(to)?;
    socket.connect(to)?;
    Ok(socket)
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
