//! Adding an agent to `loop.yaml` and removing one, while the loop goes on.

use std::path::PathBuf;

use jiff::Timestamp;
use loop_core::config::edit;
use loop_core::decide::Decision;
use loop_core::{Config, Name};
use loop_git::{Blob, CommitOpts, Head, ID_TRAILER, commit_paths, write_atomic};
use loop_router::reading::{CONFIG_FILE, Reading};
use loop_router::steer::{Steer, steer};
use loop_store::LoopRow;
use serde::Serialize;

use crate::casting;
use crate::client::Client;
use crate::failure::Failure;
use crate::here::Here;
use crate::people::only_people;
use crate::scribe::Scribe;
use crate::skills::{self, Skill};
use crate::world::World;

/// What became of a change of the cast.
#[derive(Debug, Serialize)]
pub(crate) struct Changed {
    /// Whom it is about.
    pub(crate) agent: Name,
    /// What was done, in lines.
    pub(crate) said: Vec<String>,
    /// The commit, where there was one.
    pub(crate) commit: Option<String>,
    /// The turn from which it holds, while a loop goes on.
    pub(crate) from_turn: Option<usize>,
}

/// Adds `NAME[=KIND]`, behind `after` or last. One who is there already gets its skill anew, and nothing else.
pub(crate) async fn add(world: &World, text: &str, after: Option<&str>) -> Result<Changed, Failure> {
    let mut cast = Cast::open(world, "agents add").await?;
    let (name, kind) = text.split_once('=').map_or((text, None), |(name, kind)| (name, Some(kind)));
    if let Some(there) = cast.config.agents.iter().find(|agent| agent.name.matches(name))
        && kind.is_none_or(|kind| kind == there.kind)
        && after.is_none()
    {
        let name = there.name.clone();
        let said = cast.skill(&name).await?.unwrap_or_else(|| "nothing was changed".to_owned());
        let said = vec![format!("{name} is an agent already; {said}.")];
        return Ok(Changed { agent: name, said, commit: None, from_turn: None });
    }
    let (name, kind) = casting::read_agent(world, text)?;
    let kinds = &world.settings.kinds;
    let changed = match after {
        Some(after) => {
            let after = Name::new(after).map_err(Failure::users)?;
            edit::add_agent_after(&cast.text, CONFIG_FILE, &name, &kind, &after, kinds)
        }
        None => edit::add_agent(&cast.text, CONFIG_FILE, &name, &kind, kinds),
    };
    let changed = changed.map_err(Failure::say)?;
    let commit = cast.change(world, &changed, &format!("loop: add {name}")).await?;
    let mut said = vec![format!("{name} ({kind}) is in loop.yaml: {}.", cast.config.rotation)];
    if let Some(skill) = cast.skill(&name).await? {
        said.push(format!("{}.", capital(&skill)));
    }
    let from_turn = cast.holds_from(world, &name, &mut said)?;
    if cast.here.row.as_ref().is_some_and(|row| row.up) {
        said.push("`loop up` opens its window.".to_owned());
    }
    Ok(Changed { agent: name, said, commit: Some(commit), from_turn })
}

/// Removes an agent that has had no turn in the present loop.
pub(crate) async fn remove(world: &World, name: &str) -> Result<Changed, Failure> {
    let mut cast = Cast::open(world, "agents remove").await?;
    let name = Name::new(name).map_err(Failure::users)?;
    let name = cast.config.agent(&name).map_or(name, |agent| agent.name.clone());
    if let Reading::Loop(observed) = cast.here.read(world)? {
        let turns = observed.status.turns.iter().filter(|turn| turn.author == name).count();
        if turns > 0 {
            return Err(Failure::say(format!(
                "{name} has had {turns} turns in this loop, which could not be read any more without its name"
            ))
            .next(format!("`loop skip {name}` leaves it out; remove it after `loop archive`")));
        }
    }
    let out =
        cast.here.known.deliveries.iter().any(|delivery| delivery.agent == name && delivery.state.is_out());
    if out {
        return Err(Failure::say(format!("{name} is at work on its turn")).next(format!(
            "`loop stop` interrupts it, then again; or `loop skip {name}` leaves it out from now on"
        )));
    }
    let changed =
        edit::remove_agent(&cast.text, CONFIG_FILE, &name, &world.settings.kinds).map_err(Failure::say)?;
    let commit = cast.change(world, &changed, &format!("loop: remove {name}")).await?;
    let mut said = vec![format!("{name} is out of loop.yaml: {}.", cast.config.rotation)];
    if let Some(row) = &cast.here.row
        && let Some(left) = crate::registering::leave(world, &cast.client, row, &name, true).await?
    {
        said.push(left);
    }
    let from_turn = cast.holds_from(world, &name, &mut said)?;
    Ok(Changed { agent: name, said, commit: Some(commit), from_turn })
}

