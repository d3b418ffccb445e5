//! Levels, floods and checks of the logs as a whole.

use super::*;
use std::fs::OpenOptions;

fn logs(levels: Option<LogLevels>) -> Logs {
    let null = OpenOptions::new().write(true).open("/dev/null").unwrap();
    let target = Target::new("null".into(), Sink::File(null));
    let server = ServerLogs {
        name: "a.test".into(),
        error: LogNo(0),
        format: None,
        levels,
        access: Vec::new(),
    };
    Logs::new(vec![Mutex::new(target)], vec![server])
}

fn levels(plain: u8, modules: &[(&str, u8)]) -> LogLevels {
    LogLevels {
        plain: Some(plain),
        modules: modules.iter().map(|(n, l)| (n.to_string(), *l)).collect(),
    }
}

#[test]
fn levels_of_server_and_request() {
    let logs = logs(Some(levels(level::ERROR, &[("proxy", level::DEBUG)])));
    let enabled = |request, level, module| logs.enabled(ServerNo(0), request, level, module);
    assert!(enabled(None, level::DEBUG, "proxy"));
    assert!(!enabled(None, level::WARN, "core"));
    assert!(
        enabled(None, level::NOTICE, "core"),
        "notices always stand in a file"
    );
    let request = levels(level::INFO, &[]);
    assert!(enabled(Some(&request), level::INFO, "core"));
    assert!(!enabled(Some(&request), level::DEBUG, "proxy"));
    assert_eq!(logs.highest(), level::DEBUG);
}

#[test]
fn a_flood_is_cut_short_and_flush_tells_how_much() {
    let logs = logs(None);
    for _ in 0..50 {
        logs.event(
            ServerNo(7),
            level::ERROR,
            "proxy",
            &Subject::default(),
            "same",
        );
    }
    assert!(logs.0.dirty.load(Ordering::Relaxed));
    assert!(logs.0.throttle.lock().is_pending());
    logs.flush();
    assert!(
        logs.0.dirty.load(Ordering::Relaxed),
        "the report is still due"
    );
    logs.after_fork();
    assert!(!logs.0.throttle.lock().is_pending());
    assert_eq!(logs.dropped(), 0);
}

#[test]
fn targets_are_checked() {
    let dir = std::env::temp_dir();
    assert!(check_target(&LogTarget::File(dir.join("x.log"))).is_ok());
    assert!(check_target(&LogTarget::File(dir.join("none/x.log"))).is_err());
    assert!(check_target(&LogTarget::File(dir)).is_err());
    assert!(check_target(&LogTarget::Pipe(vec!["/bin/cat".into()])).is_ok());
    assert!(check_target(&LogTarget::Pipe(vec!["cat".into()])).is_err());
    assert!(check_target(&LogTarget::Pipe(vec!["/no/such".into()])).is_err());
    assert!(check_target(&LogTarget::ShellPipe("x".into())).is_ok());
}

#[test]
fn standard_error_needs_nothing() {
    let logs = Logs::stderr();
    assert!(logs.enabled(ServerNo(3), None, level::WARN, "core"));
    assert!(logs.programs().is_empty());
    assert!(logs.restart_program(LogNo(0)).is_err());
    assert!(logs.restart_program(LogNo(9)).is_err());
    logs.stop_programs();
    logs.write(LogNo(9), b"nowhere\n");
}
