//! Balancing beside the real httpd: the order of members, sessions, failures, and what access logs
//! tell of them.

mod common;

use common::oracle::Case;

/// A listener, a log of all balancer variables, and balancers by name with (member, parameters)
/// lines; each is mapped below `/NAME/`.
fn case(balancers: &[(&str, &str, &[&str])]) -> Case {
    let mut conf = String::from(
        "Listen 127.0.0.1:@PORT@\n\
         LogFormat \"%r %>s %{BALANCER_NAME}e %{BALANCER_WORKER_ROUTE}e %{BALANCER_SESSION_STICKY}e %{BALANCER_SESSION_ROUTE}e %{BALANCER_ROUTE_CHANGED}e\" b\n\
         CustomLog @ROOT@/logs/access_log b\n",
    );
    for (name, set, members) in balancers {
        conf.push_str(&format!("<Proxy balancer://{name}>\n"));
        for m in *members {
            conf.push_str(&format!("BalancerMember {m}\n"));
        }
        if !set.is_empty() {
            conf.push_str(&format!("ProxySet {set}\n"));
        }
        conf.push_str(&format!(
            "</Proxy>\nProxyPass /{name}/ balancer://{name}/\n"
        ));
    }
    Case::new(&conf).log("access_log")
}

trait Times {
    fn times(self, n: usize, path: &str) -> Self;
    fn with_cookie(self, path: &str, cookie: &str) -> Self;
}

impl Times for Case {
    fn times(mut self, n: usize, path: &str) -> Case {
        for _ in 0..n {
            self = self.get(path);
        }
        self
    }

    fn with_cookie(self, path: &str, cookie: &str) -> Case {
        self.ask(&format!(
            "GET {path} HTTP/1.1|Host: front.test|Cookie: {cookie}"
        ))
    }
}

const A: &str = "http://127.0.0.1:@B1@/a";
const B: &str = "http://127.0.0.1:@B2@/b";
const C: &str = "http://127.0.0.1:@B1@/c";
const D: &str = "http://127.0.0.1:@B2@/d";
const DEAD: &str = "http://127.0.0.1:@DEAD@";

fn m(url: &str, params: &str) -> String {
    format!("{url} {params}")
}

#[test]
fn the_order_of_members() {
    case(&[
        ("pair", "", &[A, B]),
        (
            "seven",
            "",
            &[&m(A, "loadfactor=70"), &m(B, "loadfactor=30")],
        ),
        ("four", "", &[A, &m(B, "loadfactor=4"), C]),
        ("half", "", &[&m(A, "loadfactor=2.5"), B]),
        ("off", "", &[A, &m(B, "status=+D"), C, D]),
        (
            "sets",
            "",
            &[&m(A, "lbset=2"), &m(B, "lbset=1"), &m(C, "lbset=1")],
        ),
        ("stopped", "", &[&m(A, "status=+S"), &m(B, "status=+C"), C]),
        ("one", "", &[A]),
        ("none", "", &[&m(A, "status=+D")]),
    ])
    .times(5, "/pair/x")
    .times(21, "/seven/x")
    .times(13, "/four/x")
    .times(15, "/half/x")
    .times(7, "/off/x")
    .times(5, "/sets/x")
    .times(3, "/stopped/x")
    .times(2, "/one/x")
    .times(2, "/none/x")
    .compare();
}

#[test]
fn spares_standbys_and_draining() {
    case(&[
        (
            "spare",
            "",
            &[DEAD, A, &m(B, "status=+R"), &m(C, "status=+H")],
        ),
        ("idle", "", &[A, &m(B, "status=+R"), &m(C, "status=+H")]),
        (
            "standby",
            "",
            &[&m(A, "status=+D"), &m(B, "status=+H"), &m(C, "status=+H")],
        ),
        (
            "first",
            "",
            &[&m(A, "status=+D"), &m(B, "status=+H"), &m(C, "lbset=1")],
        ),
        ("drain", "", &[&m(A, "status=+N"), B, &m(C, "status=+R")]),
        ("drained", "", &[&m(A, "status=+N")]),
        ("both", "", &[&m(A, "status=+D"), &m(B, "status=+RH")]),
    ])
    .times(9, "/spare/x")
    .times(3, "/idle/x")
    .times(4, "/standby/x")
    .times(3, "/first/x")
    .times(4, "/drain/x")
    .times(1, "/drained/x")
    .times(2, "/both/x")
    .compare();
}

