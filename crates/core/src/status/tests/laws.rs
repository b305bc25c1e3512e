use proptest::prelude::*;

use super::{cast, read};
use crate::append::{NewSection, plan};
use crate::name::Name;
use crate::status::{Status, Verdict, parse};

/// Pieces of text that open, close, hide and nearly say things.
const FRAGMENTS: &[&str] = &[
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    " ",
    "    ",
    "\t",
    "\u{3000}",
    "\u{200b}",
    "\u{feff}",
    "text",
    "`",
    "```",
    "```\n",
    "~~~",
    "~~~~\n",
    "    code\n",
    "> ",
    "- ",
    "1. ",
    "2) ",
    "* ",
    "+ ",
    "*",
    "**",
    "_",
    "***",
    "---",
    "===",
    "---\n",
    "===\n",
    "<!--",
    "-->",
    "<!-->",
    "<!-- x -->",
    "<div>",
    "</div>",
    "<details>\n",
    "</details>\n",
    "<pre>",
    "</pre>",
    "<PRE>",
    "</PRE>",
    "<script>",
    "</script>",
    "<style>",
    "<textarea>",
    "</textarea>",
    "<![CDATA[",
    "]]>",
    "<?",
    "?>",
    "<!X",
    "<b>",
    "<a href='",
    "'>",
    "<br>\n",
    ">",
    "<",
    "[foo]:",
    "[foo]: /u",
    "[",
    "](x)",
    "![",
    "\"",
    "\\",
    "&#45;",
    "|",
    "|---|\n",
    "# ",
    "## ",
    "### ",
    "## CC: a\n",
    "## Codex: b\n",
    "\n## Codex -> CC: c\n",
    "## Dana: d\n",
    "## CC (2)\n",
    "## Codx: x\n",
    "## Codex: REVIEW-PASS\n",
    "REVIEW-PASS",
    "\nREVIEW-PASS\n",
    "REVIEW-PASS 3f9c2ab",
    "**REVIEW-PASS**",
    "REVIEW-BLOCKED",
    "REVIEW-BLOCKED: why\n",
    "review-pass",
    "REVIEW-PASS <!-- x\n",
    "小明：",
    "<<<<<<< a\n",
    "<!-- loop: x -->\n",
    "<!-- loop: x",
    "#",
    " ##\n",
];

fn nasty() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        12 => prop::sample::select(FRAGMENTS).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
        1 => "\\PC{0,3}",
    ];
    prop::collection::vec(fragment, 0..24).prop_map(|fragments| fragments.concat())
}

fn verdicts() -> impl Strategy<Value = Option<Verdict>> {
    prop::sample::select(vec![
        None,
        Some(Verdict::Pass { commit: None }),
        Some(Verdict::Pass { commit: Some("3f9c2ab".to_owned()) }),
        Some(Verdict::Blocked { reason: None }),
        Some(Verdict::Blocked { reason: Some("no key".to_owned()) }),
    ])
}

fn section(body: &str, verdict: Option<Verdict>) -> NewSection {
    NewSection {
        author: Name::new("Codex").unwrap(),
        to: None,
        summary: "next".to_owned(),
        body: body.to_owned(),
        verdict,
    }
}

fn said(status: &Status) -> Vec<(Name, Option<Name>, String, Option<Verdict>)> {
    let turn = |turn: &crate::status::Turn| {
        (turn.author.clone(), turn.to.clone(), turn.summary.clone(), turn.verdict.clone())
    };
    status.turns.iter().map(turn).collect()
}

/// The section is added, whatever stands before it, and changes nothing that stands there.
pub(super) fn check_append(existing: &str, verdict: Option<Verdict>) {
    let Ok(before) = parse(existing.as_bytes(), &cast()) else { return };
    let plan = plan(existing.as_bytes(), &cast(), &section("- a\n- b", verdict.clone()))
        .unwrap_or_else(|error| panic!("{error}: {existing:?}"));
    let whole = [existing.as_bytes(), &plan.added].concat();
    let after = parse(&whole, &cast()).unwrap();
    let mut expected = said(&before);
    expected.push((Name::new("Codex").unwrap(), None, "next".to_owned(), verdict));
    assert_eq!(said(&after), expected, "{existing:?}");
    assert!(whole.starts_with(existing.as_bytes()));
}

/// The spans lie end to end, in order, and the lines are those of the headings.
pub(super) fn check_places(text: &str) {
    let Ok(status) = parse(text.as_bytes(), &cast()) else { return };
    assert_eq!(status.text, text);
    let mut at = status.preamble.end;
    for turn in &status.turns {
        assert_eq!(turn.span.start, at);
        assert_eq!(turn.span.end, turn.body.end);
        assert!(text[turn.span.clone()].trim_start().starts_with("##"), "{text:?}");
        at = turn.span.end;
    }
    assert_eq!(at, text.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_can_be_given(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes, &cast());
    }

    #[test]
    fn spans_cover_the_text(text in nasty()) {
        check_places(&text);
    }

    #[test]
    fn a_section_can_be_added_to_any_text(text in nasty(), verdict in verdicts()) {
        check_append(&text, verdict);
        check_append(&format!("## CC: a\n\n{text}"), None);
    }

    #[test]
    fn any_body_is_written_as_asked_or_refused(text in nasty(), body in nasty(), verdict in verdicts()) {
        let Ok(before) = parse(text.as_bytes(), &cast()) else { return Ok(()) };
        if let Ok(plan) = plan(text.as_bytes(), &cast(), &section(&body, verdict)) {
            let whole = [text.as_bytes(), &plan.added].concat();
            let after = parse(&whole, &cast()).unwrap();
            prop_assert_eq!(after.turns.len(), before.turns.len() + 1);
            prop_assert_eq!(&said(&after)[..before.turns.len()], &said(&before)[..]);
        }
    }

    #[test]
    fn the_newline_style_changes_nothing(text in nasty()) {
        let text = text.replace(['\r', '\0'], "");
        if let Ok(status) = parse(text.as_bytes(), &cast()) {
            for newline in ["\r\n", "\r"] {
                let other = read(&text.replace('\n', newline));
                prop_assert_eq!(said(&other), said(&status));
                let lines = |status: &Status| {
                    status.diagnostics.iter().map(|found| (found.line, found.code)).collect::<Vec<_>>()
                };
                prop_assert_eq!(lines(&other), lines(&status));
            }
        }
    }

    #[test]
    fn a_pass_is_never_given_without_its_line(text in nasty()) {
        if let Ok(status) = parse(format!("## CC: a\n\n{text}").as_bytes(), &cast()) {
            for turn in status.turns.iter().filter(|turn| matches!(turn.verdict, Some(Verdict::Pass { .. }))) {
                let section = &status.text[turn.span.clone()];
                let line = section.lines().rfind(|line| line.contains("REVIEW-PASS"));
                let bare = line.unwrap().trim_start().trim_start_matches(['#', '*', '_', ' ', '\t']);
                prop_assert!(bare.contains("REVIEW-PASS"), "{section:?}");
            }
        }
    }
}
