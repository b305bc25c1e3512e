//! The task: what stands above the sections of a STATUS.md.

use crate::status::Status;

/// Returns the preamble for reading: without comments and byte order mark, and without the blank lines that they
/// leave behind.
pub fn task(status: &Status) -> String {
    without_comments(status.text.get(status.preamble.clone()).unwrap_or_default())
}

/// Returns the task's title: the text of the first heading, else the first line; `None` when there is neither.
pub fn title(status: &Status) -> Option<String> {
    let task = task(status);
    let heading = task.lines().find_map(|line| line.trim_start().strip_prefix("# "));
    let line = heading.or_else(|| task.lines().find(|line| !line.trim().is_empty()))?;
    Some(line.trim().trim_end_matches('#').trim().to_owned()).filter(|title| !title.is_empty())
}

fn without_comments(preamble: &str) -> String {
    let mut kept = String::with_capacity(preamble.len());
    let mut rest = preamble.trim_start_matches('\u{feff}');
    while let Some((before, comment)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    let mut lines: Vec<&str> = Vec::new();
    for line in kept.lines() {
        let blank = line.trim().is_empty();
        if !(blank && lines.last().is_none_or(|before| before.trim().is_empty())) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(preamble: &str) -> Status {
        Status { text: preamble.to_owned(), preamble: 0..preamble.len(), ..Status::default() }
    }

    #[test]
    fn comments_are_no_task() {
        for (preamble, expected) in [
            ("\u{feff}# T\n\n<!-- loop: 01 -->\n\nDo it.\n\n\n", "# T\n\nDo it."),
            ("<!-- a\nb -->\n# T", "# T"),
            ("# T <!-- open\nx", "# T"),
            ("# T\r\n\r\nDo it.\r\n", "# T\n\nDo it."),
            ("", ""),
        ] {
            assert_eq!(task(&status(preamble)), expected, "{preamble:?}");
        }
    }

    #[test]
    fn the_title_is_the_first_heading() {
        for (preamble, expected) in [
            ("# A parser #\n\ntext", Some("A parser")),
            ("text\n\n# T", Some("T")),
            ("<!-- loop: 01 -->\nonly text\n", Some("only text")),
            ("#\n", None),
            ("\n", None),
        ] {
            assert_eq!(title(&status(preamble)).as_deref(), expected, "{preamble:?}");
        }
    }
}
