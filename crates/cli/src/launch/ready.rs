//! Waiting until an agent's window takes input.

use std::time::Duration;

use loop_core::config::Agent;
use loop_core::plain::plain;
use loop_transport::tmux::{NotReady, Tags, TmuxError};

use super::{Launched, Launcher, start};
use crate::failure::Failure;
use crate::output;

impl Launcher<'_> {
    /// Waits until the agent takes input. A conversation that cannot be reopened is begun anew.
    pub(super) async fn until_ready(&self, launched: &mut Launched, session: &str) -> Result<(), Failure> {
        let Some(agent) = self.config.agent(&launched.agent) else { return Ok(()) };
        let mut ready = self.ready(launched, agent).await;
        if launched.resumed
            && matches!(&ready, Err(NotReady::Ended { .. }))
            && let Some(opened) = launched.opened.take()
        {
            let lost = launched.conversation.take().unwrap_or_default();
            output::note(format!(
                "note: {}'s conversation {} cannot be reopened, so it begins a new one.",
                agent.name,
                plain(&lost)
            ));
            self.open(launched, agent, session, Some(opened.pane), None).await?;
            ready = self.ready(launched, agent).await;
        }
        launched.trouble = launched.trouble.take().or_else(|| {
            let error = ready.err()?;
            let mut text = plain(&error.to_string()).into_owned();
            // It may be its old conversation that it hangs at, also since an earlier `loop up`.
            let goes_on = launched.resumed || launched.opened.is_none();
            if let Some(id) = launched.conversation.as_deref().filter(|_| goes_on)
                && matches!(error, NotReady::TimedOut { .. })
            {
                let (name, id) = (&agent.name, plain(id));
                text.push_str(&format!(
                    "\nit was to go on in its conversation {id}; `loop agents forget {name}`, then `loop up`, begins a \
                     new one"
                ));
            }
            Some(text)
        });
        Ok(())
    }

    async fn ready(&self, launched: &Launched, agent: &Agent) -> Result<(), NotReady> {
        let (pane, program) = match &launched.opened {
            Some(opened) => (opened.pane.clone(), opened.program.clone()),
            None => {
                let tags = Tags { loop_id: self.row.id.clone(), agent: agent.name.clone() };
                let found = self.server.find(&tags).await?;
                let gone = || TmuxError::NoPane(launched.place.clone());
                let pane = found.ok_or_else(gone)?;
                let start = start(self.row, self.config, agent, None);
                (pane.id, start.argv.into_iter().next().unwrap_or_default())
            }
        };
        let limit = self.world.settings.timings.ready();
        let ready = self.server.wait_ready(&pane, &agent.profile, &program, &self.row.worktree, limit);
        let word = format!("waiting until {} takes input …", agent.name);
        with_word(ready, &word).await
    }
}

/// Says what is waited for when it takes more than a second.
async fn with_word<T>(work: impl Future<Output = T>, word: &str) -> T {
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(Duration::from_secs(1)) => output::note(word),
    }
    work.await
}