#[test]
fn failures_and_further_tries() {
    case(&[
        ("down", "", &[DEAD, A, B]),
        ("zero", "maxattempts=0", &[DEAD, A]),
        ("all", "", &[DEAD, &m(DEAD, "")]),
        ("ignore", "", &[&m(DEAD, "status=+I"), A]),
        ("norecover", "forcerecovery=Off", &[DEAD]),
        ("status", "failonstatus=500,503", &[A, B]),
        ("begin", "", &[&m(A, "status=+E retry=600"), B]),
    ])
    .times(6, "/down/x")
    .times(3, "/zero/x")
    .times(2, "/all/x")
    .times(5, "/ignore/x")
    .times(3, "/norecover/x")
    .times(2, "/begin/x")
    // muster's own, where no member will be tried before.
    .allow("only muster: retry-after")
    .compare();
}

#[test]
fn sessions() {
    let members: &[&str] = &[
        &m(A, "route=ra"),
        &m(B, "route=rb"),
        &m(C, "route=rc status=+D redirect=ra"),
        &m(D, "route=rd status=+N"),
    ];
    case(&[
        ("s", "stickysession=SID|sid", members),
        (
            "scolon",
            "stickysession=SID|sid scolonpathdelim=On",
            members,
        ),
        ("whole", "stickysession=SID stickysessionsep=Off", members),
        ("sep", "stickysession=SID stickysessionsep=!", members),
        (
            "nofail",
            "stickysession=SID nofailover=On",
            &[&m(A, "route=ra status=+S"), &m(B, "route=rb")],
        ),
        (
            "domain",
            "stickysession=SID",
            &[
                &m(A, "route=r status=+H"),
                &m(B, "route=r"),
                &m(C, "route=q"),
            ],
        ),
    ])
    .times(2, "/s/none")
    .with_cookie("/s/x", "SID=abc.ra")
    .with_cookie("/s/x", "SID=abc.ra; SID=abc.rb")
    .with_cookie("/s/x", "XSID=abc.ra; SID=abc.rb")
    .with_cookie("/s/x", "SID = abc.rb")
    .with_cookie("/s/x", "a=b,SID=abc.rb")
    .with_cookie("/s/x", "SID=abc")
    .with_cookie("/s/x", "SID=abc.")
    .with_cookie("/s/x", "SID=; SID=x.ra")
    .with_cookie("/s/x", "sid=abc.ra")
    .with_cookie("/s/x", "SID=abc.d.ra")
    .with_cookie("/s/x", "SID=abc.rc")
    .with_cookie("/s/x", "SID=abc.rd")
    .with_cookie("/s/x", "SID=abc.RA")
    .with_cookie("/s/x;sid=abc.ra", "SID=abc.rb")
    .with_cookie("/s/x;sid=abc", "SID=abc.rb")
    .get("/s/x;sid=abc.rb?q=1")
    .get("/s/x?q=1&sid=abc.rb&y=2")
    .get("/s/x;sid=abc.rb;v=1")
    .get("/scolon/x;sid=abc.rb;v=1")
    .get("/s/x%3Bsid=abc.rb")
    .with_cookie("/whole/x", "SID=ra")
    .with_cookie("/whole/x", "SID=abc.ra")
    .with_cookie("/sep/x", "SID=a.b!rb")
    .with_cookie("/nofail/x", "SID=abc.ra")
    .with_cookie("/nofail/x", "SID=abc.other")
    .with_cookie("/nofail/x", "SID=abc.rb")
    .times(2, "/nofail/x")
    .with_cookie("/domain/x", "SID=abc.r")
    .with_cookie("/domain/x", "SID=abc.q")
    .times(3, "/domain/x")
    .times(3, "/s/none")
    .compare();
}

/// A member's own path and a request for the very path of the rule.
#[test]
fn nothing_behind_the_rules_path() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\n\
         <Proxy balancer://app>\nBalancerMember http://127.0.0.1:@B1@/app\n</Proxy>\n\
         <Proxy balancer://slash>\nBalancerMember http://127.0.0.1:@B1@/app/\n</Proxy>\n\
         <Proxy balancer://bare>\nBalancerMember http://127.0.0.1:@B1@\n</Proxy>\n\
         ProxyPass /p balancer://app\nProxyPass /q/ balancer://app/\nProxyPass /r balancer://app/sub\n\
         ProxyPass /n balancer://bare\nProxyPass /s balancer://slash\n",
    )
    .get("/p")
    .get("/p?x=1")
    .get("/p/")
    .get("/p/a")
    .get("/q/")
    .get("/r?x=1")
    .get("/n")
    .get("/n?x=1")
    .get("/s")
    .get("/s/a")
    .compare();
}
