//! Opening and closing: sections, guards, and what is skipped.

use super::super::condition;
use super::super::lexer::{Line, next_word};
use super::super::macros::{self, Macro};
use super::super::modules;
use super::super::registry::{self, Class};
use super::super::span::Span;
use super::super::tree::Node;
use super::{MAX_NESTING, Open, Reader, Source};

impl Reader<'_> {
    /// `<Name rest`: a section, a guard or a macro.
    pub(super) fn opening(&mut self, name: &str, rest: &str, span: Span, source: &mut Source<'_>) {
        // `<If>` alone: the bracket belongs to the argument, which is empty. Without any argument
        // httpd does not miss the bracket either.
        let name = name.strip_suffix('>').unwrap_or(name);
        let rest = if rest.is_empty() { ">" } else { rest };
        if self.open.len() >= MAX_NESTING {
            self.stop(
                Some(&span),
                format!("sections are nested deeper than {MAX_NESTING}"),
            );
            return;
        }
        let directive = registry::find(name, true);
        match directive {
            Some(d) if matches!(d.class, Class::OnRead) && self.defined(d) => {
                let argument = rest.rfind('>').map(|end| rest[..end].trim());
                if d.name == "Macro" {
                    self.define_macro(argument, span, source);
                } else {
                    self.guard(d.name, argument, span, source);
                }
            }
            _ => {
                let node = Node {
                    name: name.to_string(),
                    section: true,
                    rest: rest.to_string(),
                    span: span.clone(),
                    directive,
                    end: 0,
                    children: Vec::new(),
                };
                self.open.push(Open {
                    name: name.to_string(),
                    span,
                    node: Some(node),
                });
            }
        }
    }

    fn guard(
        &mut self,
        name: &'static str,
        argument: Option<&str>,
        span: Span,
        source: &mut Source<'_>,
    ) {
        let held = match argument {
            Some(argument) => {
                let known = |word: &str| self.answer(name, word);
                condition::holds(name, argument, &known)
            }
            None => Err(format!("<{name}> directive missing closing '>'")),
        };
        match held {
            Ok(true) => self.open.push(Open {
                name: name.to_string(),
                span,
                node: None,
            }),
            Ok(false) => self.skip(name, span, source),
            Err(text) => {
                self.complain(span.clone(), name, text);
                self.skip(name, span, source);
            }
        }
    }

    /// What a guard asks for.
    fn answer(&self, guard: &str, word: &str) -> bool {
        match guard {
            "IfModule" => modules::find(word).is_some_and(|m| self.is_loaded(m)),
            "IfDefine" => self.out.defines.iter().any(|(n, _)| n == word),
            "IfFile" => self.out.server_root.join(word).exists(),
            "IfDirective" => registry::find(word, false).is_some_and(|d| self.defined(d)),
            "IfSection" => {
                let name = word.trim_start_matches('<').trim_end_matches('>');
                registry::find(name, true).is_some_and(|d| self.defined(d))
            }
            _ => false,
        }
    }

    /// Passes over lines up to the end of a guard that does not hold; nothing in them is looked
    /// at but the brackets.
    fn skip(&mut self, name: &str, span: Span, source: &mut Source<'_>) {
        let mut waiting = vec![name.to_string()];
        for line in source.lines.by_ref() {
            self.note_loads(&line.text);
            let Some((word, _)) = bracket(&line) else {
                continue;
            };
            let Some(closed) = word.strip_prefix("</") else {
                let opened = word[1..].trim_end_matches('>');
                if waiting.len() > MAX_NESTING {
                    return self.stop(
                        Some(&span),
                        format!("sections are nested deeper than {MAX_NESTING}"),
                    );
                }
                waiting.push(opened.to_string());
                continue;
            };
            let closed = closed.strip_suffix('>').unwrap_or(closed);
            let expected = waiting.pop().unwrap_or_default();
            if !closed.eq_ignore_ascii_case(&expected) {
                // httpd blames the guard's own line.
                let text = format!("Expected </{expected}> but saw </{closed}>");
                self.complain(span.clone(), name, text);
                // Go on where the closing tag belongs, if it belongs anywhere.
                let outer = waiting.iter().rposition(|w| w.eq_ignore_ascii_case(closed));
                if let Some(at) = outer {
                    waiting.truncate(at);
                }
            }
            if waiting.is_empty() {
                return;
            }
        }
        let missing = waiting.pop().unwrap_or_default();
        let text = format!("Expected </{missing}> before end of configuration");
        self.complain(span, name, text);
    }

    /// A LoadModule line counts for the question whether there is any, even where it is skipped.
    pub(super) fn note_loads(&mut self, text: &str) {
        let Some((word, rest)) = next_word(text) else {
            return;
        };
        if word.eq_ignore_ascii_case("LoadModule") {
            self.seen.loads = true;
        }
        let _ = rest;
    }

    /// `</Name>`.
    pub(super) fn close(&mut self, name: &str, word: &str, span: Span, base: usize) {
        let Some(name) = name.strip_suffix('>') else {
            let text = format!("{word}> directive missing closing '>'");
            self.complain(span.clone(), name, text);
            // It is clear what was meant: close it, so that what follows is read rightly.
            return self.close_named(name, span.line, base);
        };
        let line = span.line;
        let inner = self.open[base..].last();
        match inner {
            Some(open) if open.name.eq_ignore_ascii_case(name) => {
                self.close_named(name, line, base)
            }
            // Inside a guard httpd does not see the sections around it.
            None | Some(Open { node: None, .. }) => {
                let text = format!("</{name}> without matching <{name}> section");
                self.complain(span, name, text);
                self.close_named(name, line, base);
            }
            Some(open) => {
                let text = format!("Expected </{}> but saw </{name}>", open.name);
                self.complain(span, name, text);
                self.close_named(name, line, base);
            }
        }
    }

    /// Closes the innermost open section of this name and all inside it; nothing if there is none.
    fn close_named(&mut self, name: &str, line: u32, base: usize) {
        let named = |o: &Open| o.name.eq_ignore_ascii_case(name);
        let Some(at) = self.open[base..].iter().rposition(named) else {
            return;
        };
        while self.open.len() > base + at {
            if let Some(Open {
                node: Some(mut node),
                ..
            }) = self.open.pop()
            {
                node.end = line;
                self.push(node);
            }
        }
    }

    /// A section that its file does not close.
    pub(super) fn never_closed(&mut self, open: Open) {
        let Open { name, span, node } = open;
        let text = match &node {
            Some(_) => format!("{span}: <{name}> was not closed."),
            None => format!("Expected </{name}> before end of configuration"),
        };
        self.complain(span, &name, text);
        if let Some(node) = node {
            self.push(node);
        }
    }

    fn define_macro(&mut self, argument: Option<&str>, span: Span, source: &mut Source<'_>) {
        let mut body = Vec::new();
        let mut depth = 0;
        loop {
            let Some(line) = source.lines.next() else {
                let name = argument
                    .and_then(macros::name_of)
                    .map_or(String::new(), |(n, _)| n);
                let Span { file, line } = &span;
                let text = format!(
                    "macro '{name}' (defined on line {line} of \"{file}\") contents error: expected token not found: </Macro>"
                );
                return self.complain(span, "Macro", text);
            };
            self.note_loads(&line.text);
            let tag = bracket(&line).map(|(word, _)| word.to_ascii_lowercase());
            match tag.as_deref() {
                Some("</macro>") if depth == 0 => break,
                Some("</macro>") => depth -= 1,
                Some("<macro") => depth += 1,
                _ => {}
            }
            // httpd counts a macro's lines without its comments.
            if !line.text.starts_with('#') {
                let number = body.len() as u32 + 1;
                body.push(Line { number, ..line });
            }
        }
        self.any_macro = true;
        let Some(argument) = argument else {
            let text = "<Macro> directive missing closing '>'".to_string();
            return self.complain(span, "Macro", text);
        };
        match Macro::new(argument, body, span.clone()) {
            Ok((made, warnings)) => {
                for text in warnings {
                    self.warn(&span, text);
                }
                if let Some(old) = self.macros.get(&made.name) {
                    let text = format!(
                        "AH02802: macro '{}' multiply defined: defined on line {} of \"{}\", redefined on line {} of \"{}\"",
                        old.name, old.span.line, old.span.file, span.line, span.file
                    );
                    self.warn(&span, text);
                }
                self.macros.insert(made.name.clone(), made);
            }
            Err(text) => self.complain(span, "Macro", text),
        }
    }
}

/// The first word of a line that starts with a bracket.
fn bracket(line: &Line) -> Option<(String, &str)> {
    if !line.text.starts_with(['<', '"', '\'']) {
        return None;
    }
    next_word(&line.text).filter(|(word, _)| word.starts_with('<'))
}
