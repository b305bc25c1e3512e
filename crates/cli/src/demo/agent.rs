//! What the demo's agents do: Ada writes, Rex reviews, Tess tests. A scripted mind, but real work: files are
//! edited, the program is run, and findings come from what it printed.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::commands::DONE;
use crate::failure::{Done, Failure, NOTHING};
use crate::world::World;

/// Ada's first version: every fourth year is a leap year.
const FIRST: &str = r#"#!/bin/sh
# leap.sh YEAR: prints "leap" or "common".
year=$1
if [ $((year % 4)) -eq 0 ]; then echo leap; else echo common; fi
"#;

/// Ada's second version, after Rex' finding.
const SECOND: &str = r#"#!/bin/sh
# leap.sh YEAR: prints "leap" or "common".
year=$1
if [ $((year % 400)) -eq 0 ]; then echo leap
elif [ $((year % 100)) -eq 0 ]; then echo common
elif [ $((year % 4)) -eq 0 ]; then echo leap
else echo common
fi
"#;

/// Tess' tests.
const TESTS: &str = r#"#!/bin/sh
# test.sh: checks leap.sh against years whose answer is known.
failed=0
while read -r year expected; do
  found=$(sh leap.sh "$year")
  if [ "$found" != "$expected" ]; then echo "$year: $found, should be $expected"; failed=1; fi
done <<'YEARS'
1900 common
1999 common
2000 leap
2023 common
2024 leap
2100 common
YEARS
[ $failed -eq 0 ] && echo "6 years right"
exit $failed
"#;

/// Runs one headless turn, or a window that waits for its turns.
pub(crate) fn run(world: &World, name: &str, turn: Option<&str>) -> Done {
    if turn.is_some() {
        return take_turn(world, name)
            .map(|done| if done.is_some() { DONE } else { ExitCode::from(NOTHING) });
    }
    window(world, name)
}

/// A plain window: a composer line, a line while at work. The terminal echoes what is typed.
fn window(world: &World, name: &str) -> Done {
    let mut said = String::from("A scripted agent of the demo. It takes its turns by itself.\n");
    show(name, &said, "❯ ");
    let stdin = io::stdin();
    for line in stdin.lock().lines() {
        let Ok(line) = line else { break };
        let line = line.trim();
        if line.is_empty() {
            show(name, &said, "❯ ");
            continue;
        }
        said.push_str(&format!("> {line}\n"));
        show(&format!("✻ {name}"), &said, "working… (esc to interrupt)\n");
        let outcome = match take_turn(world, name) {
            Ok(Some(work)) => work.shown(),
            Ok(None) => "it is not my turn.".to_owned(),
            Err(failure) => failure.words(),
        };
        said.push_str(&format!("{outcome}\n"));
        show(name, &said, "❯ ");
    }
    Ok(DONE)
}

/// Draws the whole window: title, what was said, the last line.
fn show(title: &str, said: &str, last: &str) {
    let mut out = io::stdout().lock();
    // A window that is gone needs no drawing.
    let _ = write!(out, "\x1b]2;{title}\x07\x1b[2J\x1b[H{said}\n{last}").and_then(|()| out.flush());
}

/// The skill's steps: `loop turn`, work, `loop commit`. `None`: it is not this agent's turn.
fn take_turn(world: &World, name: &str) -> Result<Option<Work>, Failure> {
    let asked = Command::new(&world.exe)
        .args(["turn", name, "--json"])
        .output()
        .map_err(|error| Failure::ours(anyhow::Error::new(error).context("cannot run loop turn")))?;
    let brief: Value = serde_json::from_slice(&asked.stdout).unwrap_or_default();
    if brief.get("your_turn").and_then(Value::as_bool) != Some(true) {
        return Ok(None);
    }
    let work = match name {
        "Ada" => ada(&brief)?,
        "Rex" => rex()?,
        _ => tess()?,
    };
    commit(world, name, &work)?;
    Ok(Some(work))
}

/// What an agent puts into its section.
#[derive(Default)]
struct Work {
    summary: String,
    body: String,
    to: Option<&'static str>,
    pass: bool,
}

impl Work {
    /// The turn as the agent's window tells it.
    fn shown(&self) -> String {
        let verdict = if self.pass { "\n  REVIEW-PASS" } else { "" };
        let body: String = self.body.lines().map(|line| format!("\n  {line}")).collect();
        format!("committed: {}{body}{verdict}", self.summary)
    }
}

