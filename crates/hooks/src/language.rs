//! What language a hook is written in, as far as putting lines into it goes.

/// How our lines can stand before somebody's hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// A script of a shell that reads our lines; they go in before this byte.
    Shell {
        /// The start of the first line after the shebang (and after the line with which husky 8 runs itself again).
        at: usize,
    },
    /// Another language, a binary, or a first line that the system cannot run: our lines cannot stand in it.
    Other,
}

/// Shells that read our lines as we mean them. Others (fish, csh, nushell, …) do not, and are chained instead.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "zsh", "yash"];

/// Reads the first line of `hook`.
pub(crate) fn language(hook: &[u8]) -> Language {
    if hook.contains(&0) {
        return Language::Other;
    }
    let Some(shebang) = hook.strip_prefix(b"#!") else {
        // Git gives a file without a shebang to `sh`.
        return Language::Shell { at: 0 };
    };
    let end = shebang.iter().position(|byte| *byte == b'\n').unwrap_or(shebang.len());
    let line = &shebang[..end];
    if line.contains(&b'\r') || !is_shell(&String::from_utf8_lossy(line)) {
        return Language::Other;
    }
    let at = (2 + end + 1).min(hook.len());
    Language::Shell { at: after_husky(hook).unwrap_or(at) }
}

/// Whether a shebang's text names a shell of ours, directly or through `env`.
fn is_shell(shebang: &str) -> bool {
    let mut words = shebang.split_whitespace();
    let base = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let Some(mut program) = words.next().map(base) else { return false };
    if program == "env" {
        let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
        program = named.map(base).unwrap_or_default();
    }
    SHELLS.contains(&program.as_str())
}

/// Husky 8 runs the whole script a second time from within the line that reads `husky.sh`: lines before it would
/// ring twice.
fn after_husky(hook: &[u8]) -> Option<usize> {
    let mut start = 0;
    for line in hook.split_inclusive(|byte| *byte == b'\n') {
        start += line.len();
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if (text.starts_with(". ") || text.starts_with("source ")) && text.contains("/husky.sh") {
            return Some(start);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        let shells: &[(&[u8], usize)] = &[
            (b"", 0),
            (b"echo hi\n", 0),
            (b"\xef\xbb\xbfecho hi\n", 0),
            (b"#!/bin/sh", 9),
            (b"#!/bin/sh\nexit\n", 10),
            (b"#!/bin/bash -e\nexit\n", 15),
            (b"#! /usr/bin/env bash\nexit\n", 21),
            (b"#!/usr/bin/env -S X=1 zsh -f\nexit\n", 29),
            (b"#!/bin/sh\necho 1\r\n", 10),
            (b"#!/bin/sh\n. \"$(dirname -- \"$0\")/_/husky.sh\"\nnpx x\n", 44),
        ];
        for (hook, at) in shells {
            assert_eq!(language(hook), Language::Shell { at: *at }, "{}", String::from_utf8_lossy(hook));
        }
        let others: &[&[u8]] = &[
            b"#!/bin/sh\r\necho 1\r\n",
            b"#!/usr/bin/env python3\n",
            b"#!/usr/bin/perl\n",
            b"#!/usr/bin/env fish\n",
            b"#!\n",
            b"#!/usr/bin/env\n",
            b"\x7fELF\x02\x01\x01\0\0",
        ];
        for hook in others {
            assert_eq!(language(hook), Language::Other, "{}", String::from_utf8_lossy(hook));
        }
    }
}
