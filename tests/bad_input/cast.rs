//! Names and rotations that cannot work: `loop.yaml` is refused where it stands.

use super::bench::{Bench, normal, same};

/// The texts, with what is wrong in words.
const CASES: &[(&str, &str)] = &[
    ("agents:\n  CC: {kind: codex}\n  cc: {kind: codex}\nrotation: [CC]\n", "cc"),
    ("agents:\n  CC: {kind: codex}\nrotation: [CC]\npeople: [cC]\n", "cC"),
    ("agents:\n  CC: {kind: codex}\n  Codex: {kind: codex}\nrotation: [CC, Codxe]\n", "Codxe"),
    ("agents:\n  CC: {kind: codex}\n  Codex: {kind: codex}\nrotation: [CC, Codex, CC]\n", "CC"),
    ("agents:\n  CC: {kind: codex}\n  Codex: {kind: codex}\nrotation: [CC, Codex, cc]\n", "cc"),
    ("agents:\n  CC: {kind: codex}\n  Codex: {kind: codex}\nrotation: {CC: Codex}\n", "Codex"),
    ("agents:\n  CC: {kind: codex}\nrotation: [CC]\npass: [Nobody]\n", "Nobody"),
    (
        "agents:\n  CC: {kind: codex}\n  Codex: {kind: codex}\nrotation: {CC: Codex, Codex: CC, cc: Codex}\n",
        "cc",
    ),
    ("agents:\n  CC: {kind: codex}\nrotation: []\n", "rotation"),
    ("agents: {}\nrotation: [CC]\n", "agents"),
    ("agents:\n  \"C C\": {kind: codex}\nrotation: [\"C C\"]\n", "C C"),
    ("agents:\n  \"CC\\e[31m\": {kind: codex}\nrotation: [CC]\n", r"CC\u{1b}[31m"),
    ("agents:\n  CC: {kind: codex}\nrotation: [CC]\npass: sometimes\n", "sometimes"),
    ("agents:\n  CC: {kind: codex}\nrotation: [CC]\nrotation: [CC]\n", "rotation"),
    ("agents:\n  CC: {kind: codx}\nrotation: [CC]\n", "codx"),
    ("agents:\n  CC: {kind: codex, comand: [x]}\nrotation: [CC]\n", "comand"),
    ("rotation: [CC\n", "loop.yaml"),
];

