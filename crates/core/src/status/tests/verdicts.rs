use super::{read, shown};

/// Reads `body` under a heading of Codex, with each kind of line end and with and without one at the end.
fn check(body: &str, expected: &str) {
    check_text(&format!("# Title\n\n## Codex: did it\n{body}"), expected);
}

fn check_text(text: &str, expected: &str) {
    for (name, text) in [
        ("as it is", text.to_owned()),
        ("with a line end", format!("{text}\n")),
        ("with a blank line", format!("{text}\n\n")),
        ("with CRLF", text.replace('\n', "\r\n")),
        ("with lone CR", text.replace('\n', "\r")),
        ("with a BOM", format!("\u{feff}{text}")),
        ("with another section", format!("{text}\n\n## CC: next\n")),
    ] {
        let status = read(&text);
        let turn = status.turns.first().unwrap();
        assert_eq!(shown(turn.verdict.as_ref()), expected, "{name}: {text:?}\n{:#?}", status.diagnostics);
    }
}

#[test]
fn a_line_of_its_own() {
    for (body, expected) in [
        ("REVIEW-PASS", "pass"),
        ("\nREVIEW-PASS", "pass"),
        ("\nAll good.\n\nREVIEW-PASS", "pass"),
        ("All good.\nREVIEW-PASS", "pass"),
        ("All good.  \nREVIEW-PASS", "pass"),
        ("All good.\\\nREVIEW-PASS", "pass"),
        (" REVIEW-PASS", "pass"),
        ("   REVIEW-PASS", "pass"),
        ("    REVIEW-PASS", "-"),
        ("\tREVIEW-PASS", "-"),
        ("text\n    REVIEW-PASS", "-"),
        ("text\n\tREVIEW-PASS", "-"),
        ("text\n   REVIEW-PASS", "pass"),
        ("REVIEW-PASS   ", "pass"),
        ("REVIEW-PASS\t", "pass"),
        ("REVIEW-PASS\u{3000}", "pass"),
        ("REVIEW-PASS\u{a0}\u{2003}", "pass"),
        ("REVIEW-PASS\n\u{3000}\n \u{a0}\n", "pass"),
        ("REVIEW-PASS\n\n\u{2028}\n", "pass"),
        ("a\n\u{3000}\nREVIEW-PASS", "pass"),
        ("REVIEW-PASS\n\n\nREVIEW-PASS", "pass"),
        ("REVIEW-PASS\nREVIEW-PASS", "pass"),
        ("", "-"),
        ("nothing to say", "-"),
    ] {
        check(body, expected);
    }
}

#[test]
fn the_reviewed_commit() {
    let long = "a".repeat(64);
    let longer = "a".repeat(65);
    for (body, expected) in [
        ("REVIEW-PASS 3f9c2ab", "pass 3f9c2ab"),
        ("REVIEW-PASS `3f9c2ab`", "pass 3f9c2ab"),
        ("REVIEW-PASS  3F9C2AB ", "pass 3f9c2ab"),
        ("**REVIEW-PASS** 3f9c2ab", "pass 3f9c2ab"),
        ("**REVIEW-PASS 3f9c2ab**", "pass 3f9c2ab"),
        ("**REVIEW-PASS `3f9c2ab`**", "pass 3f9c2ab"),
        ("REVIEW-PASS *3f9c2ab*", "pass 3f9c2ab"),
        ("### REVIEW-PASS `3f9c2ab`", "pass 3f9c2ab"),
        (&format!("REVIEW-PASS {long}"), &format!("pass {long}")),
        (&format!("REVIEW-PASS {longer}"), "-"),
        ("REVIEW-PASS 3f9c2a", "-"),
        ("REVIEW-PASS 3f9c2ag", "-"),
        ("REVIEW-PASS 3f9c2ab extra", "-"),
        ("REVIEW-PASS 3f9c2ab.", "-"),
        ("REVIEW-PASS (3f9c2ab)", "-"),
        ("REVIEW-PASS: 3f9c2ab", "-"),
        ("REVIEW-PASS `3f9c2ab", "-"),
        ("REVIEW-PASS 3f9c2ab`", "-"),
        ("REVIEW-PASS3f9c2ab", "-"),
        ("REVIEW-PASS\u{a0}3f9c2ab", "-"),
        ("REVIEW-PASS\n3f9c2ab", "-"),
        ("REVIEW-PASS [3f9c2ab](http://x)", "-"),
        ("REVIEW-PASS <!-- x --> 3f9c2ab", "-"),
        ("3f9c2ab REVIEW-PASS", "-"),
    ] {
        check(body, expected);
    }
}

