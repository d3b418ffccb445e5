//! Whether the directories that logs are written to are there, as `-t` and a start ask.

use std::fs;
use std::path::Path;

use super::diagnostic::Complaint;
use super::include::reason;
use super::settings::{LogTarget, Settings};
use crate::ids::LogNo;

/// What is missing, in httpd's words.
pub fn check(settings: &Settings) -> Vec<Complaint> {
    let mut texts = Vec::new();
    for server in &settings.servers {
        let main = server.no.index() == 0;
        let error_log = directory(settings, server.error_log);
        let own = main || server.error_log != settings.servers[0].error_log;
        if let Some((dir, why)) = error_log.filter(|_| own) {
            let what = match main {
                true => "main error log".to_string(),
                false => format!("error log of vhost defined at {}", server.span),
            };
            texts.push(format!(
                "{why}: AH02291: Cannot access directory '{dir}' for {what}"
            ));
        }
        for log in &server.access_logs {
            if let Some((dir, why)) = directory(settings, log.target) {
                let file = match &settings.log_targets[log.target.index()] {
                    LogTarget::File(path) => path.display().to_string(),
                    _ => String::new(),
                };
                let text = format!(
                    "{why}: AH02297: Cannot access directory '{dir}' for log file '{file}' defined at {}",
                    log.span
                );
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
    }
    if !texts.is_empty() {
        texts.push("AH00014: Configuration check failed".to_string());
    }
    texts.into_iter().map(Complaint::plain).collect()
}

/// A log's directory and why it cannot be used; `None`: it can, or the log is no file.
fn directory(settings: &Settings, log: LogNo) -> Option<(String, String)> {
    let LogTarget::File(path) = settings.log_targets.get(log.index())? else {
        return None;
    };
    let dir = path.parent().unwrap_or(Path::new("/"));
    let shown = format!("{}/", dir.display().to_string().trim_end_matches('/'));
    match fs::metadata(dir) {
        Ok(meta) if meta.is_dir() => None,
        Ok(_) => Some((shown, "(20)Not a directory".to_string())),
        Err(e) => {
            let number = e.raw_os_error().unwrap_or(0);
            Some((shown, format!("({number}){}", reason(&e))))
        }
    }
}
