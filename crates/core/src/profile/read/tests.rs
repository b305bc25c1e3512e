#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_users_profile_builds_on_a_known_kind() {
    let codex = Profile::parse("kind: codex\nsettle_ms: 900\nenv: {A: b}\n", "codex.yaml").unwrap();
    let usual = crate::profile::builtin("codex").unwrap();
    assert_eq!((codex.settle_ms, codex.start.clone()), (900, usual.start));
    assert_eq!(codex.env["A"], "b");
    let mine = Profile::parse("kind: mine\nlike: claude-code\nstart: mycc --fast\n", "mine.yaml").unwrap();
    assert_eq!((mine.kind.as_str(), mine.invoke.as_str()), ("mine", "/agent-loop {name}"));
    assert_eq!(mine.start, ["mycc", "--fast"]);
    let new = Profile::parse("kind: vim\n", "vim.yaml").unwrap();
    assert_eq!(new.wake_text("CC"), "Run `loop turn CC` and follow it");
    assert!(new.start.is_empty());
}

const RULES: &str = "signs: {blocked: [{matches: '^Trust', name: trust, keys: [Enter]}]}\n";

#[test]
fn answers_may_stand_before_the_rules_that_they_name() {
    for text in [format!("answers: [trust]\n{RULES}"), format!("{RULES}answers: [trust]\n")] {
        let profile = Profile::parse(&format!("kind: x\n{text}"), "p.yaml").unwrap();
        assert_eq!(profile.answers, ["trust"]);
        let entry = text.trim_end().replace('\n', "\n    ");
        let config = format!("agents:\n  X:\n    kind: generic\n    {entry}\nrotation: [X]\n");
        let config = crate::Config::parse(&config, "loop.yaml", &BTreeMap::new()).unwrap();
        assert_eq!(config.agents[0].profile.answers, ["trust"]);
    }
}

#[test]
fn profiles_of_the_settings_are_read_in_their_place() {
    let settings =
        "port: 1\nprofiles:\n  mine:\n    like: claude-code\n    answers: [trust]\n  other: {kind: other}\n";
    let all = Profile::parse_all(settings, "config.yaml").unwrap();
    assert_eq!(all.keys().map(String::as_str).collect::<Vec<_>>(), ["mine", "other"]);
    assert_eq!((all["mine"].kind.as_str(), all["mine"].answers.len()), ("mine", 1));
    assert!(Profile::parse_all("port: 1\nprofiles:\n", "c").unwrap().is_empty());
    for (yaml, says) in [
        ("profiles:\n  a:\n    awnsers: [x]\n", "c:3:5: unknown key `awnsers`\n  3 |     awnsers: [x]"),
        ("profiles:\n  a:\n    like: claude-code\n    answers: [thrust]\n", "c:4:15: `thrust` is no dialog"),
        ("profiles:\n  a:\n    like: claude-code\n    answers: {trust: yes}\n", "c:4:14: "),
        ("profiles:\n  a:\n    answers: [trust]\n", "c:3:14: this kind has no dialog"),
        ("profiles:\n  a: {kind: b}\n", "c:2:13: this profile is called `a`, and its `kind` is `b`"),
        ("profiles:\n  a b: {}\n", "c:2:3: `a b` cannot be a kind"),
        ("profiles: [a]\n", "c:1:11: "),
    ] {
        let error = Profile::parse_all(yaml, "c").unwrap_err().to_string();
        assert!(error.contains(says), "{yaml}\nshould say {says}\n{error}");
    }
}

#[test]
fn mistakes_are_refused_in_their_place() {
    let cases = [
        ("start: [x]\n", "p.yaml: `kind` is missing"),
        ("kind: a b\n", "p.yaml:1:7: `a b` cannot be a kind"),
        ("kind: x\nlike: codx\n", "did you mean `codex`?"),
        ("kind: x\ninvok: y\n", "p.yaml:2:1: unknown key `invok`\n"),
        ("kind: x\ninvoke: ''\n", "p.yaml:2:9: `invoke` is empty"),
        ("kind: x\ninvoke: '{nam}'\n", "p.yaml:2:9: only `{name}`"),
        ("kind: x\ntext: past\n", "did you mean `paste`?"),
        ("kind: x\nsettle_ms: 1.5\n", "p.yaml:2:12: `settle_ms` must be a whole number"),
        ("kind: x\nconversation: 'id=.*'\n", "it needs a group"),
        ("kind: x\npermissions: {edit: []}\n", "did you mean `edits`?"),
        (
            "kind: x\nsigns:\n  busy:\n    - {matches: 'a'}\n    - {matches: '[z'}\n",
            "p.yaml:5:17: `matches` is no regular",
        ),
        ("kind: x\nsigns:\n  busy:\n    - {in: titel, matches: x}\n", "did you mean `title`?"),
        ("kind: x\nsigns: {busy: [{says: x}]}\n", "the rule has no `matches`"),
        ("kind: x\nsigns: {busy: ['(a{1000}){1000}']}\n", "`rule` is no regular expression"),
    ];
    for (yaml, says) in cases {
        let error = Profile::parse(yaml, "p.yaml").unwrap_err().to_string();
        assert!(error.contains(says), "{yaml}\nshould say {says}\n{error}");
    }
}
