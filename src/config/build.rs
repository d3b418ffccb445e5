//! From the command line's view of a configuration to [`Settings`]: reads, checks everything,
//! and says all that is wrong in one run. `-t` and a start take the same way.

use std::path::{Path, PathBuf};

use super::diagnostic::{Complaint, Shape, without_repetitions};
use super::directive;
use super::draft::{Draft, ServerDraft};
use super::frame::{Build, Facts};
use super::resolve::{Resolved, resolve};
use super::settings::{Note, Settings};
use super::span::Span;
use super::tree::Node;
use super::{execute, log_directories};
use crate::ids::ServerNo;

/// The server root where neither `-d` nor ServerRoot says otherwise.
pub const SERVER_ROOT: &str = "/etc/muster";
/// The main file below it where `-f` does not say otherwise.
pub const CONFIG_FILE: &str = "muster.conf";
/// Run-time files where DefaultRuntimeDir does not say otherwise.
pub const RUNTIME_DIR: &str = "/run/muster";

/// The most faults that one run shows.
pub(super) const MAX_COMPLAINTS: usize = 500;

/// What to read, from the command line.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// argv[0]'s last component, for messages.
    pub program: String,
    /// Where the program was started: a relative ServerRoot is meant from there, at a reload as
    /// well, when the supervisor is in `/`. Empty means the process's own directory.
    pub directory: PathBuf,
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

impl Invocation {
    /// The main file, absolute.
    pub fn main_file(&self) -> PathBuf {
        let root = self
            .server_root
            .as_deref()
            .unwrap_or(Path::new(SERVER_ROOT));
        let file = self.file.as_deref().unwrap_or(Path::new(CONFIG_FILE));
        let path = self.directory.join(root).join(file);
        std::path::absolute(&path).unwrap_or(path)
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Loaded {
    /// The settings; `None` when there is any complaint.
    pub settings: Option<Settings>,
    /// Everything that is wrong.
    pub complaints: Vec<Complaint>,
    /// Everything to be said although it is no fault (the settings' notes are the same).
    pub warnings: Vec<Note>,
    /// The directives as read, for `-D DUMP_CONFIG`.
    pub tree: Vec<Node>,
    /// The files read: (depth, line of the Include in the file above, path).
    pub files: Vec<(u32, u32, PathBuf)>,
}

impl Loaded {
    /// All complaints as lines for standard error.
    pub fn complaint_lines(&self, program: &str) -> Vec<String> {
        let lines = self.complaints.iter().flat_map(|c| c.lines(program));
        lines.collect()
    }
}

/// Reads and checks the configuration.
pub fn load(invocation: &Invocation) -> Loaded {
    let main_file = invocation.main_file();
    let Resolved {
        tree,
        defines,
        defined_in,
        modules,
        files,
        server_root,
        runtime_dir,
        complaints,
        notes,
    } = resolve(invocation, &main_file);
    let mut build = Build {
        span: Span::default(),
        directive: "",
        server: ServerNo(0),
        scopes: Vec::new(),
        facts: Facts {
            program: invocation.program.clone(),
            server_root,
            runtime_dir_is_set: runtime_dir.is_some(),
            runtime_dir: runtime_dir.unwrap_or_else(|| PathBuf::from(RUNTIME_DIR)),
            defines,
            defined_in,
            modules,
            environment: invocation.environment.clone(),
            check_paths: !invocation.skip_document_root,
            main_file: main_file.clone(),
        },
        draft: Draft::default(),
        complaints,
        notes,
    };
    build.draft.servers.push(ServerDraft {
        span: Span {
            file: main_file.to_string_lossy().into(),
            line: 1,
        },
        ..ServerDraft::default()
    });
    execute::run(&mut build, &tree);
    // With a fault of reading (a ServerRoot that is none, a file that is missing) the whole would
    // be judged wrongly; other faults leave it whole enough to find what else is wrong with it.
    let read = |c: &Complaint| !matches!(c.shape, Shape::Execute);
    let mut settings = None;
    if !build.complaints.iter().any(read) {
        let sound = build.complaints.is_empty();
        let notes = build.notes.len();
        let mut settled = directive::finish(&mut build);
        if !sound {
            build.notes.truncate(notes);
        }
        settled.files = files.clone();
        build.complaints.extend(log_directories::check(&settled));
        settings = Some(settled);
    }
    without_repetitions(&mut build.complaints);
    if build.complaints.len() >= MAX_COMPLAINTS {
        build.complaints.truncate(MAX_COMPLAINTS);
        let text = format!("more than {MAX_COMPLAINTS} faults: the others are not shown");
        build.complaints.push(Complaint::plain(text));
    }
    if let Some(settings) = &mut settings {
        settings.notes = build.notes.clone();
    }
    Loaded {
        settings: settings.filter(|_| build.complaints.is_empty()),
        complaints: build.complaints,
        warnings: build.notes,
        tree,
        files,
    }
}
