//! Files, beside the real httpd: index, conditions, ranges, types, and what is not there.

mod common;

use common::oracle::Case;

const TEN: &str = "0123456789";

fn site(more: &str) -> Case {
    Case::new(&format!(
        "Listen 127.0.0.1:@PORT@\nDocumentRoot @ROOT@/htdocs\n{more}"
    ))
    .file("htdocs/f.txt", &TEN.repeat(10))
    .file("htdocs/empty.txt", "")
    .file("htdocs/d/index.html", "index")
    .file("htdocs/d/second.html", "second")
    .file("htdocs/e/x.css", "x")
    .file("htdocs/a b/c?d.txt", "odd")
    // The order of Allow's words, and TRACE, which is off here.
    .allow("allow: ")
}

fn ranges(case: Case, path: &str, list: &[&str]) -> Case {
    list.iter().fold(case, |case, range| {
        case.ask(&format!(
            "GET {path} HTTP/1.1|Host: front.test|Range: {range}"
        ))
    })
}

#[test]
fn files_and_directories() {
    site("")
        .get("/f.txt")
        .get("/f.txt?x=y")
        .get("/empty.txt")
        .ask("HEAD /f.txt HTTP/1.1|Host: front.test")
        .ask("POST /f.txt HTTP/1.1|Host: front.test|Content-Length: 3||abc")
        .ask("GET /f.txt HTTP/1.0")
        .get("/d")
        .get("/d?x=%20")
        .get("/d/")
        .get("/d//")
        .get("/d/./second.html")
        .get("/e")
        .get("/e/")
        .get("/none")
        .get("/none/x")
        .get("/f.txt/")
        .get("/f.txt/info")
        .get("/d/index.html/info")
        .get("/a%20b/c%3Fd.txt")
        .get("/a%20b")
        .get("/f.tx%74")
        .get("/%66.txt")
        .get("/f.txt%00")
        .get("/d%2findex.html")
        .get("/../f.txt")
        .get("/d/../f.txt")
        .ask("PUT /f.txt HTTP/1.1|Host: front.test|Content-Length: 1||x")
        .ask("DELETE /f.txt HTTP/1.1|Host: front.test")
        .ask("BREW /f.txt HTTP/1.1|Host: front.test")
        .ask("OPTIONS /f.txt HTTP/1.1|Host: front.test")
        .get(&format!("/{}", "a".repeat(300)))
        // An empty answer has no type here.
        .allow("only httpd: content-type: text/plain")
        .compare();
}

#[test]
fn single_and_several_ranges() {
    let several = [
        "bytes=0-4",
        "bytes=0-",
        "bytes=-5",
        "bytes=-500",
        "bytes=200-",
        "bytes=5-2",
        "bytes=-0",
        "bytes=x",
        "bytes=",
        "items=0-1",
        "BYTES=0-1",
        "bytes=0-4,5-9",
        "bytes=3-8,0-4",
        "bytes=0-99,0-99",
        "bytes=0-1,200-300",
        "bytes=0-1,2-",
        "bytes=0-1,x",
        "bytes= 0-1 , 4-5",
    ];
    // The page for 416 has a length here.
    let case = ranges(
        site("").allow("only muster: content-length: *"),
        "/f.txt",
        &several,
    );
    ranges(case, "/empty.txt", &["bytes=0-", "bytes=-1"])
        .ask("HEAD /f.txt HTTP/1.1|Host: front.test|Range: bytes=0-1")
        .ask("POST /f.txt HTTP/1.1|Host: front.test|Content-Length: 0|Range: bytes=0-1")
        .ask("GET /f.txt HTTP/1.1|Host: front.test|Range: bytes=0-1|If-Range: \"x\"")
        .compare();
    ranges(site("MaxRanges none\n"), "/f.txt", &["bytes=0-4"]).compare();
    ranges(
        site("MaxRanges 2\n"),
        "/f.txt",
        &["bytes=0-0,1-1", "bytes=0-0,2-2,4-4"],
    )
    // The boundary between parts is made up by each.
    .compare();
}

