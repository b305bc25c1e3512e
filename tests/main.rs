//! End-to-end tests.
#![allow(clippy::unwrap_used)]

mod workspace;
