//! The witnesses of one agent at one moment: its screen, its records and its turn hook, put beside each other for
//! [`loop_core::settle`].

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use loop_core::profile::Records;
use loop_core::records::{Prompt, RecordState, Recorded};
use loop_core::settle::{Event, Seen, Sights, Signal, is_wake};
use loop_store::Witnessed;
use loop_transport::{Presence, Session, Transport, TransportError};
use loop_watch::{Place, Watcher};
use tokio::sync::Mutex;

/// What was seen of one agent at one moment.
#[derive(Debug, Clone)]
pub struct Sighting {
    /// How its transport finds it.
    pub presence: Presence,
    /// The same as a witness; `None` where the transport cannot tell an agent at work from one that has finished.
    pub screen: Option<Seen>,
    /// What its records say; `None` where its profile names none.
    pub records: Option<Recorded>,
    /// The newest word of its turn hook.
    pub signal: Option<Signal>,
    /// What it said when the newest turn began, whatever it said since.
    pub began: Option<Signal>,
}

impl Sighting {
    /// An agent that nothing reaches any more; why.
    pub fn gone(why: String) -> Self {
        let screen = Some(Seen::Gone(why.clone()));
        Self { presence: Presence::Gone(why), screen, records: None, signal: None, began: None }
    }

    /// The witnesses.
    pub fn sights(&self) -> Sights<'_> {
        Sights { signal: self.signal.as_ref(), records: self.records.as_ref(), screen: self.screen.as_ref() }
    }

    /// Whether anything tells when the agent has finished.
    pub fn can_settle(&self) -> bool {
        let by_records = self.records.as_ref().is_some_and(|records| {
            !matches!(records.state, RecordState::Nothing | RecordState::Unreadable(_))
        });
        self.screen.is_some() || by_records || self.signal.is_some()
    }

    /// Whether nothing speaks against it that the agent has finished: the quick look of a hand-over, which is bounded
    /// by its grace anyway.
    pub fn is_calm(&self) -> bool {
        match &self.screen {
            Some(Seen::Idle | Seen::Gone(_)) => {}
            Some(_) => return false,
            None if self.can_settle() => {}
            None => return false,
        }
        let finished = self.signal.as_ref().filter(|signal| signal.event == Event::Finished);
        let changed = self.records.as_ref().and_then(|records| records.changed);
        match self.records.as_ref().map(|records| &records.state) {
            Some(RecordState::Working | RecordState::Background(_) | RecordState::Asks(_)) => {
                finished.is_some_and(|signal| signal.background == 0 && Some(signal.at) > changed)
            }
            Some(RecordState::Idle) => true,
            _ => self.signal.is_none() || finished.is_some_and(|signal| signal.background == 0),
        }
    }
}

/// Looks at one agent with all witnesses.
///
/// # Errors
/// Fails when its transport cannot look.
pub async fn look(
    transport: &dyn Transport,
    session: &Session,
    watcher: Option<&mut Watcher>,
    witnessed: &Witnessed,
    now: Timestamp,
) -> Result<Sighting, TransportError> {
    let presence = transport.probe(session).await?;
    let screen = seen(&presence, transport.tells_idle());
    let records = match watcher {
        Some(watcher) => Some(own(session, watcher.look(session.conversation.as_deref(), now).await)),
        None => None,
    };
    let (signal, began) = (witnessed.signal().cloned(), witnessed.started.clone());
    Ok(Sighting { presence, screen, records, signal, began })
}

/// As long as nobody knows the agent's conversation, the newest of its folder may be another's: a person's own, or one of
/// days ago. It is the agent's once its prompt is our wake.
fn own(session: &Session, records: Recorded) -> Recorded {
    let text = session.profile.wake_text(session.agent.as_str());
    let is_wake = |prompt: &Prompt| is_wake(&prompt.text, &text);
    if session.conversation.is_some() || records.prompt.as_ref().is_none_or(is_wake) {
        return records;
    }
    Recorded { note: records.note, ..Recorded::without_conversation(RecordState::Nothing) }
}

/// A watcher of the records of a session's agent; `None` where its profile names none.
pub fn watcher(session: &Session) -> Option<Watcher> {
    let records = session.profile.records.as_ref()?;
    let home = session.env.get("HOME").map(PathBuf::from).unwrap_or_default();
    let (env, folder) = (session.env.clone(), session.workdir.clone());
    Some(Watcher::new(records, Place { home, env, folder, since: session.began }))
}

