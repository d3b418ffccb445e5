//! Tests of the room as a whole.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A fresh directory for one test; the test removes it when it passed.
pub(crate) fn test_dir(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("muster-shm-{}-{n}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

use std::rc::Rc;
use std::time::Duration;

use super::*;
use crate::clock::Mono;
use crate::config::bare::bare;
use crate::config::health::{HealthMethod, HealthParams};
use crate::config::settings::{BalancerParams, Settings, WorkerParams};
use crate::ids::{BalancerNo, ChildNo, Generation, SlotNo, WorkerNo};

fn pair() -> Settings {
    bare("/nowhere").with_balancer(
        "balancer://c",
        BalancerParams::default(),
        &[
            ("http://a", WorkerParams::default()),
            ("http://b", WorkerParams::default()),
        ],
    )
}

fn board(dir: &std::path::Path, settings: &Settings, children: u16) -> Rc<Scoreboard> {
    Scoreboard::create(&dir.join("board"), settings, children, Generation(0)).unwrap()
}

fn info(target: &[u8]) -> RequestInfo<'_> {
    RequestInfo {
        client: "192.0.2.7:4711".parse().unwrap(),
        vhost: "front.test",
        port: 80,
        method: "GET",
        target,
        tail: false,
        minor: 1,
        since: Mono(5),
    }
}

#[test]
fn child_slots_are_claimed_and_released() {
    let dir = test_dir("slots");
    let b = board(&dir, &pair(), 4);
    assert_eq!(b.free_slots(), 16);
    let slots: Vec<_> = (0..16)
        .map(|i| b.claim_slot(ChildNo(i), Generation(0)).unwrap())
        .collect();
    assert_eq!(b.claim_slot(ChildNo(9), Generation(1)), None);
    b.set_pid(slots[3], 4242);
    let found: Vec<_> = b.slots().filter(|s| s.pid == 4242).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].slot, found[0].child, found[0].state),
        (slots[3], ChildNo(3), ChildState::Starting)
    );
    b.release_slot(slots[3]);
    assert_eq!(b.slots().count(), 15);
    assert_eq!(b.claim_slot(ChildNo(9), Generation(1)), Some(slots[3]));
    b.release_slot(SlotNo(9999));
    b.remove();
    assert!(!dir.join("board").exists());
    let _ = std::fs::remove_dir_all(dir);
}

