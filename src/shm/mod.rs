//! The slot table (`ScoreBoardFile`): what all children must agree on, in one mapped file.
//!
//! Made by the supervisor before it forks; the children inherit the mapping. Other rooms see
//! [`Scoreboard`], [`ChildView`] and copies of records ([`Snapshot`]), never a pointer. Whoever
//! reads the table trusts no length, index or enumeration in it. Nothing here knows a policy:
//! choosing members is `balancer`'s.

#![allow(unsafe_code)]

mod assign;
mod child_view;
mod error;
pub mod inspect;
mod scoreboard;
mod snapshot;
pub mod status;

pub use assign::{Assignment, BalancerRow, WorkerRow};
pub use child_view::{ChildView, RecordGuard, RequestInfo, RequestPhase};
pub use error::ShmError;
pub use scoreboard::{Scoreboard, SlotSummary, TableLock};
pub use snapshot::{BalancerInfo, ChildInfo, ChildState, RequestRecord, Snapshot, WorkerInfo};
