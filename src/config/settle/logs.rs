//! Numbers for log targets, formats for nicknames, who writes where.

use crate::config::draft::{Draft, LogDraft, ServerDraft};
use crate::config::frame::Build;
use crate::config::settings::{AccessLog, LogTarget};
use crate::ids::LogNo;

/// `CLF`, the one nickname that is built in, and `TransferLog`'s format where nothing was said.
const COMMON: &str = "%h %l %u %t \"%r\" %>s %b";

/// The targets collected so far.
#[derive(Debug, Default)]
pub struct Logs {
    /// Each distinct target once.
    pub targets: Vec<LogTarget>,
}

impl Logs {
    fn number(&mut self, target: &LogTarget) -> LogNo {
        let at = self.targets.iter().position(|t| t == target);
        let at = at.unwrap_or_else(|| {
            self.targets.push(target.clone());
            self.targets.len() - 1
        });
        LogNo(u16::try_from(at).unwrap_or(u16::MAX))
    }

    /// The error log of each server.
    pub fn error_logs(&mut self, build: &Build, draft: &Draft) -> Vec<LogNo> {
        let fallback = default_error_log(build);
        let mut out = Vec::new();
        for server in &draft.servers {
            let no = match &server.error_log {
                Some((target, _)) => self.number(target),
                None => out
                    .first()
                    .copied()
                    .unwrap_or_else(|| self.number(&fallback)),
            };
            out.push(no);
        }
        out
    }

    /// The access logs of each server: its own, else the main server's; then the global ones.
    pub fn collect(&mut self, build: &mut Build, draft: &Draft) -> Vec<Vec<AccessLog>> {
        let main = &draft.servers[0];
        for server in &draft.servers {
            for log in server.logs.iter().chain(&draft.global_logs) {
                warn_of_nickname(build, log, server, main);
            }
        }
        let mut out = Vec::new();
        for server in &draft.servers {
            let own = if server.logs.is_empty() { main } else { server };
            let all = own.logs.iter().map(|l| (l, server));
            let global = draft.global_logs.iter().map(|l| (l, main));
            out.push(
                all.chain(global)
                    .map(|(l, names)| self.access(l, names, main))
                    .collect(),
            );
        }
        out
    }

    fn access(&mut self, log: &LogDraft, server: &ServerDraft, main: &ServerDraft) -> AccessLog {
        AccessLog {
            target: self.number(&log.place),
            format: format(log.format.as_deref(), server, main),
            condition: log.condition.clone(),
            span: log.span.clone(),
        }
    }
}

/// A nickname's format: the server's own, then the main server's; else the text is the format.
fn format(written: Option<&str>, server: &ServerDraft, main: &ServerDraft) -> String {
    let Some(text) = written else {
        let said = server
            .transfer_format
            .as_ref()
            .or(main.transfer_format.as_ref());
        return said.cloned().unwrap_or_else(|| COMMON.to_string());
    };
    let named = |s: &ServerDraft| {
        let found = s.nicknames.iter().rev().find(|(n, _)| n == text);
        found.map(|(_, f)| f.clone())
    };
    named(server)
        .or_else(|| named(main))
        .unwrap_or_else(|| if text == "CLF" { COMMON } else { text }.to_string())
}

/// A word that is no nickname is a format that writes this word for each request: hardly meant.
fn warn_of_nickname(build: &mut Build, log: &LogDraft, server: &ServerDraft, main: &ServerDraft) {
    let Some(written) = log.format.as_deref() else {
        return;
    };
    let is_word = !written.is_empty() && !written.contains(['%', ' ']);
    if is_word && format(Some(written), server, main) == written {
        build.span = log.span.clone();
        build.warn(format!(
            "no LogFormat has the nickname \"{written}\": each request writes that word; add a line such as LogFormat \"%h %l %u %t \\\"%r\\\" %>s %b\" {written}"
        ));
    }
}

/// Where errors go when no ErrorLog says so: httpd's place if its directory is there.
fn default_error_log(build: &Build) -> LogTarget {
    let directory = build.facts.server_root.join("logs");
    if directory.is_dir() {
        LogTarget::File(directory.join("error_log"))
    } else {
        LogTarget::Stderr
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nicknames_are_looked_for_at_home_first() {
        let mut main = ServerDraft::default();
        main.nicknames.push(("a".into(), "main-a".into()));
        main.nicknames.push(("b".into(), "main-b".into()));
        let mut host = ServerDraft::default();
        host.nicknames.push(("a".into(), "host-a".into()));
        let f = |t| format(Some(t), &host, &main);
        assert_eq!(f("a"), "host-a");
        assert_eq!(f("b"), "main-b");
        assert_eq!(f("CLF"), COMMON);
        assert_eq!(f("common"), "common");
        main.transfer_format = Some("%h".into());
        assert_eq!(format(None, &host, &main), "%h");
    }
}
