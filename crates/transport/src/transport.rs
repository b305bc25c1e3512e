//! What a transport is, and the words it speaks.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use jiff::Timestamp;
use loop_core::config::{Fill, Permissions};
use loop_core::records::is_conversation;
use loop_core::{DeliveryState, Name, Profile};
use serde::Serialize;
use serde_json::Value;

/// A way to reach an agent.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Looks how the agent is; types nothing.
    async fn probe(&self, session: &Session) -> Result<Presence, TransportError>;

    /// Wakes the agent with one line of text, at most once.
    ///
    /// Calls [`Progress::typed`] as soon as the text stands in the composer. Looks by itself whether the agent may
    /// be spoken to, right before it types; an earlier [`probe`](Self::probe) is not trusted.
    async fn wake(
        &self,
        session: &Session,
        wake: &Wake,
        progress: &dyn Progress,
    ) -> Result<Receipt, TransportError>;

    /// Ends what the agent does now. `Ok` when it does nothing any more, or did nothing.
    async fn interrupt(&self, session: &Session) -> Result<(), TransportError>;

    /// Returns the last lines the agent shows, as harmless text.
    async fn capture(&self, session: &Session) -> Result<String, TransportError>;

    /// Whether [`probe`](Self::probe) can tell an agent at work from an idle one. Where it cannot, an idle look
    /// says nothing about a turn: only its section does.
    fn sees_work(&self) -> bool {
        true
    }

    /// Whether [`probe`](Self::probe) can tell an agent that has finished from one that works. Where it cannot, the
    /// agent counts as working until its section is committed.
    fn tells_idle(&self) -> bool {
        true
    }

    /// Since when what the agent shows has not changed; `None`: that is not known.
    async fn still_since(&self, session: &Session) -> Result<Option<Timestamp>, TransportError> {
        let _ = session;
        Ok(None)
    }

    /// Whether a person is reached. Their time is their own, so that no limit counts it, and what they commit is the
    /// end of their turn.
    fn is_person(&self) -> bool {
        false
    }

    /// Returns how the agent's last turn ended, where each turn is a process of its own.
    async fn finished(&self, session: &Session) -> Result<Option<Finished>, TransportError> {
        let _ = session;
        Ok(None)
    }
}

/// A running agent, or one that can be run, with all that is needed to speak to it.
#[derive(Clone)]
pub struct Session {
    /// The loop.
    pub loop_id: String,
    /// The agent.
    pub agent: Name,
    /// The transport's name.
    pub kind: String,
    /// Where the agent is; only the transport knows how to read it.
    pub address: Value,
    /// The agent's working tree.
    pub workdir: PathBuf,
    /// What is known of its CLI.
    pub profile: Profile,
    /// Program and arguments from `loop.yaml` instead of the profile's, with placeholders.
    pub command: Option<Vec<String>>,
    /// What the agent may do without asking.
    pub permissions: Permissions,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// The id of its conversation, where known.
    pub conversation: Option<String>,
    /// The folder for outputs of turns.
    pub outputs: PathBuf,
    /// The repository's common git directory, for launch flags that let the agent commit.
    pub git_dir: Option<PathBuf>,
    /// The loop's verify command in one line, for launch flags that let the agent run it.
    pub verify: Option<String>,
    /// Whether the usage limit that the agent may still show has ended: then it does not stand in the way, where the
    /// composer is to be seen.
    pub past_limit: bool,
    /// When its process began, where that is known.
    pub began: Option<Timestamp>,
}

impl Session {
    /// A session with nothing but what every one has: no address, no command, an empty environment.
    pub fn new(loop_id: &str, agent: Name, kind: &str, profile: Profile, workdir: &Path) -> Self {
        Self {
            loop_id: loop_id.to_owned(),
            agent,
            kind: kind.to_owned(),
            address: Value::Null,
            workdir: workdir.to_owned(),
            profile,
            command: None,
            permissions: Permissions::default(),
            env: BTreeMap::new(),
            conversation: None,
            outputs: workdir.to_owned(),
            git_dir: None,
            verify: None,
            past_limit: false,
            began: None,
        }
    }

    /// Program and arguments of one headless turn, filled in; `None` when nothing says how to run one.
    pub(crate) fn headless(&self, text: &str) -> Option<Vec<String>> {
        let profile = &self.profile;
        let known = self.conversation.as_deref().filter(|id| is_conversation(id));
        let resumes = known.is_some() && !profile.headless_resume.is_empty();
        let template = match &self.command {
            Some(command) => command.clone(),
            None if resumes => [&profile.headless_resume, profile.flags(self.permissions)].concat(),
            None if profile.headless.is_empty() => return None,
            None => [&profile.headless, profile.flags(self.permissions)].concat(),
        };
        let argv = self.filled(&template, text, known.unwrap_or_default());
        (!argv.is_empty()).then_some(argv)
    }

    /// Fills in a command's placeholders; `session` is what this transport means by `{session}`.
    pub(crate) fn filled(&self, template: &[String], text: &str, session: &str) -> Vec<String> {
        let repo = self.workdir.to_string_lossy();
        let git_dir = self.git_dir.as_deref().map(Path::to_string_lossy);
        let fill = Fill {
            name: self.agent.as_str(),
            text,
            repo: &repo,
            session,
            git_dir: git_dir.as_deref(),
            verify: self.verify.as_deref(),
        };
        fill.command(template)
    }
}

