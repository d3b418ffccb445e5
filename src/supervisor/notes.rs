//! What the supervisor tells the operator at a start or a reload.

use std::path::Path;

use super::beacons;
use super::estate::{Estate, children, cpus};
use crate::config::settings::Note;
use crate::log;
use crate::sys::privilege::{self, Choice};

/// Says what this configuration's reader should know, and was not told by the one before.
pub fn say_all(estate: &Estate, before: Option<&Estate>) {
    let settings = &estate.settings;
    let known = |n: &Note| before.is_some_and(|b| b.settings.notes.contains(n));
    for note in settings.notes.iter().filter(|n| !known(n)) {
        say(note);
    }
    if let Some(text) = &estate.noticed {
        log::notice("proxy_balancer", text);
    }
    let told = [
        ("proxy_balancer", &estate.restored),
        ("proxy_beacon", &estate.remembered),
    ];
    for (target, list) in told {
        let heard = target != "proxy_beacon" || !settings.receivers.is_empty();
        for (warning, text) in list.iter().filter(|_| heard) {
            let level = match warning {
                true => ::log::Level::Warn,
                false => ::log::Level::Info,
            };
            ::log::log!(target: target, level, "{text}");
        }
    }
    for text in before.map_or(Vec::new(), |b| beacons::orphans(estate, b)) {
        ::log::warn!(target: "proxy_beacon", "{text}");
    }
    for text in estate.assignment.dropped() {
        ::log::warn!(target: "proxy_balancer", "{text}");
    }
    for text in estate.assignment.overruled() {
        ::log::info!(target: "proxy_balancer", "{text}");
    }
    let same = before.is_some_and(|b| {
        b.children == estate.children
            && b.identity == estate.identity
            && b.settings.process.user == settings.process.user
    });
    if same {
        return;
    }
    let process = &settings.process;
    let wanted = process.start_servers.unwrap_or_else(cpus);
    let given = children(settings);
    if given < wanted {
        ::log::warn!(
            target: "core",
            "{wanted} children are more than ServerLimit {}: starting {given}",
            process.server_limit
        );
    } else if given < cpus() {
        log::notice(
            "core",
            &format!(
                "StartServers {given} is below the number of CPUs ({}): a child uses one CPU; without StartServers there is a child for each",
                cpus()
            ),
        );
    }
    match &estate.identity {
        Choice::Unchanged if process.user.is_some() => log::notice(
            "core",
            "not started as root: User and Group have no effect, children run as this user",
        ),
        Choice::Become {
            identity,
            assumed: true,
        } => ::log::warn!(
            target: "core",
            "started as root without User: children run as {}; set User and Group",
            identity.user
        ),
        Choice::Unchanged | Choice::Become { .. } => {}
    }
}

/// Raises the limit of descriptors, and says when that leaves few.
pub fn raise_limits() {
    match privilege::raise_descriptor_limit(WANTED_DESCRIPTORS) {
        Ok(n) if n < FEW_DESCRIPTORS => ::log::warn!(
            target: "core",
            "at most {n} open descriptors a child (two for each proxied connection); raise the hard limit with ulimit -Hn or LimitNOFILE"
        ),
        Ok(_) => {}
        Err(e) => {
            ::log::warn!(target: "core", "could not raise the limit of open descriptors: {e}")
        }
    }
}

const WANTED_DESCRIPTORS: u64 = 65_536;
const FEW_DESCRIPTORS: u64 = 4096;

/// What a configuration names that only a stop and start changes: `used` are the pid file and the
/// slot table that this supervisor holds since its start, `wanted` those that are configured now.
pub fn unchanged_names(used: [&Path; 2], wanted: [&Path; 2]) -> Vec<String> {
    let names = ["PidFile", "ScoreBoardFile"];
    let files = used.into_iter().zip(wanted);
    names
        .into_iter()
        .zip(files)
        .filter(|(_, (used, wanted))| used != wanted)
        .map(|(name, (used, wanted))| {
            format!(
                "{name} stays {} until the next full start; the configuration says {}",
                used.display(),
                wanted.display()
            )
        })
        .collect()
}

fn say(note: &Note) {
    let text = format!("{} ({})", note.text, note.span);
    if note.warning {
        ::log::warn!(target: "core", "{text}");
    } else {
        ::log::info!(target: "core", "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_stay_are_the_ones_in_use() {
        let used = [Path::new("/run/a.pid"), Path::new("/run/a.table")];
        assert!(unchanged_names(used, used).is_empty());
        let wanted = [Path::new("/run/b.pid"), used[1]];
        assert_eq!(
            unchanged_names(used, wanted),
            [
                "PidFile stays /run/a.pid until the next full start; the configuration says /run/b.pid"
            ]
        );
    }
}
