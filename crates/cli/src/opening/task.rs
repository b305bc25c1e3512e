//! The task, and the STATUS.md that it becomes.

use std::path::Path;

use loop_core::config::PassPolicy;
use loop_core::plain::plain;
use loop_core::{Config, Name};

use crate::commands::init::Args;
use crate::failure::{COMMAND_LINE, Failure};
use crate::world::World;

/// STATUS.md of a new loop.
const TEMPLATE: &str = include_str!("../../../../STATUS.template.md");

/// The title and the whole task.
pub(super) fn task(world: &World, args: &Args) -> Result<(String, String), Failure> {
    let text = match (&args.task, &args.task_file) {
        (Some(task), _) => task.clone(),
        (None, Some(file)) if file == Path::new("-") => std::io::read_to_string(std::io::stdin())
            .map_err(|error| Failure::users(anyhow::Error::new(error).context("cannot read the task")))?,
        (None, Some(file)) => std::fs::read_to_string(world.cwd.join(file)).map_err(|error| {
            Failure::users(
                anyhow::Error::new(error).context(format!("cannot read the task from {}", file.display())),
            )
        })?,
        (None, None) => String::new(),
    };
    let text = text.trim();
    let Some(first) = text.lines().next() else {
        return Err(Failure::say("what is to be done?")
            .code(COMMAND_LINE)
            .next("loop init \"the task in a few words\", or --task-file F"));
    };
    if text.contains('\0') {
        return Err(Failure::say("the task holds NUL bytes").next("save it as plain text"));
    }
    let title: String = plain(first.trim().trim_start_matches('#').trim()).chars().take(120).collect();
    let task = if text.lines().count() == 1 {
        text.to_owned()
    } else {
        text.lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    Ok((title, task.trim().to_owned()))
}

pub(super) fn fill_template(title: &str, task: &str, id: &str, config: &Config) -> String {
    let order: Vec<&str> = config.rotation.members().map(Name::as_str).collect();
    // One pass: what is filled in is never looked at again.
    let mut filled = String::new();
    let mut rest = TEMPLATE;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}') else { break };
        let value = match &rest[open + 1..open + close] {
            "title" => title.to_owned(),
            "task" => task.to_owned(),
            "loop_id" => id.to_owned(),
            "rotation" => order.join(" -> "),
            "pass" => pass_words(&config.pass),
            other => format!("{{{other}}}"),
        };
        filled.push_str(&rest[..open]);
        filled.push_str(&value);
        rest = &rest[open + close + 1..];
    }
    filled.push_str(rest);
    filled
}

/// The policy in a person's words.
pub(super) fn pass_words(pass: &PassPolicy) -> String {
    match pass {
        PassPolicy::Any => "any agent".to_owned(),
        PassPolicy::Other => "an agent that did not make the newest change".to_owned(),
        PassPolicy::All => "all agents together".to_owned(),
        PassPolicy::Names(names) => {
            let names: Vec<&str> = names.iter().map(Name::as_str).collect();
            names.join(" and ")
        }
    }
}
