//! `<Macro>` and `Use`: lines with parameters.

use super::lexer::{Line, next_word, words};
use super::span::Span;

/// The most bytes that one use may grow to.
const MAX_TEXT: usize = 16 << 20;

/// A macro as defined.
#[derive(Clone, Debug)]
pub struct Macro {
    /// Its name in lower case.
    pub name: String,
    /// Its parameters as written.
    pub parameters: Vec<String>,
    /// Its lines; their numbers count from 1 within the macro.
    pub body: Vec<Line>,
    /// Its `<Macro` line.
    pub span: Span,
}

impl Macro {
    /// Reads the argument of `<Macro`, without its `>`. The second value are warnings.
    pub fn new(
        argument: &str,
        body: Vec<Line>,
        span: Span,
    ) -> Result<(Macro, Vec<String>), String> {
        let mut words = words(argument).into_iter();
        let name = match words.next() {
            Some(name) if !name.is_empty() => name.to_ascii_lowercase(),
            _ => return Err("<Macro macro definition: empty name".to_string()),
        };
        let parameters: Vec<String> = words.collect();
        let made = Macro {
            name,
            parameters,
            body,
            span,
        };
        let described = made.described();
        let mut warnings = Vec::new();
        for (i, p) in made.parameters.iter().enumerate() {
            if p.is_empty() {
                return Err(format!("{described}: empty argument #{}", i + 1));
            }
            if let Some(j) = made.parameters[..i].iter().position(|q| q == p) {
                return Err(format!(
                    "argument name conflict in {described}: argument '{p}': #{} and #{}, change argument names!",
                    j + 1,
                    i + 1
                ));
            }
            if !made.body.iter().any(|l| l.text.contains(p.as_str())) {
                warnings.push(format!(
                    "AH02800: {described}: argument '{p}' (#{}) never used",
                    i + 1
                ));
            }
        }
        if made.body.is_empty() {
            warnings.push(format!("AH02799: {described}: empty contents"));
        }
        Ok((made, warnings))
    }

    /// How messages name it.
    pub fn described(&self) -> String {
        let Span { file, line } = &self.span;
        format!(
            "macro '{}' (defined on line {line} of \"{file}\")",
            self.name
        )
    }

    /// The lines with values put in, and the name under which messages know them.
    pub fn used(&self, values: &[String], at: &Span) -> Result<(String, Vec<Line>), String> {
        if values.len() != self.parameters.len() {
            return Err(format!(
                "{} used with {} arguments instead of {}",
                self.described(),
                values.len(),
                self.parameters.len()
            ));
        }
        let mut out = Vec::with_capacity(self.body.len());
        let mut size = 0;
        for line in &self.body {
            let text = self.substituted(&line.text, values);
            size += text.len();
            if size > MAX_TEXT {
                return Err(format!("{} grows beyond 16 MiB", self.described()));
            }
            out.push(Line {
                text,
                ..line.clone()
            });
        }
        let Span { file, line } = at;
        let name = format!("{} used on line {line} of \"{file}\"", self.described());
        Ok((name, out))
    }

    /// At each place the longest parameter wins; what was put in is not looked at again.
    fn substituted(&self, text: &str, values: &[String]) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        'text: while let Some(c) = rest.chars().next() {
            let fitting = self.parameters.iter().zip(values);
            let found = fitting
                .filter(|(p, _)| rest.starts_with(p.as_str()))
                .max_by_key(|(p, _)| p.len());
            if let Some((parameter, value)) = found {
                if parameter.starts_with('@') {
                    out.push('"');
                    out.push_str(&value.replace('\\', "\\\\").replace('"', "\\\""));
                    out.push('"');
                } else {
                    out.push_str(value);
                }
                rest = &rest[parameter.len()..];
                if out.len() > MAX_TEXT {
                    break 'text;
                }
                continue;
            }
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
        out
    }
}

/// The name in front of `Use`'s or UndefMacro's argument, lower case, and what follows.
pub fn name_of(argument: &str) -> Option<(String, &str)> {
    let (name, rest) = next_word(argument)?;
    (!name.is_empty()).then(|| (name.to_ascii_lowercase(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(argument: &str, lines: &[&str]) -> Macro {
        let body = lines.iter().zip(1..).map(|(t, number)| Line {
            text: t.to_string(),
            number,
            fault: None,
        });
        let span = Span {
            file: "F".into(),
            line: 4,
        };
        Macro::new(argument, body.collect(), span).unwrap().0
    }

    #[test]
    fn the_longest_parameter_wins_and_values_are_not_read_again() {
        let m = made("M $a $ab @q", &["x$ab-$a-@q", "$a$ab"]);
        let values = ["$ab".to_string(), "2".to_string(), "t \"w\"".to_string()];
        let (name, lines) = m
            .used(
                &values,
                &Span {
                    file: "G".into(),
                    line: 9,
                },
            )
            .unwrap();
        assert_eq!(
            name,
            "macro 'm' (defined on line 4 of \"F\") used on line 9 of \"G\""
        );
        assert_eq!(lines[0].text, "x2-$ab-\"t \\\"w\\\"\"");
        assert_eq!(lines[1].text, "$ab2");
    }

    #[test]
    fn counts_and_unused_parameters_are_named() {
        let m = made("m $a", &["$a"]);
        assert_eq!(
            m.used(&[], &Span::default()).unwrap_err(),
            "macro 'm' (defined on line 4 of \"F\") used with 0 arguments instead of 1"
        );
        let (_, warnings) = Macro::new("m $a", vec![], Span::default()).unwrap();
        assert_eq!(warnings.len(), 2);
    }
}
