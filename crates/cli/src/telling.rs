//! Whether a person can be told, before anything is sent: what `loop up`, `loop doctor` and `loop tell` say of it.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::world::World;

/// How a way to a person is made.
pub(crate) fn how(world: &World) -> String {
    format!(
        "set `tell:` in {}, for example `tell: {{desktop: true}}` (`loop help tell` has a line to copy for each \
         channel), then `loop tell --test`",
        world.config_file().display()
    )
}

/// The files with secrets that others can read, with their modes.
pub(crate) fn open_to_others(world: &World) -> Vec<(PathBuf, u32)> {
    let mut files = BTreeSet::new();
    for configured in world.tell.configured() {
        files.extend(configured.secret_files().iter().cloned());
        if configured.holds_secrets() {
            files.insert(world.config_file());
        }
    }
    let mode = |file: PathBuf| {
        let mode = std::fs::metadata(&file).ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then_some((file, mode))
    };
    files.into_iter().filter_map(mode).collect()
}

/// Why a person might not be told tonight.
pub(crate) async fn risks(world: &World) -> Vec<String> {
    if world.tell.is_empty() {
        return vec![format!("nobody is told when it is held: {}", how(world))];
    }
    let mut risks = Vec::new();
    for configured in world.tell.configured() {
        if let Err(error) = configured.ready().await {
            risks.push(format!("nobody is told by {}: {error}; {}", configured.name, error.next()));
        }
    }
    for (file, mode) in open_to_others(world) {
        let file = file.display();
        risks.push(format!(
            "{file} holds secrets and can be read by others (mode {mode:o}): chmod 600 {file}"
        ));
    }
    risks
}
