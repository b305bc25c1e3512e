//! The notifier in real repositories, with the real git.
#![allow(clippy::unwrap_used)]

mod bytes;
mod managers;
mod proof;
mod ring;
mod router;
mod world;
