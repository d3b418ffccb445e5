//! `LogFormat`, compiled once and written per exchange (httpd: `modules/loggers/mod_log_config.c`,
//! `mod_logio.c`).

use std::time::Duration;

use super::access::{Record, Side};
use super::write_item::write_item;

/// Bytes of one line; a longer one is cut here. The head's limits keep usual lines far below.
pub const MOST_LINE: usize = 32 * 1024;

/// A compiled `LogFormat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Item(Item),
}

/// One `%` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub kind: Kind,
    pub side: Side,
    /// Printed for these final statuses only, or (`true`) for all others.
    statuses: Option<(bool, Vec<u16>)>,
}

/// What a directive prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Host,
    ClientAddress,
    PeerAddress,
    LocalAddress,
    Nothing,
    User,
    Time,
    TimeBy { end: bool, pattern: TimePattern },
    Line,
    Status,
    BodyBytes { dash: bool },
    Filename,
    Path,
    Query,
    Method,
    Protocol,
    ServerName,
    CanonicalName,
    CanonicalPort,
    LocalPort,
    PeerPort,
    Duration(Unit),
    Connection,
    Served,
    Handler,
    LogId { connection: bool },
    Pid { hex: bool },
    RequestField(String),
    ResponseField(String),
    ContentType,
    RequestTrailer(String),
    ResponseTrailer(String),
    Env(String),
    Note(String),
    Cookie(String),
    BytesIn,
    BytesOut,
    BytesBoth,
    FirstByte,
}

/// `%D`, `%{ms}T`, `%T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Micros,
    Millis,
    Seconds,
}

impl Unit {
    pub(super) fn of(self, d: Duration) -> u128 {
        match self {
            Unit::Micros => d.as_micros(),
            Unit::Millis => d.as_millis(),
            Unit::Seconds => d.as_secs().into(),
        }
    }
}

/// What stands in `%{...}t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimePattern {
    Seconds,
    Millis,
    Micros,
    MilliFraction,
    MicroFraction,
    Usual,
    Strftime(String),
}

impl Format {
    /// Compiles a format's text; the error is for people.
    ///
    /// `%[!][codes,][<|>][{argument}]X`; outside of directives `\n`, `\t`, `\r` and `\\` are known.
    pub fn compile(text: &str) -> Result<Format, String> {
        let mut pieces = Vec::new();
        let mut plain = Vec::new();
        let mut rest = text;
        while let Some(ch) = rest.chars().next() {
            rest = &rest[ch.len_utf8()..];
            match (ch, rest.as_bytes().first()) {
                ('%', Some(b'%')) => {
                    plain.push(b'%');
                    rest = &rest[1..];
                }
                ('%', _) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    let (item, after) = directive(rest)?;
                    pieces.push(Piece::Item(item));
                    rest = after;
                }
                ('\\', Some(b @ (b'n' | b't' | b'r' | b'\\'))) => {
                    plain.push(match b {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        _ => b'\\',
                    });
                    rest = &rest[1..];
                }
                _ => plain.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Format { pieces })
    }

    /// Appends the line for `record`, its line feed included.
    pub fn write(&self, out: &mut Vec<u8>, record: &dyn Record) {
        let start = out.len();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Item(item) if item.wanted(record) => write_item(out, item, record),
                Piece::Item(_) => out.push(b'-'),
            }
        }
        out.truncate(out.len().min(start + MOST_LINE - 1));
        out.push(b'\n');
    }
}

impl Item {
    fn wanted(&self, record: &dyn Record) -> bool {
        match &self.statuses {
            None => true,
            Some((negated, statuses)) => statuses.contains(&record.status(Side::Final)) != *negated,
        }
    }
}

/// Parses what stands behind `%`; gives the rest of the format too.
fn directive(text: &str) -> Result<(Item, &str), String> {
    const CUT: &str = "Ran off end of LogFormat parsing args to some directive";
    let mut side = None;
    let mut negated = false;
    let mut statuses = Vec::new();
    let mut argument = None;
    let mut rest = text;
    loop {
        let ch = rest.chars().next().ok_or(CUT)?;
        let at = rest;
        rest = &rest[ch.len_utf8()..];
        match ch {
            '!' => negated = true,
            '<' => side = Some(Side::Original),
            '>' => side = Some(Side::Final),
            ',' => {}
            '0'..='9' => {
                let len = at
                    .bytes()
                    .position(|b| !b.is_ascii_digit())
                    .unwrap_or(at.len());
                let code = at[..len].parse();
                statuses.push(
                    code.map_err(|_| format!("LogFormat has no such status: {}", &at[..len]))?,
                );
                rest = &at[len..];
            }
            '{' => {
                let (inside, after) = rest.split_once('}').ok_or(CUT)?;
                argument = Some(inside);
                rest = after;
            }
            _ => {
                let len = match ch {
                    '^' => at.char_indices().nth(3).map_or(at.len(), |(i, _)| i),
                    _ => ch.len_utf8(),
                };
                let (kind, usual_side) = kind(&at[..len], argument)?;
                let item = Item {
                    kind,
                    side: side.unwrap_or(usual_side),
                    statuses: (!statuses.is_empty() || negated).then_some((negated, statuses)),
                };
                return Ok((item, &at[len..]));
            }
        }
    }
}

