//! From the fork to the child's own loop: lets go of all that is not its own.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::context::ChildContext;
use super::daemon;
use super::estate::Estate;
use super::keeping;
use super::run::Supervisor;
use super::{beacons, hearts};
use crate::ids::{ChildNo, Generation, ListenNo, SlotNo};
use crate::log::{self, Role};
use crate::sys::filelock::FileLock;
use crate::sys::fork;
use crate::sys::privilege::{self, Choice};
use crate::sys::signal::{Signal, Signals};

/// Who a new process is.
pub struct Birth {
    /// Of which generation.
    pub generation: Generation,
    /// Its number.
    pub no: ChildNo,
    /// Its row.
    pub slot: SlotNo,
    /// Where to report.
    pub ready: OwnedFd,
    /// The supervisor's process; `None` with `-X`, where there is none.
    pub supervisor: Option<i32>,
}

/// Exit status of a child that could not even begin.
const BROKEN: i32 = 1;

/// The life of a child: never returns.
pub fn live(supervisor: Supervisor, birth: Birth) -> ! {
    let entry = supervisor.entry;
    match prepare(supervisor, birth) {
        Ok(context) => entry(context),
        Err(e) => {
            ::log::error!(target: "core", "a child could not begin: {e}");
            std::process::exit(BROKEN)
        }
    }
}

fn prepare(supervisor: Supervisor, birth: Birth) -> io::Result<ChildContext> {
    let single = birth.supervisor.is_none();
    let wanted: &[Signal] = if single { &SINGLE } else { &WANTED };
    let ignored: &[Signal] = if single { &[] } else { &IGNORED };
    let signals = Signals::take(wanted, ignored)?;
    // Everything of the supervisor that is not taken out here is closed: other generations'
    // sockets, logs and life lines, the pipes of other children, the front process, the pid file
    // (whose lock stays with the supervisor: a fork does not inherit it).
    let Supervisor {
        estates,
        table_path,
        ..
    } = supervisor;
    let older = estates.iter().filter(|e| e.generation < birth.generation);
    let boards: Vec<_> = older.map(|e| e.board.clone()).collect();
    let estate = estates
        .into_iter()
        .find(|e| e.generation == birth.generation)
        .ok_or_else(|| io::Error::other("its generation is gone"))?;
    let Estate {
        settings,
        children,
        identity,
        sockets,
        beacons,
        hearts,
        logs,
        board,
        assignment,
        nudges,
        life,
        lifeline,
        ..
    } = estate;
    let mut former = boards;
    former.retain(|b| !Rc::ptr_eq(b, &board));
    if single {
        // Without a supervisor the life line never ends.
        std::mem::forget(lifeline);
    } else {
        drop(lifeline);
        logs.after_fork();
        log::install(&logs, &settings, Role::Child);
        fork::set_title(&format!("muster {}.{}", birth.generation, birth.no));
        daemon::keep_errors(&settings);
    }
    if let Some(dir) = &settings.process.core_dump_directory {
        std::env::set_current_dir(dir)?;
    }
    // By this process, since a description that is inherited shares its lock; and before the change
    // of user, since the run-time directory is the supervisor's.
    let watchdog = FileLock::open(&watchdog_path(&settings.process.scoreboard_file))?;
    let farewell = if single {
        let (settings, board, rows) = (settings.clone(), board.clone(), assignment.clone());
        keeping::farewell(settings, board, rows, &table_path)
    } else {
        None
    };
    if let Choice::Become { identity, .. } = &identity {
        privilege::become_identity(identity)?;
        if settings.process.core_dump_directory.is_some() {
            // A change of user switches core dumps off.
            fork::allow_core_dumps()?;
        }
    }
    if let Some(supervisor) = birth.supervisor {
        // After the change of user, which clears it.
        fork::set_death_signal(Signal::SIGUSR1)?;
        if fork::parent() != supervisor {
            return Err(io::Error::other("the supervisor is gone"));
        }
    }
    Ok(ChildContext {
        settings,
        scoreboard: board,
        assignment,
        slot: birth.slot,
        child: birth.no,
        children: if single { 1 } else { children },
        generation: birth.generation,
        listeners: own(sockets)?,
        beacons: beacons::own(beacons)?,
        hearts: hearts::own(hearts)?,
        former,
        nudges,
        watchdog,
        logs,
        life,
        ready: birth.ready,
        signals,
        supervisor: birth.supervisor,
        farewell,
    })
}

/// The file whose lock makes a child the watchdog, beside the table.
pub(super) fn watchdog_path(table: &Path) -> PathBuf {
    let mut name = table.as_os_str().to_owned();
    name.push(".watchdog");
    name.into()
}

/// The sockets as this process's own descriptors.
fn own(sockets: super::listeners::Sockets) -> io::Result<Vec<(ListenNo, OwnedFd)>> {
    sockets
        .into_iter()
        .map(|(no, bound)| match Rc::try_unwrap(bound) {
            Ok(b) => Ok((no, b.fd)),
            // Two `Listen`s never share a socket, but copying is right whoever shares it.
            Err(shared) => Ok((no, shared.fd.try_clone()?)),
        })
        .collect()
}

const WANTED: [Signal; 4] = [
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTERM,
];
const IGNORED: [Signal; 2] = [Signal::SIGINT, Signal::SIGWINCH];
/// With `-X` the one process is what the terminal and `-k` talk to.
const SINGLE: [Signal; 4] = [
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTERM,
    Signal::SIGINT,
];
