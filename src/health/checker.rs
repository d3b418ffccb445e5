//! The watchdog's job that checks members.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use super::answer::{Answer, is_good};
use super::judge::{Counts, Rules, judge};
use super::looks::Looks;
use super::pace::{self, Pace};
use super::probe::{LEAST, Outcome, probe};
use super::target::{self, Target};
use crate::clock::{self, Mono};
use crate::config::health::{HealthMethod, find_expression};
use crate::config::settings::Settings;
use crate::expr::Expression;
use crate::jobs::Job;
use crate::reactor::spawn;
use crate::shm::{Assignment, HealthState, HealthStep, Scoreboard, WorkerRow, status};
use crate::upstream::Upstreams;

/// How often the table is looked at when nothing is due: changes by hand are seen within it.
const TICK: Duration = Duration::from_millis(100);

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(5);

/// A check that has taken so long does not count against ProxyHCTPsize any more: members that hang
/// must not keep the others from being checked.
const SLOW: Duration = Duration::from_secs(3);

/// An expression that looks at files has at least so long, however late the answer came.
const BRIEFLY: Duration = Duration::from_millis(100);

/// Members added at run time are looked for this often.
const GROWN_EVERY: Duration = Duration::from_millis(500);

/// What came of a check; `Err`: why it was bad.
type Verdict = Result<(), String>;

/// Checks the members of all balancers.
pub struct Checker {
    settings: Rc<Settings>,
    board: Rc<Scoreboard>,
    rows: Rc<Assignment>,
    upstreams: Rc<Upstreams>,
    configured: Vec<Rc<Target>>,
    grown: RefCell<(Mono, Vec<Rc<Target>>)>,
    pid: u32,
    /// This child is the watchdog.
    held: Cell<bool>,
    /// Which time as watchdog it is: checks of an earlier one come to nothing.
    turn: Cell<u32>,
    /// Checks that run, with their beginning.
    running: RefCell<HashMap<WorkerRow, Mono>>,
    looks: Rc<Looks>,
    pace: RefCell<Pace>,
    last_look: Cell<Mono>,
    next: Cell<Duration>,
}

impl Checker {
    /// For a child; nothing happens before it is the watchdog.
    pub fn job(
        settings: Rc<Settings>,
        board: Rc<Scoreboard>,
        rows: Rc<Assignment>,
        upstreams: Rc<Upstreams>,
    ) -> Rc<CheckerJob> {
        let checker = Checker {
            configured: target::configured(&settings, &rows),
            grown: RefCell::default(),
            pid: std::process::id(),
            held: Cell::new(false),
            turn: Cell::new(0),
            running: RefCell::default(),
            looks: Rc::default(),
            pace: RefCell::default(),
            last_look: Cell::new(Mono(0)),
            next: Cell::new(TICK),
            settings,
            board,
            rows,
            upstreams,
        };
        Rc::new(CheckerJob(Rc::new(checker)))
    }

    fn targets(&self, now: Mono) -> Vec<Rc<Target>> {
        let mut grown = self.grown.borrow_mut();
        if grown.0 == Mono(0) || now.since(grown.0) >= GROWN_EVERY {
            *grown = (now, target::grown(&self.settings, &self.rows, &self.board));
        }
        let all = self.configured.iter().chain(&grown.1);
        all.cloned().collect()
    }

    /// Starts what is due and says when to look again.
    fn look(self: &Rc<Self>) {
        let now = clock::read_mono();
        let since = now.since(self.last_look.replace(now));
        let mut due = Vec::new();
        let mut intervals = Vec::new();
        let mut next = TICK;
        for target in self.targets(now) {
            let Some(state) = self.board.health(target.row) else {
                continue;
            };
            let checked = state.method != HealthMethod::None && state.status & status::STOPPED == 0;
            let same = target.grown.is_none_or(|taken| taken == state.taken);
            if !checked || !same {
                continue;
            }
            intervals.push(state.interval);
            if self.running.borrow().contains_key(&target.row) {
                continue;
            }
            let at = state.ended + state.interval;
            if at <= now {
                due.push((at, target, state));
            } else {
                next = next.min(at.since(now));
            }
        }
        // Who waits longest comes first.
        due.sort_by_key(|(at, ..)| *at);
        let gap = pace::gap(intervals.into_iter());
        let mut due = due.into_iter().peekable();
        while due.peek().is_some()
            && self.has_room(now)
            && self.pace.borrow_mut().allows(now, since, gap)
        {
            if let Some((_, target, state)) = due.next() {
                self.start(target, state, now);
            }
        }
        if due.peek().is_some() {
            next = next.min(gap);
        }
        self.next.set(next.max(SHORTEST));
    }

    fn has_room(&self, now: Mono) -> bool {
        let running = self.running.borrow();
        let counted = running.values().filter(|t| now.since(**t) < SLOW).count();
        counted < self.settings.process.health_checks_at_once as usize
    }

    fn start(self: &Rc<Self>, target: Rc<Target>, state: HealthState, now: Mono) {
        self.board.health_begins(target.row, now, self.pid);
        self.running.borrow_mut().insert(target.row, now);
        spawn(Rc::clone(self).check(target, state, now, self.turn.get()));
    }

