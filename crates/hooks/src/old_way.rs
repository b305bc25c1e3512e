//! Hooks that already wake agents in the old way: with them each wake would be typed twice.

use loop_core::plain::plain;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::HookError;
use crate::ground::Ground;
use crate::install::beside;
use crate::managers::Seat;
use crate::marked;
use crate::write::read;

/// A line that wakes an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OldWay {
    /// The file.
    pub file: PathBuf,
    /// The line's number, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

/// What such lines call.
const SIGNS: &[&str] =
    &["simple-inject", "simple_inject", "notify-agent", "notify_agent", "webhook/agent-loop"];
/// Hooks and scripts are short; what is longer is no script.
const MAX_BYTES: u64 = 256 * 1024;

/// Looks through the hook that git runs, the one it stands for, and the scripts of this repository that they call.
pub(crate) fn old_ways(ground: &Ground, seat: &Seat) -> Result<Vec<OldWay>, HookError> {
    let hook = ground.hook();
    let mut hooks = vec![beside(&hook), hook];
    if !hooks.contains(&seat.file) {
        hooks.push(seat.file.clone());
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for hook in hooks {
        let Some(text) = foreign_text(&hook)? else { continue };
        let called = called_scripts(&text, ground, &hook);
        for file in std::iter::once(hook).chain(called) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    let mut ways = Vec::new();
    for file in files {
        let text = foreign_text(&file)?.unwrap_or_default();
        ways.extend(text.lines().enumerate().filter(|(_, line)| is_sign(line)).map(|(index, line)| OldWay {
            file: file.clone(),
            line: index + 1,
            text: plain(line.trim()).into_owned(),
        }));
    }
    Ok(ways)
}

fn is_sign(line: &str) -> bool {
    let comment = line.trim_start().starts_with('#');
    !comment && SIGNS.iter().any(|sign| line.contains(sign))
}

/// A file's text with our own lines blanked out, so that line numbers stay right.
fn foreign_text(file: &Path) -> Result<Option<String>, HookError> {
    if !file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES) {
        return Ok(None);
    }
    let Some(mut bytes) = read(file)? else { return Ok(None) };
    if let Ok(Some(ours)) = marked::find(&bytes) {
        bytes[ours].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The files of this repository that a hook's words name, seen from the root, where git runs it, or from its folder.
fn called_scripts(text: &str, ground: &Ground, hook: &Path) -> Vec<PathBuf> {
    let between = |c: char| c.is_whitespace() || "\"'`;|&()<>={}".contains(c);
    let words =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(|line| line.split(between));
    let mut scripts = Vec::new();
    for word in words {
        // `$(git rev-parse --show-toplevel)/scripts/x`, `$ROOT/scripts/x`, `./scripts/x`
        let path = word.trim_start_matches("./");
        let path =
            if path.starts_with('$') { path.split_once('/').map_or("", |(_, rest)| rest) } else { path };
        let path =
            if Path::new(path).starts_with(&ground.root) { path } else { path.trim_start_matches('/') };
        if path.len() < 2 {
            continue;
        }
        let near = hook.parent().unwrap_or(hook);
        for base in [&ground.root, near] {
            let script = base.join(path);
            let inside = script.canonicalize().is_ok_and(|real| {
                real.is_file() && (real.starts_with(&ground.root) || real.starts_with(&ground.common_dir))
            });
            if inside && script != hook && !scripts.contains(&script) {
                scripts.push(script);
            }
        }
    }
    scripts
}
