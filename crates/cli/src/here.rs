//! The loop around the current folder.

use std::path::Path;

use loop_core::Config;
use loop_git::Operation;
use loop_router::reading::{CONFIG_FILE, Known, Observed, Reader, Reading};
use loop_router::relay::remembered;
use loop_store::{LoopRow, Store};

use crate::client::Client;
use crate::failure::{Failure, OURS};
use crate::world::World;

/// The repository around the current folder, with its loop.
pub(crate) struct Here {
    /// The open repository.
    pub(crate) reader: Reader,
    /// The loop's row, where the store knows it.
    pub(crate) row: Option<LoopRow>,
    /// What the store remembers.
    pub(crate) known: Known,
}

impl Here {
    /// Opens the repository, then store and router: outside a repository nothing is made.
    pub(crate) async fn with_client(world: &World) -> Result<(Client, Self), Failure> {
        let reader = Reader::open(&world.cwd, &world.git_env)?;
        let client = Client::open(world).await?;
        let here = Self::around(reader, Some(&client.store)).await?;
        Ok((client, here))
    }

    /// Opens the repository, then the store.
    pub(crate) async fn with_store(world: &World) -> Result<Self, Failure> {
        let reader = Reader::open(&world.cwd, &world.git_env)?;
        let store = Store::open(&world.store_url()).await?;
        Self::around(reader, Some(&store)).await
    }

    /// The same where a store is no must: in an agent's sandbox the state folder may be out of reach, and git
    /// alone is enough.
    pub(crate) async fn with_any_store(world: &World) -> Result<Self, Failure> {
        let reader = Reader::open(&world.cwd, &world.git_env)?;
        let store = Store::open(&world.store_url()).await.ok();
        Self::around(reader, store.as_ref()).await
    }

    /// Opens the repository; `store` where there is one.
    pub(crate) async fn open(world: &World, store: Option<&Store>) -> Result<Self, Failure> {
        Self::at(world, &world.cwd, store).await
    }

    /// The same around another folder.
    pub(crate) async fn at(world: &World, folder: &Path, store: Option<&Store>) -> Result<Self, Failure> {
        Self::around(Reader::open(folder, &world.git_env)?, store).await
    }

    async fn around(reader: Reader, store: Option<&Store>) -> Result<Self, Failure> {
        let worktree = reader.repo().place().worktree.clone();
        let row = match store {
            Some(store) => store.loops(false).await?.into_iter().rfind(|row| row.worktree == worktree),
            None => None,
        };
        let known = match (&row, store) {
            (Some(row), Some(store)) => remembered(store, row.clone()).await?,
            _ => Known::default(),
        };
        Ok(Self { reader, row, known })
    }

    /// Reads the loop and decides.
    pub(crate) fn read(&mut self, world: &World) -> Result<Reading, Failure> {
        Ok(self.reader.read(&self.known, &world.settings.kinds)?)
    }

    /// Reads the loop, or says why there is none to read.
    pub(crate) fn observed(&mut self, world: &World) -> Result<Box<Observed>, Failure> {
        match self.read(world)? {
            Reading::Loop(observed) => Ok(observed),
            Reading::Idle { .. } => Err(no_loop()),
            Reading::Unreadable { why, .. } => Err(Failure::say(why)),
            Reading::Underway(operation) => Err(under_way(operation)),
        }
    }

    /// The row, or why there is none.
    pub(crate) fn known_row(&self) -> Result<&LoopRow, Failure> {
        self.row.as_ref().ok_or_else(no_loop)
    }

    /// The name under which a person acts here: the first of `people:` whom git knows, else the git identity.
    pub(crate) fn person(&self, world: &World) -> String {
        let identity = self.reader.repo().git(&world.git_env).identity().map(|(name, _)| name).ok();
        let people = self.config(world).map(|(config, _)| config.people).unwrap_or_default();
        let named = people.iter().find(|person| identity.as_deref().is_some_and(|name| person.matches(name)));
        named
            .or(people.first())
            .map(ToString::to_string)
            .or(identity)
            .unwrap_or_else(|| world.env.get("USER").cloned().unwrap_or_else(|| "a person".to_owned()))
    }

    /// The configuration as it stands at the tip, else in the working tree.
    pub(crate) fn config(&self, world: &World) -> Result<(Config, String), Failure> {
        let tip = match self.reader.repo().head()? {
            loop_git::Head::Branch { tip, .. } => tip,
            loop_git::Head::Detached(tip) => Some(tip),
        };
        let text = self.reader.config_text(tip.as_ref())?;
        let config = Config::parse(&text, CONFIG_FILE, &world.settings.kinds).map_err(Failure::say)?;
        Ok((config, text))
    }
}

/// A rebase or the like must be over first.
pub(crate) fn under_way(operation: Operation) -> Failure {
    Failure::say(format!("{operation} is under way")).next("finish or abort it, then try again")
}

fn no_loop() -> Failure {
    Failure::say("there is no loop here").next("`loop init \"what is to be done\"` starts one")
}

/// The router must run for this command.
pub(crate) fn no_router() -> Failure {
    Failure::say("the router is not running")
        .code(OURS)
        .next("`loop up` starts it, or `loop router` in the foreground")
}
