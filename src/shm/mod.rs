//! The slot table (`ScoreBoardFile`): what all children must agree on, in one mapped file.
//!
//! Made by the supervisor before it forks; the children inherit the mapping. Other rooms see
//! [`Scoreboard`], [`ChildView`] and copies of records ([`Snapshot`]), never a pointer. Whoever
//! reads the table trusts no length, index or enumeration in it. Nothing here knows a policy:
//! choosing members is `balancer`'s. [`layout`] documents the file field by field.

mod assign;
mod bus_error;
mod carry;
mod child_view;
mod error;
mod file;
mod grown;
mod health;
mod heartbeats;
mod history;
pub mod inspect;
mod jobs;
pub mod layout;
mod leases;
mod manage;
pub mod marks;
mod members;
mod mutex;
mod overruled;
mod record;
mod rows;
pub mod saved;
mod scoreboard;
mod snapshot;
pub mod status;
mod table;
mod table_lock;
mod text;
mod traffic;

#[cfg(test)]
mod tests;

pub use assign::{Assignment, BalancerRow, BeaconRow, WorkerRow};
pub use child_view::{ChildView, RecordGuard, RecordMarker, RequestInfo, RequestPhase};
pub use error::ShmError;
pub use grown::{Found, NewMember};
pub use health::{HealthInfo, HealthState, HealthStep, HealthTexts};
pub use heartbeats::MemberBeat;
pub use history::MOMENT;
pub use jobs::JobInfo;
pub use leases::{LEASES, Lease, LeaseState};
pub use manage::{AddError, BalancerEdit, Busy, ByHand, HealthEdit, MemberEdit};
pub use members::{Asker, BalancerState, MemberState, Notice, Routes, Turn};
pub use scoreboard::{Scoreboard, SlotSummary};
pub use snapshot::{
    BalancerInfo, BeaconInfo, BeaconRole, ChildInfo, ChildState, RequestRecord, Snapshot,
    WorkerInfo,
};
pub use table_lock::TableLock;

#[cfg(test)]
pub(crate) use tests::test_dir;
