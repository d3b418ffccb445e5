//! BalancerPersist: the balancers' state goes into its file when the instance ends, and soon after each
//! change by hand, so that what a killed instance leaves is no older than a moment.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use super::estate::Estate;
use crate::clock::Mono;
use crate::config::settings::Settings;
use crate::ids::Generation;
use crate::shm::{Assignment, Scoreboard, saved};

/// Tells a state file that this process wrote from one that another instance wrote later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    seconds: i64,
    nanos: i64,
}

/// How often is looked for changes that no file has.
const EVERY: Duration = Duration::from_secs(1);

/// The longest time between two tries to write what could not be written.
const LONGEST: Duration = Duration::from_secs(60);

/// Knows whether something was changed since the state was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeper {
    written: (Generation, u64),
    due: Option<Mono>,
    pause: Duration,
    failed: bool,
}

impl Keeper {
    /// Nothing was changed yet.
    pub(super) fn new(estate: &Estate) -> Keeper {
        Keeper {
            written: (estate.generation, estate.board.all_changes()),
            due: None,
            pause: EVERY,
            failed: false,
        }
    }

    /// When `is_due` is to be asked again; `None`: nothing is kept.
    pub(super) fn deadline(&self) -> Option<Mono> {
        self.due
    }

    /// Whether the serving generation's state is to be written now.
    pub(super) fn is_due(&mut self, serving: Option<&Estate>, now: Mono) -> bool {
        let Some(e) = serving.filter(|e| saved::wanted(&e.settings)) else {
            self.due = None;
            return false;
        };
        if self.due.is_some_and(|due| now < due) {
            return false;
        }
        self.due = Some(now + self.pause);
        let state = (e.generation, e.board.all_changes());
        std::mem::replace(&mut self.written, state) != state || self.failed
    }

    /// What came of writing it: a failure is tried again, less and less often.
    pub(super) fn was_saved(&mut self, well: bool, now: Mono) {
        self.failed = !well;
        self.pause = match well {
            true => EVERY,
            false => (self.pause * 2).min(LONGEST),
        };
        self.due = Some(now + self.pause);
    }
}

/// A line about the file that a new table's state was taken from.
pub(super) fn taken_from(path: &Path) -> Option<String> {
    let written = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
    let age = SystemTime::now()
        .duration_since(written)
        .unwrap_or_default();
    Some(format!(
        "BalancerPersist: taking over the balancers' state that was written to {} {} s ago",
        path.display(),
        age.as_secs()
    ))
}

/// BalancerPersist is Off now: what the file says would be out of date when it is On again.
pub(super) fn set_aside(path: &Path) -> Option<String> {
    std::fs::symlink_metadata(path).ok()?;
    let mut aside = path.as_os_str().to_owned();
    aside.push(".off");
    let aside = PathBuf::from(aside);
    let what =
        "BalancerPersist is Off: the balancers' state that was kept before is not taken over";
    Some(match std::fs::rename(path, &aside) {
        Ok(()) => format!("{what}; {} is {} now", path.display(), aside.display()),
        Err(error) => format!(
            "{what}, but would be when it is On again: {} cannot be renamed: {error}",
            path.display()
        ),
    })
}

/// Writes what was changed at run time, where the configuration asks for it. A table that was cut
/// says nothing.
pub(super) fn save(
    settings: &Settings,
    board: &Scoreboard,
    rows: &Assignment,
    table: &Path,
) -> Option<Stamp> {
    if !saved::wanted(settings) || board.damaged() {
        return None;
    }
    let path = saved::path_for(table);
    if let Err(error) = board.save(settings, rows, &path) {
        complain(&path, &error);
        return None;
    }
    stamp(&path)
}

/// What `-X` does at its end instead. Made before the change of user: later nothing can be renamed
/// where the table is.
pub(super) fn farewell(
    settings: Rc<Settings>,
    board: Rc<Scoreboard>,
    rows: Rc<Assignment>,
    table: &Path,
) -> Option<Box<dyn FnOnce()>> {
    if !saved::wanted(&settings) {
        return None;
    }
    let path = saved::path_for(table);
    let mut file = match saved::open(&path) {
        Ok(file) => file,
        Err(error) => {
            complain(&path, &error);
            return None;
        }
    };
    Some(Box::new(move || {
        if !board.damaged()
            && let Err(error) = board.save_into(&settings, &rows, &mut file)
        {
            complain(&path, &error);
        }
    }))
}

fn complain(path: &Path, error: &io::Error) {
    ::log::error!(
        target: "proxy_balancer",
        "could not save the balancers' state (BalancerPersist) to {}: {error}",
        path.display()
    );
}

/// The same once more, after the last children are gone: what was changed through connections that
/// were still open. Not over the head of another instance that has ended meanwhile.
pub(super) fn save_again(estate: &Estate, table: &Path, before: Stamp) {
    if stamp(&saved::path_for(table)) == Some(before) {
        save(&estate.settings, &estate.board, &estate.assignment, table);
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let m = std::fs::symlink_metadata(path).ok()?;
    Some(Stamp {
        device: m.dev(),
        inode: m.ino(),
        seconds: m.mtime(),
        nanos: m.mtime_nsec(),
    })
}
