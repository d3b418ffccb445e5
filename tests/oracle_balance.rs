//! Which member a balancer chooses, beside the real httpd: order, weights, sets, spares, routes.

mod common;

use common::oracle::Case;

/// One child, so that the order of requests is the order of choices.
fn balancer(members: &str, more: &str) -> Case {
    Case::new(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\n\
         <Proxy balancer://c>\n{members}</Proxy>\n\
         ProxyPass /b/ balancer://c/ {more}\nProxyPassReverse /b/ balancer://c/\n"
    ))
}

fn times(case: Case, n: usize, line: &str) -> Case {
    (0..n).fold(case, |c, _| c.ask(line))
}

const PLAIN: &str = "GET /b/x HTTP/1.1|Host: front.test";

#[test]
fn equal_members_take_turns() {
    let two = "BalancerMember http://127.0.0.1:@B1@\nBalancerMember http://127.0.0.1:@B2@\n";
    times(balancer(two, ""), 6, PLAIN).compare();
}

#[test]
fn weights() {
    for (a, b) in [("3", "1"), ("1.5", "1"), ("1", "4")] {
        let two = format!(
            "BalancerMember http://127.0.0.1:@B1@ loadfactor={a}\n\
             BalancerMember http://127.0.0.1:@B2@ loadfactor={b}\n"
        );
        times(balancer(&two, ""), 10, PLAIN).compare();
    }
}

#[test]
fn the_member_that_moved_the_fewest_bytes() {
    for (a, b) in [("1", "1"), ("1", "3"), ("2.5", "1")] {
        let two = format!(
            "BalancerMember http://127.0.0.1:@B1@ loadfactor={a}\n\
             BalancerMember http://127.0.0.1:@B2@ loadfactor={b}\n"
        );
        // Long ones: httpd does not see the last bytes of each counter, muster does.
        let long = |n: usize| {
            format!(
                "GET /b/x HTTP/1.1|Host: front.test|X-Long: {}",
                "x".repeat(n)
            )
        };
        let case = times(balancer(&two, "lbmethod=bytraffic"), 9, &long(3000));
        // What one request moves counts for several smaller ones after it.
        times(case.ask(&long(7777)), 12, &long(2000)).compare();
    }
}

#[test]
fn the_least_busy_member() {
    for (a, b) in [("1", "1"), ("1", "3"), ("2.5", "1")] {
        let members = format!(
            "BalancerMember http://127.0.0.1:@B1@ loadfactor={a} route=r1\n\
             BalancerMember http://127.0.0.1:@B2@ loadfactor={b} route=r2\n\
             BalancerMember http://127.0.0.1:@DEAD@\n"
        );
        let case = balancer(&members, "lbmethod=bybusyness stickysession=SID");
        let case = times(case, 5, PLAIN);
        // Sessions are paid for by turns.
        let case = times(case, 3, "GET /b/x HTTP/1.1|Host: a|Cookie: SID=abc.r1");
        times(case, 8, PLAIN).compare();
    }
}

/// Backends tell of themselves by HTTP, which both take in at once; `members`: lines.
fn heartbeats(members: &str) -> Case {
    Case::new(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\nHeartbeatListen 127.0.0.1:@PORT2@\n\
         <Location /beat>\nSetHandler heartbeat\n</Location>\n\
         <Proxy balancer://c>\n{members}ProxySet lbmethod=heartbeat\n</Proxy>\n\
         ProxyPass /b/ balancer://c/\n"
    ))
}

fn beat(case: Case, message: &str) -> Case {
    // A port has five digits where its placeholder has four.
    let length = message.len() + message.matches('@').count() / 2;
    case.ask(&format!(
        "POST /beat HTTP/1.1|Host: front.test|Content-Length: {length}||{message}"
    ))
}

