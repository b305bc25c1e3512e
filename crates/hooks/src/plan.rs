//! What must be done to one file so that it rings: a pure question.

use crate::env::HookEnv;
use crate::error::HookError;
use crate::language::{Language, language};
use crate::managers::SeatKind;
use crate::marked::{Half, find, insert, remove, replace};
use crate::text::{Chain, Remembered, SHEBANG, hook_section, lefthook_job, other_section};

/// A file as it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) bytes: Vec<u8>,
    pub(crate) executable: bool,
    pub(crate) symlink: bool,
}

/// What must be done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// It rings as it is, through our section or a line of somebody's own.
    Nothing {
        /// Whether the line is somebody's own.
        own_line: bool,
    },
    /// These bytes take the place of the present ones.
    Rewrite { bytes: Vec<u8>, section: Vec<u8> },
    /// A new file with these bytes; where it chains, the present one is moved aside first, and run from it.
    Make { bytes: Vec<u8>, section: Vec<u8>, chain: Chain },
    /// Our section stands in a hook that has been switched off since: it must come out, then the hook moves aside.
    TakeOut { bytes: Vec<u8> },
    /// Only a person can do it.
    ByHand { why: &'static str },
}

/// What stops a plan.
pub(crate) enum NoPlan {
    Half(Half),
    Hook(HookError),
}

impl From<Half> for NoPlan {
    fn from(half: Half) -> Self {
        Self::Half(half)
    }
}

impl From<HookError> for NoPlan {
    fn from(error: HookError) -> Self {
        Self::Hook(error)
    }
}

/// Plans for a file. `made_folders` folders were made for a file that does not exist yet.
pub(crate) fn plan(
    found: Option<&Found>,
    kind: SeatKind,
    made_folders: usize,
    env: &HookEnv,
) -> Result<Plan, NoPlan> {
    let section = |remembered| match kind {
        SeatKind::LefthookConfig => lefthook_job(env).map(|job| other_section(&job, remembered)),
        SeatKind::Hook | SeatKind::HuskyScript => hook_section(env, remembered),
    };
    let Some(found) = found else {
        let section = section(Remembered { made_file: true, made_folders, chain: Chain::None })?;
        return Ok(Plan::Make { bytes: whole(kind, &section), section, chain: Chain::None });
    };
    let bytes = &found.bytes;
    if !found.symlink
        && let Some(place) = find(bytes)?
    {
        let remembered = Remembered::read(&bytes[place.clone()]);
        if kind == SeatKind::Hook && !found.executable && !remembered.made_file {
            return Ok(Plan::TakeOut { bytes: remove(bytes)?.unwrap_or_default() });
        }
        let section = section(remembered)?;
        let rewritten = replace(bytes, &place, &section);
        let runs = found.executable || kind != SeatKind::Hook;
        return Ok(if rewritten == *bytes && runs {
            Plan::Nothing { own_line: false }
        } else {
            Plan::Rewrite { bytes: rewritten, section }
        });
    }
    if rings_by_itself(bytes) && (found.executable || kind != SeatKind::Hook) {
        return Ok(Plan::Nothing { own_line: true });
    }
    match kind {
        _ if found.symlink && kind != SeatKind::Hook => {
            Ok(Plan::ByHand { why: "it is a symlink, and what it leads to may belong to others" })
        }
        SeatKind::LefthookConfig => match can_take_a_key(bytes) {
            Ok(()) => splice(bytes, bytes.len(), section(Remembered::default())?),
            Err(why) => Ok(Plan::ByHand { why }),
        },
        SeatKind::HuskyScript => splice(bytes, husky_start(bytes), section(Remembered::default())?),
        SeatKind::Hook => match language(bytes) {
            Language::Shell { at } if found.executable && !found.symlink => {
                splice(bytes, at, section(Remembered::default())?)
            }
            Language::Shell { .. } | Language::Other => {
                let chain = if asks_its_name(bytes) { Chain::ByName } else { Chain::Beside };
                let section = section(Remembered { made_file: true, made_folders: 0, chain })?;
                Ok(Plan::Make { bytes: whole(kind, &section), section, chain })
            }
        },
    }
}

fn splice(bytes: &[u8], at: usize, section: Vec<u8>) -> Result<Plan, NoPlan> {
    Ok(Plan::Rewrite { bytes: insert(bytes, at, &section), section })
}

/// A file of our own around `section`.
fn whole(kind: SeatKind, section: &[u8]) -> Vec<u8> {
    let start: &[u8] = if kind == SeatKind::LefthookConfig { b"" } else { SHEBANG };
    insert(start, start.len(), section)
}

/// Whether nothing but our own first line is left around a section that said the file was ours.
pub(crate) fn is_bare(rest: &[u8]) -> bool {
    rest.is_empty() || rest == SHEBANG
}

/// Whether a hook looks at the name it was called by, as programs do that serve several hooks (overcommit).
fn asks_its_name(hook: &[u8]) -> bool {
    let text = String::from_utf8_lossy(hook);
    ["basename", "PROGRAM_NAME", "${0##", "argv[0]"].iter().any(|sign| text.contains(sign))
}

/// Husky gives the script to `sh`: any first line is a comment, but an encoding mark before it would not be.
fn husky_start(bytes: &[u8]) -> usize {
    match language(bytes) {
        Language::Shell { at } => at,
        Language::Other => 0,
    }
}

/// Whether somebody wrote a line that rings, as the report for shared hooks asks for.
fn rings_by_itself(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains("loop notify"))
}

