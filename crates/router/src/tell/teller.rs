//! Telling people whose turn it is, for agents of the kind `human`.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use loop_store::Store;
use loop_transport::{Session, Teller, TransportError};

use super::{Kind, Message, Tell};

/// Whoever tells people that it is their turn; `None` where no way to reach them is configured.
pub fn teller(tell: &Tell, store: &Store) -> Option<Arc<dyn Teller>> {
    if tell.is_empty() {
        return None;
    }
    Some(Arc::new(TurnTeller { tell: tell.clone(), store: store.clone() }))
}

#[derive(Debug)]
struct TurnTeller {
    tell: Tell,
    store: Store,
}

#[async_trait]
impl Teller for TurnTeller {
    async fn tell(&self, session: &Session, text: &str) -> Result<(), TransportError> {
        let failed = |error: String| TransportError::Failed(error);
        let row = self.store.loop_row(&session.loop_id).await.map_err(|error| failed(error.to_string()))?;
        let slug = row.map_or_else(|| session.loop_id.clone(), |row| row.slug);
        let title = format!("your turn in {slug}");
        let message = Message::new(Kind::Turn, &title, text, &session.workdir, Timestamp::now())
            .of_loop(&session.loop_id);
        let tried = self.tell.send(&message).await;
        let mut errors = Vec::new();
        for tried in &tried {
            if let Err(error) = &tried.outcome {
                tracing::warn!(channel = tried.channel, %error, title, "a person could not be told");
                errors.push(format!("{}: {error}", tried.channel));
            }
        }
        // One way is enough: told twice, the person would look for a second turn.
        if errors.len() < tried.len() {
            return Ok(());
        }
        let errors = errors.join("; ");
        Err(failed(format!("{} could not be told: {errors}; `loop tell --test` tries it", session.agent)))
    }
}
