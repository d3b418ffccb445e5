//! The table's file: made fresh, mapped, renamed into place, its descriptor closed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::ShmError;
use super::layout::Layout;
use super::table::Table;

/// How many left-over names of crashed starts are passed over.
const NAMES: u32 = 1000;

/// Which file on which device: to remove only what we made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

/// Makes the file for `path`, lets `fill` write it, and renames it into place. Whatever plain file
/// stood there is replaced without being opened; anything else is refused.
pub fn make(
    path: &Path,
    layout: Layout,
    fill: impl FnOnce(&Table) -> Result<(), ShmError>,
) -> Result<(Table, Identity), ShmError> {
    refuse_odd(path)?;
    let (file, temporary) = fresh(path)?;
    let fail = |what, error| {
        let _ = fs::remove_file(&temporary);
        ShmError::File {
            path: path.to_owned(),
            what,
            error,
        }
    };
    // Space is reserved, so that a full file system is an error here and no bus error later.
    reserve(&file, layout.length).map_err(|e| fail("reserve its space", e))?;
    let meta = file.metadata().map_err(|e| fail("look at it", e))?;
    let table = Table::map(&file, layout).map_err(|e| fail("map it", e))?;
    drop(file);
    if let Err(e) = fill(&table) {
        let _ = fs::remove_file(&temporary);
        return Err(e);
    }
    fs::rename(&temporary, path).map_err(|e| fail("rename the new one into place", e))?;
    Ok((
        table,
        Identity {
            device: meta.dev(),
            inode: meta.ino(),
        },
    ))
}

/// Removes the file at `path` if it still is the one that was made.
pub fn remove(path: &Path, identity: Identity) {
    if let Ok(meta) = fs::symlink_metadata(path)
        && meta.dev() == identity.device
        && meta.ino() == identity.inode
    {
        let _ = fs::remove_file(path);
    }
}

/// Names what stands at `path` when it is no plain file.
pub fn odd_kind(kind: fs::FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_symlink() {
        Some("a symbolic link")
    } else if kind.is_dir() {
        Some("a directory")
    } else if kind.is_fifo() {
        Some("a named pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

fn refuse_odd(path: &Path) -> Result<(), ShmError> {
    match fs::symlink_metadata(path) {
        Ok(meta) => match odd_kind(meta.file_type()) {
            Some(found) => Err(ShmError::NotAFile {
                path: path.to_owned(),
                found,
            }),
            None => Ok(()),
        },
        Err(_) => Ok(()),
    }
}

fn fresh(path: &Path) -> Result<(File, PathBuf), ShmError> {
    let fail = |error| ShmError::File {
        path: path.to_owned(),
        what: "create it",
        error,
    };
    let name = path
        .file_name()
        .ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?
        .to_string_lossy();
    let pid = std::process::id();
    for n in 0..NAMES {
        let temporary = path.with_file_name(format!(".{name}.{pid}.{n}"));
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&temporary);
        match opened {
            Ok(file) => return Ok((file, temporary)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(fail(e)),
        }
    }
    Err(fail(io::ErrorKind::AlreadyExists.into()))
}

fn reserve(file: &File, length: usize) -> io::Result<()> {
    let length = i64::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
    nix::fcntl::posix_fallocate(file, 0, length).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::layout::Counts;
    use std::os::unix::fs::symlink;

    fn layout() -> Layout {
        Layout::new(Counts {
            slots: 1,
            balancers: 1,
            workers: 1,
            beacons: 1,
        })
        .unwrap()
    }

    #[test]
    fn made_fresh_private_and_renamed() {
        let dir = crate::shm::test_dir("made");
        let path = dir.join("board");
        fs::write(&path, b"old").unwrap();
        let (table, identity) = make(&path, layout(), |_| Ok(())).unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.mode() & 0o7777, 0o600);
        assert_eq!(meta.len() as usize, table.layout().length);
        assert_eq!(
            fs::read_dir(&dir).unwrap().count(),
            1,
            "no temporary file is left"
        );
        remove(
            &path,
            Identity {
                inode: 0,
                ..identity
            },
        );
        assert!(path.exists());
        remove(&path, identity);
        assert!(!path.exists());
        let _ = fs::remove_dir_all(dir);
    }

    #[test]
    fn links_and_directories_are_refused_untouched() {
        let dir = crate::shm::test_dir("odd");
        let target = dir.join("target");
        fs::write(&target, b"precious").unwrap();
        let link = dir.join("board");
        symlink(&target, &link).unwrap();
        assert!(matches!(
            make(&link, layout(), |_| Ok(())),
            Err(ShmError::NotAFile { .. })
        ));
        assert!(make(&dir, layout(), |_| Ok(())).is_err());
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        assert!(make(&dir.join("no/such"), layout(), |_| Ok(())).is_err());
        let _ = fs::remove_dir_all(dir);
    }

    #[test]
    fn a_failed_filling_leaves_the_old_file() {
        let dir = crate::shm::test_dir("fail");
        let path = dir.join("board");
        fs::write(&path, b"old").unwrap();
        let failed = make(&path, layout(), |_| {
            Err(ShmError::Lock(io::ErrorKind::Other.into()))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        let _ = fs::remove_dir_all(dir);
    }
}