/// `loop.yaml` as it stands, sure that it is the approved one.
struct Cast {
    client: Client,
    here: Here,
    path: PathBuf,
    text: String,
    config: Config,
    /// The loop in whose name the changed text is approved, where the present one is.
    approves: Option<LoopRow>,
}

impl Cast {
    async fn open(world: &World, what: &str) -> Result<Self, Failure> {
        let (client, here) = Here::with_client(world).await?;
        if let Some(row) = &here.row {
            only_people(&client, row, what).await?;
        }
        let repo = here.reader.repo();
        if let Some(operation) = repo.operation() {
            return Err(
                Failure::say(format!("{operation} is under way")).next("finish or abort it, then try again")
            );
        }
        let head = repo.head()?;
        let Head::Branch { name: branch, tip: Some(tip) } = &head else {
            return Err(
                Failure::say("there is no branch with a commit here").next("`git switch BRANCH`, then again")
            );
        };
        if let Some(row) = here.row.as_ref().filter(|row| row.branch != *branch) {
            return Err(Failure::say(format!("the loop lives on {}, and you are on {branch}", row.branch))
                .next(format!("`git switch {}`, then again", shell_words::quote(&row.branch))));
        }
        let Blob::File(committed) = repo.blob(tip, CONFIG_FILE)? else {
            return Err(Failure::say(format!("there is no loop.yaml on {branch}"))
                .next("`loop init` writes one; one of yours must be committed"));
        };
        // Whatever else changed in it would be committed, and approved, unseen.
        match repo.worktree_file(CONFIG_FILE)? {
            Blob::File(bytes) if bytes == committed => {}
            _ => {
                return Err(Failure::say("loop.yaml has changes that are not committed")
                    .next("commit them (`loop trust` approves them), or undo them, then again"));
            }
        }
        let text = String::from_utf8(committed).map_err(|_| Failure::say("loop.yaml is not UTF-8"))?;
        let config = Config::parse(&text, CONFIG_FILE, &world.settings.kinds).map_err(Failure::say)?;
        if let Some(approved) = here.row.as_ref().and_then(|row| row.approved_text.as_deref())
            && approved != text
        {
            return Err(Failure::say("loop.yaml was changed since a person approved it")
                .next("`loop trust` shows the difference and approves it; then again"));
        }
        let approves = match &here.row {
            Some(row) => row.approved_text.is_some().then(|| row.clone()),
            None => approved_before(&client, &here, &text).await?,
        };
        let path = repo.place().worktree.join(CONFIG_FILE);
        Ok(Self { client, here, path, text, config, approves })
    }

    /// Writes the changed text, approves it and commits it alone; taken back when git refuses.
    async fn change(&mut self, world: &World, changed: &str, subject: &str) -> Result<String, Failure> {
        let config = Config::parse(changed, CONFIG_FILE, &world.settings.kinds).map_err(Failure::say)?;
        let repo = self.here.reader.repo();
        // In the store itself and before the commit: a router that saw one without the other would hold the loop.
        self.approve(changed).await?;
        let committed = write_atomic(&self.path, changed.as_bytes()).and_then(|()| {
            let id = self.here.row.as_ref().map(|row| format!("\n\n{ID_TRAILER}: {}\n", row.id));
            let message = format!("{subject}{}", id.unwrap_or_default());
            let mut nothing = || {};
            let opts = CommitOpts::of_loop(&mut nothing);
            commit_paths(&repo.git(&world.git_env), &[PathBuf::from(CONFIG_FILE)], &message, opts)
        });
        let committed = match committed {
            Ok(committed) => committed,
            Err(error) => {
                write_atomic(&self.path, self.text.as_bytes())?;
                self.approve(&self.text).await?;
                return Err(error.into());
            }
        };
        if let (Some(router), Some(row)) = (&self.client.router, &self.here.row) {
            // The router sees the commit by itself; asked for the state it looks at once.
            let _ = router.get::<serde_json::Value>(&format!("/api/loops/{}/status", row.id)).await;
        }
        changed.clone_into(&mut self.text);
        self.config = config;
        Ok(committed.id.to_string())
    }

    async fn approve(&self, text: &str) -> Result<(), Failure> {
        let Some(row) = &self.approves else { return Ok(()) };
        let trust = Steer::Trust { text: text.to_owned() };
        steer(&self.client.store, &row.id, &trust, &self.client.kinds, Timestamp::now())
            .await
            .map_err(Failure::ours)?;
        Ok(())
    }

