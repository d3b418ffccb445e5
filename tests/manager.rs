//! The manager end to end: raw requests with every field, bad values, wrong nonces, foreign pages.

mod common;

use common::backend::{Reply, Seen};
use common::client::Response;
use common::{Backend, Client, Server, get};
use muster::shm::status;
use muster::shm::{BalancerInfo, WorkerInfo};
use serde_json::Value;

/// Two balancers: `a` with two members and room for one more, `b` with one.
fn conf(a: u16, b: u16, more: &str) -> String {
    format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 3\n\
         <Proxy balancer://a>\nBalancerMember http://127.0.0.1:{a}\nBalancerMember http://127.0.0.1:{b}\n\
         ProxySet growth=1 {more}\n</Proxy>\n\
         <Proxy balancer://b>\nBalancerMember http://127.0.0.1:{a}\n</Proxy>\n\
         ProxyHCExpr ok234 {{%{{REQUEST_STATUS}} =~ /^[234]/}}\n\
         <Location /bm>\nSetHandler balancer-manager\nRequire local\n</Location>\n\
         ProxyPass /bm !\nProxyPass /b/ balancer://b/\nProxyPass / balancer://a/\n"
    )
}

struct Site {
    server: Server,
    a: Backend,
    b: Backend,
}

fn site() -> Site {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let server = Server::start(&conf(a.port, b.port, ""));
    Site { server, a, b }
}

/// What a browser that shows the page sends with a form.
const PAGE: &str = "Referer: http://localhost/bm\r\n";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

impl Site {
    fn ask(&self, method: &str, target: &str, fields: &str, body: &str) -> Response {
        let ask = || {
            let mut c = Client::try_connect(self.server.port)?;
            c.send(format!(
                "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}Content-Length: {}\r\n\r\n{body}",
                body.len()
            ))?;
            c.response(method)
        };
        // A child that HUP ends drops what it has.
        common::wait_for("an answer", || match ask() {
            Err(_) if method == "GET" => None,
            r => Some(r.unwrap()),
        })
    }

    /// Starts what was stopped, and waits until that serves, not only its predecessor's log says so.
    fn launch_again(&mut self) {
        let serving = "resuming normal operations";
        let before = self.server.count_log(serving);
        self.server.launch(&[], &[]);
        common::eventually("it serves again", || {
            self.server.count_log(serving) > before
        });
    }

    /// A form of the page, without the redirect that browsers get.
    fn post(&self, body: &str) -> Response {
        self.ask("POST", "/bm", &format!("{PAGE}{FORM}"), body)
    }

    fn nonce(&self, balancer: &str) -> String {
        let page = self.ask("GET", "/bm?json", "", "").text();
        let page: Value = serde_json::from_str(&page).unwrap();
        let all = page["balancers"].as_array().unwrap();
        let name = format!("balancer://{balancer}");
        let found = all.iter().find(|b| b["name"] == name).unwrap();
        found["nonce"].as_str().unwrap().to_owned()
    }

    fn member(&self, i: usize) -> WorkerInfo {
        self.balancer().members[i].clone()
    }

    fn balancer(&self) -> BalancerInfo {
        let table = self.server.scoreboard();
        let mut all = table.balancers.into_iter();
        all.find(|b| b.name == "balancer://a").unwrap()
    }

    /// A form about the first member.
    fn edit(&self, fields: &str) -> Response {
        let (nonce, port) = (self.nonce("a"), self.a.port);
        self.post(&format!(
            "b=a&w=http%3A%2F%2F127.0.0.1%3A{port}&nonce={nonce}&{fields}"
        ))
    }

    /// A form about the balancer.
    fn set(&self, fields: &str) -> Response {
        let nonce = self.nonce("a");
        self.post(&format!("b=a&nonce={nonce}&{fields}"))
    }

    fn state(&self) -> String {
        let b = self.balancer();
        let members: Vec<_> = b
            .members
            .iter()
            .map(|m| {
                let h = m.health.clone().unwrap_or_default();
                (
                    m.name.clone(),
                    m.status,
                    m.load_factor,
                    m.lbset,
                    m.route.clone(),
                    m.redirect.clone(),
                    (
                        h.state.method,
                        h.state.interval,
                        h.state.passes,
                        h.state.fails,
                        h.texts.uri,
                        h.texts.expression,
                    ),
                )
            })
            .collect();
        format!(
            "{} {} {} {} {:?} {} {members:?}",
            b.lbmethod,
            b.sticky_cookie,
            b.sticky_param,
            b.timeout_ms,
            b.max_attempts_set,
            b.no_failover
        )
    }

