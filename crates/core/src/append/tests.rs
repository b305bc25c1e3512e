#![allow(clippy::unwrap_used)]

use super::*;

fn cast() -> Cast {
    let name = |text| Name::new(text).unwrap();
    Cast {
        agents: vec![name("CC"), name("Codex")],
        planner: Some(name("Hermes")),
        people: vec![name("Dana")],
    }
}

fn section(author: &str, summary: &str, body: &str, verdict: Option<Verdict>) -> NewSection {
    NewSection {
        author: Name::new(author).unwrap(),
        to: None,
        summary: summary.to_owned(),
        body: body.to_owned(),
        verdict,
    }
}

fn pass() -> Option<Verdict> {
    Some(Verdict::Pass { commit: None })
}

fn blocked(reason: &str) -> Option<Verdict> {
    Some(Verdict::Blocked { reason: Some(reason.to_owned()) })
}

/// What is added behind `existing` for a plain section.
fn check_join(existing: &str, expected: &str, closed: &[&str]) {
    let plan = plan(existing.as_bytes(), &cast(), &section("CC", "next", "", None)).unwrap();
    assert_eq!(String::from_utf8(plan.added).unwrap(), expected, "{existing:?}");
    assert_eq!(plan.closed, closed, "{existing:?}");
}

/// What a section looks like behind an empty file.
fn check_section(section: &NewSection, expected: &str) {
    let added = plan(b"", &cast(), section).unwrap().added;
    assert_eq!(String::from_utf8(added).unwrap(), expected);
}

fn check_refused(section: &NewSection, expected: &str) {
    let error = plan(b"# T\n", &cast(), section).unwrap_err().to_string();
    assert!(error.contains(expected), "{expected:?} is not in {error:?}");
}

#[test]
fn joined_in_the_files_own_style() {
    check_join("", "## CC: next\n", &[]);
    check_join("\u{feff}", "## CC: next\n", &[]);
    check_join("# T", "\n\n## CC: next\n", &[]);
    check_join("# T\n", "\n## CC: next\n", &[]);
    check_join("# T\n\n", "## CC: next\n", &[]);
    check_join("# T\n  \n", "## CC: next\n", &[]);
    check_join("# T\r\n", "\r\n## CC: next\r\n", &[]);
    check_join("# T\r\n\r\ntext", "\r\n\r\n## CC: next\r\n", &[]);
    check_join("# T\r\r", "## CC: next\r", &[]);
    check_join("# T\rtext", "\r\r## CC: next\r", &[]);
    // A lone CR at the end, in a file of LF: the first LF completes it.
    check_join("# T\n\ntext\r", "\n\n## CC: next\n", &[]);
}

#[test]
fn what_is_open_is_closed() {
    for (existing, closing, closed) in [
        ("```\nx\n", "```", "a code fence opened in line 1"),
        ("\n~~~~ sh\nx\n", "~~~~", "a code fence opened in line 2"),
        ("  ````\nx\n", "````", "a code fence opened in line 1"),
        ("<!-- x\n", "-->", "a comment opened in line 1"),
        ("<pre>\n", "</pre>", "a `<pre>` block opened in line 1"),
        ("<SCRIPT src=x>\n", "</script>", "a `<script>` block opened in line 1"),
        ("<style>\n", "</style>", "a `<style>` block opened in line 1"),
        ("<textarea>\n", "</textarea>", "a `<textarea>` block opened in line 1"),
        ("<![CDATA[\n", "]]>", "a CDATA section opened in line 1"),
        ("<?php\n", "?>", "a processing instruction opened in line 1"),
        ("<!DOCTYPE\n", ">", "a declaration opened in line 1"),
    ] {
        check_join(existing, &format!("{closing}\n\n## CC: next\n"), &[closed]);
    }
    for existing in ["<div>\n", "- ```\n  x\n", "> ```\n> x\n", "- x\n", "[foo]:\n", "*x\n", "`x\n", "<b\n"] {
        check_join(existing, "\n## CC: next\n", &[]);
    }
    check_join("```", "\n```\n\n## CC: next\n", &["a code fence opened in line 1"]);
}

#[test]
fn closing_turns_no_earlier_verdict_on() {
    let existing = "## Codex: x\n\nREVIEW-PASS\n\n<!-- open\n";
    check_join(existing, "--> (closed here)\n\n## CC: next\n", &["a comment opened in line 5"]);
    check_join("## Codex: x\n\nfine\n\n<!-- open\n", "-->\n\n## CC: next\n", &["a comment opened in line 5"]);
}

