//! What was changed by hand and now follows the configuration, whose text was changed (spec: balancer 12).

use std::sync::atomic::Ordering::Relaxed;

use super::health;
use super::record::{BalancerSlot, FLAG_MAX_ATTEMPTS, FLAG_NO_FAILOVER, HealthSlot, WorkerSlot};
use super::rows::digest;
use super::status;

/// A field that can be changed by hand: its name, what it is, and what the configuration says of it.
/// Numbers or digests of texts.
pub(super) type Field = (&'static str, u64, u64);

/// The flags that the manager sets; a failed check is no change by hand.
const FLAGS: u32 = status::IGNORE
    | status::DRAIN
    | status::DISABLED
    | status::STANDBY
    | status::SPARE
    | status::STOPPED;

/// A balancer's.
pub(super) fn of_balancer(b: &BalancerSlot) -> Vec<Field> {
    let (flags, conf) = (b.flags.load(Relaxed), b.conf_flags.load(Relaxed));
    let attempts = |flags: u32, n: u32| match flags & FLAG_MAX_ATTEMPTS {
        0 => 0,
        _ => u64::from(n) + 1,
    };
    let no_failover = |flags: u32| u64::from(flags & FLAG_NO_FAILOVER);
    let (method, sticky) = b.seq.read(|| {
        let names = [b.cookie.string(), b.param.string()];
        (b.lbmethod.string(), names)
    });
    vec![
        (
            "lbmethod",
            digest(&[&method]),
            b.conf_lbmethod.load(Relaxed),
        ),
        (
            "stickysession",
            digest(&[&sticky[0], &sticky[1]]),
            b.conf_sticky.load(Relaxed),
        ),
        (
            "timeout",
            b.timeout_ms.load(Relaxed),
            b.conf_timeout_ms.load(Relaxed),
        ),
        (
            "maxattempts",
            attempts(flags, b.max_attempts.load(Relaxed)),
            attempts(conf, b.conf_max_attempts.load(Relaxed)),
        ),
        ("nofailover", no_failover(flags), no_failover(conf)),
    ]
}

/// A member's.
pub(super) fn of_member(w: &WorkerSlot, h: &HealthSlot) -> Vec<Field> {
    let number = |value: u32, conf: u32| (u64::from(value), u64::from(conf));
    let texts = w.seq.read(|| {
        [&w.route, &w.conf_route, &w.redirect, &w.conf_redirect].map(|t| digest(&[&t.string()]))
    });
    let factor = number(
        w.load_factor.load(Relaxed),
        w.conf_load_factor.load(Relaxed),
    );
    let set = number(w.lbset.load(Relaxed), w.conf_lbset.load(Relaxed));
    let flags = number(
        w.status.load(Relaxed) & FLAGS,
        w.conf_status.load(Relaxed) & FLAGS,
    );
    let mut out = vec![
        ("loadfactor", factor.0, factor.1),
        ("lbset", set.0, set.1),
        ("status", flags.0, flags.1),
        ("route", texts[0], texts[1]),
        ("redirect", texts[2], texts[3]),
    ];
    out.extend(health::fields(h));
    out
}

/// Which of the fields that were changed by hand the new configuration has taken back.
pub(super) fn between(before: &[Field], after: &[Field]) -> Vec<&'static str> {
    let pairs = before.iter().zip(after);
    let taken = pairs.filter(|((_, value, conf), (_, _, now))| value != conf && conf != now);
    taken.map(|((what, ..), _)| *what).collect()
}

/// The line about one; `member`: empty for the balancer's own.
pub(super) fn line(balancer: &str, member: &str, what: &str) -> String {
    let of = if member.is_empty() { "" } else { " of " };
    format!("{balancer}: {what}{of}{member} follows the configuration, which was changed")
}

