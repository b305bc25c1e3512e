//! Bad input: a clear error, the right exit code, nothing lost, nothing run.
//!
//! Every test drives the real program in a [`bench::Bench`]: a home of its own, a router on a free port, its own
//! tmux server.

pub(crate) mod bench;
mod cast;
mod later_commits;
mod places;
mod records;
mod refused;
mod router;
mod sessions;
mod status_file;
mod trust;
mod turn_hook;
mod usage;
mod waiting;
mod webhook;
