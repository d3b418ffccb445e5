//! The room as a whole, against backends that are threads with a script.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use super::connect::Destination;
use super::*;
use crate::body::{Bytes, Length, Source};
use crate::clock;
use crate::codec::http1::framing::response_framing;
use crate::codec::http1::head::{Method, ResponseHead};
use crate::codec::http1::limits::ResponseLimits;
use crate::config::settings::WorkerParams;
use crate::fault::{Fault, Kind};
use crate::reactor::task::block_on;

/// A backend that serves one connection with `script`.
fn backend(script: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        script(stream);
    });
    address
}

/// Reads until what came ends with `end`.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut got = Vec::new();
    while !got.ends_with(end.as_bytes()) {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap() == 0 {
            break;
        }
        got.push(byte[0]);
    }
    String::from_utf8(got).unwrap()
}

const HEAD: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

async fn lease(reslist: &Rc<Reslist>, to: SocketAddr) -> Lease {
    let mut lease = reslist.acquire(false, true).await.unwrap();
    if lease.connection.is_none() {
        let ip = to.ip().to_string();
        let destination = Destination {
            host: &ip,
            port: to.port(),
            unix: None,
            within: Duration::from_secs(5),
            source: None,
            address_ttl: None,
            keep_alive: false,
            receive_buffer: 0,
            blocked: &[],
        };
        let connection = connect::connect(&Rc::default(), &destination).await;
        lease.connection = Some(connection.unwrap());
    }
    lease
}

fn rules(method: &Method, timeout: Duration) -> Exchange<'_> {
    Exchange {
        method,
        timeout,
        limits: ResponseLimits::default(),
        ping: None,
    }
}

/// One GET; the answer's head and its body as a source.
async fn get(
    reslist: &Rc<Reslist>,
    to: SocketAddr,
    timeout: Duration,
) -> Result<(ResponseHead, ResponseBody), Failure> {
    let lease = lease(reslist, to).await;
    let mut sending = Sending::new(Vec::new(), true);
    sending.head = HEAD.into();
    sending.begin(BodyFraming::None, false);
    let exchange = rules(&Method::Get, timeout);
    let answered = exchange.run(&lease, &mut sending, None, |_| {}).await?;
    let framing = response_framing(&answered.head, &Method::Get).unwrap();
    let mut body = ResponseBody::new(
        lease,
        answered.incoming,
        framing,
        true,
        timeout,
        Tally::none(),
    );
    body.start().unwrap();
    Ok((answered.head, body))
}

async fn read_all(source: &mut dyn Source) -> Result<Vec<u8>, Fault> {
    let mut all = Vec::new();
    while poll_fn(|cx| source.poll_fill(cx)).await? {
        let n = source.data().len();
        all.extend_from_slice(source.data());
        source.consume(n);
    }
    Ok(all)
}

fn reslist() -> Rc<Reslist> {
    Rc::new(Reslist::new(&WorkerParams::default()))
}

const LONG: Duration = Duration::from_secs(10);

#[test]
fn a_connection_is_used_again() {
    let to = backend(|mut s| {
        for body in ["one", "two"] {
            assert_eq!(read_until(&mut s, "\r\n\r\n"), HEAD);
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{body}");
            s.write_all(answer.as_bytes()).unwrap();
        }
        read_until(&mut s, "never");
    });
    block_on(async move {
        let list = reslist();
        for expected in ["one", "two"] {
            let (head, mut body) = get(&list, to, LONG).await.unwrap();
            assert_eq!(head.status, 200);
            assert_eq!(body.length(), Length::Exact(3));
            // Given back before its body was looked at.
            assert_eq!((list.idle(), list.in_use()), (1, 0));
            assert_eq!(read_all(&mut body).await.unwrap(), expected.as_bytes());
            assert!(body.ended());
        }
    });
}

#[test]
fn chunks_arrive_joined_and_free_the_connection() {
    let to = backend(|mut s| {
        read_until(&mut s, "\r\n\r\n");
        s.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nd")
            .unwrap();
        thread::sleep(Duration::from_millis(20));
        s.write_all(b"e\r\n0\r\n\r\n").unwrap();
        read_until(&mut s, "never");
    });
    block_on(async move {
        let list = reslist();
        let (_, mut body) = get(&list, to, LONG).await.unwrap();
        assert_eq!(body.length(), Length::Unknown);
        assert_eq!(read_all(&mut body).await.unwrap(), b"abcde");
        assert_eq!((list.idle(), list.in_use()), (1, 0));
    });
}

#[test]
fn left_over_bytes_end_a_connection() {
    let to = backend(|mut s| {
        read_until(&mut s, "\r\n\r\n");
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n")
            .unwrap();
        read_until(&mut s, "never");
    });
    block_on(async move {
        let list = reslist();
        let (_, mut body) = get(&list, to, LONG).await.unwrap();
        assert_eq!(read_all(&mut body).await.unwrap(), b"ok");
        assert_eq!((list.idle(), list.in_use()), (0, 0));
    });
}

#[test]
fn a_cut_body_is_an_error() {
    let to = backend(|mut s| {
        read_until(&mut s, "\r\n\r\n");
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
            .unwrap();
    });
    block_on(async move {
        let list = reslist();
        let (_, mut body) = get(&list, to, LONG).await.unwrap();
        let fault = read_all(&mut body).await.unwrap_err();
        assert_eq!(fault.kind, Kind::Eof);
        assert!(!body.ended());
        assert_eq!((list.idle(), list.in_use()), (0, 0));
    });
}

