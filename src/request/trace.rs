//! What `muster --explain` is told on a request's way. Switched off it costs one look at a flag.

use std::cell::{Cell, RefCell};

use crate::config::span::Span;

/// One step of a request's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rule or section that was looked at; `None` for what the code itself decides.
    pub span: Option<Span>,
    /// What became of it.
    pub verdict: Verdict,
    /// One line for people.
    pub text: String,
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It applies.
    Matched,
    /// It was tried and does not apply.
    Passed,
    /// A remark: what was decided, or an intermediate value.
    Note,
}

/// Collects steps while it is switched on.
#[derive(Debug, Default)]
pub struct Trace {
    on: Cell<bool>,
    steps: RefCell<Vec<Step>>,
}

impl Trace {
    /// Starts collecting.
    pub fn start(&self) {
        self.steps.borrow_mut().clear();
        self.on.set(true);
    }

    /// Stops and gives what was collected.
    pub fn finish(&self) -> Vec<Step> {
        self.on.set(false);
        self.steps.take()
    }

    /// Adds a step; `text` is only made when somebody listens.
    pub fn step(&self, span: Option<&Span>, verdict: Verdict, text: impl FnOnce() -> String) {
        if self.on.get() {
            self.steps.borrow_mut().push(Step {
                span: span.cloned(),
                verdict,
                text: text(),
            });
        }
    }

    /// Adds a step for a rule that was tried.
    pub fn tried(&self, span: &Span, matched: bool, text: impl FnOnce() -> String) {
        let verdict = if matched {
            Verdict::Matched
        } else {
            Verdict::Passed
        };
        self.step(Some(span), verdict, text);
    }

    /// Adds a remark.
    pub fn note(&self, text: impl FnOnce() -> String) {
        self.step(None, Verdict::Note, text);
    }
}

/// Bytes as text for a step.
pub fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
