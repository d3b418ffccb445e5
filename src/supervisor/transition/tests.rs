//! The supervisor's rules in a simulated world.

use super::*;
use crate::ids::Generation;

/// Carries actions out in a world where forks work (or don't) and children do as they are told.
struct World {
    state: State,
    now: Mono,
    next_pid: i32,
    next_generation: u32,
    children: u16,
    grace: Duration,
    config_ok: bool,
    forks_ok: bool,
    obedient: bool,
    forks: Vec<Mono>,
    loads: Vec<Mono>,
    sent: Vec<(i32, Signal)>,
    said: Vec<String>,
    served: Vec<Generation>,
    not_reloaded: u32,
    let_go: bool,
    exit: Option<i32>,
}

impl World {
    fn new(children: u16) -> World {
        let mut w = World {
            state: State::new(false),
            now: Mono(1_000_000_000),
            next_pid: 100,
            next_generation: 0,
            children,
            grace: Duration::ZERO,
            config_ok: true,
            forks_ok: true,
            obedient: true,
            forks: Vec::new(),
            loads: Vec::new(),
            sent: Vec::new(),
            said: Vec::new(),
            served: Vec::new(),
            not_reloaded: 0,
            let_go: false,
            exit: None,
        };
        let loaded = w.load();
        w.event(loaded);
        w
    }

    fn load(&mut self) -> Event {
        self.loads.push(self.now);
        if !self.config_ok {
            return Event::Refused;
        }
        self.next_generation += 1;
        Event::Loaded {
            generation: Generation(self.next_generation - 1),
            children: self.children,
            grace: self.grace,
        }
    }

    fn event(&mut self, event: Event) {
        let mut queue = std::collections::VecDeque::from([event]);
        while let Some(event) = queue.pop_front() {
            let (state, actions) = transition(self.state.clone(), event, self.now);
            self.state = state;
            for action in actions {
                queue.extend(self.act(action));
            }
        }
    }

    fn act(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Load(_) => return Some(self.load()),
            Action::Fork(generation, child) => {
                self.forks.push(self.now);
                if !self.forks_ok {
                    return Some(Event::NotForked { generation, child });
                }
                self.next_pid += 1;
                return Some(Event::Forked {
                    generation,
                    child,
                    pid: self.next_pid,
                    slot: SlotNo(self.next_pid as u16),
                });
            }
            Action::Signal(pid, signal) => {
                assert!(self.state.knows(pid), "{pid} is no child");
                self.sent.push((pid, signal));
                let ends = match signal {
                    Signal::SIGKILL => Some(ExitCause::Signal {
                        signal,
                        dumped: false,
                    }),
                    Signal::SIGTERM if self.obedient => Some(ExitCause::Status(0)),
                    _ => None,
                };
                return ends.map(|cause| Event::Exited(pid, cause));
            }
            Action::Say(_, text) => self.said.push(text),
            Action::Serving(no) => self.served.push(no),
            Action::NotReloaded => self.not_reloaded += 1,
            Action::LetGo => self.let_go = true,
            Action::Exit(code) => self.exit = Some(code),
            Action::Release(..) | Action::Nudge | Action::Forget(_) => {}
        }
        None
    }

    /// Lets time pass, with a tick at each deadline.
    fn pass(&mut self, d: Duration) {
        let end = self.now + d;
        let mut turns = 0;
        while let Some(t) = deadline(&self.state, self.now).filter(|t| *t <= end) {
            self.now = t;
            self.event(Event::Tick);
            turns += 1;
            assert!(turns < 1000, "the loop spins");
        }
        self.now = end;
        self.event(Event::Tick);
    }

    fn all_ready(&mut self) {
        let waiting: Vec<i32> = self
            .state
            .families
            .iter()
            .flat_map(|f| f.children.iter().filter(|c| !c.ready).filter_map(|c| c.pid))
            .collect();
        for pid in waiting {
            self.event(Event::Ready(pid));
        }
    }

    fn pids(&self, generation: u32) -> Vec<i32> {
        let family = |f: &&Family| f.no == Generation(generation);
        self.state
            .families
            .iter()
            .find(family)
            .map_or_else(Vec::new, |f| f.pids().collect())
    }

    fn kill(&mut self, pid: i32) {
        let signal = Signal::SIGKILL;
        let dumped = false;
        self.event(Event::Exited(pid, ExitCause::Signal { signal, dumped }));
    }

    fn told(&self, pid: i32, signal: Signal) -> bool {
        self.sent.contains(&(pid, signal))
    }

    fn serving(children: u16) -> World {
        let mut w = World::new(children);
        w.all_ready();
        assert_eq!(w.served, [Generation(0)]);
        w
    }
}

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_killed_child_is_replaced_at_once() {
    let mut w = World::serving(2);
    let victim = w.pids(0)[0];
    w.kill(victim);
    assert_eq!(w.pids(0).len(), 2);
    assert!(!w.state.knows(victim));
    assert_eq!(w.said.len(), 1);
}

