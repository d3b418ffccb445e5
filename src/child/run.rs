//! A child's life: it serves, is told to drain, answers what it has, and ends.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use super::accept::{Acceptor, Place};
use super::watchdog::Watchdog;
use crate::balancer::Balancing;
use crate::beacon::Holder;
use crate::clock;
use crate::config::settings::Settings;
use crate::conn::Hub;
use crate::handler::heartbeat::Heartbeats;
use crate::handler::manager::Manager;
use crate::handler::proxy::Proxy;
use crate::handler::static_file::StaticFiles;
use crate::handler::status::Status;
use crate::health::{Checker, HeartMonitor, HeartSender};
use crate::jobs::{Job, Jobs};
use crate::log::Logs;
use crate::reactor::source::Source;
use crate::reactor::{driver, spawn, timer};
use crate::request::{Handler, Room};
use crate::shm::{ChildState, ChildView, MOMENT, Scoreboard};
use crate::supervisor::ChildContext;
use crate::sys::signal::{Signal, Signals};
use crate::upstream::Upstreams;

/// Heartbeat, unasked accept, a try for the watchdog's lock.
const TICK: Duration = Duration::from_millis(250);

/// Exit status of a child that could not begin.
const BROKEN: i32 = 1;

/// What the supervisor has a forked child do. Never returns; the process ends with status 0 when
/// it was told to end.
pub fn run(context: ChildContext) -> ! {
    match Child::begin(context) {
        Ok(child) => child.live(),
        Err(e) => {
            log::error!(target: "core", "a child could not begin: {e}");
            std::process::exit(BROKEN)
        }
    }
}

struct Child {
    settings: Rc<Settings>,
    room: Rc<Room>,
    hub: Rc<Hub>,
    view: ChildView,
    logs: Rc<Logs>,
    acceptor: Rc<Acceptor>,
    upstreams: Rc<Upstreams>,
    watchdog: Watchdog,
    draining: Cell<bool>,
    /// The connections of this child are to end: it has served as many as it may.
    worn_out: Cell<bool>,
    dropped: Cell<u64>,
    farewell: Cell<Option<Box<dyn FnOnce()>>>,
    /// Its pid; `None` with `-X`.
    supervisor: Option<i32>,
}

impl Child {
    fn begin(context: ChildContext) -> io::Result<Rc<Child>> {
        driver::start()?;
        let settings = context.settings;
        let view = context.scoreboard.child(context.slot);
        let upstreams = Upstreams::new(Rc::clone(&settings));
        let balancing = Rc::new(Balancing::new(
            Rc::clone(&settings),
            Rc::clone(&context.scoreboard),
            Rc::clone(&context.assignment),
            context.slot,
        ));
        let room = Rc::new(Room::new(
            Rc::clone(&settings),
            Rc::clone(&context.scoreboard),
            context.slot,
            Rc::clone(&context.logs),
        ));
        let proxy: Box<dyn Handler> =
            Box::new(Proxy::new(Rc::clone(&upstreams), Rc::clone(&balancing)));
        let hearts = HeartMonitor::new(
            Rc::clone(&settings),
            Rc::clone(&context.scoreboard),
            Rc::clone(&context.assignment),
            context.hearts.socket,
            context.hearts.posts,
        );
        let posted: Box<dyn Handler> = Box::new(Heartbeats::new(Rc::clone(&hearts)));
        let status: Box<dyn Handler> = Box::new(Status::new(Rc::clone(&context.assignment)));
        let health = Checker::job(
            Rc::clone(&settings),
            Rc::clone(&context.scoreboard),
            Rc::clone(&context.assignment),
            Rc::clone(&upstreams),
        );
        let files: Box<dyn Handler> = Box::new(StaticFiles);
        let manager: Box<dyn Handler> = Box::new(Manager::new(Rc::clone(&balancing)));
        room.register(vec![
            ("proxy-server", proxy),
            ("default-handler", files),
            ("server-status", status),
            ("heartbeat", posted),
            ("balancer-manager", manager),
        ]);
        let hub = Rc::new(Hub::new(Rc::clone(&room), view.clone(), context.children));
        let jobs = Jobs::new(Rc::clone(&context.scoreboard));
        jobs.add(health);
        if let Some(hearts) = hearts.job() {
            jobs.add(hearts);
        }
        if let Some(sender) =
            HeartSender::job(&settings, Rc::clone(&context.scoreboard), context.children)
        {
            jobs.add(sender);
        }
        jobs.add(Rc::new(Tidy(balancing)));
        jobs.add(Rc::new(History(Rc::clone(&context.scoreboard))));
        let assignment = Rc::clone(&context.assignment);
        jobs.add(Rc::new(Holder::new(
            Rc::clone(&settings),
            Rc::clone(&context.scoreboard),
            assignment,
            context.beacons,
            context.former,
        )));
        let place = Place {
            child: context.child,
            generation: context.generation,
            scoreboard: context.scoreboard,
            nudges: context.nudges,
        };
        let of = Rc::clone(&settings);
        let listeners = context
            .listeners
            .into_iter()
            .map(move |(no, fd)| (of.listens.get(no.index()).is_some_and(|l| l.defer), fd));
        let child = Rc::new(Child {
            acceptor: Acceptor::new(Rc::clone(&hub), place, listeners),
            watchdog: Watchdog::new(context.watchdog, view.clone(), jobs),
            settings,
            room,
            hub,
            view,
            logs: context.logs,
            upstreams,
            draining: Cell::new(false),
            worn_out: Cell::new(false),
            dropped: Cell::new(0),
            farewell: Cell::new(context.farewell),
            supervisor: context.supervisor,
        });
        let signals = Source::new(context.signals.as_raw_fd())?;
        spawn(Rc::clone(&child).follow_signals(context.signals, signals));
        let life = Source::new(context.life.as_raw_fd())?;
        spawn(Rc::clone(&child).follow_life(context.life, life));
        spawn(Rc::clone(&child).follow_ticks());
        child.acceptor.start()?;
        child.view.heartbeat(clock::now());
        child.view.set_state(ChildState::Serving);
        nix::unistd::write(&context.ready, b"+")?;
        Ok(child)
    }

