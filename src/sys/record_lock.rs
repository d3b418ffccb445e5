//! Files that are held by a POSIX record lock: not inherited over fork, gone with their owner however
//! that dies, and `F_GETLK` names the owner.
//!
//! The lock goes when **any** descriptor of the file is closed in the owning process, so nothing
//! else in it may open the file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

/// Why a lock is not to be had.
#[derive(Debug)]
pub enum LockError {
    /// Another process has it; 0 when the kernel does not say who (another pid namespace).
    Held(i32),
    /// The file can't be opened, made or locked, or is no regular file.
    Io(io::Error),
}

/// Opens a file, never following a link; `make` makes it with this mode where it is missing.
///
/// # Errors
/// Of `open` (`ELOOP` for a link), and for anything but a regular file.
pub fn open(path: &Path, make: Option<u32>) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(make.is_some())
        .create(make.is_some())
        .truncate(false)
        .mode(make.unwrap_or(0))
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// Makes the file where it is missing, and locks it. The name means the locked file when this
/// returns, although others may remove and make it meanwhile.
///
/// # Errors
/// See [`LockError`].
pub fn take(path: &Path, mode: u32) -> Result<File, LockError> {
    // Bounded, in case somebody plays.
    for _ in 0..20 {
        let file = open(path, Some(mode)).map_err(LockError::Io)?;
        match fcntl(&file, FcntlArg::F_SETLK(&whole_file())) {
            Ok(_) => {}
            Err(Errno::EACCES | Errno::EAGAIN) => {
                let pid = holder(&file).ok().flatten().unwrap_or(0);
                return Err(LockError::Held(pid));
            }
            Err(e) => return Err(LockError::Io(e.into())),
        }
        if is_at(&file, path) {
            return Ok(file);
        }
    }
    let text = "it is replaced again and again";
    Err(LockError::Io(io::Error::other(text)))
}

/// Removes a locked file, if the name still means it, and lets go of the lock.
pub fn remove(file: File, path: &Path) {
    if is_at(&file, path) {
        // In a directory that became read-only it stays, unlocked: the next start takes it.
        let _ = std::fs::remove_file(path);
    }
}

/// The process that has locked a file, `None` when none has. Not for the owner itself.
///
/// # Errors
/// Of `fcntl`.
pub fn holder(file: &File) -> io::Result<Option<i32>> {
    let mut probe = whole_file();
    fcntl(file, FcntlArg::F_GETLK(&mut probe))?;
    Ok((probe.l_type != libc::F_UNLCK as libc::c_short).then_some(probe.l_pid))
}

fn whole_file() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(a), Ok(b)) = (file.metadata(), std::fs::symlink_metadata(path)) else {
        return false;
    };
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}