#[test]
fn fifty_deaths_at_once_give_fifty_children() {
    let mut w = World::serving(50);
    for pid in w.pids(0) {
        w.kill(pid);
    }
    assert_eq!(w.pids(0).len(), 50);
}

#[test]
fn children_that_die_at_their_start_are_not_forked_in_a_storm() {
    let mut w = World::new(2);
    let end = w.now + 10 * SECOND;
    while w.now < end {
        for pid in w.pids(0) {
            w.event(Event::Exited(pid, ExitCause::Status(1)));
        }
        w.pass(100 * MS);
    }
    assert!(w.forks.len() < 10, "{} forks", w.forks.len());
    assert_eq!(w.exit, None);
    w.all_ready();
    w.pass(61 * SECOND);
    w.all_ready();
    w.pass(SECOND);
    assert_eq!(w.pids(0).len(), 2, "goes on when it works again");
}

#[test]
fn failed_forks_are_repeated_with_pauses() {
    let mut w = World::serving(2);
    w.forks_ok = false;
    let before = w.forks.len();
    let pid = w.pids(0)[0];
    w.kill(pid);
    w.pass(10 * SECOND);
    assert!(w.forks.len() - before <= 5);
    w.forks_ok = true;
    w.pass(10 * SECOND);
    assert_eq!(w.pids(0).len(), 2);
}

#[test]
fn someone_who_waits_for_a_start_is_told_of_its_failure() {
    let mut w = World::new(1);
    w.state.impatient = true;
    let pid = w.pids(0)[0];
    w.event(Event::Exited(pid, ExitCause::Status(1)));
    assert_eq!(w.exit, Some(1));
}

#[test]
fn the_old_generation_drains_once_all_of_the_new_one_serve() {
    let mut w = World::serving(2);
    let old = w.pids(0);
    w.event(Event::Asked(Ask::Graceful));
    let new = w.pids(1);
    w.event(Event::Ready(new[0]));
    assert!(!w.told(old[0], Signal::SIGUSR1));
    w.event(Event::Ready(new[1]));
    assert!(old.iter().all(|p| w.told(*p, Signal::SIGUSR1)));
    assert!(!w.told(old[0], Signal::SIGHUP), "it is not the end");
    assert_eq!(w.served, [Generation(0), Generation(1)]);
    for pid in old {
        w.event(Event::Exited(pid, ExitCause::Status(0)));
    }
    assert_eq!(w.state.families.len(), 1);
}

#[test]
fn a_draining_child_that_dies_is_not_replaced() {
    let mut w = World::serving(2);
    let old = w.pids(0);
    w.event(Event::Asked(Ask::Graceful));
    w.all_ready();
    w.kill(old[0]);
    assert_eq!(w.pids(0), [old[1]]);
}

#[test]
fn a_bad_configuration_changes_nothing() {
    let mut w = World::serving(2);
    let before = w.pids(0);
    w.config_ok = false;
    w.event(Event::Asked(Ask::Graceful));
    w.pass(60 * SECOND);
    assert_eq!(w.pids(0), before);
    assert_eq!((w.not_reloaded, w.loads.len()), (1, 2));
    assert!(w.sent.is_empty());
}

#[test]
fn a_generation_that_cannot_start_is_given_up() {
    let mut w = World::serving(2);
    let before = w.pids(0);
    w.event(Event::Asked(Ask::Graceful));
    for _ in 0..100 {
        for pid in w.pids(1) {
            w.event(Event::Exited(pid, ExitCause::Status(1)));
        }
        w.pass(100 * MS);
    }
    assert_eq!(w.pids(0), before);
    assert_eq!(w.state.families.len(), 1);
    assert_eq!(w.not_reloaded, 1);
    assert!(w.forks.len() < 10);
}

#[test]
fn a_generation_that_hangs_at_its_start_is_given_up() {
    let mut w = World::serving(1);
    w.event(Event::Asked(Ask::Graceful));
    w.pass(START_LIMIT);
    assert_eq!(w.state.families.len(), 1);
    assert_eq!(w.not_reloaded, 1);
}

