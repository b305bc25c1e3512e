//! Ways to reach an agent.
//!
//! A [`Transport`] can do four things with a [`Session`]: say how the agent is ([`Presence`]), wake it with one
//! line of text, interrupt it, and show its last lines. [`kinds::TABLE`] lists the transports: `tmux` types into
//! a visible window, `exec` runs the agent's CLI once per turn, `command` calls a program of the user's, `wait`
//! answers an agent that blocks in `loop wait`, `person` tells a person.
//!
//! What every transport promises: a wake that is refused with [`TransportError::NotNow`] has typed nothing that
//! could still be submitted by us; [`TransportError::Failed`] means that nothing reached the agent, so that
//! trying again cannot wake it twice; whatever may have reached it is [`TransportError::Unknown`]. A receipt
//! never claims more than was seen.
//!
//! [`tmux`] also opens windows and waits until the agent in one is ready.

pub mod kinds;
mod neutral;
mod process;
mod search_path;
pub mod tmux;
mod transport;

pub use kinds::person::Teller;
pub use kinds::wait::WaitRoom;
pub use kinds::{Options, Row, TABLE, open};
pub use neutral::neutral;
pub use transport::{
    Finished, NoProgress, Presence, Progress, Receipt, Session, Transport, TransportError, Wake,
};