#[test]
fn what_does_not_count_behind_it() {
    for (body, expected) in [
        ("REVIEW-PASS\n\n---", "pass"),
        ("REVIEW-PASS\n\n***\n\n___\n- - -", "pass"),
        ("REVIEW-PASS\n---", "pass"),
        ("REVIEW-PASS\n===", "pass"),
        ("text\nREVIEW-PASS\n===", "pass"),
        ("REVIEW-PASS\n***", "pass"),
        ("REVIEW-PASS\n\n===", "-"),
        ("### REVIEW-PASS\n===", "-"),
        ("### REVIEW-PASS\n---", "pass"),
        ("REVIEW-PASS\n\n<!-- signed -->", "pass"),
        ("REVIEW-PASS\n<!-- signed -->", "pass"),
        ("REVIEW-PASS <!-- signed -->", "pass"),
        ("REVIEW-PASS<!-- signed -->", "pass"),
        ("REVIEW-PASS <!-- a --> <!-- b -->", "pass"),
        ("REVIEW-PASS <!-- a\nb -->", "pass"),
        ("REVIEW-PASS\n<!-- a\n\nb -->\n\n---\n<!-->", "pass"),
        ("REVIEW-PASS\n     <!-- folded in -->", "pass"),
        ("REVIEW-PASS\n<!-- REVIEW-BLOCKED: no -->", "pass"),
        ("REVIEW-PASS\n<!--\nREVIEW-BLOCKED: no\n-->", "pass"),
        ("**REVIEW-PASS** <!-- x -->", "pass"),
        ("### REVIEW-PASS <!-- x -->", "pass"),
        ("REVIEW-PASS\n<!-- a --> thanks", "-"),
        ("REVIEW-PASS <!-- a\nb --> thanks", "-"),
        ("REVIEW-PASS\n\n<!-- open", "-"),
        ("REVIEW-PASS\n<!-- open", "-"),
        ("REVIEW-PASS <!-- open", "-"),
        ("REVIEW-PASS\n- <!-- x -->", "-"),
        ("REVIEW-PASS\n> <!-- x -->", "-"),
        ("REVIEW-PASS\n> ---", "-"),
        ("REVIEW-PASS\n\n```\n```", "-"),
        ("REVIEW-PASS\n    ---", "-"),
        ("REVIEW-PASS\n\n[1]: http://example.com", "-"),
        ("REVIEW-PASS\n\n🤖 Generated with [Claude Code](https://claude.com/claude-code)", "-"),
        ("REVIEW-PASS\n\nCo-Authored-By: Claude <noreply@anthropic.com>", "-"),
        ("REVIEW-PASS\n-- \nCodex", "-"),
        ("REVIEW-PASS\n\n<br>", "-"),
        ("REVIEW-PASS\n\n&nbsp;", "-"),
        ("REVIEW-PASS\n\n## Notes", "-"),
        ("REVIEW-PASS\n#", "-"),
        ("REVIEW-PASS\n\n- ", "-"),
    ] {
        check(body, expected);
    }
}

