//! What outlives a graceful restart, a restart and a stop.

use super::*;

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

/// A connection to a child that stays one of its generation's, with what `edit` sends on it.
struct Kept(Client);

impl Kept {
    fn open(s: &Site) -> Kept {
        let mut c = Client::connect(s.server.port);
        c.get("/bm").unwrap();
        Kept(c)
    }

    /// A form of the page in JSON; `body` without the nonce.
    fn form(&mut self, nonce: &str, body: &str) -> Value {
        let body = format!("b=a&nonce={nonce}&{body}");
        let length = body.len();
        let text = format!(
            "POST /bm?json HTTP/1.1\r\nHost: localhost\r\n{PAGE}{FORM}Content-Length: {length}\r\n\r\n{body}"
        );
        self.0.send(text).unwrap();
        serde_json::from_str(&self.0.response("POST").unwrap().text()).unwrap()
    }
}

/// The configuration with so many members more that the slot table must be replaced by a larger one.
fn many(s: &Site, n: u16) -> String {
    let more: String = (0..n)
        .map(|i| format!("BalancerMember http://127.0.0.2:{} status=+D\n", 20_000 + i))
        .collect();
    conf(s.a.port, s.b.port, "").replacen("ProxySet", &format!("{more}ProxySet"), 1)
}

/// A change that was acknowledged stays: what a child of the configuration before would write where
/// nobody reads is refused, and the connection is closed so that the next one finds the new children.
#[test]
fn children_of_an_older_configuration_change_nothing_by_hand() {
    let s = site();
    let (nonce, w) = (s.nonce("a"), format!("w=http://127.0.0.1:{}", s.a.port));
    // Into the same table, then into a larger one.
    for (n, members) in [(1, "the same table"), (200, "a larger one")] {
        let mut admin = Kept::open(&s);
        s.server.configure(&many(&s, n));
        s.server.graceful();
        let added = "b_nwrkr=http://127.0.0.2:20000&b_wyes=1";
        let answer = admin.form(&nonce, &format!("{w}&w_lf=7&{added}"));
        let why = answer["errors"][0].as_str().unwrap_or_default();
        assert!(
            why.contains("was reloaded meanwhile"),
            "{members}: {answer}"
        );
        assert!(admin.0.closed(), "{members}");
        let named = |m: &&WorkerInfo| m.name == "http://127.0.0.2:20000";
        assert_eq!(s.balancer().members.iter().filter(named).count(), 1);
        assert_eq!(s.member(0).load_factor, 100);
    }
    // A reload that comes to nothing leaves the running children in charge.
    let mut admin = Kept::open(&s);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    s.server
        .configure(&format!("Listen 127.0.0.1:{port}\n{}", many(&s, 200)));
    s.server.signal(nix::sys::signal::Signal::SIGUSR1);
    s.server.wait_log("reload refused");
    common::eventually("changes are taken again", || {
        admin.form(&nonce, &format!("{w}&w_lf=7"))["errors"][0].is_null()
    });
    assert_eq!(s.member(0).load_factor, 700);
}

/// While configurations with ever more members replace each other, each change by hand is either
/// refused or there afterwards.
#[test]
fn what_is_changed_during_reloads_is_kept_or_refused() {
    let s = site();
    let w = format!("w=http://127.0.0.1:{}", s.a.port);
    let nonce = s.nonce("a");
    let (mut last, mut taken) = (100, 0);
    for round in 0..6u16 {
        s.server.configure(&many(&s, 60 * (round + 1)));
        let serving = s.server.scoreboard().generation;
        s.server.signal(nix::sys::signal::Signal::SIGUSR1);
        let mut factor = 1;
        common::eventually("the new generation serves", || {
            factor = factor % 90 + 1;
            let answer =
                Kept(Client::connect(s.server.port)).form(&nonce, &format!("{w}&w_lf={factor}"));
            if answer["errors"][0].is_null() {
                (last, taken) = (factor * 100, taken + 1);
            }
            s.server.scoreboard().generation > serving
        });
        assert_eq!(s.member(0).load_factor, last, "round {round}");
    }
    assert!(taken > 0);
}

/// What is kept is what was so last: also when the instance was killed and nobody was left to
/// write, and never what was so before BalancerPersist was Off.
#[test]
fn what_is_kept_is_never_older_than_the_last_change() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let text = conf(a.port, b.port, "");
    let on = format!("BalancerPersist On\n{text}");
    let server = Server::start(&on);
    let mut s = Site { server, a, b };
    let stop = |s: &mut Site| {
        s.server.signal(nix::sys::signal::Signal::SIGTERM);
        s.server.wait_exit();
    };
    s.edit("w_status_D=1");
    stop(&mut s);
    s.launch_again();
    s.server
        .wait_log("taking over the balancers' state that was written to");
    assert_ne!(s.member(0).status & status::DISABLED, 0);
    s.edit("w_status_D=0&w_lf=3");
    let file = s.server.table().with_extension("balancers");
    common::eventually("the change is written", || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains("factor=300"))
    });
    // What could not be written is tried again without another change.
    let obstacle = s.server.table().with_extension("balancers.new");
    std::fs::create_dir(&obstacle).unwrap();
    s.edit("w_lf=4");
    s.server.wait_log("could not save the balancers' state");
    std::fs::remove_dir(&obstacle).unwrap();
    common::eventually("it is written after all", || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains("factor=400"))
    });
    let children = s.server.children();
    for pid in std::iter::once(s.server.pid()).chain(children) {
        let pid = nix::unistd::Pid::from_raw(pid);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
    s.server.wait_exit();
    s.launch_again();
    let m = s.member(0);
    assert_eq!((m.status & status::DISABLED, m.load_factor), (0, 400));
    // Off by a reload or at a start, then On.
    for reload in [true, false] {
        s.edit("w_lf=5");
        s.server.configure(&text);
        if reload {
            s.server.graceful();
        }
        stop(&mut s);
        if !reload {
            s.launch_again();
            stop(&mut s);
        }
        s.server.configure(&on);
        s.launch_again();
        assert_eq!(s.member(0).load_factor, 100, "reload: {reload}");
    }
    assert_eq!(s.server.count_log("was kept before is not taken over"), 2);
}