/// Variables may hold keys and addresses are the transport's own business: neither is shown.
impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Session")
            .field("loop_id", &self.loop_id)
            .field("agent", &self.agent)
            .field("kind", &self.kind)
            .field("workdir", &self.workdir)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// One wake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// The delivery's id; also the name of its output files.
    pub delivery_id: String,
    /// The delivery's attempt.
    pub attempt: u32,
    /// What is typed; one line.
    pub text: String,
}

/// How an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "is", content = "says")]
pub enum Presence {
    /// It is not there any more; why.
    Gone(String),
    /// A shell is where the agent was; its name.
    Shell(String),
    /// Its window shows nothing yet.
    Starting,
    /// It takes input and does nothing.
    Idle,
    /// It works.
    Busy,
    /// It shows a dialog or asks something.
    Asks {
        /// What it asks.
        says: String,
        /// What a person presses.
        press: String,
    },
    /// Somebody's text stands in its composer.
    Draft(String),
    /// It has met a usage limit; until when, as it says.
    Limited(String),
    /// It cannot be told; what was seen.
    Unknown(String),
    /// It blocks in `loop wait`.
    Waiting,
    /// The same, since before another was called in its place who has not come back: it may be called for another
    /// turn, and says nothing of the one that is under way.
    WaitingBehind,
    /// Nothing reaches it; why, and what a person does, in words that stand by themselves.
    Unreachable(String),
}

impl fmt::Display for Presence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(why) => write!(formatter, "it is gone: {why}"),
            Self::Shell(shell) => write!(formatter, "a shell ({shell}) is in its window"),
            Self::Starting => formatter.write_str("it is starting"),
            Self::Idle => formatter.write_str("it is idle"),
            Self::Busy => formatter.write_str("it is busy"),
            Self::Asks { says, press } if press.is_empty() => write!(formatter, "it asks: {says}"),
            Self::Asks { says, press } => write!(formatter, "it asks: {says} (press {press})"),
            Self::Draft(text) => write!(formatter, "somebody's text stands in its composer: {text}"),
            Self::Limited(until) => write!(formatter, "it has met a usage limit: {until}"),
            Self::Unknown(seen) => write!(formatter, "its state is unknown: {seen}"),
            Self::Waiting => formatter.write_str("it waits to be called"),
            Self::WaitingBehind => {
                formatter.write_str("a second `loop wait` waits to be called while the first works")
            }
            Self::Unreachable(why) => formatter.write_str(why),
        }
    }
}

/// What became of a wake.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// How far it was seen to come: typed, submitted or started.
    pub state: DeliveryState,
    /// The conversation's id, when it is known now.
    pub conversation: Option<String>,
    /// What was seen, in words.
    pub note: String,
    /// The address from now on, when it has changed.
    pub address: Option<Value>,
}

/// How a turn that was a process of its own has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The delivery that started it.
    pub delivery_id: String,
    /// Its exit status in words (`exit 0`, `signal 15`); `None`: nobody saw it end.
    pub exit: Option<String>,
    /// Whether it exited with 0.
    pub success: bool,
    /// The conversation's id in its output.
    pub conversation: Option<String>,
    /// The last lines of its output, as harmless text.
    pub tail: String,
    /// The file in which what it said is kept.
    pub output: Option<PathBuf>,
}

/// Is told how far a wake has come.
#[async_trait]
pub trait Progress: Send + Sync {
    /// The text stands in the composer; it will be submitted when this returns.
    async fn typed(&self);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

#[async_trait]
impl Progress for NoProgress {
    async fn typed(&self) {}
}

/// Why a wake, or a look, did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The agent may not be spoken to now. The delivery waits; it is not a failed try.
    #[error("not now: {0}")]
    NotNow(Presence),
    /// Nothing reached the agent; it may be tried again.
    #[error("{0}")]
    Failed(String),
    /// The text may have reached the agent: look first.
    #[error("{0}")]
    Unknown(String),
    /// A program that the transport needs is not there.
    #[error("cannot run `{tool}`: {why}; {hint}")]
    ToolMissing {
        /// The program.
        tool: String,
        /// What the system said.
        why: String,
        /// What to do.
        hint: String,
    },
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::kinds::testing::session;

    #[test]
    fn the_headless_command_follows_profile_conversation_and_permissions() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut session = session("exec");
        assert_eq!(session.headless("go"), None);
        session.profile.headless = words("agent -p {text}");
        session.profile.headless_resume = words("agent -r {session} -p {text}");
        session.profile.permissions.insert("edits".into(), words("--accept edits"));
        assert_eq!(session.headless("go").unwrap(), words("agent -p go --accept edits"));
        session.profile.permissions.insert("edits".into(), words("--accept edits --add-dir={git_dir}"));
        assert_eq!(session.headless("go").unwrap(), words("agent -p go --accept edits"));
        session.git_dir = Some("/r/.git".into());
        session.conversation = Some("c1".into());
        assert_eq!(
            session.headless("go").unwrap(),
            words("agent -r c1 -p go --accept edits --add-dir=/r/.git")
        );
        // An agent can tell of any id; as an option it would open its own sandbox.
        session.conversation = Some("--no-sandbox".into());
        let anew = words("agent -p go --accept edits --add-dir=/r/.git");
        assert_eq!(session.headless("go").unwrap(), anew);
        session.command = Some(words("mine {name} {text}"));
        assert_eq!(session.headless("go").unwrap(), words("mine CC go"));
    }

    #[test]
    fn debug_shows_names_of_variables_only() {
        let mut session = session("exec");
        session.env.insert("TOKEN".into(), "s3cret".into());
        let shown = format!("{session:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("s3cret"), "{shown}");
    }
}
