//! Spellings of a path and what becomes of them.

use super::*;

fn norm(raw: &str, slashes: EncodedSlashes, merge: bool) -> Result<(String, String), u16> {
    let text = |b: Vec<u8>| b.escape_ascii().to_string();
    normalise(raw.as_bytes(), slashes, merge)
        .map(|p| (text(p.decoded), text(p.encoded)))
        .map_err(|e| e.status)
}

fn decoded(raw: &str) -> Result<String, u16> {
    norm(raw, EncodedSlashes::Off, true).map(|p| p.0)
}

#[test]
fn plain_spellings_of_a_path() {
    for (raw, expected) in [
        ("/", "/"),
        ("/private/x", "/private/x"),
        ("/app/../private/x", "/private/x"),
        ("/%70rivate/x", "/private/x"),
        ("//private/x", "/private/x"),
        ("/./private/x", "/private/x"),
        ("/app/%2e%2e/private/x", "/private/x"),
        ("/x//../private/x", "/private/x"),
        ("/app/.%2e/%70rivate/x", "/private/x"),
        ("/app/%252e%252e/private/x", "/app/%2e%2e/private/x"),
        ("/a/b/..", "/a/"),
        ("/a/b/../", "/a/"),
        ("/a/.", "/a/"),
        ("/a//", "/a/"),
        ("/a/..", "/"),
        ("/a/...", "/a/..."),
        ("/a/..b/.c", "/a/..b/.c"),
        ("/.well-known/x", "/.well-known/x"),
        ("/a;x=1/b;y", "/a;x=1/b;y"),
        ("/a%3bx", "/a;x"),
        ("/a%20%3f%23%25", "/a ?#%"),
        ("/app/..%5cprivate", "/app/..\\\\private"),
        ("/%c0%ae%c0%ae/x", "/\\xc0\\xae\\xc0\\xae/x"),
    ] {
        assert_eq!(decoded(raw), Ok(expected.to_string()), "{raw}");
    }
}

#[test]
fn paths_that_are_refused() {
    for (raw, status) in [
        ("", 400),
        ("x", 400),
        ("*", 400),
        ("/p%zz", 400),
        ("/p%4", 400),
        ("/p%", 400),
        ("/p%+1", 400),
        ("/..", 400),
        ("/../../etc/passwd", 400),
        ("/a/../../x", 400),
        ("/%2e%2e/x", 400),
        ("/app/..;/private/x", 400),
        ("/app/..;x=y", 400),
        ("/app/.;/x", 400),
        ("/app/..%3b/x", 400),
        ("/app/%2e%2e%3Bx/x", 400),
        ("/a%00b", 404),
        ("/private%2fx", 404),
        ("/%2Fprivate", 404),
        ("/app/..%2fprivate", 404),
    ] {
        assert_eq!(decoded(raw), Err(status), "{raw}");
    }
}

#[test]
fn encoded_slashes_on() {
    let n = |raw| norm(raw, EncodedSlashes::On, true);
    assert_eq!(n("/a%2fb").unwrap(), ("/a/b".into(), "/a%2fb".into()));
    assert_eq!(n("/a/x%2f..%2fy").unwrap().0, "/a/y");
    assert_eq!(n("/%2fprivate").unwrap().0, "/private");
    assert_eq!(n("/a%2f..%2f..%2fx"), Err(400));
    assert_eq!(n("/a/x%2f..;%2fy"), Err(400));
}

#[test]
fn encoded_slashes_no_decode() {
    let sent = |raw: &str| {
        let path = normalise(raw.as_bytes(), EncodedSlashes::NoDecode, true).unwrap();
        String::from_utf8(canonical_escape_kept(&path.decoded)).unwrap()
    };
    for raw in [
        "/a%2fb",
        "/a%2Fb",
        "/a%252fb",
        "/a%25252Fb",
        "/%25%2f",
        "/a%25b",
    ] {
        assert_eq!(sent(raw), raw);
    }
    assert_eq!(sent("/%41%20%c3"), "/A%20%C3");
    let kept = normalise(b"/a%2Fb%25c", EncodedSlashes::NoDecode, true).unwrap();
    assert_eq!(kept.decoded, b"/a%2Fb%c");
}

