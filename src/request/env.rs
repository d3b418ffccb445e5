//! A request's variables: those of `SetEnvIf`, `SetEnv` and the proxy, and httpd's "notes".

use std::borrow::Cow;

/// Named values in the order in which they were first set. Names are compared exactly.
///
/// A short list searched from the front: requests have few variables, mostly none at all, and an
/// empty list costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    entries: Vec<(Cow<'static, str>, Vec<u8>)>,
}

impl Env {
    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.entries
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_slice())
    }

    /// Whether `name` is set, be it to nothing.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets `name`, replacing what it was.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Vec<u8>>) {
        let name = name.into();
        let value = value.into();
        match self.entries.iter_mut().find(|(n, _)| *n == name) {
            Some((_, old)) => *old = value,
            None => self.entries.push((name, value)),
        }
    }

    /// Takes `name` away.
    pub fn unset(&mut self, name: &str) {
        self.entries.retain(|(n, _)| n != name);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().map(|(n, v)| (&**n, v.as_slice()))
    }

    /// True when nothing is set.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_replaces_and_unsetting_removes() {
        let mut env = Env::default();
        env.set("a", "1");
        env.set(String::from("b"), "2");
        env.set("a", "3");
        assert_eq!(env.get("a"), Some(&b"3"[..]));
        assert_eq!(env.iter().count(), 2);
        env.unset("a");
        assert!(!env.contains("a") && env.contains("b"));
    }
}
