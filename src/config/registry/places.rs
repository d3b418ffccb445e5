//! Where a directive may stand.

/// httpd's override classes and context checks, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places(pub u16);

impl Places {
    /// Directly in the main server.
    pub const S: Places = Places(1);
    /// Directly in a `<VirtualHost>`.
    pub const V: Places = Places(2);
    /// In a section.
    pub const D: Places = Places(4);
    /// In a .htaccess file (which muster does not read; for `-L`).
    pub const H: Places = Places(8);
    /// Not inside `<Limit>` or `<LimitExcept>`.
    pub const NOT_IN_LIMIT: Places = Places(16);
    /// Not inside `<Directory>`.
    pub const NOT_IN_DIRECTORY: Places = Places(32);
    /// Not inside `<Location>`.
    pub const NOT_IN_LOCATION: Places = Places(64);
    /// Not inside `<Files>`.
    pub const NOT_IN_FILES: Places = Places(128);
    /// Not inside `<If>`.
    pub const NOT_IN_IF: Places = Places(256);
    /// Of sections only in `<Proxy>`.
    pub const PROXY: Places = Places(512);

    /// Main server and virtual hosts.
    pub const SV: Places = Places::S.and(Places::V);
    /// Servers and sections.
    pub const SVD: Places = Places::SV.and(Places::D);
    /// Everywhere.
    pub const SVDH: Places = Places::SVD.and(Places::H);
    /// Sections and .htaccess files.
    pub const DH: Places = Places::D.and(Places::H);

    /// Both.
    pub const fn and(self, other: Places) -> Places {
        Places(self.0 | other.0)
    }

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Places) -> bool {
        self.0 & other.0 == other.0
    }

    /// What is wrong with a directive of these places inside these sections (names as the table
    /// spells them, outermost first, `VirtualHost` among them), in httpd's words.
    pub fn fault(self, shown: &str, parents: &[&str]) -> Option<String> {
        let inside = |names: &[&str]| parents.iter().rev().find(|p| names.contains(p)).copied();
        let sections = parents.iter().any(|p| *p != "VirtualHost");
        let vhost = inside(&["VirtualHost"]).is_some();
        let class_fits = match (sections, vhost) {
            (true, _) => {
                self.has(Places::D)
                    || (self.has(Places::PROXY) && inside(&["Proxy", "ProxyMatch"]).is_some())
            }
            (false, true) => self.has(Places::V) || self.has(Places::S),
            (false, false) => self.has(Places::S),
        };
        if !class_fits {
            return Some(match parents.last() {
                Some(parent) => format!("{shown} not allowed in <{parent}> context"),
                None => format!("{shown} not allowed here"),
            });
        }
        let bracketed = if shown.starts_with('<') {
            format!("{shown}>")
        } else {
            shown.into()
        };
        let fault = |place: &str| Some(format!("{bracketed} cannot occur within {place}"));
        if vhost && !sections && !self.has(Places::V) {
            return fault("<VirtualHost> section");
        }
        if self.has(Places::NOT_IN_LIMIT) && inside(&["Limit", "LimitExcept"]).is_some() {
            return fault("<Limit> or <LimitExcept> section");
        }
        let checks: [(Places, &[&str]); 4] = [
            (Places::NOT_IN_DIRECTORY, &["Directory", "DirectoryMatch"]),
            (Places::NOT_IN_LOCATION, &["Location", "LocationMatch"]),
            (Places::NOT_IN_FILES, &["Files", "FilesMatch"]),
            (Places::NOT_IN_IF, &["If", "ElseIf", "Else"]),
        ];
        checks
            .iter()
            .filter(|(bit, _)| self.has(*bit))
            .find_map(|(_, names)| inside(names))
            .and_then(|name| fault(&format!("<{name}> section")))
    }
}

impl std::fmt::Display for Places {
    /// As `-L` prints them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words = Vec::new();
        if self.has(Places::S) {
            words.push("the main server");
        }
        if self.has(Places::V) {
            words.push("<VirtualHost>");
        }
        if self.has(Places::D) {
            words.push(match words.is_empty() {
                true => "sections such as <Location> and <Directory>",
                false => "sections",
            });
        } else if self.has(Places::PROXY) {
            words.push("<Proxy>");
        }
        f.write_str(&words.join(", "))?;
        let except = [
            (Places::NOT_IN_DIRECTORY, "<Directory>"),
            (Places::NOT_IN_LOCATION, "<Location>"),
            (Places::NOT_IN_FILES, "<Files>"),
            (Places::NOT_IN_IF, "<If>"),
            (Places::NOT_IN_LIMIT, "<Limit>"),
        ];
        let except: Vec<&str> = except
            .iter()
            .filter(|(bit, _)| self.has(*bit))
            .map(|(_, name)| *name)
            .collect();
        if !except.is_empty() {
            write!(f, " except {}", except.join(" "))?;
        }
        Ok(())
    }
}
