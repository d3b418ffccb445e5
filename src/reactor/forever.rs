//! Thread-local state without a destructor: a child ends by leaving the process, and an access
//! that need not look whether the state is gone already is a plain one.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::thread::LocalKey;

/// A cell that is never dropped.
pub(super) struct Forever<T>(ManuallyDrop<RefCell<T>>);

impl<T> Forever<T> {
    pub(super) const fn new(value: T) -> Forever<T> {
        Forever(ManuallyDrop::new(RefCell::new(value)))
    }
}

/// The accessors that std gives a thread-local `RefCell`.
pub(super) trait Access<T> {
    fn borrowed<R>(&'static self, f: impl FnOnce(&T) -> R) -> R;
    fn changed<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R;
}

impl<T> Access<T> for LocalKey<Forever<T>> {
    fn borrowed<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.0.borrow()))
    }

    fn changed<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.0.borrow_mut()))
    }
}
