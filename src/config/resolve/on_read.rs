//! Directives that act while the file is read.

use std::path::Path;
use std::sync::Arc;

use super::super::include;
use super::super::lexer::words;
use super::super::macros;
use super::super::modules::{self, Standing};
use super::super::registry::{self, foreign};
use super::super::span::Span;
use super::{MAX_USES, Reader, Source, absolute};

impl Reader<'_> {
    /// Executes the directive with this name (as the table spells it).
    pub(super) fn act(&mut self, name: &'static str, rest: &str, span: Span) {
        let words = words(rest);
        let d = registry::find(name, false);
        if let Some(d) = d
            && let Some(fault) = d.args.fault(words.len())
        {
            let text = format!("{name} {fault}, {}", d.help);
            return self.complain(span, name, text);
        }
        let done = match name {
            "Define" => self.define(&words, &span),
            "UnDefine" => self.undefine(&words[0]),
            "Include" => self.include(&words[0], false, &span),
            "IncludeOptional" => self.include(&words[0], true, &span),
            "LoadModule" => self.load_module(&words[0], &span),
            "LoadFile" => Ok(()),
            "ServerRoot" => self.server_root(&words[0]),
            "DefaultRuntimeDir" => self.runtime_dir(&words[0]),
            "Use" => self.use_macro(rest, &span),
            "UndefMacro" => self.undef_macro(rest),
            "MacroIgnoreEmptyArgs" => {
                self.empty_arguments = false;
                Ok(())
            }
            "MacroIgnoreBadNesting" => Ok(()),
            other => Err(format!("{other} is not known to the reader")),
        };
        if let Err(text) = done {
            self.complain(span, name, text);
        }
    }

    fn define(&mut self, words: &[String], span: &Span) -> Result<(), String> {
        let name = &words[0];
        if name.contains(':') {
            return Err("Variable name must not contain ':'".to_string());
        }
        // An empty value is none.
        let value = words.get(1).filter(|v| !v.is_empty()).cloned();
        if value.is_some() {
            self.out.defined_in.retain(|(n, _)| n != name);
            self.out.defined_in.push((name.clone(), span.file.clone()));
        }
        match self.out.defines.iter_mut().find(|(n, _)| n == name) {
            // A bare repetition takes no value away.
            Some((_, old)) => *old = value.or(old.take()),
            None => self.out.defines.push((name.clone(), value)),
        }
        Ok(())
    }

    fn undefine(&mut self, name: &str) -> Result<(), String> {
        if name.contains(':') {
            return Err("Variable name must not contain ':'".to_string());
        }
        self.out.defines.retain(|(n, _)| n != name);
        Ok(())
    }

    fn include(&mut self, pattern: &str, optional: bool, span: &Span) -> Result<(), String> {
        if self.chain.len() >= include::MAX_DEPTH {
            self.stop(
                Some(span),
                format!(
                    "Exceeded maximum include depth of {}, There appears to be a recursion.",
                    include::MAX_DEPTH
                ),
            );
            return Ok(());
        }
        let files = include::find(&self.out.server_root, pattern, optional)?;
        for file in files {
            if self.stopped {
                break;
            }
            if self.out.files.len() >= include::MAX_FILES {
                let text = format!("more than {} files are read", include::MAX_FILES);
                self.stop(Some(span), text);
                break;
            }
            let room = include::MAX_BYTES.saturating_sub(self.bytes);
            match include::read(&file, room) {
                Ok(text) => {
                    self.chain.push(span.clone());
                    self.read_file(&file, span.line, &text);
                    self.chain.pop();
                }
                Err(text) => self.complain(span.clone(), "Include", text),
            }
        }
        Ok(())
    }

    fn load_module(&mut self, name: &str, span: &Span) -> Result<(), String> {
        self.seen.loads = true;
        let Some(module) = modules::find(name) else {
            return Err(unknown_module(name));
        };
        self.seen.loads_mpm |= module.is_mpm();
        if module.standing == Standing::Static {
            let text = format!("AH01574: module {name} is already loaded, skipping");
            self.warn(span, text);
            return Ok(());
        }
        if !self.mode.loads {
            // The first reading only learns that there are such lines.
            return Ok(());
        }
        if self.is_loaded(module) {
            self.warn(
                span,
                format!("AH01574: module {name} is already loaded, skipping"),
            );
            return Ok(());
        }
        if module.is_mpm()
            && let Some((other, _)) = self.out.modules.iter().find(|(m, _)| m.starts_with("mpm_"))
        {
            let text = format!(
                "More than one MPM loaded: {name} after {other}_module; one of the lines must go"
            );
            return Err(text);
        }
        self.out.modules.push((module.id.to_string(), false));
        Ok(())
    }

    fn server_root(&mut self, path: &str) -> Result<(), String> {
        let path = absolute(&self.invocation.directory, Path::new(path));
        if !path.is_dir() {
            return Err("ServerRoot must be a valid directory".to_string());
        }
        self.out.server_root = path;
        Ok(())
    }

    /// The directory is made at start if it is not there, so it is not looked for.
    fn runtime_dir(&mut self, path: &str) -> Result<(), String> {
        if path.is_empty() {
            return Err(
                "DefaultRuntimeDir must be a valid directory, absolute or relative to ServerRoot"
                    .to_string(),
            );
        }
        self.out.runtime_dir = Some(self.out.server_root.join(path));
        Ok(())
    }

    fn use_macro(&mut self, rest: &str, span: &Span) -> Result<(), String> {
        if !self.any_macro {
            return Err("no macro defined before Use".to_string());
        }
        let Some((name, values)) = macros::name_of(rest) else {
            return Err("no macro name specified with Use".to_string());
        };
        let Some(found) = self.macros.get(&name).cloned() else {
            return Err(format!("macro '{name}' undefined"));
        };
        if self.using.contains(&name) {
            return Err(format!("recursive use of macro '{name}' is invalid"));
        }
        let values = words(values);
        if self.empty_arguments
            && let Some(i) = values.iter().position(String::is_empty)
        {
            self.warn(
                span,
                format!(
                    "AH02798: {} used with empty argument #{}",
                    found.described(),
                    i + 1
                ),
            );
        }
        let (described, lines) = found.used(&values, span)?;
        self.uses += 1;
        if self.uses > MAX_USES {
            let text = format!("macros are used more than {MAX_USES} times");
            self.stop(Some(span), text);
            return Ok(());
        }
        self.bytes += lines.iter().map(|l| l.text.len() + 1).sum::<usize>();
        if self.bytes > include::MAX_BYTES {
            self.stop(
                Some(span),
                "macros make the configuration too large".to_string(),
            );
            return Ok(());
        }
        self.using.push(name);
        self.read(Source {
            name: Arc::from(described),
            lines: Box::new(lines.into_iter()),
        });
        self.using.pop();
        Ok(())
    }

    fn undef_macro(&mut self, rest: &str) -> Result<(), String> {
        if !self.any_macro {
            return Err("no macro defined before UndefMacro".to_string());
        }
        let name = macros::name_of(rest)
            .map(|(name, _)| name)
            .unwrap_or_default();
        match self.macros.remove(&name) {
            Some(_) => Ok(()),
            None => Err(format!("cannot remove undefined macro '{name}'")),
        }
    }
}

fn unknown_module(name: &str) -> String {
    let head = format!("Cannot load {name} into server: ");
    if let Some(about) = foreign::about_module(name) {
        return format!("{head}it is no part of httpd and not here: {about}");
    }
    let known = modules::all().iter().map(|m| format!("{}_module", m.id));
    match super::super::diagnostic::nearest(name, known) {
        Some(near) => format!("{head}there is no such module; did you mean {near}?"),
        None => format!("{head}there is no such module in httpd or here"),
    }
}
