//! From the file to a snapshot. Everything that the file says of itself is compared with what must
//! be so; nothing of it is used to find something or to allocate.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::shm::file::odd_kind;
use crate::shm::layout::{self, Counts, Layout};
use crate::shm::scoreboard::{SIZES, counts_of, offsets_of};
use crate::shm::snapshot::Snapshot;
use crate::shm::table::Table;

/// Why a file cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// There is none.
    #[error("{0}: no such file; is muster running with this ScoreBoardFile?")]
    Missing(PathBuf),
    /// It cannot be read.
    #[error("{path}: cannot read it: {error}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// The operating system's answer.
        error: io::Error,
    },
    /// A directory, a pipe or the like.
    #[error("{path} is {found}, not a slot table")]
    NotAFile {
        /// Which file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// Nothing in it.
    #[error("{0} is empty, not a slot table")]
    Empty(PathBuf),
    /// Another program's file.
    #[error("{path} is not muster's slot table: it begins with {found}")]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// Its first bytes, escaped.
        found: String,
    },
    /// From a machine of the other byte order.
    #[error("{0} was written on a machine with another byte order; read it there")]
    ByteOrder(PathBuf),
    /// Another version of the layout.
    #[error("{path} has layout version {found}, this program reads version {}: it was written by {} muster; use that one's `muster scoreboard`", layout::VERSION, if *.found < layout::VERSION { "an older" } else { "a newer" })]
    Version {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Shorter than it says.
    #[error("{path} is cut: {length} bytes, {expected} are needed")]
    Truncated {
        /// Which file.
        path: PathBuf,
        /// How long it is.
        length: u64,
        /// How long it must be.
        expected: u64,
    },
    /// Its header contradicts itself.
    #[error("{path} is damaged: its header says {what} {found}, which cannot be")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Which field.
        what: &'static str,
        /// Its value.
        found: u64,
    },
}

/// Reads a copy of the table file.
pub fn read(path: &Path) -> Result<Snapshot, InspectError> {
    let io = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => InspectError::Missing(path.to_owned()),
        _ => InspectError::Io {
            path: path.to_owned(),
            error,
        },
    };
    let odd = |kind: fs::FileType| match odd_kind(kind) {
        Some(found) => Err(InspectError::NotAFile {
            path: path.to_owned(),
            found,
        }),
        None => Ok(()),
    };
    odd(fs::metadata(path).map_err(io)?.file_type())?;
    // Should it have become a pipe meanwhile, opening it must not wait.
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    odd(meta.file_type())?;
    let mut header = [0u8; layout::HEADER];
    let got = read_up_to(&mut file, &mut header).map_err(io)?;
    let layout = judge(path, &header[..got], meta.len())?;
    let mut bytes = vec![0u8; layout.length];
    bytes[..layout::HEADER].copy_from_slice(&header);
    let got = read_up_to(&mut file, &mut bytes[layout::HEADER..]).map_err(io)?;
    if layout::HEADER + got < layout.length {
        return Err(InspectError::Truncated {
            path: path.to_owned(),
            length: (layout::HEADER + got) as u64,
            expected: layout.length as u64,
        });
    }
    let table = Table::copy(&bytes, layout).map_err(io)?;
    Ok(Snapshot::of(&table))
}

/// Checks a header against the file's length and gives the layout, which is made from the counts.
fn judge(path: &Path, header: &[u8], length: u64) -> Result<Layout, InspectError> {
    let path = || path.to_owned();
    let damaged = |what, found| InspectError::Damaged {
        path: path(),
        what,
        found,
    };
    let word = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&header[at..at + 4]);
        u32::from_ne_bytes(bytes)
    };
    let long = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&header[at..at + 8]);
        u64::from_ne_bytes(bytes)
    };
    let magic = layout::MAGIC.to_ne_bytes();
    let n = header.len().min(magic.len());
    if n == 0 {
        return Err(InspectError::Empty(path()));
    }
    if header[..n] != magic[..n] {
        return Err(InspectError::Foreign {
            path: path(),
            found: if header[..n].iter().all(|&b| b == 0) {
                "zeros".to_owned()
            } else {
                format!("\"{}\"", header[..n].escape_ascii())
            },
        });
    }
    let truncated = |expected: usize| InspectError::Truncated {
        path: path(),
        length,
        expected: expected as u64,
    };
    if header.len() < layout::HEADER {
        return Err(truncated(layout::HEADER));
    }
    if word(12) == layout::BYTE_ORDER.swap_bytes() {
        return Err(InspectError::ByteOrder(path()));
    }
    if word(12) != layout::BYTE_ORDER {
        return Err(damaged("byte order", u64::from(word(12))));
    }
    if word(8) != layout::VERSION {
        return Err(InspectError::Version {
            path: path(),
            found: word(8),
        });
    }
    let counts = Counts {
        slots: word(56) as usize,
        balancers: word(64) as usize,
        workers: word(68) as usize,
        beacons: word(76) as usize,
    };
    let layout = Layout::new(counts).map_err(|_| {
        damaged(
            "a number of rows of",
            counts
                .slots
                .max(counts.balancers)
                .max(counts.workers)
                .max(counts.beacons) as u64,
        )
    })?;
    for (i, want) in SIZES.into_iter().enumerate() {
        if word(24 + 4 * i) != want {
            return Err(damaged("a record size of", u64::from(word(24 + 4 * i))));
        }
    }
    for (i, want) in counts_of(&layout).into_iter().enumerate() {
        if word(56 + 4 * i) != want {
            return Err(damaged("a count of", u64::from(word(56 + 4 * i))));
        }
    }
    for (i, want) in offsets_of(&layout).into_iter().enumerate() {
        if long(80 + 8 * i) != want {
            return Err(damaged("an offset of", long(80 + 8 * i)));
        }
    }
    if long(256) != layout.beacons as u64 {
        return Err(damaged("an offset of", long(256)));
    }
    if word(264) != layout::BEACON as u32 {
        return Err(damaged("a record size of", u64::from(word(264))));
    }
    if long(16) != layout.length as u64 {
        return Err(damaged("a length of", long(16)));
    }
    if length < layout.length as u64 {
        return Err(truncated(layout.length));
    }
    Ok(layout)
}

fn read_up_to(file: &mut File, buf: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buf.len() {
        match file.read(&mut buf[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}