#[test]
fn what_it_may_wear() {
    for (body, expected) in [
        ("**REVIEW-PASS**", "pass"),
        ("*REVIEW-PASS*", "pass"),
        ("__REVIEW-PASS__", "pass"),
        ("_REVIEW-PASS_", "pass"),
        ("***REVIEW-PASS***", "pass"),
        ("**_REVIEW-PASS_**", "pass"),
        ("done\n**REVIEW-PASS**", "pass"),
        ("# REVIEW-PASS", "pass"),
        ("## REVIEW-PASS", "pass"),
        ("### REVIEW-PASS", "pass"),
        ("###### REVIEW-PASS ######", "pass"),
        ("  ### REVIEW-PASS", "pass"),
        ("### **REVIEW-PASS**", "pass"),
        ("text\n### REVIEW-PASS", "pass"),
        ("**REVIEW-PASS**\n===", "pass"),
        ("**REVIEW-PASS", "-"),
        ("REVIEW-PASS**", "-"),
        ("*REVIEW-PASS**", "-"),
        ("**done\nREVIEW-PASS**", "-"),
        ("**REVIEW-PASS\ndone**", "-"),
        ("*done\nREVIEW-PASS <!-- x --> *", "-"),
        ("*REVIEW*-PASS", "-"),
        ("**REVIEW-**PASS", "-"),
        ("~~REVIEW-PASS~~", "-"),
        ("####### REVIEW-PASS", "-"),
        ("###REVIEW-PASS", "-"),
        ("#### # REVIEW-PASS", "-"),
        ("### <!-- x -->REVIEW-PASS", "-"),
        ("\"REVIEW-PASS\"", "-"),
        ("(REVIEW-PASS)", "-"),
        ("[REVIEW-PASS]", "-"),
        ("==REVIEW-PASS==", "-"),
        ("<b>REVIEW-PASS</b>", "-"),
    ] {
        check(body, expected);
    }
}

#[test]
fn in_the_summary() {
    for (text, expected) in [
        ("## Codex: REVIEW-PASS", "pass"),
        ("## Codex: REVIEW-PASS 3f9c2ab", "pass 3f9c2ab"),
        ("## Codex: REVIEW-PASS `3f9c2ab`", "pass 3f9c2ab"),
        ("## Codex:REVIEW-PASS", "pass"),
        ("## Codex：REVIEW-PASS", "pass"),
        ("## **Codex**: REVIEW-PASS", "pass"),
        ("## **Codex:** **REVIEW-PASS**", "pass"),
        ("## **Codex: REVIEW-PASS**", "pass"),
        ("## Codex -> CC: REVIEW-PASS", "pass"),
        ("## Codex: REVIEW-PASS ##", "pass"),
        ("## Codex: REVIEW-PASS <!-- x -->", "pass"),
        ("## Codex: REVIEW-PASS\n\n---\n<!-- x -->", "pass"),
        ("## Codex: REVIEW-PASS\n---", "pass"),
        ("## Codex: REVIEW-BLOCKED: no key", "blocked: no key"),
        ("## Codex: REVIEW-BLOCKED", "blocked"),
        ("## Codex: REVIEW-PASS\n\nAll fixed.", "-"),
        ("## Codex: REVIEW-PASS\n===", "-"),
        ("## Codex: REVIEW-PASS\n\n<!-- open", "-"),
        ("## Codex: REVIEW-PASS!", "-"),
        ("## Codex: REVIEW-PASS: all good", "-"),
        ("## Codex: all good, REVIEW-PASS", "-"),
        ("## Codex: `REVIEW-PASS`", "-"),
        ("## Codex: REVIEW\\-PASS", "-"),
        ("## Codex: <!-- x -->REVIEW-PASS", "-"),
        ("## Codex: fine\n\nREVIEW-PASS", "pass"),
        ("## Codex: REVIEW-BLOCKED\n\nREVIEW-PASS", "pass"),
        ("## Codex: REVIEW-PASS\n\nREVIEW-BLOCKED: wait", "blocked: wait"),
    ] {
        check_text(text, expected);
    }
}

