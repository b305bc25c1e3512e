//! Typing one line into an agent's window, and seeing what became of it.
//!
//! Text and submit key are two calls with a proof between them: CLIs take an Enter that comes too soon for a line
//! break of the paste. Nothing is submitted that is not exactly our text, and nothing is ever cleared.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use loop_core::DeliveryState;
use loop_core::profile::TextMethod;
use loop_core::screen::Screen;
use tokio::time::{Instant, sleep};

use super::composer::{Holds, holds};
use super::pane::{Pane, PaneId};
use super::ready::{Eye, Seen};
use super::server::{Server, TmuxError};
use crate::transport::{Presence, Progress, TransportError};

/// Between two looks that must both be idle.
const TWICE: Duration = Duration::from_millis(300);
/// Between two looks while waiting for something.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the text may take to appear.
const APPEARS: Duration = Duration::from_secs(3);
/// After this our text still standing there means that the key was not heard.
const NOT_HEARD: Duration = Duration::from_millis(1500);
/// An empty composer of an agent that does not look busy counts after this: short turns are over by then.
const EMPTY: Duration = Duration::from_millis(1000);
/// How long the effect of the submit key is waited for where the composer cannot be read.
const BLIND: Duration = Duration::from_secs(5);

/// How a send ended well: how far it was seen to come, and what was seen.
pub(crate) type Sent = (DeliveryState, String);

/// Sends `text` to the agent in `pane`, whose lock the caller holds.
pub(crate) async fn send(
    server: &Server,
    eye: &Eye<'_>,
    pane: &PaneId,
    check: &(dyn Fn(&Pane) -> Result<(), Presence> + Send + Sync),
    text: &str,
    progress: &dyn Progress,
) -> Result<Sent, TransportError> {
    let sender = Sender { server, eye, pane, check, text };
    let (before, already) = sender.may_speak().await?;
    sender.leave_copy_mode().await?;
    if eye.profile.signs.composer.is_none() {
        return sender.send_blind(&before.screen, progress).await;
    }
    if !already {
        sender.put_text().await?;
    }
    sender.until_it_stands().await?;
    progress.typed().await;
    sleep(Duration::from_millis(eye.profile.settle_ms)).await;
    sender.submit().await
}

struct Sender<'a> {
    server: &'a Server,
    eye: &'a Eye<'a>,
    pane: &'a PaneId,
    check: &'a (dyn Fn(&Pane) -> Result<(), Presence> + Send + Sync),
    text: &'a str,
}

