use super::read;

/// The diagnostics as `line code`.
fn check(text: &str, expected: &[&str]) {
    let status = read(text);
    let found: Vec<String> = status
        .diagnostics
        .iter()
        .map(|diagnostic| format!("{} {}", diagnostic.line, diagnostic.code.as_str()))
        .collect();
    assert_eq!(found, expected, "{text:?}\n{:#?}", status.diagnostics);
    assert!(status.diagnostics.iter().all(|diagnostic| !diagnostic.hint.is_empty()));
}

/// The message of the only diagnostic.
fn check_words(text: &str, expected: &[&str]) {
    let status = read(text);
    let [diagnostic] = status.diagnostics.as_slice() else {
        panic!("{text:?}\n{:#?}", status.diagnostics);
    };
    let words = format!("{} / {}", diagnostic.message, diagnostic.hint);
    for part in expected {
        assert!(words.contains(part), "{part:?} is not in {words:?}");
    }
}

#[test]
fn a_clean_file_has_none() {
    check(
        "# T\n\nEnd with `REVIEW-PASS`.\n\n## Rules\n\n- REVIEW-PASS\n\n## CC: a\n\nx\n\n## Codex: b\n\nREVIEW-PASS\n",
        &[],
    );
    check("## Dana: waiting for REVIEW-PASS", &[]);
    check("## CC: a\n\nno REVIEW-PASS yet\n\nmore to come", &[]);
    check("## CC: a\n\nA line of prose\n---\n\nNote: this\n---\n", &[]);
    check("## CC: a\n\n> ## Codex: b\n", &[]);
    check("## CC: a\n\nREVIEW-BLOCKED: x\nwaiting for REVIEW-PASS", &[]);
    check("## CC: a\n\n<!--\nREVIEW-PASS\n-->\n", &[]);
}

#[test]
fn a_fence_is_not_wrapped_in_more_backticks() {
    check_words("## CC: a\n\n`````\nx\n", &["close it with a line of 5 backticks: `````"]);
    check_words("## CC: a\n\n~~~~\nx\n", &["close it with a line `~~~~`"]);
}

#[test]
fn headings() {
    check("## Findings: none", &["1 unknown-agent"]);
    check("## Findings", &[]);
    check("## CC: a\n\n## Codx: b\n", &["3 unknown-agent"]);
    check("## CC: a\n\n## Codex – b\n", &["3 unknown-agent"]);
    check("## CC: a\n\n## REVIEW-BLOCKED: b\n", &[]);
    check("## CC: a\n\nCodex: b\n---\n", &["3 setext"]);
    check("## CC -> Bob: a\n", &["1 bad-target"]);
    check("## CC: a\n\n##Codex: b\n", &["3 unknown-agent"]);
    check("## CC: a\n\n##\u{3000}Codex: b\n", &["3 unknown-agent"]);
    check("## CC: a\n\n##Notes: b\n\n```\n##Codex: b\n```\n", &[]);
    check_words("## Codx: b", &["`Codx`", "`## Codex: what was done`"]);
    check_words("## Codx -> CC: b", &["names a participant", "`## Codex: what was done`"]);
    check_words("## Codex – b", &["names a participant", "`## Codex: what was done`"]);
    check_words("## Whoever: b", &["`Whoever` is nobody's name", "(CC, Codex, OpenCode, Hermes, Dana)"]);
    check_words("## CC -> Codx: b", &["`Codx`", "did you mean Codex?", "CC, Codex, OpenCode, Hermes, Dana"]);
}

