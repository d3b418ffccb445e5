//! Why a generation could not be prepared, in httpd's words.

use std::io;
use std::path::PathBuf;

use super::listeners::BindError;
use crate::log::LogError;
use crate::shm::ShmError;
use crate::sys::pidfile::PidError;
use crate::sys::privilege::BadIdentity;

/// A start or a reload that came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Who the children shall be.
    #[error("AH00543: {0}")]
    Identity(#[from] BadIdentity),
    /// A configuration file that anybody could change.
    #[error(
        "{} can be written by everybody, who could so become root: take that right away (chmod o-w), or start with -D {ALLOW_WRITABLE}",
        .0.display()
    )]
    Writable(PathBuf),
    /// There is no `Listen`.
    #[error("no listening sockets available, shutting down: the configuration has no Listen line")]
    NoListen,
    /// An address is not to be had.
    #[error("{0}")]
    Bind(BindError),
    /// A log is not to be opened.
    #[error("{0}")]
    Log(#[from] LogError),
    /// The slot table.
    #[error("{0}")]
    Table(#[from] ShmError),
    /// The pid file.
    #[error("AH00099: {0}")]
    Pid(#[from] PidError),
    /// A directory for run-time files.
    #[error("{}: could not create directory {path} for run-time files", numbered(.error))]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something else that the system refused.
    #[error("{}: could not {what}", numbered(.error))]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
}

impl StartError {
    /// What httpd writes to standard error when it cannot start, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.to_string()];
        match self {
            StartError::Bind(_) => {
                lines.push("no listening sockets available, shutting down".into());
                lines.push("AH00015: Unable to open logs".into());
            }
            StartError::NoListen | StartError::Log(_) => {
                lines.push("AH00015: Unable to open logs".into());
            }
            StartError::Identity(_)
            | StartError::Writable(_)
            | StartError::Table(_)
            | StartError::Pid(_)
            | StartError::Directory { .. }
            | StartError::System { .. } => {}
        }
        lines
    }
}

/// The name that allows configuration files which everybody may write.
pub const ALLOW_WRITABLE: &str = "ALLOW_WRITABLE_CONFIG";

/// An operating system's error as httpd writes it: `(98)Address already in use`.
pub fn numbered(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(n) => {
            let words = text.split(" (os error").next().unwrap_or(&text);
            format!("({n}){words}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_httpds_shape() {
        let e = io::Error::from_raw_os_error(98);
        assert_eq!(numbered(&e), "(98)Address already in use");
    }
}
