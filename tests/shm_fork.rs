//! The slot table and the balancer among real processes: forks that choose at the same time, owners
//! of the lock that are killed or stopped inside it. Its own `main`, since a fork needs a process
//! with one thread.

use std::path::PathBuf;
use std::process::exit;
use std::rc::Rc;
use std::time::{Duration, Instant};

use muster::balancer::Balancing;
use muster::clock;
use muster::config::bare::bare;
use muster::config::settings::{BalancerParams, Settings, WorkerParams};
use muster::ids::{BalancerNo, ChildNo, Generation, SlotNo, WorkerNo};
use muster::shm::{Assignment, Scoreboard, WorkerInfo};
use muster::sys::fork::{Forked, fork};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

const C: BalancerNo = BalancerNo(0);

fn main() {
    let tests: &[(&str, fn())] = &[
        ("shares_are_exact_under_many_children", shares_are_exact),
        ("sticky_and_plain_requests_mix", sticky_mix),
        ("a_killed_owner_of_the_lock", killed_owner),
        ("a_stopped_owner_of_the_lock", stopped_owner),
        ("a_killed_child_is_not_busy", killed_while_busy),
        ("one_probe_among_all_children", one_probe),
        ("a_reload_while_children_choose", reload),
        ("a_table_that_is_cut", cut),
    ];
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    for (name, test) in tests {
        if wanted.as_ref().is_none_or(|w| name.contains(w.as_str())) {
            test();
            println!("test {name} ... ok");
        }
    }
}

struct Site {
    dir: PathBuf,
    settings: Rc<Settings>,
    board: Rc<Scoreboard>,
    rows: Rc<Assignment>,
}

