//! Reaching a person: when the loop is held, blocked, dead or passed, never on a normal turn.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use loop_store::Store;
use loop_transport::{Session, Teller, TransportError};
use tokio::process::Command;

/// How a person is reached.
#[derive(Debug, Clone, Default)]
pub struct Tell {
    /// Program and arguments; `{title}`, `{text}`, `{repo}` are filled in, and stand in `LOOP_TITLE`, `LOOP_TEXT`
    /// and `LOOP_REPO` too. Never run by a shell.
    pub command: Option<Vec<String>>,
    /// Environment of the command.
    pub env: BTreeMap<String, String>,
}

/// One message to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// A few words: `loop held: shop`.
    pub title: String,
    /// What happened and what to do, in one or two lines.
    pub text: String,
    /// The repository's folder.
    pub repo: String,
}

/// Why a message did not go out.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// Nothing is configured.
    #[error(
        "no way to reach a person is configured; set `tell: {{command: [...]}}` in the user's config.yaml"
    )]
    NotConfigured,
    /// The command cannot be started.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The command failed.
    #[error("{program} {outcome}: {words}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        outcome: String,
        /// The end of what it printed.
        words: String,
    },
}

/// The pauses after failed tries.
const PAUSES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(10), Duration::ZERO];

/// How long a channel may take.
const DEADLINE: Duration = Duration::from_secs(20);

impl Tell {
    /// Sends one message, once.
    ///
    /// # Errors
    /// Fails when nothing is configured, or when the command cannot be started, fails, or takes over 20 s.
    pub async fn send(&self, message: &Message) -> Result<(), TellError> {
        let Some((program, arguments)) = self.command.as_ref().and_then(|command| command.split_first())
        else {
            return Err(TellError::NotConfigured);
        };
        let fill = |argument: &String| {
            argument
                .replace("{title}", &message.title)
                .replace("{repo}", &message.repo)
                .replace("{text}", &message.text)
        };
        let child = Command::new(program)
            .args(arguments.iter().map(fill))
            .env_clear()
            .envs(&self.env)
            .env("LOOP_TITLE", &message.title)
            .env("LOOP_TEXT", &message.text)
            .env("LOOP_REPO", &message.repo)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| TellError::Start { program: program.clone(), source })?;
        let failed = |outcome: String, words: &[u8]| TellError::Failed {
            program: program.clone(),
            outcome,
            words: String::from_utf8_lossy(words).trim().chars().take(400).collect(),
        };
        match tokio::time::timeout(DEADLINE, child.wait_with_output()).await {
            Err(_) => Err(failed(format!("took over {} s", DEADLINE.as_secs()), b"")),
            Ok(Err(source)) => Err(TellError::Start { program: program.clone(), source }),
            Ok(Ok(output)) if output.status.success() => Ok(()),
            Ok(Ok(output)) => Err(failed(format!("ended with {}", output.status), &output.stderr)),
        }
    }

    /// Sends, up to three times; a failure is logged.
    pub(crate) async fn send_patiently(&self, message: Message) {
        if self.command.is_none() {
            return;
        }
        for pause in PAUSES {
            match self.send(&message).await {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, title = message.title, "a person could not be told"),
            }
            tokio::time::sleep(pause).await;
        }
    }
}

/// Whoever tells people that it is their turn; `None` where no way to reach them is configured.
pub fn teller(tell: &Tell, store: &Store) -> Option<Arc<dyn Teller>> {
    tell.command.as_ref()?;
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
        let message = Message {
            title: format!("your turn in {slug}"),
            text: loop_core::plain::plain(text).into_owned(),
            repo: session.workdir.display().to_string(),
        };
        self.tell.send(&message).await.map_err(|error| {
            failed(format!("{} could not be told: {error}; `loop tell --test` tries it", session.agent))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn message(text: &str) -> Message {
        Message { title: "loop held: shop".into(), text: text.into(), repo: "/r".into() }
    }

    #[tokio::test]
    async fn a_message_is_an_argument_and_never_a_shell_string() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let script = format!("printf %s \"$1\" > {}", file.display());
        let words = ["/bin/sh", "-c", &script, "tell", "{text}"].map(String::from).to_vec();
        let tell = Tell { command: Some(words), env: BTreeMap::new() };
        tell.send(&message("$(touch pwned) `x` \"q\"")).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "$(touch pwned) `x` \"q\"");
    }

    #[tokio::test]
    async fn a_failing_command_says_its_last_words() {
        let words = ["/bin/sh", "-c", "echo no route >&2; exit 3"].map(String::from).to_vec();
        let tell = Tell { command: Some(words), env: BTreeMap::new() };
        let error = tell.send(&message("x")).await.unwrap_err().to_string();
        assert!(error.contains("no route") && error.contains('3'), "{error}");
        assert!(matches!(Tell::default().send(&message("x")).await, Err(TellError::NotConfigured)));
    }
}
