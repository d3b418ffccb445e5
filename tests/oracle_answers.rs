//! Redirects, error documents, variables and what they do to answers, beside the real httpd.

mod common;

use common::oracle::Case;

#[test]
fn redirects() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         Redirect /r1 http://other.test/x\n\
         Redirect permanent /r2 /local\n\
         Redirect seeother /r3/ http://other.test/\n\
         Redirect gone /r4\n\
         Redirect 307 /r5 http://other.test/?own=1\n\
         Redirect 404 /r6\n\
         RedirectMatch ^/m/(.*)\\.gif$ http://other.test/$1.png\n\
         RedirectMatch 301 ^/n$ /there\n\
         RedirectPermanent /p http://other.test/p\n\
         RedirectTemp /t http://other.test/t\n\
         <Location /loc>\n Redirect http://other.test/all\n</Location>\n\
         <Location /locgone>\n Redirect gone\n</Location>\n",
    )
    .get("/r1")
    .get("/r1/")
    .get("/r1/a%20b?q=1")
    .get("/r1x")
    .get("/r2")
    .ask("GET /r2/x HTTP/1.1|Host: front.test:99")
    .ask("GET /r2/x HTTP/1.0")
    .get("/r3/")
    .get("/r3")
    .get("/r4")
    .get("/r5/y?z")
    .get("/r6")
    .get("/m/a/b.gif")
    .get("/m/%3f.gif")
    .get("/n?x=1")
    .get("/p/q")
    .get("/t")
    .get("/loc/deep?x")
    .get("/locgone")
    // What a capture brings in is escaped, so that it can't become the target's own query.
    .allow("location: http://other.test/?.png")
    .allow("location: http://other.test/%3f.png")
    .compare();
}

#[test]
fn redirects_come_after_proxy_rules_but_for_sections() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         ProxyPass /p http://127.0.0.1:@B1@/\n\
         Redirect /p/x http://other.test/\n\
         <Location /p/y>\n Redirect http://other.test/y\n</Location>\n",
    )
    .get("/p/x")
    .get("/p/y/z")
    .compare();
}

#[test]
fn error_documents() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         DocumentRoot @ROOT@/htdocs\n\
         ErrorDocument 404 /missing.html\n\
         ErrorDocument 403 \"No way in\"\n\
         ErrorDocument 410 http://other.test/gone\n\
         ErrorDocument 503 /dynamic\n\
         ProxyPass /dead http://127.0.0.1:@DEAD@/\n\
         ProxyPass /dynamic http://127.0.0.1:@B1@/dynamic\n\
         Redirect gone /gone\n\
         <Location /shut>\n Require all denied\n</Location>\n\
         <Location /shut/plain>\n ErrorDocument 403 default\n</Location>\n",
    )
    .file("htdocs/missing.html", "<html>not here</html>")
    .get("/nothing")
    .ask("HEAD /nothing HTTP/1.1|Host: front.test")
    .get("/shut")
    .get("/shut/plain")
    .get("/gone")
    .get("/dead/x?y=1")
    .compare();
}

#[test]
fn error_override() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         DocumentRoot @ROOT@/htdocs\n\
         ErrorDocument 404 \"Ours\"\n\
         ErrorDocument 502 /e.txt\n\
         ProxyPass /e.txt !\n\
         ProxyPass / http://127.0.0.1:@B1@/\n\
         <Location /all>\n ProxyErrorOverride On\n</Location>\n\
         <Location /some>\n ProxyErrorOverride On 502\n</Location>\n",
    )
    .file("htdocs/e.txt", "sorry\n")
    .get("/none/status/404")
    .get("/all/status/404")
    .get("/all/status/200")
    .get("/some/status/404")
    .get("/some/status/502")
    .compare();
}

#[test]
fn variables_change_connections() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         ProxyPass / http://127.0.0.1:@B1@/\n\
         BrowserMatch Old nokeepalive downgrade-1.0 force-response-1.0\n\
         SetEnvIf Request_URI ^/direct no-proxy\n\
         SetEnvIfNoCase X-Mode ^QUIET$ nokeepalive\n",
    )
    .ask("GET /a HTTP/1.1|Host: front.test|User-Agent: Old|Connection: keep-alive")
    .ask("GET /a HTTP/1.0|User-Agent: Old|Connection: keep-alive")
    .ask("GET /a HTTP/1.1|Host: front.test|X-Mode: quiet|Connection: keep-alive")
    .get("/direct")
    .compare();
}

#[test]
fn keep_alive_fields() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         KeepAliveTimeout 1500ms\n\
         MaxKeepAliveRequests 2\n\
         ProxyPass / http://127.0.0.1:@B1@/\n",
    )
    .raw(
        "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n\
         GET /2 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n\
         GET /3 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n\
         GET /4 HTTP/1.1\r\nHost: a\r\n\r\n",
    )
    .raw(
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    )
    .raw("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n")
    .compare();
    Case::new("Listen 127.0.0.1:@PORT@\nKeepAlive Off\nProxyPass / http://127.0.0.1:@B1@/\n")
        .ask("GET /1 HTTP/1.1|Host: a|Connection: keep-alive")
        .compare();
}
