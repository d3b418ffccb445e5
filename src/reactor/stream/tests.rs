//! Sockets over loopback: both ways, backpressure, idle watching, resets.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use super::*;
use crate::reactor::task::{block_on, spawn};
use crate::reactor::timer::timeout;
use crate::sys::accept::accept;

const SOON: Duration = Duration::from_secs(5);

/// Both ends of a loopback connection, each in the loop.
async fn pair() -> (Stream, Stream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let to = listener.local_addr().unwrap();
    let near = Stream::connect_tcp(to, Some(Ipv4Addr::LOCALHOST.into()))
        .await
        .unwrap();
    let (fd, peer) = accept(listener.as_raw_fd()).unwrap();
    let far = Stream::from_accepted(fd, false).unwrap();
    assert_eq!(far.peer_addr(), peer);
    assert_eq!(near.local_addr(), peer);
    (near, far)
}

#[test]
fn bytes_travel_both_ways_and_the_end_is_seen() {
    block_on(async {
        let (near, far) = pair().await;
        near.write_both(b"head ", b"body").await.unwrap();
        let mut buf = [0; 64];
        assert_eq!(far.read(&mut buf).await.unwrap(), 9);
        far.write_all(&buf[..9]).await.unwrap();
        far.shutdown_write().unwrap();
        assert_eq!(near.read(&mut buf).await.unwrap(), 9);
        assert_eq!(near.read(&mut buf).await.unwrap(), 0);
        // The other direction is still open.
        near.write_all(b"more").await.unwrap();
        assert_eq!(far.read(&mut buf).await.unwrap(), 4);
    });
}

#[test]
fn more_than_the_socket_holds_waits_for_the_reader() {
    block_on(async {
        let (near, far) = pair().await;
        let all = vec![b'z'; 20_000_000];
        let many = all.len();
        spawn(async move { near.write_all(&all).await.unwrap() });
        let mut seen = 0;
        let mut buf = vec![0; 16384];
        loop {
            let n = timeout(SOON, far.read(&mut buf)).await.unwrap().unwrap();
            if n == 0 {
                break;
            }
            assert!(buf[..n].iter().all(|&b| b == b'z'));
            seen += n;
        }
        assert_eq!(seen, many);
    });
}

#[test]
fn an_idle_connection_is_quiet_until_something_comes() {
    block_on(async {
        let (near, far) = pair().await;
        assert!(near.is_quiet());
        near.watch();
        crate::reactor::timer::sleep(Duration::from_millis(5)).await;
        // The event that tells of mere writability is no disturbance.
        assert!(!near.disturbed());
        far.write_all(b"x").await.unwrap();
        timeout(SOON, async {
            while !near.disturbed() {
                crate::reactor::timer::sleep(Duration::from_millis(1)).await;
            }
        })
        .await
        .unwrap();
        assert!(!near.is_quiet());
        assert!(!near.peer_closed());
        drop(far);
        timeout(SOON, async {
            while !near.peer_closed() {
                crate::reactor::timer::sleep(Duration::from_millis(1)).await;
            }
        })
        .await
        .unwrap();
    });
}

#[test]
fn a_refused_connection_says_so() {
    block_on(async {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let to = free.local_addr().unwrap();
        drop(free);
        let e = Stream::connect_tcp(to, None).await.unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::ConnectionRefused);
        let e = Stream::connect_unix(Path::new("/nonexistent/socket"))
            .await
            .unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::NotFound);
    });
}

#[test]
fn a_reset_is_an_error_to_the_reader() {
    block_on(async {
        let (near, far) = pair().await;
        far.set_reset_on_close().unwrap();
        drop(far);
        let mut buf = [0; 8];
        let e = timeout(SOON, near.read(&mut buf)).await.unwrap();
        assert_eq!(e.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn closed_sockets_give_their_places_back() {
    block_on(async {
        let before = crate::reactor::source::count();
        for _ in 0..50 {
            let (near, far) = pair().await;
            drop((near, far));
        }
        assert_eq!(crate::reactor::source::count(), before);
    });
}
