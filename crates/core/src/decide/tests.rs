#![allow(clippy::unwrap_used)]

mod laws;
mod limits;
mod policies;
mod texts;
mod turns;