#[test]
fn folded_into_what_stands_above() {
    for (body, expected) in [
        ("- one\n- two\nREVIEW-PASS", "pass"),
        ("1. one\n2. two\nREVIEW-PASS", "pass"),
        ("1. one\n REVIEW-PASS", "pass"),
        ("-    one\n   REVIEW-PASS", "pass"),
        ("> quoted\nREVIEW-PASS", "pass"),
        ("> - quoted\n  REVIEW-PASS", "pass"),
        ("> quoted\n> more\nREVIEW-PASS", "pass"),
        ("- one\n  - two\nREVIEW-PASS", "pass"),
        ("- one\n- two\n**REVIEW-PASS**", "pass"),
        ("- one\n\nREVIEW-PASS", "pass"),
        ("> quoted\nREVIEW-PASS\n---", "pass"),
        ("> quoted\nREVIEW-PASS\n===", "-"),
        ("> quoted\nREVIEW-PASS\n--", "-"),
        ("- one\nREVIEW-PASS\n  ===", "pass"),
        ("- one\n### REVIEW-PASS", "pass"),
        ("| a |\n|---|\n| 1 |\nREVIEW-PASS", "pass"),
        ("```\nx\n```\nREVIEW-PASS", "pass"),
        ("    code\nREVIEW-PASS", "pass"),
        ("- ```\n  x\n  ```\nREVIEW-PASS", "pass"),
        ("- ```\n  x\n```\nREVIEW-PASS", "-"),
        ("[foo]:\nREVIEW-PASS", "pass"),
        ("[foo]:\nREVIEW-PASS\n---", "pass"),
        ("[foo]:\nREVIEW-PASS\n===", "-"),
        ("[foo]:\n**REVIEW-PASS**", "pass"),
        ("[foo]: /url\nREVIEW-PASS", "pass"),
        ("- one\n  REVIEW-PASS", "-"),
        ("- one\n\n  REVIEW-PASS", "-"),
        ("- one\n  - two\n  REVIEW-PASS", "-"),
        ("- one\n\tREVIEW-PASS", "-"),
        ("1. one\n   REVIEW-PASS", "-"),
        ("- REVIEW-PASS", "-"),
        ("* REVIEW-PASS", "-"),
        ("+ REVIEW-PASS", "-"),
        ("1. REVIEW-PASS", "-"),
        ("1) REVIEW-PASS", "-"),
        ("text\n2. REVIEW-PASS", "-"),
        ("> REVIEW-PASS", "-"),
        (">REVIEW-PASS", "-"),
        ("> quoted\n> REVIEW-PASS", "-"),
        ("> one\n\n> REVIEW-PASS", "-"),
        ("- # REVIEW-PASS", "-"),
        ("[foo]: REVIEW-PASS", "-"),
        ("[foo]: /url\n\"REVIEW-PASS\"", "-"),
        ("[foo]: /url '\nREVIEW-PASS\n'", "-"),
        ("`code\nREVIEW-PASS\nmore`", "-"),
        ("`code\nREVIEW-PASS <!-- ` -->", "-"),
        ("[text\nREVIEW-PASS\n](http://x)", "-"),
        ("<a title=\"\nREVIEW-PASS\n\">", "-"),
    ] {
        check(body, expected);
    }
}