fn kind(letter: &str, argument: Option<&str>) -> Result<(Kind, Side), String> {
    use Side::{Final, Original};
    let word = argument.unwrap_or("");
    let named = || word.to_string();
    let is = |text: &str| word.eq_ignore_ascii_case(text);
    Ok(match letter {
        "h" => (Kind::Host, Final),
        "a" if is("c") => (Kind::PeerAddress, Final),
        "a" => (Kind::ClientAddress, Final),
        "A" => (Kind::LocalAddress, Final),
        "l" => (Kind::Nothing, Final),
        "u" => (Kind::User, Final),
        "t" => (time(argument), Final),
        "r" => (Kind::Line, Original),
        "s" => (Kind::Status, Original),
        "b" => (Kind::BodyBytes { dash: true }, Final),
        "B" => (Kind::BodyBytes { dash: false }, Final),
        "f" => (Kind::Filename, Final),
        "U" => (Kind::Path, Original),
        "q" => (Kind::Query, Final),
        "m" => (Kind::Method, Final),
        "H" => (Kind::Protocol, Final),
        "v" => (Kind::ServerName, Final),
        "V" => (Kind::CanonicalName, Final),
        "p" if is("local") => (Kind::LocalPort, Final),
        "p" if is("remote") => (Kind::PeerPort, Final),
        "p" => (Kind::CanonicalPort, Final),
        "D" => (Kind::Duration(Unit::Micros), Original),
        "T" if is("us") => (Kind::Duration(Unit::Micros), Original),
        "T" if is("ms") => (Kind::Duration(Unit::Millis), Original),
        "T" => (Kind::Duration(Unit::Seconds), Original),
        "X" => (Kind::Connection, Final),
        "k" => (Kind::Served, Final),
        "R" => (Kind::Handler, Original),
        "L" => {
            let connection = is("c");
            (Kind::LogId { connection }, Original)
        }
        // There is one thread that serves: its number is the process's.
        "P" => {
            let hex = is("hextid");
            (Kind::Pid { hex }, Final)
        }
        "i" => (Kind::RequestField(named()), Final),
        "o" if is("content-type") => (Kind::ContentType, Final),
        "o" => (Kind::ResponseField(named()), Final),
        "^ti" => (Kind::RequestTrailer(named()), Final),
        "^to" => (Kind::ResponseTrailer(named()), Final),
        "e" => (Kind::Env(named()), Final),
        "n" => (Kind::Note(named()), Final),
        "C" => (Kind::Cookie(named()), Final),
        "I" => (Kind::BytesIn, Final),
        "O" => (Kind::BytesOut, Final),
        "S" => (Kind::BytesBoth, Final),
        "^FB" => (Kind::FirstByte, Final),
        other => return Err(format!("Unrecognized LogFormat directive %{other}")),
    })
}

fn time(argument: Option<&str>) -> Kind {
    let Some(text) = argument.filter(|a| !a.is_empty()) else {
        return Kind::Time;
    };
    let (end, text) = match text.strip_prefix("end") {
        Some(rest) if rest.is_empty() || rest.starts_with(':') => (true, rest),
        _ => match text.strip_prefix("begin") {
            Some(rest) if rest.is_empty() || rest.starts_with(':') => (false, rest),
            _ => (false, text),
        },
    };
    let pattern = match text.strip_prefix(':').unwrap_or(text) {
        "" => TimePattern::Usual,
        "sec" => TimePattern::Seconds,
        "msec" => TimePattern::Millis,
        "usec" => TimePattern::Micros,
        "msec_frac" => TimePattern::MilliFraction,
        "usec_frac" => TimePattern::MicroFraction,
        other => TimePattern::Strftime(other.to_string()),
    };
    Kind::TimeBy { end, pattern }
}

#[cfg(test)]
mod tests;
