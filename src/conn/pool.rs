//! Memory for requests in flight, used again and again.
//!
//! A request's future takes some kilobytes. An idle connection must hold none of them, and to ask
//! the allocator for so much at every request costs more than to keep a few blocks at hand.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::exchange::{Next, exchange};
use super::hub::Hub;
use super::wire::Wire;
use crate::clock::Mono;

/// Blocks that are kept for later.
const KEPT: usize = 128;

/// What a request begins with.
pub(super) struct Begin {
    pub(super) hub: Rc<Hub>,
    pub(super) wire: Rc<Wire>,
    pub(super) served: u32,
    pub(super) since: Mono,
}

/// A block with a request's future in it, or none. The future's type has no name, hence the trait.
trait Block {
    fn fill(&mut self, begin: Begin);
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Next>;
    fn empty(&mut self);
}

struct Of<M, F> {
    make: M,
    future: Pin<Box<Option<F>>>,
}

impl<M: Fn(Begin) -> F, F: Future<Output = Next>> Block for Of<M, F> {
    fn fill(&mut self, begin: Begin) {
        self.future.set(Some((self.make)(begin)));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        match self.future.as_mut().as_pin_mut() {
            Some(future) => future.poll(cx),
            None => Poll::Ready(Next::Close),
        }
    }

    fn empty(&mut self) {
        self.future.set(None);
    }
}

fn block() -> Box<dyn Block> {
    Box::new(Of {
        make: |b: Begin| async move { exchange(&b.hub, &b.wire, b.served, b.since).await },
        future: Box::pin(None),
    })
}

/// The blocks that are free.
#[derive(Default)]
pub(super) struct Pool(RefCell<Vec<Box<dyn Block>>>);

impl Pool {
    /// Answers a request in a block of the pool.
    pub(super) async fn exchange(&self, begin: Begin) -> Next {
        let mut running = Running {
            block: Some(self.0.borrow_mut().pop().unwrap_or_else(block)),
            pool: self,
        };
        if let Some(block) = &mut running.block {
            block.fill(begin);
        }
        std::future::poll_fn(|cx| match &mut running.block {
            Some(block) => block.poll(cx),
            None => Poll::Ready(Next::Close),
        })
        .await
    }
}

/// Gives the block back, whether the request was finished or given up.
struct Running<'a> {
    /// Invariant: there until the drop.
    block: Option<Box<dyn Block>>,
    pool: &'a Pool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(mut block) = self.block.take() {
            block.empty();
            let mut pool = self.pool.0.borrow_mut();
            if pool.len() < KEPT {
                pool.push(block);
            }
        }
    }
}