#[test]
fn below_html() {
    for (body, expected) in [
        ("</details>\nREVIEW-PASS", "pass"),
        ("</details>\n**REVIEW-PASS**", "pass"),
        ("</details>\n### REVIEW-PASS", "pass"),
        ("</details>\nREVIEW-PASS\n---", "pass"),
        ("</details>\nREVIEW-PASS\n<!-- x -->", "pass"),
        ("<details><summary>log</summary>x</details>\nREVIEW-PASS", "pass"),
        ("<details>\n<summary>log</summary>\n\nx\n\n</details>\nREVIEW-PASS", "pass"),
        ("<details>\n<summary>log</summary>\n\nx\n\n</details>\n\nREVIEW-PASS", "pass"),
        ("<br>\nREVIEW-PASS", "pass"),
        ("<br/>\nREVIEW-PASS", "pass"),
        ("<hr>\nREVIEW-PASS", "pass"),
        ("<img src=\"a.png\">\nREVIEW-PASS", "pass"),
        ("<p>done</p>\nREVIEW-PASS", "pass"),
        ("<!-- x -->\nREVIEW-PASS", "pass"),
        ("<!-- x\ny -->\nREVIEW-PASS", "pass"),
        ("<div></div><!-- x -->\nREVIEW-PASS", "pass"),
        ("<pre>\nx\n</pre>\nREVIEW-PASS", "pass"),
        ("<script>\nx\n</script>\nREVIEW-PASS", "pass"),
        ("<?php x ?>\nREVIEW-PASS", "pass"),
        ("<!DOCTYPE html>\nREVIEW-PASS", "pass"),
        ("<![CDATA[ x ]]>\nREVIEW-PASS", "pass"),
        ("use Vec<String>\nREVIEW-PASS", "pass"),
        ("use Vec<String>\n\nREVIEW-PASS", "pass"),
        ("<p>one\n\nREVIEW-PASS", "pass"),
        ("- <div>\nREVIEW-PASS", "pass"),
        ("<details>\nREVIEW-PASS", "-"),
        ("<details>\n\nREVIEW-PASS", "-"),
        ("<details>\nREVIEW-PASS\n</details>", "-"),
        ("<details>\n\nREVIEW-PASS\n\n</details>", "-"),
        ("<div>\nREVIEW-PASS", "-"),
        ("<p>\nREVIEW-PASS", "-"),
        ("<li>x\nREVIEW-PASS", "-"),
        ("<T>\nREVIEW-PASS", "-"),
        ("<T>\n\nREVIEW-PASS", "-"),
        ("<T>\n\nx\n\n</T>\n\nREVIEW-PASS", "pass"),
        ("<details>\n\nx</details>\n\nREVIEW-PASS", "pass"),
        ("<details>\n\n- x\n\n  </details>\n\nREVIEW-PASS", "pass"),
        ("<div>REVIEW-PASS</div>", "-"),
        ("<br>REVIEW-PASS", "-"),
        ("</details> REVIEW-PASS", "-"),
        ("REVIEW-PASS<br>", "-"),
        ("<!-- x --> REVIEW-PASS", "-"),
        ("<!-- REVIEW-PASS -->", "-"),
        ("<!--\nREVIEW-PASS\n-->", "-"),
        ("<!-- open\nREVIEW-PASS", "-"),
        ("<!-- open\n\nREVIEW-PASS", "-"),
        ("text <!-- open\nREVIEW-PASS", "-"),
        ("- <!-- open\n\nREVIEW-PASS", "-"),
        ("<div></div><!-- open\nREVIEW-PASS", "-"),
        ("text `<!--` open\nREVIEW-PASS", "pass"),
        ("<pre>\nREVIEW-PASS", "-"),
        ("<pre>\n\nREVIEW-PASS", "-"),
        ("<pre>\nREVIEW-PASS\n</pre>", "-"),
        ("<script>\n\nREVIEW-PASS", "-"),
        ("<style>\n\nREVIEW-PASS", "-"),
        ("<textarea>\n\nREVIEW-PASS", "-"),
        ("<![CDATA[\n\nREVIEW-PASS", "-"),
        ("<?php\n\nREVIEW-PASS", "-"),
        ("<!DOCTYPE\n\nREVIEW-PASS", "-"),
        ("<div\nREVIEW-PASS", "-"),
    ] {
        check(body, expected);
    }
}