#[test]
fn sections_as_they_are_written() {
    check_section(&section("cc", "did it", "", None), "## CC: did it\n");
    check_section(&section("CC", " ", "", None), "## CC:\n");
    check_section(&section("CC", "a", "\r\n\r\none\r\ntwo\r\n\r\n", None), "## CC: a\n\none\ntwo\n");
    check_section(&section("CC", "a", "  - indented\n", None), "## CC: a\n\n  - indented\n");
    check_section(&section("CC", "a", "text", pass()), "## CC: a\n\ntext\n\nREVIEW-PASS\n");
    check_section(&section("CC", "a", "", pass()), "## CC: a\n\nREVIEW-PASS\n");
    check_section(&section("CC", "a", "fine\n\nREVIEW-PASS", pass()), "## CC: a\n\nfine\n\nREVIEW-PASS\n");
    check_section(
        &section("CC", "a", "- x", blocked("no key")),
        "## CC: a\n\n- x\n\nREVIEW-BLOCKED: no key\n",
    );
    check_section(&section("CC", "a", "", blocked("x | y")), "## CC: a\n\nREVIEW-BLOCKED:\nx | y\n");
    check_section(&section("CC", "issue #", "", None), "## CC: issue \\#\n");
    check_section(&section("CC", "C#", "", None), "## CC: C#\n");
    let mut handed = section("CC", "a", "", None);
    handed.to = Some(Name::new("Dana").unwrap());
    check_section(&handed, "## CC -> Dana: a\n");
    let commit = Some(Verdict::Pass { commit: Some("3f9c2ab".to_owned()) });
    check_section(
        &section("CC", "a", "REVIEW-PASS", commit),
        "## CC: a\n\nREVIEW-PASS\n\nREVIEW-PASS 3f9c2ab\n",
    );
}

#[test]
fn summaries_read_back() {
    for summary in
        ["issue #", "##", "a ## b", "x \\#", "REVIEW-PASS is missing", "a: b -> c", "Vec<T>", "a\tb"]
    {
        let section = section("CC", summary, "", None);
        let added = plan(b"", &cast(), &section).unwrap().added;
        let status = parse(&added, &cast()).unwrap();
        let expected = if summary == "x \\#" { "x #" } else { summary };
        assert_eq!(status.turns[0].summary, expected);
    }
}

#[test]
fn what_a_body_leaves_open_is_closed() {
    let check = |body: &str, verdict, expected: &str, closed: &[&str]| {
        let plan = plan(b"", &cast(), &section("CC", "a", body, verdict)).unwrap();
        assert_eq!(String::from_utf8(plan.added).unwrap(), format!("## CC: a\n\n{expected}"));
        assert_eq!(plan.closed, closed);
    };
    check("```\nx", None, "```\nx\n```\n", &["a code fence opened in line 1 of the body"]);
    check(
        "text\n\n<!-- x",
        pass(),
        "text\n\n<!-- x\n-->\n\nREVIEW-PASS\n",
        &["a comment opened in line 3 of the body"],
    );
    check("<details>\nx", None, "<details>\nx\n", &[]);
    check(
        "<details>\nx",
        pass(),
        "<details>\nx\n\n</details>\n\nREVIEW-PASS\n",
        &["a `<details>` opened in line 1 of the body"],
    );
    check(
        "<div>\n<details>\nx",
        pass(),
        "<div>\n<details>\nx\n\n</details>\n\n</div>\n\nREVIEW-PASS\n",
        &["a `<details>` opened in line 2 of the body", "a `<div>` opened in line 1 of the body"],
    );
    check(
        "- <!-- x",
        pass(),
        "- <!-- x\n\n-->\n\nREVIEW-PASS\n",
        &["a comment opened in line 1 of the body"],
    );
}

#[test]
fn what_cannot_be_written() {
    for (section, expected) in [
        (section("Bob", "a", "", None), "Bob is no participant"),
        (section("CC", "a\nb", "", None), "more than one line"),
        (section("CC", "a\u{7}", "", None), "control character (U+0007)"),
        (section("CC", "REVIEW-PASS", "", None), "the summary reads as a verdict"),
        (section("CC", "REVIEW-PASS", "text", None), "the summary reads as a verdict"),
        (section("CC", "a", "x\n\nREVIEW-PASS", None), "not asked for"),
        (section("CC", "a", "x\n\nREVIEW-BLOCKED: y", pass()), "`REVIEW-PASS` was asked for"),
        (section("CC", "a", "x\n## Codex: y", None), "line 2 of the body is a section heading"),
        (section("CC", "a", "x\0", None), "NUL"),
        (section("CC", "a", "<<<<<<< a\n>>>>>>> b", None), "conflict markers"),
        (section("CC", "a", "## Codex (2)\n\nfine", pass()), "names Codex"),
        (section("Dana", "a", "", pass()), "only agents give verdicts"),
        (section("Hermes", "a", "", pass()), "only agents give verdicts"),
        (section("CC", "a", "", blocked("a\nb")), "the reason has more than one line"),
        (section("CC", "a", "", Some(Verdict::Pass { commit: Some("xyz".to_owned()) })), "no commit"),
    ] {
        check_refused(&section, expected);
    }
    let mut handed = section("CC", "a", "", None);
    handed.to = Some(Name::new("Bob").unwrap());
    check_refused(&handed, "Bob");
    let unreadable = plan(b"\xff", &cast(), &section("CC", "a", "", None));
    assert!(matches!(unreadable, Err(AppendError::Status(_))));
}
