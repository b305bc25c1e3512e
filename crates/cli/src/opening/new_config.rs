//! The loop.yaml of a new loop.

use std::path::Path;
use std::time::Duration;

use loop_core::Name;
use loop_core::config::render_new;
use loop_git::Repo;

use super::command_line::{is_word, name};
use crate::casting;
use crate::commands::init::Args;
use crate::failure::Failure;
use crate::world::World;

/// Writes it from flags, installed programs and the repository's own habits.
pub(super) fn new_config(
    world: &World,
    repo: &Repo,
    args: &Args,
    person: &str,
    notes: &mut Vec<String>,
) -> Result<String, Failure> {
    let agents = casting::cast(world, &args.agents)?;
    let planner = args.planner.as_deref().map(name).transpose()?;
    let taken: Vec<&Name> = agents.iter().map(|(name, _)| name).chain(&planner).collect();
    let people: Vec<Name> = casting::person(person, &taken).into_iter().collect();
    let pass = match args.pass.as_deref() {
        Some(names) if names.contains(',') => format!("[{names}]"),
        Some(word) if is_word(word) => word.to_owned(),
        Some(name) => format!("[{name}]"),
        None if agents.len() > 1 => "other".to_owned(),
        None => "any".to_owned(),
    };
    let mut text = render_new(&agents, planner.as_ref(), &people, &pass, None);
    if let Some(tests) = test_command(&repo.place().worktree) {
        let proposal = format!("# verify: {tests}");
        text = text
            .lines()
            .map(|line| {
                if line.starts_with("# verify:") {
                    format!("{proposal}   # must succeed in a clean checkout before a pass counts")
                } else {
                    line.to_owned()
                }
            })
            .collect::<Vec<_>>()
            .join("\n")
            + "\n";
        notes.push(format!("the project's tests could guard the pass: `verify: {tests}` in loop.yaml"));
    }
    if let Some(subject) = accepted_subject(world, repo, &agents[0].0, notes) {
        text.push_str(&format!(
            "# The repository's commit-msg hook wants this form.\ncommit: {{subject: \"{subject}\"}}\n"
        ));
    }
    Ok(text)
}

/// The project's own test command, by its build files.
fn test_command(root: &Path) -> Option<&'static str> {
    let has = |file: &str| root.join(file).is_file();
    let says = |file: &str, word: &str| {
        std::fs::read_to_string(root.join(file)).is_ok_and(|text| text.contains(word))
    };
    let table: [(bool, &'static str); 7] = [
        (has("Cargo.toml"), "cargo test"),
        (says("package.json", "\"test\""), "npm test"),
        (has("go.mod"), "go test ./..."),
        (has("pyproject.toml") || has("pytest.ini"), "python3 -m pytest"),
        (has("pom.xml"), "mvn -q test"),
        (has("gradlew"), "./gradlew test"),
        (says("Makefile", "\ntest:") || says("Makefile", "test:"), "make test"),
    ];
    table.into_iter().find(|(there, _)| *there).map(|(_, command)| command)
}

/// Tries the usual subject against the repository's commit-msg hook; `Some`: another form that it accepts.
fn accepted_subject(
    world: &World,
    repo: &Repo,
    agent: &Name,
    notes: &mut Vec<String>,
) -> Option<&'static str> {
    let forms =
        ["{name}: {summary}", "chore: {name}: {summary}", "chore({name}): {summary}", "{summary} ({name})"];
    let tried = |form: &str| -> Option<bool> {
        let folder = tempfile::tempdir().ok()?;
        let file = folder.path().join("COMMIT_EDITMSG");
        let subject = form.replace("{name}", agent.as_str()).replace("{summary}", "add a first version");
        std::fs::write(&file, format!("{subject}\n\nLoop-Agent: {agent}\n")).ok()?;
        let git = repo.git(&world.git_env);
        let file = file.to_string_lossy().into_owned();
        let args = ["hook", "run", "--ignore-missing", "commit-msg", "--", &file];
        git.run(&args, Duration::from_secs(20)).ok().map(|output| output.ok())
    };
    if tried(forms[0]).unwrap_or(true) {
        return None;
    }
    let accepted = forms.into_iter().skip(1).find(|form| tried(form) == Some(true));
    if accepted.is_none() {
        notes.push(format!(
            "the commit-msg hook refuses subjects like `{agent}: what I did`: set `commit: {{subject: …}}` in loop.yaml to a form that it takes"
        ));
    }
    accepted
}
