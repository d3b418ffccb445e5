//! Access logs, beside the real httpd: the same requests give the same lines.

mod common;

use common::oracle::Case;

#[test]
fn directives_and_escapes() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         DocumentRoot @ROOT@/htdocs\n\
         ServerName front.test:8080\n\
         LogFormat \"%h %l %u \\\"%r\\\" %s %>s %200b %206,304B\" usual\n\
         LogFormat \"%a %{c}a %A %{local}p %p %v %V %m %H %U|%q|%f|%R|%k|%X\" place\n\
         LogFormat \"%{User-Agent}i|%{none}i|%{Cookie}i|%{sess}C|%{SESS}C|%{no}C\" asked\n\
         LogFormat \"%{Content-Type}o|%{Location}o|%{X}e|%{Y}e|%{z}n\" told\n\
         LogFormat \"%404,403U %!200>s a\\tb\\\\\\\\ %% %{X}^ti  %{X}^to\" odd\n\
         SetEnvIf User-Agent x X=\"a\\\"b\"\n\
         SetEnv Y yes\n\
         ProxyPass /b1 http://127.0.0.1:@B1@/x\n\
         ProxyPass /dead http://127.0.0.1:@DEAD@\n\
         Redirect /to http://other.test/\n\
         CustomLog logs/usual usual\nCustomLog logs/place place\nCustomLog logs/asked asked\n\
         CustomLog logs/told told\nCustomLog logs/odd odd\n",
    )
    .file("htdocs/f.txt", "hello")
    .get("/f.txt")
    .get("/f.txt?a=%20\"b")
    .get("/none")
    .get("/a%0ab%22%5c%e9")
    .get("/b1/y?z=1")
    .get("/b1%2fy//x?z=1")
    .get("/%zz")
    .get("/to/x")
    .ask("HEAD /f.txt HTTP/1.1|Host: front.test")
    .ask("GET /f.txt HTTP/1.0")
    .ask("GET http://other.test/f.txt HTTP/1.1|Host: front.test")
    .ask("POST /f.txt HTTP/1.1|Host: front.test|Content-Length: 3||abc")
    .ask("GET /f.txt HTTP/1.1|Host: front.test|User-Agent: x\"\\\t\u{1b}|Cookie: a=1; Sess=q=2 ; b")
    .ask("GET /f.txt HTTP/1.1|Host: front.test|User-Agent: x\"\\\t|Cookie: a=1; Sess=q=2 ; b")
    .ask("GET /f.txt HTTP/1.1|Host: front.test|Range: bytes=0-1")
    .ask("GET /f.txt HTTP/1.1|Host: front.test|If-None-Match: *")
    .ask("BREW /f.txt HTTP/1.1|Host: front.test")
    .raw("BAD\r\n\r\n")
    .raw("GET /f.txt HTTP/1.1\r\n\r\n")
    .log("usual")
    .log("place")
    .log("asked")
    .log("told")
    .log("odd")
    .allow("allow: ")
    .compare();
}

#[test]
fn conditions_virtual_hosts_and_redirects() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         DocumentRoot @ROOT@/htdocs\n\
         LogFormat \"%v %>s %s %U %>U %{REDIRECT_STATUS}e\" x\n\
         ErrorDocument 404 /f.txt\n\
         SetEnvIf Request_URI ^/quiet quiet\n\
         <VirtualHost *:@PORT@>\n ServerName one.test\n</VirtualHost>\n\
         <VirtualHost *:@PORT@>\n ServerName two.test\n CustomLog logs/all x\n</VirtualHost>\n\
         CustomLog logs/all x env=!none\n\
         CustomLog logs/quiet x env=quiet\n\
         CustomLog logs/loud x env=!quiet\n",
    )
    .file("htdocs/f.txt", "hello")
    .file("htdocs/d/index.html", "index")
    .ask("GET /f.txt HTTP/1.1|Host: one.test")
    .ask("GET /f.txt HTTP/1.1|Host: two.test")
    .ask("GET /none HTTP/1.1|Host: one.test")
    .ask("GET /none%2F%41?q HTTP/1.1|Host: one.test")
    .ask("GET /d/ HTTP/1.1|Host: one.test")
    .ask("GET /quiet HTTP/1.1|Host: one.test")
    .log("all")
    .compare();
}
