//! The worked tables of the balancing rules (spec: balancer 7), and what the loop promises (6.1).

use super::*;
use crate::balancer::{hash, method};
use crate::shm::status::*;

/// Makes `n` choices one after the other. A string of letters, and all lbstatus after each.
fn run(members: &mut [Member], n: usize) -> (String, Vec<Vec<i64>>, Vec<i64>) {
    run_by("byrequests", members, n, |_| ())
}

/// The same by another method; `served` sees each chosen member.
fn run_by(
    method: &str,
    members: &mut [Member],
    n: usize,
    served: impl Fn(&mut Member),
) -> (String, Vec<Vec<i64>>, Vec<i64>) {
    let method = method::find(method).unwrap();
    let mut picks = String::new();
    let mut states = Vec::new();
    let mut sel = Vec::new();
    for _ in 0..n {
        let before = statuses(members);
        members.iter_mut().for_each(|m| m.compared = false);
        match select(method, members, &Ask::default()) {
            Some(i) => {
                served(&mut members[i]);
                picks.push((b'a' + i as u8) as char);
                sel.push(members[i].lbstatus);
            }
            None => picks.push('-'),
        }
        states.push(settle(members, &before));
    }
    (picks, states, sel)
}

/// What the table does with the changes; their sum is always zero.
fn settle(members: &mut [Member], before: &[i64]) -> Vec<i64> {
    assert_eq!(members.iter().map(|m| m.change).sum::<i64>(), 0);
    for (m, before) in members.iter_mut().zip(before) {
        m.lbstatus = before + m.change;
        m.change = 0;
    }
    statuses(members)
}

fn statuses(members: &[Member]) -> Vec<i64> {
    members.iter().map(|m| m.lbstatus).collect()
}

fn members(factors: &[u32]) -> Vec<Member> {
    factors
        .iter()
        .map(|&f| Member::new(INIT, f, 0, 0))
        .collect()
}

fn with(status: u32, lbset: u32) -> Member {
    Member::new(INIT | status, 100, lbset, 0)
}

#[test]
fn an_equal_pair() {
    let (picks, states, sel) = run(&mut members(&[100, 100]), 4);
    assert_eq!(picks, "abab");
    assert_eq!(sel, [100, 200, 100, 200]);
    assert_eq!(
        states,
        [vec![-100, 100], vec![0, 0], vec![-100, 100], vec![0, 0]]
    );
}

#[test]
fn four_with_one_disabled() {
    let mut m = members(&[2500; 4]);
    m[1] = Member::new(INIT | DISABLED, 2500, 0, 0);
    let (picks, states, sel) = run(&mut m, 12);
    assert_eq!(picks, "acdacdacdacd");
    assert_eq!(&sel[..3], [2500, 5000, 7500]);
    assert_eq!(states[0], [-5000, 0, 2500, 2500]);
    assert_eq!(states[1], [-2500, 0, -2500, 5000]);
    assert_eq!(states[2], [0, 0, 0, 0]);
}

#[test]
fn seventy_to_thirty() {
    let (picks, states, sel) = run(&mut members(&[7000, 3000]), 20);
    assert_eq!(picks, "abaaabaabaabaaabaaba");
    assert_eq!(
        &sel[..10],
        [7000, 6000, 11000, 8000, 5000, 8000, 9000, 6000, 7000, 10000]
    );
    let a: Vec<i64> = states.iter().take(10).map(|s| s[0]).collect();
    assert_eq!(
        a,
        [-3000, 4000, 1000, -2000, -5000, 2000, -1000, -4000, 3000, 0]
    );
    assert!(states.iter().all(|s| s[0] == -s[1]));
}

#[test]
fn one_four_one() {
    let (picks, states, sel) = run(&mut members(&[100, 400, 100]), 12);
    assert_eq!(picks, "babbcbbabbcb");
    assert_eq!(&sel[..6], [400, 200, 600, 400, 500, 600]);
    assert_eq!(
        &states[..6],
        [
            vec![100, -200, 100],
            vec![-400, 200, 200],
            vec![-300, 0, 300],
            vec![-200, -200, 400],
            vec![-100, 200, -100],
            vec![0, 0, 0]
        ]
    );
}

#[test]
fn two_and_a_half_to_one() {
    let (picks, states, sel) = run(&mut members(&[250, 100]), 14);
    assert_eq!(picks, "abaaabaabaaaba");
    assert_eq!(&sel[..7], [250, 200, 400, 300, 200, 250, 350]);
    let a: Vec<i64> = states.iter().take(7).map(|s| s[0]).collect();
    assert_eq!(a, [-100, 150, 50, -50, -150, 100, 0]);
}

