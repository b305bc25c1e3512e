//! Answering a dialog that the user wants answered: once, and only the very screen that was looked at.

use std::time::Duration;

use loop_core::Profile;
use loop_core::screen::Dialog;
use tokio::time::{Instant, sleep};

use super::pane::PaneId;
use super::ready::{Eye, Seen};
use super::server::{Server, TmuxError};
use crate::transport::Presence;

/// Between the keys of one answer: a menu must have moved before it is confirmed.
const BETWEEN_KEYS: Duration = Duration::from_millis(200);

/// How long a menu may take to close.
const CLOSES: Duration = Duration::from_secs(3);

/// The dialog on the screen, if the user wants it answered: named by the profile's `answers`, and with keys.
pub(super) fn wanted(profile: &Profile, seen: &Seen) -> Option<Dialog> {
    let dialog = seen.look.dialog.as_ref()?;
    (!dialog.keys.is_empty() && profile.answers.contains(&dialog.name)).then(|| dialog.clone())
}

impl Server {
    /// Presses the keys that answer `dialog`, as long as it is the dialog that is shown; returns whether it did.
    pub(super) async fn answer(
        &self,
        eye: &Eye<'_>,
        id: &PaneId,
        seen: &Seen,
        dialog: &Dialog,
    ) -> Result<bool, TmuxError> {
        let press = |key: &String| Self::keys(id, &[key.as_str()]);
        let Some((first, others)) = dialog.keys.split_first() else { return Ok(false) };
        if !self.if_unchanged(id, seen, &press(first), "").await? {
            return Ok(false);
        }
        for key in others {
            sleep(BETWEEN_KEYS).await;
            let seen = eye.see(self, id).await?;
            if seen.look.dialog.as_ref().is_none_or(|shown| shown.name != dialog.name) {
                break;
            }
            self.if_unchanged(id, &seen, &press(key), "").await?;
        }
        Ok(true)
    }

    /// Closes the menu of a usage limit that has ended, where the user wants that answered.
    pub(crate) async fn leave_limit_menu(&self, eye: &Eye<'_>, id: &PaneId) -> Result<(), TmuxError> {
        let seen = eye.see(self, id).await?;
        let Presence::Limited(_) = seen.presence else { return Ok(()) };
        let Some(dialog) = wanted(eye.profile, &seen) else { return Ok(()) };
        self.answer(eye, id, &seen, &dialog).await?;
        let deadline = Instant::now() + CLOSES;
        while Instant::now() < deadline {
            if !matches!(eye.see(self, id).await?.presence, Presence::Limited(_)) {
                return Ok(());
            }
            sleep(BETWEEN_KEYS).await;
        }
        Ok(())
    }
}
