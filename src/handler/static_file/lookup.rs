//! From a name to an open file without leaving the root: one segment after the other, each looked
//! at before it is entered, links only as Options allow.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, readlink};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};

/// What Options say of symbolic links in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// None is followed.
    Never,
    /// `SymLinksIfOwnerMatch`: when link and target belong to the same user.
    SameOwner,
    /// Nothing was said: those that stay below the root.
    Inside,
    /// `FollowSymLinks`
    Always,
}

/// What a name leads to.
#[derive(Debug)]
pub enum Found {
    /// A regular file.
    File(OpenFile),
    /// A directory.
    Directory,
    /// Nothing.
    Missing,
    /// There is something, but it is not served.
    Denied(Denial),
}

/// A file that may be sent.
#[derive(Debug)]
pub struct OpenFile {
    /// Open for reading.
    pub file: File,
    /// Its length when it was opened.
    pub size: u64,
    /// Last change: seconds and microseconds since 1970.
    pub modified: (i64, u32),
    /// Its number in its file system.
    pub inode: u64,
    /// What stands behind its name in the path, with the slash.
    pub path_info: Vec<u8>,
}

/// Why something is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// A link that Options do not allow, or that leads nowhere.
    Link,
    /// A device, FIFO or socket; or a segment that is a dot segment.
    Kind,
    /// The system refused, with its error number.
    System(i32),
}

/// Looks for `rest` (segments below `root`, with slashes) without ever leaving `root` but by
/// allowed links. `links`: what holds in the directory with this path.
pub fn find(root: &Path, rest: &[u8], links: &dyn Fn(&Path) -> Links) -> Found {
    match walk(root, rest, links) {
        Ok(found) => found,
        Err(Errno::ENOENT | Errno::ENOTDIR) => Found::Missing,
        Err(errno) => Found::Denied(Denial::System(errno as i32)),
    }
}

const LOOK: OFlag = OFlag::O_PATH.union(OFlag::O_CLOEXEC);

fn walk(root: &Path, rest: &[u8], links: &dyn Fn(&Path) -> Links) -> nix::Result<Found> {
    // The root itself was named by the operator: it may be a link.
    let mut here = open(root, LOOK, Mode::empty())?;
    let mut stat = fstat(&here)?;
    let mut path = root.to_path_buf();
    let mut parent: Option<OwnedFd> = None;
    let mut name: &[u8] = b"";
    let mut at = 0;
    while kind(&stat) == SFlag::S_IFDIR {
        at += rest[at..].iter().take_while(|&&b| b == b'/').count();
        let len = rest[at..].iter().position(|&b| b == b'/');
        name = &rest[at..at + len.unwrap_or(rest.len() - at)];
        match name {
            b"" => return Ok(Found::Directory),
            // The path was normalised, but an AliasMatch may have put something together.
            b"." | b".." => return Ok(Found::Denied(Denial::Kind)),
            _ => {}
        }
        at += name.len();
        let segment = OsStr::from_bytes(name);
        let mut next = openat(&here, segment, LOOK | OFlag::O_NOFOLLOW, Mode::empty())?;
        stat = fstat(&next)?;
        if kind(&stat) == SFlag::S_IFLNK {
            let Some((target, of_target)) = follow(&here, segment, &stat, root, links(&path))?
            else {
                return Ok(Found::Denied(Denial::Link));
            };
            (next, stat) = (target, of_target);
        }
        path.push(segment);
        parent = Some(std::mem::replace(&mut here, next));
    }
    if kind(&stat) != SFlag::S_IFREG {
        return Ok(Found::Denied(Denial::Kind));
    }
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = match &parent {
        Some(parent) => openat(parent, OsStr::from_bytes(name), flags, Mode::empty())?,
        None => open(root, flags, Mode::empty())?,
    };
    // The name may have been given to something else since it was looked at.
    let now = fstat(&opened)?;
    if (now.st_dev, now.st_ino) != (stat.st_dev, stat.st_ino) {
        return Ok(Found::Missing);
    }
    Ok(Found::File(OpenFile {
        file: File::from(opened),
        size: u64::try_from(now.st_size).unwrap_or(0),
        modified: (now.st_mtime, (now.st_mtime_nsec / 1000) as u32),
        inode: now.st_ino,
        path_info: rest[at..].to_vec(),
    }))
}

/// The target of a link where it may be followed.
fn follow(
    directory: &OwnedFd,
    name: &OsStr,
    link: &FileStat,
    root: &Path,
    links: Links,
) -> nix::Result<Option<(OwnedFd, FileStat)>> {
    if links == Links::Never {
        return Ok(None);
    }
    let target = match openat(directory, name, LOOK, Mode::empty()) {
        Ok(target) => target,
        Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EACCES) => return Ok(None),
        Err(e) => return Err(e),
    };
    let stat = fstat(&target)?;
    let allowed = match links {
        Links::Never => false,
        Links::SameOwner => stat.st_uid == link.st_uid,
        Links::Inside => is_inside(&target, root),
        Links::Always => true,
    };
    Ok(allowed.then_some((target, stat)))
}

/// Whether an open file lies below the root, both with all links resolved.
fn is_inside(target: &OwnedFd, root: &Path) -> bool {
    let place = PathBuf::from(format!("/proc/self/fd/{}", target.as_raw_fd()));
    let (Ok(target), Ok(root)) = (readlink(&place), root.canonicalize()) else {
        return false;
    };
    Path::new(&target).starts_with(root)
}

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

#[cfg(test)]
mod tests;
