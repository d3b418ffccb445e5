//! Mapping, beside the real httpd: which rule a path falls to and what the backend is asked for.

mod common;

use common::oracle::Case;

#[test]
fn prefixes_end_at_segments_and_the_first_rule_wins() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         DocumentRoot @ROOT@/htdocs\n\
         ProxyPass /one/static !\n\
         ProxyPass /one/ http://127.0.0.1:@B1@/\n\
         ProxyPass /one/late http://127.0.0.1:@B2@/never\n\
         ProxyPass /two http://127.0.0.1:@B2@/base\n\
         ProxyPass /two/x !\n\
         ProxyPass /s/ http://127.0.0.1:@B1@/t/\n\
         ProxyPass /lh http://127.0.0.1:@B1@/\n",
    )
    .get("/one/hello")
    .get("/one")
    .get("/one/static/x")
    .get("/one/staticky")
    .get("/one/late/x")
    .get("/two")
    .get("/two/")
    .get("/two/x/y")
    .get("/twofold")
    .get("/two?q=1&r=%20")
    .get("/two/x?")
    .get("/s")
    .get("/s/")
    .get("/s//x")
    .get("//s/x")
    .get("/lh/a")
    .get("/none")
    .compare();
}

#[test]
fn paths_are_normalised_before_and_escaped_after() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         ProxyPass /a http://127.0.0.1:@B1@/b\n\
         ProxyPass /raw/ http://127.0.0.1:@B2@/ nocanon\n",
    )
    .get("/a/%41%7e%3b%2d")
    .get("/%61/x")
    .get("/a/%c3%a9/%e9")
    .get("/a/%25%3f%23%20%22")
    .get("/a/x/../y/./z")
    .get("/a/%2e%2e/c")
    .get("/a/../../c")
    .get("/a/%2f")
    .get("/a/%00")
    .get("/a/%zz")
    .get("/a//b///c")
    .get("/a/~$-_.+!*'(),;:@&=")
    .get("/a/[x]")
    .get("/raw/%41%20%c3%a9")
    .get("/raw/x//y")
    .compare();
}

#[test]
fn encoded_slashes() {
    for value in ["On", "NoDecode", "Off"] {
        Case::new(&format!(
            "Listen 127.0.0.1:@PORT@\n\
             AllowEncodedSlashes {value}\n\
             ProxyPass /a http://127.0.0.1:@B1@/b\n"
        ))
        .get("/a/x%2fy")
        .get("/a/x%2Fy")
        .get("/a%2fx")
        .get("/a/x%2f..%2fy")
        .compare();
    }
}

#[test]
fn expressions_take_captures_or_the_whole_path() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         ProxyPassMatch ^/img/(.*\\.png)$ http://127.0.0.1:@B1@/pictures/$1\n\
         ProxyPassMatch ^/g http://127.0.0.1:@B1@/gg\n\
         ProxyPassMatch ^/no/ !\n\
         ProxyPass ~ ^/(x|y)/(.*)$ http://127.0.0.1:@B2@/$2/$1\n\
         ProxyPassMatch ^/no/thing http://127.0.0.1:@B2@/\n",
    )
    .get("/img/cat.png")
    .get("/img/a%20b.png?x")
    .get("/img/cat.jpg")
    .get("/g/x/y")
    .get("/gg")
    .get("/no/thing")
    .get("/x/a/b")
    .get("/y/%3f%25")
    .compare();
}

#[test]
fn locations_have_rules_of_their_own() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         DocumentRoot @ROOT@/htdocs\n\
         ProxyPass /music/server http://127.0.0.1:@B2@/server\n\
         <Location /music>\n ProxyPass http://127.0.0.1:@B1@/m\n ProxyPassReverse http://127.0.0.1:@B1@/m\n</Location>\n\
         <Location /music/deep>\n ProxyPass http://127.0.0.1:@B2@/deep\n</Location>\n\
         <Location /music/not>\n ProxyPass !\n</Location>\n\
         <Location /t/>\n ProxyPass http://127.0.0.1:@B2@/\n</Location>\n\
         <LocationMatch ^/re/([a-z]+)/>\n ProxyPass http://127.0.0.1:@B1@/re/$1\n</LocationMatch>\n",
    )
    .get("/music")
    .get("/music/x")
    .get("/music/server/x")
    .get("/music/deep/x")
    .get("/music/not/x")
    .get("/musical")
    .get("/t/x")
    .get("/t")
    .get("/re/abc/d")
    .get("/music/to?http://127.0.0.1:@B1@/m/sub")
    .compare();
}

#[test]
fn virtual_hosts_take_the_main_servers_rules_first() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\nListen 127.0.0.1:@PORT2@\n\
         ProxyPass /main http://127.0.0.1:@B1@/main\n\
         ProxyPass /both http://127.0.0.1:@B1@/m\n\
         <VirtualHost 127.0.0.1:@PORT@>\n ServerName a.test\n ServerAlias www.a.test *.wild.test\n\
          ProxyPass /both http://127.0.0.1:@B2@/a\n ProxyPass / http://127.0.0.1:@B2@/a/\n</VirtualHost>\n\
         <VirtualHost 127.0.0.1:@PORT@>\n ServerName b.test\n ProxyPassInherit Off\n BalancerInherit Off\n\
          ProxyPass /both http://127.0.0.1:@B2@/b\n ProxyPass / http://127.0.0.1:@B2@/b/\n</VirtualHost>\n\
         <VirtualHost *:@PORT2@>\n ServerName c.test\n ProxyPass / http://127.0.0.1:@B2@/c/\n</VirtualHost>\n",
    )
    .ask("GET /both/x HTTP/1.1|Host: a.test")
    .ask("GET /x HTTP/1.1|Host: WWW.A.test.")
    .ask("GET /x HTTP/1.1|Host: deep.er.wild.test:99")
    .ask("GET /x HTTP/1.1|Host: nobody.test")
    .ask("GET /x HTTP/1.1|Host: b.test")
    .ask("GET /both HTTP/1.1|Host: b.test")
    .ask("GET /main/x HTTP/1.1|Host: b.test")
    .ask("GET /x HTTP/1.0")
    .ask("GET http://b.test/x HTTP/1.1|Host: a.test")
    .ask("GET /x HTTP/1.1|Host: 127.0.0.1")
    .ask2("GET /x HTTP/1.1|Host: a.test")
    .ask2("GET /main HTTP/1.1|Host: c.test")
    .compare();
}

#[test]
fn mapping_before_decoding() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         ProxyPass /enc http://127.0.0.1:@B1@/e mapping=encoded\n\
         ProxyPass /srv http://127.0.0.1:@B2@/v mapping=servlet\n\
         ProxyPass / http://127.0.0.1:@B1@/rest/\n",
    )
    .get("/enc/a%2fb%20c")
    .get("/enc/%7e%41")
    .get("/srv/x;a=b/y")
    .get("/srv;p=1/x")
    .get("/srv;jsessionid=1")
    .get("/other%20x")
    .compare();
}
