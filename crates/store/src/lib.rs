//! The store: what loop remembers beside git.
//!
//! Git holds the protocol: turns and verdicts are in STATUS.md, and losing the store loses none of them. The store
//! holds what git cannot know: which loops there are and what was decided last, which wakes were made and what
//! became of them, where each agent can be reached, what went wrong, and what was written outside git's objects.
//!
//! [`Store::open`] takes a URL; its scheme picks a row of [`stores::TABLE`]. There is one so far: SQLite, one file,
//! safe with several processes at once. What was decided or sent is flushed to the disk before it counts.
//!
//! The heart is the ledger of deliveries. [`Store::record`] takes what the relay decided and, in one transaction,
//! writes turns, decision and the delivery that follows. A delivery is unique on (loop, turn, agent, attempt), so
//! recording twice, or crashing between any two lines, queues it once. [`Store::claim`] hands a delivery to one
//! courier at a time, never two for one agent of a loop. [`Store::advance`] moves it along as
//! [`DeliveryState::may_become`](loop_core::DeliveryState::may_become) allows, by compare-and-set, and adds the
//! line to the ledger in the same transaction. [`Store::recover`] finds out after a crash which sends were cut off.
//!
//! Nothing here asks for the time: every change takes `now`. Times are kept to the millisecond.

mod attempts;
mod check;
mod columns;
mod deliveries;
mod error;
mod events;
mod incidents;
mod journal;
mod ledger;
mod loops;
mod migrate;
mod relay;
mod sessions;
mod steering;
mod store;
pub mod stores;
mod witnessed;

pub use check::StoreReport;
pub use error::StoreError;
pub use events::Event;
pub use incidents::{Incident, Severity};
pub use journal::{Write, WriteKind, WriteRow};
pub use ledger::LedgerLine;
pub use loop_core::{Delivery, DeliveryState};
pub use loops::{LoopPatch, LoopRow, NewLoop};
pub use relay::{Outcome, Recorded, TurnRecord};
pub use sessions::SessionRow;
pub use store::Store;
pub use witnessed::{Limited, Witnessed};
