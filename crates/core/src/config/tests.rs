//! What `Config::parse` takes and what it refuses.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, "loop.yaml", &BTreeMap::new())
}

fn good(text: &str) -> Config {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn bad(text: &str) -> String {
    match parse(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

const TWO: &str = "agents: {CC: {kind: claude-code}, Codex: {kind: codex}}\nrotation: [CC, Codex]\n";

fn two(more: &str) -> String {
    format!("{TWO}{more}")
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

#[test]
fn the_designs_own_example() {
    let config = good(
        "agents:\n  CC:    {kind: claude-code}\n  Codex: {kind: codex}\nrotation: [CC, Codex]\nplanner: Hermes\n\
         people: [Dana]          # optional: may write sections, are not in the rotation\npass: other\n\
         limits: {rounds: 8, hours: 8, turn_minutes: 60}\narchive: project-archive\n",
    );
    assert_eq!(
        config.agents.iter().map(|agent| agent.kind.as_str()).collect::<Vec<_>>(),
        ["claude-code", "codex"]
    );
    assert_eq!(config.rotation, Rotation::Ring(vec![name("CC"), name("Codex")]));
    assert_eq!(config.planner, Some(name("Hermes")));
    assert_eq!(config.people, [name("Dana")]);
    assert_eq!(config.pass, PassPolicy::Other);
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.archive, "project-archive");
}

#[test]
fn only_agents_and_rotation_are_needed() {
    let config = good("agents:\n  CC:\n  Codex: {}\nrotation:\n- CC\n- Codex\n");
    assert_eq!(config.pass, PassPolicy::Any);
    assert_eq!(config.limits, Limits::default());
    assert_eq!((config.archive.as_str(), config.status_file.as_str()), ("project-archive", "STATUS.md"));
    assert_eq!((config.handover_grace, config.commit_subject.as_str()), (30, "{name}: {summary}"));
    assert_eq!(config.agents[0].permissions, Permissions::Edits);
}

#[test]
fn every_key_is_read() {
    let config = good(
        r#"
agents:
  CC:
    kind: claude-code
    skip: true
    transport: [tmux, exec]
    command: claude --model 'a b' "{text}"
    env: {PORT: 8080, VERSION: 1.10, YES: true, EMPTY: }
    permissions: all
    on_limit: skip
    role: reviewer
    settle_ms: 900
    submit: C-m
    signs: {busy: ['working\z']}
  Shell: {command: [sh, -c, "echo {name}"], transport: wait}
  小明: {kind: codex, permissions: {edits: [--yolo]}}
rotation: {小明: Shell, CC: 小明, Shell: 小明}
planner: shell
people: Dana
pass: [小明]
limits: {rounds: off, hours: 0.5, turn_minutes: false, tokens: 1000000, no_progress: ~}
archive: docs/done/
verify: cargo test --all
setup: [make, deps]
pass_needs: [ci]
handover_grace: 2m
commit: {subject: "chore: {summary} ({name})"}
sync: origin
status_file: docs/STATUS.md
"#
        .replace("planner: shell", "planner: Hermes")
        .as_str(),
    );
    let [cc, shell, ming] = config.agents.as_slice() else { panic!("three agents") };
    assert!(cc.skip);
    assert_eq!(cc.transport, ["tmux", "exec"]);
    assert_eq!(cc.command.as_ref().unwrap()[..], ["claude", "--model", "a b", "{text}"]);
    let env: Vec<(&str, &str)> = cc.env.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(env, [("EMPTY", ""), ("PORT", "8080"), ("VERSION", "1.10"), ("YES", "true")]);
    assert_eq!(
        (cc.permissions, cc.on_limit, cc.role.as_deref()),
        (Permissions::All, OnLimit::Skip, Some("reviewer"))
    );
    assert_eq!((cc.profile.settle_ms, cc.profile.submit.as_str()), (900, "C-m"));
    let usual = crate::profile::builtin("claude-code").unwrap();
    assert_eq!(cc.profile.signs.busy.len(), 1);
    assert_eq!(cc.profile.signs.ready, usual.signs.ready, "what is not named stays");
    assert_eq!((shell.kind.as_str(), &shell.transport[..]), ("generic", &["wait".to_owned()][..]));
    assert_eq!(
        (ming.permissions, ming.profile.flags(Permissions::Edits)),
        (Permissions::Edits, &["--yolo".to_owned()][..])
    );
    assert_eq!(config.rotation.first(), Some(&name("小明")));
    assert_eq!(config.planner, Some(name("Hermes")));
    assert_eq!(config.people, [name("Dana")]);
    assert_eq!(config.pass, PassPolicy::Names(vec![name("小明")]));
    let off = Limits {
        rounds: None,
        hours: Some(0.5),
        turn_minutes: None,
        tokens: Some(1_000_000),
        no_progress: None,
    };
    assert_eq!(config.limits, off);
    assert_eq!((config.archive.as_str(), config.status_file.as_str()), ("docs/done", "docs/STATUS.md"));
    assert_eq!(config.verify.unwrap(), ["cargo", "test", "--all"]);
    assert_eq!(config.setup.unwrap(), ["make", "deps"]);
    assert_eq!(config.pass_needs, ["ci"]);
    assert_eq!(config.handover_grace, 120);
    assert_eq!(config.commit_subject, "chore: {summary} ({name})");
    assert_eq!(config.sync.as_deref(), Some("origin"));
}

#[test]
fn the_kind_shows_from_a_usual_name() {
    for (name, kind) in
        [("CC", "claude-code"), ("claude", "claude-code"), ("OpenCode", "opencode"), ("QWEN", "qwen")]
    {
        assert_eq!(good(&format!("agents: {{{name}: }}\nrotation: [{name}]\n")).agents[0].kind, kind);
    }
}

#[test]
fn names_that_yaml_could_take_for_something_else_are_names() {
    let config = good(
        "agents: {No: {kind: codex}, null: {kind: codex}, on: {kind: codex}, 'true': {kind: codex}}\n\
                       rotation: [No, 'null', on, true]\n",
    );
    assert_eq!(config.rotation.len(), 4);
}

#[test]
fn names_are_spelled_as_configured_wherever_they_stand() {
    let config = good(&two("planner: cODEX\n").replace("rotation: [CC, Codex]", "rotation: [cc]"));
    assert_eq!(config.planner.unwrap().as_str(), "Codex");
    assert_eq!(config.rotation.first().unwrap().as_str(), "CC");
}

#[test]
fn kinds_of_the_users_own_are_known() {
    let profile = Profile::parse("kind: vim\ninvoke: hello {name}\nstart: [vim]\n", "vim.yaml").unwrap();
    let kinds = BTreeMap::from([("vim".to_owned(), profile)]);
    let config = Config::parse("agents: {V: {kind: vim}}\nrotation: [V]\n", "loop.yaml", &kinds).unwrap();
    assert_eq!(config.agents[0].profile.invoke, "hello {name}");
    let error = Config::parse("agents: {V: {kind: vin}}\nrotation: [V]\n", "loop.yaml", &kinds).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `vim`?"));
}

#[test]
fn anchors_byte_order_marks_and_other_newlines_are_no_trouble() {
    good(
        "\u{feff}agents:\r\n  CC: &a {kind: codex}\r\n  DD: *a\r\n  EE:\r\n    <<: *a\r\n    skip: true\r\nrotation: [CC, DD]\r\n",
    );
}

#[test]
fn files_that_unfold_without_end_are_refused_at_once() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let row = vec![format!("*a{}", i - 1); 9].join(", ");
        bomb.push_str(&format!("a{i}: &a{i} [{row}]\n"));
    }
    let started = std::time::Instant::now();
    let error = bad(&bomb);
    assert!(error.contains("too much for a configuration"), "{error}");
    assert!(bad(&"[".repeat(100_000)).contains("too much for a configuration"));
    assert!(bad(&"- ".repeat(50_000)).contains("too much for a configuration"));
    assert!(bad(&"{a: ".repeat(50_000)).contains("too much for a configuration"));
    assert!(bad(&"x".repeat(1 << 20)).contains("larger than"));
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

#[test]
fn every_wrong_word_is_refused_in_its_place() {
    // The file, line and column, and a part of what is said.
    let cases: &[(&str, &str, &str)] = &[
        ("", "loop.yaml: ", "it is empty"),
        ("# nothing\n", "loop.yaml: ", "it is empty"),
        ("- a\n", ":1:1: ", "must be a map"),
        ("rotation: [CC]\n", "loop.yaml: ", "`agents` is missing"),
        ("agents: {CC: }\n", "loop.yaml: ", "`rotation` is missing"),
        ("agents: {}\nrotation: [CC]\n", ":1:9: ", "names nobody"),
        ("agents: [CC]\nrotation: [CC]\n", ":1:9: ", "must be a map"),
        ("agents: {CC: codex}\nrotation: [CC]\n", ":1:14: ", "write `CC: {kind: codex}`"),
        ("agents: {X: }\nrotation: [X]\n", ":1:10: ", "does not show from its name"),
        ("agents: {X: {kind: Claude}}\nrotation: [X]\n", ":1:20: ", "did you mean `claude-code`?"),
        ("agents: {1X: {kind: codex}}\nrotation: [1X]\n", ":1:10: ", "must start with a letter"),
        ("agents: {CC: , cc: }\nrotation: [CC]\n", ":1:16: ", "the same name"),
        ("agents: {CC: , CC: }\nrotation: [CC]\n", ":1:16: ", "`CC` stands twice in `agents`"),
        (
            "agents: {Zo\u{e9}: {kind: codex}, Zoe\u{301}: {kind: codex}}\nrotation: [Zo\u{e9}]\n",
            ":1:30: ",
            "the same name",
        ),
        ("agents: {CC: {skip: maybe}}\nrotation: [CC]\n", ":1:21: ", "`true` or `false`"),
        ("agents: {CC: {transport: tmuxx}}\nrotation: [CC]\n", ":1:26: ", "did you mean `tmux`?"),
        ("agents: {CC: {transport: [tmux, exek]}}\nrotation: [CC]\n", ":1:33: ", "did you mean `exec`?"),
        ("agents: {CC: {transport: []}}\nrotation: [CC]\n", ":1:26: ", "it is one of `"),
        ("agents: {CC: {permissions: edit}}\nrotation: [CC]\n", ":1:28: ", "did you mean `edits`?"),
        ("agents: {CC: {on_limit: wiat}}\nrotation: [CC]\n", ":1:25: ", "did you mean `wait`?"),
        ("agents: {CC: {role: reviewr}}\nrotation: [CC]\n", ":1:21: ", "did you mean `reviewer`?"),
        ("agents: {CC: {}}\nrotation: [CC]\nlimt: {}\n", ":3:1: ", "did you mean `limits`?"),
        ("agents: {CC: {}}\nrotation: [CC]\nhandover: 30\n", ":3:1: ", "did you mean `handover_grace`?"),
        ("agents: {CC: {comand: x}}\nrotation: [CC]\n", ":1:15: ", "did you mean `command`?"),
        ("agents: {CC: {command: 'a \"b'}}\nrotation: [CC]\n", ":1:24: ", "quote in `command` is not closed"),
        ("agents: {CC: {command: []}}\nrotation: [CC]\n", ":1:24: ", "names no program"),
        ("agents: {CC: {command: {a: b}}}\nrotation: [CC]\n", ":1:24: ", "must be a text"),
        ("agents: {CC: {env: {1A: x}}}\nrotation: [CC]\n", ":1:21: ", "environment variable"),
        ("agents: {CC: {env: {A: [x]}}}\nrotation: [CC]\n", ":1:24: ", "must be a text"),
        ("agents: {CC: {invoke: \"a\\nb\"}}\nrotation: [CC]\n", ":1:23: ", "one line"),
        ("agents: {CC: {signs: {busy: ['(']}}}\nrotation: [CC]\n", ":1:30: ", "unclosed group"),
        ("agents: {CC: {signs: {busi: ['a']}}}\nrotation: [CC]\n", ":1:23: ", "did you mean `busy`?"),
        ("agents: {CC: {signs: {composer: '^>'}}}\nrotation: [CC]\n", ":1:33: ", "needs a group"),
        ("agents: {CC: {settle_ms: -1}}\nrotation: [CC]\n", ":1:26: ", "whole number"),
        ("agents: {CC: {submit: -t other}}\nrotation: [CC]\n", ":1:23: ", "is no key"),
        ("agents: {CC: {skills: [../../x]}}\nrotation: [CC]\n", ":1:24: ", "leads out"),
        ("agents: {CC: }\nrotation: []\n", ":2:11: ", "`rotation` names nobody"),
        ("agents: {CC: }\nrotation:\n", ":2:9: ", "`rotation` names nobody"),
        ("agents: {CC: }\nrotation: CC\n", ":2:11: ", "must be a list of names"),
        ("agents: {CC: }\nrotation: [CC, CC]\n", ":2:16: ", "twice"),
        ("agents: {CC: , Codex: }\nrotation: {CC: Codex}\n", ":2:16: ", "has no successor"),
        ("agents: {CC: , Codex: }\nrotation: {CC: Codx, Codex: CC}\n", ":2:16: ", "did you mean `Codex`?"),
        (
            "agents: {CC: , Codex: }\nrotation: {CC: Codex, cc: CC, Codex: CC}\n",
            ":2:23: ",
            "stands in `rotation` twice",
        ),
        (&two("planner: CC\n"), ":2:12: ", "is the planner"),
        (&two("planner: 'a b'\n"), ":3:10: ", "cannot be a name"),
        (&two("people: [Codex]\n"), ":3:10: ", "an agent too"),
        (&two("planner: Dana\npeople: [dana]\n"), ":4:10: ", "the planner too"),
        (&two("people: [Dana, DANA]\n"), ":3:16: ", "there twice"),
        (&two("people: {a: b}\n"), ":3:9: ", "must be a text"),
        (&two("pass: others\n"), ":3:7: ", "did you mean `other`?"),
        (&two("pass: Codex\n"), ":3:7: ", "write a list: `[Codex]`"),
        (&two("pass: [Codx]\n"), ":3:8: ", "did you mean `Codex`?"),
        (&two("pass: []\n"), ":3:7: ", "names nobody"),
        (&two("pass: [CC, cc]\n"), ":3:12: ", "twice"),
        (&two("limits: {round: 3}\n"), ":3:10: ", "did you mean `rounds`?"),
        (&two("limits: {rounds: 0}\n"), ":3:18: ", "cannot be 0"),
        (&two("limits: {rounds: -3}\n"), ":3:18: ", "cannot be -3"),
        (&two("limits: {rounds: 1.5}\n"), ":3:18: ", "whole number"),
        (&two("limits: {rounds: 99999999999}\n"), ":3:18: ", "whole number"),
        (&two("limits: {hours: .inf}\n"), ":3:17: ", "must be a number"),
        (&two("limits: {hours: soon}\n"), ":3:17: ", "must be a number, not `soon`"),
        (&two("limits: [3]\n"), ":3:9: ", "must be a map"),
        (&two("archive: /tmp/x\n"), ":3:10: ", "relative to the repository"),
        (&two("archive: a/../../b\n"), ":3:10: ", "leads out"),
        (&two("archive: .git/x\n"), ":3:10: ", "git's own"),
        (&two("status_file: ..\n"), ":3:14: ", "leads out"),
        (&two("status_file: C:\\x\n"), ":3:14: ", "relative"),
        (&two("status_file: project-archive\n"), ":3:14: ", "same path"),
        (&two("verify: a && b\n"), ":3:9: ", "no shell runs it"),
        (&two("verify: ''\n"), ":3:9: ", "names no program"),
        (&two("handover_grace: soon\n"), ":3:17: ", "must be a time"),
        (&two("handover_grace: 2 days\n"), ":3:17: ", "must be a time"),
        (&two("commit: {subject: x}\n"), ":3:19: ", "must hold `{summary}`"),
        (&two("commit: {subject: \"{summary} {who}\"}\n"), ":3:19: ", "are filled into"),
        (&two("commit: {subjet: x}\n"), ":3:10: ", "did you mean `subject`?"),
        (&two("agent: {}\n"), ":3:1: ", "did you mean `agents`?"),
        (&two("frobnicate: 1\n"), ":3:1: ", "it is one of `agents`"),
        (&two("rotation: [CC]\n"), ":3:1: ", "the first one is in line 2"),
        (&two("? [a, b]\n: c\n"), ":3:3: ", "a key must be a word"),
        (&two("---\na: 1\n"), ":4:1: ", "a second YAML document"),
        (&two("limits:\n\trounds: 3\n"), ":4:1: ", "a tab cannot indent"),
        (&two("verify: a: b\n"), ":3:10: ", "put quotes around"),
        (&two("verify: \"a\n"), ":3:9: ", "unclosed quote"),
        (&two("verify: *x\n"), ":3:9: ", "anchor"),
        (&two("verify: &x [*x]\n"), ":3:13: ", "refers to itself"),
        (&two("verify: \u{1}\n"), ":3:9: ", "unexpected character"),
    ];
    let mut wrong = Vec::new();
    for (text, place, says) in cases {
        let error = bad(text);
        if !(error.starts_with("loop.yaml") && error.contains(place) && error.contains(says)) {
            wrong.push(format!("{text}\nshould say {place}{says}\n{error}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a person sees of the usual mistakes.
#[test]
fn mistakes_are_shown_with_their_line() {
    let shown = [
        &two("").replace("[CC, Codex]", "[CC, Codx]"),
        "agents:\n  CC: {kind: claud-code}\nrotation: [CC]\n",
        "agents:\n  CC:\n  Codex:\n  CC:\nrotation: [CC]\n",
        "agents:\n  Codex:\n  codex:\nrotation: [Codex]\n",
        "agents:\n  CC:\n  Codex:\nrotation:\n  CC: Codex\n",
        &two("planner: Codex\n"),
        &two("limit: {rounds: 3}\n"),
        &two("limits: {rounds: many}\n"),
        &two("pass: Codex\n"),
        &two("verify: cargo fmt --check && cargo test\n"),
        &two("archive: ../elsewhere\n"),
        "agents:\n  小明: {kind: codex}\n  小红: {kind: codex, skip: ja}\nrotation: [小明]\n",
        "agents:\n\tCC:\nrotation: [CC]\n",
        "rotation: [CC]\n",
    ]
    .map(bad)
    .join("\n\n");
    insta::assert_snapshot!(shown, @r##"
        loop.yaml:2:16: `Codx` in `rotation` is no agent
          2 | rotation: [CC, Codx]
            |                ^^^^
        hint: did you mean `Codex`?

        loop.yaml:2:14: `claud-code` is no kind of agent
          2 |   CC: {kind: claud-code}
            |              ^^^^^^^^^^
        hint: did you mean `claude-code`?

        loop.yaml:4:3: `CC` stands twice in `agents`
          4 |   CC:
            |   ^^
        hint: the first one is in line 2: keep one of the two

        loop.yaml:3:3: `Codex` and `codex` are the same name
          3 |   codex:
            |   ^^^^^
        hint: names are matched without case and in one Unicode form: give one of them another name

        loop.yaml:5:7: `Codex` can receive a turn but has no successor
          5 |   CC: Codex
            |       ^^^^^
        hint: add a row `Codex: NAME`, the agent that comes after it

        loop.yaml:2:16: `Codex` is the planner and cannot be in `rotation`
          2 | rotation: [CC, Codex]
            |                ^^^^^
        hint: the rotation holds agents only

        loop.yaml:3:1: unknown key `limit`
          3 | limit: {rounds: 3}
            | ^^^^^
        hint: did you mean `limits`?

        loop.yaml:3:18: `rounds` must be a number, not `many`
          3 | limits: {rounds: many}
            |                  ^^^^
        hint: give a number above 0, or `off`: `rounds: 8`

        loop.yaml:3:7: `Codex` is no word for `pass`
          3 | pass: Codex
            |       ^^^^^
        hint: for a certain agent write a list: `[Codex]`

        loop.yaml:3:9: `&&` in `verify` needs a shell, and no shell runs it
          3 | verify: cargo fmt --check && cargo test
            |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        hint: write the shell yourself: [sh, -c, "…"]

        loop.yaml:3:10: `../elsewhere` cannot be `archive`: it leads out of the folder
          3 | archive: ../elsewhere
            |          ^^^^^^^^^^^^
        hint: give a path below the repository's top folder

        loop.yaml:3:27: `skip` must be `true` or `false`
          3 |   小红: {kind: codex, skip: ja}
            |                             ^^

        loop.yaml:2:1: a tab cannot indent
          2 |  CC:
            | ^
        hint: YAML is indented with spaces: put spaces in its place

        loop.yaml: `agents` is missing
        hint: name them: `agents: {CC: {kind: claude-code}, Codex: {kind: codex}}`
        "##);
}

mod laws {
    use proptest::prelude::*;

    use super::*;
    use crate::config::edit::{add_agent, remove_agent};

    const FULL: &str = "# a loop\nagents:\n  CC: {kind: claude-code, skip: true} # one\n  Codex:\n    kind: codex\n    \
                        signs: {busy: ['x']}\nrotation: [CC, Codex]\nplanner: Hermes\npeople: [Dana, 小明]\npass: \
                        [Codex]\nlimits: {rounds: 8, hours: off}\nverify: \"a 'b c'\"\nhandover_grace: 30s\n";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Whatever stands in the file, it is read or refused, and a refusal can be shown.
        #[test]
        fn a_damaged_file_is_read_or_refused(at in 0..FULL.len(), cut in 0_usize..12, put in "[-{}\\[\\]:,#&*!|>'\"%@ \t\r\n\u{0}\u{e9}a-z0-9?<.]{0,6}") {
            let start = (0..=at).rev().find(|at| FULL.is_char_boundary(*at)).unwrap();
            let end = (start + cut..=FULL.len()).find(|at| FULL.is_char_boundary(*at)).unwrap_or(FULL.len());
            let text = format!("{}{put}{}", &FULL[..start], &FULL[end..]);
            let kinds = BTreeMap::new();
            let name = Name::new("New").unwrap();
            match parse(&text) {
                Err(error) => {
                    prop_assert!(error.to_string().starts_with("loop.yaml"));
                    prop_assert!(!error.message.is_empty());
                    prop_assert!(error.line <= text.split(['\n', '\r']).count() + 1, "{error}");
                }
                Ok(config) => {
                    prop_assert!(!config.rotation.is_empty());
                    // An edit does exactly what it says, or refuses.
                    if let Ok(more) = add_agent(&text, "loop.yaml", &name, "qwen", &kinds) {
                        let added = parse(&more).unwrap();
                        prop_assert_eq!(added.agents.len(), config.agents.len() + 1);
                        if let Ok(less) = remove_agent(&more, "loop.yaml", &name, &kinds) {
                            prop_assert_eq!(parse(&less).unwrap(), config);
                        }
                    }
                }
            }
        }

        #[test]
        fn any_text_at_all_is_read_or_refused(text in "\\PC{0,200}") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.to_string().starts_with("loop.yaml"));
            }
        }
    }
}