fn site(factors: &[u32], retry: Duration, children: u16) -> Site {
    let dir = std::env::temp_dir().join(format!("muster-fork-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let names: Vec<String> = (0..factors.len()).map(|i| format!("http://m{i}")).collect();
    let members: Vec<_> = names
        .iter()
        .zip(factors)
        .map(|(name, &load_factor)| {
            let params = WorkerParams {
                load_factor,
                retry,
                route: name[7..].into(),
                ..WorkerParams::default()
            };
            (name.as_str(), params)
        })
        .collect();
    let settings = bare(&dir).with_balancer("balancer://c", BalancerParams::default(), &members);
    let path = dir.join("board");
    let board = Scoreboard::create(&path, &settings, children, Generation(0)).unwrap();
    let rows = board.assign(&settings, Generation(0)).unwrap();
    Site {
        dir,
        settings: Rc::new(settings),
        board,
        rows: Rc::new(rows),
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Site {
    /// Forks a child that runs `work` and exits.
    fn child(&self, no: u16, work: impl FnOnce(&Balancing)) -> (SlotNo, Pid) {
        let slot = self
            .board
            .claim_slot(ChildNo(no), self.rows.generation())
            .unwrap();
        match fork().unwrap() {
            Forked::Parent(pid) => {
                self.board.set_pid(slot, pid);
                (slot, Pid::from_raw(pid))
            }
            Forked::Child => {
                clock::tick();
                let balancing = Balancing::new(
                    self.settings.clone(),
                    self.board.clone(),
                    self.rows.clone(),
                    slot,
                );
                work(&balancing);
                exit(0);
            }
        }
    }

    /// What the supervisor does when a child is gone.
    fn reap(&self, (slot, pid): (SlotNo, Pid)) -> WaitStatus {
        let status = waitpid(pid, None).unwrap();
        self.board.release_slot(slot);
        status
    }

    fn reap_well(&self, child: (SlotNo, Pid)) {
        assert_eq!(self.reap(child), WaitStatus::Exited(child.1, 0));
    }

    fn members(&self) -> Vec<WorkerInfo> {
        self.board.snapshot().balancers[0].members.clone()
    }

    fn sum(&self) -> i64 {
        self.members().iter().map(|m| m.lbstatus).sum()
    }

    fn elected(&self) -> Vec<u64> {
        self.members().iter().map(|m| m.elected).collect()
    }

    fn idle(&self) -> bool {
        self.members().iter().all(|m| m.busy == 0)
    }
}

fn choose(balancing: &Balancing, n: usize) {
    for _ in 0..n {
        match balancing.choose(C, None, &[]) {
            Ok(choice) => drop(choice),
            Err(_) => exit(3),
        }
    }
}

/// Waits until the child has stopped itself.
fn until_stopped(pid: Pid) {
    let status = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert!(matches!(status, WaitStatus::Stopped(..)), "{status:?}");
}

fn shares_are_exact() {
    for factors in [&[100, 100, 100][..], &[100, 400, 100], &[7000, 3000]] {
        let site = site(factors, Duration::from_secs(60), 4);
        let total: u32 = factors.iter().sum();
        let rounds = 30_000 / (total / 100) as usize;
        let each = rounds * (total / 100) as usize / 3;
        let children: Vec<_> = (0..3)
            .map(|no| site.child(no, |b| choose(b, each)))
            .collect();
        for child in children {
            site.reap_well(child);
        }
        let info = &site.board.snapshot().balancers[0];
        assert_eq!(info.lock_repairs, 0);
        if info.unlocked == 0 {
            let want: Vec<u64> = factors
                .iter()
                .map(|f| u64::from(f / 100) * (each * 3) as u64 / u64::from(total / 100))
                .collect();
            assert_eq!(site.elected(), want, "{factors:?}");
            assert!(site.members().iter().all(|m| m.lbstatus == 0));
        }
        assert_eq!(site.elected().iter().sum::<u64>(), (each * 3) as u64);
        assert_eq!(site.sum(), 0);
        assert!(site.idle());
    }
}

fn sticky_mix() {
    let site = site(&[100, 100, 200], Duration::from_secs(60), 4);
    let children: Vec<_> = (0..4)
        .map(|no| {
            site.child(no, move |b| {
                for i in 0..4_000 {
                    // Every fourth request belongs to the heavy member already.
                    let route = (i % 4 == 0).then_some(&b"m2"[..]);
                    let choice = b.choose(C, route, &[]).ok();
                    if choice.is_none() {
                        exit(3);
                    }
                }
            })
        })
        .collect();
    for child in children {
        site.reap_well(child);
    }
    assert_eq!(site.elected(), [4_000, 4_000, 8_000]);
    assert_eq!(site.sum(), 0);
    assert!(site.idle());
}

fn killed_owner() {
    let site = site(&[100, 100, 100], Duration::from_secs(60), 4);
    const KILLS: u64 = 10;
    for _ in 0..KILLS {
        let owner = site.child(0, |b| {
            b.stop_in_lock_every(50);
            choose(b, 1000);
        });
        until_stopped(owner.1);
        // Others wait for the lock, then choose without it; the owner dies meanwhile.
        let others: Vec<_> = (1..3)
            .map(|no| site.child(no, |b| choose(b, 600)))
            .collect();
        kill(owner.1, Signal::SIGKILL).unwrap();
        assert!(matches!(site.reap(owner), WaitStatus::Signaled(..)));
        for child in others {
            site.reap_well(child);
        }
    }
    assert_eq!(site.sum(), 0);
    assert!(site.idle());
    let info = &site.board.snapshot().balancers[0];
    assert_eq!(info.lock_repairs, KILLS);
    // Each kill may have cost one choice that was paid for and not counted.
    let elected = site.elected();
    let (least, most) = (elected.iter().min().unwrap(), elected.iter().max().unwrap());
    assert!(most - least <= KILLS + 1, "{elected:?}");
    // The watchdog's tick repairs too, where nobody chooses.
    let owner = site.child(0, |b| {
        b.stop_in_lock_every(1);
        choose(b, 1);
    });
    until_stopped(owner.1);
    kill(owner.1, Signal::SIGKILL).unwrap();
    site.reap(owner);
    assert_ne!(site.sum(), 0);
    site.reap_well(site.child(0, |b| b.tidy()));
    assert_eq!(site.sum(), 0);
}

fn stopped_owner() {
    let site = site(&[100, 100], Duration::from_secs(60), 4);
    let owner = site.child(0, |b| {
        b.stop_in_lock_every(3);
        choose(b, 3);
        b.stop_in_lock_every(0);
        choose(b, 100);
    });
    until_stopped(owner.1);
    let other = site.child(1, |b| {
        let start = Instant::now();
        choose(b, 1);
        if start.elapsed() < Duration::from_millis(50) {
            exit(4);
        }
        // Only the first waits: 1999 further ones would take 100 s otherwise.
        choose(b, 1999);
        if start.elapsed() > Duration::from_secs(20) {
            exit(5);
        }
    });
    site.reap_well(other);
    let info = &site.board.snapshot().balancers[0];
    assert_eq!(info.unlocked, 2000);
    assert_eq!(info.lock_owner, Some(owner.1.as_raw()));
    kill(owner.1, Signal::SIGCONT).unwrap();
    site.reap_well(owner);
    assert_eq!(site.sum(), 0);
    assert!(site.idle());
    let elected = site.elected();
    assert_eq!(elected.iter().sum::<u64>(), 2103);
    assert!(elected[0].abs_diff(elected[1]) <= 2, "{elected:?}");
}

fn killed_while_busy() {
    let site = site(&[100, 100], Duration::from_secs(60), 4);
    let child = site.child(0, |b| {
        let _held: Vec<_> = (0..7).map(|_| b.choose(C, None, &[]).ok()).collect();
        b.add_sent(WorkerNo(0), 11);
        let _ = kill(Pid::this(), Signal::SIGSTOP);
    });
    until_stopped(child.1);
    let busy: Vec<u64> = site.members().iter().map(|m| m.busy).collect();
    assert_eq!(busy, [4, 3]);
    kill(child.1, Signal::SIGKILL).unwrap();
    site.reap(child);
    assert!(site.idle());
    assert_eq!(site.members()[0].sent, 11, "bytes outlive the child");
}

fn one_probe() {
    let site = site(&[100, 100], Duration::ZERO, 8);
    let marker = site.child(0, |b| {
        b.mark_error(WorkerNo(0));
    });
    site.reap_well(marker);
    // Each child chooses until it has member 0 as a probe or has seen enough; it then holds on.
    let children: Vec<_> = (0..6)
        .map(|no| {
            site.child(no, |b| {
                let mut held = None;
                for _ in 0..2_000 {
                    clock::tick();
                    match b.choose(C, None, &[]) {
                        Ok(c) if c.probe => {
                            held = Some(c);
                            break;
                        }
                        Ok(c) if c.worker == WorkerNo(0) => exit(6),
                        _ => {}
                    }
                }
                let _ = kill(Pid::this(), Signal::SIGSTOP);
                drop(held);
            })
        })
        .collect();
    for child in &children {
        until_stopped(child.1);
    }
    assert_eq!(site.elected()[0], 1, "one probe for all of them");
    assert_eq!(site.members()[0].busy, 1);
    for child in children {
        kill(child.1, Signal::SIGKILL).unwrap();
        site.reap(child);
    }
    assert!(site.idle());
    assert_eq!(site.sum(), 0);
}

fn reload() {
    let site = site(&[100, 100, 100], Duration::from_secs(60), 4);
    let old: Vec<_> = (0..2)
        .map(|no| site.child(no, |b| choose(b, 3_000)))
        .collect();
    // A member goes, another comes; both generations choose on the same table.
    let settings = bare(&site.dir).with_balancer(
        "balancer://c",
        BalancerParams::default(),
        &[
            ("http://m0", WorkerParams::default()),
            ("http://m2", WorkerParams::default()),
            ("http://new", WorkerParams::default()),
        ],
    );
    let rows = site.board.assign(&settings, Generation(1)).unwrap();
    site.board.set_generation(Generation(1), 2);
    let next = Site {
        dir: site.dir.clone(),
        settings: Rc::new(settings),
        board: site.board.clone(),
        rows: Rc::new(rows),
    };
    let new: Vec<_> = (0..2)
        .map(|no| next.child(no, |b| choose(b, 3_000)))
        .collect();
    for child in old {
        site.reap_well(child);
    }
    for child in new {
        next.reap_well(child);
    }
    // The last old child left a wish to level; any turn of the new ones grants it.
    next.reap_well(next.child(0, |b| choose(b, 1)));
    assert_eq!(next.sum(), 0);
    assert!(next.idle());
    let names: Vec<_> = next.members().iter().map(|m| m.name.clone()).collect();
    assert_eq!(names, ["http://m0", "http://m2", "http://new"]);
}

fn cut() {
    let site = site(&[100, 100], Duration::from_secs(60), 4);
    site.board.survive_bus_errors().unwrap();
    let child = site.child(0, |b| {
        let _ = kill(Pid::this(), Signal::SIGSTOP);
        choose(b, 10);
    });
    until_stopped(child.1);
    let path = site.dir.join("board");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    assert!(!site.board.damaged());
    assert_eq!(site.board.slots().count(), 0, "nothing is left");
    assert!(site.board.damaged());
    kill(child.1, Signal::SIGCONT).unwrap();
    assert!(matches!(
        site.reap(child),
        WaitStatus::Signaled(_, Signal::SIGBUS, _)
    ));
    let fresh = Scoreboard::create(&path, &site.settings, 4, Generation(1)).unwrap();
    assert!(!fresh.damaged());
    assert_eq!(fresh.free_slots(), 16);
}
