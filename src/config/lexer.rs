//! Lines and words of a configuration file, by httpd's rules.

/// Splits the rest of a line into words.
pub fn words(rest: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = rest.trim();
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
