//! Running a turn's steps.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loop_testkit::script::{Script, Step, Turn};

use crate::record::Record;

/// What every turn needs.
#[derive(Clone)]
pub(crate) struct Player {
    pub(crate) script: Arc<Script>,
    pub(crate) record: Record,
    loop_binary: String,
    /// Set to end the running turn.
    pub(crate) stop: Arc<AtomicBool>,
}

/// Where a turn shows what it does.
pub(crate) trait Stage {
    /// A line of output.
    fn line(&mut self, text: &str);
    /// A dialog; returns when it is answered.
    fn ask(&mut self, question: &str);
    /// Text in the composer that nobody submitted.
    fn draft(&mut self, text: &str);
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The agent takes input again.
    Done,
    /// The program ends.
    Exit(i32),
    /// The program becomes a shell.
    Shell,
}

impl Player {
    pub(crate) fn new(script: Script, loop_binary: String, record: Record) -> Self {
        Self { script: Arc::new(script), record, loop_binary, stop: Arc::default() }
    }

    /// Runs the turn that is due, for the agent `name`.
    pub(crate) fn play(&self, name: &str, stage: &mut dyn Stage) -> Ending {
        let done = self.record.turns_begun();
        self.record.write("begin", name, true);
        let ending = match self.script.turn(done) {
            Some(turn) => self.steps(turn, name, stage),
            None => {
                stage.line("nothing more in the script");
                Ok(Ending::Done)
            }
        };
        match ending {
            Ok(ending) => {
                let event = if self.stop.swap(false, Ordering::SeqCst) { "interrupted" } else { "end" };
                self.record.write(event, name, true);
                ending
            }
            Err(message) => {
                stage.line(&format!("failed: {message}"));
                self.record.write("failed", &message, true);
                Ending::Done
            }
        }
    }

    fn steps(&self, turn: &Turn, name: &str, stage: &mut dyn Stage) -> Result<Ending, String> {
        self.pause(turn.delay_ms);
        for step in &turn.steps {
            if self.stop.load(Ordering::SeqCst) {
                break;
            }
            match step {
                Step::Exit(code) => return Ok(Ending::Exit(*code)),
                Step::Shell => return Ok(Ending::Shell),
                other => self.step(other, name, stage)?,
            }
        }
        Ok(Ending::Done)
    }

    fn step(&self, step: &Step, name: &str, stage: &mut dyn Stage) -> Result<(), String> {
        let fill = |text: &str| text.replace("{name}", name).replace("{loop}", &self.loop_binary);
        match step {
            Step::Run(words) => self.run(&words.iter().map(|word| fill(word)).collect::<Vec<_>>(), stage),
            Step::Write { file, text } => {
                fs::write(fill(file), fill(text)).map_err(|error| error.to_string())
            }
            Step::Append { file, text } => append(&fill(file), &fill(text)),
            Step::Replace { file, from, to } => {
                let content = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
                if !content.contains(from.as_str()) {
                    return Err(format!("{file} does not contain {from:?}"));
                }
                fs::write(file, content.replacen(from.as_str(), &fill(to), 1))
                    .map_err(|error| error.to_string())
            }
            Step::Commit { summary, body, pass, blocked, to } => {
                let mut words = vec![self.loop_binary.clone(), "commit".into(), name.into()];
                words.extend(["-m".into(), fill(summary)]);
                if let Some(body) = body {
                    let path = std::env::temp_dir().join(format!("fake-agent-{}.md", std::process::id()));
                    fs::write(&path, fill(body)).map_err(|error| error.to_string())?;
                    words.extend(["--body".into(), path.display().to_string()]);
                }
                if *pass {
                    words.push("--pass".into());
                }
                if let Some(reason) = blocked {
                    words.extend(["--blocked".into(), fill(reason)]);
                }
                if let Some(target) = to {
                    words.extend(["--to".into(), target.clone()]);
                }
                self.run(&words, stage)
            }
            Step::Section { summary, body, to } => {
                let target = to.as_ref().map(|to| format!(" -> {to}")).unwrap_or_default();
                let summary = fill(summary);
                append("STATUS.md", &format!("\n## {name}{target}: {summary}\n\n{}\n", fill(body)))?;
                let git = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
                self.run(&git(&["git", "add", "-A"]), stage)?;
                self.run(&git(&["git", "commit", "-q", "-m", &format!("{name}: {summary}")]), stage)
            }
            Step::Ask(question) => {
                stage.ask(&fill(question));
                Ok(())
            }
            Step::Limit(until) => {
                stage.ask(&format!("usage limit reached, resets {until}"));
                Ok(())
            }
            Step::Draft(text) => {
                stage.draft(&fill(text));
                Ok(())
            }
            Step::Say(text) => {
                stage.line(&fill(text));
                Ok(())
            }
            Step::Sleep(milliseconds) => {
                self.pause(*milliseconds);
                Ok(())
            }
            Step::WaitFor(file) => {
                let file = fill(file);
                while !std::path::Path::new(&file).exists() && !self.stop.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Ok(())
            }
            Step::Exit(_) | Step::Shell => Ok(()),
        }
    }