#[test]
fn a_storm_of_reloads_becomes_two() {
    let mut w = World::serving(1);
    for _ in 0..50 {
        w.event(Event::Asked(Ask::Graceful));
        w.pass(20 * MS);
        w.all_ready();
    }
    for _ in 0..50 {
        w.pass(100 * MS);
        w.all_ready();
    }
    assert_eq!(w.served.len(), 3, "the first start and two more");
}

#[test]
fn reloads_some_time_apart_all_happen() {
    let mut w = World::serving(1);
    for n in 0..20 {
        w.event(Event::Asked(Ask::Graceful));
        w.all_ready();
        w.pass(300 * MS);
        for pid in w.pids(n) {
            w.event(Event::Exited(pid, ExitCause::Status(0)));
        }
    }
    assert_eq!(w.served.len(), 21);
}

#[test]
fn a_restart_cuts_the_old_generation() {
    let mut w = World::serving(2);
    let old = w.pids(0);
    w.event(Event::Asked(Ask::Restart));
    w.all_ready();
    assert!(old.iter().all(|p| w.told(*p, Signal::SIGTERM)));
    assert!(!w.told(old[0], Signal::SIGHUP), "it is not the end");
    assert_eq!(w.state.families.len(), 1);
}

#[test]
fn a_restart_during_a_reload_follows_it() {
    let mut w = World::serving(1);
    w.event(Event::Asked(Ask::Graceful));
    w.event(Event::Asked(Ask::Graceful));
    w.event(Event::Asked(Ask::Restart));
    w.all_ready();
    w.pass(SECOND);
    w.all_ready();
    assert_eq!(w.served.len(), 3);
    assert_eq!(w.state.families.len(), 1, "HUP cut the others");
}

#[test]
fn stop_wins_and_kills_those_that_stay() {
    let mut w = World::serving(2);
    let old = w.pids(0);
    w.event(Event::Asked(Ask::Graceful));
    w.obedient = false;
    w.event(Event::Asked(Ask::Stop));
    w.event(Event::Asked(Ask::Graceful));
    assert!(old.iter().all(|p| w.told(*p, Signal::SIGTERM)));
    assert_eq!(w.sent[0].1, Signal::SIGHUP, "first that it is the end");
    assert_eq!(w.exit, None);
    w.pass(KILL_AFTER);
    assert_eq!(w.exit, Some(0));
    assert!(w.told(old[0], Signal::SIGKILL));
}

#[test]
fn a_graceful_stop_lets_go_at_once_and_waits() {
    let mut w = World::serving(2);
    let pids = w.pids(0);
    w.event(Event::Asked(Ask::GracefulStop));
    assert!(w.let_go);
    assert!(w.told(pids[0], Signal::SIGUSR1));
    assert_eq!(w.sent[0].1, Signal::SIGHUP, "first that it is the end");
    w.pass(600 * SECOND);
    assert_eq!(w.exit, None);
    w.kill(pids[0]);
    w.kill(pids[1]);
    assert_eq!(w.exit, Some(0));
}

#[test]
fn a_graceful_stop_ends_at_its_timeout_or_by_a_stop() {
    for stop in [false, true] {
        let mut w = World::new(1);
        w.state.families[0].grace = 5 * SECOND;
        w.all_ready();
        w.event(Event::Asked(Ask::GracefulStop));
        w.pass(4 * SECOND);
        assert_eq!(w.exit, None);
        if stop {
            w.event(Event::Asked(Ask::Stop));
        } else {
            w.pass(SECOND);
        }
        assert_eq!(w.exit, Some(0));
    }
}

#[test]
fn a_fourth_generation_makes_the_oldest_close_idle_connections() {
    let mut w = World::serving(1);
    let oldest = w.pids(0)[0];
    for _ in 0..3 {
        w.pass(SECOND);
        w.event(Event::Asked(Ask::Graceful));
        w.all_ready();
    }
    assert!(!w.told(oldest, Signal::SIGUSR2));
    w.pass(IDLE_AFTER);
    assert!(w.told(oldest, Signal::SIGUSR2));
    // A fifth waits for room, and goes on when there is some.
    w.event(Event::Asked(Ask::Graceful));
    assert_eq!(w.loads.len(), 4);
    w.event(Event::Exited(oldest, ExitCause::Status(0)));
    assert_eq!(w.loads.len(), 5);
    w.all_ready();
    // The sixth is refused in the end, since the others stay.
    w.event(Event::Asked(Ask::Graceful));
    w.pass(ROOM_LIMIT + SECOND);
    assert_eq!((w.loads.len(), w.not_reloaded), (5, 1));
    assert_eq!(w.state.families.len(), 4);
}