#[test]
fn a_cast_that_cannot_work_is_refused_with_file_and_line() {
    let bench = Bench::new();
    let mut texts = String::new();
    let repo = bench.sandbox.repo("shop");
    repo.write("STATUS.md", "# Task\n");
    for (config, words) in CASES {
        repo.write("loop.yaml", config);
        let said = bench.refuses(&repo, &["check"], 1, &["loop.yaml", words]);
        texts.push_str(&format!("{}\n", normal(&bench, &said)));
    }
    insta::assert_snapshot!(texts, @r#"
    error: loop.yaml:3:3: `CC` and `cc` are the same name
      3 |   cc: {kind: codex}
        |   ^^
    hint: names are matched without case and in one Unicode form: give one of them another name

    error: loop.yaml:4:10: `cC` in `people` is an agent too
      4 | people: [cC]
        |          ^^
    hint: an agent is in `agents` only; `kind: human` makes a person one

    error: loop.yaml:4:16: `Codxe` in `rotation` is no agent
      4 | rotation: [CC, Codxe]
        |                ^^^^^
    hint: did you mean `Codex`?

    error: loop.yaml:4:23: `CC` stands in the ring twice
      4 | rotation: [CC, Codex, CC]
        |                       ^^
    hint: a ring names everybody once; where the way branches, write a map

    error: loop.yaml:4:23: `cc` stands in the ring twice
      4 | rotation: [CC, Codex, cc]
        |                       ^^
    hint: a ring names everybody once; where the way branches, write a map

    error: loop.yaml:4:16: `Codex` can receive a turn but has no successor
      4 | rotation: {CC: Codex}
        |                ^^^^^
    hint: add a row `Codex: NAME`, the agent that comes after it

    error: loop.yaml:4:8: `Nobody` in `pass` is no agent
      4 | pass: [Nobody]
        |        ^^^^^^
    hint: the agents are `CC`

    error: loop.yaml:4:34: `cc` stands in `rotation` twice
      4 | rotation: {CC: Codex, Codex: CC, cc: Codex}
        |                                  ^^
    hint: everybody has one successor

    error: loop.yaml:3:11: `rotation` names nobody
      3 | rotation: []
        |           ^
    hint: write `[CC]`

    error: loop.yaml:1:9: `agents` names nobody
      1 | agents: {}
        |         ^
    hint: name at least one: `agents: {CC: {kind: claude-code}}`

    error: loop.yaml:2:3: `C C` cannot be a name: only letters, digits, `_`, `-` and `.` may follow the first letter
      2 |   "C C": {kind: codex}
        |   ^^^^^
    hint: a name is a letter, then letters, digits, `_`, `-` and `.`, at most 32 in all

    error: loop.yaml:2:3: `CC\u{1b}[31m` cannot be a name: only letters, digits, `_`, `-` and `.` may follow the first letter
      2 |   "CC\e[31m": {kind: codex}
        |   ^^^^^^^^^^
    hint: a name is a letter, then letters, digits, `_`, `-` and `.`, at most 32 in all

    error: loop.yaml:4:7: `sometimes` is no word for `pass`
      4 | pass: sometimes
        |       ^^^^^^^^^
    hint: it is `any`, `other`, `all` or a list of agents

    error: loop.yaml:4:1: `rotation` stands twice
      4 | rotation: [CC]
        | ^^^^^^^^
    hint: the first one is in line 3: keep one of the two

    error: loop.yaml:2:14: `codx` is no kind of agent
      2 |   CC: {kind: codx}
        |              ^^^^
    hint: did you mean `codex`?

    error: loop.yaml:2:21: unknown key `comand` in `CC`
      2 |   CC: {kind: codex, comand: [x]}
        |                     ^^^^^^
    hint: did you mean `command`?

    error: loop.yaml:1:11: unclosed bracket '['
      1 | rotation: [CC
        |           ^
    "#);
}

#[test]
fn no_loop_is_opened_with_a_cast_that_cannot_work() {
    let bench = Bench::new();
    for (n, (config, words)) in CASES.iter().enumerate() {
        let repo = bench.sandbox.repo(&format!("shop{n}"));
        repo.commit("loop.yaml", config, "how the loop works here");
        bench.refuses(&repo, &["init", "make it work"], 1, &["loop.yaml", words]);
        bench.refuses(&repo, &["turn", "CC"], 1, &["loop.yaml", words]);
        bench.refuses(&repo, &["commit", "CC", "-m", "x"], 1, &["loop.yaml", words]);
    }
}

#[test]
fn names_on_the_command_line() {
    let bench = Bench::new();
    let repo = bench.sandbox.repo("shop");
    let cases: &[&[&str]] = &[
        &["--agent", "CC=codex", "--agent", "cc=codex"],
        &["--agent", "CC=codex", "--agent", "CC=codex"],
        &["--agent", "C C=codex"],
        &["--agent", "=codex"],
        &["--agent", "CC=nothing"],
        &["--agent", "CC=codex", "--planner", "cc\u{1b}[31m"],
        &["--agent", "CC=codex", "--pass", "Nobody"],
        &["--agent", "CC=codex", "--pass", "CC,CC,x: y"],
    ];
    let mut texts = String::new();
    for arguments in cases {
        let all = [&["init", "make it work"], *arguments].concat();
        let before = bench.traces(repo.path());
        let said = bench.run(repo.path(), &all);
        assert_eq!(said.code, Some(2), "{arguments:?}: {said:?}");
        same(&before, &bench.traces(repo.path()), &format!("{arguments:?}"));
        texts.push_str(&format!("{:?} {}\n", said.code, normal(&bench, &said)));
    }
    insta::assert_snapshot!(texts, @r#"
    Some(2) error: cc is named twice; names that differ only by case are the same

    Some(2) error: CC is named twice; names that differ only by case are the same

    Some(2) error: "C C" cannot be a name: only letters, digits, `_`, `-` and `.` may follow the first letter

    Some(2) error: "" cannot be a name: it is empty

    Some(2) error: there is no kind of agent called `nothing`
    next: the kinds: claude-code, codex, opencode, gemini, qwen, hermes, human, generic, scripted; `loop agents profiles` explains them

    Some(2) error: "cc\u{1b}[31m" cannot be a name: only letters, digits, `_`, `-` and `.` may follow the first letter

    Some(2) error: --pass names Nobody, and no --agent is called so
    next: --pass takes any, other, all, or names of agents, separated by commas

    Some(2) error: --pass names CC twice
    next: --pass takes any, other, all, or names of agents, separated by commas
    "#);
}
