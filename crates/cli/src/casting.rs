//! The cast of a new loop: from flags, else from the CLIs that are installed.

use loop_core::{Name, profile};

use crate::failure::{COMMAND_LINE, Failure};
use crate::world::World;

/// CLIs that are looked for, with the names that their agents usually have.
const USUAL: [(&str, &str, &str); 6] = [
    ("claude", "CC", "claude-code"),
    ("codex", "Codex", "codex"),
    ("opencode", "OpenCode", "opencode"),
    ("gemini", "Gemini", "gemini"),
    ("qwen", "Qwen", "qwen"),
    ("hermes", "Hermes", "hermes"),
];

/// Reads `NAME` or `NAME=KIND`.
pub(crate) fn read_agent(world: &World, text: &str) -> Result<(Name, String), Failure> {
    let (name, kind) = text.split_once('=').map_or((text, None), |(name, kind)| (name, Some(kind)));
    let name = Name::new(name).map_err(|error| Failure::users(error).code(COMMAND_LINE))?;
    let known = || {
        let built_in = profile::kinds().iter().map(|row| row.kind.to_owned());
        built_in.chain(world.settings.kinds.keys().cloned()).collect::<Vec<_>>()
    };
    let kind = match kind {
        Some(kind) => kind.to_owned(),
        None => profile::usual_kind(name.as_str()).map(str::to_owned).ok_or_else(|| {
            Failure::say(format!("what kind of agent is {name}?"))
                .code(COMMAND_LINE)
                .next(format!("write {name}=KIND, with one of {}", known().join(", ")))
        })?,
    };
    if known().contains(&kind) {
        return Ok((name, kind));
    }
    Err(Failure::say(format!("there is no kind of agent called `{kind}`"))
        .code(COMMAND_LINE)
        .next(format!("the kinds: {}; `loop agents profiles` explains them", known().join(", "))))
}

/// The agents of a new loop.
pub(crate) fn cast(world: &World, flags: &[String]) -> Result<Vec<(Name, String)>, Failure> {
    if !flags.is_empty() {
        let agents: Vec<_> = flags.iter().map(|flag| read_agent(world, flag)).collect::<Result<_, _>>()?;
        for (place, (name, _)) in agents.iter().enumerate() {
            if agents[..place].iter().any(|(other, _)| other == name) {
                return Err(Failure::say(format!(
                    "{name} is named twice; names that differ only by case are the same"
                ))
                .code(COMMAND_LINE));
            }
        }
        return Ok(agents);
    }
    let path = world.env.get("PATH").cloned().unwrap_or_default();
    let found: Vec<_> = USUAL
        .iter()
        .filter(|(program, ..)| which::which_in(program, Some(&path), &world.cwd).is_ok())
        .filter_map(|(_, name, kind)| Some((Name::new(name).ok()?, (*kind).to_owned())))
        .collect();
    if found.is_empty() {
        return Err(Failure::say("no agent is named, and no agent's program was found")
            .next("name them: loop init \"the task\" --agent CC=claude-code --agent Codex=codex"));
    }
    Ok(found)
}

/// The person who opens the loop, as a name that fits into `people:`; `None` where git knows none that does.
pub(crate) fn person(identity: &str, taken: &[&Name]) -> Option<Name> {
    let first = identity.split_whitespace().next()?;
    let name = Name::new(first).ok()?;
    (!taken.contains(&&name)).then_some(name)
}

/// A short form of a title for branches and folders: letters and digits of any script, joined by `-`.
pub(crate) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.to_lowercase().chars() {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.chars().count() >= 40 {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "task".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn titles_become_slugs() {
        for (title, expected) in [
            ("Add a login page!", "add-a-login-page"),
            ("修复 登录", "修复-登录"),
            ("../../etc; rm -rf ~", "etc-rm-rf"),
            ("…", "task"),
        ] {
            assert_eq!(slug(title), expected);
        }
        assert!(slug(&"long ".repeat(50)).chars().count() <= 40);
    }

    #[test]
    fn the_first_word_of_an_identity_is_a_person() {
        let cc = Name::new("Dana").unwrap();
        assert_eq!(person("Dana Scully", &[]).unwrap().as_str(), "Dana");
        assert_eq!(person("dana", &[&cc]), None);
        assert_eq!(person("42", &[]), None);
    }
}
