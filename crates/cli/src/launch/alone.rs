//! One at a time opens a loop's windows: of two `loop up` each would see none, and open all of them.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::output;

/// How often the lock is tried for.
const PAUSE: Duration = Duration::from_millis(100);

/// Held while a loop's windows are opened; given back when dropped, also by a crash.
pub(super) struct Alone(#[expect(dead_code, reason = "holds the lock")] File);

impl Alone {
    /// Waits until nobody else opens the windows of this loop.
    pub(super) async fn take(folder: &Path, loop_id: &str) -> Result<Self, Failure> {
        let harmless = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = loop_id.chars().map(harmless).collect();
        let path = folder.join(format!("up-{name}.lock"));
        let broken = |error: std::io::Error| {
            Failure::ours(anyhow::Error::new(error).context(format!("cannot lock {}", path.display())))
        };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(broken)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(broken)?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => {
                    if !std::mem::replace(&mut told, true) {
                        output::note("another `loop up` opens the windows of this loop; waiting for it …");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                Err(TryLockError::Error(error)) => return Err(broken(error)),
            }
        }
    }
}
