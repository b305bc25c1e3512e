use std::time::{Duration, Instant};

use super::cast;
use crate::status::parse;

/// Parsing ten times the text takes about ten times as long: no absolute limits, the machine may be slow.
fn check(name: &str, unit: &str) {
    let text = |size: usize| format!("## CC: a\n\n{}", unit.repeat(size / unit.len()));
    let (few, many) = (text(10_000), text(100_000));
    let time = |text: &str| {
        let once = || {
            let start = Clock::start();
            parse(text.as_bytes(), &cast()).unwrap();
            start.elapsed()
        };
        (0..2).map(|_| once()).min().unwrap()
    };
    // Other work on the machine may fall into either measurement: one fair attempt is enough.
    let ratio = || time(&many).as_secs_f64() / time(&few).as_secs_f64().max(1e-6);
    let fair = (0..4).map(|_| ratio()).any(|ratio| ratio < 25.0);
    assert!(fair, "{name}: ten times the text takes more than 25 times as long");
}

/// The time that this thread has had on a processor where the system tells it, else the time that has passed.
struct Clock {
    worked: Option<Duration>,
    started: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { worked: worked(), started: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        match (self.worked, worked()) {
            (Some(before), Some(now)) if now > before => now - before,
            _ => self.started.elapsed(),
        }
    }
}

fn worked() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[test]
fn time_grows_with_the_text() {
    for (name, unit) in [
        ("sections", "## CC: did a thing\n\nSome *text* with `code`.\n\n- a\n- b\n\nREVIEW-PASS\n\n"),
        ("one section of prose", "Some *text* with `code` and a [link](x).\n"),
        ("verdicts in one section", "REVIEW-PASS\n\n"),
        ("followed verdicts", "REVIEW-PASS\n\nmore\n\n"),
        ("hidden verdicts", "<!-- a\nREVIEW-PASS\n"),
        ("blocked lines in one paragraph", "REVIEW-BLOCKED: x\n"),
        ("comments", "<!-- x -->\ntext <!-- y -->\n\n"),
        ("open comments in text", "a <!-- b\n"),
        ("fences", "```\n## CC: a\n```\n"),
        ("headings", "## Findings: none\n\n"),
        ("names", "## CC (2)\n\nREVIEW-PASS\n\n"),
        ("nested emphasis", "*a **b "),
        ("html", "<div>\n\n"),
        ("inline html", "a <b>c</b>\n"),
        ("one line", "REVIEW-PASS "),
        ("one long last line", "review-pass\u{200b} "),
        ("conflict marks", "<<<<<<<\n"),
        ("returns", "a\r"),
        ("list items", "- a\n"),
        ("lazy lines", "- a\nREVIEW-PASS\n"),
    ] {
        check(name, unit);
    }
}
