//! Parameters of a query or a form: bounded, decoded once.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// Names in lower case with their last values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

/// Different names that a request may have: more than all that there are.
const MOST: usize = 100;

impl Params {
    /// Takes `a=b&c` apart. `+` is a blank; of two equal names the last one counts.
    ///
    /// # Errors
    /// Which part is not acceptable: bytes that are no UTF-8, control characters, too many names.
    pub fn parse(text: &[u8]) -> Result<Params, String> {
        let mut all: Vec<(String, String)> = Vec::new();
        for part in text.split(|&b| b == b'&').filter(|p| !p.is_empty()) {
            let (name, value) = match part.iter().position(|&b| b == b'=') {
                Some(at) => (&part[..at], &part[at + 1..]),
                None => (part, &b""[..]),
            };
            let name = decoded(name)?.to_ascii_lowercase();
            let value = decoded(value)?;
            let full = all.len() == MOST;
            match all.iter_mut().find(|(n, _)| *n == name) {
                Some(known) => known.1 = value,
                None if full => {
                    return Err(format!("a form has at most {MOST} different parameters"));
                }
                None => all.push((name, value)),
            }
        }
        Ok(Params(all))
    }

    /// Drops all others.
    pub fn keep(&mut self, names: &[&str]) {
        self.0.retain(|(n, _)| names.contains(&n.as_str()));
    }

    /// Takes over those of these names from elsewhere that are not here.
    pub fn add(&mut self, names: &[&str], from: &Params) {
        let wanted = from.0.iter().filter(|(n, _)| names.contains(&n.as_str()));
        for (name, value) in wanted {
            if !self.has(name) {
                self.0.push((name.clone(), value.clone()));
            }
        }
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(n, _)| n == name);
        found.map(|(_, v)| v.as_str())
    }

    /// Whether it is there, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }
}

fn decoded(text: &[u8]) -> Result<String, String> {
    let blanks: Vec<u8> = text
        .iter()
        .map(|&b| if b == b'+' { b' ' } else { b })
        .collect();
    let bytes: Vec<u8> = percent_encoding::percent_decode(&blanks).collect();
    let text = String::from_utf8(bytes).map_err(|_| "a parameter is not UTF-8".to_owned())?;
    if text.chars().any(char::is_control) {
        return Err("a parameter holds control characters".to_owned());
    }
    Ok(text)
}

/// Decoded once more, for clients that escape twice as httpd's own page makes them.
pub fn decoded_again(text: &str) -> Option<String> {
    let again = percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .ok()?;
    (again != text && !again.chars().any(char::is_control)).then(|| again.into_owned())
}

/// Fit for a query.
pub fn encoded(text: &str) -> String {
    const SAFE: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~');
    utf8_percent_encode(text, SAFE).to_string()
}

/// Fit for a path; what is escaped already stays.
pub fn encoded_path(text: &str) -> String {
    const BAD: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>');
    utf8_percent_encode(text, BAD).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_name_counts() {
        let p = Params::parse(b"b=a&B=b%20+c&w_lf=1.5&x&y=1=2&&").unwrap();
        assert_eq!(p.get("b"), Some("b  c"));
        assert_eq!(p.get("x"), Some(""));
        assert_eq!(p.get("y"), Some("1=2"));
        assert_eq!(p.get("w_lf"), Some("1.5"));
        assert_eq!(p.len(), 4);
        assert!(Params::parse(b"").unwrap().is_empty());
    }

    #[test]
    fn what_no_form_sends_is_refused() {
        assert!(Params::parse(b"a=%00").is_err());
        assert!(Params::parse(b"a=%0d%0a").is_err());
        assert!(Params::parse(b"a=%ff").is_err());
        let many: String = (0..1000).map(|i| format!("p{i}=1&")).collect();
        assert!(Params::parse(many.as_bytes()).is_err());
        let same = "a=1&".repeat(1000);
        assert_eq!(Params::parse(same.as_bytes()).unwrap().len(), 1);
    }

    #[test]
    fn escaping() {
        assert_eq!(
            encoded("http://a:1/x?<\"&é"),
            "http%3A%2F%2Fa%3A1%2Fx%3F%3C%22%26%C3%A9"
        );
        assert_eq!(decoded_again("http%3A//h").as_deref(), Some("http://h"));
        assert_eq!(decoded_again("http://h"), None);
    }
}
