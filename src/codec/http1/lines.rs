//! What both kinds of head share: the walk over field lines that httparse found, which holds them
//! to CR LF, and the bounds of a head that is not complete yet.

use httparse::Header;
use memchr::memchr;

use super::limits::MOST_HEAD;
use crate::codec::fields::{Entry, Fields, Part};

/// Fields that are parsed without an allocation; longer heads take a second try.
pub(super) const USUAL_FIELDS: usize = 64;

/// Bounds of one head, resolved.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes of the first line without its end.
    pub line: usize,
    /// Bytes of a field line without its end.
    pub field: usize,
    /// Number of fields.
    pub fields: usize,
}

impl Bounds {
    /// Bytes of the whole head.
    pub fn head(&self) -> usize {
        let lines = self.fields.saturating_mul(self.field + 2);
        let most = MOST_HEAD.max(self.line.max(self.field) + self.line + 1024);
        (self.line + 4).saturating_add(lines).min(most)
    }
}

/// Which bound or rule a head breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breach {
    Line,
    Field,
    Fields,
    Head,
    LineEnd,
}

/// The list of `headers`, whose lines begin at `section_at` and end, the empty line included, at `end`.
///
/// httparse takes a lone LF for a line end. A head in which one ends a line, or in which anything
/// but blanks stands between a value and its CR LF, does not add up here and is refused.
pub(super) fn locate(
    input: &[u8],
    section_at: usize,
    end: usize,
    headers: &[Header<'_>],
    bounds: &Bounds,
    folds: bool,
) -> Result<Fields, Breach> {
    let mut entries = Fields::entries_for(headers.len());
    let mut at = section_at;
    for header in headers {
        let line_at = at;
        let name_len = header.name.len();
        at += name_len + 1;
        at = skip_blanks(input, at, folds);
        let value_at = at;
        at += header.value.len();
        if input.get(value_at..at) != Some(header.value) {
            return Err(Breach::LineEnd);
        }
        at = skip_blanks(input, at, folds);
        if input.get(at..at + 2) != Some(b"\r\n") {
            return Err(Breach::LineEnd);
        }
        if at - line_at > bounds.field {
            return Err(Breach::Field);
        }
        at += 2;
        let part = |at: usize, len: usize| Part {
            at: (at - section_at) as u32,
            len: len as u32,
        };
        entries.push(Entry {
            name: part(line_at, name_len),
            value: part(value_at, header.value.len()),
        });
    }
    if at + 2 != end || input.get(at..end) != Some(b"\r\n") {
        return Err(Breach::LineEnd);
    }
    Ok(Fields::over(&input[section_at..end], entries))
}

fn skip_blanks(input: &[u8], mut at: usize, folds: bool) -> usize {
    loop {
        match input.get(at..) {
            Some([b' ' | b'\t', ..]) => at += 1,
            Some([b'\r', b'\n', b' ' | b'\t', ..]) if folds => at += 3,
            _ => return at,
        }
    }
}

/// Holds the bounds against a head whose end has not been seen, or that is broken somewhere.
/// `folds`: a line that begins with a blank belongs to the field before it.
pub(super) fn check(input: &[u8], bounds: &Bounds, folds: bool) -> Result<(), Breach> {
    let mut rest = input;
    let mut number = 0;
    let mut field_len = 0;
    loop {
        let (line, whole) = match memchr(b'\n', rest) {
            Some(lf) => {
                let (line, after) = rest.split_at(lf);
                rest = &after[1..];
                (line, true)
            }
            None => (rest, false),
        };
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        if number == 0 {
            if text.len() > bounds.line {
                return Err(Breach::Line);
            }
        } else {
            let goes_on = folds && matches!(text.first(), Some(b' ' | b'\t'));
            field_len = if goes_on { field_len + 2 } else { 0 } + text.len();
            if field_len > bounds.field {
                return Err(Breach::Field);
            }
            // Behind this many fields only the empty line may come.
            if number > bounds.fields && !text.is_empty() && !folds {
                return Err(Breach::Fields);
            }
        }
        if !whole {
            break;
        }
        if text.len() == line.len() {
            return Err(Breach::LineEnd);
        }
        if number > 0 && text.is_empty() {
            break;
        }
        number += 1;
    }
    if input.len() > bounds.head() {
        return Err(Breach::Head);
    }
    Ok(())
}