    /// Who answers `n` requests, over one connection each, so that all children do.
    fn names(&self, n: usize) -> String {
        (0..n)
            .map(|_| {
                get(self.server.port, "/x")
                    .unwrap()
                    .text()
                    .chars()
                    .next()
                    .unwrap()
            })
            .collect()
    }
}

#[test]
fn the_page_says_what_there_is() {
    let s = site();
    let page = s.ask("GET", "/bm", "", "");
    assert_eq!(page.status, 200, "{}", s.server.story());
    let text = page.text();
    for part in [
        "<h1>Load Balancer Manager for localhost</h1>",
        "Balancer changes will NOT be persisted on restart.",
        "Balancers are inherited from main server.",
        "LoadBalancer Status for <a href=\"/bm?b=a&amp;nonce=",
        "balancer://a</a> [",
        "3 [2 Used]",
        "(None)",
        "Init Ok ",
        "<svg",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("<script") && !text.contains("<form"));
    assert_eq!(page.field("content-type"), Some("text/html; charset=UTF-8"));
    assert_eq!(page.field("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.field("cache-control"), Some("no-store"));
    assert_eq!(page.field("referrer-policy"), Some("same-origin"));
    let policy = page.field("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part));
    }
    assert!(!policy.contains("script"));
    assert_eq!(
        s.server.count_log("cross-site"),
        0,
        "a plain visit is no fault"
    );
    assert_eq!(s.ask("HEAD", "/bm", "", "").body, b"");
    assert_eq!(s.ask("PUT", "/bm", PAGE, "").status, 405);
    // A form is shown without a nonce, to who comes from the page.
    let url = format!("/bm?b=a&w=http://127.0.0.1:{}", s.a.port);
    let text = s.ask("GET", &url, PAGE, "").text();
    assert!(
        text.contains("Edit worker settings for http://127.0.0.1:"),
        "{text}"
    );
    for field in [
        "w_lf",
        "w_ls",
        "w_wr",
        "w_rr",
        "w_status_I",
        "w_status_N",
        "w_status_D",
        "w_status_H",
        "w_status_R",
        "w_status_S",
        "w_status_C",
        "w_hm",
        "w_he",
        "w_hi",
        "w_hp",
        "w_hf",
        "w_hu",
        "nonce",
    ] {
        assert!(text.contains(&format!("name=\"{field}\"")), "{field}");
    }
    let text = s.ask("GET", "/bm?b=a", PAGE, "").text();
    for field in [
        "b_lbm", "b_tmo", "b_max", "b_sforce", "b_ss", "b_nwrkr", "b_wyes",
    ] {
        assert!(text.contains(&format!("name=\"{field}\"")), "{field}");
    }
    let text = s.ask("GET", "/bm?b=b", PAGE, "").text();
    assert!(!text.contains("b_nwrkr"), "b has no room");
}

#[test]
fn every_field_of_a_member() {
    let s = site();
    let edit = |fields: &str| {
        let r = s.edit(fields);
        assert_eq!(r.status, 200);
        assert!(r.text().contains("Changed:"), "{fields}: {}", r.text());
        s.member(0)
    };
    let m = edit("w_lf=100");
    assert_eq!((m.load_factor, m.lbstatus), (10_000, 10_000));
    let m = edit("w_lf=1.234");
    assert_eq!((m.load_factor, m.lbstatus), (123, 123));
    assert_eq!(edit("w_ls=7").lbset, 7);
    assert_eq!(edit("w_wr=r1").route, "r1");
    assert_eq!(edit("w_wr=").route, "");
    assert_eq!(edit("w_rr=r%2B2+x").redirect, "r+2 x");
    for (field, bit) in [
        ("I", 2),
        ("N", 4),
        ("D", 0x20),
        ("S", 0x40),
        ("H", 0x100),
        ("R", 0x800),
        ("C", 0x400),
    ] {
        assert_ne!(
            edit(&format!("w_status_{field}=1")).status & bit,
            0,
            "{field}"
        );
        assert_eq!(
            edit(&format!("w_status_{field}=0")).status & bit,
            0,
            "{field}"
        );
    }
    let m = edit("w_hi=5000&w_hp=2&w_hf=3&w_hm=get&w_hu=/hc&w_he=ok234");
    let h = m.health.unwrap();
    assert_eq!(h.state.method.name(), "GET");
    assert_eq!(
        (h.state.interval.as_millis(), h.state.passes, h.state.fails),
        (5000, 2, 3)
    );
    assert_eq!(
        (h.texts.uri.as_str(), h.texts.expression.as_str()),
        ("/hc", "ok234")
    );
    let h = edit("w_hm=TCP").health.unwrap();
    assert_eq!(
        (h.texts.uri.as_str(), h.texts.expression.as_str()),
        ("/hc", "")
    );
    let log = s.server.error_log();
    assert!(
        log.contains("balancer-manager: 127.0.0.1 changed balancer://a"),
        "{log}"
    );
}

#[test]
fn every_field_of_a_balancer() {
    let s = site();
    let set = |fields: &str| {
        let text = s.set(fields).text();
        assert!(text.contains("Changed:"), "{fields}: {text}");
        s.balancer()
    };
    assert_eq!(set("b_tmo=7200").timeout_ms, 7_200_000);
    assert_eq!(set("b_max=5").max_attempts_set, Some(5));
    assert!(set("b_sforce=1").no_failover);
    let b = set("b_ss=X|y");
    assert_eq!(
        (b.sticky_cookie.as_str(), b.sticky_param.as_str()),
        ("X", "y")
    );
    assert!(!set("b_ss=-").sticky_cookie.contains('X'));
    assert_eq!(set("b_lbm=bybusyness").lbmethod, "bybusyness");
    assert_eq!(set("b_lbm=byrequests").lbmethod, "byrequests");
    assert_eq!(s.member(0).lbstatus, 0);
}

#[test]
fn sticky_names_count_in_all_children_at_once() {
    let s = site();
    s.edit("w_wr=r1");
    s.set("b_ss=SID");
    for _ in 0..12 {
        let mut c = Client::connect(s.server.port);
        c.send("GET /x HTTP/1.1\r\nHost: localhost\r\nCookie: SID=1.r1\r\n\r\n")
            .unwrap();
        assert!(c.response("GET").unwrap().text().starts_with('a'));
    }
}

#[test]
fn a_disabled_member_gets_nothing_in_any_child() {
    let s = site();
    s.edit("w_status_D=1");
    assert_eq!(s.names(12), "bbbbbbbbbbbb");
    s.edit("w_status_D=0");
    let names = s.names(12);
    assert_eq!(names.matches('a').count(), 6, "{names}");
}

#[test]
fn wrong_values_change_nothing_and_are_named() {
    let s = site();
    let before = s.state();
    let long = "9".repeat(400);
    let route = format!("w_wr={}", "r".repeat(64));
    for bad in [
        "w_lf=0.5",
        "w_lf=101",
        "w_lf=abc",
        "w_lf=NaN",
        "w_lf=1e9",
        &format!("w_lf={long}"),
        "w_ls=100",
        "w_ls=-1",
        "w_ls=abc",
        &route,
        "w_status_D=x",
        "w_hi=50",
        "w_hp=0",
        "w_hm=nope",
        "w_he=nope",
    ] {
        // What is right beside it is not done either.
        let text = s.edit(&format!("w_rr=changed&{bad}")).text();
        assert!(text.contains("Nothing was changed:"), "{bad}: {text}");
        assert_eq!(s.state(), before, "{bad}");
    }
    for bad in [
        "b_tmo=7201",
        "b_tmo=-1",
        "b_tmo=0x10",
        "b_max=100",
        "b_lbm=bynothing",
        "b_sforce=on",
        "b_ss=a%3Bb",
    ] {
        let text = s.set(&format!("{bad}&b_tmo=5&{bad}")).text();
        if !bad.starts_with("b_tmo") {
            assert!(text.contains("Nothing was changed:"), "{bad}: {text}");
            assert_eq!(s.state(), before, "{bad}");
        }
    }
    let r = s.set("b_tmo=7201&json=1");
    assert_eq!(r.status, 400);
    let r: Value = serde_json::from_str(&r.text()).unwrap();
    assert!(r["errors"][0].as_str().unwrap().contains("7200"));
    let nonce = s.nonce("a");
    for (form, says) in [
        (
            format!("b=zzz&nonce={nonce}&b_tmo=5"),
            "there is no balancer zzz",
        ),
        (
            format!("b=a&w=http://h:1&nonce={nonce}&w_ls=5"),
            "has no member",
        ),
        (format!("b=a&nonce={nonce}&w_ls=5"), "w is missing"),
        ("w_ls=5".to_owned(), "b is missing"),
    ] {
        let text = s.post(&form).text();
        assert!(text.contains(says), "{form}: {text}");
        assert_eq!(s.state(), before);
    }
    // What httpd does not know either is told, no more.
    assert!(s.edit("w_status_E=1").text().contains("Ignored:"));
    assert_eq!(s.state(), before);
}

#[test]
fn only_the_page_itself_is_believed() {
    let s = site();
    let before = s.state();
    let (nonce, other) = (s.nonce("a"), s.nonce("b"));
    assert_eq!(nonce.len(), 36);
    assert_ne!(nonce, other);
    let form = |nonce: &str| format!("b=a&w=http://127.0.0.1:{}&nonce={nonce}&w_lf=5", s.a.port);
    for wrong in ["", "x", &other, &nonce.to_uppercase().replace('A', "b")] {
        let r = s.post(&form(wrong));
        assert_eq!((r.status, s.state()), (200, before.clone()), "{wrong}");
        assert!(r.text().contains("Nothing was changed:"));
    }
    let form = form(&nonce);
    for fields in [
        "",
        "Referer: http://evil.test/bm\r\n",
        "Referer: null\r\n",
        "Referer: /bm\r\n",
        "Referer: http://localhost.evil.test/\r\n",
        "Referer: http://localhost@evil.test/\r\n",
        "Referer: http://localhost/bm\r\nOrigin: http://evil.test\r\n",
        "Referer: http://localhost/bm\r\nOrigin: null\r\n",
        "Referer: http://localhost/bm\r\nSec-Fetch-Site: cross-site\r\n",
        "Referer: http://localhost/bm\r\nSec-Fetch-Site: same-site\r\n",
    ] {
        let r = s.ask("POST", "/bm", &format!("{fields}{FORM}"), &form);
        assert_eq!((r.status, s.state()), (200, before.clone()), "{fields}");
        assert!(r.text().contains("Nothing was changed:"), "{fields}");
    }
    common::eventually("all are told", || {
        s.server.count_log("cross-site access") >= 10
    });
    // By GET nothing is ever changed.
    let r = s.ask("GET", &format!("/bm?{form}"), PAGE, "");
    assert_eq!((r.status, s.state()), (200, before.clone()));
    // A name that somebody else's DNS leads here.
    let mut c = Client::connect(s.server.port);
    let head =
        format!("POST /bm HTTP/1.1\r\nHost: evil.test\r\nReferer: http://evil.test/bm\r\n{FORM}");
    c.send(format!(
        "{head}Content-Length: {}\r\n\r\n{form}",
        form.len()
    ))
    .unwrap();
    assert!(
        c.response("POST")
            .unwrap()
            .text()
            .contains("its Host is no name")
    );
    assert_eq!(s.state(), before);
    // Scheme, port and path of the Referer do not matter.
    let fields =
        format!("Referer: https://LOCALHOST:1/zzz\r\nOrigin: http://localhost:81\r\n{FORM}");
    s.ask("POST", "/bm", &fields, &form);
    assert_eq!(s.member(0).load_factor, 500);
}

#[test]
fn bodies_are_bounded_and_whole() {
    let s = site();
    let before = s.state();
    let nonce = s.nonce("a");
    let form = format!(
        "b=a&w=http://127.0.0.1:{}&nonce={nonce}&w_lf=5&w_wr=x",
        s.a.port
    );
    let json = format!("{PAGE}Content-Type: application/json\r\n");
    assert_eq!(s.ask("POST", "/bm", &json, &form).status, 415);
    assert_eq!(s.ask("POST", "/bm", PAGE, &form).status, 415);
    let long = format!("{form}&x={}", "x".repeat(70_000));
    assert_eq!(s.post(&long).status, 413);
    let many: String = (0..1000).map(|i| format!("&p{i}=1")).collect();
    assert_eq!(s.post(&format!("{form}{many}")).status, 400);
    assert_eq!(s.post(&format!("{form}&w_rr=%00")).status, 400);
    assert_eq!(s.state(), before);
    // In pieces, chunked, with much that has no meaning: the same.
    let mut c = Client::connect(s.server.port);
    c.send(format!(
        "POST /bm HTTP/1.1\r\nHost: localhost\r\n{PAGE}{FORM}Transfer-Encoding: chunked\r\n\r\n"
    ))
    .unwrap();
    let body = format!("x={}&{form}", "y".repeat(2000));
    for piece in body.as_bytes().chunks(701) {
        c.send(format!("{:x}\r\n", piece.len())).unwrap();
        c.send(piece).unwrap();
        c.send("\r\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    c.send("0\r\n\r\n").unwrap();
    assert_eq!(c.response("POST").unwrap().status, 200);
    let m = s.member(0);
    assert_eq!((m.load_factor, m.route.as_str()), (500, "x"));
    // Of two values the last one counts; what was escaped twice is understood.
    let twice = format!("http%253A%252F%252F127.0.0.1%253A{}", s.a.port);
    s.post(&format!("b=a&w={twice}&nonce={nonce}&w_lf=7&w_lf=8"));
    assert_eq!(s.member(0).load_factor, 800);
}

#[test]
fn members_are_added_once() {
    let s = site();
    let c = Backend::start("c");
    let url = format!("http://127.0.0.1:{}", c.port);
    let text = s.set(&format!("b_nwrkr={url}")).text();
    assert!(text.contains("without b_wyes=1"));
    for bad in [
        "zzz",
        "unix:/etc/x|http://a",
        "ftp://h/",
        "http://169.254.169.254/",
        "http://u:p@h/",
        &format!("http://127.0.0.1:{}/app", s.a.port),
        &format!("http://127.0.0.1:{}/", s.b.port),
        &format!("http://{}/", "h".repeat(5000)),
    ] {
        let r = s.set(&format!("b_nwrkr={bad}&b_wyes=1"));
        assert_eq!(r.status, 400, "{bad}");
        assert!(r.text().contains("Nothing was changed:"));
    }
    assert_eq!(s.balancer().members.len(), 2);
    let r = s.set(&format!("b_nwrkr={url}&b_wyes=1"));
    assert_eq!(r.status, 200);
    assert!(
        r.text().contains("3 [3 Used]") && r.text().contains("Init Dis "),
        "{}",
        r.text()
    );
    assert_eq!(s.set(&format!("b_nwrkr={url}&b_wyes=1")).status, 400);
    assert_eq!(
        s.set("b_nwrkr=http://127.0.0.1:1&b_wyes=1").status,
        400,
        "it is full"
    );
    assert!(!s.names(9).contains('c'), "it is disabled");
    let nonce = s.nonce("a");
    s.post(&format!("b=a&w={url}&nonce={nonce}&w_status_D=0"));
    let names = s.names(9);
    assert_eq!(names.matches('c').count(), 3, "{names}");
}

#[test]
fn browsers_are_led_back_to_the_page() {
    let s = site();
    let nonce = s.nonce("a");
    let form = format!("b=a&w=http://127.0.0.1:{}&nonce={nonce}&w_ls=3", s.a.port);
    let fields = format!("{PAGE}{FORM}Accept: text/html,*/*\r\n");
    let r = s.ask("POST", "/bm", &fields, &form);
    assert_eq!(r.status, 303);
    let place = r.field("location").unwrap();
    assert!(
        place.starts_with("/bm?b=a&w=http%3A%2F%2F127.0.0.1%3A"),
        "{place}"
    );
    assert_eq!(s.member(0).lbset, 3);
    let r = s.ask("POST", "/bm", &fields, &form.replace("w_ls=3", "w_ls=x"));
    assert_eq!(r.status, 200);
    assert!(r.text().contains("Nothing was changed:"));
}

#[test]
fn texts_are_harmless_in_all_forms() {
    let s = site();
    s.edit("w_wr=%3Cscript%3E%22%27%26&w_rr=%C3%A9%3C/td%3E");
    assert_eq!(s.member(0).route, "<script>\"'&");
    for form in ["", "?xml=1", "?json"] {
        let text = s.ask("GET", &format!("/bm{form}"), "", "").text();
        assert!(
            !text.contains("<script>") && !text.contains("é</td>"),
            "{text}"
        );
    }
    let page: Value = serde_json::from_str(&s.ask("GET", "/bm?json", "", "").text()).unwrap();
    assert_eq!(page["balancers"][0]["members"][0]["route"], "<script>\"'&");
    let r = s.ask("GET", "/bm?xml=1", "Referer: http://evil.test/\r\n", "");
    assert!(r.field("content-type").unwrap().starts_with("text/html"));
    let xml = s.ask("GET", "/bm?xml=1", "", "");
    assert_eq!(xml.field("content-type"), Some("text/xml"));
    assert!(
        xml.text()
            .starts_with("<?xml version='1.0' encoding='UTF-8' ?>\n<httpd:manager ")
    );
}

#[test]
fn without_a_nonce_the_referer_is_enough() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let server = Server::start(&conf(a.port, b.port, "nonce=None"));
    let s = Site { server, a, b };
    s.post(&format!("b=a&w=http://127.0.0.1:{}&w_lf=5", s.a.port));
    assert_eq!(s.member(0).load_factor, 500);
    let form = format!("b=a&w=http://127.0.0.1:{}&w_lf=6", s.a.port);
    s.ask("POST", "/bm", FORM, &form);
    assert_eq!(s.member(0).load_factor, 500);
}

#[test]
fn changes_outlive_a_graceful_restart_but_no_stop() {
    let mut s = site();
    let c = Backend::start("c");
    let url = format!("http://127.0.0.1:{}", c.port);
    s.set(&format!("b_nwrkr={url}&b_wyes=1&b_tmo=7&b_ss=SID"));
    s.post(&format!(
        "b=a&w={url}&nonce={}&w_status_D=0&w_wr=c",
        s.nonce("a")
    ));
    s.edit("w_lf=3&w_status_N=1&w_wr=hand&w_hm=TCP&w_hi=60s");
    get(s.server.port, "/x").unwrap();
    let (nonce, before, elected) = (s.nonce("a"), s.state(), s.member(2).elected);
    s.server.graceful();
    assert_eq!(s.state(), before);
    assert_eq!(s.nonce("a"), nonce);
    assert_eq!(s.member(2).elected, elected);
    assert!(s.names(6).contains('c'));
    // What the configuration says anew counts; what it says no more of is gone.
    let text = conf(s.a.port, s.b.port, "timeout=9 stickysession=OTHER");
    let text = text.replace(
        &format!("127.0.0.1:{}\nBalancerMember", s.a.port),
        &format!("127.0.0.1:{} route=conf\nBalancerMember", s.a.port),
    );
    s.server.configure(&text);
    s.server.graceful();
    let (m, b) = (s.member(0), s.balancer());
    assert_eq!(
        (m.route.as_str(), m.load_factor, m.status & 4),
        ("conf", 300, 4)
    );
    assert_eq!(
        (b.timeout_ms, b.sticky_cookie.as_str(), b.members.len()),
        (9000, "OTHER", 3)
    );
    s.server.configure(&text.replace("growth=1", ""));
    s.server.graceful();
    assert_eq!(s.balancer().members.len(), 2);
    s.server.wait_log("which was added at run time, is gone");
    // HUP begins anew.
    s.edit("w_wr=again");
    let out = s.server.control("restart");
    assert!(out.status.success());
    common::eventually("the new generation", || {
        let m = s.member(0);
        (m.route.as_str(), m.load_factor) == ("conf", 100)
    });
    common::eventually("a new nonce", || s.nonce("a") != nonce);
    s.server.signal(nix::sys::signal::Signal::SIGTERM);
    s.server.wait_exit();
    s.launch_again();
    assert_eq!(s.member(0).load_factor, 100);
}

#[test]
fn with_balancer_persist_changes_outlive_a_stop() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let text = format!("BalancerPersist On\n{}", conf(a.port, b.port, ""));
    let server = Server::start(&text);
    let mut s = Site { server, a, b };
    assert!(
        s.ask("GET", "/bm", "", "")
            .text()
            .contains("changes will be persisted")
    );
    let c = Backend::start("c");
    let url = format!("http://127.0.0.1:{}", c.port);
    s.set(&format!("b_nwrkr={url}&b_wyes=1&b_tmo=7&b_max=4&b_ss=A|b"));
    s.post(&format!(
        "b=a&w={url}&nonce={}&w_status_D=0&w_wr=c",
        s.nonce("a")
    ));
    s.edit("w_lf=3&w_status_N=1&w_wr=hand+%25&w_hm=GET&w_hu=/h&w_hi=60s&w_he=ok234");
    get(s.server.port, "/x").unwrap();
    let (nonce, before) = (s.nonce("a"), s.state());
    let elected: Vec<_> = s.balancer().members.iter().map(|m| m.elected).collect();
    let restart = |s: &mut Site| {
        s.server.signal(nix::sys::signal::Signal::SIGTERM);
        s.server.wait_exit();
        s.launch_again();
    };
    restart(&mut s);
    assert_eq!(s.state(), before);
    assert_eq!(s.nonce("a"), nonce);
    let after: Vec<_> = s.balancer().members.iter().map(|m| m.elected).collect();
    assert_eq!(after, elected);
    assert!(s.names(6).contains('c'), "its row is its own");
    assert_eq!(
        s.set("b_nwrkr=http://127.0.0.1:1&b_wyes=1").status,
        400,
        "it is full"
    );
    assert!(s.server.control("restart").status.success());
    common::eventually("the new generation", || s.state() == before);
    // The configuration's new words count, the others stay.
    let new = text.replace("growth=1", "growth=1 timeout=9");
    s.server.configure(&new);
    restart(&mut s);
    let b = s.balancer();
    assert_eq!(
        (b.timeout_ms, b.max_attempts_set, b.sticky_param.as_str()),
        (9000, Some(4), "b")
    );
    // A damaged record is left out and told; too little room is told too.
    let path = s.server.table().with_extension("balancers");
    s.server.configure(&text.replace("ProxySet growth=1", ""));
    s.server.signal(nix::sys::signal::Signal::SIGTERM);
    s.server.wait_exit();
    let saved = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, saved.replacen("factor=300", "factor=900", 1)).unwrap();
    s.launch_again();
    s.server.wait_log("is damaged and left out");
    s.server.wait_log("no room for http://127.0.0.1:");
    assert_eq!(
        (s.member(0).load_factor, s.balancer().members.len()),
        (100, 2)
    );
}

#[test]
fn an_open_manager_is_warned_of() {
    let s = Server::prepare(
        "Listen 127.0.0.1:@PORT@\n<Location /m>\nSetHandler balancer-manager\n</Location>\n",
    );
    let out = s.muster(&["-t"]);
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(
        out.status.success() && text.contains("balancer-manager without Require"),
        "{text}"
    );
    s.configure("Listen 127.0.0.1:@PORT@\n<Location /m>\nSetHandler balancer-manager\nRequire local\n</Location>\n");
    let out = s.muster(&["-t"]);
    assert!(!String::from_utf8_lossy(&out.stderr).contains("without Require"));
}

#[test]
fn checks_set_by_hand_start_from_the_defaults_and_outlive_a_graceful_restart() {
    let bad =
        |_: &Seen| Reply::RawThenClose(b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n".to_vec());
    let (a, b) = (Backend::with(bad), Backend::start("b"));
    let server = Server::start(&conf(a.port, b.port, ""));
    let s = Site { server, a, b };
    let (nonce, url) = (s.nonce("a"), "http://127.0.0.1:1");
    assert_ne!(s.set(&format!("b_nwrkr={url}&b_wyes=1")).status, 400);
    s.post(&format!("b=a&w={url}&nonce={nonce}&w_hm=GET"));
    let h = s.member(2).health.unwrap().state;
    let seen = (h.interval.as_secs(), h.passes, h.fails);
    assert_eq!(seen, (30, 1, 1));
    s.edit("w_hm=GET&w_hi=100&w_hp=1&w_hf=1");
    let failed = || s.member(0).status & status::HEALTH_FAILED != 0;
    common::eventually("the check failed", failed);
    s.server.graceful();
    assert!(failed(), "the mark is kept");
}
