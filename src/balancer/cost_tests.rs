//! Choices among few and many members, by each method: whoever is chosen is one of them, and nothing
//! stays busy. What a choice costs is printed; for figures worth reading:
//! `MUSTER_TEST_CHOICES=400000 cargo test --release --lib what_a_choice_costs -- --nocapture`.

use std::rc::Rc;
use std::time::Instant;

use super::{Asked, Balancing, hash, method};
use crate::clock;
use crate::config::bare::bare;
use crate::config::settings::{BalancerParams, WorkerParams};
use crate::ids::{BalancerNo, ChildNo, Generation};
use crate::shm::{Scoreboard, test_dir};

/// Nanoseconds for a choice and its end, with all members usable; the best of five runs.
fn nanos(lbmethod: &str, members: usize) -> u128 {
    let dir = test_dir("cost");
    let names: Vec<String> = (0..members).map(|i| format!("http://m{i}")).collect();
    let list: Vec<_> = names
        .iter()
        .map(|n| (n.as_str(), WorkerParams::default()))
        .collect();
    let params = BalancerParams {
        lbmethod: lbmethod.into(),
        ..BalancerParams::default()
    };
    let settings = bare(&dir).with_balancer("balancer://c", params, &list);
    let board = Scoreboard::create(&dir.join("board"), &settings, 2, Generation(0)).unwrap();
    let rows = board.assign(&settings, Generation(0)).unwrap();
    for row in rows_of(&rows, members) {
        clock::tick();
        // All tell that they are idle.
        board.set_heartbeat(row, 0, 10, clock::now());
    }
    let slot = board.claim_slot(ChildNo(0), Generation(0)).unwrap();
    let other = board.claim_slot(ChildNo(1), Generation(0)).unwrap();
    let balancing = Balancing::new(Rc::new(settings), board.clone(), Rc::new(rows), slot);
    let all = std::env::var("MUSTER_TEST_CHOICES");
    let all: usize = all.map_or(4_000, |text| text.parse().unwrap());
    let turns = all / (members + 10) + 1;
    let run = |_| {
        let began = Instant::now();
        for key in 0..turns as u64 {
            let asked = Asked {
                key: Some(hash::mix(key)),
                ..Asked::default()
            };
            let choice = balancing.choose_for(BalancerNo(0), &asked).ok().unwrap();
            assert!(choice.worker.index() < members);
        }
        began.elapsed().as_nanos() / turns as u128
    };
    let best = (0..5).map(run).min().unwrap();
    let table = board.snapshot();
    let chosen = &table.balancers[0].members;
    assert!(chosen.iter().all(|m| m.busy == 0));
    let elected: u64 = chosen.iter().map(|m| m.elected).sum();
    assert_eq!(elected, 5 * turns as u64, "{lbmethod}");
    board.release_slot(other);
    board.remove();
    let _ = std::fs::remove_dir_all(dir);
    best
}

fn rows_of(rows: &crate::shm::Assignment, n: usize) -> impl Iterator<Item = crate::shm::WorkerRow> {
    (0..n).filter_map(|i| rows.worker(crate::ids::WorkerNo(i as u16)))
}

#[test]
fn what_a_choice_costs() {
    for name in method::names() {
        let row = [2, 16, 128, 512].map(|n| nanos(name, n).to_string());
        println!("{name:12} {}", row.join("/"));
    }
}