/// Whether a key of the top level can be added behind `bytes`, as YAML.
fn can_take_a_key(bytes: &[u8]) -> Result<(), &'static str> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Err("it is not UTF-8") };
    let mut lines =
        text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    if lines.clone().any(|line| line.trim_start_matches(['"', '\'']).starts_with("post-commit")) {
        return Err("it has jobs for post-commit already");
    }
    if lines.clone().any(|line| line.starts_with("---") || line.starts_with("...")) {
        return Err("it has more than one document");
    }
    match lines.next() {
        Some(line) if line.starts_with([' ', '{', '[', '-', '\t']) => Err("it is no plain list of keys"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn env() -> HookEnv {
        HookEnv {
            git_env: loop_git::GitEnv::default(),
            loop_binary: "/opt/my loop/loop".into(),
            home: "/".into(),
            temp: "/tmp".into(),
        }
    }

    fn found(bytes: &[u8]) -> Found {
        Found { bytes: bytes.to_vec(), executable: true, symlink: false }
    }

    fn planned(found: Option<&Found>, kind: SeatKind) -> Plan {
        plan(found, kind, 0, &env()).unwrap_or_else(|_| panic!("no plan for {found:?}"))
    }

    #[test]
    fn what_is_done_to_which_hook() {
        let kind_of = |found: &Found| match planned(Some(found), SeatKind::Hook) {
            Plan::Nothing { .. } => "nothing",
            Plan::Rewrite { .. } => "rewrite",
            Plan::Make { chain: Chain::Beside, .. } => "aside",
            Plan::Make { chain: Chain::ByName, .. } => "aside, by name",
            Plan::Make { .. } => "make",
            Plan::TakeOut { .. } => "take out",
            Plan::ByHand { .. } => "by hand",
        };
        let sh = found(b"#!/bin/sh\nexec make docs\n");
        assert_eq!(kind_of(&sh), "rewrite");
        assert_eq!(kind_of(&found(b"#!/usr/bin/env node\n")), "aside");
        assert_eq!(kind_of(&found(b"#!/usr/bin/env ruby\nputs File.basename($0)\n")), "aside, by name");
        assert_eq!(kind_of(&found(b"#!/bin/sh\r\nexit\r\n")), "aside");
        assert_eq!(kind_of(&Found { symlink: true, ..sh.clone() }), "aside");
        assert_eq!(kind_of(&Found { executable: false, ..sh.clone() }), "aside");
        assert_eq!(kind_of(&found(b"#!/bin/sh\nloop notify || :\n")), "nothing");
        assert_eq!(kind_of(&found(b"#!/bin/sh\n# loop notify\n")), "rewrite");
        let Plan::Rewrite { bytes, .. } = planned(Some(&sh), SeatKind::Hook) else { panic!() };
        assert_eq!(kind_of(&found(&bytes)), "nothing");
        assert_eq!(kind_of(&Found { executable: false, ..found(&bytes) }), "take out");
        let Plan::Make { bytes, .. } = planned(None, SeatKind::Hook) else { panic!() };
        assert_eq!(kind_of(&Found { executable: false, ..found(&bytes) }), "rewrite");
    }

    #[test]
    fn what_lefthook_may_be_given() {
        for (text, fits) in [
            ("", true),
            ("# mine\n", true),
            ("pre-commit:\n  jobs:\n    - run: |\n        make", true),
            ("post-commit:\n  jobs: []\n", false),
            ("'post-commit':\n", false),
            ("{\"pre-commit\": {}}\n", false),
            ("---\na: 1\n", false),
        ] {
            let plan = planned(Some(&found(text.as_bytes())), SeatKind::LefthookConfig);
            assert_eq!(matches!(plan, Plan::Rewrite { .. }), fits, "{text:?}: {plan:?}");
        }
    }

    /// Hooks as they are, and as nobody would write them: lines of shell, of our marks' likeness, and any bytes.
    fn hooks() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            Just(b"#!/bin/sh".to_vec()),
            Just(b"#!/usr/bin/env python3".to_vec()),
            Just(b". \"$(dirname \"$0\")/_/husky.sh\"".to_vec()),
            Just(b"exec true".to_vec()),
            Just(b"# >>> loop".to_vec()),
            Just(b"\xef\xbb\xbf".to_vec()),
            Just(Vec::new()),
            prop::collection::vec(any::<u8>(), 0..12),
        ];
        let end = prop_oneof![4 => Just(&b"\n"[..]), 1 => Just(&b"\r\n"[..]), 1 => Just(&b""[..])];
        let lines = prop::collection::vec((line, end), 0..6);
        lines.prop_map(|lines| lines.iter().flat_map(|(line, end)| [&line[..], end].concat()).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn splice_twice_is_once_and_remove_undoes_it(hook in hooks(), husky: bool) {
            let kind = if husky { SeatKind::HuskyScript } else { SeatKind::Hook };
            match planned(Some(&found(&hook)), kind) {
                Plan::Rewrite { bytes, .. } => {
                    prop_assert_eq!(remove(&bytes).unwrap().unwrap(), hook);
                    prop_assert_eq!(planned(Some(&found(&bytes)), kind), Plan::Nothing { own_line: false });
                }
                // Nothing is put into the hook: it stays as it is, and the wrapper is all ours.
                Plan::Make { bytes, chain, .. } => {
                    prop_assert!(chain != Chain::None);
                    prop_assert!(is_bare(&remove(&bytes).unwrap().unwrap()));
                    prop_assert_eq!(planned(Some(&found(&bytes)), kind), Plan::Nothing { own_line: false });
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
