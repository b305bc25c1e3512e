//! Where a program would be found.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns the file that starting `program` with the environment `env` in `folder` would run.
pub(crate) fn find(program: &str, env: &BTreeMap<String, String>, folder: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        let path = folder.join(program);
        return path.is_file().then_some(path);
    }
    let folders = std::env::split_paths(env.get("PATH")?);
    folders.map(|place| folder.join(place).join(program)).find(|path| path.is_file())
}

/// Whether anybody may run the file.
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Returns the name of the interpreter in a script's first line (`#!/usr/bin/env bash` is `bash`).
fn interpreter(path: &Path) -> Option<String> {
    let mut head = [0; 256];
    let length = fs::File::open(path).ok()?.read(&mut head).ok()?;
    let text = String::from_utf8_lossy(head.get(..length)?).into_owned();
    let mut words = text.strip_prefix("#!")?.lines().next()?.split_whitespace();
    let first = base_name(words.next()?);
    let name = if first == "env" { words.find(|word| !word.starts_with('-')).map(base_name)? } else { first };
    Some(name.to_owned())
}

/// Names under which `program` will run: its own, and its interpreter's where it is a script.
pub(crate) fn names(program: &str, env: &BTreeMap<String, String>, folder: &Path) -> Vec<String> {
    let interpreter = find(program, env, folder).and_then(|path| interpreter(&path));
    std::iter::once(base_name(program).to_owned()).chain(interpreter).collect()
}

/// The last part of a program's path.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_script_s_interpreter_is_read() {
        let folder = tempfile::tempdir().unwrap();
        for (text, expected) in [
            ("#!/bin/sh\n", Some("sh")),
            ("#!/usr/bin/env bash\necho", Some("bash")),
            ("#!/usr/bin/env -S node --x\n", Some("node")),
            ("\u{7f}ELF", None),
        ] {
            let path = folder.path().join("program");
            fs::write(&path, text).unwrap();
            assert_eq!(interpreter(&path).as_deref(), expected, "{text}");
        }
        let env = BTreeMap::from([("PATH".to_owned(), folder.path().display().to_string())]);
        assert!(find("program", &env, Path::new("/")).is_some());
        assert!(find("./program", &env, folder.path()).is_some());
        assert!(find("other", &env, Path::new("/")).is_none());
    }
}
