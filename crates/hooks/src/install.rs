//! Putting the notifier into a repository's hooks.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::env::HookEnv;
use crate::error::HookError;
use crate::exclude::exclude;
use crate::ground::Ground;
use crate::managers::{Seat, SeatKind, is_shared, seat};
use crate::old_way::{OldWay, old_ways};
use crate::plan::{Found, NoPlan, Plan, plan};
use crate::text::{Chain, Remembered, hook_section, lefthook_job, other_section};
use crate::write::{HOOK_MODE, Write, WriteKind, make_folders, mode, put, read, stage};

/// What the user allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InstallOptions {
    /// Also edit a hook that the repository tracks, and thus shares.
    pub force_tracked: bool,
}

/// What became of an installation.
#[derive(Debug, Clone, Serialize)]
pub struct Installed {
    /// What was done.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The folder in which git looks for hooks here.
    pub folder: PathBuf,
    /// The file that holds our section, or that would.
    pub file: PathBuf,
    /// Who manages the hooks here (`husky`, `lefthook`, `pre-commit`).
    pub manager: Option<&'static str>,
    /// Every change on disk, in order.
    #[serde(skip)]
    pub writes: Vec<Write>,
    /// What the user should know, one sentence each.
    pub notes: Vec<String>,
    /// Lines that already wake agents: each wake would be typed twice.
    pub old_ways: Vec<OldWay>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The notifier is new here.
    Installed,
    /// It was there, and calls this `loop` now, or can be run again.
    Updated,
    /// Nothing was to be done.
    AlreadyThere,
    /// Nothing was done: a person has to add `lines` to `file`, or ask for it.
    ByHand {
        /// The file.
        file: PathBuf,
        /// The lines.
        lines: String,
        /// Why it was not done.
        why: String,
    },
    /// Nothing was done: hooks are switched off here.
    Off {
        /// By what.
        why: String,
    },
}

/// Puts the notifier into the hook that git runs in `worktree` after a commit.
///
/// Every byte of an existing hook stays, and [`uninstall`](crate::uninstall) gives them back. Doing it twice changes
/// nothing. `core.hooksPath` is respected and never set.
///
/// # Errors
/// Fails when `worktree` is none, when a file cannot be read or written, or when something unknown is in the way.
/// What was begun is taken back.
pub fn install(worktree: &Path, env: &HookEnv, options: InstallOptions) -> Result<Installed, HookError> {
    let ground = Ground::read(worktree, env)?;
    let seat = seat(&ground)?;
    let mut installed = Installed {
        outcome: Outcome::AlreadyThere,
        folder: ground.folder.clone(),
        file: seat.file.clone(),
        manager: seat.manager,
        writes: Vec::new(),
        notes: notes(&ground),
        old_ways: old_ways(&ground, &seat)?,
    };
    installed.notes.extend(seat.notes.iter().cloned());
    if ground.folder.exists() && !ground.folder.is_dir() {
        let path = ground.folder.display();
        installed.outcome = Outcome::Off {
            why: format!(
                "git looks for hooks in {path}, which is no folder: hooks are switched off here; the router sees \
                 commits without them, a few seconds later"
            ),
        };
        return Ok(installed);
    }
    installed.outcome = match carry_out(&ground, &seat, env, options, &mut installed) {
        Ok(outcome) => outcome,
        Err(error) => {
            take_back(&installed.writes);
            return Err(error);
        }
    };
    Ok(installed)
}

