//! Which rows of the table belong to a configuration's workers and balancers.

use crate::ids::{BalancerNo, Generation, WorkerNo};

/// A row of the worker table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerRow(pub u16);

/// A row of the balancer table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BalancerRow(pub u16);

/// Rows by number, for one generation.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    pub(crate) generation: Generation,
    pub(crate) workers: Vec<u16>,
    pub(crate) balancers: Vec<u16>,
}

impl Assignment {
    /// The generation it was made for.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The row of a worker; `None` when the number is not of this configuration.
    pub fn worker(&self, no: WorkerNo) -> Option<WorkerRow> {
        self.workers.get(no.index()).copied().map(WorkerRow)
    }

    /// The row of a balancer; `None` when the number is not of this configuration.
    pub fn balancer(&self, no: BalancerNo) -> Option<BalancerRow> {
        self.balancers.get(no.index()).copied().map(BalancerRow)
    }
}
