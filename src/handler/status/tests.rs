//! Both forms of the page, with hostile names in the table.

use super::facts::*;
use super::*;
use crate::clock::{Mono, Wall};
use crate::ids::{ChildNo, Generation, SlotNo};
use crate::shm::{
    BalancerInfo, ChildInfo, ChildState, RequestPhase, RequestRecord, Snapshot, WorkerInfo, status,
};

const EVIL: &str = "<script>\"'&\n\u{e9}+ADw-";

fn record(index: u8, phase: RequestPhase, request: &str) -> RequestRecord {
    RequestRecord {
        index,
        client: Some("192.0.2.1:5".parse().unwrap()),
        vhost: EVIL.into(),
        request: request.into(),
        minor: 1,
        phase,
        since: Mono(1_000_000_000),
        member: None,
    }
}

fn child(slot: u16, state: ChildState, records: Vec<RequestRecord>) -> ChildInfo {
    ChildInfo {
        slot: SlotNo(slot),
        child: ChildNo(0),
        pid: 4711,
        generation: Generation(2),
        state,
        started: Wall(0),
        heartbeat: Mono(0),
        watchdog: false,
        connections: 3,
        idle_connections: 1,
        requests: records.len() as u32,
        accesses: 8,
        bytes: 3072,
        duration: 40_000,
        dropped_lines: 0,
        records,
    }
}

fn facts() -> Facts {
    let table = Snapshot {
        supervisor: 1,
        started: Wall(1_796_056_392_000_000),
        restarted: Wall(1_796_056_392_000_000),
        taken: Wall(1_796_060_115_000_000),
        taken_mono: Mono(3_500_000_000),
        generation: Generation(2),
        config_generation: 3,
        slots: 3,
        children: vec![
            child(
                0,
                ChildState::Serving,
                vec![
                    record(0, RequestPhase::Writing, "GET /a?secret=1"),
                    record(2, RequestPhase::Reading, EVIL),
                ],
            ),
            child(
                2,
                ChildState::Draining,
                vec![record(1, RequestPhase::Writing, "GET /")],
            ),
        ],
        ..Snapshot::default()
    };
    let member = WorkerInfo {
        grown: false,
        errors: 0,
        history: Vec::new(),
        row: 0,
        name: "http://127.0.0.1:9001/app".into(),
        server: "main".into(),
        status: status::INIT,
        load_factor: 150,
        lbset: 0,
        route: EVIL.into(),
        redirect: String::new(),
        lbstatus: 0,
        elected: 1,
        busy: 0,
        sent: 2048,
        received: 1023,
        retries: 0,
        error_time: Mono(0),
        retry_ms: 0,
        slow_start_ms: 0,
        health: None,
    };
    let balancer = BalancerInfo {
        scolon_path_delim: false,
        hash_key: "client".into(),
        retry_budget: 20,
        own_cookie: String::new(),
        row: 0,
        name: "balancer://c".into(),
        server: "main".into(),
        lbmethod: "byrequests".into(),
        sticky_cookie: "A".into(),
        sticky_param: "a".into(),
        sticky_separator: Some(b'.'),
        no_failover: false,
        force_recovery: true,
        timeout_ms: 2000,
        max_attempts: 0,
        max_attempts_set: None,
        lock_owner: None,
        lock_repairs: 0,
        unlocked: 0,
        members: vec![member],
    };
    let mut facts = Facts {
        name: "front.test".into(),
        local: "127.0.0.1".parse().unwrap(),
        version: "muster",
        mpm: "event".into(),
        built: 1_796_056_392,
        extended: true,
        load: [12.52, 0.5, 0.0],
        cpu: [0.02, 1.0, 0.0, 0.0],
        child_cpu: vec![0.5, 0.25],
        letters: String::new(),
        busy: 0,
        graceful: 0,
        idle: 0,
        balancers: vec![balancer],
        table,
    };
    facts.count();
    facts
}

#[test]
fn words_of_the_query() {
    let w = |q: &str| wishes(q.as_bytes());
    assert_eq!(w(""), Wishes::default());
    assert!(w("auto").auto && !w("automatic").auto);
    assert_eq!(w("refresh").refresh, Some(10));
    assert_eq!(w("auto&refresh=5&notable").refresh, Some(5));
    assert!(w("auto&refresh=5&notable").no_table);
    for bad in [
        "refresh=0",
        "refresh=x",
        "refresh=-1",
        "refresh=1%0d",
        "refresh=99999999999",
    ] {
        assert_eq!(w(bad).refresh, Some(10), "{bad}");
    }
}

