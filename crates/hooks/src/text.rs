//! The text of the hook, and what it says about itself.

use crate::env::HookEnv;
use crate::error::HookError;
use crate::marked::{CLOSE, OPEN};

/// The section as it stands in the repository's `hooks/` folder.
const TEMPLATE: &str = include_str!("../../../hooks/post-commit");
/// What a section says when the whole file is ours.
const MADE_FILE: &str = "# This file is loop's own and goes when these lines go.";
/// What a section says when the folder is ours too.
const MADE_FOLDERS: &str = "# Folders made for it: ";
/// What a section says before it runs the hook that was moved aside.
const CHAIN: &str = "# The hook that was here before is kept beside this file, and runs as it did.";
/// The first line of a hook file of our own.
pub(crate) const SHEBANG: &[u8] = b"#!/bin/sh\n";

/// What a section remembers, so that taking it out needs no other record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Remembered {
    /// Nothing stood here before.
    pub(crate) made_file: bool,
    /// How many folders above the file were made for it.
    pub(crate) made_folders: usize,
    /// Whether a hook was moved aside and is run from here.
    pub(crate) chain: Chain,
}

/// How a hook that was moved aside is run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Chain {
    /// There is none.
    #[default]
    None,
    /// As `post-commit.before-loop`, beside our own, where it finds what it looks for in its folder.
    Beside,
    /// As `before-loop/post-commit`, a symlink to the same file: it asks for its own name.
    ByName,
}

impl Chain {
    /// The hook as it is run, from the hooks folder.
    pub(crate) fn path(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Beside => Some("post-commit.before-loop"),
            Self::ByName => Some("before-loop/post-commit"),
        }
    }

    fn is_in(self, section: &str) -> bool {
        self.path().is_some_and(|path| section.contains(&format!("exec \"${{0%/*}}/{path}\"")))
    }

    /// The lines that run it. A hook that git did not run stays silent.
    fn lines(self) -> String {
        self.path().map_or_else(String::new, |path| {
            format!("{CHAIN}\nif [ -x \"${{0%/*}}/{path}\" ]; then exec \"${{0%/*}}/{path}\" \"$@\"; fi\n")
        })
    }
}

impl Remembered {
    /// Reads what `section` says of itself.
    pub(crate) fn read(section: &[u8]) -> Self {
        let text = String::from_utf8_lossy(section);
        let line = |start: &str| {
            text.lines().find_map(|line| line.trim_end().strip_prefix(start).map(str::to_owned))
        };
        Self {
            made_file: line(MADE_FILE).is_some(),
            made_folders: line(MADE_FOLDERS).and_then(|count| count.parse().ok()).unwrap_or(0),
            chain: [Chain::Beside, Chain::ByName]
                .into_iter()
                .find(|chain| chain.is_in(&text))
                .unwrap_or_default(),
        }
    }

    /// Returns the lines that say it.
    fn lines(self) -> String {
        let mut lines = String::new();
        if self.made_file {
            lines.push_str(MADE_FILE);
            lines.push('\n');
        }
        if self.made_folders > 0 {
            lines.push_str(&format!("{MADE_FOLDERS}{}\n", self.made_folders));
        }
        lines
    }
}

/// Writes the section of a hook, from mark to mark, without a final line break.
pub(crate) fn hook_section(env: &HookEnv, remembered: Remembered) -> Result<Vec<u8>, HookError> {
    let binary = env.quoted_binary()?;
    let mut section = Vec::new();
    for line in TEMPLATE.trim_end().split_inclusive('\n') {
        if line.trim_end() == CLOSE {
            section.extend_from_slice(remembered.chain.lines().as_bytes());
        }
        let mut parts = line.split("@LOOP@");
        section.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
        for part in parts {
            section.extend_from_slice(&binary);
            section.extend_from_slice(part.as_bytes());
        }
        if line.trim_end() == OPEN {
            section.extend_from_slice(remembered.lines().as_bytes());
        }
    }
    Ok(section)
}

