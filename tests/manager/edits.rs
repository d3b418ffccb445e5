//! What a form changes: every field, right and wrong values, new members, and that all children obey at once.

use super::*;

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
    let text = s.set("b_tmo=7201&xml=1").text();
    let told = "  <httpd:error>b_tmo=7201: a timeout has 0 to 7200 seconds</httpd:error>\n</httpd:manager>";
    assert!(text.contains(told), "{text}");
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
