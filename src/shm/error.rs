//! Why a table could not be made, read or filled.

use std::io;
use std::path::PathBuf;

/// What went wrong with the slot table.
#[derive(Debug, thiserror::Error)]
pub enum ShmError {
    /// The file could not be made, mapped, renamed or read.
    #[error("ScoreBoardFile {path}: cannot {what}: {error}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What was tried ("create it", "map it" ...).
        what: &'static str,
        /// The operating system's answer.
        error: io::Error,
    },
    /// Something that is no plain file stands where the table should be.
    #[error(
        "ScoreBoardFile {path} is {found}; muster replaces only plain files there: remove it or name another path"
    )]
    NotAFile {
        /// Which file.
        path: PathBuf,
        /// "a symbolic link", "a directory" ...
        found: &'static str,
    },
    /// Another running instance uses the same table file.
    #[error("ScoreBoardFile {path} is in use by process {pid}; give each instance its own")]
    InUse {
        /// Which file.
        path: PathBuf,
        /// Who holds the lock (0 when unknown).
        pid: i32,
    },
    /// More rows are needed than the table has: make a larger one and copy.
    #[error("the slot table has {room} {what} rows, {needed} are needed")]
    Full {
        /// "balancer", "worker" or "child".
        what: &'static str,
        /// How many there are.
        room: usize,
        /// How many the configuration needs.
        needed: usize,
    },
    /// More than the layout can ever hold.
    #[error("{needed} {what} rows are more than the slot table's bound of {bound}")]
    TooMany {
        /// "balancer", "worker" or "child".
        what: &'static str,
        /// The layout's bound.
        bound: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A name that does not fit its field; nothing is ever cut silently.
    #[error("the {what} {name:?} has {length} bytes; at most {bound} are allowed")]
    NameTooLong {
        /// "worker name", "route" ...
        what: &'static str,
        /// Its first part.
        name: String,
        /// Its length.
        length: usize,
        /// The field's bound.
        bound: usize,
    },
    /// The system has no robust process-shared mutexes.
    #[error("cannot make a process-shared lock: {0}")]
    Lock(io::Error),
}
