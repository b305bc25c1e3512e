//! What holds for the workspace as a whole: its floors, its documents, its skills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use loop_core::append::{self, NewSection};
use loop_core::{Cast, Config, Name, Verdict, status};
use serde_json::Value;

/// The drawing in ARCHITECTURE.md.
const FLOORS: &[(&str, u8)] = &[
    ("loop-core", 1),
    ("loop-git", 2),
    ("loop-store", 2),
    ("loop-transport", 2),
    ("loop-watch", 2),
    ("loop-hooks", 3),
    ("loop-router", 3),
    ("loop-bridge", 3),
    ("loop-cli", 4),
];

/// Only for tests; may be a dev-dependency of anything.
const TESTKIT: &str = "loop-testkit";

/// Crates that only the named package may use: what they do is that package's part.
const OWNED: &[(&str, &[&str])] = &[
    ("anyhow", &["loop-cli", "xtask"]),
    ("git2", &["loop-git"]),
    ("sqlx", &["loop-store", "loop-watch"]),
    ("axum", &["loop-router", "loop-bridge"]),
    ("clap", &["loop-cli"]),
];

/// What a crate of values in and values out has no use for.
const NOT_IN_CORE: &[&str] =
    &["tokio", "async-trait", "futures-util", "rustix", "tempfile", "which", "notify"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every package of the workspace with its normal and build dependencies.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap();
            let used = dependencies.iter().filter(|dependency| dependency["kind"] != "dev").map(name);
            (name(package), used.collect())
        })
        .collect()
}

#[test]
fn imports_run_downward() {
    let floor = |name: &str| FLOORS.iter().find(|(of, _)| *of == name).map(|(_, floor)| *floor);
    let packages = packages();
    for (package, uses) in &packages {
        let ours = uses.iter().filter(|name| packages.contains_key(*name));
        if package == TESTKIT || package == "xtask" {
            assert_eq!(ours.count(), 0, "{package} uses a crate of the workspace");
            continue;
        }
        let own = floor(package).unwrap_or_else(|| panic!("{package} stands on no floor of the drawing"));
        for name in ours {
            let below =
                floor(name).unwrap_or_else(|| panic!("{package} uses {name}, which stands on no floor"));
            assert!(below < own, "{package} (floor {own}) uses {name} (floor {below})");
        }
    }
}

#[test]
fn what_belongs_to_one_crate_is_used_by_no_other() {
    for (package, uses) in packages() {
        for (dependency, owners) in OWNED {
            let allowed = !uses.contains(*dependency) || owners.contains(&package.as_str());
            assert!(allowed, "{package} uses {dependency}, which belongs to {owners:?}");
        }
        if package == "loop-core" {
            let found: Vec<_> = NOT_IN_CORE.iter().filter(|name| uses.contains(**name)).collect();
            assert!(found.is_empty(), "loop-core uses {found:?}");
        }
    }
}

