//! The router as a whole: real git, a real store and socket, scripted agents.
#![allow(clippy::unwrap_used, missing_docs)]

mod crashes;
mod damage;
mod examples;
mod fake;
mod holds;
mod http;
mod limits;
mod reaching;
mod turns;
mod verify;
mod witnesses;
mod world;
