//! Small configurations with what is said of them: `tests/cases/config/NAME.conf` and
//! `NAME.expect`. In the latter `@` stands for the folder. `BLESS=1` writes it anew.

use std::fs;
use std::path::{Path, PathBuf};

use muster::config::build::{Invocation, Loaded, load};
use muster::config::diagnostic::note_line;
use muster::config::settings::Note;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/config")
}

fn said(path: &Path) -> (Loaded, String) {
    let folder = folder();
    let invocation = Invocation {
        program: "muster".into(),
        server_root: Some(folder.clone()),
        file: Some(path.to_path_buf()),
        defines: vec!["GIVEN".into()],
        environment: vec![("FROM_ENV".into(), "value".into())],
        ..Invocation::default()
    };
    let loaded = load(&invocation);
    let mut lines = loaded.complaint_lines("muster");
    // Whether others can read a file depends on how it was checked out.
    let readable = |n: &&Note| n.text.contains("everybody on this machine can read");
    for note in loaded.warnings.iter().filter(|n| !readable(n)) {
        let kind = if note.warning { "warning" } else { "note" };
        lines.push(format!("{kind}: {}", note_line(note)));
    }
    let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
    let text = text.replace(&folder.display().to_string(), "@");
    (loaded, text)
}

#[test]
fn each_case_is_told_as_expected() {
    let mut cases: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "conf"))
        .collect();
    cases.sort();
    assert!(cases.len() >= 10);
    let mut wrong = Vec::new();
    for case in cases {
        let (loaded, got) = said(&case);
        assert_eq!(loaded.settings.is_some(), loaded.complaints.is_empty());
        let file = case.with_extension("expect");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&file, &got).unwrap();
        }
        let want = fs::read_to_string(&file).unwrap_or_default();
        if got != want {
            wrong.push(format!(
                "{}:\n--- expected\n{want}--- got\n{got}",
                case.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_command_lines_own_lines_are_named_so() {
    let invocation = Invocation {
        program: "muster".into(),
        server_root: Some(folder()),
        file: Some("/dev/null".into()),
        before: vec!["Listen 127.0.0.1:8080".into(), "Nonsense".into()],
        after: vec!["</Location>".into()],
        ..Invocation::default()
    };
    let lines = load(&invocation).complaint_lines("muster");
    let want = [
        "muster: Syntax error on line 1 of -c/-C directives: </Location> without matching <Location> section",
        "AH00526: Syntax error on line 2 of -c/-C directives:",
        "Invalid command 'Nonsense', perhaps misspelled or defined by a module not included in the server configuration",
    ];
    assert_eq!(lines, want);
}

#[test]
fn a_main_file_that_is_not_there_is_named() {
    let invocation = Invocation {
        program: "muster".into(),
        file: Some("/nowhere/x.conf".into()),
        ..Invocation::default()
    };
    assert_eq!(
        load(&invocation).complaint_lines("muster"),
        ["muster: Could not open configuration file /nowhere/x.conf: No such file or directory"]
    );
}