#[test]
fn any_factors_give_exact_shares() {
    let mut seed = 7u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
        (seed >> 33) as u32
    };
    for _ in 0..50 {
        let factors: Vec<u32> = (0..2 + next() % 5).map(|_| 100 + next() % 300).collect();
        let total: u32 = factors.iter().sum();
        let mut m = members(&factors);
        let (picks, states, _) = run(&mut m, total as usize);
        for (i, f) in factors.iter().enumerate() {
            let n = picks.bytes().filter(|b| *b == b'a' + i as u8).count();
            assert_eq!(n as u32, *f, "{factors:?}");
        }
        assert!(states.last().unwrap().iter().all(|&s| s == 0));
    }
}

#[test]
fn choices_by_route_are_paid_for() {
    let mut m = members(&[100, 100, 100]);
    let mut states = Vec::new();
    for _ in 0..3 {
        let before = statuses(&m);
        charge(&mut m, 0);
        states.push(settle(&mut m, &before));
    }
    assert_eq!(
        states,
        [
            vec![-200, 100, 100],
            vec![-400, 200, 200],
            vec![-600, 300, 300]
        ]
    );
    let (picks, states, _) = run(&mut m, 6);
    assert_eq!(picks, "bcbcbc");
    assert_eq!(
        states,
        [
            vec![-500, 100, 400],
            vec![-400, 200, 200],
            vec![-300, 0, 300],
            vec![-200, 100, 100],
            vec![-100, -100, 200],
            vec![0, 0, 0]
        ]
    );
}

#[test]
fn spares_stand_in_for_missing_members() {
    let set = |a, b, r, s| {
        vec![
            with(a, 0),
            with(b, 0),
            with(SPARE | r, 0),
            with(STANDBY | s, 0),
        ]
    };
    // a down: b and r by turns, s waits.
    assert_eq!(run(&mut set(ERROR, 0, 0, 0), 4).0, "bcbc");
    // With r disabled: only b. With b disabled too: s.
    assert_eq!(run(&mut set(ERROR, 0, DISABLED, 0), 3).0, "bbb");
    assert_eq!(run(&mut set(ERROR, DISABLED, DISABLED, 0), 3).0, "ddd");
    // All regular members usable: neither spare nor standby.
    assert_eq!(run(&mut set(0, 0, 0, 0), 4).0, "abab");
    // A draining regular member counts as missing, a draining spare takes nothing.
    assert_eq!(run(&mut set(DRAIN, 0, 0, 0), 4).0, "bcbc");
    assert_eq!(run(&mut set(DRAIN, 0, DRAIN, 0), 4).0, "bbbb");
    // Nothing at all.
    assert_eq!(
        run(&mut set(STOPPED, HEALTH_FAILED, SHUTDOWN, DISABLED), 2).0,
        "--"
    );
}

#[test]
fn one_spare_for_each_missing_member() {
    let spare = || with(SPARE, 0);
    let mut m = vec![with(ERROR, 0), with(0, 0), spare(), spare()];
    assert_eq!(run(&mut m, 6).0, "bcbcbc");
    let mut m = vec![with(ERROR, 0), with(DISABLED, 0), spare(), spare()];
    assert_eq!(run(&mut m, 4).0, "cdcd");
    // A spare that is also a standby counts as a spare.
    let mut m = vec![with(0, 0), with(SPARE | STANDBY, 0)];
    assert_eq!(run(&mut m, 2).0, "aa");
    let mut m = vec![with(ERROR, 0), with(SPARE | STANDBY, 0)];
    assert_eq!(run(&mut m, 2).0, "bb");
}

#[test]
fn sets_are_used_in_order() {
    // A standby in set 0 wins over a regular member in set 1.
    let mut m = vec![with(ERROR, 0), with(STANDBY, 0), with(0, 1)];
    assert_eq!(run(&mut m, 2).0, "bb");
    // All usable standbys of a set share the load.
    let mut m = vec![with(ERROR, 0), with(STANDBY, 0), with(STANDBY, 0)];
    assert_eq!(run(&mut m, 4).0, "bcbc");
    // Sets without members are passed over; set numbers decide, not the order of the list.
    let mut m = vec![with(0, 99), with(0, 7), with(ERROR, 2)];
    assert_eq!(run(&mut m, 2).0, "bb");
    // Members that were not compared keep their lbstatus.
    let mut m = vec![with(0, 0), with(0, 1), with(STANDBY, 0)];
    m[1].lbstatus = 500;
    let (_, states, _) = run(&mut m, 3);
    assert!(states.iter().all(|s| *s == [0, 500, 0]));
    // Unusable members of another set do not call spares of this one.
    let mut m = vec![with(0, 0), with(SPARE, 0), with(ERROR, 1)];
    assert_eq!(run(&mut m, 2).0, "aa");
}

