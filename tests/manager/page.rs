//! What the page shows, in its three forms, and who is led where.

use super::*;

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
    let options = s.ask("OPTIONS", "/bm", "", "");
    assert_eq!((options.status, options.body.len()), (200, 0));
    assert!(options.field("allow").unwrap().contains("POST"));
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
        out.status.success() && text.contains("everybody who reaches this address"),
        "{text}"
    );
    s.configure("Listen 127.0.0.1:@PORT@\n<Location /m>\nSetHandler balancer-manager\nRequire local\n</Location>\n");
    let out = s.muster(&["-t"]);
    assert!(!String::from_utf8_lossy(&out.stderr).contains("everybody who reaches"));
}

/// Beside httpd's columns, and only where it is there.
#[test]
fn what_httpd_does_not_have_is_shown_in_all_forms() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let more = "lbmethod=byhash hashkey=header:X-Key retrybudget=35 stickycookie=SRV";
    let text = conf(a.port, b.port, more)
        .replacen(
            &format!("{}\n", a.port),
            &format!("{} route=a slowstart=1500ms\n", a.port),
            1,
        )
        .replacen(
            &format!("{}\n", b.port),
            &format!("{} route=b\n", b.port),
            1,
        );
    let s = Site {
        server: Server::start(&text),
        a,
        b,
    };
    let page = s.ask("GET", "/bm", "", "").text();
    for part in [
        "Further tries: at most 35% of all tries",
        "Hash key: header:X-Key",
        "Route cookie set here: SRV",
        "<th>From</th>",
        "<th>Slow Start</th><th>Last 5 min</th>",
        "1.5 s",
        "Further tries: at most 20% of all tries",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let xml = s.ask("GET", "/bm?xml=1", "", "").text();
    for part in [
        "<httpd:retrybudget>35</httpd:retrybudget>",
        "<httpd:hashkey>header:X-Key</httpd:hashkey>",
        "<httpd:stickycookie>SRV</httpd:stickycookie>",
        "<httpd:slowstart>1500</httpd:slowstart>",
    ] {
        assert_eq!(xml.matches(part).count(), 1, "{part}: {xml}");
    }
    let page: Value = serde_json::from_str(&s.ask("GET", "/bm?json", "", "").text()).unwrap();
    let first = &page["balancers"][0];
    assert_eq!(first["retrybudget"], 35);
    assert_eq!(
        (&first["hashkey"], &first["stickycookie"]),
        (&"header:X-Key".into(), &"SRV".into())
    );
    assert_eq!(first["members"][0]["slowstart"], 1.5);
    let out = s.server.muster(&["scoreboard"]);
    let shown = String::from_utf8(out.stdout).unwrap();
    for part in [
        "key header:X-Key",
        "sets cookie SRV",
        "of all tries 35%",
        "slow start 1.5s",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let out = s.server.muster(&["scoreboard", "--json"]);
    let table: Value = serde_json::from_slice(&out.stdout).unwrap();
    let first = &table["balancers"][0];
    assert_eq!(
        (&first["retrybudget"], &first["hashkey"]),
        (&35.into(), &"header:X-Key".into())
    );
    assert_eq!(first["members"][0]["slowstart_ms"], 1500);
}

#[test]
fn each_member_has_a_picture_of_its_requests_and_errors() {
    let a = Backend::start("a");
    let b = Backend::start("b");
    let text = conf(a.port, b.port, "");
    let text = text.replacen(&format!(":{}\n", b.port), ":1\n", 1);
    let s = Site {
        server: Server::start(&text),
        a,
        b,
    };
    assert_eq!(s.names(4), "aaaa");
    let page = s.ask("GET", "/bm", "", "").text();
    let rows: Vec<_> = page.split("data-l=\"Worker URL\"").skip(1).collect();
    let title = |row: &str| {
        row.split("<title>")
            .nth(1)
            .unwrap()
            .split(" in the last")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(title(rows[0]), "4 requests and 0 errors");
    assert!(
        title(rows[1]).ends_with(" and 1 error"),
        "{}",
        title(rows[1])
    );
    assert!(rows[1].contains("class=\"err\""));
}

/// The form of the answer may stand in a POST's query, what is to be done may not; and a refusal is
/// told in each form.
#[test]
fn a_posts_query_chooses_the_form_of_the_answer() {
    let s = site();
    let nonce = s.nonce("a");
    let member = format!("b=a&w=http://127.0.0.1:{}&nonce={nonce}", s.a.port);
    let fields = format!("{PAGE}{FORM}");
    let post = |query: &str, body: &str| s.ask("POST", &format!("/bm?{query}"), &fields, body);
    let r = post("json&w_lf=9", &format!("{member}&w_lf=5"));
    let page: Value = serde_json::from_str(&r.text()).unwrap();
    assert_eq!(page["changed"].as_array().unwrap().len(), 1, "{page}");
    assert_eq!(s.member(0).load_factor, 500);
    let r = post("json", &format!("{member}&w_lf=x"));
    assert_eq!(r.status, 400);
    let r = post("xml=1", &format!("{member}&w_lf=x"));
    assert_eq!((r.status, r.field("content-type")), (200, Some("text/xml")));
    let text = r.text();
    assert!(
        text.contains("<httpd:error>w_lf=x: a load factor is"),
        "{text}"
    );
    let r = post("xml", &format!("{member}&w_lf=6&nonsense=1"));
    let text = r.text();
    assert!(
        text.contains("<httpd:ignored>nonsense: ") && !text.contains("<httpd:error>"),
        "{text}"
    );
    let r = post("xml", &format!("b=a&nonce={nonce}&b_nwrkr=zzz&b_wyes=1"));
    assert!(r.status == 400 && r.text().contains("<httpd:error>b_nwrkr=zzz"));
    // A script that forgot the Referer is told in its own language.
    let r = s.ask("POST", "/bm?json", FORM, &format!("{member}&w_lf=7"));
    let page: Value = serde_json::from_str(&r.text()).unwrap();
    assert_eq!(page["errors"][0], "the request has no Referer");
    assert_eq!((r.status, s.member(0).load_factor), (400, 600));
}

/// Whoever compares two looks at the page must not see a change where there was none.
#[test]
fn the_time_of_an_error_stands_still() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let dead = common::server::free_port();
    let server = Server::start(&conf(dead, b.port, ""));
    let s = Site { server, a, b };
    let times = || {
        let page = s.ask("GET", "/bm?json", "", "").text();
        let page: Value = serde_json::from_str(&page).unwrap();
        page["balancers"][0]["members"][0]["error_time"].as_i64()
    };
    common::eventually("the dead one is in error", || {
        get(s.server.port, "/x").unwrap();
        times().is_some()
    });
    let first = times().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_millis(1100);
    while std::time::Instant::now() < until {
        // A microsecond between the two clocks may fall on a second's end, not more.
        assert_eq!(times(), Some(first));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
