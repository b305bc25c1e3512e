//! The transports. One more is one more file here and one more row in [`TABLE`].

use std::path::PathBuf;
use std::sync::Arc;

use crate::tmux::Server;
use crate::transport::Transport;

pub mod command;
pub mod exec;
pub mod person;
pub mod tmux;
pub mod wait;

use person::Teller;
use wait::WaitRoom;

/// What transports are opened with.
#[derive(Debug, Clone)]
pub struct Options {
    /// The tmux server whose windows are typed into, unless an address names another.
    pub tmux: Server,
    /// The folder for locks that keep two processes from typing into one window.
    pub locks: PathBuf,
    /// Where agents that block in `loop wait` are found.
    pub wait_room: WaitRoom,
    /// Who tells people that it is their turn; `None`: nobody can.
    pub teller: Option<Arc<dyn Teller>>,
}

impl Options {
    /// The default tmux server, an empty wait room, and nobody who tells people.
    pub fn new(locks: PathBuf) -> Self {
        Self { tmux: Server::default(), locks, wait_room: WaitRoom::default(), teller: None }
    }
}

/// One transport.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name in `loop.yaml`.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Makes one.
    pub open: fn(&Options) -> Arc<dyn Transport>,
}

/// Every transport, in the order in which they are tried by default.
pub const TABLE: &[Row] = &[tmux::ROW, exec::ROW, command::ROW, wait::ROW, person::ROW];

/// Makes the transport `name`; `None` when there is no such one.
pub fn open(name: &str, options: &Options) -> Option<Arc<dyn Transport>> {
    TABLE.iter().find(|row| row.name == name).map(|row| (row.open)(options))
}

#[cfg(test)]
pub(crate) mod testing {
    use std::collections::BTreeMap;

    use loop_core::{Name, Profile};

    use crate::transport::Session;

    /// A session of the agent CC with an empty profile, for unit tests.
    pub(crate) fn session(kind: &str) -> Session {
        let profile: Profile = serde_json::from_value(serde_json::json!({
            "kind": "test", "version": 1, "invoke": "/agent-loop {name}"
        }))
        .expect("a profile");
        Session {
            loop_id: "loop-1".to_owned(),
            agent: Name::new("CC").expect("a name"),
            kind: kind.to_owned(),
            address: serde_json::Value::Null,
            workdir: std::env::temp_dir(),
            profile,
            command: None,
            permissions: loop_core::config::Permissions::Edits,
            env: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]),
            conversation: None,
            outputs: std::env::temp_dir(),
            git_dir: None,
            verify: None,
            past_limit: false,
            began: None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_folder_and_the_table_agree() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kinds");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|file| file != "mod.rs")
            .map(|file| file.trim_end_matches(".rs").to_owned())
            .collect();
        let rows: BTreeSet<String> = TABLE.iter().map(|row| row.name.to_owned()).collect();
        assert_eq!(files, rows);
        let named: BTreeSet<String> = loop_core::config::TRANSPORTS.map(str::to_owned).into();
        assert_eq!(rows, named, "what loop.yaml may name");
        assert_eq!(rows.len(), TABLE.len(), "a name stands twice");
    }
}
