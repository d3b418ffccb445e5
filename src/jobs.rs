//! Periodic jobs of the watchdog: what one child of the instance does for all.
//!
//! `child` registers them before it serves and tells when it has got or given up the watchdog's
//! lock. They run one after the other on the child's loop, each once its time has come; the
//! scoreboard shows when that will be. A job is counted from the end of its last run by the
//! monotonic clock, so a process that was stopped for a minute makes one run afterwards, not sixty.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::clock::{self, Mono};
use crate::reactor::{spawn, task, timer};
use crate::shm::Scoreboard;

/// Something that is done again and again, in one child only.
pub trait Job {
    /// For logs and the scoreboard; at most 31 bytes.
    fn name(&self) -> &'static str;

    /// Time from the end of a run to the beginning of the next; asked after each run.
    fn interval(&self) -> Duration;

    /// This child is the watchdog from now on; `run` follows at once.
    fn begin(&self) {}

    /// One run. It shares the loop with requests: a millisecond at most; what takes longer is
    /// spawned as a task.
    fn run(&self);

    /// The whole instance ends: a last word, without waiting for anything. This child has the lock,
    /// though `begin` may not have been called, or it had it and no other child is known to say it.
    fn depart(&self) {}

    /// This child will never be the watchdog again: gives back what it owns. True when it may still
    /// have a last word (`depart`), then it is kept for that.
    fn close(&self) -> bool {
        false
    }

    /// This child is the watchdog no longer: tasks that `begin` or `run` started must end.
    fn end(&self) {}
}

/// The jobs of one child.
pub struct Jobs {
    board: Rc<Scoreboard>,
    jobs: RefCell<Vec<Rc<dyn Job>>>,
    held: Cell<bool>,
    /// Told apart: the runner of an earlier time as watchdog, which may still sleep.
    turn: Cell<u32>,
}

/// The longest sleep of the runner; a job's interval may have become shorter meanwhile.
const LONGEST: Duration = Duration::from_secs(1);

/// Sleeps are multiples of this, so that there are few different ones (see `reactor::timer`).
const GRAIN: Duration = Duration::from_millis(5);

/// A run that took longer is told of.
const SLOW: Duration = Duration::from_millis(50);

impl Jobs {
    /// None yet.
    pub fn new(board: Rc<Scoreboard>) -> Rc<Jobs> {
        Rc::new(Jobs {
            board,
            jobs: RefCell::new(Vec::new()),
            held: Cell::new(false),
            turn: Cell::new(0),
        })
    }

    /// One more; before the child tries for the lock. Only the first 24 are shown in the scoreboard.
    pub fn add(&self, job: Rc<dyn Job>) {
        self.jobs.borrow_mut().push(job);
    }

    /// This child has the lock: all jobs begin.
    pub fn begin(self: &Rc<Self>) {
        if self.held.replace(true) {
            return;
        }
        self.turn.set(self.turn.get().wrapping_add(1));
        self.board.clear_jobs();
        let jobs = self.jobs.borrow().clone();
        for job in &jobs {
            job.begin();
        }
        spawn(Rc::clone(self).follow(jobs, self.turn.get()));
    }

    /// The instance ends: a last word of each, in the child that has the lock.
    pub fn depart(&self) {
        if self.held.get() {
            self.last_word();
        }
    }

    /// As [`Jobs::depart`], in a child for which it does not matter whether they have begun.
    pub fn last_word(&self) {
        for job in &*self.jobs.borrow() {
            job.depart();
        }
    }

    /// It has not any more: they end.
    pub fn end(&self) {
        if !self.held.replace(false) {
            return;
        }
        for job in &*self.jobs.borrow() {
            job.end();
        }
        self.board.clear_jobs();
    }

    /// This child will never have it again: what jobs own is given back, so that sockets which only
    /// the watchdog reads are not kept open by those that drain.
    pub fn close(&self) {
        self.end();
        self.jobs.borrow_mut().retain(|job| job.close());
    }

    async fn follow(self: Rc<Self>, jobs: Vec<Rc<dyn Job>>, turn: u32) {
        let mut dues = vec![clock::now(); jobs.len()];
        loop {
            for (index, (job, due)) in jobs.iter().zip(&mut dues).enumerate() {
                if *due > clock::now() {
                    continue;
                }
                if !self.held.get() || self.turn.get() != turn {
                    return;
                }
                *due = self.run(index, &**job);
                task::yield_now().await;
            }
            if !self.held.get() || self.turn.get() != turn {
                return;
            }
            let next = dues.iter().min().copied();
            let rest = next.map_or(LONGEST, |d| d.since(clock::now()).min(LONGEST));
            timer::sleep(in_grains(rest)).await;
        }
    }

    /// Gives the time of the next run.
    fn run(&self, index: usize, job: &dyn Job) -> Mono {
        let began = clock::read_mono();
        job.run();
        let ended = clock::read_mono();
        let took = ended.since(began);
        if took > SLOW {
            log::info!(target: "watchdog", "the job {} took {took:?}", job.name());
        }
        let interval = job.interval();
        let due = ended + interval;
        self.board
            .show_job(index, job.name(), interval, (began, took), due);
        due
    }
}

fn in_grains(rest: Duration) -> Duration {
    let grain = GRAIN.as_nanos();
    let grains = rest.as_nanos().div_ceil(grain).max(1);
    GRAIN * u32::try_from(grains).unwrap_or(1)
}
