use std::time::{Duration, Instant};

use super::cast;
use crate::status::parse;

/// Parsing ten times the text takes about ten times as long: no absolute limits, the machine may be slow.
fn check(name: &str, unit: &str) {
    let few = unit.repeat(200_000 / unit.len());
    let many = few.repeat(10);
    let time = |text: &str| -> Duration {
        (0..3)
            .map(|_| {
                let start = Instant::now();
                parse(text.as_bytes(), &cast()).unwrap();
                start.elapsed()
            })
            .min()
            .unwrap()
    };
    // Other work on the machine may fall into either measurement: one fair attempt is enough.
    let ratio = || time(&many).as_secs_f64() / time(&few).as_secs_f64().max(1e-6);
    let best = (0..4).map(|_| ratio()).find(|ratio| *ratio < 25.0);
    assert!(best.is_some(), "{name}: ten times the text takes more than 25 times as long");
}

#[test]
fn time_grows_with_the_text() {
    for (name, unit) in [
        ("sections", "## CC: did a thing\n\nSome *text* with `code`.\n\n- a\n- b\n\nREVIEW-PASS\n\n"),
        ("one section of prose", "Some *text* with `code` and a [link](x).\n"),
        ("verdicts in one section", "REVIEW-PASS\n\n"),
        ("blocked lines in one paragraph", "REVIEW-BLOCKED: x\n"),
        ("comments", "<!-- x -->\ntext <!-- y -->\n\n"),
        ("open comments in text", "a <!-- b\n"),
        ("fences", "```\n## CC: a\n```\n"),
        ("headings", "## Findings: none\n\n"),
        ("nested emphasis", "*a **b "),
        ("html", "<div>\n\n"),
        ("one line", "REVIEW-PASS "),
        ("conflict marks", "<<<<<<<\n"),
        ("returns", "a\r"),
    ] {
        check(name, unit);
    }
}
