//! The windows that stand already when a loop is opened: whose they are, and what runs in them.

use loop_core::config::Agent;
use loop_core::plain::plain;
use loop_transport::kinds::tmux::Address;
use loop_transport::tmux::{Pane, Tags};

use super::{Launcher, start};
use crate::failure::Failure;
use crate::output;

impl Launcher<'_> {
    /// The agent's window; of several living ones that in which it is woken.
    pub(super) async fn there(&self, tags: &Tags) -> Result<Option<Pane>, Failure> {
        let panes = self.server.all_of(tags).await.map_err(Failure::ours)?;
        let session = self.client.store.session(&self.row.id, &tags.agent).await?;
        let registered = session.and_then(|session| serde_json::from_str::<Address>(&session.address).ok());
        let is_registered =
            |pane: &&Pane| !pane.dead && registered.as_ref().is_some_and(|address| address.pane == pane.id);
        let there = panes.iter().find(is_registered).or(panes.first()).cloned();
        let others = panes.iter().filter(|pane| !pane.dead && Some(*pane) != there.as_ref());
        let others: Vec<&str> = others.map(|pane| pane.id.as_str()).collect();
        if let (Some(there), false) = (&there, others.is_empty()) {
            output::note(format!(
                "note: {0} has more than one window: it is woken in {1}, and nobody looks at {2}; close what is not \
                 wanted (`tmux kill-pane -t {3}`).",
                tags.agent,
                there.id,
                others.join(", "),
                others[0]
            ));
        }
        Ok(there)
    }

    /// Says which windows of this loop belong to nobody in loop.yaml any more; they are left alone.
    pub(super) async fn tell_of_strays(&self) {
        for pane in self.server.panes_of(&self.row.id).await.unwrap_or_default() {
            if let Some(tags) = pane.tags.as_ref().filter(|tags| self.config.agent(&tags.agent).is_none()) {
                output::note(format!(
                    "note: {0} is no agent of loop.yaml any more; its window {1}:{2} ({3}) stays open. Close it, or \
                     `loop down` does.",
                    tags.agent,
                    plain(&pane.session),
                    plain(&pane.window),
                    pane.id
                ));
            }
        }
    }

    /// What loop started in the pane, where loop.yaml says something else now.
    pub(super) fn other_program(&self, agent: &Agent, pane: &Pane) -> Option<String> {
        let started = pane.started.as_ref()?;
        let programs = [None, Some("")].map(|known| start(self.row, self.config, agent, known).argv);
        let is_known = |argv: &Vec<String>| argv.first() == Some(&started.program);
        let same = started.kind == agent.kind && programs.iter().any(is_known);
        (!same).then(|| format!("`{}` ({})", plain(&started.program), plain(&started.kind)))
    }

    /// The agent's window of the loop before, which goes on for this one.
    pub(super) async fn adopted(&self, agent: &Agent, tags: &Tags) -> Result<Option<Pane>, Failure> {
        let Some(earlier) = self.earlier else { return Ok(None) };
        let old = Tags { loop_id: earlier.id.clone(), agent: agent.name.clone() };
        let Some(pane) = self.server.find(&old).await.map_err(Failure::ours)? else { return Ok(None) };
        self.server.tag(&pane.id, tags).await.map_err(Failure::users)?;
        self.client.forget_session(&earlier.id, &agent.name).await?;
        self.server.find(tags).await.map_err(Failure::ours)
    }
}
