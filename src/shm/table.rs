//! The mapped (or copied) bytes and typed, bounds-checked views of them.
//!
//! The counts that bound every view are kept in private memory; what the file says of itself is
//! never used to find something.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use memmap2::{MmapMut, MmapOptions};

use super::bus_error;
use super::layout::{self, Layout};
use super::record::{
    BalancerSlot, BeaconSlot, Cell, ChildHead, Header, HealthSlot, LeaseSlot, Record, RequestSlot,
    WorkerSlot,
};

/// A table in memory.
pub struct Table {
    base: NonNull<u8>,
    layout: Layout,
    /// Keeps the memory that `base` points to.
    _map: MmapMut,
}

impl Table {
    /// Maps `file` shared. The file must have the layout's length.
    pub fn map(file: &File, layout: Layout) -> io::Result<Table> {
        // SAFETY: mapping a file is unsafe since others may change or cut it. All views are
        // atomics, so changes are no data race; the file is created by us with mode 0600 and its
        // descriptor is closed after this, so that only the supervisor's user could cut it.
        let map = unsafe { MmapOptions::new().len(layout.length).map_mut(file)? };
        Table::over(map, layout)
    }

    /// Private zeroed memory.
    #[cfg(test)]
    pub fn private(layout: Layout) -> io::Result<Table> {
        Table::over(MmapMut::map_anon(layout.length)?, layout)
    }

    /// Private memory that holds `bytes`; as long as the layout says.
    pub fn copy(bytes: &[u8], layout: Layout) -> io::Result<Table> {
        let mut map = MmapMut::map_anon(layout.length)?;
        if bytes.len() != layout.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        map.copy_from_slice(bytes);
        Table::over(map, layout)
    }

    fn over(mut map: MmapMut, layout: Layout) -> io::Result<Table> {
        let base = NonNull::new(map.as_mut_ptr())
            .filter(|_| map.len() >= layout.length)
            .ok_or(io::ErrorKind::InvalidData)?;
        Ok(Table {
            base,
            layout,
            _map: map,
        })
    }

    /// Where everything is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Makes this process survive the file being cut (see `bus_error`).
    pub fn survive_bus_errors(&self) -> io::Result<()> {
        bus_error::survive(self.base.as_ptr() as usize, self.layout.length)
    }

    /// The file was cut: this memory is no longer the others'.
    pub fn damaged(&self) -> bool {
        bus_error::damaged(self.base.as_ptr() as usize)
    }

    /// A view of the record at `offset`.
    ///
    /// Invariant, kept by the callers below: `offset` is a multiple of `T`'s alignment and the record
    /// ends within the layout's length.
    fn at<T: Record>(&self, offset: usize) -> &T {
        debug_assert!(offset.is_multiple_of(align_of::<T>()));
        assert!(offset + size_of::<T>() <= self.layout.length);
        // SAFETY: `over` made sure that the mapping holds `layout.length` bytes and `_map` keeps it
        // as long as `self`; the assertion above keeps the record inside; mappings begin at a page,
        // so the alignment follows from the offset's (tests::all_tables_are_aligned_and_in_order).
        // `Record` promises that every bit pattern is valid and that all access is atomic.
        unsafe { &*self.base.as_ptr().add(offset).cast::<T>() }
    }

    /// The first page.
    pub fn header(&self) -> &Header {
        self.at(0)
    }

    /// A child slot's first part.
    pub fn child(&self, slot: usize) -> Option<&ChildHead> {
        (slot < self.layout.counts.slots)
            .then(|| self.at(self.layout.children + slot * layout::CHILD))
    }

    /// A request record of a child slot.
    pub fn record(&self, slot: usize, index: usize) -> Option<&RequestSlot> {
        (slot < self.layout.counts.slots && index < layout::RECORDS).then(|| {
            self.at(self.layout.children
                + slot * layout::CHILD
                + layout::CHILD_HEAD
                + index * layout::RECORD)
        })
    }

    /// A balancer slot.
    pub fn balancer(&self, row: usize) -> Option<&BalancerSlot> {
        (row < self.layout.counts.balancers)
            .then(|| self.at(self.layout.balancers + row * layout::BALANCER))
    }

    /// A worker slot.
    pub fn worker(&self, row: usize) -> Option<&WorkerSlot> {
        (row < self.layout.counts.workers)
            .then(|| self.at(self.layout.workers + row * layout::WORKER))
    }

    /// A worker's health slot.
    pub fn health(&self, row: usize) -> Option<&HealthSlot> {
        (row < self.layout.counts.workers)
            .then(|| self.at(self.layout.health + row * layout::HEALTH))
    }

    /// A lease slot of a beacon slot.
    pub fn lease(&self, beacon: usize, index: usize) -> Option<&LeaseSlot> {
        (beacon < self.layout.counts.beacons && index < layout::LEASES).then(|| {
            self.at(self.layout.leases + (beacon * layout::LEASES + index) * layout::LEASE)
        })
    }

