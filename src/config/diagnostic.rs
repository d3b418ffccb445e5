//! What is wrong with a configuration, and how httpd would say it.

use super::settings::Note;
use super::span::Span;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where it stands.
    pub span: Span,
    /// The directive, as the table or the file spells it; empty where no directive is to blame.
    pub directive: String,
    /// What is wrong and what would be right.
    pub text: String,
    /// How it is shown.
    pub shape: Shape,
}

/// httpd's forms of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// While reading: one line, with the chain of includes in front (outermost first).
    Parse(Vec<Span>),
    /// While executing: a header line with file and line, then the text.
    Execute,
    /// The text as it is.
    Plain,
}

/// Of a longer chain of includes only so many are shown at either end: a file that includes
/// itself makes one of 128.
const CHAIN_ENDS: usize = 4;

impl Complaint {
    /// A fault found while executing a directive.
    pub fn execute(span: &Span, directive: &str, text: String) -> Complaint {
        Complaint {
            span: span.clone(),
            directive: directive.to_string(),
            text,
            shape: Shape::Execute,
        }
    }

    /// A fault of the whole, whose text says where it is.
    pub fn plain(text: String) -> Complaint {
        Complaint {
            span: Span::default(),
            directive: String::new(),
            text,
            shape: Shape::Plain,
        }
    }

    /// The message as lines for standard error or the error log. `program` is argv[0]'s last
    /// component.
    pub fn lines(&self, program: &str) -> Vec<String> {
        let at = |s: &Span| format!("Syntax error on line {} of {}:", s.line, s.file);
        match &self.shape {
            Shape::Execute => vec![format!("AH00526: {}", at(&self.span)), self.text.clone()],
            Shape::Parse(chain) => {
                let mut line = format!("{program}:");
                for (i, span) in chain.iter().enumerate() {
                    if i == CHAIN_ENDS && chain.len() > 2 * CHAIN_ENDS {
                        line.push_str(" ...");
                    }
                    if i < CHAIN_ENDS || i + CHAIN_ENDS >= chain.len() {
                        line.push(' ');
                        line.push_str(&at(span));
                    }
                }
                vec![format!("{line} {} {}", at(&self.span), self.text)]
            }
            Shape::Plain => self.text.lines().map(str::to_string).collect(),
        }
    }
}

/// A note or warning as one line.
pub fn note_line(note: &Note) -> String {
    if note.span == Span::default() {
        return note.text.clone();
    }
    format!("{}: {}", note.span, note.text)
}

/// The same fault in a macro's line is told once, however often the macro is used.
pub fn without_repetitions(complaints: &mut Vec<Complaint>) {
    let key = |c: &Complaint| {
        let file: &str = &c.span.file;
        let place = file
            .split_once("\") used on line ")
            .map_or(file, |(macro_, _)| macro_);
        (place.to_string(), c.span.line, c.text.clone())
    };
    let mut seen = std::collections::HashSet::new();
    complaints.retain(|c| seen.insert(key(c)));
}

/// The candidate that a misspelt name was most likely meant to be: at most two letters wrong,
/// missing, added or swapped (one in short names), letter case aside.
pub fn nearest<S: AsRef<str>>(name: &str, candidates: impl Iterator<Item = S>) -> Option<S> {
    let typed = name.to_ascii_lowercase();
    let most = if typed.len() <= 4 { 1 } else { 2 };
    candidates
        .filter(|c| c.as_ref().len().abs_diff(typed.len()) <= most)
        .map(|c| (distance(&typed, &c.as_ref().to_ascii_lowercase()), c))
        .filter(|(d, _)| *d <= most)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Optimal string alignment distance: edits of one letter, and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (last[j - 1] + changed).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(file: &str, line: u32) -> Span {
        Span {
            file: file.into(),
            line,
        }
    }

    #[test]
    fn messages_have_httpds_shapes() {
        let mut c = Complaint::execute(&span("/a", 3), "Foo", "bad".into());
        assert_eq!(
            c.lines("p"),
            ["AH00526: Syntax error on line 3 of /a:", "bad"]
        );
        c.shape = Shape::Parse(vec![span("A", 4), span("B", 2)]);
        assert_eq!(
            c.lines("p"),
            [
                "p: Syntax error on line 4 of A: Syntax error on line 2 of B: Syntax error on line 3 of /a: bad"
            ]
        );
        c.shape = Shape::Parse(vec![span("A", 1); 128]);
        assert_eq!(c.lines("p")[0].matches("of A").count(), 2 * CHAIN_ENDS);
    }

    #[test]
    fn near_misses_are_found() {
        let names = ["ProxyPass", "ProxyPassMatch", "Listen", "Alias"];
        let near = |n: &str| nearest(n, names.iter().copied());
        assert_eq!(near("ProxyPas"), Some("ProxyPass"));
        assert_eq!(near("proxypsas"), Some("ProxyPass"));
        assert_eq!(near("Lisen"), Some("Listen"));
        assert_eq!(near("Frobnicate"), None);
    }

    #[test]
    fn a_macros_fault_is_told_once() {
        let used = |k| {
            let file = format!("macro 'm' (defined on line 4 of \"F\") used on line {k} of \"F\"");
            Complaint::execute(&span(&file, 2), "Foo", "bad".into())
        };
        let mut all = vec![
            used(8),
            used(9),
            Complaint::execute(&span("F", 2), "Foo", "bad".into()),
        ];
        without_repetitions(&mut all);
        assert_eq!(all.len(), 2);
    }
}
