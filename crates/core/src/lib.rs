//! The rules of the loop, as values in and values out.
//!
//! A `STATUS.md` is read into a [`Status`]: sections, verdicts and diagnostics. A `loop.yaml` is read into a
//! [`Config`]: who takes part and in what order. [`decide`](decide::decide) takes both, with the [`Facts`] that
//! git, the ledger and the clock add, and says what must happen now. [`append`] adds a section without losing
//! anybody's text. [`Profile`] says how one kind of agent CLI is started, spoken to and read; [`screen`] reads
//! its window.
//!
//! Nothing here opens a file, a socket or a process, asks for the time, or reads the environment.

pub mod append;
pub mod brief;
pub mod cast;
pub mod config;
pub mod decide;
pub mod delivery;
pub mod diagnostic;
pub mod history;
pub mod limit;
pub mod manifest;
pub mod name;
pub mod plain;
pub mod profile;
pub mod records;
pub mod rendezvous;
pub mod report;
pub mod rotation;
pub mod screen;
pub mod settle;
pub mod status;
pub mod task;

pub use cast::{Cast, Role};
pub use config::Config;
pub use decide::{Decision, Facts};
pub use delivery::{Delivery, DeliveryState};
pub use diagnostic::{Code, Diagnostic};
pub use name::Name;
pub use profile::Profile;
pub use rotation::Rotation;
pub use status::{Status, Turn, Verdict};