#[test]
fn for_programs() {
    let text = auto::text(&facts());
    let head = "front.test\n\
        ServerVersion: muster\n\
        ServerMPM: event\n\
        Server Built: 2026-11-30T16:33:12\n\
        CurrentTime: Monday, 30-Nov-2026 17:35:15 UTC\n\
        RestartTime: Monday, 30-Nov-2026 16:33:12 UTC\n\
        ParentServerConfigGeneration: 3\n\
        ParentServerMPMGeneration: 2\n\
        ServerUptimeSeconds: 3723\n\
        ServerUptime: 1 hour 2 minutes 3 seconds\n\
        Load1: 12.52\nLoad5: 0.50\nLoad15: 0.00\n\
        Total Accesses: 16\n\
        Total kBytes: 6\n\
        Total Duration: 80\n\
        CPUUser: .02\nCPUSystem: 1\nCPUChildrenUser: 0\nCPUChildrenSystem: 0\n\
        CPULoad: .0273973\n\
        Uptime: 3723\n\
        ReqPerSec: .00429761\n\
        BytesPerSec: 1.65028\n\
        BytesPerReq: 384\n\
        DurationPerReq: 5\n\
        BusyWorkers: 2\n\
        GracefulWorkers: 1\n\
        IdleWorkers: 62\n\
        Scoreboard: W_R_";
    assert!(text.starts_with(head), "{text}");
    let letters = text.lines().find(|l| l.starts_with("Scoreboard")).unwrap();
    assert_eq!(letters.len(), "Scoreboard: ".len() + 3 * 64);
    assert!(letters.ends_with(&format!(".G{}", ".".repeat(62))));
    assert!(text.ends_with(
        "ProxyBalancer[0]Name: balancer://c\n\
         ProxyBalancer[0]Worker[0]Name: http://127.0.0.1:9001/app\n\
         ProxyBalancer[0]Worker[0]Status: Init Ok \n\
         ProxyBalancer[0]Worker[0]Elected: 1\n\
         ProxyBalancer[0]Worker[0]Busy: 0\n\
         ProxyBalancer[0]Worker[0]Sent: 2K\n\
         ProxyBalancer[0]Worker[0]Rcvd: 0K\n"
    ));
    let mut f = facts();
    f.balancers[0].members[0].name = "http://x\nTotal Accesses: 99".into();
    f.name = "\u{e9}\r\n".into();
    f.extended = false;
    let text = auto::text(&f);
    assert!(text.is_ascii());
    assert!(!text.lines().any(|l| l.starts_with("Total")));
}

#[test]
fn for_people() {
    for table in [true, false] {
        let page = html::page(&facts(), table);
        assert!(page.is_ascii());
        assert!(!page.contains("<script>"), "{page}");
        assert!(page.contains("&lt;script&gt;&quot;&#39;&amp;?&#233;+ADw-"));
        assert!(page.contains("<h1>Apache Server Status for front.test (via 127.0.0.1)</h1>"));
        assert!(page.contains("<dl><dt>Server Version: muster</dt>"));
        assert!(page.contains(
            "2 requests currently being processed, 1 workers gracefully restarting, 62 idle workers"
        ));
        assert!(page.contains("GET /a?... HTTP/1.1"), "queries stay private");
        assert!(!page.contains("secret"));
        assert_eq!(page.contains("<th>Srv</th><th>PID</th>"), table);
    }
    let page = html::page(&facts(), true);
    assert!(page.contains(
        "<tr><td>0-2</td><td>4711</td><td>0/8/8</td><td><b>W</b></td><td>0.50</td><td>2</td><td>2500</td><td>40</td>"
    ));
    assert!(page.contains("<td>192.0.2.1</td><td>http/1.1</td>"));
    assert!(page.contains("<td>http</td><td>127.0.0.1</td><td>Init Ok </td>"));
    assert!(page.contains("<td>1.50</td><td>0</td><td>1</td><td>0</td><td>2048 B</td>"));
    assert!(page.contains("<td>A | a</td><td>2</td><td>byrequests</td>"));
    let mut f = facts();
    f.extended = false;
    let page = html::page(&f, true);
    assert!(!page.contains("Total accesses") && page.contains("4711 in slot 0 (serving)"));
    f.balancers.clear();
    assert!(!html::page(&f, true).contains("LoadBalancer"));
}

#[test]
fn odd_tables_do_not_confuse_the_letters() {
    let mut f = facts();
    f.table.slots = 1;
    f.table.children[0].records[0].index = 200;
    f.busy = 0;
    f.graceful = 0;
    f.idle = 0;
    f.count();
    assert_eq!(f.letters.len(), 64);
    assert_eq!(f.idle, 63);
}