/// httpd knows members by the address in their URL, so here one has it and the other a name.
#[test]
fn free_slots() {
    let members = "BalancerMember http://localhost:@B2@\nBalancerMember http://127.0.0.1:@B1@\n";
    let case = beat(heartbeats(members), "ready=8&busy=1");
    let case = times(case, 6, PLAIN);
    // Nothing is free.
    let case = times(beat(case, "ready=0&busy=4"), 2, PLAIN);
    // A quarter of what a fresh one says, cut.
    let case = times(beat(case, "ready=3&busy=0"), 2, PLAIN);
    let case = times(beat(case, "ready=4&busy=0"), 2, PLAIN);
    // What is no heartbeat changes nothing.
    let case = times(beat(case, "ready=5"), 2, PLAIN);
    case.compare();
    // Free slots do not make a disabled member usable.
    let members = "BalancerMember http://127.0.0.1:@B1@ status=+D\n";
    times(beat(heartbeats(members), "ready=8&busy=1"), 2, PLAIN).compare();
}

/// Without data httpd chooses nobody; of members at one address it sees only the last.
#[test]
fn free_slots_where_httpd_is_of_no_use() {
    let two = "BalancerMember http://127.0.0.1:@B1@\nBalancerMember http://127.0.0.1:@B2@\n";
    let turns = "answer: httpd \"HTTP/1.1 503 Service Unavailable\", muster \"HTTP/1.1 200 OK\"";
    times(heartbeats(two), 2, PLAIN).differ(turns);
    let first = beat(heartbeats(two), "ready=8&busy=1&port=@B1@");
    times(first, 2, PLAIN).differ("answer body: httpd \"b2 GET /x HTTP/1.1\\n\", muster \"b1 ");
    // Told of the last one, both agree.
    let last = beat(heartbeats(two), "ready=8&busy=1&port=@B2@");
    times(last, 3, PLAIN).compare();
}

#[test]
fn a_dead_member_is_left_out() {
    let members = "BalancerMember http://127.0.0.1:@DEAD@ retry=60\n\
                   BalancerMember http://127.0.0.1:@B1@\n\
                   BalancerMember http://127.0.0.1:@B2@\n";
    times(balancer(members, ""), 6, PLAIN).compare();
    // With nobody to go on to, the answer is an error.
    times(
        balancer("BalancerMember http://127.0.0.1:@DEAD@\n", ""),
        3,
        PLAIN,
    )
    .compare();
}

#[test]
fn flags_and_sets() {
    let members = "BalancerMember http://127.0.0.1:@B1@ status=+D\n\
                   BalancerMember http://127.0.0.1:@B2@\n";
    times(balancer(members, ""), 3, PLAIN).compare();
    let members = "BalancerMember http://127.0.0.1:@DEAD@\n\
                   BalancerMember http://127.0.0.1:@B2@ status=+H\n";
    times(balancer(members, ""), 3, PLAIN).compare();
    let members = "BalancerMember http://127.0.0.1:@B1@ lbset=1\n\
                   BalancerMember http://127.0.0.1:@B2@\n";
    times(balancer(members, ""), 3, PLAIN).compare();
    let members = "BalancerMember http://127.0.0.1:@B1@ status=+S\n\
                   BalancerMember http://127.0.0.1:@B2@ status=+N\n";
    times(balancer(members, ""), 2, PLAIN).compare();
}

#[test]
fn routes() {
    let members = "BalancerMember http://127.0.0.1:@B1@ route=r1\n\
                   BalancerMember http://127.0.0.1:@B2@ route=r2\n\
                   BalancerMember http://127.0.0.1:@DEAD@ route=r3 redirect=r1 status=+D\n";
    let mut case = balancer(members, "stickysession=SID|sid");
    for line in [
        "GET /b/x HTTP/1.1|Host: a|Cookie: SID=abc.r2",
        "GET /b/x HTTP/1.1|Host: a|Cookie: other=1; SID=abc.r1; x=y",
        "GET /b/x;sid=abc.r2?q=1 HTTP/1.1|Host: a",
        "GET /b/x?sid=abc.r2 HTTP/1.1|Host: a",
        "GET /b/x HTTP/1.1|Host: a|Cookie: SID=abc.r3",
        "GET /b/x HTTP/1.1|Host: a|Cookie: SID=abc.none",
        "GET /b/x HTTP/1.1|Host: a|Cookie: SID=abc",
        "GET /b/x HTTP/1.1|Host: a|Cookie: XSID=abc.r2",
        "GET /b/x?sid=abc.r1&y=1 HTTP/1.1|Host: a|Cookie: SID=abc.r2",
    ] {
        case = times(case, 2, line);
    }
    case.compare();
}

