//! One table file, one instance.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::error::ShmError;
use crate::sys::record_lock::{self, LockError};

/// Held by the supervisor for as long as it lives: no other instance may use the same table file.
/// A POSIX record lock on `PATH.lock`: a child does not inherit it, and the kernel gives it back
/// when the supervisor dies, however it dies.
#[derive(Debug)]
pub struct TableLock {
    path: PathBuf,
    file: File,
}

impl TableLock {
    /// Takes the lock for the table at `path`; `ShmError::InUse` names the process that has it.
    /// Called after daemonising, since the lock belongs to the process that took it.
    pub fn take(path: &Path) -> Result<TableLock, ShmError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock_path = PathBuf::from(name);
        match record_lock::take(&lock_path, 0o600) {
            Ok(file) => Ok(TableLock {
                path: lock_path,
                file,
            }),
            Err(LockError::Held(pid)) => Err(ShmError::InUse {
                path: path.to_owned(),
                pid,
            }),
            Err(LockError::Io(error)) => Err(ShmError::File {
                path: lock_path,
                what: "lock its lock file",
                error,
            }),
        }
    }

    /// At the end of the instance: removes the lock file too.
    pub fn remove(self) {
        record_lock::remove(self.file, &self.path);
    }
}
