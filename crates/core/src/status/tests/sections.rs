use super::read;

/// The sections as `author[>target]: summary`.
fn check(text: &str, expected: &[&str]) {
    let status = read(text);
    let found: Vec<String> = status
        .turns
        .iter()
        .map(|turn| {
            let to = turn.to.as_ref().map(|to| format!(">{to}")).unwrap_or_default();
            format!("{}{to}: {}", turn.author, turn.summary)
        })
        .collect();
    assert_eq!(found, expected, "{text:?}");
    // The spans lie end to end and reach the end of the text.
    let mut at = status.preamble.end;
    for turn in &status.turns {
        assert_eq!(turn.span.start, at, "{text:?}");
        assert!(turn.span.contains(&turn.body.start) || turn.body.is_empty(), "{text:?}");
        assert_eq!(turn.body.end, turn.span.end, "{text:?}");
        at = turn.span.end;
    }
    assert_eq!(at, text.len(), "{text:?}");
    assert_eq!(status.text, text);
}

#[test]
fn what_starts_a_section() {
    check("# T\n\n## CC: a\n\nx\n\n## Codex -> CC: b\ny", &["CC: a", "Codex>CC: b"]);
    check("text\n## CC: a", &["CC: a"]);
    check("   ## CC: a\n", &["CC: a"]);
    check("\u{feff}## CC: a\n", &["CC: a"]);
    check("## CC: a\r\n\r\nx\r\n## Codex: b\r\n", &["CC: a", "Codex: b"]);
    check("## CC: a\r\rx\r## Codex: b\r", &["CC: a", "Codex: b"]);
    check("- item\n## CC: a\n> quote\n## Codex: b", &["CC: a", "Codex: b"]);
    check("</details>\n\n## CC: a", &["CC: a"]);
    check("<PRE>\nx\n</PRE>\n\n## CC: a", &["CC: a"]);
    check("[foo]:\n## CC: a", &["CC: a"]);
    check("[foo]: /u 'x\n## CC: a\n'", &["CC: a"]);
    check("[foo\n## CC: a\n]: /u", &["CC: a"]);
    check("`x\n## CC: a\n`", &["CC: a"]);
    check("<b x='\n## CC: a\n'>", &["CC: a"]);
    check("text <!-- x\n## CC: a\n-->", &["CC: a"]);
    check("- ```\n  open in an item\n\n## CC: a", &["CC: a"]);
    check(
        "## CC -> Dana: a\n## CC -> Hermes: b\n## CC -> CC: c",
        &["CC>Dana: a", "CC>Hermes: b", "CC>CC: c"],
    );
    check("## CC -> Nobody: a", &["CC: a"]);
    check("## CC: \n## Codex:", &["CC: ", "Codex: "]);
}

#[test]
fn what_starts_none() {
    for text in [
        "",
        "\u{feff}",
        "# CC: a",
        "### CC: a",
        "##CC: a",
        "##\u{3000}CC: a",
        "    ## CC: a",
        "\t## CC: a",
        "CC: a\n---\n",
        "CC: a\n===\n",
        "> ## CC: a",
        "- ## CC: a",
        "- x\n\n  ## CC: a",
        "1. ## CC: a",
        "```\n## CC: a\n```",
        "```\n## CC: a",
        "~~~ x\n## CC: a\n```\n",
        "<!--\n## CC: a\n-->",
        "<div>\n## CC: a\n</div>",
        "<pre>\n\n## CC: a\n",
        "## Nobody: a",
        "## CC",
        "## CC - a",
        "\\## CC: a",
    ] {
        check(text, &[]);
    }
}

#[test]
fn the_loop_has_an_id() {
    for (text, expected) in [
        ("# T\n<!-- loop: 0198-ab -->\n\n## CC: a", Some("0198-ab")),
        ("text <!--loop:x1--> text", Some("x1")),
        ("<!-- x -->\n<!-- loop: a -->\n<!-- loop: b -->", Some("a")),
        ("## CC: a\n<!-- loop: x -->", None),
        ("<!-- loop: a b -->", None),
        ("<!-- loop: -->", None),
        ("`<!-- loop: x -->`", None),
        ("```\n<!-- loop: x -->\n```", None),
    ] {
        assert_eq!(read(text).loop_id.as_deref(), expected, "{text}");
    }
}

#[test]
fn places_are_those_of_the_file() {
    let text = "\u{feff}# T\r\n\r\n## CC: a\r\nbody\r\n  ## Codex: b";
    let status = read(text);
    assert_eq!(&text[status.preamble.clone()], "\u{feff}# T\r\n\r\n");
    assert_eq!(&text[status.turns[0].span.clone()], "## CC: a\r\nbody\r\n");
    assert_eq!(&text[status.turns[0].body.clone()], "body\r\n");
    assert_eq!(&text[status.turns[1].span.clone()], "  ## Codex: b");
    assert_eq!(&text[status.turns[1].body.clone()], "");
    assert_eq!(status.turns.iter().map(|turn| turn.line).collect::<Vec<_>>(), [3, 5]);
}

#[test]
fn white_space_leaves_the_fingerprint() {
    let fingerprint = |text: &str| read(text).turns[0].fingerprint.clone();
    assert_eq!(fingerprint("## CC: a b\n\nc d"), fingerprint("##  CC:a b\r\n\r\n\r\nc\u{3000}d\r\n"));
    assert_ne!(fingerprint("## CC: a b\n\nc d"), fingerprint("## CC: a b\n\nc e"));
}
