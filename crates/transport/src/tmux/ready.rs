//! Looking at an agent's window, and waiting until it takes input.

use std::path::Path;
use std::time::Duration;

use loop_core::Profile;
use loop_core::screen::{CompiledSigns, Look, LookState, Screen};
use tokio::time::Instant;

use super::answer::wanted;
use super::composer::Prompt;
use super::pane::{Pane, PaneId};
use super::server::{Server, TmuxError};
use crate::search_path::base_name;
use crate::transport::Presence;

/// How often a window is looked at.
const PAUSE: Duration = Duration::from_millis(150);

/// Two looks at the same state, this far apart, count.
const STEADY: Duration = Duration::from_millis(300);

/// How long a program may take to be in its folder.
const FOLDER_GRACE: Duration = Duration::from_secs(2);

/// A program of which nobody can tell when it is ready is given this long to end by itself.
const UNREAD: Duration = Duration::from_secs(2);

/// How to read one agent's window.
pub(crate) struct Eye<'a> {
    pub(crate) profile: &'a Profile,
    /// `None` when they cannot be read: then nothing is known of any screen.
    signs: Option<CompiledSigns>,
    prompt: Option<Prompt>,
    /// Names under which the agent's own program may run.
    programs: Vec<String>,
    /// Whether a usage limit that is still shown has ended.
    past_limit: bool,
}

/// What one look at a window gave.
pub(crate) struct Seen {
    pub(crate) pane: Pane,
    pub(crate) presence: Presence,
    pub(crate) screen: Screen,
    pub(crate) look: Look,
    /// The pane's [`PLACE`](super::pane::PLACE).
    pub(crate) place: String,
    /// What the composer's lines begin with.
    pub(crate) prompt: Option<String>,
    /// The first line that belongs to the composer.
    pub(crate) top: Option<usize>,
}

impl<'a> Eye<'a> {
    pub(crate) fn new(profile: &'a Profile, programs: Vec<String>) -> Self {
        let signs = &profile.signs;
        let prompt = Prompt::new(signs);
        Self { profile, signs: CompiledSigns::new(signs).ok(), prompt, programs, past_limit: false }
    }

    /// Looks past a usage limit that has ended, where the composer is to be seen: its words stand there until the
    /// agent works again.
    pub(crate) fn past_limit(mut self, is_past: bool) -> Self {
        self.past_limit = is_past;
        self
    }

    /// Looks once.
    pub(crate) async fn see(&self, server: &Server, id: &PaneId) -> Result<Seen, TmuxError> {
        let (pane, screen, place) = server.look_at(id).await?;
        let look = match &self.signs {
            Some(signs) => signs.look(&screen),
            None => Look { state: LookState::Unknown, composer: None, dialog: None },
        };
        let presence = self.in_a_small_window(&pane, self.presence(&pane, &screen, &look));
        let prompt = self.prompt.as_ref().and_then(|prompt| prompt.find(&screen));
        let top = self.prompt.as_ref().and_then(|prompt| prompt.top(&screen));
        Ok(Seen { pane, presence, screen, look, place, prompt, top })
    }

    /// A window that is too small is why its screen cannot be read, and why a hint in the composer, cut off, looks
    /// like a draft. One that may be ours is left to the sender.
    fn in_a_small_window(&self, pane: &Pane, presence: Presence) -> Presence {
        let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let ours = solid(self.profile.invoke.split("{name}").next().unwrap_or_default());
        let may_be_ours = |draft: &str| draft.contains(&ours) || ours.starts_with(draft);
        match (&presence, pane.too_small()) {
            (Presence::Unknown(seen), Some(size)) => Presence::Unknown(format!("{size} ({seen})")),
            (Presence::Draft(draft), Some(size)) if !may_be_ours(&solid(draft)) => {
                Presence::Unknown(format!("{size} (its composer shows `{}`)", crate::neutral(draft)))
            }
            _ => presence,
        }
    }

    fn presence(&self, pane: &Pane, screen: &Screen, look: &Look) -> Presence {
        if pane.dead {
            return Presence::Gone(format!("its program has ended ({})", pane.ended));
        }
        if pane.shows_shell() && !self.programs.contains(&pane.command) {
            return Presence::Shell(pane.command.clone());
        }
        let draft = look.composer.as_deref().map(str::trim);
        match &look.state {
            LookState::Busy => Presence::Busy,
            LookState::Asks { says, press } => Presence::Asks { says: says.clone(), press: press.clone() },
            LookState::Limited(_) if self.past_limit && draft == Some("") => Presence::Idle,
            LookState::Limited(until) if !self.past_limit || draft.is_none() => {
                Presence::Limited(until.clone())
            }
            LookState::Limited(_) => Presence::Draft(draft.unwrap_or_default().to_owned()),
            // Some CLIs are known to be ready only as long as their composer is empty.
            LookState::Idle | LookState::Unknown if draft.is_some_and(|draft| !draft.is_empty()) => {
                Presence::Draft(draft.unwrap_or_default().to_owned())
            }
            LookState::Idle if draft.is_none() && self.profile.signs.composer.is_some() => {
                Presence::Unknown("its composer is not to be seen".to_owned())
            }
            LookState::Idle => Presence::Idle,
            LookState::Unknown => {
                match screen.lines.iter().rev().map(|line| line.trim()).find(|line| !line.is_empty()) {
                    None => Presence::Starting,
                    Some(line) => Presence::Unknown(format!("its last line is `{}`", crate::neutral(line))),
                }
            }
        }
    }
}