/// The line about a member that was added at run time and that the configuration names now. What
/// was changed by hand was changed before any text of the configuration spoke of it, so that each
/// of these texts is a new one, and counts: also the one that is left out and means the default.
pub(super) fn named_now(balancer: &str, member: &str) -> String {
    format!(
        "{balancer}: {member}, which was added at run time, is in the configuration now and follows it"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::rc::Rc;
    use std::time::Duration;

    use super::*;
    use crate::config::bare::bare;
    use crate::config::health::HealthMethod;
    use crate::config::settings::{BalancerParams, Settings, WorkerParams};
    use crate::ids::{BalancerNo, Generation, WorkerNo};
    use crate::shm::{
        Assignment, BalancerEdit, HealthEdit, MemberEdit, NewMember, Scoreboard, test_dir,
    };

    fn settings(params: BalancerParams, members: &[(&str, WorkerParams)]) -> Settings {
        let params = BalancerParams {
            growth: 1,
            ..params
        };
        let mut s = bare("/nowhere").with_balancer("balancer://c", params, members);
        s.servers[0].proxy.persist = true;
        s
    }

    fn plain() -> Settings {
        settings(
            BalancerParams::default(),
            &[("http://a", WorkerParams::default())],
        )
    }

    fn begin(dir: &Path, s: &Settings) -> (Rc<Scoreboard>, Assignment) {
        let board = Scoreboard::create(&dir.join("board"), s, 1, Generation(0)).unwrap();
        let rows = board.assign(s, Generation(0)).unwrap();
        (board, rows)
    }

    fn add(board: &Scoreboard, rows: &Assignment) {
        let b = rows.balancer(BalancerNo(0)).unwrap();
        let new = NewMember {
            name: "http://new",
            route: "hand",
            load_factor: 700,
            status: 0,
        };
        board
            .put_member(b, rows.grown(BalancerNo(0)), &new)
            .unwrap();
    }

    /// What of `told` is said at the info level.
    fn infos(told: Vec<(bool, String)>) -> Vec<String> {
        let infos = told.into_iter().filter(|(warning, _)| !warning);
        infos.map(|(_, text)| text).collect()
    }

    /// Whatever was changed by hand: where the configuration's text for it is changed, that counts,
    /// and a line says so. Over a graceful restart and over a stop alike, for every field.
    #[test]
    fn every_field_that_follows_the_configuration_is_told() {
        let dir = test_dir("overruled");
        let (old, path) = (plain(), dir.join("state"));
        let (board, rows) = begin(&dir, &old);
        let (b, a) = (
            rows.balancer(BalancerNo(0)).unwrap(),
            rows.worker(WorkerNo(0)).unwrap(),
        );
        let member = MemberEdit {
            load_factor: Some(300),
            lbset: Some(3),
            route: Some("hand".into()),
            redirect: Some("hand".into()),
            set: status::DRAIN,
            clear: 0,
            health: Some(HealthEdit {
                method: Some(HealthMethod::Get),
                interval: Some(Duration::from_secs(3)),
                passes: Some(3),
                fails: Some(3),
                uri: Some("/hand".into()),
                expression: Some("hand".into()),
            }),
        };
        let own = BalancerEdit {
            lbmethod: Some("bybusyness".into()),
            timeout: Some(Duration::from_secs(3)),
            max_attempts: Some(3),
            no_failover: Some(true),
            sticky: Some(("hand".into(), "hand".into())),
        };
        board.edit(b, &[a], Some((a, &member)), &own).unwrap();
        board.save(&old, &rows, &path).unwrap();
        let mut params = WorkerParams {
            load_factor: 200,
            lbset: 2,
            route: "text".into(),
            redirect: "text".into(),
            status: status::STANDBY,
            ..WorkerParams::default()
        };
        params.health.method = HealthMethod::Head;
        params.health.interval = Duration::from_secs(2);
        (params.health.passes, params.health.fails) = (2, 2);
        params.health.uri = "/text".into();
        params.health.expression = "text".into();
        let own = BalancerParams {
            lbmethod: "bytraffic".into(),
            timeout: Duration::from_secs(2),
            max_attempts: Some(2),
            no_failover: true,
            sticky: Some(("text".into(), "text".into())),
            ..BalancerParams::default()
        };
        let new = settings(own, &[("http://a", params)]);
        let want = |names: &[&str], member: &str| {
            let all = names.iter().map(|n| line("balancer://c", member, n));
            all.collect::<Vec<_>>()
        };
        let mut own = want(
            &[
                "lbmethod",
                "stickysession",
                "timeout",
                "maxattempts",
                "nofailover",
            ],
            "",
        );
        own.extend(want(
            &[
                "loadfactor",
                "lbset",
                "status",
                "route",
                "redirect",
                "hcmethod",
                "hcpasses",
                "hcfails",
                "hcinterval",
                "hcuri",
                "hcexpr",
            ],
            "http://a",
        ));
        let now = board.assign(&new, Generation(1)).unwrap();
        assert_eq!(now.overruled(), own);
        // Once: nothing is by hand any more.
        let now = board.assign(&old, Generation(2)).unwrap();
        assert_eq!(now.overruled(), [""; 0]);
        board.remove();
        let (board, rows) = begin(&dir, &new);
        let told = infos(board.restore(&new, &rows, &path));
        for line in own {
            assert!(told.contains(&line), "{line}: {told:?}");
        }
        assert_eq!(
            board.member(rows.worker(WorkerNo(0)).unwrap()).load_factor,
            200
        );
        let _ = std::fs::remove_dir_all(dir);
    }

    /// A member that was added by hand and is in the configuration now follows it in all fields,
    /// those that are left out too.
    #[test]
    fn an_added_member_that_is_configured_now_follows_the_configuration() {
        let dir = test_dir("named-now");
        let (old, path) = (plain(), dir.join("state"));
        let members = [
            ("http://a", WorkerParams::default()),
            ("http://new", WorkerParams::default()),
        ];
        let new = settings(BalancerParams::default(), &members);
        let line = named_now("balancer://c", "http://new");
        let (board, rows) = begin(&dir, &old);
        add(&board, &rows);
        board.save(&old, &rows, &path).unwrap();
        let follows = |board: &Scoreboard, rows: &Assignment| {
            let row = rows.worker(WorkerNo(1)).unwrap();
            let factor = board.member(row).load_factor;
            assert_eq!((board.routes(row).route.as_str(), factor), ("", 100));
        };
        let rows = board.assign(&new, Generation(1)).unwrap();
        follows(&board, &rows);
        assert_eq!(rows.overruled(), [line.as_str()]);
        board.remove();
        let (board, rows) = begin(&dir, &new);
        assert_eq!(infos(board.restore(&new, &rows, &path)), [line]);
        follows(&board, &rows);
        let _ = std::fs::remove_dir_all(dir);
    }

    /// With its balancer, or with the name of its server, an added member goes; never silently.
    #[test]
    fn added_members_without_a_balancer_are_told() {
        let dir = test_dir("orphans");
        let (old, path) = (plain(), dir.join("state"));
        let mut new =
            bare("/nowhere").with_balancer("balancer://d", BalancerParams::default(), &[]);
        new.servers[0].proxy.persist = true;
        let (board, rows) = begin(&dir, &old);
        add(&board, &rows);
        board.save(&old, &rows, &path).unwrap();
        let rows = board.assign(&new, Generation(1)).unwrap();
        board.set_generation(Generation(1), 2);
        let gone = "balancer://c: http://new, which was added at run time, is gone: there is no";
        assert_eq!(rows.dropped().len(), 1);
        assert!(rows.dropped()[0].starts_with(gone), "{:?}", rows.dropped());
        // Once: the newest configuration had none.
        let rows = board.assign(&new, Generation(2)).unwrap();
        assert_eq!(rows.dropped(), [""; 0]);
        board.remove();
        let (board, rows) = begin(&dir, &new);
        let told = board.restore(&new, &rows, &path);
        assert!(
            matches!(&told[..], [(true, text)] if text.starts_with(gone)),
            "{told:?}"
        );
        let _ = std::fs::remove_dir_all(dir);
    }

    /// A checksum says that a record is whole, not that its values may be taken.
    #[test]
    fn saved_values_are_looked_at_as_the_managers_are() {
        let dir = test_dir("odd-values");
        let (s, path) = (plain(), dir.join("state"));
        let (board, rows) = begin(&dir, &s);
        board.save(&s, &rows, &path).unwrap();
        board.remove();
        let saved = std::fs::read_to_string(&path).unwrap();
        let with = |from: &str, to: &str| {
            let mut out = String::new();
            for l in saved.lines() {
                match l
                    .split_once(' ')
                    .filter(|(sum, _)| *sum != "muster-balancers")
                {
                    Some((_, rest)) => {
                        let rest = rest.replacen(from, to, 1);
                        out.push_str(&format!("{:016x} {rest}\n", digest(&[&rest])));
                    }
                    None => out.push_str(&format!("{l}\n")),
                }
            }
            assert_ne!(out, saved, "{from}");
            std::fs::write(&path, out).unwrap();
            let (board, rows) = begin(&dir, &s);
            let told = board.restore(&s, &rows, &path);
            board.remove();
            let b = rows.balancer(BalancerNo(0)).unwrap();
            let route = board
                .routes(rows.worker(WorkerNo(0)).unwrap())
                .route
                .clone();
            (board.lbmethod(b), board.sticky(b), route, told.len())
        };
        let method = "byrequests".to_owned();
        let sticky = Some(("A".to_owned(), "b".to_owned()));
        let good = with(" cookie= param=", " cookie=A param=b");
        assert_eq!(good, (method.clone(), sticky, String::new(), 0));
        let none = (method.clone(), None, String::new());
        for (from, to, told) in [
            ("lbmethod=byrequests", "lbmethod=nosuch", 0),
            (" cookie= param=", " cookie=A;B param=b", 0),
            (" cookie= param=", " cookie=A%0D%0AX:y param=b", 1),
            (" route=", " route=a%0D%0AX:y", 1),
        ] {
            let (m, sticky, route, n) = with(from, to);
            assert_eq!(((m, sticky, route), n), (none.clone(), told), "{to}");
        }
        let _ = std::fs::remove_dir_all(dir);
    }
}
