//! How connections live and end: keep-alive, time limits, draining, the bound on requests.

use std::time::Duration;

use super::stand::with;
use crate::conn::connection::idle_size;

const GET: &str = "GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n";

#[test]
fn an_idle_connection_is_small() {
    assert!(idle_size() <= 384, "{} bytes", idle_size());
}

#[test]
fn a_named_keep_alive_is_counted_down() {
    with(&["MaxKeepAliveRequests 2"], |s| async move {
        let client = s.client().await;
        let get = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
        for max in ["max=2", "max=1"] {
            client.send(get).await;
            let answer = client.up_to("\r\n\r\n/a").await;
            let told = format!("Keep-Alive: timeout=5, {max}\r\nConnection: Keep-Alive\r\n");
            assert!(answer.contains(&told), "{answer}");
        }
        client.send(get).await;
        assert!(client.rest().await.contains("Connection: close\r\n"));
    });
}

#[test]
fn slow_heads_end_with_408_or_silently() {
    with(&["RequestReadTimeout header=1"], |s| async move {
        let client = s.client().await;
        client.send("GET /a HTTP/1.1\r\nHost: a.").await;
        let answer = client.rest().await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert_eq!(s.all("GET /a HT").await, "");
        assert_eq!(s.all("").await, "");
        let lines = s.log(3).await;
        assert!(lines[0].starts_with("GET /a HTTP/1.1 408"), "{lines:?}");
        assert!(lines[1].starts_with("- 408 0"), "{lines:?}");
        assert!(lines[2].starts_with("- 408 0"), "{lines:?}");
    });
}

#[test]
fn a_slow_body_ends_with_408() {
    with(&["RequestReadTimeout body=1"], |s| async move {
        let answer = s
            .all("POST /echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nabc")
            .await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!(answer.contains("Connection: close"), "{answer}");
    });
}

#[test]
fn idle_connections_end_after_their_time_or_when_told() {
    with(&["KeepAliveTimeout 200ms"], |s| async move {
        let client = s.client().await;
        client.send(GET).await;
        client.up_to("\r\n\r\n/a").await;
        assert_eq!(client.rest().await, "");
        let client = s.client().await;
        client.send(GET).await;
        client.up_to("\r\n\r\n/a").await;
        s.until(|| (s.hub.idle_connections() == 1).then_some(()))
            .await;
        assert_eq!(s.hub.close_idle(9), 1);
        assert_eq!(client.rest().await, "");
        s.until(|| (s.hub.connections() == 0).then_some(())).await;
        // An idle end is not logged.
        assert_eq!(s.log(2).await.len(), 2);
    });
}

#[test]
fn while_draining_the_next_request_is_answered_and_the_last() {
    with(&[], |s| async move {
        let client = s.client().await;
        client.send(GET).await;
        client.up_to("\r\n\r\n/a").await;
        s.hub.room.draining.set(true);
        client.send(GET).await;
        let answer = client.rest().await;
        assert!(answer.contains("Connection: close"), "{answer}");
        assert!(answer.ends_with("\r\n\r\n/a"), "{answer}");
    });
}

#[test]
fn a_client_that_resets_while_it_waits_ends_its_request() {
    with(&[], |s| async move {
        let client = s.client().await;
        client
            .send("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .await;
        s.until(|| (s.hub.view.requests() == 1).then_some(())).await;
        client.0.set_reset_on_close().unwrap();
        drop(client);
        let began = std::time::Instant::now();
        s.until(|| (s.hub.connections() == 0).then_some(())).await;
        assert!(began.elapsed() < Duration::from_millis(250));
        assert_eq!(s.hub.view.requests(), 0);
        assert!(s.log(1).await[0].contains(" X "));
    });
}

#[test]
fn a_half_closed_client_gets_its_answer() {
    with(&[], |s| async move {
        let client = s.client().await;
        client
            .send("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .await;
        client.0.shutdown_write().unwrap();
        assert!(client.rest().await.ends_with("\r\n\r\nslow"));
    });
}

#[test]
fn requests_above_the_bound_wait_and_in_the_end_get_503() {
    with(&["MaxRequestWorkers 1", "Timeout 1"], |s| async move {
        let slow = "GET /slow HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
        let first = s.client().await;
        first.send(slow).await;
        s.until(|| (s.hub.view.requests() == 1).then_some(())).await;
        let more: Vec<_> = [s.client().await, s.client().await, s.client().await]
            .into_iter()
            .chain([s.client().await, s.client().await])
            .collect();
        for client in &more {
            client.send(slow).await;
        }
        let mut statuses = vec![first.rest().await];
        for client in more {
            statuses.push(client.rest().await);
        }
        let ok = statuses.iter().filter(|a| a.starts_with("HTTP/1.1 200"));
        let full = statuses.iter().filter(|a| a.starts_with("HTTP/1.1 503"));
        // 300 ms each: those that began within the second are answered.
        assert!((3..=5).contains(&ok.count()), "{statuses:?}");
        assert!(full.count() >= 1, "{statuses:?}");
    });
}
