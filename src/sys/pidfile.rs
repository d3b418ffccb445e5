//! The pid file, held by a record lock. The number in it is for people and scripts; what is believed
//! is the lock.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::record_lock::{self, LockError};

/// A pid file that this process holds. The lock goes when **any** descriptor of the file is closed
/// in this process, so nothing else here may open it.
#[derive(Debug)]
pub struct PidFile {
    file: File,
    path: PathBuf,
    stale: Option<i32>,
}

/// Why a pid file could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum PidError {
    /// Another process holds it.
    #[error("pid file {path} is held by process {pid}: muster is already running with it")]
    Held {
        /// The file.
        path: PathBuf,
        /// The owner, or 0 when the kernel does not say (another pid namespace).
        pid: i32,
    },
    /// It names a living Apache httpd, which takes no lock.
    #[error(
        "pid file {path} belongs to a running {program} (pid {pid}): stop it first, or set another PidFile"
    )]
    Apache {
        /// The file.
        path: PathBuf,
        /// Its process.
        pid: i32,
        /// `apache2` or `httpd`.
        program: String,
    },
    /// It can't be opened or written.
    #[error("could not create pid file {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Whose pid file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// There is none.
    Missing,
    /// Nobody holds it; the number in it, when it is one.
    Stale(Option<i32>),
    /// This process holds it.
    Running(i32),
}

/// Asks who holds a pid file, without touching it. Not for a process that holds it itself.
///
/// # Errors
/// When it is there but cannot be read or is no regular file.
pub fn owner(path: &Path) -> io::Result<Owner> {
    let mut file = match record_lock::open(path, None) {
        Ok(f) => f,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Owner::Missing),
        Err(e) => return Err(e),
    };
    match record_lock::holder(&file)? {
        Some(pid) => Ok(Owner::Running(pid)),
        None => Ok(Owner::Stale(read_pid(&mut file))),
    }
}

impl PidFile {
    /// Locks the file, makes it where it is missing, and writes this process's pid into it.
    /// A symbolic link in its place is replaced, never followed.
    ///
    /// # Errors
    /// See [`PidError`].
    pub fn take(path: &Path) -> Result<PidFile, PidError> {
        let failed = |error| PidError::Io {
            path: path.to_owned(),
            error,
        };
        if path.is_symlink() {
            std::fs::remove_file(path).map_err(failed)?;
        }
        let mut file = record_lock::take(path, 0o644).map_err(|e| match e {
            LockError::Held(pid) => PidError::Held {
                path: path.to_owned(),
                pid,
            },
            LockError::Io(error) => failed(error),
        })?;
        let stale = read_pid(&mut file);
        if let Some((pid, program)) = stale.and_then(living_apache) {
            return Err(PidError::Apache {
                path: path.to_owned(),
                pid,
                program,
            });
        }
        // Written before it is cut, so that a reader never finds it empty.
        let text = format!("{}\n", super::fork::pid());
        file.write_all_at(text.as_bytes(), 0).map_err(failed)?;
        file.set_len(text.len() as u64).map_err(failed)?;
        Ok(PidFile {
            file,
            path: path.to_owned(),
            stale,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The pid that was left in it by a process that did not stop tidily.
    pub fn stale(&self) -> Option<i32> {
        self.stale
    }

    /// Removes the file (if the name still means this one) and lets go of the lock.
    pub fn remove(self) {
        record_lock::remove(self.file, &self.path);
    }
}

/// The number in the file; `None` for garbage.
fn read_pid(file: &mut File) -> Option<i32> {
    let mut text = String::new();
    Read::take(file, 32).read_to_string(&mut text).ok()?;
    text.lines()
        .next()?
        .trim()
        .parse()
        .ok()
        .filter(|p: &i32| *p > 1)
}

/// The pid and program's name when it is a living Apache httpd.
fn living_apache(pid: i32) -> Option<(i32, String)> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let name = name.trim_end();
    matches!(name, "apache2" | "httpd").then(|| (pid, name.to_owned()))
}
