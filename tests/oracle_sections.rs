//! Sections and access control, beside the real httpd.

mod common;

use common::oracle::Case;

/// Everything is proxied, so that only access control decides.
const PROXY: &str = "Listen 127.0.0.1:@PORT@\nProxyPass / http://127.0.0.1:@B1@/\n";

fn with(conf: &str) -> Case {
    Case::new(&format!("{PROXY}{conf}"))
}

#[test]
fn require_lines_of_one_section_are_alternatives() {
    with(
        "<Location /a>\n Require ip 10.0.0.0/8\n Require local\n</Location>\n\
         <Location /b>\n Require all denied\n</Location>\n\
         <Location /b/c>\n Require all granted\n</Location>\n\
         <Location /d>\n Require ip 127.0.0.0/255.0.0.0\n</Location>\n\
         <Location /e>\n Require ip 127\n Require host nowhere.invalid\n</Location>\n\
         <Location /f>\n Require method POST\n</Location>\n",
    )
    .get("/a")
    .get("/b")
    .get("/b/")
    .get("/bc")
    .get("/b/c")
    .get("/b/c/d")
    .get("/d/x")
    .get("/e/x")
    .get("/f")
    .ask("POST /f HTTP/1.1|Host: front.test|Content-Length: 2||ab")
    .compare();
}

#[test]
fn containers_decide_together() {
    with(
        "<Location /all>\n <RequireAll>\n  Require ip 127.0.0.1 10.0.0.0/8\n  Require not ip 127.0.0.9\n </RequireAll>\n</Location>\n\
         <Location /none>\n <RequireAll>\n  Require all granted\n  <RequireNone>\n   Require local\n  </RequireNone>\n </RequireAll>\n</Location>\n\
         <Location /any>\n <RequireAny>\n  Require all denied\n  <RequireAll>\n   Require local\n   Require method GET\n  </RequireAll>\n </RequireAny>\n</Location>\n\
         <Location /env>\n SetEnvIf X-Let in let_in\n Require env let_in\n</Location>\n",
    )
    .get("/all")
    .get("/none/x")
    .get("/any")
    .ask("PUT /any HTTP/1.1|Host: front.test|Content-Length: 0")
    .get("/env")
    .ask("GET /env HTTP/1.1|Host: front.test|X-Let: me in")
    .compare();
}

#[test]
fn auth_merging() {
    with(
        "<Location /m>\n Require all denied\n</Location>\n\
         <Location /m/off>\n Require local\n</Location>\n\
         <Location /m/and>\n AuthMerging And\n Require local\n</Location>\n\
         <Location /m/or>\n AuthMerging Or\n Require local\n</Location>\n",
    )
    .get("/m/off")
    .get("/m/and")
    .get("/m/or")
    .compare();
}

#[test]
fn order_allow_deny() {
    with(
        "<Location /a>\n Order deny,allow\n Deny from all\n Allow from 127.0.0.1\n</Location>\n\
         <Location /b>\n Order allow,deny\n Allow from all\n Deny from 127\n</Location>\n\
         <Location /c>\n Order allow,deny\n</Location>\n\
         <Location /d>\n Order deny,allow\n</Location>\n\
         <Location /e>\n SetEnvIf User-Agent bad bad\n Order allow,deny\n Allow from all\n Deny from env=bad\n</Location>\n\
         <Location /f>\n Order deny,allow\n Deny from all\n Satisfy Any\n Require local\n</Location>\n\
         <Location /g>\n Order deny,allow\n Deny from all\n Require local\n</Location>\n\
         <Location /h>\n Order mutual-failure\n Allow from 127.0.0.0/8\n</Location>\n",
    )
    .get("/a")
    .get("/b")
    .get("/c")
    .get("/d")
    .get("/e")
    .ask("GET /e HTTP/1.1|Host: front.test|User-Agent: bad")
    .get("/f")
    .get("/g")
    .get("/h")
    .compare();
}

#[test]
fn limits_cover_methods() {
    with(
        "<Location /a>\n <Limit GET>\n  Require all denied\n </Limit>\n</Location>\n\
         <Location /b>\n <LimitExcept GET>\n  Require all denied\n </LimitExcept>\n</Location>\n\
         <Location /c>\n Require local\n <Limit POST>\n  Require all denied\n </Limit>\n</Location>\n",
    )
    .get("/a")
    .ask("HEAD /a HTTP/1.1|Host: front.test")
    .ask("POST /a HTTP/1.1|Host: front.test|Content-Length: 0")
    .get("/b")
    .ask("HEAD /b HTTP/1.1|Host: front.test")
    .ask("DELETE /b HTTP/1.1|Host: front.test")
    .get("/c")
    .ask("POST /c HTTP/1.1|Host: front.test|Content-Length: 0")
    // A page's length is told to HEAD as well.
    .allow("only muster: content-length")
    .compare();
}

#[test]
fn proxy_sections_come_before_locations() {
    with(
        "<Proxy *>\n Require all denied\n</Proxy>\n\
         <Location /open>\n Require all granted\n</Location>\n",
    )
    .get("/open/x")
    .get("/shut/x")
    .compare();
    with(
        "<Proxy \"http://127.0.0.1:@B1@/private\">\n Require all denied\n</Proxy>\n\
         <ProxyMatch \"/secret(/|$)\">\n Require all denied\n</ProxyMatch>\n",
    )
    .get("/private")
    .get("/private/x")
    .get("/privateer")
    .get("/public")
    .get("/a/secret")
    .get("/a/secrets")
    .compare();
}

#[test]
fn locations_match_by_segment_wildcard_and_expression() {
    with(
        "<Location /pre/>\n Require all denied\n</Location>\n\
         <Location /w/*/x>\n Require all denied\n</Location>\n\
         <Location /q?>\n Require all denied\n</Location>\n\
         <LocationMatch \"^/(admin|metrics)(/|$)\">\n Require all denied\n</LocationMatch>\n\
         <Location ~ \"\\.bak$\">\n Require all denied\n</Location>\n",
    )
    .get("/pre")
    .get("/pre/")
    .get("/pre/x")
    .get("/w/a/x")
    .get("/w/a/b/x")
    .get("/w/a/x/y")
    .get("/qq")
    .get("/q/")
    .get("/admin")
    .get("/admin/x")
    .get("/administrator")
    .get("/%61dmin")
    .get("//admin")
    .get("/x/../admin/y")
    .get("/f.bak")
    .get("/f.bak.txt")
    .compare();
}

#[test]
fn directories_and_files_do_not_touch_proxied_paths() {
    with(
        "<Directory />\n Require all denied\n</Directory>\n\
         <Files \"*.txt\">\n Require all denied\n</Files>\n",
    )
    .get("/a.txt")
    .compare();
}

#[test]
fn sections_of_the_main_server_hold_in_virtual_hosts() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         <Location /no>\n Require all denied\n</Location>\n\
         <Location /late>\n Require all denied\n</Location>\n\
         <VirtualHost *:@PORT@>\n ServerName front.test\n ProxyPass / http://127.0.0.1:@B1@/\n\
          <Location /late>\n  Require all granted\n </Location>\n</VirtualHost>\n",
    )
    .get("/no")
    .get("/late")
    .get("/yes")
    .compare();
}

#[test]
fn allow_methods() {
    with("<Location /a>\n AllowMethods GET OPTIONS\n</Location>\n")
        .get("/a")
        .ask("HEAD /a HTTP/1.1|Host: front.test")
        .ask("POST /a HTTP/1.1|Host: front.test|Content-Length: 0")
        // httpd lists what it would do itself, not what is allowed.
        .allow("allow: ")
        .compare();
}
