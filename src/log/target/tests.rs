//! Files, FIFOs, full disks and programs as log targets.

use std::io::Read;
use std::path::PathBuf;

use super::*;

fn dir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("muster-log-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// How many lines `bytes` holds.
fn lines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

fn put(target: &mut Target, text: &str) {
    target.line(3, |out| out.extend_from_slice(text.as_bytes()));
}

#[test]
fn a_file_gets_lines_appended() {
    let dir = dir("file");
    let path = dir.join("x.log");
    std::fs::write(&path, "old\n").unwrap();
    let mut target = Target::open(&LogTarget::File(path.clone())).unwrap();
    put(&mut target, "one\n");
    put(&mut target, "two\n");
    put(&mut target, "");
    assert_eq!(target.flush(Mono(5)), None);
    assert!(target.is_empty());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\none\ntwo\n");
    put(&mut target, "of the parent\n");
    target.forget();
    target.flush(Mono(6));
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    assert!(Target::open(&LogTarget::File(dir.join("none/x.log"))).is_err());
    assert!(Target::open(&LogTarget::File(dir.clone())).is_err());
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_fifo_never_blocks() {
    let dir = dir("fifo");
    let path = dir.join("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(Target::open(&LogTarget::File(path.clone())).is_err());

    let mut reader = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&path)
        .unwrap();
    let mut target = Target::open(&LogTarget::File(path)).unwrap();
    // More than a pipe and the buffer take together.
    let line = format!("{}\n", "x".repeat(999));
    for i in 0..600 {
        put(&mut target, &line);
        target.flush(Mono(1 + i));
    }
    assert!(target.lost > 0);
    assert_eq!(lines(&target.buffer), target.buffer.len() / 1000);
    // Once it is read, what waited goes out, and the loss is told once.
    let mut got = Vec::new();
    let mut told = 0;
    for i in 1..200u64 {
        let mut buf = [0; 65_536];
        if let Ok(n) = reader.read(&mut buf) {
            got.extend_from_slice(&buf[..n]);
        }
        told += target.flush(Mono(i * 1_000_000_000)).unwrap_or(0);
    }
    assert_eq!(told, target.lost);
    assert_eq!(lines(&got) as u64 + target.lost, 600);
    assert!(got.chunks(1000).all(|l| l == line.as_bytes()));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn pieces_end_at_line_ends() {
    let text = format!("{}\n{}\nz\n", "a".repeat(3000), "b".repeat(2000));
    let mut pieces = Vec::new();
    let (done, result) = write_pieces(text.as_bytes(), |piece| {
        pieces.push(piece.len());
        Ok(piece.len())
    });
    assert!(result.is_ok());
    assert_eq!((done, pieces), (text.len(), vec![3001, 2003]));
}

#[test]
fn a_full_disk_loses_lines_and_nothing_else() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        return;
    };
    let mut target = Target::new("full".into(), Sink::File(full));
    for i in 0..10_000u64 {
        put(&mut target, &format!("{}\n", "x".repeat(99)));
        assert_eq!(target.flush(Mono(i)), None);
    }
    assert!(target.buffer.len() <= BOUND);
    assert_eq!(target.lost, 10_000 - lines(&target.buffer) as u64);
    target.sink = Sink::File(OpenOptions::new().write(true).open("/dev/null").unwrap());
    let lost = target.lost;
    assert_eq!(target.flush(Mono(9_000_000_000)), Some(lost));
}

#[test]
fn lines_to_pipes_are_cut_at_pipe_buf() {
    let dir = dir("cut");
    let null = || OpenOptions::new().write(true).open("/dev/null").unwrap();
    let mut device = Target::new("null".into(), Sink::Device(null()));
    put(&mut device, &format!("{}\n", "x".repeat(10_000)));
    assert_eq!(device.buffer.len(), PIPE_BUF);
    assert_eq!(device.buffer.last(), Some(&b'\n'));
    let mut file = Target::new("null".into(), Sink::File(null()));
    put(&mut file, &format!("{}\n", "x".repeat(10_000)));
    assert_eq!(file.buffer.len(), 10_001);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_program_reads_lines_and_can_be_started_again() {
    let dir = dir("program");
    let out = dir.join("out");
    let text = format!("head -n 1 >> {}", out.display());
    let mut target = Target::open(&LogTarget::ShellPipe(text)).unwrap();
    let wait = |target: &mut Target, lines: usize| {
        let Sink::Program(piped) = &target.sink else {
            unreachable!()
        };
        let pid = nix::unistd::Pid::from_raw(piped.pid.unwrap());
        nix::sys::wait::waitpid(pid, None).unwrap();
        let text = std::fs::read_to_string(&out).unwrap();
        assert_eq!(text.lines().count(), lines, "{text}");
    };
    put(&mut target, "one\n");
    target.flush(Mono(5));
    wait(&mut target, 1);
    // Written while nothing reads: the next program finds it in the pipe.
    put(&mut target, "two\n");
    target.flush(Mono(6));
    let Sink::Program(piped) = &mut target.sink else {
        unreachable!()
    };
    piped.spawn().unwrap();
    wait(&mut target, 2);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "one\ntwo\n");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn programs_that_cannot_start() {
    let words = |w: &[&str]| LogTarget::Pipe(w.iter().map(|w| w.to_string()).collect());
    assert!(Target::open(&words(&["cat"])).is_err());
    assert!(Target::open(&words(&[])).is_err());
    assert!(Target::open(&words(&["/no/such/program", "x"])).is_err());
    let none = LogTarget::Syslog {
        facility: "none".into(),
        tag: "x".into(),
    };
    assert!(Target::open(&none).is_err());
}
