//! The table of directives: names, counts, places, classes.

use super::*;

#[test]
fn names_are_unique_and_found_in_any_letter_case() {
    let mut seen = std::collections::HashSet::new();
    for d in all() {
        let shown = d.shown().to_ascii_lowercase();
        assert!(seen.insert(shown.clone()), "{shown} stands twice");
        assert!(find(&d.name.to_ascii_uppercase(), d.section).is_some());
        assert!(!d.help.is_empty() && !d.help.ends_with('.'), "{shown}");
        assert!(d.places.0 & 7 != 0, "{shown} may stand nowhere");
    }
    assert!(find("Location", false).is_none() && find("Location", true).is_some());
}

#[test]
fn argument_counts_speak_as_httpd_does() {
    assert_eq!(ArgSpec::One.fault(2), Some("takes one argument"));
    assert_eq!(ArgSpec::OneOrTwo.fault(3), Some("takes 1-2 arguments"));
    assert_eq!(
        ArgSpec::Each.fault(0),
        Some("requires at least one argument")
    );
    assert_eq!(ArgSpec::OneOrThree.fault(3), None);
}

#[test]
fn places_speak_as_httpd_does() {
    let said = |name: &str, section, parents: &[&str]| {
        let d = find(name, section).unwrap();
        d.places.fault(&d.shown(), parents).unwrap_or_default()
    };
    let cases = [
        (
            said("Listen", false, &["Location"]),
            "Listen not allowed in <Location> context",
        ),
        (said("Require", false, &[]), "Require not allowed here"),
        (
            said("Require", false, &["VirtualHost"]),
            "Require not allowed in <VirtualHost> context",
        ),
        (
            said("Listen", false, &["VirtualHost"]),
            "Listen cannot occur within <VirtualHost> section",
        ),
        (
            said("VirtualHost", true, &["VirtualHost"]),
            "<VirtualHost> cannot occur within <VirtualHost> section",
        ),
        (
            said("Location", true, &["Location"]),
            "<Location not allowed in <Location> context",
        ),
        (
            said("ProxyPass", false, &["If"]),
            "ProxyPass cannot occur within <If> section",
        ),
        (
            said("ProxyPass", false, &["Directory", "Limit"]),
            "ProxyPass cannot occur within <Limit> or <LimitExcept> section",
        ),
        (
            said("ProxyPass", false, &["VirtualHost", "LocationMatch"]),
            "",
        ),
        (
            said("Files", true, &["Location"]),
            "<Files> cannot occur within <Location> section",
        ),
        (said("Limit", true, &[]), "<Limit not allowed here"),
        (said("SSLProxyVerify", false, &["Proxy"]), ""),
    ];
    for (got, want) in cases {
        assert_eq!(got, want);
    }
}

#[test]
fn what_protects_is_never_waved_through() {
    let guards = [
        "auth",
        "require",
        "allow",
        "deny",
        "order",
        "satisfy",
        "limit",
        "sslverify",
    ];
    for d in all() {
        let name = d.name.to_ascii_lowercase();
        if matches!(d.class, Class::NoMeaning(_) | Class::NotYet(_)) {
            assert!(!guards.iter().any(|g| name.starts_with(g)), "{name}");
        }
    }
}

#[test]
fn foreign_names_are_explained() {
    assert!(foreign::about("JkMount").unwrap().contains("mod_jk"));
    assert!(foreign::about("lockfile").unwrap().contains("2.2"));
    assert!(foreign::about("NoSuchThing").is_none());
    // No prefix of a third party takes a name of httpd's own.
    for d in all() {
        assert_eq!(foreign::about(d.name), None, "{}", d.name);
    }
}
