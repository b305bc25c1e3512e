//! Real input: a clone of this very repository, with whatever history it has here.

use std::path::{Path, PathBuf};

use loop_testkit::script::Step;
use loop_testkit::skipped;

use crate::stage::{Stage, again, commit, pass, review, sh, turn, work};

/// The repository that this test was built from.
fn sources() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if source.join(".git").exists() {
        return Some(source.canonicalize().unwrap());
    }
    skipped("the sources are no git repository here");
    None
}

/// A checkout of another user's, as CI has it, may be read all the same.
fn trust_any_owner(stage: &Stage) {
    stage.sandbox.git(&["config", "--global", "safe.directory", "*"]);
}

#[test]
fn three_agents_take_twenty_turns_in_a_clone_of_this_repository() {
    let Some(source) = sources() else { return };
    let stage = Stage::new("");
    let sandbox = &stage.sandbox;
    trust_any_owner(&stage);
    sandbox.git(&["clone", "--quiet", "--no-hardlinks", source.to_str().unwrap(), "clone"]);
    let clone = stage.place(sandbox.open_repo("clone"), "clone");
    // HEAD may be detached there, and the branch may have any name.
    clone.repo.git(&["switch", "--quiet", "-C", "work"]);
    clone.repo.try_git(&["rm", "-rq", "--ignore-unmatch", "STATUS.md", "loop.yaml"]);
    clone.repo.try_git(&["commit", "--quiet", "-m", "no loop yet"]);

    let rounds = 8;
    let write = |n: usize| {
        turn([
            Step::Append { file: "README.md".into(), text: format!("\nPart {n} of the task.\n") },
            sh(&format!("mkdir -p notes; git log --oneline -3 > notes/{n}.txt")),
            commit(&format!("write part {n}")),
        ])
    };
    let mend = |n: usize| {
        turn([
            Step::Replace {
                file: "README.md".into(),
                from: format!("Part {n} of the task."),
                to: format!("Part {n} of the task, reviewed."),
            },
            commit(&format!("mend part {n}")),
        ])
    };
    let check = |n: usize| {
        turn([
            sh(&format!("grep -q 'Part {n} of the task, reviewed.' README.md; test -s notes/{n}.txt")),
            Step::Commit {
                summary: format!("checked part {n}"),
                body: Some("`grep` finds it; nothing that blocks.".into()),
                pass: n + 1 >= rounds,
                blocked: None,
                to: None,
            },
        ])
    };
    clone.cast(
        &[
            ("Ada", again((0..rounds).map(write))),
            ("Bob", again((0..rounds).map(mend))),
            ("Cy", again((0..rounds).map(check))),
        ],
        "pass: other\nlimits: {rounds: 10}",
    );
    let before = clone.repo.git(&["rev-list", "--count", "HEAD"]);
    clone.run(&["init", "document the parts"]);
    clone.run(&["up", "--yes", "--headless"]);
    clone.passes();
    let authors = clone.authors();
    assert_eq!(authors.len(), 3 * rounds, "{authors:?}");
    let expected = [("Ada", rounds), ("Bob", rounds), ("Cy", rounds)];
    assert_eq!(clone.all_wakes(&["Ada", "Bob", "Cy"]), expected.into_iter().collect(), "{}", clone.story());
    assert_eq!(clone.repo.read("README.md").matches("of the task, reviewed.").count(), rounds);

    clone.run(&["archive"]);
    let after = clone.repo.git(&["rev-list", "--count", "HEAD"]);
    let commits: usize = after.parse::<usize>().unwrap() - before.parse::<usize>().unwrap();
    assert_eq!(commits, 3 * rounds + 2, "the start, every turn, the archive");
    assert_eq!(clone.repo.git(&["status", "--porcelain"]), "");

    // A second loop in the same clone, by the same agents and the same loop.yaml.
    for name in ["Ada", "Bob"] {
        clone.agent(name, &again([work("one part more")]));
    }
    clone.agent("Cy", &again([pass()]));
    clone.run(&["init", "a second task"]);
    clone.run(&["up", "--headless"]);
    clone.passes();
    let authors = clone.authors();
    assert_eq!(authors, ["Ada", "Bob", "Cy"]);
    assert_eq!(clone.repo.git(&["ls-files", "project-archive"]).matches("STATUS.md").count(), 1);
    clone.run(&["archive"]);
    assert_eq!(clone.repo.git(&["ls-files", "project-archive"]).matches("STATUS.md").count(), 2);
    clone.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_shallow_clone_with_a_detached_head_will_do() {
    let Some(source) = sources() else { return };
    let stage = Stage::new("");
    let sandbox = &stage.sandbox;
    trust_any_owner(&stage);
    let url = format!("file://{}", source.display());
    sandbox.git(&["clone", "--quiet", "--depth", "2", &url, "shallow"]);
    let clone = stage.place(sandbox.open_repo("shallow"), "shallow");
    clone.repo.git(&["checkout", "--quiet", "--detach"]);
    clone.repo.try_git(&["rm", "-rq", "--ignore-unmatch", "STATUS.md", "loop.yaml"]);
    clone.repo.try_git(&["commit", "--quiet", "-m", "no loop yet"]);
    clone.cast(
        &[("CC", again([work("a part")])), ("Codex", again([review("a finding"), pass()]))],
        "pass: other",
    );
    clone.run(&["init", "a task for a shallow clone"]);
    clone.run(&["up", "--yes", "--headless"]);
    clone.passes();
    assert_eq!(clone.authors(), ["CC", "Codex", "CC", "Codex"]);
    clone.run(&["archive"]);
    clone.run(&["down"]);
    stage.nothing_runs();
}
