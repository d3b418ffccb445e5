//! Health checks in the table: what is to be checked how, and what came of it.
//!
//! The parameters are written by the supervisor when it assigns rows (later also by the manager),
//! the results by the watchdog's holder alone. What a check means for the member's status is
//! decided by its caller; the steps here are single atomic ones.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use super::assign::WorkerRow;
use super::record::{HealthSlot, WorkerSlot};
use super::scoreboard::Scoreboard;
use super::status;
use super::traffic;
use crate::clock::{self, Mono};
use crate::config::health::{HealthMethod, HealthParams, MAX_EXPRESSION_NAME, MAX_URI};

/// A copy of a member's health slot and what belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthState {
    /// How it is checked.
    pub method: HealthMethod,
    /// From the end of a check to the beginning of the next.
    pub interval: Duration,
    /// Good checks in a row that enable.
    pub passes: u32,
    /// Bad checks in a row that disable.
    pub fails: u32,
    /// Good checks in a row so far, while down.
    pub passed: u32,
    /// Bad checks in a row so far, while up.
    pub failed: u32,
    /// When the last check began.
    pub began: Mono,
    /// When it ended, or when the method was set.
    pub ended: Mono,
    /// The process that makes a check now; 0: none.
    pub owner: u32,
    /// The member's status bits.
    pub status: u32,
    /// Changes with the URI and the expression's name.
    pub version: u32,
    /// How often the worker's row was taken: a check of an earlier one says nothing.
    pub taken: u32,
}

/// A copy of its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthTexts {
    /// `HealthState::version` when the copy was made.
    pub version: u32,
    /// `hcuri`.
    pub uri: String,
    /// `hcexpr`.
    pub expression: String,
}

/// A step that a check makes the member take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthStep {
    /// None.
    Stay,
    /// Out of "check failed" and out of error.
    Enable,
    /// Into "check failed".
    Disable,
}

/// For people and programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthInfo {
    /// Numbers.
    pub state: HealthState,
    /// Texts.
    pub texts: HealthTexts,
    /// Checks that were made.
    pub checks: u32,
    /// Those that were bad.
    pub bad: u32,
}

impl Scoreboard {
    fn health_slots(&self, row: WorkerRow) -> Option<(&WorkerSlot, &HealthSlot)> {
        let row = usize::from(row.0);
        Some((self.table.worker(row)?, self.table.health(row)?))
    }

    /// The member's health checks.
    pub fn health(&self, row: WorkerRow) -> Option<HealthState> {
        self.health_slots(row).map(|(w, h)| state(w, h))
    }

    /// Their texts.
    pub fn health_texts(&self, row: WorkerRow) -> HealthTexts {
        self.health_slots(row)
            .map_or_else(HealthTexts::default, |(_, h)| texts(h))
    }

    /// The parameters as they stand now.
    pub fn health_params(&self, row: WorkerRow) -> HealthParams {
        self.health_slots(row)
            .map_or_else(HealthParams::default, |(_, h)| as_params(h))
    }

    /// Changes the parameters by hand (they stay until their configuration changes). A member that
    /// gets a method for the first time is checked after one interval.
    pub fn set_health(&self, row: WorkerRow, p: &HealthParams) {
        if let Some((_, h)) = self.health_slots(row) {
            set(h, p);
        }
    }

    /// Watchdog: a check begins. `owner`: this process.
    pub fn health_begins(&self, row: WorkerRow, now: Mono, owner: u32) {
        if let Some((_, h)) = self.health_slots(row) {
            h.began.store(now.0, Relaxed);
            h.owner.store(owner, Release);
        }
    }

    /// Watchdog: a check ended without a result that counts.
    pub fn health_abandoned(&self, row: WorkerRow, now: Mono) {
        if let Some((_, h)) = self.health_slots(row) {
            h.ended.store(now.0, Relaxed);
            h.owner.store(0, Release);
        }
    }

    /// Watchdog: whoever made a check is gone, and the check with it; it is as due as before.
    pub fn health_forgotten(&self, row: WorkerRow) {
        if let Some((_, h)) = self.health_slots(row) {
            h.owner.store(0, Release);
        }
    }

    /// Watchdog: a check ended. `counts`: good and bad ones in a row from now on.
    pub fn health_ended(
        &self,
        row: WorkerRow,
        now: Mono,
        good: bool,
        counts: (u32, u32),
        step: HealthStep,
    ) {
        let Some((w, h)) = self.health_slots(row) else {
            return;
        };
        h.passed.store(counts.0, Relaxed);
        h.failed.store(counts.1, Relaxed);
        h.checks.fetch_add(1, Relaxed);
        if !good {
            h.bad.fetch_add(1, Relaxed);
            if w.status.load(Relaxed) & (status::HEALTH_FAILED | status::ERROR) == 0 {
                w.error_time.store(now.0, Relaxed);
            }
        }
        match step {
            HealthStep::Stay => {}
            HealthStep::Enable => {
                let failed = status::HEALTH_FAILED | status::ERROR;
                if w.status.load(Relaxed) & failed != 0 {
                    // Before the bits, so that whoever sees it usable sees the time.
                    traffic::joins(&self.table, usize::from(row.0), w);
                    w.recovered.store(now.0, Relaxed);
                }
                w.status.fetch_and(!failed, Release);
            }
            HealthStep::Disable => {
                w.status.fetch_or(status::HEALTH_FAILED, Release);
            }
        }
        self.health_abandoned(row, now);
    }
}

