//! BalancerPersist: the balancers' state goes into its file when the instance ends.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use super::estate::Estate;
use crate::config::settings::Settings;
use crate::shm::{Assignment, Scoreboard, saved};

/// Tells a state file that this process wrote from one that another instance wrote later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    seconds: i64,
    nanos: i64,
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