    fn live(&self) -> ! {
        loop {
            driver::turn();
            self.acceptor.after_turn();
            self.logs.flush();
            if self.hub.connections() == 0 && (self.draining.get() || self.worn_out.get()) {
                self.end();
            }
        }
    }

    fn end(&self) -> ! {
        if self.supervisor.is_none() {
            self.watchdog.depart();
        }
        self.view.set_state(ChildState::Ended);
        if let Some(farewell) = self.farewell.take() {
            farewell();
        }
        self.logs.flush();
        std::process::exit(0)
    }

    async fn follow_signals(self: Rc<Self>, signals: Signals, source: Source) {
        loop {
            poll_fn(|_| source.poll_read_ready()).await;
            source.clear_readable();
            while let Some(received) = signals.next() {
                match received.signal {
                    // The supervisor's word that a stop follows; a terminal's means nothing here.
                    Signal::SIGHUP => {
                        if received.sender.is_some() && received.sender == self.supervisor {
                            self.watchdog.stop_follows();
                        }
                    }
                    Signal::SIGUSR1 => self.drain(),
                    Signal::SIGUSR2 => {
                        self.drain();
                        self.hub.close_idle(usize::MAX);
                    }
                    // TERM, and INT of a terminal where this is the only process.
                    _ => {
                        // systemd tells all processes of a service at once, this one perhaps first.
                        if received.sender != self.supervisor {
                            self.watchdog.depart();
                        }
                        self.end()
                    }
                }
            }
        }
    }

    /// The life line: a byte tells of a death, its end of the supervisor's.
    async fn follow_life(self: Rc<Self>, line: OwnedFd, source: Source) {
        let mut bytes = [0; 64];
        loop {
            poll_fn(|_| source.poll_read_ready()).await;
            match nix::unistd::read(&line, &mut bytes) {
                Ok(0) => break,
                Ok(n) if n == bytes.len() => continue,
                Ok(_) => {}
                Err(nix::errno::Errno::EAGAIN) => {}
                Err(nix::errno::Errno::EINTR) => continue,
                Err(_) => break,
            }
            if source.is_closed() {
                // The writers are gone, but what they wrote last is to be read first.
                continue;
            }
            source.clear_readable();
            self.watchdog.try_hold();
            self.acceptor.look();
        }
        self.orphaned();
    }

    /// Without a supervisor this child answers what it has and ends, bounded as a graceful stop is.
    fn orphaned(self: &Rc<Self>) {
        log::warn!(target: "core", "the supervisor is gone: this child drains and ends");
        self.watchdog.depart();
        self.drain();
        let longest = self.settings.process.graceful_shutdown_timeout;
        if !longest.is_zero() {
            let me = Rc::clone(self);
            spawn(async move {
                timer::sleep(longest).await;
                me.end();
            });
        }
    }

    /// Answers what it has and what is queued, then ends. Idle connections stay until their next
    /// request, which is answered with `Connection: close`, or until their time is up: closing them
    /// now would lose requests that are on their way.
    fn drain(&self) {
        if self.draining.replace(true) {
            return;
        }
        self.room.draining.set(true);
        if self.supervisor.is_none() {
            self.watchdog.depart();
        }
        self.view.set_state(ChildState::Draining);
        self.watchdog.give_up();
        self.acceptor.end();
        self.upstreams.close_idle();
    }

    async fn follow_ticks(self: Rc<Self>) {
        let mut timer = timer::Timer::new(TICK);
        loop {
            poll_fn(|cx| timer.poll_elapsed(cx)).await;
            timer.rearm(TICK);
            self.tick();
        }
    }

    fn tick(&self) {
        self.view.heartbeat(clock::now());
        self.view.set_idle_connections(self.hub.idle_connections());
        let dropped = self.logs.dropped();
        self.view
            .add_dropped_lines(dropped.saturating_sub(self.dropped.replace(dropped)));
        if self.draining.get() {
            return;
        }
        self.watchdog.try_hold();
        self.acceptor.look();
        self.wear();
    }

    /// `MaxConnectionsPerChild`: ends this child by and by. While no other child accepts it goes
    /// on accepting until a moment without any connection.
    fn wear(&self) {
        let most = self.settings.process.max_connections_per_child;
        if most == 0 || self.acceptor.accepted() < most {
            return;
        }
        if !self.worn_out.replace(true) {
            log::debug!(target: "core", "MaxConnectionsPerChild is reached: this child ends");
        }
        if self.acceptor.has_others() {
            self.drain();
        }
    }
}

/// Balancers whose lock's owner died are put right also while nobody chooses.
struct Tidy(Rc<Balancing>);

impl Job for Tidy {
    fn name(&self) -> &'static str {
        "balancers"
    }

    fn interval(&self) -> Duration {
        TICK
    }

    fn run(&self) {
        self.0.tidy();
    }
}

/// Moves on what the manager's pictures show.
struct History(Rc<Scoreboard>);

impl Job for History {
    fn name(&self) -> &'static str {
        "members' history"
    }

    fn interval(&self) -> Duration {
        MOMENT
    }

    fn run(&self) {
        self.0.next_moment();
    }
}
