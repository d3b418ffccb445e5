//! Leases on a real table, with the time made by hand.

use std::path::PathBuf;

use super::*;
use crate::codec::beacon::Algorithm;
use crate::config::bare::bare;
use crate::config::beacon::{BeaconBalancer, HostPort, Receiver};
use crate::config::settings::{BalancerParams, Settings, WorkerParams};
use crate::ids::{BalancerNo, Generation, ServerNo};
use crate::shm::test_dir;

const C: BalancerNo = BalancerNo(0);

struct Site {
    dir: PathBuf,
    settings: Settings,
    board: Rc<Scoreboard>,
    members: Membership,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn at(seconds: f64) -> Mono {
    Mono(1_000_000_000_000 + (seconds * 1e9) as u64)
}

fn site(growth: u16, timeout: u64) -> Site {
    site_of(growth, timeout, 1)
}

/// With so many receivers of the one balancer.
fn site_of(growth: u16, timeout: u64, receivers: u16) -> Site {
    let dir = test_dir("lease");
    let params = BalancerParams {
        growth,
        ..BalancerParams::default()
    };
    let own = [
        ("http://own", WorkerParams::default()),
        ("http://slash/", WorkerParams::default()),
    ];
    let mut settings = bare(&dir).with_balancer("balancer://c", params, &own);
    let receiver = |no: u16| Receiver {
        server: ServerNo(no),
        place: HostPort {
            host: "127.0.0.1".into(),
            port: 5555 + no,
        },
        balancer: Some(BeaconBalancer {
            name: "balancer://c".into(),
            no: Some(C),
        }),
        timeout: Duration::from_secs(timeout),
        max_skew: Duration::from_secs(30),
        keys: Vec::new(),
        policy: Default::default(),
        allow: Vec::new(),
        span: Default::default(),
    };
    settings.receivers = (0..receivers).map(receiver).collect();
    let board = Scoreboard::create(&dir.join("board"), &settings, 1, Generation(0)).unwrap();
    board.assign(&settings, Generation(0)).unwrap();
    let mut members = membership(&settings, &board, Generation(0));
    members.take_over(at(0.0), Duration::ZERO);
    Site {
        dir,
        settings,
        board,
        members,
    }
}

fn membership(settings: &Settings, board: &Rc<Scoreboard>, generation: Generation) -> Membership {
    membership_of(0, settings, board, generation)
}

fn membership_of(
    no: usize,
    settings: &Settings,
    board: &Rc<Scoreboard>,
    generation: Generation,
) -> Membership {
    let rows = board.assign(settings, generation).unwrap();
    board.set_generation(generation, 1);
    let r = &settings.receivers[no];
    let own = settings.balancers[0].members.iter();
    let joined = Joined {
        row: rows.balancer(C).unwrap(),
        configured: own.map(|&m| rows.worker(m).unwrap()).collect(),
        grown: rows.grown(C).to_vec(),
    };
    Membership::new(
        board.clone(),
        rows.receiver(no).unwrap(),
        "balancer://c".into(),
        Some(joined),
        (0..settings.receivers.len())
            .filter(|i| *i != no)
            .map(|i| rows.receiver(i).unwrap())
            .collect(),
        r.timeout,
        r.max_skew,
    )
}

fn message(ts: i64) -> Announcement<'static> {
    Announcement {
        text: b"",
        origin: None,
        ts,
        route: None,
        load_factor: None,
        leaving: false,
        key: 0,
        algorithm: Algorithm::HmacSha256,
    }
}

impl Site {
    fn hear(&mut self, url: &str, ts: i64, seconds: f64) -> Result<(), Refusal> {
        self.say(url, &message(ts), seconds)
    }

    fn say(&mut self, url: &str, a: &Announcement<'_>, seconds: f64) -> Result<(), Refusal> {
        let origin = Origin::parse(url.as_bytes()).unwrap();
        self.members.accept(&origin, a, at(seconds))
    }

    /// `name status`, without the configured members.
    fn list(&self) -> Vec<String> {
        let members = self.board.snapshot().balancers.remove(0).members;
        let text = |m: &crate::shm::WorkerInfo| {
            format!("{} {}", m.name, status::text(m.status).trim_end())
        };
        members.iter().skip(2).map(text).collect()
    }

    /// Another process becomes the holder.
    fn hand_over(&mut self, seconds: f64) {
        self.members = membership(&self.settings, &self.board, Generation(1));
        self.members.take_over(at(seconds), Duration::ZERO);
    }

