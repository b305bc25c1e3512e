//! One sender per pane, across processes.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::pane::Pane;
use crate::transport::{Presence, TransportError};

/// How long another sender is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Held during a whole send; given back when dropped, also by a crash.
pub(crate) struct PaneLock(#[expect(dead_code, reason = "holds the lock")] File);

impl PaneLock {
    /// Takes the pane's lock in `folder`.
    pub(crate) async fn take(folder: &Path, pane: &Pane) -> Result<Self, TransportError> {
        let harmless = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let server: String = pane.socket.to_string_lossy().chars().map(harmless).collect();
        let path = folder.join(format!("tmux{server}-{}.lock", pane.id.as_str().trim_start_matches('%')));
        let file = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .and_then(|()| OpenOptions::new().create(true).append(true).mode(0o600).open(&path))
            .map_err(|error| {
                TransportError::Failed(format!("cannot open the lock {}: {error}", path.display()))
            })?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let why = format!("another process is typing into pane {}", pane.id);
                    return Err(TransportError::NotNow(Presence::Unknown(why)));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(TransportError::Failed(format!("cannot lock {}: {error}", path.display())));
                }
            }
        }
    }
}
