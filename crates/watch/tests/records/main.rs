//! Real-looking records, read as the router reads them.

#![allow(clippy::unwrap_used)]

mod claude;
mod codex;
mod damage;
mod gemini;
mod interrupted;
mod opencode;
mod qwen;
mod sqlite;
mod stage;
mod stores;
