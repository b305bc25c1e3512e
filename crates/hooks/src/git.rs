//! Short questions to the `git` program.

use std::path::Path;
use std::time::Duration;

use loop_git::{Git, Output};

use crate::env::HookEnv;
use crate::error::HookError;

/// How long a question may take; far more than it does.
const DEADLINE: Duration = Duration::from_secs(20);

/// Asks git in `folder` and returns its answer, yes or no.
pub(crate) fn ask(folder: &Path, env: &HookEnv, args: &[&str]) -> Result<Output, HookError> {
    Ok(Git::at(folder, &env.for_git()).run(args, DEADLINE)?)
}
