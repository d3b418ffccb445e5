//! Who logs where, and what formats say of proxied and refused requests, beside the real httpd.

mod common;

use common::oracle::Case;

#[test]
fn what_formats_say() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         StartServers 1\n\
         DocumentRoot @ROOT@/htdocs\n\
         LogFormat \"%h %a %{c}a %A %l %u %r %>s %s %200,206,304b %200B\" one\n\
         LogFormat \"%m %U %q %H %v %V %p %{local}p %{canonical}p %f %R %X %k\" two\n\
         LogFormat \"%{Host}i|%{X-Multi}i|%{Content-Type}o|%{None}i|%{VAR}e|%{a}C|%400,404r|%!200{User-Agent}i|%<s\" three\n\
         CustomLog logs/one one\n\
         CustomLog logs/two two\n\
         CustomLog logs/three three\n\
         SetEnvIf X-Var (.*) VAR=$1\n\
         ErrorDocument 404 /missing.txt\n\
         Redirect /old http://other.test/\n\
         <Location /shut>\n Require all denied\n</Location>\n\
         ProxyPass /p http://127.0.0.1:@B1@/\n",
    )
    .file("htdocs/a.txt", "0123456789")
    .file("htdocs/missing.txt", "missing")
    .get("/a.txt")
    .get("/a.txt?q=1&r=\"x\"")
    .get("/none?x")
    .get("/p/x%20y?z")
    .get("/p/status/404")
    .get("/old/x")
    .get("/shut")
    .ask("HEAD /a.txt HTTP/1.1|Host: front.test:99")
    .ask("GET /a.txt HTTP/1.1|Host: front.test|Range: bytes=0-1")
    .ask("GET /a.txt HTTP/1.1|Host: front.test|If-None-Match: *")
    .ask("GET /p/a HTTP/1.1|Host: front.test|X-Multi: 1|X-Multi: 2|X-Var: v w|Cookie: a=1; b=2")
    .ask("POST /p/a HTTP/1.1|Host: front.test|Content-Length: 3||abc")
    .ask("GET /a.txt HTTP/1.0")
    .raw("BAD\r\n\r\n")
    .raw("GET /a.txt HTTP/1.1\r\n\r\n")
    .raw("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\nGET /p/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    .sparse_log("one")
    .sparse_log("two")
    .sparse_log("three")
    // Two answers that follow each other are told apart by their Server fields alone.
    .allow("Server: muster")
    // What is no request line has no path.
    .allow(" BAD /")
    .allow(" BAD -")
    // The last request of a connection counts the one before it.
    .allow(" GET /p/2 ")
    .compare();
}

#[test]
fn who_logs_where() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         StartServers 1\n\
         LogFormat \"%v %U\" nick\n\
         LogFormat \"transfer %v %U\"\n\
         CustomLog logs/main nick\n\
         GlobalLog logs/global nick\n\
         SetEnvIf Request_URI ^/quiet quiet\n\
         <VirtualHost *:@PORT@>\n ServerName a.test\n CustomLog logs/a nick env=!quiet\n TransferLog logs/t\n ProxyPass / http://127.0.0.1:@B1@/\n</VirtualHost>\n\
         <VirtualHost *:@PORT@>\n ServerName b.test\n ProxyPass / http://127.0.0.1:@B1@/\n</VirtualHost>\n\
         <VirtualHost *:@PORT@>\n ServerName c.test\n LogFormat \"own %v %U\" nick\n CustomLog logs/c nick\n CustomLog logs/q \"%U %>s\" env=quiet\n ProxyPass / http://127.0.0.1:@B1@/\n</VirtualHost>\n",
    )
    .ask("GET /1 HTTP/1.1|Host: a.test")
    .ask("GET /quiet/2 HTTP/1.1|Host: a.test")
    .ask("GET /3 HTTP/1.1|Host: b.test")
    .ask("GET /4 HTTP/1.1|Host: c.test")
    .ask("GET /quiet/5 HTTP/1.1|Host: c.test")
    .sparse_log("main")
    .sparse_log("global")
    .sparse_log("a")
    .sparse_log("t")
    .sparse_log("c")
    .sparse_log("q")
    .compare();
}
