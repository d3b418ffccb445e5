//! What is configured of members' health checks (spec: health 1).

use std::borrow::Cow;
use std::time::Duration;

use crate::expr::{Expression, FILE_TESTS, FUNCTIONS, VARIABLES, Vocabulary};

/// `hcmethod`. The numbers stand in the scoreboard and are httpd's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum HealthMethod {
    /// Never checked.
    #[default]
    None = 0,
    /// A connection is made.
    Tcp = 1,
    /// `OPTIONS *` in HTTP/1.0.
    Options = 2,
    /// `HEAD`.
    Head = 3,
    /// `GET`.
    Get = 4,
    /// `OPTIONS *` in HTTP/1.1.
    Options11 = 7,
    /// `HEAD` in HTTP/1.1.
    Head11 = 8,
    /// `GET` in HTTP/1.1.
    Get11 = 9,
}

impl HealthMethod {
    const ALL: [HealthMethod; 8] = [
        HealthMethod::None,
        HealthMethod::Tcp,
        HealthMethod::Options,
        HealthMethod::Head,
        HealthMethod::Get,
        HealthMethod::Options11,
        HealthMethod::Head11,
        HealthMethod::Get11,
    ];

    /// From its name in any letter case. `Err`: httpd's text.
    pub fn parse(name: &str) -> Result<HealthMethod, String> {
        if let Some(method) = Self::ALL
            .into_iter()
            .find(|m| m.name().eq_ignore_ascii_case(name))
        {
            return Ok(method);
        }
        if name.eq_ignore_ascii_case("CPING") || name.eq_ignore_ascii_case("PROVIDER") {
            return Err(format!(
                "Health check method {name} not (yet) implemented; {KNOWN}"
            ));
        }
        Err(format!("Unknown method; {KNOWN}"))
    }

    /// From the scoreboard's number.
    pub fn from_number(n: u32) -> Option<HealthMethod> {
        Self::ALL.into_iter().find(|m| *m as u32 == n)
    }

    /// As it is written and shown.
    pub fn name(self) -> &'static str {
        match self {
            HealthMethod::None => "NONE",
            HealthMethod::Tcp => "TCP",
            HealthMethod::Options => "OPTIONS",
            HealthMethod::Head => "HEAD",
            HealthMethod::Get => "GET",
            HealthMethod::Options11 => "OPTIONS11",
            HealthMethod::Head11 => "HEAD11",
            HealthMethod::Get11 => "GET11",
        }
    }
}

const KNOWN: &str = "there are NONE, TCP, OPTIONS, HEAD, GET, OPTIONS11, HEAD11 and GET11";

/// The `hc...` keys of a member or a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthParams {
    /// `hcmethod`.
    pub method: HealthMethod,
    /// `hcinterval`: from the end of a check to the beginning of the next; at least [`LEAST_INTERVAL`].
    pub interval: Duration,
    /// `hcpasses`: good checks in a row that enable; at least 1.
    pub passes: u32,
    /// `hcfails`: bad checks in a row that disable; at least 1.
    pub fails: u32,
    /// `hcuri`, under 64 bytes, possibly empty.
    pub uri: String,
    /// `hcexpr`: the name of a [`HealthExpression`], under 16 bytes, possibly empty.
    pub expression: String,
}

/// `hcinterval` is not shorter.
pub const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// The longest `hcuri`.
pub const MAX_URI: usize = 63;
/// The longest name of an expression.
pub const MAX_EXPRESSION_NAME: usize = 15;

impl Default for HealthParams {
    fn default() -> Self {
        HealthParams {
            method: HealthMethod::None,
            interval: Duration::from_secs(30),
            passes: 1,
            fails: 1,
            uri: String::new(),
            expression: String::new(),
        }
    }
}

impl HealthParams {
    /// What a ProxyHCTemplate starts from.
    pub fn template() -> HealthParams {
        HealthParams {
            method: HealthMethod::Tcp,
            ..HealthParams::default()
        }
    }
}

/// A ProxyHCTemplate.
#[derive(Clone, Debug)]
pub struct HealthTemplate {
    /// Its name.
    pub name: String,
    /// What it says.
    pub params: HealthParams,
}

/// A ProxyHCExpr.
#[derive(Clone, Debug)]
pub struct HealthExpression {
    /// Its name.
    pub name: String,
    /// What it tests.
    pub expression: Expression,
}

/// The expression of this name: the last one counts, in any letter case.
pub fn find_expression<'a>(
    all: impl DoubleEndedIterator<Item = &'a HealthExpression>,
    name: &str,
) -> Option<&'a HealthExpression> {
    all.rev().find(|e| e.name.eq_ignore_ascii_case(name))
}

/// The names that a health check's expression may use: those of a request (most are empty, since
/// there is none), and the answer's body as `hc('body')` and `%{HC_BODY}`.
pub struct HealthNames;

impl Vocabulary for HealthNames {
    fn variable(&self, name: &str) -> bool {
        let name: Cow<'_, str> = name.to_ascii_uppercase().into();
        name.starts_with("HC_") || VARIABLES.contains(&&*name)
    }

    fn function(&self, name: &str) -> bool {
        name == "hc" || FUNCTIONS.contains(&name)
    }

    fn test(&self, letter: u8) -> bool {
        FILE_TESTS.contains(&letter)
    }
}
