//! The `tmux` program, spoken to with care.
//!
//! A window's pane is addressed by its id (`%3`), which tmux never gives twice, and recognised by two pane options,
//! `@loop_id` and `@loop_agent`; names, titles and indices change under one's hands. tmux answers questions about
//! a pane that is gone with another pane's figures and exit status 0, so a pane is only ever looked up in the
//! list of all panes.
//!
//! Agents are the pane's own command, never typed into a shell, and `remain-on-exit` keeps what they said last.
//! Commands that carry an environment go through tmux's stdin: process arguments can be read by everybody.

mod answer;
mod composer;
mod lock;
mod others;
mod pane;
mod quote;
mod ready;
mod send;
mod server;
mod told;
mod unchanged;
mod window;

pub(crate) use lock::PaneLock;
pub use pane::{Pane, PaneId, Started, Tags};
pub(crate) use ready::Eye;
pub use ready::NotReady;
pub(crate) use send::send;
pub use server::{Server, TmuxError, Version};
pub use window::OpenWindow;