#[test]
fn open_blocks() {
    check("## CC: a\n\n```\nx\n", &["3 open-fence"]);
    check("## CC: a\n\n```\nx\n```\n", &[]);
    check("## CC: a\n\n````\nx\n```\n", &["3 open-fence"]);
    check("## CC: a\n\n~~~\nx\n~~~~  \n", &[]);
    check("## CC: a\n\n```\n```\n", &[]);
    check("## CC: a\n\n```", &["3 open-fence"]);
    check("## CC: a\n\n- ```\n  x\n", &[]);
    check("## CC: a\n\n> ```\n> x\n", &[]);
    check("## CC: a\n\n<!-- x\n", &["3 open-comment"]);
    check("## CC: a\n\n<!-- x -->\n", &[]);
    check("## CC: a\n\n<!-->\n", &[]);
    for open in ["<pre>", "<script>", "<style>", "<textarea>", "<![CDATA[", "<?php", "<!DOCTYPE"] {
        check(&format!("## CC: a\n\n{open}\nx\n"), &["3 open-html"]);
    }
    check("## CC: a\n\n<details>\nx\n", &[]);
    check("## CC: a\n\n```\nx\n\n## Codex: b\n", &["3 open-fence", "6 swallowed"]);
    check("## CC: a\n\n```\nx\n\n## Codex: b\n```\n", &["3 open-fence", "6 swallowed"]);
    check("## CC: a\n\n```\n## Nobody: b\n```\n", &[]);
    check("## CC: a\n\n<!--\n## Codex: b\n-->\n", &["3 open-comment", "4 swallowed"]);
    check("## CC: a\n\n</details>\n## Codex: b\n", &["3 open-html", "4 swallowed"]);
    check("## CC: a\n\n    ## Codex: b\n", &["3 swallowed"]);
    check("## CC: a\n\n- x\n\n  ## Codex: b\n", &["5 swallowed"]);
}

#[test]
fn mentions_are_explained() {
    let check = |body: &str, expected: &str| {
        check_words(&format!("## Codex: a\n\n{body}\n"), &["gives no verdict here", expected]);
    };
    for (body, expected) in [
        ("review-pass", "not written in capitals"),
        ("> REVIEW-PASS", "in a quote"),
        ("- REVIEW-PASS", "in a list item"),
        ("- x\n  REVIEW-PASS", "indented"),
        ("text\n     REVIEW-PASS", "indented"),
        ("    REVIEW-PASS", "code"),
        ("```\nREVIEW-PASS\n\n\n```\nREVIEW-PASS.", "`.` stands behind it"),
        ("`REVIEW-PASS`", "in backticks"),
        ("| REVIEW-PASS |", "table"),
        ("Verdict: REVIEW-PASS", "`Verdict:` stands before it"),
        ("REVIEW-PASS once green", "`once green` stands behind it"),
        ("[REVIEW-PASS](x)", "link"),
        ("REVIEW&#45;PASS", "entity"),
        ("REVIEW\\-PASS", "backslash"),
        ("REVIEW\u{200b}-PASS", "U+200B ZERO WIDTH SPACE"),
        ("REVIEW-PASS\u{200b}", "U+200B ZERO WIDTH SPACE"),
        ("REVIEW\u{2011}PASS", "U+2011 NON-BREAKING HYPHEN"),
        ("\u{3000}REVIEW-PASS", "U+3000 IDEOGRAPHIC SPACE"),
        ("**REVIEW-PASS", "emphasis"),
        ("<details>\nREVIEW-PASS", "inside `<details>`, opened in line 3"),
        ("<details>\nREVIEW-PASS\n</details>", "inside `<details>`, opened in line 3"),
        ("ＲＥＶＩＥＷ-ＰＡＳＳ", "plain letters"),
        ("text <!-- x\nREVIEW-PASS", "behind a comment that begins in line 3"),
        ("<b>REVIEW-PASS</b>", "tag"),
        ("REVIEW-PASS\n\n🤖 Generated with X", "other text follows it in line 5 (`🤖 Generated with X`)"),
        ("REVIEW-BLOCKED - no key", "`- no key` stands behind it"),
        ("REVIEW-PASS\n[1]: x", "other text follows"),
    ] {
        check(body, expected);
    }
    check_words("## Codex: not REVIEW-PASS yet", &["stands before it"]);
    check_words("## Codex: REVIEW-PASS\n\nFine.", &["other text follows it in line 3"]);
    check_words("## Dana: x\n\nREVIEW-PASS", &["Dana is a person", "loop accept"]);
    check_words("## Hermes: x\n\nREVIEW-PASS", &["Hermes is the planner"]);
}

#[test]
fn a_verdict_below_a_name_is_explained() {
    check("## Codex: a\n\n## CC (2)\n\nREVIEW-PASS", &["3 unknown-agent", "5 mention"]);
    check("## Codex: a\n\n## Code\n\nREVIEW-PASS", &["5 mention"]);
    check("## Codex: a\n\n```\nREVIEW-PASS\n", &["3 open-fence", "4 mention"]);
    check("## Codex: a\n\n<!-- x\nREVIEW-PASS\n", &["3 open-comment", "4 mention"]);
}
