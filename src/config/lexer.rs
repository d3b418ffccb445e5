//! Lines and words of a configuration file, by httpd's rules (`ap_cfg_getline_core`,
//! `ap_getword_conf`). Knows neither directives nor files.

use std::borrow::Cow;

/// The longest logical line, in bytes.
pub const MAX_LINE: usize = 16 << 20;

/// A logical line: continuations joined, outer blanks removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its text; bytes that are no UTF-8 are read as Latin-1.
    pub text: String,
    /// The number of its last physical line, counted from 1: what messages name.
    pub number: u32,
    /// What is wrong with the line as such; its text is empty then.
    pub fault: Option<&'static str>,
}

/// The logical lines of a text.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    number: u32,
}

impl<'a> Lines<'a> {
    /// The lines of a file's content.
    pub fn new(text: &'a [u8]) -> Lines<'a> {
        Lines {
            rest: text,
            number: 0,
        }
    }

    /// One physical line without its line feed, and whether it had one.
    fn physical(&mut self) -> Option<(&'a [u8], bool)> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        match memchr::memchr(b'\n', self.rest) {
            Some(end) => {
                let line = &self.rest[..end];
                self.rest = &self.rest[end + 1..];
                Some((line, true))
            }
            None => Some((std::mem::take(&mut self.rest), false)),
        }
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let (mut part, mut ended) = self.physical()?;
        let mut joined: Cow<'_, [u8]> = Cow::Borrowed(&[]);
        // Joining comes before everything else: even a comment swallows its next line.
        while ended && let Some(head) = without_continuation(part) {
            joined.to_mut().extend_from_slice(head);
            match self.physical() {
                Some((next, e)) => (part, ended) = (next, e),
                None => (part, ended) = (&[], false),
            }
            if joined.len() + part.len() > MAX_LINE {
                break;
            }
        }
        let whole = if joined.is_empty() {
            Cow::Borrowed(part)
        } else {
            joined.to_mut().extend_from_slice(part);
            joined
        };
        let fault = if whole.len() > MAX_LINE {
            Some("the line is longer than 16 MiB")
        } else if memchr::memchr(0, &whole).is_some() {
            Some("the line holds a NUL byte; a configuration is a text file")
        } else {
            None
        };
        let text = match fault {
            Some(_) => String::new(),
            None => decoded(&whole).trim_matches(is_blank).to_string(),
        };
        Some(Line {
            text,
            number: self.number,
            fault,
        })
    }
}

/// The line without its final backslash (and CR), if it goes on on the next line.
fn without_continuation(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.strip_suffix(b"\\")
}

fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&b| char::from(b)).collect()),
    }
}

/// Splits the rest of a line into words.
pub fn words(rest: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = rest.trim_matches(is_blank);
    while let Some((word, more)) = next_word(rest) {
        out.push(word);
        rest = more;
    }
    out
}

/// The next word and what follows it, leading blanks removed; `None` at the end of the line.
///
/// A quoted word ends at its quote, whatever follows; `\` escapes itself, and inside quotes also
/// the quote; before anything else it is an ordinary character. A missing closing quote is no
/// fault: the word ends with the line.
pub fn next_word(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(is_blank);
    let first = text.chars().next()?;
    let quote = matches!(first, '"' | '\'').then_some(first);
    let body = if quote.is_some() { &text[1..] } else { text };
    let mut word = String::new();
    let mut chars = body.char_indices().peekable();
    let mut end = body.len();
    while let Some((i, c)) = chars.next() {
        match (c, quote) {
            ('\\', _) => match chars.peek() {
                Some(&(_, n)) if n == '\\' || Some(n) == quote => {
                    word.push(n);
                    chars.next();
                }
                _ => word.push('\\'),
            },
            (c, Some(q)) if c == q => {
                end = i + 1;
                break;
            }
            (c, None) if is_blank(c) => {
                end = i;
                break;
            }
            _ => word.push(c),
        }
    }
    Some((word, body[end..].trim_start_matches(is_blank)))
}

/// C's isspace.
pub fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(String, u32)> {
        Lines::new(text.as_bytes())
            .map(|l| (l.text, l.number))
            .collect()
    }

    #[test]
    fn continuations_join_before_comments_and_count_the_last_line() {
        let got = lines("A \\\n  b\\\r\nc\n# x \\\nswallowed\nB\\\\\nd\nE \\");
        let want = [
            ("A   bc", 3),
            ("# x swallowed", 5),
            ("B\\d", 7),
            ("E \\", 8),
        ];
        let want: Vec<_> = want.iter().map(|(t, n)| (t.to_string(), *n)).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn a_nul_byte_and_latin_1() {
        let all: Vec<Line> = Lines::new(b"a\0b\n# \xe9\n").collect();
        assert!(all[0].fault.is_some());
        assert_eq!(all[1].text, "# é");
    }

    #[test]
    fn words_follow_ap_getword_conf() {
        let cases: &[(&str, &[&str])] = &[
            (r#"a  "b c" d"#, &["a", "b c", "d"]),
            (r#""abc"def"#, &["abc", "def"]),
            (r#"un\"q x\\y"#, &[r#"un\"q"#, r"x\y"]),
            (r#"'a\'b' "c\d""#, &["a'b", r"c\d"]),
            (r#""open end"#, &["open end"]),
            (r#""" x"#, &["", "x"]),
            ("é\t\"ü ö\"", &["é", "ü ö"]),
        ];
        for (text, want) in cases {
            assert_eq!(words(text), *want, "{text}");
        }
    }
}