#[test]
fn a_draining_member_is_not_selected() {
    let mut m = vec![with(DRAIN, 0)];
    assert_eq!(run(&mut m, 1).0, "-");
    assert_eq!(
        by_route(&mut m, &routes(&[("r", "")]), b"r", Hope::First),
        Some(0)
    );
}

#[test]
fn a_probed_member_is_the_last_resort() {
    let mut m = members(&[100, 100]);
    m[0].offer = Offer::Probed;
    assert_eq!(run(&mut m, 2).0, "bb");
    m[1].offer = Offer::No;
    assert_eq!(run(&mut m, 2).0, "aa");
    // It counts as missing while it is probed.
    let mut m = vec![with(0, 0), with(SPARE, 0)];
    m[0].offer = Offer::Probed;
    assert_eq!(run(&mut m, 1).0, "b");
}

fn routes(list: &[(&str, &str)]) -> Vec<Routes> {
    list.iter()
        .map(|(route, redirect)| Routes {
            version: 0,
            route: (*route).into(),
            redirect: (*redirect).into(),
        })
        .collect()
}

#[test]
fn routes_lead_to_their_member() {
    let look =
        |m: &mut [Member], r: &[Routes], route: &str| by_route(m, r, route.as_bytes(), Hope::First);
    let r = routes(&[("a", ""), ("b", "a"), ("", ""), ("a", "")]);
    let mut m = vec![with(0, 3), with(ERROR, 0), with(0, 0), with(0, 0)];
    assert_eq!(
        look(&mut m, &r, "a"),
        Some(0),
        "the first of a route takes all"
    );
    assert_eq!(
        look(&mut m, &r, "b"),
        Some(0),
        "redirected, since b is down"
    );
    assert_eq!(look(&mut m, &r, "A"), None, "case matters");
    m[1] = with(SPARE | DRAIN, 9);
    assert_eq!(
        look(&mut m, &r, "b"),
        Some(1),
        "spare, drain and set do not matter"
    );
    m[0] = with(ERROR, 0);
    assert_eq!(look(&mut m, &r, "a"), Some(3));
    m[3] = with(DISABLED, 0);
    assert_eq!(look(&mut m, &r, "a"), None);
    assert!(has_route(&r, b"a") && !has_route(&r, b"c"));
    // Standbys last.
    let r = routes(&[("a", ""), ("a", "")]);
    let mut m = vec![with(STANDBY, 0), with(0, 0)];
    assert_eq!(look(&mut m, &r, "a"), Some(1));
    m[1] = with(ERROR, 0);
    assert_eq!(look(&mut m, &r, "a"), Some(0));
    // One whose interval has passed is a choice.
    m[1].offer = Offer::Probe;
    assert_eq!(look(&mut m, &r, "a"), Some(1));
    m[1].offer = Offer::Probed;
    assert_eq!(look(&mut m, &r, "a"), Some(0));
}

#[test]
fn circles_of_redirects_end() {
    let r = routes(&[("a", "b"), ("b", "c"), ("c", "a")]);
    let mut m = vec![with(ERROR, 0); 3];
    assert_eq!(by_route(&mut m, &r, b"a", Hope::First), None);
    m[2] = with(0, 0);
    assert_eq!(by_route(&mut m, &r, b"a", Hope::First), Some(2));
    // Many members on one route that redirects to itself: httpd's search would not end.
    let r = routes(&[("a", "a"); 40]);
    let mut m = vec![with(ERROR, 0); 40];
    assert_eq!(by_route(&mut m, &r, b"a", Hope::First), None);
}

#[test]
fn forced_recovery_looks_at_members_that_only_an_error_stops() {
    assert!(!all_in_error(&[]));
    assert!(all_in_error(&[with(ERROR, 0), with(ERROR | SPARE, 1)]));
    assert!(!all_in_error(&[with(ERROR, 0), with(0, 0)]));
    assert!(all_in_error(&[with(ERROR, 0), with(DISABLED, 0)]));
    assert!(!all_in_error(&[with(ERROR | STOPPED, 0)]));
    let mut m = [with(ERROR, 0), with(ERROR, 0)];
    m[1].offer = Offer::Probe;
    assert!(!all_in_error(&m));
}

