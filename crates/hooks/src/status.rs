//! Whether the notifier is there, and whether it works.

use serde::Serialize;
use std::path::{Path, PathBuf};

use crate::env::HookEnv;
use crate::error::HookError;
use crate::ground::Ground;
use crate::install::{is_current, notes};
use crate::managers::{SeatKind, seat, seats_of_all_times};
use crate::marked::find;
use crate::old_way::{OldWay, old_ways};
use crate::probe::{Trial, probe};
use crate::write::{mode, read};

/// What is known of the notifier in one worktree.
#[derive(Debug, Clone, Serialize)]
pub struct HookStatus {
    /// The folder in which git looks for hooks here.
    pub folder: PathBuf,
    /// `core.hooksPath`, where it is set.
    pub hooks_path: Option<String>,
    /// The file in which our section belongs here.
    pub file: PathBuf,
    /// Who manages the hooks here (`husky`, `lefthook`, `pre-commit`).
    pub manager: Option<&'static str>,
    /// The files that hold our section.
    pub sections: Vec<PathBuf>,
    /// Whether every section calls this `loop`, in today's form.
    pub current: bool,
    /// Whether a commit rings; `None` when it was not tried.
    pub proof: Option<Proof>,
    /// What the user should know, one sentence each.
    pub notes: Vec<String>,
    /// Lines that already wake agents in the old way.
    pub old_ways: Vec<OldWay>,
}

/// Whether a commit in this worktree rings, as a trial commit has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "proof", rename_all = "kebab-case")]
pub enum Proof {
    /// It does.
    Works {
        /// How many milliseconds the trial took, everything included.
        took_ms: u64,
    },
    /// Git runs no hook here that could.
    NotRun {
        /// Why not, and what to do.
        why: String,
    },
    /// The hook is in its place, and something keeps our lines from being reached.
    Bypassed {
        /// What git and the hooks said, or what is known.
        why: String,
    },
    /// The trial commit itself could not be made.
    Unproven {
        /// Why not.
        why: String,
    },
}

/// Looks at the notifier of `worktree`; with `try_it` a trial commit proves whether it works.
///
/// The trial leaves nothing in the repository, and runs no part of the user's own post-commit hook. Other hooks of
/// a commit run, except those that `--no-verify` leaves out.
///
/// # Errors
/// Fails when `worktree` is none, or when a file cannot be read.
pub fn status(worktree: &Path, env: &HookEnv, try_it: bool) -> Result<HookStatus, HookError> {
    let ground = Ground::read(worktree, env)?;
    let seat = seat(&ground)?;
    let mut sections = Vec::new();
    let mut current = true;
    for file in seats_of_all_times(&ground) {
        let Some(bytes) = read(&file)? else { continue };
        let half = |half: crate::marked::Half| HookError::Half { path: file.clone(), line: half.line };
        if let Some(place) = find(&bytes).map_err(half)? {
            let job =
                matches!(file.extension(), Some(extension) if extension == "yml" || extension == "yaml");
            current &= job || is_current(&bytes[place], env);
            sections.push(file);
        }
    }
    let mut notes = notes(&ground);
    notes.extend(seat.notes.iter().cloned());
    let proof = if try_it { Some(prove(&ground, env, seat.kind, &sections)?) } else { None };
    Ok(HookStatus {
        folder: ground.folder.clone(),
        hooks_path: ground.hooks_path.as_ref().map(|hooks_path| hooks_path.value.clone()),
        file: seat.file.clone(),
        manager: seat.manager,
        current: current && !sections.is_empty(),
        sections,
        proof,
        notes,
        old_ways: old_ways(&ground, &seat)?,
    })
}

fn prove(ground: &Ground, env: &HookEnv, kind: SeatKind, sections: &[PathBuf]) -> Result<Proof, HookError> {
    let words = match probe(ground, env)? {
        Trial::Rang(took) => {
            let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            return Ok(Proof::Works { took_ms });
        }
        Trial::Failed(why) => return Ok(Proof::Unproven { why }),
        Trial::Silent(words) => words,
    };
    let hook = ground.hook();
    let shown = hook.display();
    if !hook.exists() {
        let why = format!("git looks for the hook in {shown}, and there is none");
        return Ok(Proof::NotRun { why });
    }
    if !mode(&hook).is_ok_and(|mode| mode & 0o111 != 0) {
        let why = format!("{shown} is not executable, so git does not run it (`chmod +x`)");
        return Ok(Proof::NotRun { why });
    }
    let seated = kind != SeatKind::Hook && !sections.is_empty();
    if !sections.contains(&hook) && !seated {
        let why = format!("git runs {shown}, which does not ring");
        return Ok(Proof::NotRun { why });
    }
    let why = if words.is_empty() {
        format!(
            "{shown} is in its place, but the trial commit did not ring: something ends it before our lines"
        )
    } else {
        words
    };
    Ok(Proof::Bypassed { why })
}
