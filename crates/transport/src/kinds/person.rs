//! A person, who is told that it is their turn and answers by committing a section.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use loop_core::DeliveryState;

use super::{Options, Row};
use crate::transport::{Presence, Progress, Receipt, Session, Transport, TransportError, Wake};

pub(super) const ROW: Row = Row {
    name: "person",
    about: "a person, who is told by the user's `tell:` and answers with `loop commit`",
    open: |options: &Options| Arc::new(Person { teller: options.teller.clone() }),
};

/// Whoever can put a message before a person. Where there is none, nobody can be told.
#[async_trait]
pub trait Teller: fmt::Debug + Send + Sync {
    /// Tells the person behind `session` that it is their turn; `text` says what to do.
    ///
    /// # Errors
    /// Fails when the message did not go out; the delivery is then tried again, as with any transport.
    async fn tell(&self, session: &Session, text: &str) -> Result<(), TransportError>;
}

struct Person {
    teller: Option<Arc<dyn Teller>>,
}

/// What a person does now, in words that `loop status` shows as well.
fn steps(session: &Session) -> String {
    format!("it is {0}'s turn: `loop turn {0}`, then `loop commit {0} -m …`", session.agent)
}

fn untold(session: &Session) -> Presence {
    Presence::Unreachable(format!(
        "nobody can be told: set `tell: {{command: [...]}}` in your config.yaml (`loop help loop-yaml`); {}",
        steps(session)
    ))
}

#[async_trait]
impl Transport for Person {
    fn sees_work(&self) -> bool {
        false
    }

    fn tells_idle(&self) -> bool {
        false
    }

    fn is_person(&self) -> bool {
        true
    }

    async fn probe(&self, session: &Session) -> Result<Presence, TransportError> {
        Ok(if self.teller.is_some() { Presence::Idle } else { untold(session) })
    }

    async fn wake(
        &self,
        session: &Session,
        wake: &Wake,
        _progress: &dyn Progress,
    ) -> Result<Receipt, TransportError> {
        let Some(teller) = &self.teller else { return Err(TransportError::NotNow(untold(session))) };
        let text = format!("{}, then `loop commit {} -m …`", wake.text, session.agent);
        teller.tell(session, &text).await?;
        Ok(Receipt {
            state: DeliveryState::Submitted,
            conversation: None,
            note: steps(session),
            address: None,
        })
    }

    async fn interrupt(&self, session: &Session) -> Result<(), TransportError> {
        Err(TransportError::Failed(format!(
            "{} is a person and cannot be interrupted from here; ask them to stop it",
            session.agent
        )))
    }

    async fn capture(&self, _session: &Session) -> Result<String, TransportError> {
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::kinds::testing::session;
    use crate::transport::NoProgress;

    #[tokio::test]
    async fn where_nobody_can_be_told_the_wake_waits_and_says_what_to_do() {
        let person = Person { teller: None };
        let wake = Wake { delivery_id: "d".into(), attempt: 1, text: "go".into() };
        let session = session("person");
        let refused = person.wake(&session, &wake, &NoProgress).await.unwrap_err();
        let seen = person.probe(&session).await.unwrap();
        assert_eq!(refused, TransportError::NotNow(seen));
        let words = refused.to_string();
        assert!(words.contains("set `tell:") && words.contains("`loop turn CC`"), "{words}");
    }
}
