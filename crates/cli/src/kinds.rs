//! The kinds of agents, explained.

use std::fmt::Write as _;

use loop_core::profile::{Place, Records, Rule, TextMethod, builtin, kinds};
use loop_core::{Profile, plain::plain};

use crate::failure::Failure;
use crate::output::pad;
use crate::world::World;

/// One kind that is known here.
pub(crate) struct Kind {
    /// What is known of it.
    pub(crate) profile: Profile,
    /// Whether the user's own config.yaml says it.
    pub(crate) yours: bool,
}

/// Every kind that is known here, the built-in ones first; the user's own override them.
pub(crate) fn all(world: &World) -> Vec<Kind> {
    let own = &world.settings.kinds;
    let built_in =
        kinds().iter().filter(|row| !own.contains_key(row.kind)).filter_map(|row| builtin(row.kind));
    let built_in = built_in.map(|profile| Kind { profile, yours: false });
    let own = own.iter().map(|(kind, profile)| Kind {
        profile: Profile { kind: kind.clone(), ..profile.clone() },
        yours: true,
    });
    built_in.chain(own).collect()
}

/// The kind of this name.
pub(crate) fn one(world: &World, kind: &str) -> Result<Kind, Failure> {
    let all = all(world);
    let known: Vec<String> = all.iter().map(|known| known.profile.kind.clone()).collect();
    all.into_iter().find(|known| known.profile.kind == kind).ok_or_else(|| {
        Failure::say(format!("there is no kind of agent called `{kind}`"))
            .next(format!("the kinds: {}", known.join(", ")))
    })
}

/// One line for each kind.
pub(crate) fn table(all: &[Kind]) -> String {
    let width = all.iter().map(|kind| kind.profile.kind.chars().count()).max().unwrap_or(0);
    let about = all.iter().map(|kind| kind.profile.about.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for Kind { profile, yours } in all {
        let seen = match profile.seen_on.as_slice() {
            [] => String::new(),
            seen => format!("seen to work on {}", seen.join(", ")),
        };
        let yours = if *yours { "  (from your config.yaml)" } else { "" };
        let line = format!(
            "{}  {}  v{}  {seen}{yours}",
            pad(&profile.kind, width),
            pad(&profile.about, about),
            profile.version
        );
        let _ = writeln!(text, "{}", plain(line.trim_end()));
    }
    text.push_str("`loop agents profiles KIND` explains one.\n");
    text
}

/// Everything that is known of a kind.
pub(crate) fn explain(kind: &Kind) -> String {
    let profile = &kind.profile;
    let mut text = format!("{}: {}\n", profile.kind, profile.about);
    let mut row = |what: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {}  {value}", pad(what, 12));
        }
    };
    row("from", if kind.yours { "your config.yaml" } else { "built in" });
    row("version", &format!("{} of this profile", profile.version));
    row("seen on", &profile.seen_on.join(", "));
    let start = if profile.start.is_empty() {
        "nothing by itself: the agent's `command` in loop.yaml does".to_owned()
    } else {
        shell_words::join(&profile.start)
    };
    row("starts", &start);
    row("starts as", &shell_words::join(&profile.start_as));
    row("reopens", &shell_words::join(&profile.resume));
    row("woken by", &format!("`{}`", profile.wake_text("NAME")));
    let method = match profile.text {
        TextMethod::Paste => "pasted",
        TextMethod::Keys => "typed key by key",
    };
    row("typing", &format!("{method}, {} ms, then {}", profile.settle_ms, profile.submit));
    let mut skills = profile.skills.clone();
    if let Some(first) = skills.first_mut() {
        first.push_str(" (written to)");
    }
    row("skills in", &skills.join(", "));
    let headless = if profile.headless.is_empty() {
        "no way of its own".to_owned()
    } else {
        shell_words::join(&profile.headless)
    };
    row("headless", &headless);
    if !profile.headless_resume.is_empty() {
        row("  resuming", &shell_words::join(&profile.headless_resume));
    }
    row("  id in", profile.conversation.as_deref().unwrap_or_default());
    for (variable, value) in &profile.env {
        // A person's own value may be a key: its name tells enough.
        let shown = if kind.yours { "… (the value is in your config.yaml)" } else { value };
        row("sets", &format!("{variable}={shown}"));
    }
    row("may have", &profile.pass_env.join(", "));
    for level in ["ask", "edits", "all"] {
        if let Some(flags) = profile.permissions.get(level) {
            row(&format!("may {level}"), &shell_words::join(flags));
        }
        for (variable, value) in profile.permission_env.get(level).into_iter().flatten() {
            row(&format!("may {level}"), &format!("{variable}={value}"));
        }
    }
    row("sandbox", &shell_words::join(&profile.sandbox));
    if let Some(records) = &profile.records {
        row("records", &recorded(records));
    }
    row(
        "turn hooks",
        &profile.turn_hooks.as_deref().map_or_else(String::new, |kind| format!("in the form of {kind}")),
    );
    row("answers", &profile.answers.join(", "));
    let signs = &profile.signs;
    let expressions = [("composer", &signs.composer), ("edge", &signs.edge), ("goes on", &signs.wrapped)];
    for (what, expression) in expressions {
        row(what, expression.as_deref().unwrap_or_default());
    }
    row("placeholder", &signs.placeholder.join("  "));
    row("shows told", &signs.told.join("  "));
    for (what, rules) in [
        ("ready", &signs.ready),
        ("busy", &signs.busy),
        ("blocked", &signs.blocked),
        ("limited", &signs.limited),
    ] {
        for rule in rules {
            row(what, &sign(rule));
        }
    }
    plain(&text).into_owned()
}

