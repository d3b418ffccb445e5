//! Requests' and answers' bodies in all framings.

use super::stand::with;

const END: &str = "\r\n\r\n";

#[test]
fn counted_and_chunked_requests_arrive_whole_and_the_next_request_is_found() {
    with(&[], |s| async move {
        let answer = s
            .all(
                "POST /echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello\
                 POST /echo HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX: y\r\n\r\n\
                 GET /next HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
            )
            .await;
        assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3, "{answer}");
        for body in ["\r\n\r\nhello", "\r\n\r\nabcdefg", "\r\n\r\n/next"] {
            assert!(answer.contains(body), "{answer}");
        }
        let lines = s.log(3).await;
        assert_eq!(lines[0], "POST /echo HTTP/1.1 200 5 61 + 0");
        assert!(lines[2].ends_with("- 2"), "{lines:?}");
    });
}

#[test]
fn a_body_that_comes_byte_by_byte_is_the_same() {
    with(&[], |s| async move {
        let client = s.client().await;
        let all = "POST /echo HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        for i in 0..all.len() {
            client.send(&all[i..=i]).await;
            crate::reactor::task::yield_now().await;
        }
        assert!(client.up_to("abcde").await.contains("Content-Length: 5"));
    });
}

#[test]
fn a_client_that_waits_for_100_gets_it_when_its_body_is_read() {
    with(&[], |s| async move {
        let client = s.client().await;
        let head = "Host: a.test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
        client.send(&format!("POST /echo HTTP/1.1\r\n{head}")).await;
        let interim = client.up_to(END).await;
        assert_eq!(interim, "HTTP/1.1 100 Continue\r\n\r\n");
        client.send("abc").await;
        client.up_to("\r\n\r\nabc").await;
        // Nobody reads this one: the answer comes at once and the connection ends.
        client
            .send(&format!("POST /ignore HTTP/1.1\r\n{head}"))
            .await;
        let answer = client.rest().await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(answer.contains("Connection: close"), "{answer}");
    });
}

#[test]
fn an_early_answer_reaches_a_client_that_is_still_sending() {
    with(&[], |s| async move {
        let client = s.client().await;
        client
            .send("POST /ignore HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3000000\r\n\r\n")
            .await;
        let answer = client.up_to("/ignore").await;
        assert!(answer.contains("Connection: close"), "{answer}");
        client.send(&"z".repeat(2_000_000)).await;
        assert_eq!(client.rest().await, "");
    });
}

#[test]
fn a_small_body_that_nobody_read_is_thrown_away() {
    with(&[], |s| async move {
        let client = s.client().await;
        client
            .send("POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello")
            .await;
        assert!(!client.up_to("\r\n\r\n/a").await.contains("Connection"));
        client.send("GET /b HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
        client.up_to("\r\n\r\n/b").await;
    });
}

#[test]
fn an_unknown_length_is_chunked_or_ends_with_the_connection() {
    with(&[], |s| async move {
        let client = s.client().await;
        client
            .send("GET /drip HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .await;
        let answer = client.up_to("0\r\n\r\n").await;
        let body = answer.split_once(END).unwrap().1;
        assert_eq!(body, "5\r\npiece\r\n5\r\npiece\r\n5\r\npiece\r\n0\r\n\r\n");
        client
            .send("HEAD /drip HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .await;
        assert!(!client.up_to(END).await.contains("Content-Length"));
        let old = s
            .all("GET /drip HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            .await;
        assert!(old.contains("Connection: close\r\n"), "{old}");
        assert!(old.ends_with("\r\n\r\npiecepiecepiece"), "{old}");
    });
}

#[test]
fn a_cut_body_looks_cut() {
    with(&[], |s| async move {
        let chunked = s.all("GET /cut HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
        assert!(chunked.ends_with("piece\r\n"), "{chunked}");
        // An orderly end would look like a whole answer; the reset may overtake the last bytes.
        let old = s.all("GET /cut HTTP/1.0\r\n\r\n").await;
        assert!(old.ends_with("<reset>"), "{old}");
        let lines = s.log(2).await;
        assert!(
            lines[0].starts_with("GET /cut HTTP/1.1 200 15"),
            "{lines:?}"
        );
    });
}

#[test]
fn a_large_answer_waits_for_a_slow_reader() {
    with(&[], |s| async move {
        let client = s.client().await;
        client
            .send("GET /large HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
            .await;
        crate::reactor::timer::sleep(std::time::Duration::from_millis(30)).await;
        let answer = client.rest().await;
        assert_eq!(answer.split_once(END).unwrap().1.len(), 3_000_000);
    });
}

#[test]
fn broken_framing_is_refused_and_nothing_after_it_is_read() {
    with(&[], |s| async move {
        for bad in [
            "POST /echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 6\r\n\
             Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /echo HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n\
             zz\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n",
            "NONSENSE\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            let answer = s.all(bad).await;
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
            assert!(answer.contains("Connection: close"), "{answer}");
        }
        let client = s.client().await;
        client
            .send("POST /echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nabc")
            .await;
        client.0.shutdown_write().unwrap();
        let answer = client.rest().await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    });
}
