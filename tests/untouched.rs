//! CLAUDE.md, AGENTS.md and GEMINI.md are the user's: no byte of them changes through a whole loop.

use loop_testkit::script::Script;

use crate::stage::{Stage, pass, review, work};

#[test]
fn instruction_files_stay_byte_identical() {
    let stage = Stage::new("");
    let shop = stage.shop();
    // As people and tools make them: CRLF, a BOM, no final newline, trailing blanks.
    let files: [(&str, &[u8]); 4] = [
        ("CLAUDE.md", b"# Rules\r\n\r\nUse tabs.  \r\n"),
        ("AGENTS.md", b"\xef\xbb\xbf# Agents\nNo final newline"),
        ("GEMINI.md", b""),
        ("sub/CLAUDE.md", b"\n\n\n"),
    ];
    for (file, content) in files {
        shop.repo.commit(file, content, "rules");
    }
    let agents = [
        ("CC", "claude-code", Script::of([work("first"), work("second")])),
        ("Codex", "codex", Script::of([review("a finding"), review("fine")])),
        ("Gemini", "gemini", Script::of([review("another"), pass()])),
    ];
    let mut config = "agents:\n".to_owned();
    for (name, kind, script) in &agents {
        let command = shop.agent(name, script);
        config.push_str(&format!("  {name}: {{kind: {kind}, transport: exec, command: {command}}}\n"));
    }
    config.push_str("rotation: [CC, Codex, Gemini]\npass: other\n");
    shop.repo.commit("loop.yaml", config, "how the loop works here");
    let check = |when: &str| {
        for (file, content) in files {
            assert_eq!(std::fs::read(shop.repo.path().join(file)).unwrap(), content, "{file} {when}");
        }
        assert_eq!(
            shop.repo
                .git(&["log", "--format=%s", "--", "*CLAUDE.md", "AGENTS.md", "GEMINI.md"])
                .lines()
                .count(),
            4
        );
    };
    shop.run(&["init", "the task"]);
    check("after init");
    shop.run(&["up", "--yes"]);
    shop.passes();
    check("after the pass");
    assert_eq!(shop.authors(), ["CC", "Codex", "Gemini", "CC", "Codex", "Gemini"]);
    shop.run(&["archive"]);
    shop.run(&["down"]);
    shop.run(&["uninstall"]);
    check("after uninstall");
    assert_eq!(shop.repo.git(&["status", "--porcelain", "--ignored"]), "");
    stage.nothing_runs();
}
