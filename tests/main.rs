//! End-to-end tests.
#![allow(clippy::unwrap_used)]

mod headless;
mod hookless;
mod stage;
mod unruly;
mod windows;
mod workspace;