    /// A beacon slot.
    pub fn beacon(&self, row: usize) -> Option<&BeaconSlot> {
        (row < self.layout.counts.beacons)
            .then(|| self.at(self.layout.beacons + row * layout::BEACON))
    }

    /// All beacon slots.
    pub fn beacons(&self) -> impl Iterator<Item = (usize, &BeaconSlot)> {
        (0..self.layout.counts.beacons).filter_map(|row| Some((row, self.beacon(row)?)))
    }

    /// What the child of `slot` does with the worker of `row`.
    pub fn cell(&self, slot: usize, row: usize) -> Option<&Cell> {
        let counts = &self.layout.counts;
        (slot < counts.slots && row < counts.workers).then(|| {
            self.at(self.layout.traffic + slot * self.layout.traffic_stride + row * layout::CELL)
        })
    }

    /// Sums up what `of` says of all children's cells for the worker of `row`. Only slots are looked
    /// at that are in use, or that a dead child left and nobody has reset yet: the cells of all
    /// others are zero.
    pub fn sum_cells(&self, row: usize, of: impl Fn(&Cell) -> u64) -> u64 {
        let words = self.layout.counts.slots.div_ceil(64);
        let mut sum = 0u64;
        for (i, word) in self.header().taken.iter().take(words).enumerate() {
            let mut left = word.load(Relaxed);
            while left != 0 {
                let slot = i * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                sum = sum.saturating_add(self.cell(slot, row).map_or(0, &of));
            }
        }
        sum
    }

    /// Notes whether a child slot is in use.
    pub fn mark_taken(&self, slot: usize, on: bool) {
        if let Some(word) = self.header().taken.get(slot / 64) {
            let bit = 1 << (slot % 64);
            if on {
                word.fetch_or(bit, Relaxed);
            } else {
                word.fetch_and(!bit, Relaxed);
            }
        }
    }

    /// All child slots' first parts.
    pub fn children(&self) -> impl Iterator<Item = (usize, &ChildHead)> {
        (0..self.layout.counts.slots).filter_map(|slot| Some((slot, self.child(slot)?)))
    }

    /// All worker slots.
    pub fn workers(&self) -> impl Iterator<Item = (usize, &WorkerSlot)> {
        (0..self.layout.counts.workers).filter_map(|row| Some((row, self.worker(row)?)))
    }

    /// All balancer slots.
    pub fn balancers(&self) -> impl Iterator<Item = (usize, &BalancerSlot)> {
        (0..self.layout.counts.balancers).filter_map(|row| Some((row, self.balancer(row)?)))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        bus_error::forget(self.base.as_ptr() as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::layout::Counts;
    use std::sync::atomic::Ordering;

    #[test]
    fn views_stay_inside() {
        let layout = Layout::new(Counts {
            slots: 2,
            balancers: 1,
            workers: 3,
            beacons: 1,
        })
        .unwrap();
        let t = Table::private(layout).unwrap();
        assert!(t.child(1).is_some() && t.child(2).is_none());
        assert!(t.record(1, 63).is_some() && t.record(1, 64).is_none() && t.record(2, 0).is_none());
        assert!(t.balancer(1).is_none() && t.worker(3).is_none() && t.health(3).is_none());
        assert!(t.lease(0, 255).is_some() && t.lease(0, 256).is_none() && t.lease(1, 0).is_none());
        assert!(t.beacon(0).is_some() && t.beacon(1).is_none());
        assert!(t.cell(1, 2).is_some() && t.cell(1, 3).is_none() && t.cell(2, 0).is_none());
        assert!(t.cell(usize::MAX, usize::MAX).is_none());
    }

    #[test]
    fn tables_do_not_overlap() {
        let layout = Layout::new(Counts {
            slots: 2,
            balancers: 2,
            workers: 2,
            beacons: 1,
        })
        .unwrap();
        let t = Table::private(layout).unwrap();
        for slot in 0..2 {
            t.child(slot).unwrap().pid.store(1, Ordering::Relaxed);
            for i in 0..64 {
                t.record(slot, i).unwrap().request.set(&[b'x'; 95]);
            }
        }
        for row in 0..2 {
            assert_eq!(t.balancer(row).unwrap().used.load(Ordering::Relaxed), 0);
            t.balancer(row).unwrap().server.set(&[b'y'; 255]);
            t.worker(row).unwrap().server.set(&[b'z'; 255]);
        }
        assert_eq!(t.worker(0).unwrap().status.load(Ordering::Relaxed), 0);
        assert_eq!(t.health(0).unwrap().method.load(Ordering::Relaxed), 0);
        assert_eq!(t.worker(0).unwrap().server.bytes().len(), 255);
    }
}
