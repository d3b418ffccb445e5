//! Programs that logs are piped to: started again when they end, with pauses when they end early.

use std::time::Duration;

use super::estate::Estate;
use crate::clock::{self, Mono};
use crate::ids::{Generation, LogNo};
use crate::sys::wait::ExitCause;

/// What runs, and what is to be started again.
#[derive(Debug, Default)]
pub struct Programs {
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    generation: Generation,
    log: LogNo,
    pid: Option<i32>,
    started: Mono,
    /// Early ends in a row.
    early: u32,
    /// When to start it again, while it does not run.
    due: Mono,
}

/// One that ran this long has earned an immediate start.
const LONG: Duration = Duration::from_secs(10);

impl Programs {
    /// Takes in what a generation has started.
    pub fn watch(&mut self, estate: &Estate) {
        let now = clock::now();
        let started = estate.logs.programs();
        self.known.extend(started.into_iter().map(|p| Known {
            generation: estate.generation,
            log: p.log,
            pid: Some(p.pid),
            started: now,
            early: 0,
            due: now,
        }));
    }

    /// A process ended that is no child of any generation.
    pub fn ended(&mut self, pid: i32, cause: ExitCause, now: Mono) {
        let Some(k) = self.known.iter_mut().find(|k| k.pid == Some(pid)) else {
            return;
        };
        k.pid = None;
        k.early = if now.since(k.started) >= LONG {
            0
        } else {
            k.early + 1
        };
        k.due = match k.early {
            0 | 1 => now,
            n => now + Duration::from_secs((1 << (n - 2).min(6)).min(60)),
        };
        ::log::error!(
            target: "core",
            "AH00106: piped log program (pid {pid}) ended: {cause}; starting it again{}",
            if k.due > now { " in a while" } else { "" }
        );
    }

    /// Starts what is due.
    pub fn tend(&mut self, estates: &[Estate]) {
        let now = clock::now();
        for k in self
            .known
            .iter_mut()
            .filter(|k| k.pid.is_none() && k.due <= now)
        {
            let Some(e) = estates.iter().find(|e| e.generation == k.generation) else {
                continue;
            };
            k.started = now;
            match e.logs.restart_program(k.log) {
                Ok(program) => k.pid = Some(program.pid),
                Err(error) => {
                    k.early += 1;
                    k.due = now + Duration::from_secs((1 << k.early.min(6)).min(60));
                    ::log::error!(target: "core", "AH00105: unable to start piped log program {error}");
                }
            }
        }
    }

    /// When `tend` is due.
    pub fn deadline(&self, now: Mono) -> Option<Mono> {
        let stopped = self.known.iter().filter(|k| k.pid.is_none());
        stopped.map(|k| k.due).filter(|t| *t > now).min()
    }

    /// A generation is gone.
    pub fn forget(&mut self, generation: Generation) {
        self.known.retain(|k| k.generation != generation);
    }
}
