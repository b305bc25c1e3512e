//! Typing one line into an agent's window, and seeing what became of it.
//!
//! Text and submit key are two calls with a proof between them: CLIs take an Enter that comes too soon for a line
//! break of the paste. Nothing is submitted that is not exactly our text, and nothing is ever cleared. Both go only
//! to the very screen that was looked at ([`unchanged`](super::unchanged)).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use loop_core::DeliveryState;
use loop_core::profile::TextMethod;
use tokio::time::{Instant, sleep};

use super::composer::{Blind, Holds, holds, is_last_line, is_part};
use super::pane::{Pane, PaneId};
use super::quote::quote;
use super::ready::{Eye, Seen};
use super::server::{Server, TmuxError};
use super::told::Told;
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
/// An empty composer that nothing else explains is not understood after this.
const NOT_TOLD: Duration = Duration::from_secs(3);
/// How often a key is tried on a screen that changes under it.
const TRIES: usize = 8;

/// How a send ended well: how far it was seen to come, and what was seen.
pub(crate) type Sent = (DeliveryState, String);

/// Sends `text` to the agent in `pane`, whose lock the caller holds. `shown`: how its CLI shows what it was told, filled
/// in.
pub(crate) async fn send(
    server: &Server,
    eye: &Eye<'_>,
    pane: &PaneId,
    check: &(dyn Fn(&Pane) -> Result<(), Presence> + Send + Sync),
    text: &str,
    shown: &[String],
    progress: &dyn Progress,
) -> Result<Sent, TransportError> {
    let mut sender = Sender { server, eye, pane, check, text, shown, blind: None, told: None };
    if let Speak::Put(before) = sender.may_speak().await? {
        sender.told = Some(Told::new(&before.screen, before.top, text, shown));
        if eye.profile.signs.composer.is_none() {
            sender.blind = Some(Blind::new(&before.screen, text));
        }
        sender.put_text(*before).await?;
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
    shown: &'a [String],
    /// Where the profile does not say which line is the composer.
    blind: Option<Blind>,
    told: Option<Told>,
}

impl Sender<'_> {
    /// Looks at the pane, verified anew to be the agent's.
    async fn see(&self) -> Result<Seen, Trouble> {
        let seen = self.eye.see(self.server, self.pane).await.map_err(Trouble::Tmux)?;
        (self.check)(&seen.pane).map_err(Trouble::NotIts)?;
        Ok(seen)
    }

    fn holds(&self, seen: &Seen) -> Holds {
        match &self.blind {
            Some(blind) => blind.holds(&seen.screen, self.text),
            None => holds(self.eye.profile, &seen.screen, &seen.look, self.text),
        }
    }

    /// The agent must be idle twice; or our own text stands there from an interrupted send, twice.
    async fn may_speak(&self) -> Result<Speak, TransportError> {
        let once = |seen: &Seen| match &seen.presence {
            Presence::Idle => Ok(false),
            Presence::Draft(_) if self.holds(seen) == Holds::Ours => Ok(true),
            other => Err(TransportError::NotNow(other.clone())),
        };
        let already = once(&self.see().await.map_err(Trouble::before_typing)?)?;
        sleep(TWICE).await;
        self.leave_copy_mode().await?;
        let seen = self.see().await.map_err(Trouble::before_typing)?;
        if once(&seen)? != already {
            return Err(TransportError::NotNow(seen.presence));
        }
        Ok(if already { Speak::Stands } else { Speak::Put(Box::new(seen)) })
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

    /// Puts the text into the composer of the screen that was looked at; a changed one is looked at again.
    async fn put_text(&self, mut before: Seen) -> Result<(), TransportError> {
        for _ in 0..TRIES {
            if self.put_once(&before).await? {
                return Ok(());
            }
            self.leave_copy_mode().await?;
            before = self.see().await.map_err(Trouble::before_typing)?;
            if before.presence != Presence::Idle {
                return Err(TransportError::NotNow(before.presence));
            }
        }
        Err(TransportError::NotNow(Presence::Unknown("its screen does not come to rest".to_owned())))
    }

    async fn put_once(&self, before: &Seen) -> Result<bool, TransportError> {
        let target = self.pane.as_str();
        let put = match self.eye.profile.text {
            TextMethod::Paste => {
                static NEXT: AtomicU64 = AtomicU64::new(0);
                // Buffers belong to the whole server: a name that others use would carry their text.
                let buffer = format!("loop-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
                let load = ["load-buffer", "-b", &buffer, "-"];
                self.server.run(&load, Some(self.text.as_bytes())).await.map_err(|error| failed(&error))?;
                let paste = format!("paste-buffer -p -r -d -b {buffer} -t {target}");
                let drop = format!("delete-buffer -b {buffer} ; ");
                let pasted = self.server.if_unchanged(self.pane, before, &paste, &drop).await;
                if pasted.is_err() {
                    // Also gone already, when the paste did happen.
                    let _ = self.server.tmux(&["delete-buffer", "-b", &buffer]).await;
                }
                pasted
            }
            TextMethod::Keys => {
                let Some(literal) = quote(self.text) else {
                    return Err(TransportError::Failed(
                        "the text holds a character that no key has".to_owned(),
                    ));
                };
                let keys = format!("send-keys -t {target} -l -- {literal}");
                self.server.if_unchanged(self.pane, before, &keys, "").await
            }
        };
        match put {
            Ok(done) => Ok(done),
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
            (Holds::Foreign(draft), Presence::Draft(_) | Presence::Idle | Presence::Unknown(_)) => {
                TransportError::NotNow(Presence::Draft(draft))
            }
            (_, presence) => {
                TransportError::Unknown(format!("after typing into pane {}: {presence}", self.pane))
            }
        }
    }

    /// Presses the submit key until the composer is empty; at most three times, each only if the screen still is the
    /// one that showed our text standing there alone.
    async fn submit(&self) -> Result<Sent, TransportError> {
        let submit = self.eye.profile.submit.as_str();
        // Some versions of tmux and some CLIs hear only one of the two.
        let presses: [&[&str]; 3] = [&[submit], &[submit], &["-H", "0d"]];
        for (before, press) in presses.iter().enumerate() {
            let standing = match self.press(press, before > 0).await? {
                Press::Done(standing) => standing,
                Press::Needless(sent) => return Ok(sent),
            };
            if let Some(sent) = self.effect(&standing).await? {
                return Ok(sent);
            }
        }
        Err(TransportError::Unknown(format!(
            "the text stands in the composer of pane {}, but the agent does not take the submit key {submit}",
            self.pane
        )))
    }

    /// Presses once; a screen that changed under the key is looked at again.
    async fn press(&self, keys: &[&str], pressed: bool) -> Result<Press, TransportError> {
        let command = Server::keys(self.pane, keys);
        for _ in 0..TRIES {
            let standing = match self.may_press(pressed).await? {
                Press::Done(standing) => standing,
                needless => return Ok(needless),
            };
            let done = self.server.if_unchanged(self.pane, &standing, &command, "").await;
            if done.map_err(|error| TransportError::Unknown(error.to_string()))? {
                return Ok(Press::Done(standing));
            }
            // A person may look at the history meanwhile.
            self.leave_copy_mode().await.map_err(|error| TransportError::Unknown(error.to_string()))?;
        }
        Err(TransportError::Unknown(format!(
            "the text stands in the composer of pane {}, but its screen does not come to rest",
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
                (Holds::Ours, presence) if may_be_pressed(presence) => {
                    return Ok(Press::Done(Box::new(seen)));
                }
                (Holds::Ours, Presence::Busy) if Instant::now() < deadline => {}
                // The press before was heard after all.
                (Holds::Nothing, Presence::Busy) if pressed => return Ok(Press::Needless(busy())),
                (held, presence) => return Err(self.changed(&held, presence)),
            }
            sleep(PAUSE).await;
        }
    }

    /// What the key did; `None`: nothing, our text still stands there. `before` is what was seen when it was pressed.
    async fn effect(&self, before: &Seen) -> Result<Option<Sent>, TransportError> {
        let start = Instant::now();
        let mut empty_since = None;
        let told = match &self.told {
            Some(told) => told.with_standing(&before.screen),
            None => Told::standing(&before.screen, self.text, self.shown),
        };
        // Where nobody says which line is the composer, ours may only have moved.
        let told = self.blind.is_none().then_some(told);
        // Once seen is enough: what it answers may push it out of sight.
        let mut is_told = false;
        loop {
            sleep(PAUSE).await;
            let seen = self.see().await.map_err(Trouble::after_typing)?;
            let held = self.holds(&seen);
            // Our text has left the composer, and stands among what the agent was told.
            is_told |= held != Holds::Ours
                && seen.pane.size == before.pane.size
                && told.as_ref().is_some_and(|told| told.has_come(&seen.screen));
            let is_missing = !is_told && told.as_ref().is_some_and(|told| told.is_missing(&seen.screen));
            if held != Holds::Nothing {
                empty_since = None;
            }
            match (held, &seen.presence) {
                // A prompt that was the last line, with words below it now: it is the line that was taken.
                (Holds::Ours, Presence::Busy)
                    if is_last_line(self.eye.profile, &before.screen)
                        && !is_last_line(self.eye.profile, &seen.screen) =>
                {
                    return Ok(Some(echoed()));
                }
                (Holds::Ours, _) if start.elapsed() < NOT_HEARD => {}
                // It works for another reason: a key would steer it, or be a second one.
                (held @ Holds::Ours, presence @ Presence::Busy) => return Err(self.changed(&held, presence)),
                (Holds::Ours, _) => return Ok(None),
                (Holds::Foreign(draft), presence) if is_part(self.text, &draft) => {
                    return Err(self.changed(&Holds::Foreign(draft), presence));
                }
                // It works at something else, and our text was emptied out of the composer.
                (_, Presence::Busy) if is_missing && start.elapsed() < NOT_TOLD => {}
                (_, Presence::Busy) if is_missing => {
                    return Err(TransportError::Unknown(format!(
                        "the composer of pane {} is empty again and the agent works, but the text does not stand \
                         among what it was told",
                        self.pane
                    )));
                }
                // Whatever stands there now is not ours: somebody types the next thing already.
                (_, Presence::Busy) => return Ok(Some(busy())),
                (Holds::Nothing, Presence::Limited(until)) if is_told => {
                    let note = format!("taken, then a usage limit: {until}");
                    return Ok(Some((DeliveryState::Submitted, note)));
                }
                (Holds::Nothing, Presence::Idle) => {
                    let since = *empty_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= EMPTY && is_told {
                        let note = "the composer is empty again; the agent was not seen working".to_owned();
                        return Ok(Some((DeliveryState::Submitted, note)));
                    }
                    if since.elapsed() >= NOT_TOLD {
                        return Err(TransportError::Unknown(format!(
                            "the composer of pane {} is empty again, but the agent was not seen working, and the \
                             text does not stand among what it was told",
                            self.pane
                        )));
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
}

/// What is to be done first.
enum Speak {
    /// The text is to be put into the composer that was seen.
    Put(Box<Seen>),
    /// It stands there already.
    Stands,
}

/// What became of the submit key, or is to become of it.
enum Press {
    /// It goes to the screen that was seen.
    Done(Box<Seen>),
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
