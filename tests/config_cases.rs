//! Small configurations with what is said of them: `tests/cases/config/NAME.conf` and
//! `NAME.expect`. In the latter `@` stands for the folder. `BLESS=1` writes it anew.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use muster::config::build::{Invocation, Loaded, load};
use muster::config::diagnostic::note_line;
use muster::config::registry;
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

/// Whoever can read a file that a secret stands in is warned of: also where a macro or a variable
/// carries it from one file to another. A secret in the place of a path is not repeated.
#[test]
fn a_secret_in_a_file_for_all_is_told_of() {
    const SECRET: &str = "hex:00112233445566778899aabbccddeeff";
    let folder = std::env::temp_dir().join(format!("muster-secrets-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let said = |main: (&str, u32), other: (&str, u32)| {
        let written = |name: &str, (text, mode): (&str, u32)| {
            let path = folder.join(name);
            fs::write(&path, text.replace("@SECRET@", SECRET)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        written("other.conf", other);
        let loaded = load(&Invocation {
            program: "muster".into(),
            server_root: Some(folder.clone()),
            file: Some(written("main.conf", main)),
            ..Invocation::default()
        });
        let notes: String = loaded.warnings.iter().map(|n| n.text.as_str()).collect();
        let text = format!("{notes}{}", loaded.complaint_lines("muster").concat());
        assert!(!text.contains("00112233"), "{text}");
        let names = ["main.conf", "other.conf"].map(|name| {
            let path = folder.join(name);
            text.contains(&format!("read the secret in {};", path.display()))
        });
        (names, text)
    };
    let plain = "Include other.conf\nProxyBeaconSecret @SECRET@\n";
    let open = |main, other| said(main, other).0;
    assert_eq!(open((plain, 0o644), ("", 0o600)), [true, false]);
    assert_eq!(open((plain, 0o600), ("", 0o644)), [false, false]);
    let used = "Include other.conf\nUse M @SECRET@\n";
    let taken = "<Macro M $x>\nProxyBeaconSecret $x\n</Macro>\n";
    assert_eq!(open((used, 0o644), (taken, 0o600)), [true, false]);
    assert_eq!(open((used, 0o600), (taken, 0o644)), [false, true]);
    assert_eq!(open((used, 0o600), (taken, 0o600)), [false, false]);
    let used = "Include other.conf\nProxyBeaconSecret ${SECRET}\n";
    let defined = "Define SECRET @SECRET@\n";
    assert_eq!(open((used, 0o600), (defined, 0o644)), [false, true]);
    assert_eq!(open((used, 0o600), (defined, 0o600)), [false, false]);
    let (_, text) = said(("ProxyBeaconSecretFile @SECRET@\n", 0o600), ("", 0o600));
    assert!(text.contains("that is a secret, not a path"), "{text}");
    let _ = fs::remove_dir_all(folder);
}

/// The README's examples of configuration are taken as they stand.
#[test]
fn the_readmes_configurations_have_no_fault() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let mut blocks: Vec<String> = vec![String::new()];
    for line in readme.lines() {
        match line.strip_prefix("    ") {
            Some(code) => blocks.last_mut().unwrap().push_str(&format!("{code}\n")),
            None => blocks.push(String::new()),
        }
    }
    let is_configuration = |block: &String| {
        let mut lines = block.lines().filter(|l| !l.starts_with('#'));
        let word = lines.next().and_then(|l| l.split_whitespace().next());
        word.is_some_and(|w| match w.strip_prefix('<') {
            Some(section) => registry::find(section, true).is_some(),
            None => registry::find(w, false).is_some(),
        })
    };
    blocks.retain(is_configuration);
    assert!(blocks.len() >= 4, "{blocks:#?}");
    let file = std::env::temp_dir().join(format!("muster-readme-{}.conf", std::process::id()));
    let key = file.with_extension("key");
    fs::write(&key, "a secret of at least thirty-two bytes\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    for block in blocks {
        let block = block.replace("/etc/muster/beacon.key", &key.to_string_lossy());
        fs::write(&file, &block).unwrap();
        let loaded = load(&Invocation {
            program: "muster".into(),
            server_root: Some("/tmp".into()),
            file: Some(file.clone()),
            ..Invocation::default()
        });
        // The directory of logs is made first.
        let made = |text: &str| text.contains("/var/log/muster");
        let lines: Vec<_> = loaded
            .complaints
            .iter()
            .map(|c| c.text.as_str())
            .filter(|t| !made(t) && !t.starts_with("AH00014"))
            .collect();
        assert!(lines.is_empty(), "{block}\n{lines:#?}");
    }
    for file in [file, key] {
        let _ = fs::remove_file(file);
    }
}
