//! The store from outside, on real files.
#![allow(clippy::unwrap_used)]

mod deliveries;
mod loops;
mod model;
mod opening;
mod processes;
mod records;
mod relay;
mod support;
