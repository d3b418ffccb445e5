//! One table file, one instance.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, fcntl};

use super::error::ShmError;

/// Held by the supervisor for as long as it lives: no other instance may use the same table file.
/// A POSIX record lock on `PATH.lock`: a child does not inherit it, and the kernel gives it back
/// when the supervisor dies, however it dies.
#[derive(Debug)]
pub struct TableLock {
    path: PathBuf,
    _file: File,
}

impl TableLock {
    /// Takes the lock for the table at `path`; `ShmError::InUse` names the process that has it.
    /// Called after daemonising, since the lock belongs to the process that took it.
    pub fn take(path: &Path) -> Result<TableLock, ShmError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock_path = PathBuf::from(name);
        let fail = |what| {
            let path = lock_path.clone();
            move |error| ShmError::File { path, what, error }
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(&lock_path)
            .map_err(fail("open its lock file"))?;
        match fcntl(&file, FcntlArg::F_SETLK(&whole(libc::F_WRLCK))) {
            Ok(_) => Ok(TableLock {
                path: lock_path,
                _file: file,
            }),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => {
                let mut query = whole(libc::F_WRLCK);
                let pid = match fcntl(&file, FcntlArg::F_GETLK(&mut query)) {
                    Ok(_) if query.l_type != libc::F_UNLCK as libc::c_short => query.l_pid,
                    _ => 0,
                };
                Err(ShmError::InUse {
                    path: path.to_owned(),
                    pid,
                })
            }
            Err(e) => Err(fail("lock its lock file")(e.into())),
        }
    }

    /// At the end of the instance: removes the lock file too.
    pub fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn whole(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}
