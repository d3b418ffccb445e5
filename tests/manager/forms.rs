//! A form that nobody touched changes nothing, and what a form offers is what can be had.

use super::*;

/// What a browser would send of the page's form: names and values.
fn form(page: &str) -> Vec<(String, String)> {
    let form = page.split("<form ").nth(1).expect("a form");
    let form = form.split("</form>").next().unwrap();
    let attribute = |tag: &str, name: &str| {
        let at = tag.find(&format!(" {name}=\""))? + name.len() + 3;
        let text = tag[at..].split('"').next()?;
        Some(
            text.replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&#39;", "'")
                .replace("&amp;", "&"),
        )
    };
    let mut out = Vec::new();
    let mut select: Option<(String, Option<String>)> = None;
    for tag in form.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let value = || attribute(tag, "value").unwrap_or_default();
        if tag.starts_with("input ") {
            let kind = attribute(tag, "type").unwrap();
            let sent = matches!(&*kind, "text" | "hidden") || tag.ends_with(" checked");
            if sent {
                out.push((attribute(tag, "name").unwrap(), value()));
            }
        } else if tag.starts_with("select ") {
            select = Some((attribute(tag, "name").unwrap(), None));
        } else if let Some((_, chosen)) = &mut select {
            // The first one where none is marked.
            if tag.starts_with("option ") && (chosen.is_none() || tag.ends_with(" selected")) {
                *chosen = Some(value());
            } else if tag == "/select" {
                let (name, chosen) = select.take().unwrap();
                out.push((name, chosen.unwrap()));
            }
        }
    }
    out
}

fn encoded(fields: &[(String, String)]) -> String {
    let bytes = |t: &str| t.bytes().map(|b| format!("%{b:02x}")).collect::<String>();
    let pairs = fields.iter().map(|(n, v)| format!("{n}={}", bytes(v)));
    pairs.collect::<Vec<_>>().join("&")
}

impl Site {
    /// The form about the `i`th member, or about the balancer.
    fn form(&self, member: Option<usize>) -> Vec<(String, String)> {
        let w = member.map_or(String::new(), |i| format!("&w={}", self.member(i).name));
        form(&self.ask("GET", &format!("/bm?b=a{w}"), PAGE, "").text())
    }

    /// Everything about the balancer, but for what moves by itself.
    fn all(&self) -> String {
        let mut b = self.balancer();
        for m in &mut b.members {
            m.history.clear();
        }
        format!("{b:?}")
    }
}

#[test]
fn a_form_that_nobody_touched_changes_nothing() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let cookie = "C".repeat(40);
    let text = conf(
        a.port,
        b.port,
        &format!(
            "timeout=500ms stickysession={cookie}|{} maxattempts=500 nofailover=On",
            "p".repeat(40)
        ),
    );
    let expression = "ProxyHCExpr ok234 {%{REQUEST_STATUS} =~ /^[234]/}\n";
    let first = format!("127.0.0.1:{}\nBalancerMember", a.port);
    let odd = format!(
        "127.0.0.1:{} loadfactor=1.234 \"route=r <x>'&\" redirect=else lbset=7 status=+H-I hcmethod=get hcinterval=1500ms hcpasses=5 hcfails=6 hcexpr=OK234 hcuri=/\u{e9}\nBalancerMember",
        a.port
    );
    // Of the second one all is known but the method.
    let second = format!("127.0.0.1:{}\nProxySet", b.port);
    let unchecked = format!(
        "127.0.0.1:{} hcinterval=7 hcpasses=3 status=+N\nProxySet",
        b.port
    );
    let text = format!("{expression}{}", text.replace(expression, ""))
        .replacen(&first, &odd, 1)
        .replacen(&second, &unchecked, 1);
    let s = Site {
        server: Server::start(&text),
        a,
        b,
    };
    let before = s.all();
    for member in [Some(0), Some(1), None] {
        let fields = s.form(member);
        assert!(fields.len() > 6, "{fields:?}");
        let page = s.post(&encoded(&fields)).text();
        assert!(page.contains("Nothing to change:"), "{fields:?}: {page}");
        assert_eq!(s.all(), before, "{fields:?}");
    }
    let health = s.member(0).health.unwrap();
    assert_eq!(health.texts.expression, "ok234", "as it is defined");
    // One change leaves all else as it is, and nothing else is told of.
    let mut fields = s.form(None);
    fields.iter_mut().find(|(n, _)| n == "b_max").unwrap().1 = "3".into();
    let page = s.post(&encoded(&fields)).text();
    let told = "<li>further attempts &quot;3&quot; (was &quot;500&quot;)</li></ul>";
    assert!(page.contains(told), "{page}");
    let b = s.balancer();
    assert_eq!((b.timeout_ms, b.max_attempts_set), (500, Some(3)));
    assert_eq!(b.sticky_cookie, cookie);
    let mut fields = s.form(Some(1));
    fields.iter_mut().find(|(n, _)| n == "w_hm").unwrap().1 = "TCP".into();
    s.post(&encoded(&fields));
    let health = s.member(1).health.unwrap().state;
    assert_eq!((health.interval.as_secs(), health.passes), (7, 3));
    // A timeout below a second can be asked for.
    s.set("b_tmo=0.25");
    assert_eq!(s.balancer().timeout_ms, 250);
    s.set("b_tmo=0");
    assert_eq!(s.balancer().timeout_ms, 0);
}

