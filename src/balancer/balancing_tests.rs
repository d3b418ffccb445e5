//! Choices on a real table, as a child makes them.

use super::*;
use crate::balancer::{Asked, NoMember, hash};
use crate::config::bare::bare;
use crate::config::settings::WorkerParams;
use crate::ids::{ChildNo, Generation};
use crate::shm::test_dir;

struct Site {
    dir: std::path::PathBuf,
    board: Rc<Scoreboard>,
    slot: SlotNo,
    balancing: Balancing,
}

const C: BalancerNo = BalancerNo(0);

fn site(params: BalancerParams, members: &[(&str, WorkerParams)]) -> Site {
    let dir = test_dir("balancing");
    let settings = bare(&dir)
        .with_balancer("balancer://c", params, members)
        .with_worker("http://plain", WorkerParams::default());
    let board = Scoreboard::create(&dir.join("board"), &settings, 1, Generation(0)).unwrap();
    let rows = board.assign(&settings, Generation(0)).unwrap();
    let slot = board.claim_slot(ChildNo(0), Generation(0)).unwrap();
    clock::tick();
    Site {
        balancing: Balancing::new(Rc::new(settings), board.clone(), Rc::new(rows), slot),
        dir,
        board,
        slot,
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

impl Site {
    /// One request after the other, each ended before the next; `-` where there is no member.
    fn picks(&self, n: usize, route: Option<&str>) -> String {
        (0..n)
            .map(
                |_| match self.balancing.choose(C, route.map(str::as_bytes), &[]) {
                    Ok(choice) => letter(choice.worker),
                    Err(_) => '-',
                },
            )
            .collect()
    }

    fn lbstatus(&self) -> Vec<i64> {
        self.board.snapshot().balancers[0]
            .members
            .iter()
            .map(|m| m.lbstatus)
            .collect()
    }

    fn status(&self, no: u16) -> String {
        status::text(self.board.snapshot().balancers[0].members[usize::from(no)].status)
    }

    fn busy(&self) -> Vec<u64> {
        self.board.snapshot().balancers[0]
            .members
            .iter()
            .map(|m| m.busy)
            .collect()
    }
}

fn letter(no: WorkerNo) -> char {
    (b'a' + no.0 as u8) as char
}

fn member(route: &str, retry_ms: u64, status: u32) -> WorkerParams {
    WorkerParams {
        route: route.into(),
        retry: Duration::from_millis(retry_ms),
        status,
        ..WorkerParams::default()
    }
}

fn two(retry_ms: u64) -> Vec<(&'static str, WorkerParams)> {
    vec![
        ("http://a", member("ra", retry_ms, 0)),
        ("http://b", member("rb", retry_ms, 0)),
    ]
}

/// Lets the clock move on until `done`.
fn wait(mut done: impl FnMut() -> bool) {
    for _ in 0..1_000_000 {
        clock::tick();
        if done() {
            return;
        }
    }
    panic!("the condition did not come true");
}

#[test]
fn turns_and_counters() {
    let s = site(BalancerParams::default(), &two(60_000));
    assert_eq!(s.picks(4, None), "abab");
    assert_eq!(s.lbstatus(), [0, 0]);
    let held = s.balancing.choose(C, None, &[]).map_err(|_| ()).unwrap();
    assert_eq!(s.busy(), [1, 0]);
    assert_eq!(s.lbstatus(), [-100, 100]);
    s.balancing.add_sent(held.worker, 10);
    s.balancing.add_read(held.worker, 21);
    drop(held);
    let members = &s.board.snapshot().balancers[0].members;
    assert_eq!(
        (
            members[0].elected,
            members[0].busy,
            members[0].sent,
            members[0].received
        ),
        (3, 0, 10, 21)
    );
    assert_eq!(members[1].elected, 2);
    let plain = s.balancing.enter(WorkerNo(2));
    assert_eq!(s.board.snapshot().workers[0].busy, 1);
    assert!(
        !s.balancing.mark_error(plain.worker()),
        "outside balancers: never"
    );
    assert!(s.balancing.usable(plain.worker()));
}

#[test]
fn sessions_stay_and_pay() {
    let params = BalancerParams {
        sticky: Some(("S".into(), "S".into())),
        ..BalancerParams::default()
    };
    let mut members = two(60_000);
    members.push(("http://c", member("rc", 60_000, 0)));
    let s = site(params, &members);
    assert_eq!(s.picks(3, Some("ra")), "aaa");
    assert_eq!(s.lbstatus(), [-600, 300, 300]);
    assert_eq!(s.picks(6, None), "bcbcbc");
    assert_eq!(s.lbstatus(), [0, 0, 0]);
    let changed = |route: Option<&str>| {
        let c = s.balancing.choose(C, route.map(str::as_bytes), &[]);
        let c = c.map_err(|_| ()).unwrap();
        (c.by_route, c.route_changed)
    };
    assert_eq!(changed(Some("rb")), (true, false));
    assert_eq!(changed(Some("nobody")), (false, true));
    assert_eq!(changed(None), (false, true));
    s.balancing.mark_error(WorkerNo(1));
    assert_eq!(changed(Some("rb")), (false, true));
    assert_eq!(s.balancing.route(WorkerNo(2)), "rc");
}

#[test]
fn nofailover_refuses_known_routes_only() {
    let params = BalancerParams {
        sticky: Some(("S".into(), "S".into())),
        no_failover: true,
        ..BalancerParams::default()
    };
    let s = site(params, &two(60_000));
    s.balancing.mark_error(WorkerNo(0));
    assert!(matches!(
        s.balancing.choose(C, Some(b"ra"), &[]),
        Err(NoMember::Nofailover)
    ));
    assert_eq!(s.picks(1, Some("other")), "b");
    assert_eq!(s.picks(1, Some("rb")), "b");
}

#[test]
fn an_error_is_respected_for_its_time_then_probed_once() {
    let s = site(BalancerParams::default(), &two(60_000));
    assert!(s.balancing.mark_error(WorkerNo(0)));
    assert!(!s.balancing.mark_error(WorkerNo(0)), "once");
    assert!(!s.balancing.usable(WorkerNo(0)));
    assert!(
        !s.balancing.mark_connected(WorkerNo(0)),
        "another marked it"
    );
    assert_eq!(s.status(0), "Init Err ");
    assert_eq!(s.picks(3, None), "bbb");

    let s = site(BalancerParams::default(), &two(1));
    s.balancing.mark_error(WorkerNo(0));
    let mut probe = None;
    wait(|| {
        let choice = s.balancing.choose(C, None, &[]).ok().unwrap();
        if choice.probe {
            assert_eq!(choice.worker, WorkerNo(0));
            probe = Some(choice);
        }
        probe.is_some()
    });
    assert_eq!(s.status(0), "Init Ok ");
    clock::tick();
    assert_eq!(
        s.picks(4, None),
        "bbbb",
        "others keep off while it is tried"
    );
    assert!(
        s.balancing.usable(WorkerNo(0)),
        "for the request that tries it"
    );
    // Nothing else is usable: then others may go there too.
    let skip = [WorkerNo(1)];
    let other = s.balancing.choose(C, None, &skip).ok().unwrap();
    assert_eq!((other.worker, other.probe), (WorkerNo(0), false));
    drop(other);
    // It works: back in turn, and the error is forgotten.
    assert!(s.balancing.mark_connected(WorkerNo(0)));
    drop(probe);
    assert_eq!(s.status(0), "Init Ok ");
    let picks = s.picks(8, None);
    assert!(picks.contains('a'), "{picks}");
    let m = &s.board.snapshot().balancers[0].members[0];
    assert_eq!((m.retries, m.error_time), (0, Mono(0)));
    assert_eq!(s.lbstatus().iter().sum::<i64>(), 0);
}

#[test]
fn a_failed_or_forgotten_probe_is_an_error_again() {
    let s = site(BalancerParams::default(), &two(1));
    s.balancing.mark_error(WorkerNo(0));
    let probe = || {
        let mut found = None;
        wait(|| {
            found = s.balancing.choose(C, None, &[]).ok().filter(|c| c.probe);
            found.is_some()
        });
        found.unwrap()
    };
    let first = probe();
    drop(first);
    assert_eq!(s.status(0), "Init Err ", "nobody told how it ended");
    let second = probe();
    assert!(s.balancing.mark_error(WorkerNo(0)));
    drop(second);
    assert_eq!(s.status(0), "Init Err ");
    // A child that dies while it probes does not keep the member off.
    let third = probe();
    assert_eq!(s.status(0), "Init Ok ");
    s.board.release_slot(s.slot);
    assert_eq!(s.status(0), "Init Err ");
    drop(third);
    assert_eq!(s.busy(), [0, 0]);
}

#[test]
fn all_in_error_recovers_by_force() {
    let s = site(BalancerParams::default(), &two(60_000));
    assert_eq!(s.balancing.max_attempts(C), 1);
    for no in [0, 1] {
        s.balancing.mark_error(WorkerNo(no));
    }
    assert_eq!(s.picks(2, None), "ab");
    assert_eq!(s.board.snapshot().balancers[0].members[0].retries, 1);

    // A disabled member does not prevent it (in httpd it does).
    let mut members = two(60_000);
    members.push(("http://c", member("", 60_000, status::DISABLED)));
    let s = site(BalancerParams::default(), &members);
    for no in [0, 1] {
        s.balancing.mark_error(WorkerNo(no));
    }
    assert_eq!(s.picks(2, None), "ab");

    let params = BalancerParams {
        force_recovery: false,
        max_attempts: Some(7),
        timeout: Duration::from_secs(2),
        ..BalancerParams::default()
    };
    let s = site(params, &two(60_000));
    for no in [0, 1] {
        s.balancing.mark_error(WorkerNo(no));
    }
    assert_eq!(s.picks(1, None), "-");
    assert_eq!(s.balancing.max_attempts(C), 7);
    assert_eq!(s.balancing.wait_limit(C), Duration::from_secs(2));
    assert_eq!(s.lbstatus(), [0, 0]);
}

#[test]
fn stopped_members_and_those_that_ignore_errors() {
    let mut members = two(0);
    members[0].1.status = status::IGNORE;
    members[1].1.status = status::STOPPED | status::ERROR;
    let s = site(BalancerParams::default(), &members);
    assert!(!s.balancing.mark_error(WorkerNo(0)));
    assert_eq!(s.picks(3, None), "aaa", "stopped: never tried again");
    members[0].1.status = status::IGNORE | status::ERROR;
    let s = site(BalancerParams::default(), &members);
    assert_eq!(s.picks(1, None), "a");
    assert_eq!(s.status(0), "Init Ign Ok ");
}

#[test]
fn failonstatus_and_failontimeout() {
    let params = BalancerParams {
        fail_on_status: vec![500, 503],
        ..BalancerParams::default()
    };
    let s = site(params, &two(60_000));
    assert!(!s.balancing.fail_on_status(WorkerNo(0), 404));
    assert!(s.balancing.fail_on_status(WorkerNo(0), 500));
    assert!(!s.balancing.fail_on_timeout(WorkerNo(1)));
    assert!(!s.balancing.fail_on_status(WorkerNo(2), 500), "no member");
    assert_eq!(s.picks(2, None), "bb");
    assert!(s.balancing.fail_on_status(WorkerNo(1), 503));
    assert_eq!(s.picks(2, None), "ab", "all in error: recovered by force");
}

#[test]
fn members_to_skip_and_empty_balancers() {
    let s = site(BalancerParams::default(), &two(60_000));
    let full = [WorkerNo(0)];
    for _ in 0..3 {
        let c = s.balancing.choose(C, Some(b"ra"), &full).ok().unwrap();
        assert_eq!((c.worker, c.by_route), (WorkerNo(1), false));
    }
    assert!(matches!(
        s.balancing.choose(C, None, &[WorkerNo(0), WorkerNo(1)]),
        Err(NoMember::AllInError)
    ));
    assert_eq!(s.status(0), "Init Ok ");
    let s = site(BalancerParams::default(), &[]);
    assert!(matches!(
        s.balancing.choose(C, None, &[]),
        Err(NoMember::Empty)
    ));
    assert!(s.balancing.choose(BalancerNo(9), None, &[]).is_err());
    assert_eq!(s.balancing.max_attempts(C), 0);
}

#[test]
fn members_join_at_run_time_in_all_children() {
    let params = BalancerParams {
        growth: 2,
        ..BalancerParams::default()
    };
    let site = site(params, &[("http://a", WorkerParams::default())]);
    let (row, grown) = (BalancerRow(0), site.balancing.balancers[0].grown.clone());
    assert_eq!(grown.len(), 2);
    assert_eq!(site.picks(3, None), "aaa");
    let join = |name| {
        let new = crate::shm::NewMember {
            name,
            route: "r",
            load_factor: 100,
            status: status::BEACON,
        };
        site.board.add_member(row, &grown, &new)
    };
    let first = join("http://10.0.0.1:81").unwrap();
    assert_eq!(site.picks(3, None), "aaa", "not before it is enabled");
    assert!(site.board.set_disabled(row, first, false));
    // The numbers of run-time members follow the configured workers: a, the plain one, then these.
    assert_eq!(site.picks(4, None), "acac");
    assert_eq!(site.picks(1, Some("r")), "c");
    let worker = site.balancing.worker(WorkerNo(2));
    assert_eq!((worker.host.as_str(), worker.port), ("10.0.0.1", 81));
    assert_eq!(worker.balancer, Some(C));
    assert_eq!(site.status(1), "Init Bcn Ok ");
    assert!(site.balancing.usable(WorkerNo(2)));
    assert_eq!(site.balancing.max_attempts(C), 1);
    assert!(site.balancing.mark_error(WorkerNo(2)));
    assert_eq!(site.status(1), "Init Err Bcn ");
    assert!(site.board.set_disabled(row, first, true));
    let second = join("http://10.0.0.2").unwrap();
    assert!(site.board.set_disabled(row, second, false));
    assert!(site.picks(6, None).contains('d'));
    assert!(join("http://10.0.0.3").is_none(), "the balancer is full");
    assert_eq!(site.balancing.members(C).len(), 3);
}

#[test]
fn members_added_at_run_time_outlive_a_reload() {
    let dir = test_dir("grown");
    let with = |growth, members: &[(&str, WorkerParams)]| {
        let params = BalancerParams {
            growth,
            ..BalancerParams::default()
        };
        bare(&dir).with_balancer("balancer://c", params, members)
    };
    let a = [("http://a", WorkerParams::default())];
    let settings = with(3, &a);
    let board = Scoreboard::create(&dir.join("board"), &settings, 1, Generation(0)).unwrap();
    let rows = board.assign(&settings, Generation(0)).unwrap();
    let row = rows.balancer(C).unwrap();
    for name in ["http://b", "http://c"] {
        let new = crate::shm::NewMember {
            name,
            route: "",
            load_factor: 100,
            status: status::BEACON,
        };
        let added = board.add_member(row, rows.grown(C), &new).unwrap();
        board.set_disabled(row, added, false);
    }
    let names = |board: &Scoreboard| {
        let members = board.snapshot().balancers.remove(0).members;
        let text = |m: &crate::shm::WorkerInfo| format!("{}{}", m.name, status::text(m.status));
        members.iter().map(text).collect::<Vec<_>>()
    };
    let want = [
        "http://aInit Ok ",
        "http://bInit Bcn Ok ",
        "http://cInit Bcn Ok ",
    ];
    assert_eq!(names(&board), want);
    // The same again, and then in a larger table.
    let again = board.assign(&settings, Generation(1)).unwrap();
    board.set_generation(Generation(1), 2);
    assert_eq!((again.grown(C), again.dropped().len()), (rows.grown(C), 0));
    assert_eq!(names(&board), want);
    let larger = board
        .grown(&dir.join("board"), &settings, 2, Generation(2))
        .unwrap();
    let _ = larger.assign(&settings, Generation(2)).unwrap();
    larger.set_generation(Generation(2), 3);
    assert_eq!(names(&larger), want);
    // One becomes a configured member, and there is no more room for the other.
    let b = [
        ("http://a", WorkerParams::default()),
        ("http://b", WorkerParams::default()),
    ];
    let less = with(0, &b);
    let rows = larger.assign(&less, Generation(3)).unwrap();
    larger.set_generation(Generation(3), 4);
    let gone =
        "balancer://c: http://c, which was added at run time, is gone: growth= is smaller now";
    assert_eq!(rows.dropped(), [gone]);
    assert_eq!(rows.overruled().len(), 1, "{:?}", rows.overruled());
    assert_eq!(names(&larger), ["http://aInit Ok ", "http://bInit Ok "]);
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn a_scribbled_table_ends_nobody() {
    let s = site(BalancerParams::default(), &two(60_000));
    let row = s.balancing.row(WorkerNo(0)).unwrap();
    for _ in 0..3 {
        s.board.add_lbstatus(row, i64::MAX);
        let _ = s.picks(3, None);
    }
    s.board.scribble(0xff);
    let _ = s.picks(3, Some("ra"));
    s.balancing.tidy();
    assert!(s.balancing.usable(WorkerNo(0)) || !s.balancing.usable(WorkerNo(0)));
    s.balancing.mark_error(WorkerNo(0));
    let _ = s.balancing.max_attempts(C);
    let _ = s.balancing.wait_limit(C);
    let _ = s.board.snapshot().totals();
    assert!(s.board.slots().count() <= 16);
    s.board.release_slot(s.slot);
}

#[test]
fn a_member_that_recovers_starts_slowly() {
    let mut members = two(0);
    members[1].1.slow_start = Duration::from_secs(3600);
    let s = site(BalancerParams::default(), &members);
    assert_eq!(s.picks(4, None), "abab", "at the start all have their part");
    s.balancing.mark_error(WorkerNo(1));
    wait(|| {
        let choice = s.balancing.choose(C, Some(b"rb"), &[]).ok();
        choice.is_some_and(|c| c.worker.0 == 1 && s.balancing.mark_connected(c.worker))
    });
    let picks = s.picks(90, None);
    assert!(picks.matches('b').count() <= 2, "{picks}");
    assert_eq!(s.picks(2, Some("rb")), "bb", "its sessions stay with it");
    assert_eq!(s.lbstatus().iter().sum::<i64>(), 0);
}

#[test]
fn the_budget_of_further_tries() {
    assert!(within_budget(20, 0, ALWAYS_TRIED - 1));
    assert!(!within_budget(20, 0, ALWAYS_TRIED));
    assert!(within_budget(20, 800, 199) && !within_budget(20, 800, 200));
    assert!(!within_budget(0, 1_000_000, 0) && within_budget(100, 0, 1_000_000));
    let s = site(BalancerParams::default(), &two(0));
    let row = s.balancing.balancer_row(C).unwrap();
    let second = |n: u64| Mono(n * 1_000_000_000);
    for n in 100..120 {
        (0..7).for_each(|_| s.board.count_try(row, second(n), false));
        (0..n - 99).for_each(|_| s.board.count_try(row, second(n), true));
    }
    assert_eq!(s.board.tries(row, second(119)), (70, (11..=20).sum()));
    assert_eq!(s.board.tries(row, second(124)), (35, (16..=20).sum()));
    assert_eq!(s.board.tries(row, second(129)), (0, 0));
    assert_eq!(
        s.board.tries(row, second(119 + (1 << 25))),
        (70, (11..=20).sum()),
        "24 bits"
    );
    for _ in 0..ALWAYS_TRIED {
        assert!(s.balancing.may_try_again(C));
    }
    assert!(!s.balancing.may_try_again(C));
}

#[test]
fn changes_by_hand_are_seen_at_the_next_choice() {
    let s = site(BalancerParams::default(), &two(60_000));
    let row = s.balancing.balancer_row(C).unwrap();
    let rows: Vec<_> = s
        .balancing
        .rows(C)
        .into_iter()
        .map(|(_, row)| row)
        .collect();
    assert!(s.balancing.live(C).sticky.is_none());
    let edit = crate::shm::BalancerEdit {
        lbmethod: Some("byhash".into()),
        timeout: Some(Duration::from_secs(7)),
        max_attempts: Some(9),
        no_failover: Some(true),
        sticky: Some(("SID".into(), "sid".into())),
    };
    s.board.edit(row, &rows, None, &edit).unwrap();
    assert_eq!(s.balancing.wait_limit(C), Duration::from_secs(7));
    assert_eq!(s.balancing.max_attempts(C), 9);
    assert!(s.balancing.wants_key(C));
    assert_eq!(
        s.balancing.live(C).sticky,
        Some(("SID".into(), "sid".into()))
    );
    s.balancing.mark_error(WorkerNo(0));
    let refused = s.balancing.choose(C, Some(b"ra"), &[]);
    assert_eq!(refused.err(), Some(NoMember::Nofailover));
    // A key leads to the same member, others to others.
    let pick = |key: u64| {
        let asked = Asked {
            key: Some(hash::of(&key.to_ne_bytes())),
            ..Asked::default()
        };
        s.balancing.choose_for(C, &asked).ok().unwrap().worker
    };
    s.balancing.mark_connected(WorkerNo(0));
    assert!((0..50).all(|k| pick(k) == pick(k)));
}

/// A balancer that goes by traffic, whose only member has moved a lot.
fn by_traffic() -> (Site, BalancerRow, Vec<WorkerRow>) {
    let params = BalancerParams {
        lbmethod: "bytraffic".into(),
        growth: 1,
        ..BalancerParams::default()
    };
    let s = site(params, &two(0));
    let row = s.balancing.balancer_row(C).unwrap();
    let rows = s.balancing.rows(C).into_iter().map(|(_, r)| r).collect();
    s.balancing.add_sent(WorkerNo(0), 400_000);
    s.balancing.add_read(WorkerNo(0), 600_000);
    (s, row, rows)
}

impl Site {
    /// Requests that move a hundred bytes each.
    fn moving_picks(&self, n: usize) -> String {
        let one = |_| match self.balancing.choose(C, None, &[]) {
            Ok(choice) => {
                self.balancing.add_read(choice.worker, 100);
                choice.busy.moved(100);
                letter(choice.worker)
            }
            Err(_) => '-',
        };
        (0..n).map(one).collect()
    }

    fn moved(&self) -> Vec<(u64, u64)> {
        let members = &self.board.snapshot().balancers[0].members;
        members.iter().map(|m| (m.sent, m.received)).collect()
    }
}

/// bytraffic's reset (spec: balancer 6.3): enabling by hand and a change of the method set what all
/// members have moved to nothing, whichever children moved it; for other methods the bytes stay.
#[test]
fn traffic_is_forgotten_when_a_member_is_enabled_by_hand() {
    let (s, row, rows) = by_traffic();
    let other = s.board.claim_slot(ChildNo(1), Generation(0)).unwrap();
    s.board.add_sent(other, rows[0], 7);
    s.board.release_slot(other);
    let another = s.board.claim_slot(ChildNo(2), Generation(0)).unwrap();
    s.board.add_received(another, rows[0], 9);
    assert_eq!(s.moved(), [(400_007, 600_009), (0, 0)]);
    let edit = |set, clear| crate::shm::MemberEdit {
        set,
        clear,
        ..Default::default()
    };
    let member = |edit: &crate::shm::MemberEdit| {
        let own = crate::shm::BalancerEdit::default();
        s.board
            .edit(row, &rows, Some((rows[1], edit)), &own)
            .unwrap();
    };
    member(&edit(status::DISABLED, 0));
    assert_eq!(s.moved()[0], (400_007, 600_009), "not before it returns");
    member(&edit(0, status::DISABLED));
    assert_eq!(s.moved(), [(0, 0), (0, 0)]);
    assert_eq!(s.moving_picks(6), "ababab");

    let method = |name: &str| {
        let own = crate::shm::BalancerEdit {
            lbmethod: Some(name.into()),
            ..Default::default()
        };
        s.board.edit(row, &rows, None, &own).unwrap();
    };
    s.balancing.add_sent(WorkerNo(1), 5000);
    let before = s.moved();
    method("bybusyness");
    member(&edit(status::DISABLED, 0));
    member(&edit(0, status::DISABLED));
    assert_eq!(s.moved(), before, "only bytraffic forgets");
    method("bytraffic");
    assert_eq!(s.moved(), [(0, 0), (0, 0)]);
    assert_eq!(s.moving_picks(4), "abab");
}

/// A member that joins a balancer which goes by traffic, or returns to it after an error or a failed
/// check, gets its share from then on, not all requests until it has caught up. The bytes that
/// are told of stay true.
#[test]
fn who_joins_by_traffic_has_nothing_to_catch_up_with() {
    let (s, row, rows) = by_traffic();
    // In error from the start: it returns by a probe.
    s.balancing.mark_error(WorkerNo(1));
    let mut probe = None;
    wait(|| {
        probe = s.balancing.choose(C, None, &[]).ok().filter(|c| c.probe);
        probe.is_some()
    });
    assert!(s.balancing.mark_connected(WorkerNo(1)));
    drop(probe);
    assert_eq!(s.moving_picks(6), "ababab");
    assert_eq!(s.moved(), [(400_000, 600_300), (0, 300)]);
    // By its checks.
    s.board
        .change_status_for_tests(rows[1], status::HEALTH_FAILED);
    assert_eq!(s.moving_picks(10), "aaaaaaaaaa");
    let step = crate::shm::HealthStep::Enable;
    s.board
        .health_ended(rows[1], clock::now(), true, (0, 0), step);
    assert_eq!(s.moving_picks(6), "ababab");
    // A new one, with twice the factor.
    let grown = s.balancing.balancers[0].grown.clone();
    let new = crate::shm::NewMember {
        name: "http://10.0.0.1",
        route: "",
        load_factor: 200,
        status: status::BEACON,
    };
    let joined = s.board.add_member(row, &grown, &new).unwrap();
    assert!(s.board.set_disabled(row, joined, false));
    let picks = s.moving_picks(40);
    let count = |c| picks.matches(c).count();
    assert_eq!((count('a'), count('b'), count('d')), (10, 10, 20));
    // One that went away for long and is announced again.
    assert!(s.board.set_disabled(row, joined, true));
    s.moving_picks(500);
    assert!(s.board.set_disabled(row, joined, false));
    let picks = s.moving_picks(40);
    assert!((19..=21).contains(&picks.matches('d').count()), "{picks}");
}

/// A member that recovered gets its part of its share, more as time goes on, whatever the method
/// (byleasttime, where equal members have no shares, has its own test). Afterwards nobody has
/// anything to catch up with.
#[test]
fn shares_grow_with_the_part_of_the_factor() {
    const SECOND: u64 = 1_000_000_000;
    for method in method::names().filter(|n| *n != "byleasttime") {
        let params = BalancerParams {
            lbmethod: method.into(),
            ..BalancerParams::default()
        };
        let mut members = two(60_000);
        members[0].1.slow_start = Duration::from_secs(80);
        let s = site(params, &members);
        let row = s.balancing.row(WorkerNo(0)).unwrap();
        if method == "heartbeat" {
            for no in [0, 1] {
                let row = s.balancing.row(WorkerNo(no)).unwrap();
                s.board.set_heartbeat(row, 1, 10, clock::now());
            }
        }
        let mut key = 0;
        let mut part = |n: usize| {
            let one = |_: &usize| {
                key += 1;
                let asked = Asked {
                    key: Some(hash::mix(key)),
                    ..Asked::default()
                };
                let choice = s.balancing.choose_for(C, &asked).ok().unwrap();
                s.balancing.add_read(choice.worker, 100);
                choice.busy.moved(100);
                choice.worker == WorkerNo(0)
            };
            (0..n).filter(one).count()
        };
        // A history in which it would lag behind.
        s.balancing.add_read(WorkerNo(1), 1_000_000);
        s.balancing.mark_error(WorkerNo(0));
        part(10);
        s.board.clear_error(row);
        assert!(s.balancing.mark_connected(WorkerNo(0)));
        let now = clock::now().0;
        for (seconds, expected) in [(8, 182), (40, 667), (72, 947)] {
            let recovered = Mono(now.wrapping_sub(seconds * SECOND));
            s.board.set_recovered_for_tests(row, recovered);
            let n = part(2000);
            assert!(
                n.abs_diff(expected) < 130,
                "{method} after {seconds} s: {n}"
            );
        }
        s.board.set_recovered_for_tests(row, Mono(0));
        let n = part(200);
        assert!(n.abs_diff(100) < 45, "{method} afterwards: {n}");
    }
}

impl Site {
    /// Changes a member by hand.
    fn edit(&self, no: u16, edit: crate::shm::MemberEdit) {
        let row = self.balancing.balancer_row(C).unwrap();
        let all = self.balancing.rows(C);
        let rows: Vec<_> = all.iter().map(|(_, row)| *row).collect();
        let member = Some((rows[usize::from(no)], &edit));
        let own = crate::shm::BalancerEdit::default();
        self.board.edit(row, &rows, member, &own).unwrap();
    }

    /// What each of three members gets of so many requests that move a hundred bytes each.
    fn parts(&self, n: usize) -> [usize; 3] {
        let picks = self.moving_picks(n);
        ['a', 'b', 'c'].map(|c| picks.matches(c).count())
    }
}

/// A new load factor counts from now on, for what was moved before it nobody is flooded or starved;
/// nor is a member that was drained or a reserve when it is needed.
#[test]
fn a_change_gives_nobody_traffic_to_catch_up_with() {
    use crate::shm::MemberEdit;
    let params = BalancerParams {
        lbmethod: "bytraffic".into(),
        ..BalancerParams::default()
    };
    let mut members = two(60_000);
    members.push(("http://c", member("rc", 60_000, status::SPARE)));
    let s = site(params.clone(), &members);
    assert_eq!(s.parts(400), [200, 200, 0]);
    let factor = |n| MemberEdit {
        load_factor: Some(n),
        ..MemberEdit::default()
    };
    s.edit(0, factor(400));
    assert_eq!(s.parts(50), [40, 10, 0]);
    s.edit(0, factor(100));
    assert_eq!(s.parts(50), [25, 25, 0]);
    let set = |bits| MemberEdit {
        set: bits,
        ..MemberEdit::default()
    };
    let clear = |bits| MemberEdit {
        clear: bits,
        ..MemberEdit::default()
    };
    for bits in [status::DRAIN, status::STANDBY] {
        s.edit(1, set(bits));
        s.parts(400);
        s.edit(1, clear(bits));
        assert_eq!(s.parts(50), [25, 25, 0]);
    }
    // The spare stands in for one that failed, and becomes a regular member.
    s.balancing.mark_error(WorkerNo(1));
    assert_eq!(s.parts(50), [25, 0, 25]);
    s.edit(1, clear(status::ERROR));
    s.parts(400);
    s.edit(2, clear(status::SPARE));
    let parts = s.parts(60);
    assert!(parts.iter().all(|n| (19..=21).contains(n)), "{parts:?}");
    // By a reload, and by an announcement.
    members[0].1.load_factor = 300;
    let settings = bare(&s.dir)
        .with_balancer("balancer://c", params, &members)
        .with_worker("http://plain", WorkerParams::default());
    let rows = s.board.assign(&settings, Generation(1)).unwrap();
    assert_eq!(s.parts(50), [30, 10, 10]);
    let b = rows.worker(WorkerNo(1)).unwrap();
    assert!(s.board.set_member(b, None, Some(600)));
    assert_eq!(s.parts(50), [15, 30, 5]);
}

/// The same for members and methods that a reload brings.
#[test]
fn a_reload_gives_nobody_traffic_to_catch_up_with() {
    let (s, ..) = by_traffic();
    let params = |method: &str| BalancerParams {
        lbmethod: method.into(),
        growth: 1,
        ..BalancerParams::default()
    };
    let next = |params, members: &[(&str, WorkerParams)], generation| {
        let settings = bare(&s.dir)
            .with_balancer("balancer://c", params, members)
            .with_worker("http://plain", WorkerParams::default());
        let rows = s.board.assign(&settings, Generation(generation)).unwrap();
        Site {
            balancing: Balancing::new(Rc::new(settings), s.board.clone(), Rc::new(rows), s.slot),
            dir: s.dir.clone(),
            board: s.board.clone(),
            slot: s.slot,
        }
    };
    // From another method: nobody has a lead, and the bytes stay.
    let before = s.moved();
    next(params("byrequests"), &two(0), 1);
    let now = next(params("bytraffic"), &two(0), 2);
    assert_eq!(now.moving_picks(4), "abab");
    assert_eq!(now.moved()[0].0, before[0].0);
    let mut three = two(0);
    three.push(("http://new", WorkerParams::default()));
    let now = next(params("bytraffic"), &three, 3);
    let picks = now.moving_picks(9);
    assert_eq!(picks.matches('c').count(), 3, "{picks}");
}

/// A new load factor sets everybody's lbstatus to his factor (spec: manager 2). The sum that this
/// makes is the one that repairs keep from then on.
#[test]
fn the_sum_of_lbstatus_survives_repairs_after_a_new_factor() {
    let s = site(BalancerParams::default(), &two(60_000));
    let row = s.balancing.balancer_row(C).unwrap();
    let rows: Vec<_> = s.balancing.rows(C).into_iter().map(|(_, r)| r).collect();
    let edit = crate::shm::MemberEdit {
        load_factor: Some(300),
        ..Default::default()
    };
    let own = crate::shm::BalancerEdit::default();
    s.board
        .edit(row, &rows, Some((rows[0], &edit)), &own)
        .unwrap();
    assert_eq!(s.lbstatus(), [300, 100]);
    // A child ends: whoever chooses next looks whether its last choice was whole.
    let other = s.board.claim_slot(ChildNo(1), Generation(0)).unwrap();
    s.board.release_slot(other);
    assert_eq!(s.picks(4, None), "aaab");
    assert_eq!(s.lbstatus(), [300, 100]);
    // Half a choice is still put right.
    s.board.add_lbstatus(rows[0], 300);
    let other = s.board.claim_slot(ChildNo(1), Generation(0)).unwrap();
    s.board.release_slot(other);
    s.balancing.tidy();
    assert_eq!(s.lbstatus().iter().sum::<i64>(), 400);
    // A reset makes it zero again.
    let own = crate::shm::BalancerEdit {
        lbmethod: Some("bybusyness".into()),
        ..Default::default()
    };
    s.board.edit(row, &rows, None, &own).unwrap();
    let other = s.board.claim_slot(ChildNo(1), Generation(0)).unwrap();
    s.board.release_slot(other);
    s.balancing.tidy();
    assert_eq!(s.lbstatus(), [0, 0]);
}
