//! Proxies whose names are slow, wrong or moving.

use std::ffi::OsString;
use std::sync::mpsc;

use super::*;
use crate::beacon::announce::options;
use crate::codec::beacon::{Algorithm, Key};

/// A proxy's socket, and its port.
fn proxy() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

fn options(to: &[String]) -> (Options, tempdir::Dir) {
    let dir = tempdir::Dir::new();
    let secret = dir.secret("a secret");
    let mut words = vec!["--url=http://10.0.0.5".to_owned()];
    words.push(format!("--secret-file={secret}"));
    words.extend(to.iter().map(|t| format!("--to={t}")));
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    (options::parse(&words).unwrap(), dir)
}

fn text(socket: &UdpSocket) -> String {
    let mut buffer = [0; 2048];
    let n = socket.recv(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..n]).into_owned()
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[test]
fn a_name_that_hangs_delays_neither_other_proxies_nor_the_withdrawal() {
    let ((by_address, a), (by_name, b)) = (proxy(), proxy());
    let (options, _dir) = options(&[
        "hangs.example:1".into(),
        format!("127.0.0.1:{a}"),
        format!("good.example:{b}"),
    ]);
    let (release, hangs) = mpsc::channel::<()>();
    let hangs = Mutex::new(hangs);
    let wire = Arc::new(Wire::with(
        options,
        Box::new(move |place| {
            if place.host == "hangs.example" {
                let _ = hangs.lock().unwrap().recv();
                return Err(names::too_late());
            }
            Ok(vec![loopback(place.port)])
        }),
    ));
    wire.follow_names().unwrap();
    wire.announce();
    assert!(text(&by_address).starts_with("BEACON url=http://10.0.0.5 "));
    // As soon as it is found, without waiting for the next interval.
    assert!(text(&by_name).starts_with("BEACON url=http://10.0.0.5 "));
    assert!(wire.withdraw(true));
    for socket in [&by_address, &by_name] {
        while !text(socket).contains(" state=leaving ") {}
    }
    drop(release);
}

/// httpd does not know `state=leaving` and would keep the member for a whole timeout more.
#[test]
fn httpd_is_sent_no_withdrawal() {
    let (socket, port) = proxy();
    let (mut options, _dir) = options(&[format!("127.0.0.1:{port}")]);
    options.algorithm = Algorithm::SipHash;
    let wire = Wire::new(options);
    wire.announce();
    assert!(wire.withdraw(true), "the command waits for the drain");
    assert!(!text(&socket).contains("state="));
    socket.set_nonblocking(true).unwrap();
    let nothing = socket.recv(&mut [0; 2048]).unwrap_err();
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_look_up_that_fails_takes_no_address_away() {
    let (socket, port) = proxy();
    let (options, _dir) = options(&[format!("once.example:{port}")]);
    let (looked, looks) = mpsc::channel();
    let first = std::sync::atomic::AtomicBool::new(true);
    let wire = Arc::new(Wire::with(
        options,
        Box::new(move |place| {
            let _ = looked.send(());
            match first.swap(false, std::sync::atomic::Ordering::SeqCst) {
                true => Ok(vec![loopback(place.port)]),
                false => Err(names::too_late()),
            }
        }),
    ));
    wire.follow_names().unwrap();
    wire.announce();
    text(&socket);
    looks.recv().unwrap();
    // The second one has failed when the third begins.
    for _ in 0..2 {
        wire.reload();
        looks.recv().unwrap();
    }
    wire.announce();
    text(&socket);
    wire.withdraw(true);
}

#[test]
fn a_secret_file_that_changes_is_read_again_and_a_bad_one_is_not_used() {
    let (socket, port) = proxy();
    let (options, dir) = options(&[format!("127.0.0.1:{port}")]);
    let wire = Wire::new(options);
    let signed_with = |secret: &str| {
        wire.announce();
        let text = text(&socket);
        let (said, mac) = text.rsplit_once(" mac=").unwrap();
        let key = Key::of_secret(secret.as_bytes()).unwrap();
        key.matches(Algorithm::HmacSha256, said.as_bytes(), mac.as_bytes())
    };
    assert!(signed_with("a secret"));
    dir.secret("a new secret");
    assert!(signed_with("a new secret"));
    // As an editor leaves it half-way.
    dir.secret("");
    assert!(signed_with("a new secret"));
    dir.secret("hex:00112233445566778899aabbccddeeff");
    assert!(signed_with("hex:00112233445566778899aabbccddeeff"));
}

#[test]
fn a_name_whose_first_address_has_no_listener_moves_on_to_its_next() {
    let (socket, port) = proxy();
    let (closed, gone) = proxy();
    drop(closed);
    let (options, _dir) = options(&["two.example:1".into()]);
    let wire = Arc::new(Wire::with(
        options,
        Box::new(move |_| Ok(vec![loopback(gone), loopback(port)])),
    ));
    wire.follow_names().unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let mut buffer = [0; 2048];
    let came = (0..200).any(|_| {
        wire.announce();
        socket.recv(&mut buffer).is_ok()
    });
    assert!(came);
    wire.withdraw(true);
}

/// A directory with a secret that ends with the test.
mod tempdir {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    static NUMBER: AtomicU32 = AtomicU32::new(0);

    pub struct Dir(PathBuf);

    impl Dir {
        pub fn new() -> Dir {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("muster-wire-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Dir(path)
        }

        pub fn secret(&self, text: &str) -> String {
            let path = self.0.join("secret");
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .truncate(true)
                .write(true)
                .mode(0o600)
                .open(&path)
                .unwrap();
            writeln!(file, "{text}").unwrap();
            path.to_string_lossy().into_owned()
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
