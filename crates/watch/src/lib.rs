//! Knows when an agent has really finished: reads the records that its CLI keeps, and never writes to them.
//!
//! A [`Watcher`] looks after one agent. [`look`](Watcher::look) finds the agent's conversation where its profile says
//! (`records:`), reads what is new in it, and says how the newest turn stands. What that is worth beside the turn hook
//! and the screen is weighed by [`loop_core::settle`].
//!
//! Each form of records is a file in `formats` and a row of its table. Records of files share `chats` (which
//! conversation, read anew or only further) and `tail` (the reading); records in SQLite share `database`, which takes
//! no lock that a writer could meet and leaves no file behind.
//!
//! Somebody else writes these stores, at any moment and in forms that change with every release. So nothing here is an
//! error: a line that cannot be read is left out, a store that cannot be read is [`RecordState::Unreadable`] until it
//! can be.

mod by_folder;
mod chats;
mod database;
mod formats;
mod limit;
mod place;
mod story;
mod tail;

pub use place::Place;

use jiff::Timestamp;
use loop_core::profile::Records;
use loop_core::records::{RecordState, Recorded};

use formats::Reader;

/// Watches the records of one agent.
pub struct Watcher {
    reader: Result<Reader, String>,
}

impl Watcher {
    /// A watcher of the records that a profile names, for an agent at `place`.
    pub fn new(records: &Records, place: Place) -> Self {
        let reader = match place.site(&records.at) {
            Some(site) => Ok(formats::open(records, site)),
            None => Err(format!("none of these places is set: {}", records.at.join(", "))),
        };
        Self { reader }
    }

    /// Says how the newest turn stands in the asked `conversation`, else in the newest main conversation of the
    /// agent's folder. Sub-agents and what the CLI asks its model for itself (titles) do not count.
    ///
    /// Costs a few calls of `stat` while nothing has changed. It never fails: [`RecordState::Unreadable`] says why
    /// nothing can be said.
    pub async fn look(&mut self, conversation: Option<&str>, now: Timestamp) -> Recorded {
        match &mut self.reader {
            Ok(reader) => reader.look(conversation, now).await,
            Err(why) => Recorded::without_conversation(RecordState::Unreadable(why.clone())),
        }
    }
}