#[test]
fn no_failover() {
    let members = "BalancerMember http://127.0.0.1:@DEAD@ route=r1\n\
                   BalancerMember http://127.0.0.1:@B2@ route=r2\n";
    times(
        balancer(members, "stickysession=SID nofailover=On"),
        3,
        "GET /b/x HTTP/1.1|Host: a|Cookie: SID=abc.r1",
    )
    .allow("only muster: retry-after")
    .compare();
}

#[test]
fn separators() {
    let members = "BalancerMember http://127.0.0.1:@B1@ route=r1\n\
                   BalancerMember http://127.0.0.1:@B2@ route=r2\n";
    times(
        balancer(members, "stickysession=SID stickysessionsep=-"),
        2,
        "GET /b/x HTTP/1.1|Host: a|Cookie: SID=a.b-r2",
    )
    .compare();
    times(
        balancer(members, "stickysession=SID stickysessionsep=Off"),
        2,
        "GET /b/x HTTP/1.1|Host: a|Cookie: SID=r2",
    )
    .compare();
}

#[test]
fn statuses_that_fail_a_member() {
    let members = "BalancerMember http://127.0.0.1:@B1@ retry=60\n\
                   BalancerMember http://127.0.0.1:@B2@ retry=60\n";
    balancer(members, "failonstatus=503,502")
        .ask("GET /b/status/503 HTTP/1.1|Host: a")
        .ask(PLAIN)
        .ask(PLAIN)
        .ask("GET /b/status/500 HTTP/1.1|Host: a")
        .ask(PLAIN)
        .compare();
}

#[test]
fn members_have_paths() {
    let members = "BalancerMember http://127.0.0.1:@B1@/one\n\
                   BalancerMember http://127.0.0.1:@B2@/two/\n";
    times(balancer(members, ""), 2, PLAIN)
        .ask("GET /b/to?http://127.0.0.1:@B1@/one/z HTTP/1.1|Host: front.test")
        .ask("GET /b/to?http://127.0.0.1:@B2@/two/z HTTP/1.1|Host: front.test")
        // httpd doubles the slash between the rule's path and what is left of the member's.
        .allow("location: http://front.test/b//z")
        .allow("location: http://front.test/b/z")
        .compare();
}

#[test]
fn virtual_hosts_inherit_and_override() {
    Case::new(
        "Listen 127.0.0.1:@PORT@\nStartServers 1\n\
         <Proxy balancer://c>\n BalancerMember http://127.0.0.1:@B1@ route=r1\n BalancerMember http://127.0.0.1:@B2@ route=r2\n</Proxy>\n\
         <VirtualHost *:@PORT@>\n ServerName same.test\n ProxyPass / balancer://c/\n</VirtualHost>\n\
         <VirtualHost *:@PORT@>\n ServerName own.test\n ProxyPass / balancer://c/ stickysession=SID\n</VirtualHost>\n\
         <VirtualHost *:@PORT@>\n ServerName alone.test\n BalancerInherit Off\n ProxyPassInherit Off\n\
          <Proxy balancer://c>\n  BalancerMember http://127.0.0.1:@B2@/alone\n </Proxy>\n ProxyPass / balancer://c/\n</VirtualHost>\n",
    )
    .ask("GET /1 HTTP/1.1|Host: same.test")
    .ask("GET /2 HTTP/1.1|Host: same.test")
    .ask("GET /3 HTTP/1.1|Host: own.test|Cookie: SID=a.r2")
    .ask("GET /4 HTTP/1.1|Host: own.test|Cookie: SID=a.r2")
    .ask("GET /5 HTTP/1.1|Host: alone.test")
    .compare();
}
