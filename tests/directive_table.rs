//! The table of directives against the list of all names of a stock httpd 2.4.71 with its modules
//! and of the beacon module (`tests/data/directives.txt`: module, name, where it may stand).

use std::collections::HashSet;

use muster::config::registry::{self, Class, Places};

/// Names of httpd that are not in the list, which was made with another MPM.
const PREFORK: [&str; 2] = ["MinSpareServers", "MaxSpareServers"];

/// muster's own.
const OWN: [&str; 3] = [
    "ProxyBeaconAllow",
    "ProxyBeaconMac",
    "ProxyBeaconSecretFile",
];

struct Row<'a> {
    module: &'a str,
    name: &'a str,
    section: bool,
    places: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let list = include_str!("data/directives.txt");
    let row = |line: &'static str| {
        let mut columns = line.split('\t');
        let (module, name) = (columns.next().unwrap(), columns.next().unwrap());
        Row {
            module,
            name: name.trim_matches(['<', '>']),
            section: name.starts_with('<'),
            places: columns.next().unwrap(),
        }
    };
    list.lines().map(row).collect()
}

#[test]
fn every_name_is_in_the_table() {
    let rows = rows();
    assert_eq!(rows.len(), 727);
    for row in &rows {
        let Some(found) = registry::find(row.name, row.section) else {
            panic!("{} is not in the table", row.name);
        };
        assert_eq!(found.module, row.module, "{}", row.name);
    }
    let known: HashSet<(String, bool)> = rows
        .iter()
        .map(|r| (r.name.to_ascii_lowercase(), r.section))
        .collect();
    for d in registry::all() {
        let listed = known.contains(&(d.name.to_ascii_lowercase(), d.section));
        assert!(
            listed || PREFORK.contains(&d.name) || OWN.contains(&d.name),
            "{} is in no list",
            d.name
        );
    }
}

#[test]
fn places_are_those_of_httpd() {
    for row in rows() {
        let places = registry::find(row.name, row.section).unwrap().places;
        let words: HashSet<&str> = row.places.split(',').collect();
        for (word, bit) in [
            ("server", Places::S),
            ("section", Places::D),
            ("htaccess", Places::H),
        ] {
            assert_eq!(words.contains(word), places.has(bit), "{} {word}", row.name);
        }
        // Some that httpd's class would allow in a virtual host check that they are in none.
        assert!(
            words.contains("vhost") || !places.has(Places::V),
            "{}",
            row.name
        );
    }
}

/// What may never be waved through: whoever wrote it relies on it.
#[test]
fn protecting_directives_work_or_are_refused() {
    let guards = [
        "Require",
        "Allow",
        "Deny",
        "Order",
        "Satisfy",
        "AuthType",
        "AuthUserFile",
        "AuthMerging",
        "LimitRequestBody",
        "LimitRequestFields",
        "LimitRequestLine",
        "LimitXMLRequestBody",
        "AllowMethods",
        "AllowOverride",
        "SSLRequire",
        "SSLRequireSSL",
        "SSLVerifyClient",
        "SSLProtocol",
        "SSLCipherSuite",
        "SSLEngine",
        "MDRequireHttps",
        "ChrootDir",
        "TraceEnable",
        "RequestReadTimeout",
        "HttpProtocolOptions",
        "StrictHostCheck",
        "ProxyBlock",
        "ProxyRequests",
        "AllowCONNECT",
        "RemoteIPTrustedProxy",
        "RewriteRule",
        "Header",
        "RequestHeader",
        "Session",
        "H2MaxStreamErrors",
        "DeflateInflateRatioLimit",
        "MaxRangeOverlaps",
        "SetEnvIfExpr",
    ];
    for name in guards {
        let class = registry::find(name, false).unwrap().class;
        let fine = matches!(class, Class::Works(_) | Class::NotThere);
        assert!(fine, "{name} must work or be refused");
    }
    for name in ["If", "ElseIf", "Else", "Limit", "LimitExcept", "RequireAll"] {
        let class = registry::find(name, true).unwrap().class;
        let fine = matches!(class, Class::Opens(_) | Class::NotThere);
        assert!(fine, "<{name}> must work or be refused");
    }
}