    fn row(&self, name: &str) -> WorkerRow {
        let b = self.board.snapshot().balancers.remove(0);
        WorkerRow(b.members.iter().find(|m| m.name == name).unwrap().row)
    }
}

#[test]
fn one_joins_falls_silent_and_returns() {
    let mut s = site(4, 10);
    assert_eq!(s.hear("HTTP://B:80/", 5, 0.0), Ok(()));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    s.members.sweep(at(10.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"], "exactly the timeout");
    s.members.sweep(at(11.1), Mono(0));
    assert_eq!(s.list(), ["http://b Init Dis Bcn"]);
    assert_eq!(s.hear("http://b", 6, 12.0), Ok(()));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    assert_eq!(s.hear("http://b", 6, 12.1), Err(Refusal::Replayed));
    assert_eq!(s.hear("http://b", 4, 12.2), Err(Refusal::Replayed));
    // A replay is no sign of life.
    s.members.sweep(at(23.2), Mono(0));
    assert_eq!(s.list(), ["http://b Init Dis Bcn"]);
}

#[test]
fn a_full_balancer_is_tried_once_a_minute() {
    let mut s = site(1, 0);
    assert_eq!(s.hear("http://b", 1, 0.0), Ok(()));
    assert_eq!(s.hear("http://c", 1, 0.0), Err(Refusal::AddFailed));
    for i in 1..60 {
        assert_eq!(s.hear("http://c", 1 + i, i as f64), Ok(()));
    }
    assert_eq!(s.hear("http://c", 100, 60.0), Err(Refusal::AddFailed));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
}

#[test]
fn members_of_others_are_left_alone() {
    let mut s = site(2, 1);
    assert_eq!(s.hear("http://own", 1, 0.0), Err(Refusal::NotManaged));
    assert_eq!(s.hear("http://own", 2, 1.0), Ok(()), "not tried again yet");
    // One spelling of a URL or another: it is the same backend.
    assert_eq!(s.hear("http://slash", 1, 0.0), Err(Refusal::NotManaged));
    assert!(s.list().is_empty());
    s.members.sweep(at(100.0), Mono(0));
    let own = &s.board.snapshot().balancers[0].members[0];
    assert_eq!(status::text(own.status), "Init Ok ");
}

#[test]
fn what_an_administrator_sets_stays() {
    let mut s = site(2, 1);
    s.hear("http://b", 1, 0.0).unwrap();
    s.board
        .change_status_for_tests(s.row("http://b"), status::STOPPED | status::DRAIN);
    s.members.sweep(at(3.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Drn Dis Stop Bcn"]);
    s.hear("http://b", 2, 4.0).unwrap();
    assert_eq!(s.list(), ["http://b Init Drn Stop Bcn"]);
    // Disabled: until an eviction is followed by another announcement.
    s.hear("http://c", 1, 4.0).unwrap();
    let c = s.row("http://c");
    s.board.change_status_for_tests(c, status::DISABLED);
    s.hear("http://c", 2, 4.5).unwrap();
    assert_eq!(s.list()[1], "http://c Init Dis Bcn");
    s.members.sweep(at(7.0), Mono(0));
    s.hear("http://c", 3, 8.0).unwrap();
    assert_eq!(s.list()[1], "http://c Init Bcn Ok");
}

#[test]
fn it_leaves_by_its_own_word() {
    let mut s = site(2, 100);
    s.hear("http://b", 1, 0.0).unwrap();
    let leaving = Announcement {
        leaving: true,
        ..message(2)
    };
    s.say("http://b", &leaving, 1.0).unwrap();
    assert_eq!(s.list(), ["http://b Init Dis Bcn"]);
    assert_eq!(s.hear("http://b", 2, 1.1), Err(Refusal::Replayed));
    s.hear("http://b", 3, 1.2).unwrap();
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    // One that nobody knows gets no member, but a mark.
    let unknown = Announcement {
        leaving: true,
        ..message(9)
    };
    s.say("http://c", &unknown, 2.0).unwrap();
    assert_eq!(s.list().len(), 1);
    assert_eq!(s.hear("http://c", 9, 2.1), Err(Refusal::Replayed));
    s.hear("http://c", 10, 2.2).unwrap();
    assert_eq!(s.list().len(), 2);
}

#[test]
fn route_and_load_factor_follow_the_announcement_only_when_it_changes() {
    let mut s = site(2, 0);
    let a = |ts, route, load_factor| Announcement {
        route,
        load_factor,
        ..message(ts)
    };
    s.say("http://b", &a(1, Some("r1"), Some(250)), 0.0)
        .unwrap();
    let member = |s: &Site| {
        let m = s.board.snapshot().balancers.remove(0).members.remove(2);
        (m.route, m.load_factor)
    };
    assert_eq!(member(&s), ("r1".into(), 250));
    let row = s.row("http://b");
    s.board.set_member(row, Some("by-hand"), Some(400));
    s.say("http://b", &a(2, Some("r1"), Some(250)), 1.0)
        .unwrap();
    assert_eq!(member(&s), ("by-hand".into(), 400));
    s.say("http://b", &a(3, Some("r2"), None), 2.0).unwrap();
    assert_eq!(member(&s), ("r2".into(), 100));
}

#[test]
fn a_new_holder_goes_on_where_the_old_one_was() {
    let mut s = site(4, 30);
    s.hear("http://b", 7, 0.0).unwrap();
    s.hear("http://c", 7, 20.0).unwrap();
    s.hand_over(25.0);
    assert_eq!(s.hear("http://b", 7, 25.5), Err(Refusal::Replayed));
    s.members.sweep(at(31.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Dis Bcn", "http://c Init Bcn Ok"]);
    s.hand_over(32.0);
    s.hear("http://b", 8, 33.0).unwrap();
    assert_eq!(s.list(), ["http://b Init Bcn Ok", "http://c Init Bcn Ok"]);
}

#[test]
fn members_without_a_record_get_a_fresh_lease() {
    let mut s = site(4, 30);
    s.hear("http://b", 7, 0.0).unwrap();
    let rows = s.board.assign(&s.settings, Generation(0)).unwrap();
    s.board.free_lease(rows.receiver(0).unwrap(), 0);
    s.hand_over(20.0);
    assert_eq!(s.members.len(), 1);
    s.members.sweep(at(49.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    s.members.sweep(at(51.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Dis Bcn"]);
}

#[test]
fn steps_that_were_cut_are_put_right() {
    let mut s = site(4, 30);
    for (i, url) in ["http://b", "http://c", "http://d"].iter().enumerate() {
        s.hear(url, 1 + i as i64, 0.0).unwrap();
    }
    let rows = s.board.assign(&s.settings, Generation(0)).unwrap();
    let (receiver, balancer) = (rows.receiver(0).unwrap(), rows.balancer(C).unwrap());
    let leases = s.board.take_leases(receiver);
    // b: evicted in the record, not yet in the member.
    let mut state = leases[0].state;
    state.evicted = true;
    s.board.note_lease(receiver, leases[0].index, &state);
    // c: added, the record does not know it yet, and still disabled.
    s.board
        .note_lease(receiver, leases[1].index, &LeaseState::default());
    s.board.set_disabled(balancer, s.row("http://c"), true);
    // d: its record was being made.
    s.board.tear_lease_for_tests(receiver, leases[2].index);
    s.hand_over(1.0);
    s.hear("http://c", 10, 2.0).unwrap();
    assert_eq!(
        s.list(),
        [
            "http://b Init Bcn Ok",
            "http://c Init Bcn Ok",
            "http://d Init Bcn Ok"
        ]
    );
    s.members.sweep(at(31.0), Mono(0));
    let want = [
        "http://b Init Dis Bcn",
        "http://c Init Bcn Ok",
        "http://d Init Bcn Ok",
    ];
    assert_eq!(s.list(), want);
}

#[test]
fn records_are_given_back_and_never_live_ones() {
    let mut s = site(4, 10);
    for i in 0..LEASES {
        let verdict = s.hear(&format!("http://h{i}"), 1, 0.0);
        let want = if i < 4 {
            Ok(())
        } else {
            Err(Refusal::AddFailed)
        };
        assert_eq!(verdict, want);
    }
    assert_eq!(s.hear("http://more", 1, 1.0), Err(Refusal::TableFull));
    for i in 0..4 {
        s.hear(&format!("http://h{i}"), 2, 59.0).unwrap();
    }
    // Those that never got in are forgotten once their last message would be stale.
    assert_eq!(s.hear("http://more", 1, 61.0), Err(Refusal::AddFailed));
    assert_eq!(s.members.len(), 5);
    // The evicted ones too; their members stay and are adopted again.
    s.members.sweep(at(80.0), Mono(0));
    s.members.sweep(at(125.0), Mono(0));
    assert_eq!(s.members.len(), 0);
    s.hear("http://h2", 3, 126.0).unwrap();
    assert_eq!(s.list()[2], "http://h2 Init Bcn Ok");
    assert_eq!(s.list()[1], "http://h1 Init Dis Bcn");
}

/// Both receivers of the balancer, and a way to say something to either.
fn two(timeout: u64) -> (Site, Membership) {
    let s = site_of(4, timeout, 2);
    let mut other = membership_of(1, &s.settings, &s.board, Generation(0));
    other.take_over(at(0.0), Duration::ZERO);
    (s, other)
}

fn hear(m: &mut Membership, url: &str, a: &Announcement<'_>, seconds: f64) -> Result<(), Refusal> {
    m.accept(&Origin::parse(url.as_bytes()).unwrap(), a, at(seconds))
}

/// Nobody loses members to a receiver that never heard of them, whoever takes over from whom.
#[test]
fn two_receivers_of_one_balancer_leave_each_other_s_members_alone() {
    let (mut s, mut other) = two(10);
    s.hear("http://b", 1, 0.0).unwrap();
    hear(&mut other, "http://c", &message(1), 0.0).unwrap();
    s.hand_over(1.0);
    other = membership_of(1, &s.settings, &s.board, Generation(1));
    other.take_over(at(1.0), Duration::ZERO);
    assert_eq!((s.members.len(), other.len()), (1, 1));
    for second in 1..30 {
        let now = f64::from(second);
        s.hear("http://b", 2 + i64::from(second), now).unwrap();
        hear(&mut other, "http://c", &message(2 + i64::from(second)), now).unwrap();
        s.members.sweep(at(now), Mono(0));
        other.sweep(at(now), Mono(0));
        assert_eq!(s.list(), ["http://b Init Bcn Ok", "http://c Init Bcn Ok"]);
    }
    // Each evicts its own.
    other.sweep(at(45.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Bcn Ok", "http://c Init Dis Bcn"]);
    s.members.sweep(at(45.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Dis Bcn", "http://c Init Dis Bcn"]);
}

/// A backend that tells both: it stays while either hears it, a copy is no replay and no new sign
/// of life, and it leaves and returns wherever its word comes first.
#[test]
fn a_backend_may_tell_both_receivers() {
    let (mut s, mut other) = two(10);
    s.hear("http://b", 5, 0.0).unwrap();
    hear(&mut other, "http://b", &message(5), 0.1).unwrap();
    // From now on only the other one hears it.
    hear(&mut other, "http://b", &message(6), 8.0).unwrap();
    s.members.sweep(at(12.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    // Sent to the first again by somebody who listened.
    assert_eq!(s.hear("http://b", 6, 17.0), Ok(()));
    assert_eq!(s.hear("http://b", 6, 17.0), Err(Refusal::Replayed));
    other.sweep(at(18.2), Mono(0));
    s.members.sweep(at(18.2), Mono(0));
    assert_eq!(s.list(), ["http://b Init Dis Bcn"]);
    s.hear("http://b", 7, 19.0).unwrap();
    hear(&mut other, "http://b", &message(7), 19.0).unwrap();
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    let leaving = Announcement {
        leaving: true,
        ..message(8)
    };
    s.say("http://b", &leaving, 20.0).unwrap();
    hear(&mut other, "http://b", &leaving, 20.0).unwrap();
    assert_eq!(s.list(), ["http://b Init Dis Bcn"]);
    hear(&mut other, "http://b", &message(9), 21.0).unwrap();
    s.hear("http://b", 9, 21.0).unwrap();
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
}

/// A route that another writer's lock kept out comes with the next announcement.
#[test]
fn a_route_that_could_not_be_set_is_set_later() {
    let mut s = site(2, 0);
    s.hear("http://b", 1, 0.0).unwrap();
    let a = |ts| Announcement {
        route: Some("r1"),
        load_factor: Some(300),
        ..message(ts)
    };
    let rows = s.board.assign(&s.settings, Generation(0)).unwrap();
    let board = s.board.clone();
    let held = board.hold_for_tests(rows.balancer(C).unwrap());
    s.say("http://b", &a(2), 1.0).unwrap();
    let member = |s: &Site| {
        let m = s.board.snapshot().balancers.remove(0).members.remove(2);
        (m.route, m.load_factor)
    };
    assert_eq!(member(&s), (String::new(), 300));
    drop(held);
    s.say("http://b", &a(3), 2.0).unwrap();
    assert_eq!(member(&s), ("r1".into(), 300));
}

/// Nobody could hear the backends while the address could not be bound: a restart of the reader
/// must not cost them their membership.
#[test]
fn leases_are_longer_by_the_time_that_nobody_listened() {
    let mut s = site(4, 10);
    s.hear("http://b", 1, 0.0).unwrap();
    s.members = membership(&s.settings, &s.board, Generation(1));
    s.members.take_over(at(45.0), Duration::from_secs(43));
    s.members.sweep(at(46.5), Mono(0));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    // Also for who takes over from that one.
    s.hand_over(47.0);
    s.members.sweep(at(52.0), Mono(0));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    s.members.sweep(at(53.5), Mono(0));
    assert_eq!(s.list(), ["http://b Init Dis Bcn"]);
}

/// A flood that pushes announcements out of the queue must not empty the balancer, nor keep the
/// dead in it for ever.
#[test]
fn leases_are_longer_while_datagrams_are_lost() {
    let mut s = site(4, 10);
    s.hear("http://b", 1, 0.0).unwrap();
    s.members.sweep(at(15.0), at(14.0));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    s.members.sweep(at(29.0), at(29.0));
    assert_eq!(s.list(), ["http://b Init Bcn Ok"]);
    s.members.sweep(at(31.0), at(31.0));
    assert_eq!(s.list(), ["http://b Init Dis Bcn"]);
    s.hear("http://b", 2, 40.0).unwrap();
    s.members.sweep(at(51.0), at(40.5));
    assert_eq!(s.list(), ["http://b Init Dis Bcn"], "the flood is over");
}

/// Marks of another receiver refuse what is replayed, and never keep a backend out.
#[test]
fn marks_of_another_receiver_give_way_to_backends() {
    let mut s = site_of(300, 0, 1);
    let rows = s.board.assign(&s.settings, Generation(0)).unwrap();
    let row = rows.receiver(0).unwrap();
    for i in 0..LEASES {
        let url = format!("http://far{i}");
        s.board
            .make_lease(row, i as u16, &url, 10 + i as i64, at(0.0));
    }
    let memory = Duration::from_secs(60);
    let mut second = s.settings.receivers[0].clone();
    second.server = ServerNo(1);
    s.settings.receivers.push(second);
    let board = s
        .board
        .grown(&s.dir.join("board"), &s.settings, 1, Generation(1));
    s.board = board.unwrap();
    let rows = s.board.assign(&s.settings, Generation(1)).unwrap();
    let other = rows.receiver(1).unwrap();
    s.board
        .adopt_marks(other, Generation(1), &[], at(1.0), memory);
    s.members = membership_of(1, &s.settings, &s.board, Generation(1));
    s.members.take_over(at(1.0), Duration::ZERO);
    assert_eq!(s.members.len(), LEASES);
    assert_eq!(s.hear("http://far9", 19, 2.0), Err(Refusal::Replayed));
    // Those that announced something here are no foreign ones any more.
    s.hear("http://far0", 500, 2.0).unwrap();
    for i in 1..LEASES as i64 {
        s.hear(&format!("http://new{i}"), 1000 + i, 3.0).unwrap();
    }
    assert_eq!(s.hear("http://late", 5000, 4.0), Err(Refusal::TableFull));
    assert_eq!(s.hear("http://far0", 500, 4.0), Err(Refusal::Replayed));
    assert_eq!(s.hear("http://new1", 1001, 4.0), Err(Refusal::Replayed));
    assert_eq!(s.members.len(), LEASES);
}

/// More `growth` lets in at once those that had no room; another reader of the same configuration
/// changes nothing for them.
#[test]
fn a_new_configuration_tries_again_at_once() {
    let mut s = site(1, 0);
    s.hear("http://a", 1, 0.0).unwrap();
    assert_eq!(s.hear("http://b", 1, 1.0), Err(Refusal::AddFailed));
    s.hand_over(2.0);
    assert_eq!(s.hear("http://b", 2, 3.0), Ok(()), "not tried");
    s.members.retry_adds();
    assert_eq!(s.hear("http://b", 3, 4.0), Err(Refusal::AddFailed));
}

/// A list that no longer has a member takes it out; one that has it lets it be.
#[test]
fn who_is_not_allowed_any_more_is_taken_out() {
    let mut s = site(4, 0);
    s.hear("http://a", 1, 0.0).unwrap();
    s.hear("http://b", 1, 0.0).unwrap();
    s.hand_over(1.0);
    s.members.turn_out(|origin| origin.host() == "a");
    assert_eq!(s.list(), ["http://a Init Bcn Ok", "http://b Init Dis Bcn"]);
}
