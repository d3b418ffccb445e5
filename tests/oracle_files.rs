//! Static files, beside the real httpd: names, types, conditions, ranges, what is refused.

mod common;

use common::oracle::Case;

/// A document root with a few files, open to all.
fn files(conf: &str) -> Case {
    Case::new(&format!(
        "Listen 127.0.0.1:@PORT@\n\
         DocumentRoot @ROOT@/htdocs\n\
         TypesConfig @ROOT@/mime.types\n\
         <Directory @ROOT@/htdocs>\n Require all granted\n</Directory>\n{conf}"
    ))
    .file(
        "mime.types",
        "text/html html htm\ntext/plain txt\ntext/css css\nimage/png png\n",
    )
    .file("htdocs/index.html", "<p>front</p>\n")
    .file("htdocs/a.txt", "0123456789")
    .file("htdocs/b.unknown", "?")
    .file("htdocs/page.html.de", "<p>deutsch</p>")
    .file("htdocs/sub/index.html", "<p>sub</p>\n")
    .file("htdocs/empty/x.css", "p{}")
    .file("htdocs/zero.txt", "")
    .file("htdocs/a b.txt", "blank")
    .file("other/o.txt", "other")
}

#[test]
fn names_and_types() {
    files("AddLanguage de .de\nAddType text/x-new .new\n")
        .file("htdocs/c.new", "new")
        .get("/")
        .get("/a.txt")
        .get("/b.unknown")
        .get("/page.html.de")
        .get("/c.new")
        .get("/zero.txt")
        .get("/a%20b.txt")
        .get("/sub")
        .get("/sub?x=1")
        .get("/sub/")
        .get("/none")
        .get("/a.txt/more")
        .get("/a.txt/")
        .get("/sub/../a.txt")
        .get("//a.txt")
        .get("/sub/./index.html?x")
        .ask("HEAD /a.txt HTTP/1.1|Host: front.test")
        .ask("POST /a.txt HTTP/1.1|Host: front.test|Content-Length: 3||abc")
        .ask("DELETE /a.txt HTTP/1.1|Host: front.test")
        .ask("OPTIONS /a.txt HTTP/1.1|Host: front.test")
        .ask("GET /a.txt HTTP/1.0")
        // TRACE is off here unless it is switched on.
        .allow("allow: ")
        // An answer without a body has no type.
        .allow("only httpd: content-type: text/plain")
        .compare();
}

#[test]
fn conditions() {
    files("")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-Modified-Since: nonsense")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-Unmodified-Since: Thu, 01 Jan 1970 00:00:01 GMT")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-Unmodified-Since: Fri, 01 Jan 2100 00:00:00 GMT")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-None-Match: *")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-None-Match: \"other\"")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-Match: \"other\"")
        .ask("GET /a.txt HTTP/1.1|Host: a|If-Match: *")
        .ask("HEAD /a.txt HTTP/1.1|Host: a|If-None-Match: *")
        .compare();
}

#[test]
fn ranges() {
    files("<Location /none>\n MaxRanges none\n</Location>\nAlias /none @ROOT@/htdocs\n")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: bytes=0-3")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: bytes=5-")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: bytes=-2")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: bytes=0-99")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: bytes=10-")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: bytes=5-2")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: bytes=x")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: lines=0-3")
        .ask("GET /a.txt HTTP/1.1|Host: a|Range: bytes=0-3|If-Range: \"other\"")
        .ask("HEAD /a.txt HTTP/1.1|Host: a|Range: bytes=0-3")
        .ask("GET /none/a.txt HTTP/1.1|Host: a|Range: bytes=0-3")
        // Our page has a length where httpd's ends with the connection.
        .allow("only muster: content-length: *")
        .compare();
}

#[test]
fn directories() {
    files(
        "DirectoryIndex first.html index.html\n\
         <Directory @ROOT@/htdocs/bare>\n DirectorySlash Off\n</Directory>\n\
         <Location /off>\n DirectoryIndex disabled\n</Location>\n\
         Alias /off @ROOT@/htdocs/sub\n",
    )
    .file("htdocs/bare/index.html", "bare")
    .file("htdocs/two/first.html", "first")
    .file("htdocs/two/index.html", "second")
    .get("/empty/")
    .get("/empty")
    .get("/bare")
    .get("/bare/")
    .get("/two/")
    .get("/off/")
    .ask("GET /sub HTTP/1.1|Host: front.test:8080")
    .ask("GET /sub HTTP/1.0")
    .compare();
}

#[test]
fn aliases() {
    files(
        "Alias /o @ROOT@/other\n\
         Alias /slash/ @ROOT@/other/\n\
         AliasMatch ^/m/(.*)\\.t$ @ROOT@/other/$1.txt\n\
         <Directory @ROOT@/other>\n Require all granted\n</Directory>\n\
         <Location /l>\n Alias @ROOT@/other\n</Location>\n",
    )
    .get("/o/o.txt")
    .get("/o")
    .get("/ox")
    .get("/slash/o.txt")
    .get("/slash")
    .get("/m/o.t")
    .get("/l/o.txt")
    .compare();
}

#[test]
fn sections_of_files() {
    files(
        "<Directory @ROOT@/htdocs/sub>\n Require all denied\n</Directory>\n\
         <Files \"*.css\">\n Require all denied\n</Files>\n\
         <FilesMatch \"^z\">\n Require all denied\n</FilesMatch>\n\
         <DirectoryMatch \"/secret(/|$)\">\n Require all denied\n</DirectoryMatch>\n\
         <Location /sub/index.html>\n Require all granted\n</Location>\n\
         <Directory @ROOT@/htdocs/in>\n <Files x.txt>\n  Require all denied\n </Files>\n</Directory>\n",
    )
    .file("htdocs/secret/s.txt", "s")
    .file("htdocs/in/x.txt", "x")
    .file("htdocs/in/y.txt", "y")
    .file("htdocs/sub/y.txt", "y")
    .get("/sub/")
    .get("/sub/y.txt")
    .get("/sub/index.html")
    .get("/empty/x.css")
    .get("/zero.txt")
    .get("/secret/s.txt")
    .get("/in/x.txt")
    .get("/in/y.txt")
    .compare();
}

#[test]
fn a_root_that_is_shut() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         DocumentRoot @ROOT@/htdocs\n\
         <Directory />\n Require all denied\n</Directory>\n\
         ProxyPass /app http://127.0.0.1:@B1@/\n",
    )
    .file("htdocs/a.txt", "a")
    .get("/a.txt")
    .get("/none")
    .get("/app/x")
    .compare();
}

#[test]
fn charsets_and_forced_types() {
    files(
        "AddDefaultCharset utf-8\n\
         AddCharset iso-8859-15 .l9\n\
         <Directory @ROOT@/htdocs/forced>\n ForceType text/x-forced\n</Directory>\n\
         <Directory @ROOT@/htdocs/plain>\n RemoveType .txt\n AddDefaultCharset Off\n</Directory>\n",
    )
    .file("htdocs/forced/a.png", "x")
    .file("htdocs/plain/a.txt", "x")
    .file("htdocs/l.txt.l9", "x")
    .get("/")
    .get("/a.txt")
    .get("/l.txt.l9")
    .get("/forced/a.png")
    .get("/plain/a.txt")
    .get("/empty/x.css")
    .compare();
}

#[test]
fn fallback_resource() {
    files("FallbackResource /index.html\n<Directory @ROOT@/htdocs/sub>\n FallbackResource disabled\n</Directory>\n")
        .get("/app/route")
        .get("/a.txt")
        .get("/sub/none")
        .compare();
}
