//! Expressions that look at files, on helper threads: a file may be on a disk that does not answer.
//!
//! Of each expression one look is under way at a time, so that a file that hangs holds one thread,
//! however many members are checked by it; a look that takes too long fails its check alone.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::clock::{self, Mono};
use crate::reactor::{Lane, helper, spawn, timeout};

/// The looks under way.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// By what is looked by: since when, and who wants to be next.
    running: RefCell<HashMap<String, (Mono, Vec<Waker>)>>,
}

impl Looks {
    /// The value of `look`, which may block.
    ///
    /// # Errors
    /// There was none `within` this time; the text says why.
    pub async fn look<T: Send + 'static>(
        self: &Rc<Self>,
        by: &str,
        within: Duration,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        let value = timeout(within, async {
            match self.turn(by, within).await {
                Ok(()) => Ok(self.run(by, look).await),
                Err(hung) => Err(format!(
                    "the expression took too long: it has hung for {hung:.1?} in an earlier check"
                )),
            }
        });
        value
            .await
            .unwrap_or_else(|_| Err(format!("the expression took too long (over {within:.1?})")))
    }

    /// Takes the turn, which [`Self::run`] gives back. `Err`: for how long another has had it, when
    /// there is no hope.
    async fn turn(&self, by: &str, hope: Duration) -> Result<(), Duration> {
        poll_fn(|cx| {
            let now = clock::read_mono();
            let mut running = self.running.borrow_mut();
            let Some((since, next)) = running.get_mut(by) else {
                running.insert(by.to_owned(), (now, Vec::new()));
                return Poll::Ready(Ok(()));
            };
            let taken = now.since(*since);
            if taken >= hope {
                return Poll::Ready(Err(taken));
            }
            next.push(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// A task of its own, so that the turn ends with the look and not with the check.
    async fn run<T: Send + 'static>(
        self: &Rc<Self>,
        by: &str,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let done = Rc::new((Cell::new(None), Cell::new(None::<Waker>)));
        let (theirs, looks, by) = (Rc::clone(&done), Rc::clone(self), by.to_owned());
        spawn(async move {
            theirs.0.set(Some(helper(Lane::Checks, look).await));
            let next = looks.running.borrow_mut().remove(&by);
            for waker in next.into_iter().flat_map(|(_, next)| next) {
                waker.wake();
            }
            if let Some(waker) = theirs.1.take() {
                waker.wake();
            }
        });
        poll_fn(|cx| match done.0.take() {
            Some(value) => Poll::Ready(value),
            None => {
                done.1.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::task::block_on;
    use crate::reactor::timer;
    use std::sync::mpsc::channel;

    const LONG: Duration = Duration::from_secs(10);
    const SHORT: Duration = Duration::from_millis(20);

    /// A check has an end even when its expression looks at a file that hangs; checks by the same
    /// expression fail without a thread of their own, others go on.
    #[test]
    fn a_look_that_hangs_fails_its_check_and_holds_one_thread() {
        block_on(async {
            let looks = Rc::new(Looks::default());
            let (open, wait) = channel::<()>();
            let hung = looks.look("f", SHORT, move || wait.recv().is_err()).await;
            assert!(
                hung.unwrap_err()
                    .starts_with("the expression took too long")
            );
            timer::sleep(SHORT).await;
            // More of them than the lane has threads.
            for _ in 0..20 {
                let why = looks.look("f", SHORT, || true).await.unwrap_err();
                assert!(why.contains("in an earlier check"), "{why}");
            }
            assert_eq!(looks.look("g", LONG, || true).await, Ok(true));
            drop(open);
            assert_eq!(looks.look("f", LONG, || true).await, Ok(true));
            assert!(looks.running.borrow().is_empty());
        });
    }

    #[test]
    fn looks_by_one_expression_take_turns() {
        block_on(async {
            let looks = Rc::new(Looks::default());
            let seen = Rc::new(Cell::new(0));
            for _ in 0..20 {
                let (looks, seen) = (Rc::clone(&looks), Rc::clone(&seen));
                spawn(async move {
                    let value = looks.look("f", LONG, || 1).await;
                    seen.set(seen.get() + value.unwrap_or_default());
                });
            }
            while seen.get() < 20 {
                crate::reactor::task::yield_now().await;
            }
        });
    }
}