#[test]
fn mentions() {
    for body in [
        "review-pass",
        "Review-Pass",
        "`REVIEW-PASS`",
        "``REVIEW-PASS``",
        "```\nREVIEW-PASS\n```",
        "```\nREVIEW-PASS",
        "~~~\nREVIEW-PASS\n~~~",
        "| REVIEW-PASS |",
        "| a |\n|---|\n| REVIEW-PASS |",
        "REVIEW-PASS |",
        "not REVIEW-PASS yet",
        "REVIEW-PASS once the tests are green",
        "Verdict: REVIEW-PASS",
        "✅ REVIEW-PASS",
        "REVIEW-PASS ✅",
        "REVIEW-PASS.",
        "REVIEW-PASS!",
        "REVIEW-PASS — done",
        "REVIEW-PASSED",
        "PREREVIEW-PASS",
        "REVIEW-PASS\nmore",
        "REVIEW-PASS\n\nmore",
        "[REVIEW-PASS](http://x)",
        "[REVIEW-PASS]\n\n[REVIEW-PASS]: http://x",
        "![REVIEW-PASS](x.png)",
        "REVIEW&#45;PASS",
        "&#82;EVIEW-PASS",
        "REVIEW\\-PASS",
        "\\REVIEW-PASS",
        "REVIEW-PASS\\",
        "REVIEW\u{200b}-PASS",
        "REVIEW-PASS\u{200b}",
        "\u{200b}REVIEW-PASS",
        "\u{feff}REVIEW-PASS",
        "REVIEW\u{ad}-PASS",
        "REVIEW\u{2011}PASS",
        "REVIEW–PASS",
        "REVIEW PASS",
        "REVIEW_PASS",
        "\u{3000}REVIEW-PASS",
        "\u{a0}REVIEW-PASS",
        "\u{1}REVIEW-PASS",
        "REVIEW-PASS\u{1}",
        "text\u{2028}REVIEW-PASS",
        "REVIEW-\nPASS",
        "REVIEW-PASS\u{2800}",
        "ＲＥＶＩＥＷ-ＰＡＳＳ",
    ] {
        check(body, "-");
    }
}

#[test]
fn blocked() {
    for (body, expected) in [
        ("REVIEW-BLOCKED", "blocked"),
        ("REVIEW-BLOCKED:", "blocked"),
        ("REVIEW-BLOCKED：", "blocked"),
        ("REVIEW-BLOCKED: no key", "blocked: no key"),
        ("REVIEW-BLOCKED:no key", "blocked: no key"),
        ("REVIEW-BLOCKED：没有密钥", "blocked: 没有密钥"),
        ("**REVIEW-BLOCKED**: no key", "blocked: no key"),
        ("**REVIEW-BLOCKED:** no key", "blocked: no key"),
        ("**REVIEW-BLOCKED: no key**", "blocked: no key"),
        ("### REVIEW-BLOCKED: no key", "blocked: no key"),
        ("## REVIEW-BLOCKED: no key", "blocked: no key"),
        ("REVIEW-BLOCKED: no `key` in *.env*, see [x](y)", "blocked: no key in .env, see x"),
        ("REVIEW-BLOCKED: one\ntwo\nthree", "blocked: one two three"),
        ("REVIEW-BLOCKED:\nthe reason", "blocked: the reason"),
        ("REVIEW-BLOCKED: a *b\nc*", "blocked: a b c"),
        ("text\nREVIEW-BLOCKED: x", "blocked: x"),
        ("- item\nREVIEW-BLOCKED: x", "blocked: x"),
        ("</details>\nREVIEW-BLOCKED: x\ny", "blocked: x y"),
        ("REVIEW-BLOCKED: x\n\n---\n<!-- y -->", "blocked: x"),
        ("REVIEW-BLOCKED: x <!-- y -->", "blocked: x"),
        ("REVIEW-BLOCKED: x\n===", "blocked: x"),
        ("REVIEW-BLOCKED: x\nREVIEW-PASS", "blocked: x"),
        ("REVIEW-BLOCKED: x\ny\nREVIEW-PASS", "blocked: x y"),
        ("REVIEW-BLOCKED\nREVIEW-PASS", "blocked"),
        ("REVIEW-PASS\nREVIEW-BLOCKED: x", "blocked: x"),
        ("REVIEW-PASS\n\nREVIEW-BLOCKED: x", "blocked: x"),
        ("- item\nREVIEW-BLOCKED: x\ny\nREVIEW-PASS", "blocked: x y"),
        ("REVIEW-BLOCKED: x\n\nREVIEW-PASS", "pass"),
        ("### REVIEW-BLOCKED: x\nREVIEW-PASS", "pass"),
        (&format!("REVIEW-BLOCKED: x\n{}", "REVIEW-PASS\n".repeat(50)), "blocked: x"),
        ("- REVIEW-BLOCKED: x\n\nREVIEW-PASS", "pass"),
        ("REVIEW-BLOCKED: x\n\nmore", "-"),
        ("REVIEW-BLOCKED: x\n- y", "-"),
        ("REVIEW-BLOCKED: x\n### y", "-"),
        ("### REVIEW-BLOCKED: x\ny", "-"),
        ("**REVIEW-BLOCKED: x\ny**", "-"),
        ("REVIEW-BLOCKED no key", "-"),
        ("REVIEW-BLOCKED - no key", "-"),
        ("REVIEW-BLOCKED : no key", "-"),
        ("REVIEW-BLOCKED. no key", "-"),
        ("review-blocked: x", "-"),
        ("> REVIEW-BLOCKED: x", "-"),
        ("- REVIEW-BLOCKED: x", "-"),
        ("`REVIEW-BLOCKED: x`", "-"),
        ("    REVIEW-BLOCKED: x", "-"),
        ("not REVIEW-BLOCKED: x", "-"),
        ("| REVIEW-BLOCKED: x |", "-"),
        ("REVIEW\\-BLOCKED: x", "-"),
        ("REVIEW-BLOCKED\\: x", "-"),
        ("```\nREVIEW-BLOCKED: x\n```", "-"),
        ("<!-- REVIEW-BLOCKED: x -->", "-"),
    ] {
        check(body, expected);
    }
}