/// The supervisor's part: what the configuration says. `kept`: the row was the same worker's before.
pub(super) fn configure(w: &WorkerSlot, h: &HealthSlot, p: &HealthParams, kept: bool) {
    if !kept {
        set(h, p);
    } else {
        // What was changed by hand stays as long as its text in the configuration does.
        let mut merged = as_params(h);
        if h.conf_method.load(Relaxed) != p.method as u32 {
            merged.method = p.method;
        }
        if h.conf_passes.load(Relaxed) != p.passes {
            merged.passes = p.passes;
        }
        if h.conf_fails.load(Relaxed) != p.fails {
            merged.fails = p.fails;
        }
        if h.conf_interval_ms.load(Relaxed) != millis(p.interval) {
            merged.interval = p.interval;
        }
        if h.conf_uri.load(Relaxed) != digest(&p.uri) {
            merged.uri = p.uri.clone();
        }
        if h.conf_expression.load(Relaxed) != digest(&p.expression) {
            merged.expression = p.expression.clone();
        }
        set(h, &merged);
    }
    h.conf_method.store(p.method as u32, Relaxed);
    h.conf_passes.store(p.passes, Relaxed);
    h.conf_fails.store(p.fails, Relaxed);
    h.conf_interval_ms.store(millis(p.interval), Relaxed);
    h.conf_uri.store(digest(&p.uri), Relaxed);
    h.conf_expression.store(digest(&p.expression), Relaxed);
    // Nobody would ever find it well again.
    if kept && !is_checked(h) && h.checks.load(Relaxed) > 0 {
        h.checks.store(0, Relaxed);
        if w.conf_status.load(Relaxed) & status::HEALTH_FAILED == 0 {
            w.status.fetch_and(!status::HEALTH_FAILED, Relaxed);
        }
    }
}

/// Whether anybody finds the member well or ill.
pub(super) fn is_checked(h: &HealthSlot) -> bool {
    h.method.load(Relaxed) != HealthMethod::None as u32
}