/// Writes a section of other lines (`info/exclude`, `lefthook-local.yml`), from mark to mark.
pub(crate) fn other_section(lines: &[u8], remembered: Remembered) -> Vec<u8> {
    let head = format!("{OPEN}\n{}", remembered.lines());
    [head.as_bytes(), lines, CLOSE.as_bytes()].concat()
}

/// Writes the job that rings where lefthook runs the hooks.
pub(crate) fn lefthook_job(env: &HookEnv) -> Result<Vec<u8>, HookError> {
    // In YAML's single quotes only the quote itself is special.
    let mut command = Vec::new();
    for byte in env.quoted_binary()? {
        command.push(byte);
        if byte == b'\'' {
            command.push(byte);
        }
    }
    let head: &[u8] = b"post-commit:\n  commands:\n    loop:\n      run: '";
    Ok([head, &command, b" notify || :'\n"].concat())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn env(path: &str) -> HookEnv {
        HookEnv {
            git_env: loop_git::GitEnv::default(),
            loop_binary: path.into(),
            home: "/".into(),
            temp: "/tmp".into(),
        }
    }

    #[test]
    fn the_section_as_written() {
        let plain = hook_section(&env("/opt/it's/loop"), Remembered::default()).unwrap();
        insta::assert_snapshot!(String::from_utf8(plain).unwrap(), @r#"
        # >>> loop >>>
        # Tells loop's router of this commit: in the foreground, within half a second, and never fails the commit.
        # Put here by `loop hooks install`; `loop hooks uninstall` takes out these lines, and only these.
        if [ -x '/opt/it'\''s/loop' ]; then
          '/opt/it'\''s/loop' notify || :
        else
          printf 'loop: %s is gone; run `loop hooks install` again\n' '/opt/it'\''s/loop' >&2 || :
        fi
        if [ -n "${LOOP_PROBE-}" ]; then exit 0; fi # the trial commit of `loop hooks status` ends here
        # <<< loop <<<
        "#);
        let own = Remembered { made_file: true, made_folders: 2, chain: Chain::Beside };
        let own = hook_section(&env("/loop"), own).unwrap();
        insta::assert_snapshot!(String::from_utf8(own).unwrap(), @r#"
        # >>> loop >>>
        # This file is loop's own and goes when these lines go.
        # Folders made for it: 2
        # Tells loop's router of this commit: in the foreground, within half a second, and never fails the commit.
        # Put here by `loop hooks install`; `loop hooks uninstall` takes out these lines, and only these.
        if [ -x '/loop' ]; then
          '/loop' notify || :
        else
          printf 'loop: %s is gone; run `loop hooks install` again\n' '/loop' >&2 || :
        fi
        if [ -n "${LOOP_PROBE-}" ]; then exit 0; fi # the trial commit of `loop hooks status` ends here
        # The hook that was here before is kept beside this file, and runs as it did.
        if [ -x "${0%/*}/post-commit.before-loop" ]; then exec "${0%/*}/post-commit.before-loop" "$@"; fi
        # <<< loop <<<
        "#);
    }

    #[test]
    fn a_section_remembers() {
        for made_file in [true, false] {
            for made_folders in [0, 3] {
                for chain in [Chain::None, Chain::Beside, Chain::ByName] {
                    let remembered = Remembered { made_file, made_folders, chain };
                    let section = hook_section(&env("/loop"), remembered).unwrap();
                    assert_eq!(Remembered::read(&section), remembered);
                }
            }
        }
        let other = Remembered { made_file: true, ..Remembered::default() };
        assert_eq!(Remembered::read(&other_section(b"/x\n", other)), other);
    }

    #[test]
    fn the_job_is_yaml_around_a_shell_word() {
        let job = String::from_utf8(lefthook_job(&env("/a'b/loop")).unwrap()).unwrap();
        assert!(job.ends_with("run: '''/a''\\''''b/loop'' notify || :'\n"), "{job}");
    }
}