fn ada(brief: &Value) -> Result<Work, Failure> {
    if !Path::new("leap.sh").exists() {
        write("leap.sh", FIRST)?;
        return Ok(Work { summary: "write leap.sh".to_owned(), ..Work::default() });
    }
    let last = brief.pointer("/sections").and_then(Value::as_array).and_then(|sections| sections.last());
    let body =
        last.and_then(|section| section.pointer("/body/text")).and_then(Value::as_str).unwrap_or_default();
    if let Some(finding) = body.lines().find(|line| line.contains(" P0 ") || line.contains(" P1 ")) {
        let number = finding.split_whitespace().next().unwrap_or("F1").to_owned();
        write("leap.sh", SECOND)?;
        return Ok(Work {
            summary: format!("mend {number}: a century is a leap year only when 400 divides it"),
            ..Work::default()
        });
    }
    let (ok, printed) = sh(&["test.sh"])?;
    Ok(Work {
        summary: if ok { "read the tests and ran them".to_owned() } else { "the tests fail".to_owned() },
        body: format!("`sh test.sh` says: {}", printed.trim()),
        pass: ok,
        to: None,
    })
}

/// Rex does not believe, Rex runs it.
fn rex() -> Result<Work, Failure> {
    let known = [("1999", "common"), ("2024", "leap"), ("1900", "common"), ("2000", "leap")];
    let mut wrong = Vec::new();
    for (year, expected) in known {
        let (_, found) = sh(&["leap.sh", year])?;
        if found.trim() != expected {
            wrong.push(format!("{year} is called {}, and is {expected}", found.trim()));
        }
    }
    if wrong.is_empty() {
        return Ok(Work {
            summary: "F1 is mended; nothing else found".to_owned(),
            body: "1900, 1999, 2000 and 2024 come out right. There are no tests yet: that is Tess' part."
                .to_owned(),
            ..Work::default()
        });
    }
    Ok(Work {
        summary: "one finding".to_owned(),
        body: format!("F1 P1 leap.sh:4 {}", wrong.join("; ")),
        to: Some("Ada"),
        pass: false,
    })
}

fn tess() -> Result<Work, Failure> {
    write("test.sh", TESTS)?;
    let (ok, printed) = sh(&["test.sh"])?;
    Ok(Work {
        summary: if ok { "add test.sh".to_owned() } else { "add test.sh, which fails".to_owned() },
        body: format!("It says: {}", printed.trim()),
        ..Work::default()
    })
}

fn commit(world: &World, name: &str, work: &Work) -> Result<(), Failure> {
    let mut command = Command::new(&world.exe);
    command.args(["commit", name, "-m", &work.summary, "--body", "-"]);
    if let Some(to) = work.to {
        command.args(["--to", to]);
    }
    if work.pass {
        command.arg("--pass");
    }
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .map_err(Failure::ours)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(work.body.as_bytes()).map_err(Failure::ours)?;
    }
    let output = child.wait_with_output().map_err(Failure::ours)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Failure::say(String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn write(file: &str, text: &str) -> Result<(), Failure> {
    fs::write(file, text)
        .map_err(|error| Failure::users(anyhow::Error::new(error).context(format!("cannot write {file}"))))
}

fn sh(arguments: &[&str]) -> Result<(bool, String), Failure> {
    let output = Command::new("sh").args(arguments).output().map_err(Failure::users)?;
    Ok((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Runs a script of the demo in a folder of its own.
    fn in_folder(folder: &Path, arguments: &[&str]) -> (bool, String) {
        let output = Command::new("sh").args(arguments).current_dir(folder).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    #[test]
    fn the_bug_is_real_and_the_tests_find_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("test.sh"), TESTS).unwrap();
        fs::write(folder.path().join("leap.sh"), FIRST).unwrap();
        assert_eq!(in_folder(folder.path(), &["leap.sh", "1900"]).1, "leap");
        assert!(!in_folder(folder.path(), &["test.sh"]).0);
        fs::write(folder.path().join("leap.sh"), SECOND).unwrap();
        assert_eq!(in_folder(folder.path(), &["test.sh"]), (true, "6 years right".to_owned()));
    }
}
