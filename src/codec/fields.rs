//! The fields of a message: an ordered list in which names keep their spelling.
//!
//! All names and values lie in one buffer; an entry is four offsets into it. A parsed head thus
//! costs two allocations however many fields it has. A replaced value leaves its old bytes behind
//! until the list is dropped, which is cheap since a list lives as long as one message.

use std::fmt;

/// An ordered list of fields. Names are compared without regard to ASCII case.
#[derive(Clone, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// Where a field's name and value lie in the buffer.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: Part,
    pub(crate) value: Part,
}

/// A piece of the buffer. Heads are bounded far below 4 GiB, so 32 bits do.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl Entry {
    /// Most names differ in length or at their first letter, which is looked at before the rest.
    fn is_named(&self, bytes: &[u8], name: &[u8]) -> bool {
        self.name.len as usize == name.len()
            && bytes
                .get(self.name.at as usize)
                .is_some_and(|b| name.first().is_some_and(|n| (b ^ n) & 0xdf == 0))
            && same_name(self.name.of(bytes), name)
    }
}

impl Part {
    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.at as usize..(self.at + self.len) as usize]
    }
}

/// Are two names the same but for their letters' case? Mostly they are spelt alike, so that is tried
/// first: it is one comparison of whole words instead of one per letter.
pub fn same_name(a: &[u8], b: &[u8]) -> bool {
    a == b || a.eq_ignore_ascii_case(b)
}

const SPARE_BYTES: usize = 256;
const SPARE_ENTRIES: usize = 8;

impl Fields {
    /// The value of the first field of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.find(name)
            .map(|i| self.entries[i].value.of(&self.bytes))
    }

    /// The values of all fields of this name, in order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.entries
            .iter()
            .filter(move |e| e.is_named(&self.bytes, name.as_bytes()))
            .map(|e| e.value.of(&self.bytes))
    }

    /// Is there a field of this name?
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// All fields in order, as (name, value).
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries
            .iter()
            .map(|e| (e.name.of(&self.bytes), e.value.of(&self.bytes)))
    }

    /// Adds a field at the end. Name and value are taken as they are: see `valid_name`, `valid_value`.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let name = self.store(name);
        let value = self.store(value);
        self.entries.push(Entry { name, value });
    }

    /// Replaces the value of the first field of this name and drops the others; adds it where there is none.
    pub fn set(&mut self, name: &str, value: &[u8]) {
        let Some(first) = self.find(name) else {
            return self.push(name.as_bytes(), value);
        };
        self.entries[first].value = self.store(value);
        let mut at = 0;
        let bytes = &self.bytes;
        self.entries.retain(|e| {
            at += 1;
            at <= first + 1 || !e.is_named(bytes, name.as_bytes())
        });
    }

    /// Joins `value` to the first field of this name with `, `; adds the field where there is none.
    pub fn append(&mut self, name: &str, value: &[u8]) {
        let Some(i) = self.find(name) else {
            return self.push(name.as_bytes(), value);
        };
        let old = self.entries[i].value;
        let at = self.bytes.len() as u32;
        self.bytes
            .extend_from_within(old.at as usize..(old.at + old.len) as usize);
        self.bytes.extend_from_slice(b", ");
        self.bytes.extend_from_slice(value);
        let len = self.bytes.len() as u32 - at;
        self.entries[i].value = Part { at, len };
    }

    /// Removes all fields of this name and says how many there were.
    pub fn remove(&mut self, name: &str) -> usize {
        let before = self.entries.len();
        self.retain(|n, _| !n.eq_ignore_ascii_case(name.as_bytes()));
        before - self.entries.len()
    }

    /// Keeps the fields for which `keep(name, value)` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        let bytes = &self.bytes;
        self.entries
            .retain(|e| keep(e.name.of(bytes), e.value.of(bytes)));
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes everything and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }

    /// Does the comma-separated list made of all fields of this name hold `token` (any letter case)?
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        let (name, token) = (name.as_bytes(), token.as_bytes());
        for entry in &self.entries {
            if !entry.is_named(&self.bytes, name) {
                continue;
            }
            // Mostly the list is just one token.
            let value = entry.value.of(&self.bytes);
            if same_name(value, token)
                || (value.len() > token.len() && tokens(value).any(|t| same_name(t, token)))
            {
                return true;
            }
        }
        false
    }

    /// A list over a head's field lines: `section` is copied, the entries' offsets are into it.
    pub(crate) fn over(section: &[u8], entries: Vec<Entry>) -> Fields {
        let mut bytes = Vec::with_capacity(section.len() + SPARE_BYTES);
        bytes.extend_from_slice(section);
        Fields { bytes, entries }
    }

    /// An empty list of entries for `over`, with room for what a proxy adds later.
    pub(crate) fn entries_for(count: usize) -> Vec<Entry> {
        Vec::with_capacity(count + SPARE_ENTRIES)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.entries
            .iter()
            .position(|e| e.is_named(&self.bytes, name.as_bytes()))
    }

    fn store(&mut self, part: &[u8]) -> Part {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(part);
        Part {
            at,
            len: part.len() as u32,
        }
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |b: &[u8]| b.escape_ascii().to_string();
        f.debug_map()
            .entries(self.iter().map(|(n, v)| (text(n), text(v))))
            .finish()
    }
}

