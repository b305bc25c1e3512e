//! A transport without terminals: records every wake, and does what the test says.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use loop_core::DeliveryState;
use loop_transport::{Finished, Presence, Progress, Receipt, Session, Transport, TransportError, Wake};

/// What the next wake of an agent comes to, other than well.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Fail(&'static str),
    /// The transport cannot tell, and the text did not arrive.
    UnknownAndLost,
    /// The transport cannot tell, and the text did arrive.
    UnknownButHeard,
    NotNow(Presence),
    /// Nothing arrives and nothing comes back.
    Hang,
    /// The text arrives and nothing comes back.
    HearAndHang,
    /// The text stands in the composer and nothing more is known.
    OnlyTyped,
}

#[derive(Default)]
struct Agent {
    presence: Option<Presence>,
    acts: VecDeque<Act>,
    wakes: Vec<String>,
    finished: Option<Finished>,
    screen: String,
    conversations: Vec<Option<String>>,
    interrupts: usize,
}

/// The agents of all loops, as `LOOP/NAME`.
#[derive(Default)]
pub(crate) struct Fake {
    agents: Mutex<HashMap<String, Agent>>,
    blind: bool,
}

impl Fake {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// One that cannot tell when an agent has finished.
    pub(crate) fn blind() -> Arc<Self> {
        Arc::new(Self { blind: true, ..Self::default() })
    }

    fn with<T>(&self, loop_id: &str, name: &str, change: impl FnOnce(&mut Agent) -> T) -> T {
        change(self.agents.lock().unwrap().entry(format!("{loop_id}/{name}")).or_default())
    }

    pub(crate) fn set(&self, loop_id: &str, name: &str, presence: Presence) {
        self.with(loop_id, name, |agent| agent.presence = Some(presence));
    }

    pub(crate) fn next(&self, loop_id: &str, name: &str, act: Act) {
        self.with(loop_id, name, |agent| agent.acts.push_back(act));
    }

    pub(crate) fn screen(&self, loop_id: &str, name: &str, text: &str) {
        self.with(loop_id, name, |agent| text.clone_into(&mut agent.screen));
    }

    pub(crate) fn finish(&self, loop_id: &str, name: &str, finished: Finished) {
        self.with(loop_id, name, |agent| agent.finished = Some(finished));
    }

    pub(crate) fn wakes(&self, loop_id: &str, name: &str) -> Vec<String> {
        self.with(loop_id, name, |agent| agent.wakes.clone())
    }

    pub(crate) fn conversations(&self, loop_id: &str, name: &str) -> Vec<Option<String>> {
        self.with(loop_id, name, |agent| agent.conversations.clone())
    }

    pub(crate) fn interrupts(&self, loop_id: &str, name: &str) -> usize {
        self.with(loop_id, name, |agent| agent.interrupts)
    }

    /// Every wake that reached anybody.
    pub(crate) fn all(&self) -> usize {
        self.agents.lock().unwrap().values().map(|agent| agent.wakes.len()).sum()
    }
}

fn hear(agent: &mut Agent, session: &Session, wake: &Wake) {
    agent.wakes.push(wake.text.clone());
    agent.conversations.push(session.conversation.clone());
    agent.presence = Some(Presence::Busy);
}

#[async_trait]
impl Transport for Fake {
    async fn probe(&self, session: &Session) -> Result<Presence, TransportError> {
        let name = session.agent.as_str();
        Ok(self.with(&session.loop_id, name, |agent| agent.presence.clone()).unwrap_or(Presence::Idle))
    }

    async fn wake(
        &self,
        session: &Session,
        wake: &Wake,
        progress: &dyn Progress,
    ) -> Result<Receipt, TransportError> {
        let name = session.agent.as_str();
        let act = self.with(&session.loop_id, name, |agent| agent.acts.pop_front());
        let heard = || self.with(&session.loop_id, name, |agent| hear(agent, session, wake));
        let receipt =
            |state| Ok(Receipt { state, conversation: None, note: "scripted".to_owned(), address: None });
        match act {
            Some(Act::Fail(why)) => return Err(TransportError::Failed(why.to_owned())),
            Some(Act::NotNow(presence)) => return Err(TransportError::NotNow(presence)),
            Some(Act::UnknownAndLost) => return Err(TransportError::Unknown("the line broke".to_owned())),
            Some(Act::UnknownButHeard) => {
                heard();
                return Err(TransportError::Unknown("the line broke".to_owned()));
            }
            Some(Act::Hang) => return std::future::pending().await,
            Some(Act::HearAndHang) => {
                heard();
                return std::future::pending().await;
            }
            Some(Act::OnlyTyped) => {
                progress.typed().await;
                return receipt(DeliveryState::Typed);
            }
            None => {}
        }
        progress.typed().await;
        heard();
        receipt(DeliveryState::Submitted)
    }

    async fn interrupt(&self, session: &Session) -> Result<(), TransportError> {
        self.with(&session.loop_id, session.agent.as_str(), |agent| {
            agent.interrupts += 1;
            agent.presence = Some(Presence::Idle);
        });
        Ok(())
    }

    async fn capture(&self, session: &Session) -> Result<String, TransportError> {
        Ok(self.with(&session.loop_id, session.agent.as_str(), |agent| agent.screen.clone()))
    }

    fn tells_idle(&self) -> bool {
        !self.blind
    }

    async fn finished(&self, session: &Session) -> Result<Option<Finished>, TransportError> {
        Ok(self.with(&session.loop_id, session.agent.as_str(), |agent| agent.finished.clone()))
    }
}
