//! The store from outside, on real files.
#![allow(clippy::unwrap_used)]

mod opening;
mod relay;
mod support;
