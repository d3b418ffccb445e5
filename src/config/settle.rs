//! From the draft to complete [`Settings`]: defaults, inheritance, numbers, checks of the whole.
//!
//! `settle::servers` resolves what virtual hosts take over, `settle::workers` gives balancers and
//! workers their numbers, `settle::logs` collects targets and formats.

mod beacon;
mod logs;
mod mime;
mod servers;
mod warnings;
mod workers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::draft::Draft;
use super::frame::Build;
use super::settings::{Listen, Process, Settings};
use crate::ids::ListenNo;

/// httpd's bound on the number of children where ServerLimit says nothing.
const DEFAULT_SERVER_LIMIT: u32 = 256;
/// httpd's ListenBackLog.
const DEFAULT_BACKLOG: u32 = 511;

/// Completes a configuration. Faults are added to `build.complaints` (the settings must not be
/// used then), other things worth saying to `build.notes`. The caller fills `files`.
pub fn settle(build: &mut Build) -> Settings {
    let mut draft = std::mem::take(&mut build.draft);
    let process = process(build, &draft);
    let listens = listens(&draft);
    let mime_types = mime::types(build, draft.types_config.take());
    let mut logs = logs::Logs::default();
    let access = logs.collect(build, &draft);
    let error = logs.error_logs(build, &draft);
    let resolved = workers::number(build, &mut draft);
    let drafts = draft.servers.iter_mut();
    let beacons = drafts.map(|s| std::mem::take(&mut s.beacon)).collect();
    let servers = servers::resolve(build, &mut draft, access, error, resolved.places);
    warnings::unreachable_rules(build, &servers);
    warnings::open_managers(build, &servers);
    let (receivers, senders) =
        beacon::resolve(build, beacons, &servers, &listens, &resolved.balancers);
    Settings {
        server_root: build.facts.server_root.clone(),
        process,
        listens,
        servers,
        balancers: resolved.balancers,
        workers: resolved.workers,
        receivers,
        senders,
        log_targets: logs.targets,
        mime_types,
        notes: build.notes.clone(),
        defines: build.facts.defines.clone(),
        files: Vec::new(),
        modules: build.facts.modules.clone(),
        server_tokens: draft.server_tokens.unwrap_or_default(),
        extended_status: draft.extended_status.unwrap_or(true),
        see_request_tail: draft.see_request_tail.unwrap_or(false),
    }
}

fn process(build: &mut Build, draft: &Draft) -> Process {
    let p = &draft.process;
    let server_limit = p.server_limit.unwrap_or(DEFAULT_SERVER_LIMIT);
    let mut start_servers = p.start_servers;
    if let Some(n) = start_servers.filter(|n| *n > server_limit) {
        build.warn(format!(
            "StartServers of {n} exceeds ServerLimit of {server_limit}, decreasing to it"
        ));
        start_servers = Some(server_limit);
    }
    let short = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
    let facts = &build.facts;
    let below = match facts.runtime_dir_is_set {
        true => &facts.runtime_dir,
        false => &facts.server_root,
    };
    let pid_file = match &p.pid_file {
        Some(path) => below.join(path),
        None => facts.runtime_dir.join("muster.pid"),
    };
    let scoreboard_file = match &p.scoreboard_file {
        Some(path) => below.join(path),
        None => beside(&pid_file),
    };
    Process {
        scoreboard_file,
        pid_file,
        runtime_dir: facts.runtime_dir.clone(),
        user: p.user.as_ref().map(|(name, _)| name.clone()),
        group: p.group.as_ref().map(|(name, _)| name.clone()),
        start_servers: start_servers.map(short),
        server_limit: short(server_limit),
        max_request_workers: p.max_request_workers,
        max_connections_per_child: p.max_connections_per_child.unwrap_or(0),
        watchdog_interval: p.watchdog_interval.unwrap_or(Duration::from_secs(1)),
        heartbeat_address: p.heartbeat_address,
        heartbeat_listen: p.heartbeat_listen,
        heartbeat_max_servers: p.heartbeat_max_servers.unwrap_or(10),
        heartbeat_storage: p
            .heartbeat_storage
            .clone()
            .unwrap_or_else(|| build.runtime_path("hb.dat")),
        health_checks_at_once: p.health_checks_at_once.unwrap_or(16).max(1),
        graceful_shutdown_timeout: p.graceful_shutdown_timeout.unwrap_or_default(),
        listen_backlog: p.listen_backlog.unwrap_or(DEFAULT_BACKLOG),
        send_buffer: p.send_buffer.unwrap_or(0),
        receive_buffer: p.receive_buffer.unwrap_or(0),
        core_dump_directory: p.core_dump_directory.clone(),
    }
}

/// The scoreboard's default place: beside the pid file and with its stem, so that two instances
/// that differ in the pid file alone do not meet in one table.
fn beside(pid_file: &Path) -> PathBuf {
    let stem = pid_file.file_stem().unwrap_or("muster".as_ref());
    let mut name = stem.to_os_string();
    name.push(".scoreboard");
    pid_file.with_file_name(name)
}

fn listens(draft: &Draft) -> Vec<Listen> {
    let defer = |protocol: &str| {
        let said = draft.accept_filters.iter().find(|(p, _)| p == protocol);
        // httpd's default on Linux: data for both.
        said.map_or(matches!(protocol, "http" | "https"), |(_, on)| *on)
    };
    let number = |i: usize| ListenNo(u16::try_from(i).unwrap_or(u16::MAX));
    let listen = |(i, l): (usize, &super::draft::ListenDraft)| {
        let https = l.address.port() == 443;
        let protocol = l
            .protocol
            .clone()
            .unwrap_or_else(|| if https { "https" } else { "http" }.to_string());
        Listen {
            no: number(i),
            address: l.address,
            any: l.any,
            defer: defer(&protocol),
            protocol,
            span: l.span.clone(),
        }
    };
    draft.listens.iter().enumerate().map(listen).collect()
}

#[cfg(test)]
mod tests;