impl Sender<'_> {
    /// Looks at the pane, verified anew to be the agent's.
    async fn see(&self) -> Result<Seen, Trouble> {
        let seen = self.eye.see(self.server, self.pane).await.map_err(Trouble::Tmux)?;
        (self.check)(&seen.pane).map_err(Trouble::NotIts)?;
        Ok(seen)
    }

    fn holds(&self, seen: &Seen) -> Holds {
        holds(self.eye.profile, &seen.screen, &seen.look, self.text)
    }

    /// The agent must be idle twice; or our own text stands there from an interrupted send, twice.
    async fn may_speak(&self) -> Result<(Seen, bool), TransportError> {
        let once = |seen: &Seen| match &seen.presence {
            Presence::Idle => Ok(false),
            Presence::Draft(_) if self.holds(seen) == Holds::Ours => Ok(true),
            other => Err(TransportError::NotNow(other.clone())),
        };
        let already = once(&self.see().await.map_err(Trouble::before_typing)?)?;
        sleep(TWICE).await;
        let seen = self.see().await.map_err(Trouble::before_typing)?;
        if once(&seen)? != already {
            return Err(TransportError::NotNow(seen.presence));
        }
        Ok((seen, already))
    }

    /// In copy-mode keys move a cursor through history, and pastes lose their marks.
    async fn leave_copy_mode(&self) -> Result<(), TransportError> {
        for _ in 0..5 {
            let pane = self.server.pane(self.pane).await.map_err(|error| failed(&error))?;
            if !pane.in_mode {
                return Ok(());
            }
            // Refused when the person has left it in the meantime: the next look tells.
            let _ = self.server.tmux(&["send-keys", "-t", self.pane.as_str(), "-X", "cancel"]).await;
        }
        let why = format!("pane {} stays in a mode in which keys do not reach the agent", self.pane);
        Err(TransportError::NotNow(Presence::Unknown(why)))
    }

    async fn put_text(&self) -> Result<(), TransportError> {
        let target = self.pane.as_str();
        let put = match self.eye.profile.text {
            TextMethod::Paste => {
                static NEXT: AtomicU64 = AtomicU64::new(0);
                // Buffers belong to the whole server: a name that others use would carry their text.
                let buffer = format!("loop-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
                let load = ["load-buffer", "-b", &buffer, "-"];
                self.server.run(&load, Some(self.text.as_bytes())).await.map_err(|error| failed(&error))?;
                let paste = ["paste-buffer", "-p", "-r", "-d", "-b", &buffer, "-t", target];
                let pasted = self.server.tmux(&paste).await;
                if pasted.is_err() {
                    // Also gone already, when the paste did happen.
                    let _ = self.server.tmux(&["delete-buffer", "-b", &buffer]).await;
                }
                pasted
            }
            TextMethod::Keys => {
                // tmux takes a `;` at an argument's end for its own.
                let literal = match self.text.strip_suffix(';') {
                    Some(front) => format!("{front}\\;"),
                    None => self.text.to_owned(),
                };
                self.server.tmux(&["send-keys", "-t", target, "-l", "--", &literal]).await
            }
        };
        match put {
            Ok(_) => Ok(()),
            Err(error @ TmuxError::TimedOut { .. }) => Err(TransportError::Unknown(error.to_string())),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Waits until the composer holds exactly our text.
    async fn until_it_stands(&self) -> Result<(), TransportError> {
        let deadline = Instant::now() + APPEARS;
        loop {
            let seen = self.see().await.map_err(Trouble::after_typing)?;
            let held = self.holds(&seen);
            if held == Holds::Ours {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(self.not_standing(held, seen.presence));
            }
            sleep(PAUSE).await;
        }
    }

    fn not_standing(&self, held: Holds, presence: Presence) -> TransportError {
        match (held, presence) {
            (Holds::Nothing, Presence::Idle) => TransportError::Failed(format!(
                "the text did not appear in the composer of pane {} within {} s",
                self.pane,
                APPEARS.as_secs()
            )),
            (Holds::Foreign(draft), Presence::Draft(_) | Presence::Unknown(_)) => {
                TransportError::NotNow(Presence::Draft(draft))
            }
            (_, presence) => {
                TransportError::Unknown(format!("after typing into pane {}: {presence}", self.pane))
            }
        }
    }

    /// Presses the submit key until the composer is empty; at most three times, each right after a look that
    /// showed our text standing there alone.
    async fn submit(&self) -> Result<Sent, TransportError> {
        let submit = self.eye.profile.submit.as_str();
        // Some versions of tmux and some CLIs hear only one of the two.
        let presses: [&[&str]; 3] = [&[submit], &[submit], &["-H", "0d"]];
        for (before, press) in presses.iter().enumerate() {
            if let Press::Needless(sent) = self.may_press(before > 0).await? {
                return Ok(sent);
            }
            let mut keys = vec!["send-keys", "-t", self.pane.as_str()];
            keys.extend(*press);
            self.server.tmux(&keys).await.map_err(|error| TransportError::Unknown(error.to_string()))?;
            if let Some(sent) = self.effect().await? {
                return Ok(sent);
            }
        }
        Err(TransportError::Unknown(format!(
            "the text stands in the composer of pane {}, but the agent does not take the submit key {submit}",
            self.pane
        )))
    }

    /// Looks right before a press. An agent that has begun to work meanwhile is given a moment: a key would steer
    /// or interrupt it. `pressed`: a press went before.
    async fn may_press(&self, pressed: bool) -> Result<Press, TransportError> {
        let deadline = Instant::now() + APPEARS;
        loop {
            let seen = self.see().await.map_err(Trouble::after_typing)?;
            match (self.holds(&seen), &seen.presence) {
                (Holds::Ours, presence) if may_be_pressed(presence) => return Ok(Press::Now),
                (Holds::Ours, Presence::Busy) if Instant::now() < deadline => {}
                // The press before was heard after all.
                (Holds::Nothing, Presence::Busy) => return Ok(Press::Needless(busy())),
                (Holds::Ours, Presence::Busy) if pressed => return Ok(Press::Needless(echoed())),
                (held, presence) => return Err(self.changed(&held, presence)),
            }
            sleep(PAUSE).await;
        }
    }

    /// What the key did; `None`: nothing, our text still stands there.
    async fn effect(&self) -> Result<Option<Sent>, TransportError> {
        let start = Instant::now();
        let mut empty_since = None;
        loop {
            sleep(PAUSE).await;
            let seen = self.see().await.map_err(Trouble::after_typing)?;
            let held = self.holds(&seen);
            if held != Holds::Nothing {
                empty_since = None;
            }
            match (held, &seen.presence) {
                (Holds::Ours, _) if start.elapsed() < NOT_HEARD => {}
                // It was at rest right before the key: what stands there is the line that it took.
                (Holds::Ours, Presence::Busy) => return Ok(Some(echoed())),
                (Holds::Ours, _) => return Ok(None),
                // Whatever stands there now is not ours: somebody types the next thing already.
                (_, Presence::Busy) => return Ok(Some(busy())),
                (Holds::Nothing, Presence::Limited(until)) => {
                    return Ok(Some((
                        DeliveryState::Submitted,
                        format!("taken, then a usage limit: {until}"),
                    )));
                }
                (Holds::Nothing, Presence::Idle) => {
                    let since = *empty_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= EMPTY {
                        let note = "the composer is empty again; the agent was not seen working".to_owned();
                        return Ok(Some((DeliveryState::Submitted, note)));
                    }
                }
                (held, presence) if start.elapsed() >= NOT_HEARD * 2 => {
                    return Err(self.changed(&held, presence));
                }
                _ => {}
            }
        }
    }

    fn changed(&self, held: &Holds, presence: &Presence) -> TransportError {
        let now = match held {
            Holds::Foreign(draft) => format!("the composer holds other text now: {draft}"),
            Holds::Nothing | Holds::Unseen | Holds::Ours => presence.to_string(),
        };
        TransportError::Unknown(format!("after the text stood in the composer of pane {}: {now}", self.pane))
    }

    /// Where no composer can be read, a screen that changed and then shows the agent working is the only proof.
    async fn send_blind(&self, before: &Screen, progress: &dyn Progress) -> Result<Sent, TransportError> {
        self.put_text().await?;
        let deadline = Instant::now() + APPEARS;
        loop {
            let seen = self.see().await.map_err(Trouble::after_typing)?;
            if seen.screen.lines != before.lines {
                break;
            }
            if Instant::now() >= deadline {
                return Err(TransportError::Unknown(format!(
                    "the text was typed, but nothing changed in pane {} within {} s",
                    self.pane,
                    APPEARS.as_secs()
                )));
            }
            sleep(PAUSE).await;
        }
        progress.typed().await;
        sleep(Duration::from_millis(self.eye.profile.settle_ms)).await;
        let seen = self.see().await.map_err(Trouble::after_typing)?;
        if !may_be_pressed(&seen.presence) {
            return Err(self.changed(&Holds::Unseen, &seen.presence));
        }
        let keys = ["send-keys", "-t", self.pane.as_str(), self.eye.profile.submit.as_str()];
        self.server.tmux(&keys).await.map_err(|error| TransportError::Unknown(error.to_string()))?;
        let deadline = Instant::now() + BLIND;
        loop {
            sleep(PAUSE).await;
            let seen = self.see().await.map_err(Trouble::after_typing)?;
            if seen.presence == Presence::Busy {
                return Ok(busy());
            }
            if Instant::now() >= deadline {
                return Err(TransportError::Unknown(format!(
                    "typed and submitted in pane {}, but the agent was not seen working within {} s: {}",
                    self.pane,
                    BLIND.as_secs(),
                    seen.presence
                )));
            }
        }
    }
}

/// Whether the submit key is to be pressed.
enum Press {
    Now,
    Needless(Sent),
}

/// Whether a key would do nothing but submit: with our text in it, a CLI's composer may make its screen unknown.
fn may_be_pressed(presence: &Presence) -> bool {
    matches!(presence, Presence::Draft(_) | Presence::Idle | Presence::Unknown(_) | Presence::Starting)
}

fn busy() -> Sent {
    (DeliveryState::Submitted, "the composer is empty again and the agent works".to_owned())
}

/// Some programs have no composer while they work, and leave the line that they took where it was typed.
fn echoed() -> Sent {
    (
        DeliveryState::Submitted,
        "the agent began to work after the submit key, its composer is gone".to_owned(),
    )
}

fn failed(error: &TmuxError) -> TransportError {
    TransportError::Failed(error.to_string())
}

/// Why the pane could not be looked at; what that means depends on whether something was typed already.
enum Trouble {
    Tmux(TmuxError),
    NotIts(Presence),
}

impl Trouble {
    fn before_typing(self) -> TransportError {
        match self {
            Self::Tmux(TmuxError::NoPane(pane)) => {
                TransportError::NotNow(Presence::Gone(format!("pane {pane} is closed")))
            }
            Self::Tmux(error) => TransportError::Failed(error.to_string()),
            Self::NotIts(presence) => TransportError::NotNow(presence),
        }
    }

    fn after_typing(self) -> TransportError {
        match self {
            Self::Tmux(error) => TransportError::Unknown(error.to_string()),
            Self::NotIts(presence) => TransportError::Unknown(presence.to_string()),
        }
    }
}