#[test]
fn a_silent_backend_is_given_up() {
    let to = backend(|mut s| {
        read_until(&mut s, "never");
    });
    block_on(async move {
        let failure = get(&reslist(), to, Duration::from_millis(50))
            .await
            .map(|_| ())
            .unwrap_err();
        assert_eq!(failure.fault.kind, Kind::Timeout);
        assert!(!failure.answered && !failure.reused);
    });
}

#[test]
fn a_dripped_head_is_bounded_as_a_whole() {
    let to = backend(|mut s| {
        read_until(&mut s, "\r\n\r\n");
        for byte in "HTTP/1.1 200 OK\r\nX-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".bytes() {
            thread::sleep(Duration::from_millis(20));
            if s.write_all(&[byte]).is_err() {
                return;
            }
        }
    });
    block_on(async move {
        let begun = clock::read_mono();
        let failure = get(&reslist(), to, Duration::from_millis(60))
            .await
            .map(|_| ())
            .unwrap_err();
        assert_eq!(failure.fault.kind, Kind::Timeout);
        assert!(failure.answered);
        assert!(clock::read_mono().since(begun) < Duration::from_secs(5));
    });
}

#[test]
fn interim_responses_are_counted_and_passed_on() {
    let to = backend(|mut s| {
        read_until(&mut s, "\r\n\r\n");
        for _ in 0..9 {
            s.write_all(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
                .unwrap();
        }
        s.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
        read_until(&mut s, "never");
    });
    block_on(async move {
        let lease = lease(&reslist(), to).await;
        let mut sending = Sending::new(Vec::new(), true);
        sending.head = HEAD.into();
        sending.begin(BodyFraming::None, false);
        let mut seen = 0;
        let answered = rules(&Method::Get, LONG)
            .run(&lease, &mut sending, None, |h| {
                assert_eq!(h.status, 103);
                seen += 1;
            })
            .await
            .unwrap();
        assert_eq!((answered.head.status, seen), (204, 9));
    });
}

#[test]
fn a_stale_connection_is_known_as_such() {
    let to = backend(|mut s| {
        read_until(&mut s, "\r\n\r\n");
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        // Gone with the next request.
        read_until(&mut s, "\r\n\r\n");
    });
    block_on(async move {
        let list = reslist();
        get(&list, to, LONG).await.unwrap();
        let failure = get(&list, to, LONG).await.map(|_| ()).unwrap_err();
        assert!(failure.reused && !failure.answered);
        assert_eq!(failure.written, HEAD.len() as u64);
    });
}

#[test]
fn a_closed_idle_connection_is_not_lent() {
    let to = backend(|mut s| {
        read_until(&mut s, "\r\n\r\n");
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
    });
    block_on(async move {
        let list = reslist();
        get(&list, to, LONG).await.unwrap();
        // Whether its end was seen with the answer or comes as an event: never lent.
        poll_fn(|cx| {
            if list.idle() == 0 || !list.sweep() {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        let lease = list.acquire(false, true).await.unwrap();
        assert!(lease.connection.is_none());
    });
}

#[test]
fn a_body_is_counted_or_chunked() {
    let to = backend(|mut s| {
        let got = read_until(&mut s, "hello world");
        assert_eq!(got, "POST / HTTP/1.1\r\n\r\nhello world");
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        let got = read_until(&mut s, "0\r\n\r\n");
        assert_eq!(
            got,
            "POST / HTTP/1.1\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        );
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        read_until(&mut s, "never");
    });
    block_on(async move {
        let lease = lease(&reslist(), to).await;
        for framing in [BodyFraming::Length(11), BodyFraming::Chunked] {
            let mut sending = Sending::new(b"hello".to_vec(), false);
            sending.head = b"POST / HTTP/1.1\r\n\r\n".to_vec();
            sending.begin(framing, false);
            let mut rest = Bytes::new(" world");
            let answered = rules(&Method::Post, LONG)
                .run(&lease, &mut sending, Some(&mut rest), |_| {})
                .await
                .unwrap();
            assert_eq!(answered.head.status, 200);
            assert!(sending.done() && !sending.repeatable());
        }
    });
}

#[test]
fn an_early_answer_is_taken_though_the_backend_reads_no_more() {
    let to = backend(|mut s| {
        read_until(&mut s, "\r\n\r\n");
        s.write_all(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
            .unwrap();
        // Closing with bytes unread resets the connection.
    });
    block_on(async move {
        let lease = lease(&reslist(), to).await;
        let mut sending = Sending::new(Vec::new(), false);
        sending.head = b"POST / HTTP/1.1\r\n\r\n".to_vec();
        let size = 64 << 20;
        sending.begin(BodyFraming::Length(size), false);
        let mut rest = Bytes::new(vec![b'z'; size as usize]);
        let answered = rules(&Method::Post, LONG)
            .run(&lease, &mut sending, Some(&mut rest), |_| {})
            .await
            .unwrap();
        assert_eq!(answered.head.status, 413);
        assert!(!sending.done());
    });
}

#[test]
fn a_refused_connection_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    drop(listener);
    block_on(async move {
        let destination = Destination {
            host: "localhost",
            port: to.port(),
            unix: None,
            within: LONG,
            source: None,
            address_ttl: None,
            keep_alive: false,
            receive_buffer: 0,
            blocked: &[],
        };
        let error = connect::connect(&Rc::default(), &destination)
            .await
            .unwrap_err();
        assert_eq!(error.why, connect::Why::Refused);
        assert!(error.detail.contains("localhost"), "{}", error.detail);
    });
}
