//! What one generation owns: its settings, sockets, logs, table rows and life line.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::beacons::{self, Beacons};
use super::error::{ALLOW_WRITABLE, StartError};
use super::hearts::{self, Hearts};
use super::keeping;
use super::listeners::{self, Place, Sockets};
use crate::clock;
use crate::config::settings::Settings;
use crate::ids::Generation;
use crate::log::Logs;
use crate::shm::marks::{self, Marks};
use crate::shm::{Assignment, Scoreboard, ShmError, saved};
use crate::sys::fork;
use crate::sys::nudge::Nudge;
use crate::sys::privilege::{self, Choice};

/// Everything that the children of one generation are forked with.
pub struct Estate {
    /// Which.
    pub generation: Generation,
    /// Its configuration.
    pub settings: Rc<Settings>,
    /// How many children it has.
    pub children: u16,
    /// Whom they run as.
    pub identity: Choice,
    /// Its sockets; emptied once a newer generation serves.
    pub sockets: Sockets,
    /// Where it was bound, for those who come after.
    pub places: Vec<Place>,
    /// Sockets for announcements, by receiver; `None`: could not be bound, the watchdog's holder
    /// tries again. Emptied as `sockets` is.
    pub beacons: Beacons,
    /// What heartbeats come through.
    pub hearts: Hearts,
    /// Its logs.
    pub logs: Rc<Logs>,
    /// The table that its children have mapped.
    pub board: Rc<Scoreboard>,
    /// Its rows.
    pub assignment: Rc<Assignment>,
    /// What was worth telling of the state that BalancerPersist kept: whether it is a warning, text.
    pub restored: Vec<(bool, String)>,
    /// The same, for the notice level.
    pub noticed: Option<String>,
    /// Replay marks that an earlier instance left, also those of receivers that are not configured
    /// now.
    pub left: Marks,
    /// The same of the replay marks that were read.
    pub remembered: Vec<(bool, String)>,
    /// One for each child, so that one can ask another to accept.
    pub nudges: Rc<[Nudge]>,
    /// The children's end of the life line.
    pub life: OwnedFd,
    /// Ours: while it is open the supervisor lives.
    pub lifeline: OwnedFd,
}

/// What is there already when a generation is prepared.
pub struct Before<'a> {
    /// The generation that serves, if any.
    pub serving: Option<&'a Estate>,
    /// Places that older generations may still hold.
    pub places: Vec<Place>,
    /// How long to wait for addresses that a dead supervisor's children are about to free.
    pub patience: Duration,
    /// What is known of announcements.
    pub marks: Marks,
    /// Where the table is.
    pub table: &'a Path,
    /// What is known of balancers is dropped (HUP), but for what BalancerPersist keeps.
    pub drop_state: bool,
}

impl Estate {
    /// Does all that may fail, so that a failure leaves everything as it was.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn prepare(
        settings: Rc<Settings>,
        generation: Generation,
        before: &Before<'_>,
    ) -> Result<Estate, StartError> {
        let identity = check(&settings)?;
        if settings.listens.is_empty() {
            return Err(StartError::NoListen);
        }
        let none = Sockets::new();
        let old = before.serving.map_or(&none, |e| &e.sockets);
        let sockets = listeners::bind(&settings, old, &before.places, before.patience)
            .map_err(StartError::Bind)?;
        let beacons = beacons::bind(&settings, before.serving, before.patience);
        let hearts =
            hearts::bind(&settings, before.serving).map_err(|error| StartError::System {
                what: "make a pipe",
                error,
            })?;
        let logs = Rc::new(Logs::open(&settings)?);
        let children = children(&settings);
        // After the sockets: by now nobody of a killed instance hears anything.
        let (marks, remembered) = match before.serving {
            Some(_) => (before.marks.clone(), Vec::new()),
            None => marks::left_by(before.table),
        };
        let mut restored = Vec::new();
        let (board, assignment, fresh) = table(&settings, generation, children, before)?;
        let path = saved::path_for(before.table);
        let persist = saved::wanted(&settings);
        let mut noticed = None;
        if fresh && persist {
            noticed = keeping::taken_from(&path);
            restored.extend(board.restore(&settings, &assignment, &path));
        }
        let now = (clock::read_mono(), clock::read_wall());
        board.restore_marks(&settings, &assignment, &marks, now);
        let (life, lifeline) = fork::pipe(true).map_err(|error| StartError::System {
            what: "make a pipe",
            error,
        })?;
        let nudges: io::Result<Vec<Nudge>> = (0..children).map(|_| Nudge::new()).collect();
        let nudges = nudges.map_err(|error| StartError::System {
            what: "make the children's event counters",
            error,
        })?;
        // Last, when nothing can fail any more.
        if !persist {
            noticed = keeping::set_aside(&path);
        }
        Ok(Estate {
            generation,
            nudges: nudges.into(),
            places: sockets.iter().map(|(_, b)| b.place).collect(),
            settings,
            children,
            identity,
            sockets,
            beacons,
            hearts,
            logs,
            board,
            assignment: Rc::new(assignment),
            restored,
            noticed,
            left: marks,
            remembered,
            life,
            lifeline,
        })
    }
}