#[test]
fn below_a_heading_that_names_somebody() {
    for (body, expected) in [
        ("## CC (round 2): fixed\n\nREVIEW-PASS", "-"),
        ("## 🤖 Codex – review\n\nREVIEW-PASS", "-"),
        ("## [2026-11-30] Codex\n\nREVIEW-PASS", "-"),
        ("## Codx: right\n\nREVIEW-PASS", "-"),
        ("## \u{200b}Codx: right\n\nREVIEW-PASS", "-"),
        ("## \u{feff}Codex: right\n\nREVIEW-PASS", "-"),
        ("## Dana said\n\nREVIEW-PASS", "-"),
        ("## Hermes\n\ntext\n\n## Findings: none\n\nREVIEW-PASS", "-"),
        ("## CC (round 2)\n\nREVIEW-BLOCKED: x", "-"),
        ("## Findings: none\n\nREVIEW-PASS", "pass"),
        ("## CI: green\n\nREVIEW-PASS", "pass"),
        ("## Notes\n\nREVIEW-PASS", "pass"),
        ("### CC (round 2): fixed\n\nREVIEW-PASS", "pass"),
        ("# CC (round 2): fixed\n\nREVIEW-PASS", "pass"),
        ("> ## CC (round 2): fixed\n\nREVIEW-PASS", "pass"),
        ("```\n## CC (round 2): fixed\n```\n\nREVIEW-PASS", "pass"),
        ("CC (round 2): fixed\n---\n\nREVIEW-PASS", "pass"),
    ] {
        check(body, expected);
    }
    // Below another section's heading it costs nothing.
    check_text("## CC: x\n\ntext\n\n## CC (2): y\n\n## Codex: z\n\nREVIEW-PASS", "-");
    let status = read("## CC: x\n\n## CC (2): y\n\n## Codex: z\n\nREVIEW-PASS\n");
    assert_eq!(shown(status.turns[1].verdict.as_ref()), "pass");
}

#[test]
fn only_agents_give_verdicts() {
    check_text("## Dana: x\n\nREVIEW-PASS", "-");
    check_text("## Hermes: x\n\nREVIEW-PASS", "-");
    check_text("## Dana: REVIEW-PASS", "-");
    check_text("## OpenCode: x\n\nREVIEW-PASS", "pass");
}
