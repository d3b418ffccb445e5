//! From the command line's view of a configuration to [`Settings`]: reads, checks everything,
//! and says all that is wrong in one run.

use std::path::PathBuf;

use super::diagnostic::Complaint;
use super::settings::{Note, Settings};

/// What to read, from the command line.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// argv[0]'s last component, for messages.
    pub program: String,
    /// `-d`: the initial ServerRoot.
    pub server_root: Option<PathBuf>,
    /// `-f`: the main file, relative to the server root.
    pub file: Option<PathBuf>,
    /// `-C` lines: read before the files.
    pub before: Vec<String>,
    /// `-c` lines: read after the files.
    pub after: Vec<String>,
    /// `-D` names, in order.
    pub defines: Vec<String>,
    /// `-T`: DocumentRoot need not exist.
    pub skip_document_root: bool,
    /// The environment.
    pub environment: Vec<(String, String)>,
}

/// What came of it.
#[derive(Debug)]
pub struct Loaded {
    /// The settings; `None` when there is any complaint.
    pub settings: Option<Settings>,
    /// Everything that is wrong.
    pub complaints: Vec<Complaint>,
    /// Everything to be said although it is no fault.
    pub warnings: Vec<Note>,
}

/// Reads and checks the configuration.
pub fn load(invocation: &Invocation) -> Loaded {
    let _ = invocation;
    todo!("the driver")
}