#[test]
fn expressions_are_those_of_the_balancers_own_server() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let text = conf(a.port, b.port, "");
    let text = format!(
        "{text}<VirtualHost *:@PORT@>\nServerName localhost\nProxyHCExpr here \"%{{REQUEST_STATUS}} == '200'\"\n\
         <Proxy balancer://own>\nBalancerMember http://127.0.0.1:{} hcmethod=GET hcinterval=1h hcexpr=HERE\n</Proxy>\n</VirtualHost>\n",
        a.port
    );
    let s = Site {
        server: Server::start(&text),
        a,
        b,
    };
    // The inherited balancer's checks would not find the virtual host's names.
    let page = s
        .ask(
            "GET",
            &format!("/bm?b=a&w=http://127.0.0.1:{}", s.a.port),
            PAGE,
            "",
        )
        .text();
    let options = page.split("name=\"w_he\"").nth(1).unwrap();
    let options = options.split("</select>").next().unwrap();
    assert!(
        options.contains("ok234") && !options.contains("here"),
        "{options}"
    );
    let page = s.edit("w_hm=GET&w_he=here").text();
    assert!(
        page.contains("there is no ProxyHCExpr of this name; there is ok234"),
        "{page}"
    );
    // The virtual host's own knows both.
    let w = format!("http://127.0.0.1:{}", s.a.port);
    let nonce = s.nonce("own");
    for (name, now) in [("OK234", "ok234"), ("Here", "here")] {
        let page = s
            .post(&format!("b=own&w={w}&nonce={nonce}&w_he={name}"))
            .text();
        assert!(page.contains("Changed:") && page.contains(now), "{page}");
        let table = s.server.scoreboard();
        let own = table
            .balancers
            .iter()
            .find(|b| b.name == "balancer://own")
            .unwrap();
        let health = own.members[0].health.clone().unwrap();
        assert_eq!(health.texts.expression, now);
    }
}

#[test]
fn an_addition_that_is_refused_changes_nothing_else() {
    let s = site();
    let before = s.all();
    for bad in [
        format!("http://127.0.0.1:{}", s.a.port),
        "http://0.0.0.0:1/".into(),
        "http://[::169.254.169.254]/".into(),
    ] {
        let r = s.edit(&format!("b_nwrkr={bad}&b_wyes=1&b_tmo=9&w_lf=5"));
        assert_eq!(r.status, 400, "{bad}");
        assert!(r.text().contains("Nothing was changed:"));
        assert_eq!(s.all(), before, "{bad}");
    }
    let page = s
        .edit("b_nwrkr=http://127.0.0.1:1&b_wyes=1&b_tmo=9&w_lf=5")
        .text();
    for part in [
        "is a member now, disabled",
        "timeout in s &quot;9&quot;",
        "load factor &quot;5.00&quot;",
    ] {
        assert!(page.contains(part), "{page}");
    }
    let b = s.balancer();
    assert_eq!(
        (b.members.len(), b.timeout_ms, b.members[0].load_factor),
        (3, 9000, 500)
    );
}

/// What the page and the log tell is what really changed, and of whom.
#[test]
fn only_what_changed_is_told() {
    let s = site();
    let mut fields = s.form(Some(0));
    let disabled = fields.iter_mut().find(|(n, _)| n == "w_status_D").unwrap();
    disabled.1 = "1".into();
    fields.push(("json".into(), String::new()));
    let changed = |body: &str| {
        let page: Value = serde_json::from_str(&s.post(body).text()).unwrap();
        page["changed"].to_string()
    };
    let name = s.member(0).name;
    assert_eq!(changed(&encoded(&fields)), "[\"+D\"]");
    let said = |whom: &str, what: &str| {
        let line = format!("changed balancer://a{whom}: {what}\n");
        s.server.wait_log(&line);
    };
    said(&format!(" {name}"), "+D");
    // Fields of the balancer that come with a member's name are the balancer's all the same.
    fields.push(("b_tmo".into(), "7".into()));
    fields.iter_mut().find(|(n, _)| n == "w_ls").unwrap().1 = "3".into();
    assert_eq!(
        changed(&encoded(&fields)),
        r#"["timeout in s \"7\" (was \"0\")","set \"3\" (was \"0\")"]"#
    );
    said("", "timeout in s \"7\" (was \"0\")");
    said(&format!(" {name}"), "set \"3\" (was \"0\")");
}

/// A form tells what it showed: what somebody else, or a health check, has changed since it was
/// opened is not changed back by who sends it for another field's sake.
#[test]
fn a_form_overrides_only_what_was_changed_in_it() {
    let s = site();
    let mut fields = s.form(Some(0));
    let mut own = s.form(None);
    s.edit("w_status_C=1&w_status_D=1&w_lf=7&w_hm=TCP&w_hi=60s");
    s.set("b_tmo=9&b_lbm=bybusyness");
    let before = s.member(0);
    fields.iter_mut().find(|(n, _)| n == "w_wr").unwrap().1 = "other".into();
    s.post(&encoded(&fields));
    let after = s.member(0);
    assert_eq!(after.route, "other");
    assert_eq!(
        (
            after.status,
            after.load_factor,
            after.health.unwrap().state.method
        ),
        (before.status, 700, before.health.unwrap().state.method)
    );
    own.iter_mut().find(|(n, _)| n == "b_max").unwrap().1 = "3".into();
    s.post(&encoded(&own));
    let b = s.balancer();
    assert_eq!(
        (b.max_attempts_set, b.timeout_ms, b.lbmethod.as_str()),
        (Some(3), 9000, "bybusyness")
    );
    // Who sends a field alone, as scripts do, means it.
    s.edit("w_status_C=0");
    assert_eq!(s.member(0).status & status::HEALTH_FAILED, 0);
}