#[test]
fn the_encoded_spelling() {
    let e = |raw: &str, merge| normalise_encoded(raw.as_bytes(), merge).map_err(|e| e.status);
    assert_eq!(e("/a%2fb//%41%20/../c", true).unwrap(), b"/a%2fb/c");
    assert_eq!(e("/a//b", false).unwrap(), b"/a//b");
    assert_eq!(e("/a//../b", false).unwrap(), b"/a/b");
    assert_eq!(e("//", false).unwrap(), b"//");
    assert_eq!(e("/..%3b/x", true), Err(400));
    assert_eq!(
        norm("//a//b/", EncodedSlashes::Off, false).unwrap().0,
        "//a//b/"
    );
}

#[test]
fn escaping() {
    assert_eq!(
        canonical_escape(b"/aZ9~$-_.+!*'(),;:@&=/ %?#[]{}|^`\"<>\\\x00\r\n\x7f\xe9"),
        b"/aZ9~$-_.+!*'(),;:@&=/%20%25%3F%23%5B%5D%7B%7D%7C%5E%60%22%3C%3E%5C%00%0D%0A%7F%E9"
    );
    assert_eq!(canonical_escape(b"/%2f"), b"/%252f");
}

#[test]
fn parameters_are_cut_per_segment() {
    let cut = |p: &str| String::from_utf8(without_parameters(p.as_bytes()).into_owned()).unwrap();
    assert_eq!(cut("/private;x=1/x"), "/private/x");
    assert_eq!(cut("/a;b;c/;d/e"), "/a/e");
    assert_eq!(cut("/;/;a=/private;b/x"), "/private/x");
    assert_eq!(cut("/a/;x"), "/a/");
    assert_eq!(cut("http://h/;x/y"), "http://h/y");
    assert!(matches!(without_parameters(b"/a/b"), Cow::Borrowed(_)));
}

#[test]
fn access_control_sees_what_a_backend_may_see() {
    let seen = |p: &str| {
        let path = normalise(p.as_bytes(), EncodedSlashes::NoDecode, true).unwrap();
        as_backends_see(&path).map(|seen| seen.map(|p| String::from_utf8(p).unwrap()))
    };
    let private = Ok(Some("/e/private/x".to_owned()));
    assert_eq!(seen("/e/;/private/x"), private);
    assert_eq!(seen("/e/private%2fx"), private);
    assert_eq!(seen("/e/y%2F..%2fprivate/x"), private);
    assert_eq!(seen("/e/%2fprivate%3bv%2fx"), private);
    assert_eq!(seen("/e/a%252fb%20c"), Ok(None));
    assert_eq!(seen("/e/..%2f..%2f..%2fx").unwrap_err().status, 400);
}

#[test]
fn normalising_again_changes_nothing() {
    let mut n = 0;
    crate::codec::fuzz::run(20_000, |random| {
        let raw = random.text(b"/.%2eEfF;a5b03B", 24);
        let raw = [b"/".to_vec(), raw].concat();
        for slashes in [
            EncodedSlashes::Off,
            EncodedSlashes::On,
            EncodedSlashes::NoDecode,
        ] {
            let Ok(path) = normalise(&raw, slashes, true) else {
                continue;
            };
            n += 1;
            let dots = |p: &[u8]| p.split(|&b| b == b'/').any(|s| s == b"." || s == b"..");
            assert!(!dots(&path.decoded), "{}", raw.escape_ascii());
            assert!(!path.decoded.windows(2).any(|w| w == b"//"));
            let sent = match slashes {
                EncodedSlashes::NoDecode => canonical_escape_kept(&path.decoded),
                _ => canonical_escape(&path.decoded),
            };
            let again = normalise(&sent, slashes, true).expect("what is sent is good");
            assert_eq!(again.decoded, path.decoded, "{}", raw.escape_ascii());
        }
    });
    assert!(n > 5000);
}
