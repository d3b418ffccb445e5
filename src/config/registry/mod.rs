//! The table of all directives: what `-L` prints, what parsing checks against, and which code
//! each name runs.

use super::args::Args;
use super::frame::Build;

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
    /// One line that says what it does.
    pub help: &'static str,
    /// What muster makes of it.
    pub class: Class,
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
    /// It has no meaning here; the reason. Accepted, mentioned once at start.
    NoMeaning(&'static str),
    /// Presentation or saving only, not there yet; what is missing. Accepted with one warning.
    NotYet(&'static str),
    /// Refused; what it would have done.
    NotThere(&'static str),
}

/// Stores a directive's value. The error is the message's text; file and line are added.
/// The table's argument count and places have been checked before it is called.
pub type Setter = fn(&mut Build, &Args) -> Result<(), String>;

/// What a section does at its two ends.
#[derive(Clone, Copy, Debug)]
pub struct Opener {
    /// Called with the arguments: pushes exactly one [`super::frame::Scope`] by [`Build::open`].
    pub open: Setter,
    /// Called at the end with the scope taken off the stack; stores what has been collected.
    pub close: fn(&mut Build, super::frame::Scope) -> Result<(), String>,
}

/// Where a directive may stand (httpd's override classes and context checks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places(pub u16);

impl Places {
    /// Directly in the main server.
    pub const S: Places = Places(1);
    /// Directly in a `<VirtualHost>`.
    pub const V: Places = Places(2);
    /// In a section.
    pub const D: Places = Places(4);
    /// In a .htaccess file (which muster does not read; for `-L`).
    pub const H: Places = Places(8);
    /// Not inside `<Limit>` or `<LimitExcept>`.
    pub const NOT_IN_LIMIT: Places = Places(16);
    /// Not inside `<Directory>`.
    pub const NOT_IN_DIRECTORY: Places = Places(32);
    /// Not inside `<Location>`.
    pub const NOT_IN_LOCATION: Places = Places(64);
    /// Not inside `<Files>`.
    pub const NOT_IN_FILES: Places = Places(128);
    /// Not inside `<Proxy>`.
    pub const NOT_IN_PROXY: Places = Places(256);

    /// Both.
    pub const fn and(self, other: Places) -> Places {
        Places(self.0 | other.0)
    }

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Places) -> bool {
        self.0 & other.0 == other.0
    }
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

/// The directive with this name, in any letter case.
pub fn find(name: &str, section: bool) -> Option<&'static Directive> {
    let _ = (name, section);
    None
}