    /// Runs a program to its end.
    fn run(&self, words: &[String], stage: &mut dyn Stage) -> Result<(), String> {
        let (program, arguments) = words.split_first().ok_or("an empty command")?;
        stage.line(&format!("$ {}", words.join(" ")));
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let output = child.wait_with_output().map_err(|error| format!("{program}: {error}"))?;
        let text = [output.stdout, output.stderr].concat();
        for line in String::from_utf8_lossy(&text).lines() {
            stage.line(line);
        }
        if output.status.success() { Ok(()) } else { Err(format!("{program}: {}", output.status)) }
    }

    fn pause(&self, milliseconds: u64) {
        let end = Instant::now() + Duration::from_millis(milliseconds);
        while Instant::now() < end && !self.stop.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5).min(end.saturating_duration_since(Instant::now())));
        }
    }
}

fn append(file: &str, text: &str) -> Result<(), String> {
    let opened = fs::OpenOptions::new().create(true).append(true).open(file);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| format!("{file}: {error}"))
}

/// The recipient's name in a wake text: the word behind `agent-loop` or `loop turn`.
pub(crate) fn called(text: &str) -> Option<&str> {
    let behind = ["agent-loop ", "loop turn "].iter().find_map(|call| text.split_once(call));
    behind.and_then(|(_, rest)| {
        rest.split(|c: char| c.is_whitespace() || c == '`').find(|word| !word.is_empty())
    })
}

struct Pipe;

impl Stage for Pipe {
    fn line(&mut self, text: &str) {
        println!("{text}");
    }

    fn ask(&mut self, question: &str) {
        println!("? {question}: nobody to ask");
    }

    fn draft(&mut self, _: &str) {}
}

/// One turn without a terminal; returns the exit code.
pub(crate) fn headless(player: &Player, text: &str, conversation: Option<&str>) -> i32 {
    let own = format!("fake-{}", std::process::id());
    println!("conversation: {}", conversation.unwrap_or(&own));
    player.record.write("submitted", text, false);
    let Some(name) = called(text) else {
        player.record.write("unknown-text", text, false);
        println!("unknown text: {text}");
        return 1;
    };
    match player.play(name, &mut Pipe) {
        Ending::Exit(code) => code,
        Ending::Done | Ending::Shell => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_read_from_every_invocation() {
        for (text, name) in [
            ("/agent-loop CC", Some("CC")),
            ("$agent-loop Codex", Some("Codex")),
            ("Run `loop turn 小明` and follow it", Some("小明")),
            ("hello", None),
            ("/agent-loop ", None),
        ] {
            assert_eq!(called(text), name, "{text}");
        }
    }
}