/// What a presence is as a witness. Where a transport cannot tell idle from busy, only a dialog or an end counts.
fn seen(presence: &Presence, tells_idle: bool) -> Option<Seen> {
    Some(match presence {
        Presence::Gone(why) => Seen::Gone(why.clone()),
        Presence::Shell(shell) => Seen::Gone(format!("a shell ({shell}) is in its window")),
        Presence::Asks { says, press } => Seen::Asks { says: says.clone(), press: press.clone() },
        Presence::Limited(words) => Seen::Limited(words.clone()),
        _ if !tells_idle => return None,
        Presence::Idle | Presence::Waiting | Presence::Draft(_) => Seen::Idle,
        Presence::Busy => Seen::Busy,
        Presence::Starting | Presence::WaitingBehind | Presence::Unknown(_) | Presence::Unreachable(_) => {
            Seen::Unknown(presence.to_string())
        }
    })
}

/// The watchers of the agents that are looked after, each kept between two looks: reading on is cheap, reading anew
/// is not.
#[derive(Default)]
pub(crate) struct Watchers {
    all: Mutex<HashMap<Key, Arc<Mutex<Option<Watcher>>>>>,
}

/// Loop, agent, where its records are said to be, and when its process began: what changes is watched anew.
type Key = (String, String, Option<Records>, Option<Timestamp>);

impl Watchers {
    /// The watcher of a session's agent.
    pub(crate) async fn of(&self, session: &Session) -> Arc<Mutex<Option<Watcher>>> {
        let (loop_id, agent) = (session.loop_id.clone(), session.agent.key().to_owned());
        let key = (loop_id, agent, session.profile.records.clone(), session.began);
        let mut all = self.all.lock().await;
        Arc::clone(all.entry(key).or_insert_with(|| Arc::new(Mutex::new(watcher(session)))))
    }

    /// Forgets the watchers of all loops but these.
    pub(crate) async fn keep(&self, is_kept: impl Fn(&str) -> bool) {
        self.all.lock().await.retain(|(loop_id, ..), _| is_kept(loop_id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(presence: &Presence, records: Option<RecordState>, signal: Option<(Event, i64)>) -> Sighting {
        let at = |second| Timestamp::from_second(second).unwrap_or_default();
        Sighting {
            presence: presence.clone(),
            screen: seen(presence, true),
            records: records
                .map(|state| Recorded { changed: Some(at(10)), ..Recorded::without_conversation(state) }),
            signal: signal.map(|(event, second)| Signal {
                event,
                at: at(second),
                conversation: None,
                background: 0,
                prompt: None,
                says: None,
            }),
            began: None,
        }
    }

    #[test]
    fn an_author_hands_over_when_nothing_speaks_against_it() {
        use Event::{Finished, Started};
        use RecordState::{Background, Idle, Nothing, Working};
        let idle = Presence::Idle;
        for (records, signal, calm) in [
            (None, None, true),
            (Some(Nothing), None, true),
            (Some(Idle), Some((Started, 5)), true),
            (Some(Working), None, false),
            (Some(Working), Some((Finished, 11)), true),
            (Some(Working), Some((Finished, 9)), false),
            (Some(Background(1)), None, false),
            (None, Some((Started, 5)), false),
            (None, Some((Finished, 5)), true),
        ] {
            let seen = sighting(&idle, records.clone(), signal);
            assert_eq!(seen.is_calm(), calm, "{records:?} {signal:?}");
        }
        assert!(!sighting(&Presence::Busy, Some(Idle), None).is_calm());
        assert!(sighting(&Presence::Gone("closed".into()), None, None).is_calm());
        assert!(!sighting(&Presence::Unknown("?".into()), None, None).is_calm());
    }

    #[test]
    fn what_cannot_tell_idle_from_busy_is_no_witness_of_either() {
        for presence in [Presence::Idle, Presence::Busy, Presence::Starting] {
            assert_eq!(seen(&presence, false), None);
        }
        assert!(matches!(seen(&Presence::Gone(String::new()), false), Some(Seen::Gone(_))));
    }
}
