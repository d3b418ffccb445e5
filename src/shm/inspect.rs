//! `muster scoreboard`: reading a table from outside, from a copy of the file.

use std::ffi::OsString;
use std::path::Path;

use super::snapshot::Snapshot;

/// Why a file cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// It cannot be read.
    #[error("{0}")]
    Io(String),
}

/// Reads a copy of the table file.
pub fn read(_path: &Path) -> Result<Snapshot, InspectError> {
    todo!()
}

/// The command `muster scoreboard [--json] [--watch] [FILE]`; `default` is the configured
/// ScoreBoardFile. Gives the exit code.
pub fn main(_args: &[OsString], _default: &Path) -> i32 {
    todo!()
}
