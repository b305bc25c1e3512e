//! The demo: three scripted agents on a scratch repository.
//!
//! Nothing about the loop is faked. The demo types the commands that a user types (`loop init`, `loop up`, `loop
//! archive`, `loop down`) in a scratch home of its own, the agents are programs in windows of their own tmux server
//! (or one run per turn where there is no tmux), and they use `loop turn` and `loop commit` as the skill says. Only
//! what they think is written down beforehand, in [`agent`].

pub(crate) mod agent;
pub(crate) mod play;