    async fn check(self: Rc<Self>, target: Rc<Target>, state: HealthState, began: Mono, turn: u32) {
        log::debug!(target: "proxy_hcheck", "Health checking {}", target.name);
        let texts = self.board.health_texts(target.row);
        let outcome = probe(
            &self.upstreams,
            &self.settings,
            &target,
            state.method,
            &texts.uri,
        )
        .await;
        let longest = target.connect + target.timeout.max(LEAST);
        // Before the look at who is the watchdog: it may take a moment.
        let (outcome, good) = match outcome {
            Outcome::Answered(answer) => {
                // What is left of the check's time.
                let left = longest.saturating_sub(clock::read_mono().since(began));
                let left = left.max(BRIEFLY);
                match self
                    .judge_answer(&target, &texts.expression, answer, left)
                    .await
                {
                    Ok(good) => (Outcome::Connected, good),
                    Err(hung) => (Outcome::Failed(hung), Ok(())),
                }
            }
            other => (other, Ok(())),
        };
        if !self.held.get() || self.turn.get() != turn {
            // Another child is the watchdog now and has begun anew.
            return;
        }
        self.running.borrow_mut().remove(&target.row);
        let now = clock::read_mono();
        let Some(current) = self.board.health(target.row) else {
            return;
        };
        let stopped = now.since(began) > longest + Duration::from_secs(1);
        let good = match outcome {
            // The row is another member's, or it is not to be checked any more.
            _ if current.taken != state.taken || current.method == HealthMethod::None => None,
            Outcome::Failed(reason) if stopped => {
                // This process did not run meanwhile: its own pause is no fault of the member.
                log::debug!(target: "proxy_hcheck", "Health check of {} is not counted: {reason}, but this process was stopped", target.name);
                None
            }
            Outcome::Unable(reason) => {
                log::warn!(target: "proxy_hcheck", "Health check of {} could not be made: {reason}", target.name);
                None
            }
            Outcome::Failed(reason) => {
                log::debug!(target: "proxy_hcheck", "Health check of {} failed: {reason}", target.name);
                Some(Err(reason))
            }
            Outcome::Connected | Outcome::Answered(_) => Some(good),
        };
        match good {
            None => self.board.health_abandoned(target.row, now),
            Some(verdict) => self.conclude(&target, &current, &verdict, now),
        }
    }

    /// `Err`: the expression had no value `within` this time.
    async fn judge_answer(
        &self,
        target: &Target,
        expression: &str,
        answer: Answer,
        within: Duration,
    ) -> Result<Verdict, String> {
        let status = answer.head.status;
        log::debug!(
            target: "proxy_hcheck",
            "Health check of {}: {} {}",
            target.name,
            answer.head.status,
            String::from_utf8_lossy(&answer.head.reason).escape_default()
        );
        let good = match self.expression(target, expression) {
            Some(e) if e.looks_at_files() => {
                let look = e.clone();
                let look = move || is_good(&answer, Some(&look));
                let found = self.looks.look(e.text(), within, look).await;
                found.map_err(|why| format!("condition {expression}: {why}"))?
            }
            e => is_good(&answer, e),
        };
        match &good {
            Ok(good) if !expression.is_empty() => log::trace!(
                target: "proxy_hcheck",
                "Condition {expression} for {}: {}",
                target.name,
                if *good { "passed" } else { "failed" }
            ),
            Ok(_) => {}
            Err(e) => log::info!(
                target: "proxy_hcheck",
                "Condition {expression} for {} has no value, which counts as failed: {e}",
                target.name
            ),
        }
        Ok(match good {
            Ok(true) => Ok(()),
            _ if expression.is_empty() => Err(format!("status {status}")),
            _ => Err(format!("condition {expression} with status {status}")),
        })
    }

    /// The named expression; without it the plain status rule holds.
    fn expression(&self, target: &Target, name: &str) -> Option<&Expression> {
        if name.is_empty() {
            return None;
        }
        let all = &self.settings.server(target.server).proxy.health_expressions;
        find_expression(all.iter(), name).map(|e| &e.expression)
    }

    fn conclude(&self, target: &Target, state: &HealthState, verdict: &Verdict, now: Mono) {
        let good = verdict.is_ok();
        log::debug!(
            target: "proxy_hcheck",
            "Health check {} Status ({}) for {}.",
            state.method.name(),
            i32::from(!good),
            target.name
        );
        let down = state.status & (status::HEALTH_FAILED | status::ERROR) != 0;
        let counts = Counts {
            passed: state.passed,
            failed: state.failed,
        };
        let rules = Rules {
            passes: state.passes,
            fails: state.fails,
        };
        let (counts, step) = judge(down, good, counts, rules);
        let counts = (counts.passed, counts.failed);
        self.board.health_ended(target.row, now, good, counts, step);
        match (step, verdict) {
            (HealthStep::Stay, _) => {}
            (HealthStep::Disable, Err(why)) => {
                log::info!(target: "proxy_hcheck", "Health check DISABLING {} of {}: {why}", target.name, target.balancer);
            }
            (HealthStep::Enable | HealthStep::Disable, _) => {
                log::info!(target: "proxy_hcheck", "Health check ENABLING {} of {}", target.name, target.balancer);
            }
        }
    }
}

/// [`Checker`] as a job.
pub struct CheckerJob(Rc<Checker>);

impl Job for CheckerJob {
    fn name(&self) -> &'static str {
        "health checks"
    }

    fn interval(&self) -> Duration {
        self.0.next.get()
    }

    fn begin(&self) {
        let me = &self.0;
        me.held.set(true);
        me.turn.set(me.turn.get().wrapping_add(1));
        me.running.borrow_mut().clear();
        let now = clock::read_mono();
        me.last_look.set(now);
        for target in me.targets(now) {
            // A watchdog that died left a check without an end: it is due again now.
            if let Some(state) = me.board.health(target.row)
                && state.owner != 0
            {
                me.board.health_forgotten(target.row);
            }
        }
    }

    fn run(&self) {
        self.0.look();
    }

    fn end(&self) {
        self.0.held.set(false);
        // What runs is given up: the next watchdog makes it anew.
        for row in self.0.running.borrow_mut().drain().map(|(row, _)| row) {
            self.0.board.health_forgotten(row);
        }
    }
}