    /// Writes the skill where the agent's CLI looks for it; says so when it was not there.
    async fn skill(&self, name: &Name) -> Result<Option<String>, Failure> {
        let Some(agent) = self.config.agent(name) else { return Ok(None) };
        let repo = self.here.reader.repo();
        let root = &repo.place().worktree;
        let mut scribe = Scribe::new(&self.client.store, root);
        match skills::look(root, &agent.profile) {
            Skill::NotNeeded | Skill::Current(_) => Ok(None),
            Skill::Differs(file) => {
                scribe.file(&root.join(&file), skills::SKILL.as_bytes()).await?;
                Ok(Some(format!("its skill was written anew into {}", file.display())))
            }
            Skill::Missing(file) => {
                let folders: Vec<String> = agent.profile.skills.iter().take(1).cloned().collect();
                skills::write(&mut scribe, repo, &folders, false).await?;
                Ok(Some(format!("its skill was written into {}", file.display())))
            }
        }
    }

    /// Says from which turn the change holds.
    fn holds_from(
        &mut self,
        world: &World,
        name: &Name,
        said: &mut Vec<String>,
    ) -> Result<Option<usize>, Failure> {
        if let Some(row) = &self.here.row {
            match &self.approves {
                Some(_) => {
                    self.here.known.row = Some(LoopRow {
                        approved: Some(loop_core::config::hash(&self.text)),
                        approved_text: Some(self.text.clone()),
                        ..row.clone()
                    });
                }
                None => said.push("It is not approved yet: `loop up` shows loop.yaml and asks.".to_owned()),
            }
        }
        let Reading::Loop(observed) = self.here.read(world)? else {
            said.push("It holds for the next loop.".to_owned());
            return Ok(None);
        };
        let turn = observed.decided.decision.turn();
        let skipped = self.here.row.as_ref().map(|row| row.skipped.clone()).unwrap_or_default();
        said.push(first_turn(&observed.decided.decision, &self.config, &skipped, name));
        Ok(Some(turn))
    }
}

/// The newest loop of this repository, ended or not, that approved this very text.
async fn approved_before(client: &Client, here: &Here, text: &str) -> Result<Option<LoopRow>, Failure> {
    let common_dir = &here.reader.repo().place().common_dir;
    let loops = client.store.loops(true).await?;
    Ok(loops
        .into_iter()
        .rfind(|row| row.common_dir == *common_dir && row.approved_text.as_deref() == Some(text)))
}

/// From which turn the rotation holds, and which is the first of `name`'s when everybody hands on in order.
fn first_turn(decision: &Decision, config: &Config, skipped: &[Name], name: &Name) -> String {
    let turn = decision.turn();
    let Decision::Wake { agent: due, .. } = decision else { return format!("It holds from turn {turn} on.") };
    let out = |other: &Name| skipped.contains(other) || config.agent(other).is_some_and(|agent| agent.skip);
    let mut who = due;
    for later in turn..turn + config.rotation.len() {
        if who == name {
            return match later - turn {
                0 => format!("It holds from turn {turn} on, which is {name}'s."),
                _ => format!(
                    "It holds from turn {turn} on, which is {due}'s; {name}'s first is turn {later}, if everybody hands on \
                     in order."
                ),
            };
        }
        match config.rotation.next(who, &out) {
            Some(next) => who = next,
            None => break,
        }
    }
    format!("It holds from turn {turn} on, which is {due}'s.")
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_first_turn_is_counted_along_the_rotation() {
        let name = |text: &str| Name::new(text).unwrap();
        let config = |rotation: &str| {
            let text = format!("agents: {{CC: , Codex: , Q: {{kind: qwen}}}}\nrotation: {rotation}\n");
            Config::parse(&text, "loop.yaml", &std::collections::BTreeMap::new()).unwrap()
        };
        let wake = |agent: &str| Decision::Wake { agent: name(agent), turn: 4, reason: String::new() };
        for (rotation, due, skipped, expected) in [
            ("[CC, Codex, Q]", "CC", vec![], "turn 4 on, which is CC's; Q's first is turn 6"),
            ("[CC, Codex, Q]", "CC", vec![name("Codex")], "Q's first is turn 5"),
            ("[CC, Codex, Q]", "Q", vec![], "from turn 4 on, which is Q's."),
            ("[CC, Codex]", "CC", vec![], "from turn 4 on, which is CC's."),
            ("{CC: Codex, Codex: CC, Q: CC}", "CC", vec![], "from turn 4 on, which is CC's."),
        ] {
            let said = first_turn(&wake(due), &config(rotation), &skipped, &name("Q"));
            assert!(said.contains(expected), "{rotation}: {said}");
        }
    }
}
