//! What the fake agents share: a terminal in raw mode, its keys, and lines that fit.

mod keys;
mod lines;
mod raw;

pub use keys::{ASK, Key, Keys};
pub use lines::{cut, width, wrap, wrap_words};
pub use raw::{Raw, print_now, size};
