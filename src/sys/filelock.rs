//! A lock on a file that the kernel gives back when its holder dies, however it dies.
//!
//! It is an open-file-description lock: each process must open the file itself, since a
//! description that is inherited over a fork shares the lock.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

/// An opened lock file; whoever holds it does so until it is dropped or the process ends.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    held: bool,
}

impl FileLock {
    /// Opens `path`, made with mode 0600 where it is missing; links are not followed.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn open(path: &Path) -> io::Result<FileLock> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path)?;
        Ok(FileLock { file, held: false })
    }

    /// A lock on a file that is open already. The description must not be shared with another
    /// process.
    pub fn on(file: File) -> FileLock {
        FileLock { file, held: false }
    }

    /// Takes the lock if nobody else has it; true when this description holds it afterwards.
    ///
    /// # Errors
    /// Those of fcntl(2), but for a lock that another holds.
    pub fn try_lock(&mut self) -> io::Result<bool> {
        if self.held {
            return Ok(true);
        }
        let whole = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        match fcntl(&self.file, FcntlArg::F_OFD_SETLK(&whole)) {
            Ok(_) => self.held = true,
            Err(Errno::EAGAIN | Errno::EACCES) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(self.held)
    }

    /// Whether this description holds it.
    pub fn held(&self) -> bool {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_description_holds_it_until_it_is_dropped() {
        let path = std::env::temp_dir().join(format!("muster-lock-{}", std::process::id()));
        let mut first = FileLock::open(&path).unwrap();
        let mut second = FileLock::open(&path).unwrap();
        assert!(first.try_lock().unwrap());
        assert!(!second.try_lock().unwrap());
        drop(first);
        assert!(second.try_lock().unwrap());
        assert!(second.held());
        std::fs::remove_file(&path).unwrap();
    }
}
