//! Sandboxes and scripted agents for tests.
//!
//! A test that starts a program starts it from a [`Sandbox`]: a folder of its own with its own `HOME`, git
//! configuration, temporary folder and tmux socket, and an environment that holds nothing else. What the sandbox
//! started ends with it. A test that waits calls [`eventually`], which fails saying what it last saw.
//!
//! The program `loop-fake-agent` plays an agent CLI in a real terminal by a [`script`]; what was really submitted
//! to it stands in its log, so a test compares what `loop` claims with what happened.
//!
//! The program `loop-fake-tui` plays the screens and the manners of a certain CLI, and every trouble of a [`tui`]
//! script; against it the sender is tried by the thousand (`cargo xtask conformance`).
//!
//! The program `loop-stub-model` takes the model's place behind a real agent CLI, by a [`stub_model`] script.
//!
//! Only tests depend on this crate; it panics where a test would.

mod eventually;
mod repo;
mod sandbox;
pub mod script;
pub mod stub_model;
pub mod terminal;
pub mod tui;

pub use eventually::{eventually, eventually_async};
pub use repo::TestRepo;
pub use sandbox::{Sandbox, require_tool, skipped};