/// What a person does where a screen cannot be read.
const ADVICE: &str = " (if that is how it looks at rest, tell loop so: `signs:` under the agent, see `loop help \
                      loop-yaml`; or `transport: exec`)";

/// Why an agent did not become ready.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// Its program ended.
    #[error("the agent's program ended at once ({ended}); its last lines:\n{last_lines}")]
    Ended {
        /// How it ended.
        ended: String,
        /// What it said last.
        last_lines: String,
    },
    /// It shows a dialog that a person must answer.
    #[error("the agent {says}; answer it in its window{}", if press.is_empty() { String::new() } else { format!(" ({press})") })]
    Asks {
        /// What it asks.
        says: String,
        /// What a person presses.
        press: String,
    },
    /// It has met a usage limit.
    #[error("the agent has met a usage limit: {0}")]
    Limited(String),
    /// It runs in another folder than it was started in.
    #[error("the agent runs in {found} instead of {wanted}; check its `command:` and its settings")]
    Elsewhere {
        /// Where it runs.
        found: String,
        /// Where it should.
        wanted: String,
    },
    /// Nothing says how its screen reads, so nobody could ever tell whether it takes input.
    #[error(
        "nobody can tell when `{kind}` takes input: tell loop how its screen reads with `signs:` under the agent \
         (`loop help loop-yaml`), or let it run once per turn with `transport: exec`; its last lines:\n{last_lines}"
    )]
    Unread {
        /// Its kind.
        kind: String,
        /// What it said last.
        last_lines: String,
    },
    /// It was not ready in time.
    #[error(
        "the agent was not ready after {} s: {presence}{}; its last lines:\n{last_lines}",
        after.as_secs(),
        if matches!(presence, Presence::Unknown(_)) { ADVICE } else { "" }
    )]
    TimedOut {
        /// How long was waited.
        after: Duration,
        /// How it was last.
        presence: Presence,
        /// What it said last.
        last_lines: String,
    },
    /// tmux failed.
    #[error(transparent)]
    Tmux(#[from] TmuxError),
}

/// A dialog that still stands so long after its answer did not hear it.
const STUCK: Duration = Duration::from_secs(5);

impl Server {
    /// Waits until the agent in a pane takes input. Answers a dialog once, and only one that the profile's
    /// [`answers`](Profile::answers) name; the others are for a person.
    ///
    /// `program` is the agent's program, `cwd` the folder it was started in.
    ///
    /// # Errors
    /// Fails as soon as the program ends, asks a person or runs in another folder, and at `timeout`.
    pub async fn wait_ready(
        &self,
        id: &PaneId,
        profile: &Profile,
        program: &str,
        cwd: &Path,
        timeout: Duration,
    ) -> Result<(), NotReady> {
        let eye = Eye::new(profile, vec![base_name(program).to_owned()]);
        let start = Instant::now();
        let mut steady: Option<(Presence, Instant)> = None;
        let mut answered: Vec<String> = Vec::new();
        loop {
            let seen = eye.see(self, id).await?;
            let Seen { pane, presence, look, .. } = &seen;
            if pane.dead {
                // The status, and tmux's own last line, come a moment later.
                tokio::time::sleep(PAUSE).await;
                let pane = self.pane(id).await?;
                let last_lines = self.last_lines(id).await?;
                return Err(NotReady::Ended { ended: pane.ended, last_lines });
            }
            let since = match &steady {
                Some((before, since)) if before == presence => *since,
                _ => Instant::now(),
            };
            if since.elapsed() >= STEADY {
                match presence {
                    // Somebody typing into it already shows that it takes input; a menu that no rule knows may
                    // look like a draft.
                    Presence::Draft(_) if look.state == LookState::Unknown => {}
                    Presence::Idle | Presence::Draft(_) | Presence::Busy => {
                        if !Self::runs_elsewhere(pane, cwd) {
                            return Ok(());
                        }
                        if start.elapsed() > FOLDER_GRACE {
                            return Err(NotReady::Elsewhere {
                                found: pane.path.display().to_string(),
                                wanted: cwd.display().to_string(),
                            });
                        }
                    }
                    // It may stand a moment longer; answered it is all the same.
                    Presence::Asks { .. }
                        if since.elapsed() < STUCK
                            && look.dialog.as_ref().is_some_and(|dialog| answered.contains(&dialog.name)) => {
                    }
                    // Pressed twice, a key may answer something else.
                    Presence::Asks { .. }
                        if let Some(dialog) = wanted(profile, &seen)
                            && !answered.contains(&dialog.name) =>
                    {
                        if self.answer(&eye, id, &seen, &dialog).await? {
                            answered.push(dialog.name);
                        }
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                    Presence::Asks { says, press } => {
                        return Err(NotReady::Asks { says: says.clone(), press: press.clone() });
                    }
                    Presence::Limited(until) => return Err(NotReady::Limited(until.clone())),
                    Presence::Unknown(_) if profile.signs.ready.is_empty() && start.elapsed() >= UNREAD => {
                        let last_lines = self.last_lines(id).await?;
                        return Err(NotReady::Unread { kind: profile.kind.clone(), last_lines });
                    }
                    _ => {}
                }
            }
            if start.elapsed() >= timeout {
                let last_lines = self.last_lines(id).await?;
                return Err(NotReady::TimedOut { after: timeout, presence: presence.clone(), last_lines });
            }
            steady = Some((presence.clone(), since));
            tokio::time::sleep(PAUSE).await;
        }
    }
}