/// What children have in flight and have moved is summed up over those slots alone that are in use,
/// however many there are; a dead child's counts until the supervisor has reset its slot.
#[test]
fn sums_are_over_all_slots_in_use() {
    let dir = test_dir("sums");
    let settings = pair();
    let b = board(&dir, &settings, 40);
    let row = b.assign(&settings, Generation(0)).unwrap();
    let row = row.worker(WorkerNo(0)).unwrap();
    let slots: Vec<_> = (0..160)
        .map(|i| b.claim_slot(ChildNo(i), Generation(0)).unwrap())
        .collect();
    for &slot in &slots {
        b.enter(slot, row);
        b.add_sent(slot, row, 10);
    }
    assert_eq!((b.busy(row), b.traffic(row)), (160, 1600));
    for (i, &slot) in slots.iter().enumerate() {
        if i % 3 != 0 {
            b.release_slot(slot);
        }
    }
    assert_eq!(b.busy(row), 54);
    assert_eq!(b.traffic(row), 1600, "bytes outlive the child");
    let again = b.claim_slot(ChildNo(0), Generation(1)).unwrap();
    b.enter(again, row);
    assert_eq!(b.busy(row), 55);
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn requests_are_listed_counted_and_forgotten() {
    let dir = test_dir("requests");
    let settings = pair();
    let b = board(&dir, &settings, 1);
    let rows = b.assign(&settings, Generation(0)).unwrap();
    let child = b.child(b.claim_slot(ChildNo(0), Generation(0)).unwrap());
    child.set_state(ChildState::Serving);
    child.connection_opened();
    child.connection_opened();
    child.connection_closed();
    let mut guards: Vec<_> = (0..70)
        .map(|i| child.begin_request(&info(format!("/{i}").as_bytes())))
        .collect();
    guards[1].phase(RequestPhase::Writing);
    guards[1].member(rows.worker(WorkerNo(1)).unwrap());
    guards[69].phase(RequestPhase::Writing);
    let c = &b.snapshot().children[0];
    assert_eq!((c.connections, c.requests, c.records.len()), (1, 70, 64));
    assert_eq!(c.state, ChildState::Serving);
    assert_eq!(c.records[1].request, "GET /1");
    assert_eq!(c.records[1].phase, RequestPhase::Writing);
    assert_eq!(c.records[1].member.as_deref(), Some("http://b"));
    assert_eq!(c.records[1].vhost, "front.test:80");
    assert_eq!(c.records[1].client, Some("192.0.2.7:4711".parse().unwrap()));
    guards.remove(0).finish(100, 7);
    guards.clear();
    let snapshot = b.snapshot();
    let c = &snapshot.children[0];
    assert_eq!((c.requests, c.records.len()), (0, 0));
    assert_eq!(snapshot.totals(), (1, 100, 7));
    b.release_slot(child.slot());
    assert_eq!(
        b.snapshot().totals(),
        (1, 100, 7),
        "traffic outlives the child"
    );
    let long = RequestInfo {
        method: "AVERYLONGMETHODNAMETHATNOBODYUSESATALL",
        target: &[b'x'; 9000],
        tail: true,
        client: "[2001:db8::1]:1".parse().unwrap(),
        ..info(b"")
    };
    let child = b.child(b.claim_slot(ChildNo(0), Generation(0)).unwrap());
    let _guard = child.begin_request(&long);
    let r = &b.snapshot().children[0].records[0];
    assert_eq!(r.request.len(), 95);
    assert_eq!(r.client, Some("[2001:db8::1]:1".parse().unwrap()));
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn state_follows_names_over_reloads() {
    let dir = test_dir("reload");
    let old = pair().with_worker("http://plain", WorkerParams::default());
    let b = board(&dir, &old, 1);
    let first = b.assign(&old, Generation(0)).unwrap();
    let slot = b.claim_slot(ChildNo(0), Generation(0)).unwrap();
    b.set_generation(Generation(0), 1);
    let a = first.worker(WorkerNo(0)).unwrap();
    let bb = first.worker(WorkerNo(1)).unwrap();
    b.add_elected(a);
    b.add_lbstatus(a, -100);
    b.add_lbstatus(bb, 100);
    b.set_error(bb, Mono(77));
    b.enter(slot, bb);
    b.add_sent(slot, bb, 9);
    // The members change places, one is new, one has another factor; the plain worker is gone.
    let heavy = WorkerParams {
        load_factor: 300,
        route: "r2".into(),
        ..WorkerParams::default()
    };
    let new = bare("/nowhere").with_balancer(
        "balancer://c",
        BalancerParams::default(),
        &[
            ("http://new", WorkerParams::default()),
            ("http://b", heavy),
            ("http://a", WorkerParams::default()),
        ],
    );
    let second = b.assign(&new, Generation(1)).unwrap();
    assert_eq!(second.worker(WorkerNo(2)), Some(a));
    assert_eq!(second.worker(WorkerNo(1)), Some(bb));
    assert_ne!(
        second.worker(WorkerNo(0)),
        first.worker(WorkerNo(2)),
        "the old generation still uses the plain worker's row"
    );
    assert_eq!(
        second.balancer(BalancerNo(0)),
        first.balancer(BalancerNo(0))
    );
    b.set_generation(Generation(1), 2);
    let snapshot = b.snapshot();
    assert!(snapshot.workers.is_empty());
    let m = &snapshot.balancers[0].members;
    let names: Vec<_> = m.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["http://new", "http://b", "http://a"]);
    assert_eq!(
        (m[1].load_factor, m[1].lbstatus, m[1].busy, m[1].sent),
        (300, 100, 1, 9)
    );
    assert_eq!(m[1].route, "r2");
    assert_ne!(m[1].status & status::ERROR, 0);
    assert_eq!(m[1].error_time, Mono(77));
    assert_eq!((m[2].lbstatus, m[2].elected), (-100, 1));
    // Once the old generation is gone its rows may be taken, with nothing left of what they were.
    b.release_slot(slot);
    let third = b.assign(&old, Generation(2)).unwrap();
    b.set_generation(Generation(2), 3);
    assert_eq!(third.worker(WorkerNo(1)), Some(bb));
    let m = &b.snapshot().balancers[0].members[1];
    assert_eq!((m.busy, m.sent, m.load_factor), (0, 9, 100));
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn what_was_changed_by_hand_stays_until_its_text_changes() {
    let dir = test_dir("hand");
    let settings = pair();
    let b = board(&dir, &settings, 1);
    let rows = b.assign(&settings, Generation(0)).unwrap();
    let row = rows.worker(WorkerNo(0)).unwrap();
    let slot = b.table.worker(usize::from(row.0)).unwrap();
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    slot.load_factor.store(500, relaxed);
    slot.status.fetch_or(status::DRAIN, relaxed);
    slot.seq.write(|| slot.route.set(b"hand"));
    b.assign(&settings, Generation(1)).unwrap();
    assert_eq!(b.member(row).load_factor, 500);
    assert_ne!(b.member(row).status & status::DRAIN, 0);
    assert_eq!(b.routes(row).route, "hand");
    let mut changed = pair();
    changed.workers[0].params.load_factor = 200;
    changed.workers[0].params.route = "text".into();
    changed.workers[0].params.status = status::STANDBY;
    b.assign(&changed, Generation(2)).unwrap();
    assert_eq!(b.member(row).load_factor, 200);
    assert_eq!(b.member(row).status, status::INIT | status::STANDBY);
    assert_eq!(b.routes(row).route, "text");
    let _ = std::fs::remove_dir_all(dir);
}

/// `pair` with other parameters for its first member.
fn first_member(change: impl FnOnce(&mut WorkerParams)) -> Settings {
    let mut settings = pair();
    change(&mut settings.workers[0].params);
    settings
}

/// That a check found a member ill is kept over a reload that gives it other flags, as long as
/// somebody checks it: by a method that was set by hand too.
#[test]
fn what_checks_found_out_outlives_other_flags() {
    let dir = test_dir("checks");
    let settings = pair();
    let b = board(&dir, &settings, 1);
    let rows = b.assign(&settings, Generation(0)).unwrap();
    let row = rows.worker(WorkerNo(0)).unwrap();
    let by_hand = HealthParams {
        method: HealthMethod::Tcp,
        ..HealthParams::default()
    };
    b.set_health(row, &by_hand);
    b.health_ended(row, Mono(1), false, (0, 0), HealthStep::Disable);
    let failed = || b.member(row).status & status::HEALTH_FAILED != 0;
    let flags = |status| first_member(|p| p.status = status);
    b.assign(&flags(status::STANDBY), Generation(1)).unwrap();
    assert!(failed(), "{}", status::text(b.member(row).status));
    // Nobody checks it any more, and the configuration says so in the same breath.
    b.set_health(row, &HealthParams::default());
    b.assign(&flags(status::SPARE), Generation(2)).unwrap();
    assert!(!failed());
    let _ = std::fs::remove_dir_all(dir);
}

/// Each failed check of a member that is up is an error with its time (spec: balancer 10). The next
/// connection forgets it, and the member, which was there all the time, does not start slowly.
#[test]
fn a_failed_check_has_its_time() {
    let dir = test_dir("check-time");
    let settings = pair();
    let b = board(&dir, &settings, 1);
    let rows = b.assign(&settings, Generation(0)).unwrap();
    let row = rows.worker(WorkerNo(0)).unwrap();
    b.health_ended(row, Mono(7), false, (0, 1), HealthStep::Stay);
    assert_eq!(b.member(row).error_time, Mono(7));
    assert!(b.connected(row));
    let m = b.member(row);
    assert_eq!((m.error_time, m.recovered), (Mono(0), Mono(0)));
    // While it is down nothing changes any more.
    b.health_ended(row, Mono(8), false, (0, 2), HealthStep::Disable);
    b.health_ended(row, Mono(9), false, (0, 3), HealthStep::Stay);
    assert_eq!(b.member(row).error_time, Mono(8));
    let _ = std::fs::remove_dir_all(dir);
}

/// BalancerPersist: a member that checks found ill is not ill for ever when the configuration has no
/// checks any more. What stands in the configuration, or was set by hand, stays.
#[test]
fn a_saved_failed_check_goes_with_the_checks() {
    let dir = test_dir("saved-checks");
    let path = dir.join("state");
    let persistent = |mut s: Settings| {
        s.servers[0].proxy.persist = true;
        s
    };
    let checked = |status| {
        persistent(first_member(|p| {
            p.health.method = HealthMethod::Get;
            p.status = status;
        }))
    };
    let run = |old: &Settings, new: &Settings, ill: u32| {
        let b = board(&dir, old, 1);
        let rows = b.assign(old, Generation(0)).unwrap();
        b.change_status_for_tests(rows.worker(WorkerNo(0)).unwrap(), ill);
        b.save(old, &rows, &path).unwrap();
        b.remove();
        let b = board(&dir, new, 1);
        let rows = b.assign(new, Generation(0)).unwrap();
        b.restore(new, &rows, &path);
        b.remove();
        b.member(rows.worker(WorkerNo(0)).unwrap()).status & status::HEALTH_FAILED != 0
    };
    let (with, without) = (checked(0), persistent(pair()));
    assert!(run(&with, &with, status::HEALTH_FAILED));
    assert!(!run(&with, &without, status::HEALTH_FAILED));
    assert!(run(&without, &without, status::HEALTH_FAILED), "by hand");
    let marked = persistent(first_member(|p| p.status = status::HEALTH_FAILED));
    assert!(run(&checked(status::HEALTH_FAILED), &marked, 0));
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn a_table_that_is_too_small_grows() {
    let dir = test_dir("grow");
    let settings = pair();
    let b = board(&dir, &settings, 1);
    let rows = b.assign(&settings, Generation(0)).unwrap();
    let slot = b.claim_slot(ChildNo(0), Generation(0)).unwrap();
    let row = rows.worker(WorkerNo(1)).unwrap();
    b.add_lbstatus(row, 42);
    b.add_sent(slot, row, 5);
    b.child(slot).begin_request(&info(b"/")).finish(10, 20);
    let names: Vec<String> = (0..200).map(|i| format!("http://m{i}")).collect();
    let mut members: Vec<_> = names
        .iter()
        .map(|n| (n.as_str(), WorkerParams::default()))
        .collect();
    members.push(("http://b", WorkerParams::default()));
    let large = bare("/nowhere").with_balancer("balancer://c", BalancerParams::default(), &members);
    assert!(matches!(
        b.assign(&large, Generation(1)),
        Err(ShmError::Full { .. })
    ));
    let path = dir.join("board");
    let g = b.grown(&path, &large, 8, Generation(1)).unwrap();
    let rows = g.assign(&large, Generation(1)).unwrap();
    g.set_generation(Generation(1), 2);
    assert_eq!(g.free_slots(), 32);
    let moved = g.member(rows.worker(WorkerNo(200)).unwrap());
    assert_eq!(moved.lbstatus, 42);
    let snapshot = g.snapshot();
    assert_eq!(snapshot.totals(), (1, 10, 20));
    assert_eq!(snapshot.balancers[0].members.len(), 201);
    assert_eq!(snapshot.balancers[0].members[200].sent, 5);
    // The old one no longer owns the file.
    b.remove();
    assert!(path.exists());
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn names_are_never_cut() {
    let dir = test_dir("names");
    let settings = pair();
    let b = board(&dir, &settings, 1);
    let long = "x".repeat(400);
    let too_long = |change: &dyn Fn(&mut Settings)| {
        let mut s = pair();
        change(&mut s);
        matches!(
            b.assign(&s, Generation(0)),
            Err(ShmError::NameTooLong { .. })
        )
    };
    assert!(too_long(&|s| s.workers[0].name = long.clone()));
    assert!(too_long(&|s| s.workers[0].params.route = "x".repeat(64)));
    assert!(!too_long(&|s| s.workers[0].params.route = "x".repeat(63)));
    assert!(too_long(&|s| s.balancers[0].name = "x".repeat(96)));
    assert!(too_long(
        &|s| s.balancers[0].params.sticky = Some(("x".repeat(64), "y".into()))
    ));
    // Servers of any length are told apart.
    let mut s = pair();
    let mut second = bare("/nowhere").servers.remove(0);
    second.no = crate::ids::ServerNo(1);
    second.name = "y".repeat(300);
    s.servers.push(second);
    s.balancers[0].server = crate::ids::ServerNo(1);
    for w in &mut s.workers {
        w.server = crate::ids::ServerNo(1);
    }
    let other = b.assign(&s, Generation(0)).unwrap();
    let main = b.assign(&settings, Generation(0)).unwrap();
    assert_ne!(other.balancer(BalancerNo(0)), main.balancer(BalancerNo(0)));
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn a_sum_is_levelled_when_someone_takes_a_turn() {
    let dir = test_dir("level");
    let settings = pair();
    let b = board(&dir, &settings, 1);
    let rows = b.assign(&settings, Generation(0)).unwrap();
    let members = [0, 1].map(|i| rows.worker(WorkerNo(i)).unwrap());
    let row = rows.balancer(BalancerNo(0)).unwrap();
    let asker = Asker {
        pid: 1,
        generation: Generation(0),
    };
    let turn = || {
        b.turn(row, &members, Duration::from_millis(50), asker)
            .unwrap()
    };
    drop(turn());
    b.add_lbstatus(members[0], 100);
    b.add_lbstatus(members[1], 300);
    drop(turn());
    assert_eq!(b.member(members[1]).lbstatus, 300, "nothing to repair");
    std::thread::scope(|s| {
        let lock = &b.table.balancer(usize::from(row.0)).unwrap().lock;
        s.spawn(|| std::mem::forget(lock.try_lock()))
            .join()
            .unwrap();
    });
    let held = turn();
    assert_eq!(held.notice, Some(Notice::Repaired { owner: 0 }));
    assert_eq!(
        members.map(|m| b.member(m).lbstatus),
        [100, -100],
        "as if the one next in turn had been chosen"
    );
    assert_eq!(b.snapshot().balancers[0].lock_owner, Some(1));
    drop(held);
    let info = &b.snapshot().balancers[0];
    assert_eq!((info.lock_owner, info.lock_repairs), (None, 1));
    // An older generation leaves the repair to those who know the present members.
    b.assign(&settings, Generation(1)).unwrap();
    b.set_generation(Generation(1), 2);
    b.add_lbstatus(members[0], 7);
    drop(turn());
    assert_eq!(b.member(members[0]).lbstatus, 107);
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn an_instance_keeps_its_table_to_itself() {
    let dir = test_dir("lock");
    let path = dir.join("board");
    let lock = TableLock::take(&path).unwrap();
    // The lock is a process's: another process is refused and told whose it is.
    let status = std::process::Command::new("python3")
        .arg("-c")
        .arg(
            "import fcntl,sys\nf=open(sys.argv[1],'r+')\ntry: fcntl.lockf(f,fcntl.LOCK_EX|fcntl.LOCK_NB)\nexcept OSError: sys.exit(7)",
        )
        .arg(dir.join("board.lock"))
        .status();
    if let Ok(status) = status {
        assert_eq!(status.code(), Some(7));
    }
    lock.remove();
    assert!(!dir.join("board.lock").exists());
    let _ = std::fs::remove_dir_all(dir);
}
