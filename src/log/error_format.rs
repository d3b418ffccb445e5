//! The layout of error-log lines: httpd's default, and `ErrorLogFormat` (httpd: `server/log.c`,
//! `do_errorlog_default`, `do_errorlog_format`, `parse_errorlog_item`).

use std::io::Write;

use super::escape;
use super::level;
use super::subject::Subject;
use super::time::{Stamp, write_stamp};
use crate::clock;

/// Bytes of one line, its line feed included.
pub const MOST_LINE: usize = 8192;

/// One message with all that a line may show of it.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub level: u8,
    pub module: &'a str,
    pub subject: &'a Subject<'a>,
    /// ServerName of the server that the log belongs to.
    pub server: &'a str,
    pub text: &'a str,
    /// syslog stamps lines itself.
    pub with_time: bool,
}

/// Appends a line in httpd's default layout.
pub(super) fn write_default(out: &mut Vec<u8>, m: &Message<'_>) {
    let start = out.len();
    if m.with_time {
        out.push(b'[');
        write_stamp(out, clock::wall(), Stamp::Micros);
        out.extend_from_slice(b"] ");
    }
    let pid = std::process::id();
    // Writing into a Vec cannot fail. One thread serves: its number is the process's.
    let _ = write!(
        out,
        "[{}:{}] [pid {pid}:tid {}] ",
        m.module,
        level::name(m.level),
        nix::unistd::gettid()
    );
    let mut part = |item: &Item, after: &str| {
        if item.write(out, m) {
            out.extend_from_slice(after.as_bytes());
        }
    };
    part(&Item::SourceFrom(level::DEBUG), ": ");
    part(&Item::OsError, ": ");
    if m.subject.client.is_some() {
        out.extend_from_slice(b"[client ");
        Item::Client.write(out, m);
        out.extend_from_slice(b"] ");
    } else if let Some(remote) = m.subject.remote {
        let _ = write!(
            out,
            "[remote {}:{}] ",
            remote.ip().to_canonical(),
            remote.port()
        );
    }
    escape::error(out, m.text.as_bytes());
    if let Some(referer) = m.subject.referer {
        out.extend_from_slice(b", referer: ");
        escape::error(out, referer);
    }
    end(out, start);
}

fn end(out: &mut Vec<u8>, start: usize) {
    out.truncate(out.len().min(start + MOST_LINE - 1));
    out.push(b'\n');
}

/// A compiled `ErrorLogFormat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFormat {
    fields: Vec<Field>,
}

/// What stands between two blanks: printed whole or, when one of its items is empty, not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    /// The blank before it is printed too (not behind `% `).
    blank: bool,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Item {
        item: Item,
        /// `-`: a hyphen stands for an empty one.
        hyphen: bool,
        /// `+`: without it there is no line.
        required: bool,
        /// A number: only from this level on.
        from: u8,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Client,
    Local,
    Env(String),
    OsError,
    SourceFrom(u8),
    RequestField(String),
    Served,
    Level,
    Module,
    Message,
    Note(String),
    Pid,
    Tid,
    Time(Stamp),
    Server,
    /// Log ids are not kept.
    Nothing,
}

impl ErrorFormat {
    /// Compiles a format's text; the error is for people.
    pub fn compile(text: &str) -> Result<ErrorFormat, String> {
        let mut fields = vec![Field {
            blank: false,
            pieces: Vec::new(),
        }];
        let mut chars = text.chars().peekable();
        while let Some(ch) = chars.next() {
            let mut literal = ch;
            match ch {
                ' ' => {
                    fields.push(Field {
                        blank: true,
                        pieces: Vec::new(),
                    });
                    continue;
                }
                '\\' => literal = chars.next().unwrap_or('\\'),
                '%' => match chars.peek() {
                    Some('%') => {
                        chars.next();
                    }
                    Some(' ') => {
                        chars.next();
                        fields.push(Field {
                            blank: false,
                            pieces: Vec::new(),
                        });
                        continue;
                    }
                    _ => {
                        let piece = item(&mut chars)?;
                        last(&mut fields).push(piece);
                        continue;
                    }
                },
                _ => {}
            }
            match last(&mut fields).last_mut() {
                Some(Piece::Text(text)) => text.push(literal),
                _ => last(&mut fields).push(Piece::Text(literal.into())),
            }
        }
        let messages = fields
            .iter()
            .flat_map(|f| &f.pieces)
            .filter(|p| {
                matches!(
                    p,
                    Piece::Item {
                        item: Item::Message,
                        ..
                    }
                )
            })
            .count();
        match messages {
            1 => Ok(ErrorFormat { fields }),
            0 => Err("ErrorLogFormat has no %M, so that no message would be shown".into()),
            _ => Err("ErrorLogFormat has %M more than once".into()),
        }
    }