#[test]
fn conditions() {
    let past = "Fri, 01 Jan 2010 00:00:00 GMT";
    let wrong_day = "Wed, 01 Jan 2010 00:00:00 GMT";
    let future = "Wed, 01 Jan 2070 00:00:00 GMT";
    let mut case = site("");
    for field in [
        "If-None-Match: *".to_string(),
        "If-None-Match: \"x\"".to_string(),
        "If-Match: *".to_string(),
        "If-Match: \"x\"".to_string(),
        "If-Match: \"x\", W/\"y\"".to_string(),
        format!("If-Modified-Since: {past}"),
        format!("If-Modified-Since: {future}"),
        "If-Modified-Since: soon".to_string(),
        format!("If-Unmodified-Since: {past}"),
        format!("If-Unmodified-Since: {wrong_day}"),
        format!("If-Unmodified-Since: {future}"),
        format!("If-None-Match: \"x\"|If-Modified-Since: {future}"),
    ] {
        case = case
            .ask(&format!("GET /f.txt HTTP/1.1|Host: front.test|{field}"))
            .ask(&format!("HEAD /f.txt HTTP/1.1|Host: front.test|{field}"));
    }
    case.ask("POST /f.txt HTTP/1.1|Host: front.test|Content-Length: 0|If-None-Match: *")
        .compare();
}

#[test]
fn types_languages_and_charsets() {
    let mut case = site(
        "TypesConfig @ROOT@/own.types\nAddType app/x .x .Y\nAddType app/late x\nAddLanguage fr .fr\nAddLanguage de .de\n\
         AddCharset utf-8 .utf8\nAddEncoding x-gzip .gz\n\
         <Location /plain>\n ForceType text/plain\n AddDefaultCharset utf-8\n</Location>\n\
         <Location /latin>\n AddDefaultCharset On\n DefaultLanguage en\n</Location>\n\
         <Directory @ROOT@/htdocs/removed>\n RemoveType x\n RemoveEncoding gz\n</Directory>\n",
    );
    case = case.file(
        "own.types",
        "text/html html\ntext/plain txt\ntext/css css\nimage/png png\n",
    );
    for name in [
        "a.html",
        "a.HTML",
        "a",
        "html",
        ".html",
        "a.html.fr",
        "a.fr.html",
        "a.fr.de",
        "a.html.bak",
        "a.fr.bak.html",
        "a.utf8.txt",
        "a.txt.utf8",
        "a.css.gz",
        "a.gz",
        "a.x",
        "a.y",
        "a..html",
        "plain/a.png",
        "plain/a",
        "latin/a.html",
        "latin/a.css",
        "latin/a.txt.fr",
        "removed/a.x",
        "removed/a.txt.gz",
    ] {
        case = case
            .file(&format!("htdocs/{name}"), "x")
            .get(&format!("/{name}"));
    }
    case.compare();
}

#[test]
fn index_files_and_fallbacks() {
    site("DirectoryIndex none.html second.html index.html\n")
        .get("/d/")
        .get("/d/?q=1")
        .get("/e/")
        .compare();
    site("DirectoryIndex disabled\n").get("/d/").compare();
    site("DirectoryIndex none.html /f.txt\n")
        .get("/e/?x")
        .compare();
    site("DirectorySlash Off\n").get("/d").get("/d/").compare();
    site("FallbackResource /f.txt\n")
        .get("/none")
        .get("/none/deeper?x=1")
        .get("/e/")
        .get("/d/")
        .compare();
    site("<Directory @ROOT@/htdocs/d>\n AcceptPathInfo On\n</Directory>\n")
        .get("/d/index.html/info")
        .get("/f.txt/info")
        .compare();
}

#[test]
fn aliases() {
    site(
        "Alias /one @ROOT@/htdocs/f.txt\nAlias /many/ @ROOT@/htdocs/d/\n\
         AliasMatch ^/m/(.*)\\.css$ @ROOT@/htdocs/e/$1.css\n\
         <Directory @ROOT@/htdocs/e>\n Require all denied\n</Directory>\n\
         <Files second.html>\n Require all denied\n</Files>\n",
    )
    .get("/one")
    .get("/one/x")
    .get("/many")
    .get("/many/")
    .get("/many/index.html")
    .get("/many/second.html")
    .get("/d/second.html")
    .get("/m/x.css")
    .get("/e/x.css")
    .get("/e/")
    .compare();
}
