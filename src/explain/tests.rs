//! The text for small configurations, made without a server.

use std::path::PathBuf;

use super::*;
use crate::config::build::{Invocation, load};

/// Loads a configuration from a file of its own and explains a URL.
fn told(conf: &str, url: &str) -> Result<String, String> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let root: PathBuf =
        std::env::temp_dir().join(format!("muster-explain-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("m.conf"), conf).unwrap();
    let loaded = load(&Invocation {
        program: "muster".into(),
        server_root: Some(root.clone()),
        file: Some("m.conf".into()),
        skip_document_root: true,
        ..Invocation::default()
    });
    std::fs::remove_dir_all(&root).unwrap();
    assert!(loaded.complaints.is_empty(), "{:?}", loaded.complaints);
    explain(Rc::new(loaded.settings.unwrap()), url)
}

const CONF: &str = "Listen 127.0.0.1:8080
ServerName main.test
<Proxy balancer://pair>
BalancerMember http://127.0.0.1:1/sub route=a loadfactor=3
BalancerMember http://127.0.0.1:2
</Proxy>
<VirtualHost *:8080>
ServerName a.test
ProxyPass /static !
ProxyPass /app/ balancer://pair/x/
ProxyPass / http://127.0.0.1:3/ timeout=5
Redirect /gone http://other.test/
</VirtualHost>
<VirtualHost *:8080>
ServerName b.test
<Location /in>
Require ip 10.0.0.0/8
</Location>
Redirect /gone http://other.test/new
</VirtualHost>
";

/// The line that begins with a label.
fn labelled<'a>(text: &'a str, label: &str) -> &'a str {
    text.lines()
        .find(|l| l.starts_with(label))
        .unwrap_or_else(|| panic!("no {label} in\n{text}"))
}

#[test]
fn a_balancer_with_its_members() {
    let text = told(CONF, "http://a.test:8080/app/y%20z?q").unwrap();
    assert!(labelled(&text, "Listener").contains("127.0.0.1:8080"));
    assert!(labelled(&text, "Server").contains("a.test"));
    assert!(labelled(&text, "Balancer").contains("balancer://pair"));
    assert_eq!(text.matches("\nMember").count(), 2);
    assert!(text.contains("loadfactor=3.00 lbset=0 route=a"), "{text}");
    assert!(text.contains("asked for /sub/x/y%20z?q"), "{text}");
    assert!(
        text.contains("m.conf:9]"),
        "rules that were tried have lines: {text}"
    );
    assert!(labelled(&text, "State").contains("no server runs"));
}

#[test]
fn a_plain_worker() {
    let text = told(CONF, "http://a.test:8080/else").unwrap();
    assert!(labelled(&text, "Worker").contains("http://127.0.0.1:3/"));
    assert!(text.contains("timeout=5"));
}

#[test]
fn an_exclusion_ends_at_a_file() {
    let text = told(CONF, "http://a.test:8080/static/x").unwrap();
    assert!(labelled(&text, "End").contains("htdocs/static/x"));
}

#[test]
fn access_and_redirects_end_the_way() {
    let text = told(CONF, "http://b.test:8080/in/x").unwrap();
    assert!(labelled(&text, "End").contains("403"));
    assert!(text.contains("access: Require ip 10.0.0.0/8"));
    let text = told(CONF, "http://b.test:8080/gone").unwrap();
    assert!(labelled(&text, "End").contains("http://other.test/new"));
}

#[test]
fn a_path_alone_asks_the_first_listener() {
    let text = told(CONF, "/x").unwrap();
    assert!(labelled(&text, "Request").contains("main.test"));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    for url in [
        "ftp://a.test/",
        "a.test/x",
        "http://a.test:9/",
        "http://a b/",
        "http://a.test:x/",
    ] {
        assert!(told(CONF, url).is_err(), "{url}");
    }
    assert!(
        told("ServerName x\n", "http://x/")
            .unwrap_err()
            .contains("Listen")
    );
}