    /// Appends the line, or nothing where a required item is empty.
    pub(super) fn write(&self, out: &mut Vec<u8>, m: &Message<'_>) {
        let start = out.len();
        for field in &self.fields {
            let field_start = out.len();
            if field.blank && out.len() > start {
                out.push(b' ');
            }
            for piece in &field.pieces {
                let written = match piece {
                    Piece::Text(text) => {
                        out.extend_from_slice(text.as_bytes());
                        continue;
                    }
                    Piece::Item { item, from, .. } => m.level >= *from && item.write(out, m),
                };
                match piece {
                    _ if written => {}
                    Piece::Item { required: true, .. } => {
                        out.truncate(start);
                        return;
                    }
                    Piece::Item { hyphen: true, .. } => out.push(b'-'),
                    _ => {
                        out.truncate(field_start);
                        break;
                    }
                }
            }
        }
        end(out, start);
    }
}

fn last(fields: &mut [Field]) -> &mut Vec<Piece> {
    // Invariant: there is a field from the beginning on.
    let at = fields.len() - 1;
    &mut fields[at].pieces
}

/// Parses what stands behind `%`.
fn item(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Piece, String> {
    const CUT: &str = "ErrorLogFormat ends in the middle of a % item";
    let (mut hyphen, mut required, mut from) = (false, false, 0u8);
    let mut argument = String::new();
    loop {
        let ch = chars.next().ok_or(CUT)?;
        match ch {
            '-' => hyphen = true,
            '+' => required = true,
            '0'..='9' => {
                let digit = ch as u8 - b'0';
                from = from.saturating_mul(10).saturating_add(digit);
            }
            '{' => loop {
                match chars.next().ok_or(CUT)? {
                    '}' => break,
                    inside => argument.push(inside),
                }
            },
            _ => {
                let item = match ch {
                    'a' => Item::Client,
                    'A' => Item::Local,
                    'e' => Item::Env(argument),
                    'E' => Item::OsError,
                    'F' => Item::SourceFrom(0),
                    'i' => Item::RequestField(argument),
                    'k' => Item::Served,
                    'l' => Item::Level,
                    'L' => Item::Nothing,
                    'm' => Item::Module,
                    'M' => Item::Message,
                    'n' => Item::Note(argument),
                    'P' => Item::Pid,
                    'T' => Item::Tid,
                    't' => Item::Time(match argument.as_str() {
                        "u" => Stamp::Micros,
                        "c" => Stamp::Iso,
                        "cu" | "uc" => Stamp::IsoMicros,
                        _ => Stamp::Plain,
                    }),
                    'v' | 'V' => Item::Server,
                    other => return Err(format!("ErrorLogFormat knows no %{other}")),
                };
                return Ok(Piece::Item {
                    item,
                    hyphen,
                    required,
                    from,
                });
            }
        }
    }
}

impl Item {
    /// Appends the item; `false`: it is empty.
    fn write(&self, out: &mut Vec<u8>, m: &Message<'_>) -> bool {
        let start = out.len();
        let subject = m.subject;
        let request = subject.request;
        // Writing into a Vec cannot fail.
        let _ = match self {
            Item::Client => match subject.client.or(subject.remote) {
                Some(a) => write!(out, "{}:{}", a.ip().to_canonical(), a.port()),
                None => Ok(()),
            },
            Item::Local => match subject.local {
                Some(a) => write!(out, "{}:{}", a.ip().to_canonical(), a.port()),
                None => Ok(()),
            },
            Item::Env(name) => {
                if let Some(value) = request.and_then(|r| r.env(name)) {
                    escape::error(out, &value);
                }
                Ok(())
            }
            Item::OsError => match subject.os_error {
                Some(number) => write!(out, "({number}){}", os_text(number)),
                None => Ok(()),
            },
            Item::SourceFrom(from) => match subject.source {
                Some((file, line)) if m.level >= *from => {
                    let name = file.rsplit('/').next().unwrap_or(file);
                    write!(out, "{name}({line})")
                }
                _ => Ok(()),
            },
            Item::RequestField(name) => {
                let value = match request.and_then(|r| r.field(name)) {
                    None if name.eq_ignore_ascii_case("referer") => {
                        subject.referer.map(std::borrow::Cow::Borrowed)
                    }
                    value => value,
                };
                if let Some(value) = value {
                    escape::error(out, &value);
                }
                Ok(())
            }
            Item::Served => match subject.served {
                Some(n) => write!(out, "{n}"),
                None => Ok(()),
            },
            Item::Level => write!(out, "{}", level::name(m.level)),
            Item::Module => write!(out, "{}", m.module),
            Item::Message => {
                escape::error(out, m.text.as_bytes());
                Ok(())
            }
            Item::Note(name) => {
                if let Some(value) = request.and_then(|r| r.note(name)) {
                    escape::error(out, &value);
                }
                Ok(())
            }
            Item::Pid => write!(out, "{}", std::process::id()),
            Item::Tid => write!(out, "{}", nix::unistd::gettid()),
            Item::Time(_) if !m.with_time => Ok(()),
            Item::Time(stamp) => {
                write_stamp(out, clock::wall(), *stamp);
                Ok(())
            }
            Item::Server => write!(out, "{}", m.server),
            Item::Nothing => Ok(()),
        };
        out.len() > start
    }
}

/// The system's text for an error number, without the number that Rust adds.
fn os_text(number: i32) -> String {
    let mut text = std::io::Error::from_raw_os_error(number).to_string();
    if let Some(at) = text.rfind(" (os error") {
        text.truncate(at);
    }
    text
}

#[cfg(test)]
mod tests;
