//! Making processes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use nix::sys::signal::Signal;
use nix::unistd::{self, ForkResult};

/// Which of the two processes this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The old one, with the new one's pid.
    Parent(i32),
    /// The new one.
    Child,
}

/// Forks. The new process has copies of everything and must close what is not its own; standard
/// streams' buffers are flushed before, so that nothing is written twice.
///
/// # Errors
/// `EAGAIN` at the limit of processes, `ENOMEM`; `EBUSY` when this process has several threads,
/// since another thread's locks would stay locked in the new process for ever.
#[allow(unsafe_code)]
pub fn fork() -> io::Result<Forked> {
    use std::io::Write;
    if threads() > 1 {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    // A failed flush (closed stream) loses what could not be written anyway.
    let _ = io::stdout().flush();
    // SAFETY: the process has one thread (checked above), so the child's memory is consistent and
    // it may do anything.
    match unsafe { unistd::fork() }? {
        ForkResult::Parent { child } => Ok(Forked::Parent(child.as_raw())),
        ForkResult::Child => Ok(Forked::Child),
    }
}

/// Leaves the terminal: a session of its own, `/` as working directory.
///
/// # Errors
/// `EPERM` when this process leads a group already.
pub fn new_session() -> io::Result<()> {
    unistd::setsid()?;
    Ok(unistd::chdir("/")?)
}

/// Points a standard stream (0, 1 or 2) to another file.
///
/// # Errors
/// Of `dup2`.
pub fn redirect(stream: i32, to: impl AsFd) -> io::Result<()> {
    let to = to.as_fd();
    Ok(match stream {
        0 => unistd::dup2_stdin(to),
        1 => unistd::dup2_stdout(to),
        _ => unistd::dup2_stderr(to),
    }?)
}

/// Closes everything but the standard streams: what a shell or another parent left open by mistake
/// (the pipe that a script reads from, say) must not stay open in a daemon.
///
/// For the very start of a process only, before it owns any other descriptor.
#[allow(unsafe_code)]
pub fn close_inherited() {
    // SAFETY: the caller owns no descriptor above 2 yet, so none that is in use is closed. An old
    // kernel without the call leaves them open, which harms nobody.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// A pipe whose ends are not inherited over `exec`.
///
/// # Errors
/// Out of descriptors.
pub fn pipe(nonblocking: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    use nix::fcntl::OFlag;
    let mut flags = OFlag::O_CLOEXEC;
    flags.set(OFlag::O_NONBLOCK, nonblocking);
    Ok(unistd::pipe2(flags)?)
}

/// Has the kernel send this process a signal when its parent dies. A change of user or group
/// clears it, so that comes before; the parent may have died before the call, so look at it after.
///
/// # Errors
/// Of `prctl`.
pub fn set_death_signal(signal: Signal) -> io::Result<()> {
    Ok(nix::sys::prctl::set_pdeathsig(signal)?)
}

/// Lets this process leave a core dump although it has changed its user.
///
/// # Errors
/// Of `prctl`.
pub fn allow_core_dumps() -> io::Result<()> {
    Ok(nix::sys::prctl::set_dumpable(true)?)
}

/// The parent's pid; 1, or that of a sub-reaper, once the real one has died.
pub fn parent() -> i32 {
    unistd::getppid().as_raw()
}

/// This process's pid.
pub fn pid() -> i32 {
    unistd::getpid().as_raw()
}

/// The name that `ps -o comm` and `top` show, cut to 15 bytes.
pub fn set_title(title: &str) {
    let mut bytes = title.as_bytes().to_vec();
    bytes.truncate(15);
    if let Ok(name) = std::ffi::CString::new(bytes) {
        // Only a name: what fails here hurts nobody.
        let _ = nix::sys::prctl::set_name(&name);
    }
}

/// Runs `f` when this process ends by `exit` (not when a signal ends it, and not in processes that
/// it forks). One is remembered: a second call replaces the first.
pub fn at_exit(f: impl FnOnce() + Send + 'static) {
    let mut slot = EXIT.lock().unwrap_or_else(PoisonError::into_inner);
    let first = slot.is_none();
    *slot = Some((pid(), Box::new(f)));
    if first {
        register();
    }
}

type ExitHook = (i32, Box<dyn FnOnce() + Send>);
static EXIT: Mutex<Option<ExitHook>> = Mutex::new(None);

#[allow(unsafe_code)]
fn register() {
    extern "C" fn run() {
        let hook = EXIT.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((owner, f)) = hook
            && owner == pid()
        {
            f();
        }
    }
    // SAFETY: `run` is a function of the right type that lives as long as the program and does not
    // unwind (panics abort).
    unsafe { libc::atexit(run) };
}

/// How many threads this process has.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, |d| d.count())
}
