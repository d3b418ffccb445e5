//! What expressions mean.

use std::borrow::Cow;

use super::*;

struct Place;

impl Vocabulary for Place {
    fn variable(&self, name: &str) -> bool {
        VARIABLES.contains(&name.to_ascii_uppercase().as_str()) || name.starts_with("HC_")
    }

    fn function(&self, name: &str) -> bool {
        FUNCTIONS.contains(&name) || name == "hc"
    }
}

impl Facts for Place {
    fn variable(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        match name {
            "REQUEST_STATUS" => Some(Cow::Borrowed(b"503")),
            "CONTENT_TYPE" => Some(Cow::Borrowed(b"text/html\0hidden")),
            "REMOTE_ADDR" => Some(Cow::Borrowed(b"10.1.2.3")),
            _ => None,
        }
    }

    fn function(&self, name: &str, argument: &[u8]) -> Option<Cow<'_, [u8]>> {
        match (name, argument) {
            ("resp", b"X-Load") => Some(Cow::Borrowed(b"17")),
            ("hc", b"body") => Some(Cow::Borrowed(b"Under Maintenance, code=42;")),
            _ => None,
        }
    }
}

fn holds(text: &str) -> bool {
    let e = Expression::parse(text, &Place).unwrap_or_else(|e| panic!("{text}: {e}"));
    e.holds(&Place).unwrap()
}

#[test]
fn what_is_true_and_what_is_not() {
    let yes = [
        "true",
        "! false",
        "true || false && false",
        "!false && true",
        "!(false || false)",
        "%{REQUEST_STATUS} =~ /^[45]/",
        "%{REQUEST_STATUS} !~ m#^[23]#",
        "%{REQUEST_STATUS} -in {'500', '503'}",
        "%{REQUEST_STATUS} -ge 500 && %{REQUEST_STATUS} -lt 600",
        "%{REQUEST_STATUS} == 503",
        "%{REQUEST_STATUS} = '503'",
        "%{resp:X-Load} -lt 20",
        "resp('X-Load') -eq '017'",
        "hc('body') =~ /under maintenance/i",
        "hc(tolower('BODY')) =~ /Maint/",
        "tolower(hc('body')) -strmatch 'under *code=4?;'",
        "hc('body') =~ /code=([0-9]+)/ && $1 -gt 41 && \"<$1>\" == '<42>'",
        "'a' . 'b' == \"ab\"",
        "'a' < 'b'",
        "'10' -gt '9'",
        "'10' < '9'",
        "-n %{REQUEST_STATUS}",
        "-z %{REQUEST_METHOD}",
        "-T 'yes'",
        "!-T 'Off'",
        "%{CONTENT_TYPE} == 'text/html'",
        "%{REMOTE_ADDR} -ipmatch '10.0.0.0/8'",
        "'/a/b' -strmatch '/*b'",
        "!('/a/b' -fnmatch '/*b')",
        "'ABC' -strcmatch 'a*'",
        "md5('a') == '0cc175b9c0f1b6a831c399e269772661'",
        "sha1('a') =~ /^86f7e437/",
        "unbase64(base64('x y')) == 'x y'",
        "unescape('%41') == 'A' && escape('a b') == 'a%20b'",
        "sub(s/a/b/g, 'banana') == 'bbnbnb'",
        "sub(s/(n)/<$1>/, 'banana') == 'ba<n>ana'",
        "%{HC_NOTHING} == ''",
        "'it\\'s' == \"it's\"",
    ];
    for text in yes {
        assert!(holds(text), "{text}");
    }
    let no = [
        "false",
        "true && false",
        "%{REQUEST_STATUS} =~ /^2/",
        "%{REQUEST_STATUS} -in {'200'}",
        "-n ''",
        "%{REMOTE_ADDR} -ipmatch '192.0.2.1'",
        "%{REQUEST_METHOD} -ipmatch '10.0.0.0/8'",
        "'ab' -strmatch 'a?c*'",
    ];
    for text in no {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn what_is_no_expression_says_why() {
    let cases = [
        ("", "a word was expected"),
        ("foo", "foo is no function"),
        ("%{NOPE} == ''", "variable 'NOPE' does not exist"),
        ("nope('x') == ''", "function 'nope' does not exist"),
        ("%{REQUEST_STATUS", "no closing brace"),
        ("'a", "no closing quote"),
        ("'a' ==", "a word was expected"),
        ("'a' =~ 'b'x", "an operator"),
        ("'a' =~ /(/", "regular expression is wrong"),
        ("'a' =~ /x", "a regular expression"),
        ("(true", "a closing bracket"),
        ("true true", "an operator"),
        ("'a' -foo 'b'", "operator -foo is unknown"),
        ("-d '/x'", "test -d is unknown here"),
        ("-q '/x'", "test -q is unknown here"),
        ("-U '/x'", "test -U asks this server for a page"),
        ("-R '10.0.0.0/8'", "-ipmatch looks at any address"),
        ("'a' -in 'b'", "a list"),
        ("'a' -ipmatch 'x'", "an address or network"),
    ];
    for (text, part) in cases {
        let e = Expression::parse(text, &Place).unwrap_err().to_string();
        assert!(e.contains(part), "{text}: {e}");
        assert!(e.starts_with("syntax error, "));
    }
    let deep = "(".repeat(10_000);
    assert!(Expression::parse(&deep, &Place).is_err());
    let deep = format!("{}true", "!".repeat(10_000));
    assert!(Expression::parse(&deep, &Place).is_err());
    let deep = format!("{}'x'", "tolower(".repeat(10_000));
    assert!(Expression::parse(&deep, &Place).is_err());
}

#[test]
fn templates_are_texts_with_variables() {
    let t = Template::parse("s=%{REQUEST_STATUS} l=%{resp:X-Load} 100%", &Place).unwrap();
    assert_eq!(t.value(&Place).unwrap(), b"s=503 l=17 100%");
}

#[test]
fn a_runaway_expression_ends() {
    let e = Expression::parse("hc('x') =~ /(?=x)(x+x+)+y/", &Place).unwrap();
    assert_eq!(e.holds(&Place), Ok(false));
}