/// For `overruled`.
pub(super) fn fields(h: &HealthSlot) -> [(&'static str, u64, u64); 6] {
    let p = as_params(h);
    let number = |n: &AtomicU32| u64::from(n.load(Relaxed));
    [
        ("hcmethod", p.method as u64, number(&h.conf_method)),
        ("hcpasses", p.passes.into(), number(&h.conf_passes)),
        ("hcfails", p.fails.into(), number(&h.conf_fails)),
        (
            "hcinterval",
            millis(p.interval),
            h.conf_interval_ms.load(Relaxed),
        ),
        ("hcuri", digest(&p.uri), h.conf_uri.load(Relaxed)),
        (
            "hcexpr",
            digest(&p.expression),
            h.conf_expression.load(Relaxed),
        ),
    ]
}

/// From an older table.
pub(super) fn copy(a: &HealthSlot, b: &HealthSlot) {
    set(b, &as_params(a));
    let words: [(&AtomicU32, &AtomicU32); 7] = [
        (&a.passed, &b.passed),
        (&a.failed, &b.failed),
        (&a.checks, &b.checks),
        (&a.bad, &b.bad),
        (&a.conf_method, &b.conf_method),
        (&a.conf_passes, &b.conf_passes),
        (&a.conf_fails, &b.conf_fails),
    ];
    for (from, to) in words {
        to.store(from.load(Relaxed), Relaxed);
    }
    for (from, to) in [
        (&a.began, &b.began),
        (&a.ended, &b.ended),
        (&a.conf_interval_ms, &b.conf_interval_ms),
        (&a.conf_uri, &b.conf_uri),
        (&a.conf_expression, &b.conf_expression),
    ] {
        to.store(from.load(Relaxed), Relaxed);
    }
}

/// For snapshots; `None` where nothing is or was checked.
pub(super) fn info(w: &WorkerSlot, h: &HealthSlot) -> Option<HealthInfo> {
    let state = state(w, h);
    let checks = h.checks.load(Relaxed);
    if state.method == HealthMethod::None && checks == 0 {
        return None;
    }
    Some(HealthInfo {
        state,
        texts: texts(h),
        checks,
        bad: h.bad.load(Relaxed),
    })
}

fn state(w: &WorkerSlot, h: &HealthSlot) -> HealthState {
    HealthState {
        method: HealthMethod::from_number(h.method.load(Relaxed)).unwrap_or_default(),
        interval: Duration::from_millis(h.interval_ms.load(Relaxed)),
        passes: h.passes.load(Relaxed),
        fails: h.fails.load(Relaxed),
        passed: h.passed.load(Relaxed),
        failed: h.failed.load(Relaxed),
        owner: h.owner.load(Acquire),
        began: Mono(h.began.load(Relaxed)),
        ended: Mono(h.ended.load(Relaxed)),
        status: w.status.load(Acquire),
        version: h.seq.version(),
        taken: w.taken.load(Relaxed),
    }
}

fn texts(h: &HealthSlot) -> HealthTexts {
    let version = h.seq.version();
    h.seq.read(|| HealthTexts {
        version,
        uri: h.uri.string(),
        expression: h.expression.string(),
    })
}

fn as_params(h: &HealthSlot) -> HealthParams {
    let texts = texts(h);
    HealthParams {
        method: HealthMethod::from_number(h.method.load(Relaxed)).unwrap_or_default(),
        interval: Duration::from_millis(h.interval_ms.load(Relaxed)),
        passes: h.passes.load(Relaxed),
        fails: h.fails.load(Relaxed),
        uri: texts.uri,
        expression: texts.expression,
    }
}

fn set(h: &HealthSlot, p: &HealthParams) {
    let before = h.method.swap(p.method as u32, Relaxed);
    if before == HealthMethod::None as u32 {
        // The first check comes one interval from now.
        h.ended.store(clock::read_mono().0, Relaxed);
    }
    h.interval_ms.store(millis(p.interval), Relaxed);
    h.passes.store(p.passes, Relaxed);
    h.fails.store(p.fails, Relaxed);
    if !h.uri.is(p.uri.as_bytes()) || !h.expression.is(p.expression.as_bytes()) {
        h.seq.write(|| {
            h.uri.set(p.uri.as_bytes());
            h.expression.set(p.expression.as_bytes());
        });
    }
}

/// Nothing is checked in this row, and nothing of its former member is left: checks that are set by
/// hand start from the defaults, and a configuration that names the member is new to it.
pub(super) fn clear(h: &HealthSlot) {
    set(h, &HealthParams::default());
    for word in [&h.conf_method, &h.conf_passes, &h.conf_fails] {
        word.store(u32::MAX, Relaxed);
    }
    for word in [&h.conf_interval_ms, &h.conf_uri, &h.conf_expression] {
        word.store(u64::MAX, Relaxed);
    }
    for word in [&h.method, &h.passed, &h.failed, &h.owner, &h.checks, &h.bad] {
        word.store(0, Relaxed);
    }
    for word in [&h.began, &h.ended, &h.heartbeat_seen] {
        word.store(0, Relaxed);
    }
}

fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}

/// Tells one configured text from another (FNV-1a); there is no room for a second copy.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// From a saved record: each parameter unless its configuration has changed since. `added`: the
/// member has no configuration. `told` hears the names of the others.
pub(super) fn restore<'a>(
    h: &HealthSlot,
    added: bool,
    number: impl Fn(&str) -> Option<u64>,
    text: impl Fn(&str) -> Option<&'a str>,
    mut told: impl FnMut(&str),
) {
    let mut same = |key: &str, now: u64| {
        let saved = number(key);
        let same = added || saved == Some(now);
        if !same && saved.is_some() {
            told(key.trim_start_matches("conf_"));
        }
        same
    };
    let short = |key: &str| number(key).and_then(|n| u32::try_from(n).ok());
    let mut p = as_params(h);
    if same("conf_hcmethod", h.conf_method.load(Relaxed).into())
        && let Some(m) = short("hcmethod").and_then(HealthMethod::from_number)
    {
        p.method = m;
    }
    if same("conf_hcpasses", h.conf_passes.load(Relaxed).into())
        && let Some(n) = short("hcpasses").filter(|n| *n > 0)
    {
        p.passes = n;
    }
    if same("conf_hcfails", h.conf_fails.load(Relaxed).into())
        && let Some(n) = short("hcfails").filter(|n| *n > 0)
    {
        p.fails = n;
    }
    if same("conf_hcinterval", h.conf_interval_ms.load(Relaxed))
        && let Some(ms) = number("hcinterval").filter(|ms| (100..=1 << 40).contains(ms))
    {
        p.interval = Duration::from_millis(ms);
    }
    if same("conf_hcuri", h.conf_uri.load(Relaxed))
        && let Some(uri) = text("hcuri").filter(|t| t.len() <= MAX_URI)
    {
        p.uri = uri.to_owned();
    }
    if same("conf_hcexpr", h.conf_expression.load(Relaxed))
        && let Some(name) = text("hcexpr").filter(|t| t.len() <= MAX_EXPRESSION_NAME)
    {
        p.expression = name.to_owned();
    }
    set(h, &p);
}