/// Where a rule looks, for what, and what it means.
fn sign(rule: &Rule) -> String {
    let place = match rule.place {
        Place::Title => "title",
        Place::Bottom => "bottom",
        Place::Screen => "screen",
    };
    let means = match (rule.says.as_str(), rule.press.as_str()) {
        ("", "") => String::new(),
        (says, "") => format!("{says}; "),
        ("", press) => format!("press {press}; "),
        (says, press) => format!("{says}: press {press}; "),
    };
    let named = match (rule.name.as_str(), rule.keys.is_empty()) {
        ("", _) => String::new(),
        (name, true) => format!("`{name}`: "),
        (name, false) => {
            format!("`{name}` (answered with {} where `answers` names it): ", rule.keys.join(" "))
        }
    };
    format!("{named}{means}{place} matches {}", rule.matches)
}

/// Where a CLI records its conversations, and in what form.
fn recorded(records: &Records) -> String {
    let mut text = format!("{} in {}", records.format.as_str(), records.at.join(", or "));
    if !records.table.is_empty() {
        let _ = write!(text, ", table {} with {} and {}", records.table, records.id, records.updated);
    }
    if let Some(folder) = &records.folder {
        let _ = write!(text, ", folder in {folder}");
    }
    for (word, columns) in [("only", &records.only), ("not", &records.not)] {
        for (column, value) in columns {
            let _ = write!(text, ", {word} {column}={value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_built_in_kind_can_be_explained() {
        for row in kinds() {
            let kind = Kind { profile: builtin(row.kind).unwrap(), yours: false };
            let text = explain(&kind);
            assert!(text.starts_with(&format!("{}: {}\n", row.kind, row.about)), "{text}");
            assert!(text.contains("woken by"), "{text}");
        }
    }

    #[test]
    fn the_values_of_a_persons_own_environment_are_not_printed() {
        let mut profile = builtin("generic").unwrap();
        profile.env.insert("MODEL_TOKEN".into(), "s3cret-value".into());
        let text = explain(&Kind { profile, yours: true });
        assert!(text.contains("MODEL_TOKEN=…"), "{text}");
        assert!(!text.contains("s3cret-value"), "{text}");
    }
}
