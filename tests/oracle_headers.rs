//! What reaches the backend and what comes back, beside the real httpd.

mod common;

use common::oracle::Case;

#[test]
fn fields_for_the_backend() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         ProxyPass /keep/ http://127.0.0.1:@B2@/\n\
         ProxyPass / http://127.0.0.1:@B1@/\n\
         <Location /host>\n ProxyPreserveHost On\n</Location>\n\
         <Location /bare>\n ProxyAddHeaders Off\n</Location>\n",
    )
    .ask("GET /a HTTP/1.1|Host: front.test|User-Agent: t|Accept: */*")
    .ask(
        "GET /a HTTP/1.1|Host: front.test|X-Forwarded-For: 203.0.113.7|X-Forwarded-Host: h.example",
    )
    .ask("GET /a HTTP/1.1|Host: front.test|Connection: close, X-Drop|X-Drop: 1|X-Stay: 2")
    .ask("GET /a HTTP/1.1|Host: front.test|TE: trailers|Keep-Alive: 5|Proxy-Connection: keep-alive")
    .ask("GET /a HTTP/1.0")
    .ask("GET /host HTTP/1.1|Host: front.test:8080")
    .ask("GET /bare HTTP/1.1|Host: front.test")
    .ask("POST /a HTTP/1.1|Host: front.test|Content-Length: 5||hello")
    .ask("POST /a HTTP/1.1|Host: front.test|Content-Length: 0")
    .ask("GET /keep/a HTTP/1.1|Host: front.test|Cookie: a=1|Cookie: b=2|Accept: a|Accept: b")
    .compare();
}

#[test]
fn fields_of_the_answer() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         ProxyVia On\n\
         ProxyPass /b http://127.0.0.1:@B1@/base\n\
         ProxyPassReverse /b http://127.0.0.1:@B1@/base\n\
         ProxyPass / http://127.0.0.1:@B1@/\n\
         ProxyPassReverse / http://127.0.0.1:@B1@/\n\
         ProxyPassReverseCookieDomain inner.test front.test\n\
         ProxyPassReverseCookiePath /inner /outer\n",
    )
    .get("/to?http://127.0.0.1:@B1@/sub/")
    .get("/to?http://127.0.0.1:@B1@/base/sub/")
    .get("/b/to?http://127.0.0.1:@B1@/base/sub/")
    .get("/to?http://127.0.0.1:@B2@/sub/")
    .get("/to?/sub")
    .get("/cookie?a=1;%20Domain=inner.test;%20Path=/inner/x")
    .get("/cookie?a=1;%20path=/inner;%20domain=.inner.test")
    .get("/cookie?a=1;%20Path=/other")
    .get("/hdr?Connection=X-Secret")
    .get("/hdr?Keep-Alive=timeout=5")
    .get("/hdr?Content-Location=http://127.0.0.1:@B1@/x")
    .get("/hdr?Via=1.0%20other")
    .get("/status/404")
    .get("/status/304")
    .ask("HEAD /a HTTP/1.1|Host: front.test")
    .compare();
}

#[test]
fn via() {
    for value in ["Off", "On", "Full", "Block"] {
        Case::new(&format!(
            "Listen 127.0.0.1:@PORT@\nProxyVia {value}\nProxyPass / http://127.0.0.1:@B1@/\n"
        ))
        .ask("GET /a HTTP/1.1|Host: front.test|Via: 1.1 before")
        .ask("GET /hdr?Via=1.1:behind HTTP/1.0|Host: front.test")
        .allow("(Apache/")
        .allow("(muster/")
        .compare();
    }
}
