//! What `-S`, `-M`, `-L`, `-l` and the `DUMP_` names print.

use crate::config::build::Loaded;
use crate::config::dump::{self, Who};
use crate::config::settings::Settings;
use crate::sys::privilege::{Choice, group_name, resolve};

pub use crate::config::dump::{compiled_in as static_modules, directives};

/// Prints a part of a configuration.
pub type Part = fn(&Settings, &Loaded) -> String;

/// The parts by their `-D` names, in the order in which they are printed.
pub const PARTS: [(&str, Part); 5] = [
    ("DUMP_INCLUDES", |_, loaded| dump::includes(&loaded.files)),
    ("DUMP_VHOSTS", |settings, _| dump::vhosts(settings)),
    ("DUMP_RUN_CFG", |settings, _| {
        dump::run_cfg(settings, who(settings))
    }),
    ("DUMP_MODULES", |settings, _| dump::loaded_modules(settings)),
    ("DUMP_CONFIG", |_, loaded| dump::config(&loaded.tree)),
];

/// Whom the children would run as.
fn who(settings: &Settings) -> Who {
    let process = &settings.process;
    match resolve(process.user.as_deref(), process.group.as_deref()) {
        Ok(Choice::Become { identity, .. }) => Who {
            user: Some((identity.user, identity.uid)),
            group: Some((group_name(identity.gid), identity.gid)),
        },
        _ => Who::default(),
    }
}
