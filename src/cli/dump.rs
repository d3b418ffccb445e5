//! What `-S`, `-M`, `-L`, `-l` and the `DUMP_` names print.

use crate::config::settings::Settings;

/// Prints a part of a configuration.
pub type Part = fn(&Settings) -> String;

/// The parts by their `-D` names, in the order in which they are printed.
pub const PARTS: [(&str, Part); 0] = [];

/// `-l`
pub fn static_modules() -> String {
    "Compiled in modules:\n  core.c\n".into()
}

/// `-L`
pub fn directives() -> String {
    String::new()
}