fn carry_out(
    ground: &Ground,
    seat: &Seat,
    env: &HookEnv,
    options: InstallOptions,
    installed: &mut Installed,
) -> Result<Outcome, HookError> {
    let file = &seat.file;
    let found = look(file)?;
    let missing = missing_folders(file);
    let planned = match plan(found.as_ref(), seat.kind, missing, env) {
        Ok(planned) => planned,
        Err(NoPlan::Half(half)) => return Err(HookError::Half { path: file.clone(), line: half.line }),
        Err(NoPlan::Hook(error)) => return Err(error),
    };
    let by_hand = |why: String| Outcome::ByHand { file: file.clone(), lines: lines_to_add(seat.kind), why };
    match &planned {
        Plan::Nothing { own_line } => {
            if *own_line {
                installed.notes.push(format!("{} calls `loop notify` by a line of its own", file.display()));
            }
            return Ok(Outcome::AlreadyThere);
        }
        Plan::ByHand { why } => return Ok(by_hand((*why).to_owned())),
        Plan::Rewrite { .. } | Plan::Make { .. } | Plan::TakeOut { .. } => {}
    }
    if !options.force_tracked && is_shared(seat, env)? {
        return Ok(by_hand(
            "git tracks it, or the hooks beside it, so others would get the change too".to_owned(),
        ));
    }
    let before = found.as_ref().map(|found| found.bytes.clone());
    match planned {
        Plan::Nothing { .. } | Plan::ByHand { .. } => Ok(Outcome::AlreadyThere),
        Plan::Rewrite { bytes, section } => {
            let was_there = before.as_deref().is_some_and(has_section);
            let own = Remembered::read(&section).made_file;
            put(file, &bytes, if own { HOOK_MODE } else { mode(file)? })?;
            let path = file.clone();
            installed.writes.push(Write { path, kind: WriteKind::Changed, before, added: section });
            Ok(if was_there { Outcome::Updated } else { Outcome::Installed })
        }
        Plan::Make { bytes, section, chain } => {
            make(file, &bytes, section, chain, seat.kind, installed)?;
            let mut ours = vec![file.clone()];
            if chain != Chain::None {
                ours.push(beside(file));
                ours.extend(
                    chain.path().map(|path| file.with_file_name(path)).filter(|path| *path != ours[1]),
                );
                installed.notes.push(aside_note(file, found.as_ref()));
            }
            installed.writes.extend(exclude(ground, env, &ours)?);
            Ok(Outcome::Installed)
        }
        Plan::TakeOut { bytes } => {
            put(file, &bytes, mode(file)?)?;
            let (path, kind) = (file.clone(), WriteKind::Changed);
            installed.writes.push(Write { path, kind, before, added: Vec::new() });
            carry_out(ground, seat, env, options, installed)
        }
    }
}

/// Makes a file of our own, moving what stands there aside first.
fn make(
    file: &Path,
    bytes: &[u8],
    section: Vec<u8>,
    chain: Chain,
    kind: SeatKind,
    installed: &mut Installed,
) -> Result<(), HookError> {
    let path = file.to_owned();
    for folder in make_folders(file.parent().unwrap_or(file))? {
        let kind = WriteKind::MadeFolder;
        installed.writes.push(Write { path: folder, kind, before: None, added: Vec::new() });
    }
    let file_mode = if kind == SeatKind::LefthookConfig { 0o644 } else { HOOK_MODE };
    let staged = stage(file, bytes, file_mode)?;
    if chain != Chain::None {
        let to = beside(file);
        let before = read(file)?;
        keep(file, &to)?;
        let kind = WriteKind::Moved { to };
        installed.writes.push(Write { path: path.clone(), kind, before, added: Vec::new() });
    }
    if chain == Chain::ByName {
        name(file, installed)?;
    }
    staged.persist(file).map_err(|error| HookError::io("write", file)(error.error))?;
    installed.writes.push(Write { path, kind: WriteKind::MadeFile, before: None, added: section });
    Ok(())
}

/// Keeps the hook `file` under the name `to` too, so that our own can take its place in one step: there is no moment
/// without a hook, and of two installations at once only one gets here.
fn keep(file: &Path, to: &Path) -> Result<(), HookError> {
    let in_the_way = || HookError::InTheWay {
        path: to.to_owned(),
        what: "a hook that was moved aside earlier; put it back, or remove it, and try again".to_owned(),
    };
    match fs::hard_link(file, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(in_the_way()),
        // A file system without hard links.
        Err(_) if fs::symlink_metadata(to).is_err() => {
            fs::rename(file, to).map_err(HookError::io("move", file))
        }
        Err(_) => Err(in_the_way()),
    }
}

/// Gives the hook that was moved aside its own name again, in a folder below.
fn name(file: &Path, installed: &mut Installed) -> Result<(), HookError> {
    let folder = file.with_file_name("before-loop");
    for path in make_folders(&folder)? {
        let kind = WriteKind::MadeFolder;
        installed.writes.push(Write { path, kind, before: None, added: Vec::new() });
    }
    let path = folder.join("post-commit");
    symlink("../post-commit.before-loop", &path).map_err(HookError::io("make", &path))?;
    let kind = WriteKind::MadeFile;
    installed.writes.push(Write { path, kind, before: None, added: Vec::new() });
    Ok(())
}