/// The elements of a comma-separated list, trimmed of SP and HTAB, empty ones left out.
pub fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&b| b == b',')
        .map(trim)
        .filter(|t| !t.is_empty())
}

/// Without SP and HTAB at both ends.
pub fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Is it a token (RFC 9110 5.6.2), as names of fields and methods must be?
pub fn valid_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&b| is_token(b))
}

/// Has it no control byte but HTAB, as values must have none (RFC 9110 5.5)?
pub fn valid_value(value: &[u8]) -> bool {
    !value.iter().fold(false, |bad, &b| {
        bad | ((b < 0x20) & (b != b'\t')) | (b == 0x7f)
    })
}

/// May the byte stand in a token?
pub fn is_token(b: u8) -> bool {
    matches!(b, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
        || b.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Fields {
        let mut fields = Fields::default();
        for line in text.split_terminator('|') {
            let (name, value) = line.split_once(':').unwrap();
            fields.push(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    fn shown(fields: &Fields) -> String {
        let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
        fields
            .iter()
            .map(|(n, v)| format!("{}:{}|", text(n), text(v)))
            .collect()
    }

    #[test]
    fn looking_up() {
        let f = list("Host:a|X-R:1|x-s:b|x-r:2|");
        assert_eq!(f.get("x-R"), Some(&b"1"[..]));
        assert_eq!(f.get_all("X-r").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(f.get("none"), None);
        assert!(f.contains("HOST") && !f.contains("hos"));
        assert_eq!(f.len(), 4);
    }

    #[test]
    fn changing() {
        let mut f = list("A:1|B:2|a:3|C:4|");
        f.set("a", b"new");
        assert_eq!(shown(&f), "A:new|B:2|C:4|");
        f.set("D", b"5");
        f.append("b", b"more");
        f.append("E", b"6");
        assert_eq!(shown(&f), "A:new|B:2, more|C:4|D:5|E:6|");
        assert_eq!(f.remove("B"), 1);
        assert_eq!(f.remove("B"), 0);
        f.retain(|_, value| value != b"6");
        assert_eq!(shown(&f), "A:new|C:4|D:5|");
        f.clear();
        assert!(f.is_empty());
    }

    #[test]
    fn lists() {
        let f = list("Connection:keep-alive , X-Hop|connection:,\tClose,|Te:trailers;q=1|");
        assert!(f.has_token("connection", "close"));
        assert!(f.has_token("Connection", "x-hop"));
        assert!(!f.has_token("Connection", "hop"));
        assert!(!f.has_token("TE", "trailers"));
        assert_eq!(
            tokens(b" a,, b c ,").collect::<Vec<_>>(),
            [&b"a"[..], b"b c"]
        );
    }

    #[test]
    fn what_is_valid() {
        assert!(
            valid_name(b"X-A!") && !valid_name(b"") && !valid_name(b"a b") && !valid_name(b"\xe9")
        );
        assert!(
            valid_value(b"")
                && valid_value(b"a\t\xe9")
                && !valid_value(b"\0")
                && !valid_value(b"\x7f")
        );
        for b in 0..=255u8 {
            let separator = b"()<>@,;:\\\"/[]?={} \t".contains(&b);
            assert_eq!(
                is_token(b),
                b.is_ascii() && !b.is_ascii_control() && !separator,
                "{b}"
            );
        }
    }
}
