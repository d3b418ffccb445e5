//! From the draft to complete [`Settings`]: defaults, inheritance, numbers, checks of the whole.

use super::frame::Build;
use super::settings::Settings;

/// Completes a configuration. Faults are added to `build.complaints` (the settings must not be
/// used then), other things worth saying to `build.notes`. The caller fills `files`.
pub fn settle(build: &mut Build) -> Settings {
    let _ = build;
    todo!()
}
