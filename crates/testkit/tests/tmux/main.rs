//! The tmux transport against scripted agents in real windows. What is claimed is compared with the agents' own
//! logs.

#![allow(clippy::unwrap_used)]

mod launching;
mod refusing;
mod sending;
mod stage;