#[test]
fn only_the_command_prints_and_reads_the_environment() {
    let forbidden =
        ["println!(", "print!(", "eprintln!(", "eprint!(", "env::var(", "env::var_os(", "env::vars"];
    let mut found = Vec::new();
    for file in tracked().into_iter().filter(|file| is_library_source(file)) {
        let text = read(&file);
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in (1..).zip(shipped.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            if forbidden.iter().any(|word| code.contains(word)) {
                found.push(format!("{file}:{number} {}", line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "libraries print or read the environment:\n{}", found.join("\n"));
}

fn is_library_source(file: &str) -> bool {
    let Some(rest) = file.strip_prefix("crates/") else { return false };
    let Some((package, inside)) = rest.split_once('/') else { return false };
    // Whole files that are compiled for tests only.
    let for_tests =
        inside.contains("/tests/") || inside.ends_with("/tests.rs") || inside.ends_with("/testing.rs");
    !["cli", "testkit"].contains(&package)
        && inside.starts_with("src/")
        && inside.ends_with(".rs")
        && !for_tests
}

#[test]
fn every_path_in_the_architecture_exists() {
    let root = root();
    let text = read("ARCHITECTURE.md");
    let paths: BTreeSet<&str> = code_spans(&text).filter(|span| is_path(span)).collect();
    assert!(paths.len() >= 20, "only {} paths were found: {paths:?}", paths.len());
    for path in paths {
        // `NAME.rs` is a file to be written: then its folder must be there.
        let there = if path.contains("NAME") { Path::new(path).parent().unwrap() } else { Path::new(path) };
        assert!(root.join(there).exists(), "ARCHITECTURE.md names {path}, which does not exist");
    }
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(text.contains(&format!("`crates/{name}`")), "ARCHITECTURE.md does not name crates/{name}");
    }
}

fn is_path(span: &str) -> bool {
    let tops = ["crates", "xtask", "tests", "skills", "hooks", "examples", "docs", ".ci", ".config"];
    let first = span.split('/').next().unwrap_or_default();
    !span.contains(char::is_whitespace) && (tops.contains(&first) || span == "STATUS.template.md")
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let root = root();
    let mut count = 0;
    for file in tracked().into_iter().filter(|file| file.ends_with(".md")) {
        let text = read(&file);
        let folder = root.join(&file).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.contains(char::is_whitespace) {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let there = if path.is_empty() { root.join(&file) } else { folder.join(path) };
            assert!(there.exists(), "{file} links to {target}, which does not exist");
            if !anchor.is_empty() {
                let linked = fs::read_to_string(&there).unwrap();
                let found =
                    linked.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor);
                assert!(found, "{file} links to {target}, and there is no such heading");
            }
            count += 1;
        }
    }
    assert!(count >= 10, "only {count} links were found");
}

fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
}

#[test]
fn the_skills_are_valid() {
    for folder in ["agent-loop", "loop-planner"] {
        let text = read(&format!("skills/{folder}/SKILL.md"));
        let (front, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        let front: Value = serde_yaml::from_str(front).unwrap();
        let keys: BTreeSet<&str> = front.as_object().unwrap().keys().map(String::as_str).collect();
        let known =
            BTreeSet::from(["name", "description", "license", "compatibility", "metadata", "allowed-tools"]);
        assert!(keys.is_subset(&known), "{folder}: strict readers refuse other keys: {keys:?}");

        assert_eq!(front["name"], folder, "the name must be the folder's");
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(folder.len() <= 64 && folder.chars().all(letters) && !folder.contains("--"));
        let description = front["description"].as_str().unwrap();
        assert!((1..=1024).contains(&description.chars().count()), "{folder}: description");
        assert!(front["compatibility"].as_str().unwrap().chars().count() <= 500, "{folder}: compatibility");
        let metadata = front["metadata"].as_object().unwrap();
        assert!(metadata.values().all(Value::is_string), "{folder}: metadata values must be strings");
        assert!(body.lines().count() < 500, "{folder}: the body is too long to be read each time");
    }
}

#[test]
fn the_agents_skill_works_in_every_cli_and_sets_nothing_up() {
    let text = read("skills/agent-loop/SKILL.md");
    assert!(text.contains("word after agent-loop"));
    assert!(!text.contains("$ARGUMENTS") && !text.contains("$1"), "three CLIs of five do not fill it in");
    for command in ["loop init", "loop up", "hooks install", "n8n", "core.hooksPath"] {
        assert!(!text.contains(command), "{command} is set-up");
    }
    for file in ["CLAUDE.md", "AGENTS.md", "GEMINI.md"] {
        assert!(!root().join(file).exists(), "{file} would be read by every agent in this repository");
    }
}

#[test]
fn the_template_starts_nothing_and_ends_nothing() {
    let template = read("STATUS.template.md");
    let filled = [
        ("{title}", "Sign tokens"),
        ("{loop_id}", "0199aaaa"),
        ("{rotation}", "CC, then Codex"),
        ("{pass}", "other"),
        ("{task}", "Sign and verify tokens."),
    ]
    .iter()
    .fold(template.clone(), |text, (key, value)| {
        assert_eq!(text.matches(key).count(), 1, "{key} must stand in the template once");
        text.replace(key, value)
    });
    assert!(!filled.contains('{'), "a placeholder that nobody fills in");

    // Even agents of these names must not be started by the template's own examples.
    let cast = cast(&["CC", "Codex", "NAME", "OTHER"]);
    for text in [&template, &filled] {
        let read = status::parse(text.as_bytes(), &cast).unwrap();
        assert_eq!(read.turns, [], "{text}");
        assert_eq!(read.diagnostics, [], "{text}");
    }
    let read = status::parse(filled.as_bytes(), &cast).unwrap();
    assert_eq!(read.loop_id.as_deref(), Some("0199aaaa"));

    let section = NewSection {
        author: name("CC"),
        to: None,
        summary: "signed".to_owned(),
        body: String::new(),
        verdict: Some(Verdict::Pass { commit: None }),
    };
    let plan = append::plan(filled.as_bytes(), &cast, &section).unwrap();
    assert_eq!(plan.closed, [] as [String; 0], "the template leaves something open");
    let whole = [filled.as_bytes(), &plan.added].concat();
    assert_eq!(status::parse(&whole, &cast).unwrap().turns.len(), 1);
}

#[test]
fn the_examples_in_the_documents_hold() {
    let protocol = read("docs/protocol.md");
    for line in fences(&protocol, "text").flat_map(str::lines) {
        let text = format!("## CC: done\n\n{line}\n");
        let read = status::parse(text.as_bytes(), &cast(&["CC"])).unwrap();
        assert!(matches!(read.turns[0].verdict, Some(Verdict::Pass { .. })), "{line} is no pass");
    }
    for line in fences(&protocol, "markdown").flat_map(str::lines) {
        let read = status::parse(line.as_bytes(), &cast(&["CC", "Codex"])).unwrap();
        assert_eq!(read.turns.len(), 1, "{line} is no section");
    }
    let settings = read("docs/loop-yaml.md");
    let examples: Vec<&str> = fences(&settings, "yaml").collect();
    assert!(examples.len() >= 2);
    for example in examples {
        if let Err(error) = Config::parse(example, "loop.yaml", &BTreeMap::new()) {
            panic!("{error:?}\n{example}");
        }
    }
}

#[test]
fn the_documents_name_only_commands_and_options_that_exist() {
    let nested = ["hooks", "agents", "store"];
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let documents =
        tracked().into_iter().filter(|file| file.ends_with(".md") && !file.starts_with("crates/"));
    for file in documents {
        for command in commands(&read(&file)) {
            let words: Vec<&str> = command.split_whitespace().skip(1).collect();
            let is_word = |word: &&&str| {
                word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
            };
            let depth = if words.first().is_some_and(|word| nested.contains(word)) { 2 } else { 1 };
            let path: Vec<String> =
                words.iter().take(depth).take_while(is_word).map(|&word| word.to_owned()).collect();
            let help = helps.entry(path.clone()).or_insert_with(|| help(&path, &file));
            for option in words.iter().take_while(|word| **word != "--").filter(|word| word.starts_with("--"))
            {
                assert!(
                    help.contains(*option),
                    "{file} names `{command}`, but `loop {}` has no {option}",
                    path.join(" ")
                );
            }
        }
    }
    assert!(helps.len() >= 15, "only these commands were found: {:?}", helps.keys());
}

fn help(path: &[String], file: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_loop")).args(path).arg("--help").output().unwrap();
    assert!(output.status.success(), "{file} names `loop {}`, which does not exist", path.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// What a reader would type: lines of shell blocks and code spans that start with `loop `.
fn commands(text: &str) -> Vec<String> {
    let lines = fences(text, "sh").flat_map(str::lines);
    let typed = lines.map(|line| line.split(" #").next().unwrap_or_default().trim());
    let spans = code_spans(text).map(str::trim);
    typed.chain(spans).filter(|line| line.starts_with("loop ")).map(str::to_owned).collect()
}

#[test]
fn the_changelog_has_a_place_for_what_comes() {
    assert!(read("CHANGELOG.md").contains("\n## [Unreleased]\n"));
}

#[test]
fn continuous_integration_runs_what_a_developer_runs() {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(root().join(".ci/run")).unwrap().permissions().mode();
    assert!(mode & 0o111 != 0, ".ci/run has no run bit");
    assert!(read(".ci/run").ends_with("exec cargo xtask test\n"));
}

#[test]
fn nothing_tells_where_it_was_written() {
    // In two parts, so that this file does not hold them.
    let traces =
        [concat!("/wo", "rk/"), concat!("/fa", "rm/"), concat!("/ro", "ot/"), concat!("arti", "factory")];
    for file in tracked() {
        let Ok(bytes) = fs::read(root().join(&file)) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for trace in traces {
            assert!(!text.contains(trace), "{file} holds {trace}");
        }
    }
}

/// Every file that git tracks.
fn tracked() -> Vec<String> {
    let mut git = Command::new("git");
    for variable in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX"] {
        git.env_remove(variable);
    }
    let output = git.args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8(output.stdout).unwrap();
    let files: Vec<String> = listing.split_terminator('\0').map(str::to_owned).collect();
    // A file may be tracked and yet gone, in the middle of a change.
    files.into_iter().filter(|file| root().join(file).exists()).collect()
}

/// The contents of fenced blocks with this word behind the fence.
fn fences<'a>(text: &'a str, word: &str) -> impl Iterator<Item = &'a str> {
    let opening = format!("\n```{word}\n");
    let starts: Vec<usize> = text.match_indices(&opening).map(|(at, _)| at + opening.len()).collect();
    starts.into_iter().map(|start| text[start..].split("\n```").next().unwrap_or_default())
}

/// Inline code.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("\n```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2))
}

fn cast(agents: &[&str]) -> Cast {
    Cast { agents: agents.iter().map(|agent| name(agent)).collect(), ..Cast::default() }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}