#[test]
fn by_traffic() {
    let moves = |bytes: u64| move |m: &mut Member| m.traffic += bytes;
    assert_eq!(
        run_by("bytraffic", &mut members(&[100, 300]), 8, moves(900)).0,
        "abbbabbb"
    );
    assert_eq!(
        run_by("bytraffic", &mut members(&[100, 100]), 4, moves(77)).0,
        "abab"
    );
    // httpd, which cuts each quotient, makes `abbabbbabbba` of this.
    let (picks, states, _) = run_by("bytraffic", &mut members(&[100, 300]), 12, moves(217));
    assert_eq!(picks, "abbbabbbabbb");
    assert!(states.iter().all(|s| *s == [0, 0]), "turns are not touched");
    // A byte decides, and the largest counters do not overflow.
    let mut m = members(&[10_000, 10_000]);
    (m[0].traffic, m[1].traffic) = (u64::MAX, u64::MAX - 1);
    assert_eq!(run_by("bytraffic", &mut m, 1, |_| ()).0, "b");
}

#[test]
fn by_busyness() {
    let stays = |m: &mut Member| m.busy += 1;
    let (picks, states, _) = run_by("bybusyness", &mut members(&[100, 100]), 6, stays);
    assert_eq!(picks, "ababab");
    assert!(states.chunks(2).all(|s| s == [[-100, 100], [0, 0]]));
    let (picks, states, _) = run_by("bybusyness", &mut members(&[100, 300]), 8, stays);
    assert_eq!(picks, "babababa");
    let a: Vec<i64> = states.iter().map(|s| s[0]).collect();
    assert_eq!(a, [100, -200, -100, -400, -300, -600, -500, -800]);
    let mut m = members(&[100, 100, 100]);
    (m[0].busy, m[2].busy) = (2, 1);
    assert_eq!(run_by("bybusyness", &mut m, 6, stays).0, "bcbacb");
    // One after the other: by turns.
    for factors in [&[250, 100][..], &[100, 400, 100], &[7000, 3000]] {
        assert_eq!(
            run_by("bybusyness", &mut members(factors), 20, |_| ()),
            run(&mut members(factors), 20)
        );
    }
}

#[test]
fn methods_that_draw_keep_to_sets_and_reserves() {
    for method in ["byhash", "byleasttime"] {
        let method = method::find(method).unwrap();
        for i in 0..100 {
            let mut m = vec![
                with(ERROR, 0),
                with(SPARE, 0),
                with(STANDBY, 0),
                with(DRAIN, 0),
                with(0, 0),
                with(0, 1),
            ];
            let ask = Ask {
                key: Some(hash::of(&[i])),
                random: hash::of(&[i, 1]),
            };
            let chosen = select(method, &mut m, &ask);
            assert!(matches!(chosen, Some(1 | 4)), "{chosen:?}");
            assert!(m.iter().all(|m| m.change == 0));
        }
    }
}

#[test]
fn a_recovered_member_starts_slowly() {
    let second = std::time::Duration::from_secs(1);
    let warm = |tenths: u32| {
        let mut m = members(&[200, 200]);
        m[1].start_slowly(second * tenths, second * 10);
        m
    };
    assert_eq!(warm(5)[1].load_factor, 100);
    assert_eq!(warm(10)[1].load_factor, 200);
    assert_eq!(warm(0)[1].load_factor, 1);
    let count = |picks: String| picks.matches('b').count();
    assert_eq!(count(run(&mut warm(1), 110).0), 10);
    assert_eq!(count(run(&mut warm(5), 120).0), 40);
    assert_eq!(count(run(&mut warm(10), 120).0), 60);
    // By busyness it gets one request for ten that stay with the other.
    let stays = |m: &mut Member| m.busy += 1;
    let (picks, ..) = run_by("bybusyness", &mut warm(1), 44, stays);
    assert_eq!(picks.find('b'), Some(1), "{picks}");
    assert_eq!(count(picks), 4);
    // Where none is busy it has its part as well, and saves nothing up for later.
    let mut idle = warm(1);
    let (picks, ..) = run_by("bybusyness", &mut idle, 110, |_| {});
    assert_eq!(count(picks), 10);
    assert!(idle.iter().all(|m| m.lbstatus.abs() <= 220), "{idle:?}");
}