/// Where a hook is kept that our lines cannot stand in.
pub(crate) fn beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".before-loop");
    file.with_file_name(name)
}

/// Looks at a file without following it.
fn look(file: &Path) -> Result<Option<Found>, HookError> {
    let Ok(metadata) = fs::symlink_metadata(file) else { return Ok(None) };
    let symlink = metadata.is_symlink();
    if metadata.is_dir() {
        return Err(HookError::InTheWay {
            path: file.to_owned(),
            what: "a folder stands where git looks for the hook".to_owned(),
        });
    }
    let executable = mode(file).is_ok_and(|mode| mode & 0o111 != 0);
    Ok(Some(Found { bytes: read(file)?.unwrap_or_default(), executable, symlink }))
}

fn missing_folders(file: &Path) -> usize {
    file.ancestors().skip(1).take_while(|folder| !folder.exists()).count()
}

fn has_section(bytes: &[u8]) -> bool {
    crate::marked::find(bytes).is_ok_and(|place| place.is_some())
}

fn aside_note(file: &Path, found: Option<&Found>) -> String {
    let to = beside(file);
    let to = to.display();
    match found {
        Some(found) if !found.executable => format!(
            "the hook that was here is not executable, so git did not run it; it is kept as {to}, and still not run"
        ),
        Some(found) if found.symlink => {
            format!("the hook that was here is a symlink; it is kept as {to}, and run")
        }
        _ => format!("the hook that was here is no shell script; it is kept as {to}, and run as before"),
    }
}

/// What a person may add to a file that others share: it names no path of this machine.
fn lines_to_add(kind: SeatKind) -> String {
    match kind {
        SeatKind::Hook | SeatKind::HuskyScript => {
            "if command -v loop >/dev/null; then loop notify || :; fi".to_owned()
        }
        SeatKind::LefthookConfig => {
            "post-commit:\n  commands:\n    loop:\n      run: if command -v loop >/dev/null; then loop notify || :; fi"
                .to_owned()
        }
    }
}

/// What is worth knowing of where the hooks are, whatever is done there.
pub(crate) fn notes(ground: &Ground) -> Vec<String> {
    let Some(hooks_path) = &ground.hooks_path else { return Vec::new() };
    let mut notes = Vec::new();
    let value = &hooks_path.value;
    if hooks_path.is_relative() {
        let here = if ground.linked() { "this linked worktree has" } else { "each linked worktree has" };
        notes.push(format!(
            "core.hooksPath is relative ({value}): {here} a folder of its own, and a hook in another worktree's \
             folder does not run here"
        ));
    }
    if hooks_path.shared {
        notes.push(format!(
            "core.hooksPath ({value}) is set for more than this repository: the hook is called in all of them, and \
             is silent where there is no loop"
        ));
    }
    notes
}

/// Takes back what was written before an error, the newest first. Best effort: the error itself is what counts.
fn take_back(writes: &[Write]) {
    for write in writes.iter().rev() {
        match &write.kind {
            WriteKind::MadeFolder => drop(fs::remove_dir(&write.path)),
            WriteKind::MadeFile => drop(fs::remove_file(&write.path)),
            // Both names may stand for it still, and then a rename would do nothing.
            WriteKind::Moved { to } if fs::symlink_metadata(&write.path).is_ok() => drop(fs::remove_file(to)),
            WriteKind::Moved { to } => drop(fs::rename(to, &write.path)),
            WriteKind::Changed | WriteKind::RemovedFile => {
                if let Some(before) = &write.before {
                    drop(put(&write.path, before, mode(&write.path).unwrap_or(HOOK_MODE)));
                }
            }
            WriteKind::RemovedFolder => drop(fs::create_dir(&write.path)),
        }
    }
}

/// The section as this `loop` would write it today, whatever the one in the file remembers.
pub(crate) fn is_current(section: &[u8], env: &HookEnv) -> bool {
    let remembered = Remembered::read(section);
    let hook = hook_section(env, remembered);
    let job = lefthook_job(env).map(|job| other_section(&job, remembered));
    [hook, job].into_iter().flatten().any(|current| current == section)
}