/// What can be found wrong without touching anything; gives whom the children run as.
///
/// # Errors
/// [`StartError::Identity`], [`StartError::Writable`].
pub fn check(settings: &Settings) -> Result<Choice, StartError> {
    let process = &settings.process;
    let identity = privilege::identity(process.user.as_deref(), process.group.as_deref())?;
    let allowed = settings.defines.iter().any(|(n, _)| n == ALLOW_WRITABLE);
    if privilege::is_root() && !allowed {
        let open = settings.files.iter().find(|(.., path)| {
            let others = |m: std::fs::Metadata| m.is_file() && m.mode() & 0o002 != 0;
            std::fs::metadata(path).is_ok_and(others)
        });
        if let Some((.., path)) = open {
            return Err(StartError::Writable(path.clone()));
        }
    }
    Ok(identity)
}

/// `StartServers`, by default one a CPU, and never above `ServerLimit`.
pub fn children(settings: &Settings) -> u16 {
    let wanted = settings.process.start_servers.unwrap_or_else(cpus);
    wanted.min(settings.process.server_limit).max(1)
}

/// How many CPUs this process may use.
pub fn cpus() -> u16 {
    let n = std::thread::available_parallelism().map_or(1, usize::from);
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// The serving generation's table with rows for this one, or a new or larger one. True: it is new,
/// and nothing was carried over into it.
fn table(
    settings: &Settings,
    generation: Generation,
    children: u16,
    before: &Before<'_>,
) -> Result<(Rc<Scoreboard>, Assignment, bool), ShmError> {
    let path = before.table;
    let fresh = || {
        let board = Scoreboard::create(path, settings, children, generation)?;
        board.survive_bus_errors()?;
        let rows = board.assign(settings, generation)?;
        Ok((board, rows, true))
    };
    let Some(serving) = before.serving.filter(|_| !before.drop_state) else {
        return fresh();
    };
    let board = &serving.board;
    let shared = if board.free_slots() >= usize::from(children) {
        match board.assign(settings, generation) {
            Ok(rows) => Some((board.clone(), rows, false)),
            Err(ShmError::Full { .. }) => None,
            Err(e) => return Err(e),
        }
    } else {
        None
    };
    // A table that was cut, as the look at it may just have shown, has nothing to carry over.
    if board.damaged() {
        return fresh();
    }
    if let Some(both) = shared {
        return Ok(both);
    }
    let board = board.grown(path, settings, children, generation)?;
    board.survive_bus_errors()?;
    let rows = board.assign(settings, generation)?;
    Ok((board, rows, false))
}

/// Run-time directories below places of our own are made when they are missing (`/run` is empty
/// after a boot); others are the operator's.
pub fn make_directories(settings: &Settings) -> Result<(), StartError> {
    let process = &settings.process;
    let own =
        |p: &Path| p.starts_with(&process.runtime_dir) || p.starts_with(&settings.server_root);
    let files = [&process.pid_file, &process.scoreboard_file];
    let parents = files.iter().filter_map(|f| f.parent());
    for dir in std::iter::once(process.runtime_dir.as_path()).chain(parents) {
        if !own(dir) || dir.is_dir() {
            continue;
        }
        let made = DirBuilder::new().recursive(true).mode(0o755).create(dir);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StartError::Directory {
                    path: dir.to_owned(),
                    error,
                });
            }
            _ => {}
        }
    }
    Ok(())
}
