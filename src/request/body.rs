//! A request's body as handlers see it: bounded, and asking the client for it only when it is read.

use std::rc::Rc;
use std::task::{Context, Poll};

use crate::body::{Length, Raw, Source};
use crate::codec::fields::Fields;
use crate::fault::{Fault, Kind, Origin, Phase};

use super::request::ClientLink;

/// A request's body. Reading it sends `100 Continue` when the client still waits for that.
pub struct RequestBody {
    source: Option<Box<dyn Source>>,
    expects_continue: bool,
    link: Option<Rc<dyn ClientLink>>,
    /// Bytes that may still come; `None`: no bound.
    allowed: Option<u64>,
    /// Bytes handed out so far.
    read: u64,
}

impl RequestBody {
    /// No body.
    pub fn none() -> RequestBody {
        RequestBody {
            source: None,
            expects_continue: false,
            link: None,
            allowed: None,
            read: 0,
        }
    }

    /// The body behind `source`. `expects_continue`: the client (HTTP/1.1) waits for a 100 before it sends it.
    pub fn new(
        source: Box<dyn Source>,
        expects_continue: bool,
        link: Rc<dyn ClientLink>,
    ) -> RequestBody {
        RequestBody {
            source: Some(source),
            expects_continue,
            link: Some(link),
            allowed: None,
            read: 0,
        }
    }

    /// True when there is none at all.
    pub fn is_none(&self) -> bool {
        self.source.is_none()
    }

    /// How much is still to come.
    pub fn length(&self) -> Length {
        self.source.as_ref().map_or(Length::None, |s| s.length())
    }

    /// The client waits for a `100 Continue` that nobody sent yet.
    pub fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// The backend's own 100 was passed on: none is due any more.
    pub fn continue_relayed(&mut self) {
        self.expects_continue = false;
    }

    /// `LimitRequestBody`: more than so many bytes in all end in a 413. 0: no bound.
    pub fn set_limit(&mut self, limit: u64) {
        self.allowed = (limit > 0).then(|| limit.saturating_sub(self.read));
    }

    /// The body as a source, when there is one.
    pub fn source(&mut self) -> Option<&mut dyn Source> {
        match self.source {
            Some(_) => Some(self),
            None => None,
        }
    }

    /// Takes the body out, leaving none.
    pub fn take(&mut self) -> RequestBody {
        std::mem::replace(self, RequestBody::none())
    }

    /// Fills from what has arrived without asking the client for more: no `100 Continue` goes out.
    /// Pending when nothing is there.
    pub fn poll_arrived(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        let Some(source) = &mut self.source else {
            return Poll::Ready(Ok(false));
        };
        let filled = source.poll_fill(cx);
        if let (Poll::Ready(Ok(true)), Some(allowed)) = (&filled, self.allowed)
            && source.data().len() as u64 > allowed
        {
            return Poll::Ready(Err(too_large()));
        }
        filled
    }
}

impl Source for RequestBody {
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        if self.expects_continue {
            self.expects_continue = false;
            if let Some(link) = &self.link {
                link.interim(100, b"Continue", &Fields::default());
            }
        }
        self.poll_arrived(cx)
    }

    fn data(&self) -> &[u8] {
        self.source.as_ref().map_or(&[], |s| s.data())
    }

    fn consume(&mut self, n: usize) {
        self.read += n as u64;
        if let Some(allowed) = &mut self.allowed {
            *allowed = allowed.saturating_sub(n as u64);
        }
        if let Some(source) = &mut self.source {
            source.consume(n);
        }
    }

    fn length(&self) -> Length {
        RequestBody::length(self)
    }

    fn raw(&self) -> Option<Raw> {
        // A body that is still to be asked for must go through `poll_fill` first.
        if self.expects_continue {
            return None;
        }
        let mut raw = self.source.as_ref()?.raw()?;
        if let Some(allowed) = self.allowed {
            raw.remaining = raw.remaining.min(allowed);
        }
        (raw.remaining > 0).then_some(raw)
    }

    fn took_raw(&mut self, n: u64, drained: bool) {
        self.read += n;
        if let Some(allowed) = &mut self.allowed {
            *allowed = allowed.saturating_sub(n);
        }
        if let Some(source) = &mut self.source {
            source.took_raw(n, drained);
        }
    }

    fn ended(&self) -> bool {
        self.source.as_ref().is_none_or(|s| s.ended())
    }
}

fn too_large() -> Fault {
    Fault::new(
        Origin::Client,
        Phase::Sending,
        Kind::TooLarge(413),
        "the request's body is larger than LimitRequestBody allows",
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::task::Waker;

    use super::*;
    use crate::body::Bytes;

    #[derive(Default)]
    struct Counting(Cell<u32>);

    impl ClientLink for Counting {
        fn interim(&self, status: u16, _: &[u8], _: &Fields) {
            assert_eq!(status, 100);
            self.0.set(self.0.get() + 1);
        }

        fn gone(&self) -> bool {
            false
        }
    }

    fn cx() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    #[test]
    fn reading_asks_the_client_once() {
        let link = Rc::new(Counting::default());
        let mut body = RequestBody::new(Box::new(Bytes::new("abc")), true, link.clone());
        assert!(matches!(
            body.poll_arrived(&mut cx()),
            Poll::Ready(Ok(true))
        ));
        assert_eq!(link.0.get(), 0);
        assert!(matches!(body.poll_fill(&mut cx()), Poll::Ready(Ok(true))));
        assert!(matches!(body.poll_fill(&mut cx()), Poll::Ready(Ok(true))));
        assert_eq!(link.0.get(), 1);
    }

    #[test]
    fn a_relayed_continue_is_not_sent_again() {
        let link = Rc::new(Counting::default());
        let mut body = RequestBody::new(Box::new(Bytes::new("abc")), true, link.clone());
        body.continue_relayed();
        assert!(matches!(body.poll_fill(&mut cx()), Poll::Ready(Ok(true))));
        assert_eq!(link.0.get(), 0);
    }

    #[test]
    fn too_much_is_a_413() {
        let mut body = RequestBody::new(
            Box::new(Bytes::new("abcdef")),
            false,
            Rc::new(Counting::default()),
        );
        body.set_limit(6);
        assert!(matches!(body.poll_fill(&mut cx()), Poll::Ready(Ok(true))));
        body.consume(3);
        body.set_limit(5);
        let Poll::Ready(Err(fault)) = body.poll_fill(&mut cx()) else {
            panic!("not refused");
        };
        assert_eq!(fault.kind, Kind::TooLarge(413));
    }
}