/// A member that the configuration names no more is gone with what was changed of it, over a
/// graceful restart and over a stop with BalancerPersist; named again it is a new one. The other's
/// changes stay.
#[test]
fn a_removed_member_leaves_nothing_behind() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let both = format!("BalancerPersist On\n{}", conf(a.port, b.port, ""));
    let one = both.replacen(
        &format!("BalancerMember http://127.0.0.1:{}\nProxySet", b.port),
        "ProxySet",
        1,
    );
    assert_ne!(one, both);
    let server = Server::start(&both);
    let mut s = Site { server, a, b };
    // Its child is still there, and the row that it uses, when the member is named again.
    let mut admin = Kept::open(&s);
    let url = s.member(1).name;
    for stop in [false, true] {
        let next = |s: &mut Site, text: &str| {
            s.server.configure(text);
            if stop {
                s.server.signal(nix::sys::signal::Signal::SIGTERM);
                s.server.wait_exit();
                s.launch_again();
            } else {
                s.server.graceful();
            }
        };
        s.edit("w_lf=5&w_wr=kept");
        let changes = "w_lf=7&w_wr=hand&w_status_D=1&w_hm=TCP&w_hi=60s";
        s.post(&format!("b=a&w={url}&nonce={}&{changes}", s.nonce("a")));
        assert_eq!(
            (s.member(1).load_factor, s.member(1).route.as_str()),
            (700, "hand")
        );
        next(&mut s, &one);
        assert_eq!(s.balancer().members.len(), 1, "stop: {stop}");
        assert_eq!(s.names(4), "aaaa");
        next(&mut s, &both);
        let m = s.member(1);
        let seen = (m.load_factor, m.route.as_str(), m.status & status::DISABLED);
        assert_eq!(seen, (100, "", 0), "stop: {stop}");
        assert!(
            m.health
                .is_none_or(|h| h.state.method == Default::default())
        );
        assert!(s.names(8).contains('b'));
        let m = s.member(0);
        assert_eq!(
            (m.load_factor, m.route.as_str()),
            (500, "kept"),
            "stop: {stop}"
        );
        if !stop {
            assert_eq!(admin.0.get("/bm").unwrap().status, 200);
        }
    }
}

/// A virtual host with another name is another server: what its balancers had is not taken over,
/// and that is said.
#[test]
fn a_renamed_virtual_host_drops_its_members_with_a_warning() {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let text = format!(
        "LogLevel info\n{}<VirtualHost *:*>\nServerName old.test\nBalancerPersist On\n         <Proxy balancer://v>\nBalancerMember http://127.0.0.1:{}\nProxySet growth=1 nonce=known\n</Proxy>\n         <Location /bm>\nSetHandler balancer-manager\n</Location>\nProxyPass /bm !\nProxyPass / balancer://v/\n         </VirtualHost>\n",
        conf(a.port, b.port, ""),
        a.port
    );
    let server = Server::start(&text);
    let mut s = Site { server, a, b };
    let add = |s: &Site, host: &str| {
        let body = "b=v&nonce=known&b_nwrkr=http://127.0.0.1:1&b_wyes=1";
        let mut c = Client::connect(s.server.port);
        let page = format!("Referer: http://{host}/bm\r\n{FORM}");
        let length = body.len();
        c.send(format!(
            "POST /bm HTTP/1.1\r\nHost: {host}\r\n{page}Content-Length: {length}\r\n\r\n{body}"
        ))
        .unwrap();
        let answer = c.response("POST").unwrap();
        assert!(
            answer.text().contains("is a member now"),
            "{}",
            answer.text()
        );
    };
    let gone =
        "balancer://v: http://127.0.0.1:1, which was added at run time, is gone: there is no";
    add(&s, "old.test");
    s.server.configure(&text.replace("old.test", "new.test"));
    s.server.graceful();
    assert_eq!(s.server.count_log(gone), 1);
    add(&s, "new.test");
    s.server.configure(&text);
    s.server.signal(nix::sys::signal::Signal::SIGTERM);
    s.server.wait_exit();
    s.launch_again();
    assert_eq!(s.server.count_log(gone), 2);
}
