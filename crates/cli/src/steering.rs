//! What the steering commands share: find the loop, let only people pass, do it, say how the loop stands now.

use loop_core::Role;
use loop_router::reading::Reading;
use loop_router::steer::Steer;
use loop_store::LoopRow;
use serde_json::json;

use crate::client::Client;
use crate::commands::DONE;
use crate::commands::commit::nobody;
use crate::failure::{Done, Failure};
use crate::here::Here;
use crate::output;
use crate::people::only_people;
use crate::world::World;

/// A loop that is about to be steered.
pub(crate) struct Helm {
    /// Store and router.
    pub(crate) client: Client,
    /// The loop around the current folder.
    pub(crate) here: Here,
    /// Its row.
    pub(crate) row: LoopRow,
}

impl Helm {
    /// Takes the helm of the loop around the current folder, if a person asks for it.
    pub(crate) async fn take(world: &World, what: &str) -> Result<Self, Failure> {
        let (client, here) = Here::with_client(world).await?;
        let row = here.known_row()?.clone();
        only_people(&client, &row, what).await?;
        Ok(Self { client, here, row })
    }

    /// The number of turns and the tip as they stand now; also where STATUS.md cannot be read, as on record.
    pub(crate) async fn seen(&mut self, world: &World) -> Result<(usize, Option<String>), Failure> {
        match self.here.read(world)? {
            Reading::Loop(observed) => Ok((observed.status.turns.len(), Some(observed.tip.to_string()))),
            _ => Ok((self.client.store.turns(&self.row.id).await?.len(), self.row.tip.clone())),
        }
    }

    /// The agent of this loop that is called `name`. Where loop.yaml cannot be read, the name as it is: the router
    /// knows the approved one.
    pub(crate) fn agent(&self, world: &World, name: &str) -> Result<String, Failure> {
        let Ok((config, _)) = self.here.config(world) else { return Ok(name.to_owned()) };
        match config.cast().find(name) {
            Some((name, Role::Agent)) => Ok(name.to_string()),
            Some((name, _)) => Err(Failure::say(format!("{name} is no agent of this loop"))),
            None => Err(nobody(&config, name)),
        }
    }

    /// Does it and says so.
    pub(crate) async fn steer(&self, command: &Steer, json: bool, said: &str) -> Done {
        self.client.steer(&self.row.id, command).await?;
        if json {
            output::json(&json!({"status": "ok", "loop": self.row.id, "done": said}));
        } else {
            output::line(said);
            if self.client.router.is_none() {
                output::note("the router is not running; it follows this when it is back (`loop up`).");
            }
        }
        Ok(DONE)
    }
}
