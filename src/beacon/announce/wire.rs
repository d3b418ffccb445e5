//! Signed datagrams to all proxies, in order, and none behind the withdrawal.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::options::Options;
use super::say;
use crate::beacon::sender::open;
use crate::clock::read_wall;
use crate::codec::beacon::{Fields, Signer};

/// How often names are looked up again.
const AGAIN: Duration = Duration::from_secs(60);
/// A withdrawal is said so often, since datagrams get lost.
const REPEAT: u32 = 3;

/// What both threads share.
pub struct Wire {
    options: Options,
    signer: Signer,
    host: String,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    targets: Vec<(SocketAddr, UdpSocket)>,
    resolved: Option<Instant>,
    last_ts: i64,
    seq: u64,
    /// A member, as far as we have told.
    announced: bool,
    /// No more announcements.
    stopped: bool,
}

impl Wire {
    /// Nothing is looked up or sent yet.
    pub fn new(options: Options) -> Wire {
        let host = nix::unistd::gethostname()
            .ok()
            .and_then(|h| h.into_string().ok());
        Wire {
            signer: Signer {
                key: options.key.clone(),
                algorithm: options.algorithm,
            },
            host: host.unwrap_or_default(),
            options,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
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
        self.look_up();
        let mut state = self.lock();
        if state.stopped {
            return;
        }
        if !state.announced {
            say(&format!("announcing {}", self.options.origin));
        }
        state.announced = true;
        self.send(&mut state, false);
    }

    /// Tells proxies to send nothing more, when they were told of it. `last`: for good.
    pub fn withdraw(&self, last: bool) {
        let mut state = self.lock();
        state.stopped |= last;
        if std::mem::take(&mut state.announced) {
            for _ in 0..REPEAT {
                self.send(&mut state, true);
            }
            say(&format!("withdrew {}", self.options.origin));
        }
        self.changed.notify_all();
    }

    /// Sleeps; false when it is over.
    pub fn pause(&self, time: Duration) -> bool {
        let state = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(state, time, |state| !state.stopped);
        !waited.unwrap_or_else(|e| e.into_inner()).0.stopped
    }

    fn send(&self, state: &mut State, leaving: bool) {
        state.last_ts = read_wall().0.max(state.last_ts + 1);
        let bytes = self.signer.datagram(&Fields {
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
        for (address, socket) in &state.targets {
            if let Err(e) = socket.send_to(&bytes, address) {
                say(&format!("could not send to {address}: {e}"));
            }
        }
    }

    /// Looks names up without the lock, so that a withdrawal never waits for it.
    fn look_up(&self) {
        if self.lock().resolved.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        let mut targets = Vec::new();
        let mut complete = true;
        for place in &self.options.to {
            let found = (place.host.as_str(), place.port)
                .to_socket_addrs()
                .and_then(|mut list| list.next().ok_or(std::io::ErrorKind::NotFound.into()))
                .and_then(|address| Ok((address, open(address)?)));
            match found {
                Ok(target) => targets.push(target),
                Err(e) => {
                    complete = false;
                    say(&format!("cannot announce to {place}: {e}"));
                }
            }
        }
        let mut state = self.lock();
        // Old addresses are better than none.
        if complete || state.targets.len() <= targets.len() {
            state.targets = targets;
        }
        state.resolved = complete.then(Instant::now);
    }
}
