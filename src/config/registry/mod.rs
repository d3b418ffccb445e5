//! The table of all directives: what `-L` prints, what parsing checks against, and which code
//! each name runs. One file per family of modules.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::args::Args;
use super::frame::Build;

mod access;
mod content;
mod core;
mod filter;
pub mod foreign;
mod http2;
mod other;
mod places;
mod process;
mod proxy;
mod request;
mod tls;

pub use places::Places;

/// One directive.
#[derive(Clone, Copy, Debug)]
pub struct Directive {
    /// Its name as documented; sections without `<` and `>`.
    pub name: &'static str,
    /// Whether it opens a section.
    pub section: bool,
    /// The module that defines it, as its source file is called (`mod_proxy`, `core`).
    pub module: &'static str,
    /// Where it may stand.
    pub places: Places,
    /// How many arguments it takes.
    pub args: ArgSpec,
    /// Its default as it would be written; empty for none.
    pub default: &'static str,
    /// What it does, in the imperative and without a full stop.
    pub help: &'static str,
    /// What muster makes of it.
    pub class: Class,
}

impl Directive {
    /// The name as messages show it: `<Location` for a section.
    pub fn shown(&self) -> String {
        format!("{}{}", if self.section { "<" } else { "" }, self.name)
    }
}

/// What muster makes of a directive.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    /// It has its effect: this function stores its value.
    Works(Setter),
    /// A section that has its effect.
    Opens(Opener),
    /// It acts while the file is read (`Include`, `Define`, `<IfModule>` ...): `resolve` does it.
    OnRead,
    /// It has no meaning here; the reason. Accepted, mentioned once at start. Never for a
    /// directive that restricts access or protects.
    NoMeaning(&'static str),
    /// Presentation or saving only, not there yet; what is missing. Accepted with one warning.
    /// Never for a directive that restricts access or protects.
    NotYet(&'static str),
    /// Refused; its help says what it would have done.
    NotThere,
}

/// Stores a directive's value. The error is the message's text; file and line are added.
/// The table's argument count and places have been checked before it is called.
pub type Setter = fn(&mut Build, &Args) -> Result<(), String>;

/// What a section does at its two ends.
#[derive(Clone, Copy, Debug)]
pub struct Opener {
    /// Called with the arguments: pushes exactly one [`super::frame::Scope`] by [`Build::open`]
    /// (`<VirtualHost>` pushes none and changes the current server).
    pub open: Setter,
    /// Called at the end with the scope taken off the stack; stores what has been collected.
    pub close: fn(&mut Build, super::frame::Scope) -> Result<(), String>,
}

/// How many arguments a directive takes (httpd's cmd_how).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgSpec {
    /// None at all.
    None,
    /// Exactly one.
    One,
    /// Exactly two.
    Two,
    /// Exactly three.
    Three,
    /// One or two.
    OneOrTwo,
    /// Two or three.
    TwoOrThree,
    /// One, two or three.
    OneToThree,
    /// One or three.
    OneOrThree,
    /// One or more.
    Each,
    /// Two or more: the second and following each with the first.
    EachAfterFirst,
    /// On or Off.
    Flag,
    /// Anything: the setter looks at it.
    Raw,
}

impl ArgSpec {
    /// What is wrong with this number of words, in httpd's words; `None`: nothing.
    pub fn fault(self, words: usize) -> Option<&'static str> {
        let (fits, text) = match self {
            ArgSpec::None => (words == 0, "takes no arguments"),
            ArgSpec::One => (words == 1, "takes one argument"),
            ArgSpec::Two => (words == 2, "takes two arguments"),
            ArgSpec::Three => (words == 3, "takes three arguments"),
            ArgSpec::OneOrTwo => ((1..=2).contains(&words), "takes 1-2 arguments"),
            ArgSpec::TwoOrThree => ((2..=3).contains(&words), "takes two or three arguments"),
            ArgSpec::OneToThree => (
                (1..=3).contains(&words),
                "takes one, two or three arguments",
            ),
            ArgSpec::OneOrThree => (words == 1 || words == 3, "takes one or three arguments"),
            ArgSpec::Each => (words > 0, "requires at least one argument"),
            ArgSpec::EachAfterFirst => (words > 1, "requires at least two arguments"),
            ArgSpec::Flag | ArgSpec::Raw => (true, ""),
        };
        (!fits).then_some(text)
    }
}

/// All directives, family by family.
pub fn all() -> impl Iterator<Item = &'static Directive> {
    let families: [&'static [Directive]; 10] = [
        core::TABLE,
        process::TABLE,
        proxy::TABLE,
        access::TABLE,
        content::TABLE,
        request::TABLE,
        filter::TABLE,
        tls::TABLE,
        http2::TABLE,
        other::TABLE,
    ];
    families.into_iter().flatten()
}

/// The directive with this name, in any letter case.
pub fn find(name: &str, section: bool) -> Option<&'static Directive> {
    type Key = (bool, String);
    static INDEX: LazyLock<HashMap<Key, &'static Directive>> = LazyLock::new(|| {
        let key = |d: &Directive| (d.section, d.name.to_ascii_lowercase());
        all().map(|d| (key(d), d)).collect()
    });
    INDEX.get(&(section, name.to_ascii_lowercase())).copied()
}

/// A family's table: `"Name" [PLACES] ArgSpec "default" "help" => Class;` under `module "x":`.
macro_rules! table {
    ($(module $module:literal: $(
        $name:literal [$($place:ident)|+] $args:ident $default:literal $help:literal
            => $class:expr;
    )*)*) => {
        pub(super) const TABLE: &[super::Directive] = &[$($(super::entry(
            $name,
            $module,
            super::Places(0)$(.and(super::Places::$place))+,
            super::ArgSpec::$args,
            [$default, $help],
            $class,
        ),)*)*];
    };
}
use table;

const fn entry(
    name: &'static str,
    module: &'static str,
    places: Places,
    args: ArgSpec,
    [default, help]: [&'static str; 2],
    class: Class,
) -> Directive {
    let section = name.as_bytes()[0] == b'<';
    let name = if section {
        name.split_at(name.len() - 1).0.split_at(1).1
    } else {
        name
    };
    Directive {
        name,
        section,
        module,
        places,
        args,
        default,
        help,
        class,
    }
}

#[cfg(test)]
mod tests;
