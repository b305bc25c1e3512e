//! What a person is told: one text that says by itself where it happened, what, and what to type next.

use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use loop_core::plain;
use serde::Serialize;

/// The most characters of a title.
const TITLE: usize = 120;
/// The most bytes of a text: what every channel takes in one message (ntfy makes a file of more than 4,096).
const TEXT: usize = 3_000;

/// Why a person is told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An agent asks something.
    Asks,
    /// An agent has met a usage limit.
    Limited,
    /// A wake waits for something else for a long time.
    Waiting,
    /// The loop is held.
    Held,
    /// An agent blocked the loop: it asks for a person's decision.
    Blocked,
    /// An agent could not be woken.
    Dead,
    /// The loop has passed.
    Passed,
    /// It is this person's own turn.
    Turn,
    /// `loop tell --test`.
    Test,
}

impl Kind {
    /// Returns the kind of what the router tells: `title` is its word for it, `what` names the very thing and begins
    /// with what a wake waits for.
    pub(crate) fn of(title: &str, what: &str) -> Self {
        match (title, what.split(' ').next().unwrap_or_default()) {
            ("passed", _) => Self::Passed,
            ("blocked", _) => Self::Blocked,
            ("dead", _) => Self::Dead,
            ("waiting", "asks") => Self::Asks,
            ("waiting", "limited") => Self::Limited,
            ("waiting", _) => Self::Waiting,
            _ => Self::Held,
        }
    }

    /// The word for it, as the signed webhook carries it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asks => "asks",
            Self::Limited => "limited",
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Blocked => "blocked",
            Self::Dead => "dead",
            Self::Passed => "passed",
            Self::Turn => "turn",
            Self::Test => "test",
        }
    }

    /// Whether nothing goes on until the person does something.
    pub fn is_urgent(self) -> bool {
        !matches!(self, Self::Passed | Self::Test | Self::Limited)
    }

    /// What to type where the words do not say it themselves.
    fn next(self) -> &'static str {
        match self {
            Self::Asks => "`loop attach` shows the agents' windows",
            Self::Passed => "`loop log` shows the turns, `loop archive` puts the loop away",
            Self::Turn => "`loop turn NAME`, then `loop commit NAME -m …`",
            Self::Test => "nothing",
            _ => "`loop status` says how it stands and what to do",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One message to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Why.
    pub kind: Kind,
    /// A few words: `loop held: shop`.
    pub title: String,
    /// What happened, what to type next, and in which folder; a few lines.
    pub text: String,
    /// The repository's folder.
    pub repo: String,
    /// The loop's id.
    pub loop_id: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

impl Message {
    /// Makes a message of what agents, tools and people wrote: harmless for a terminal, not too long, and with the
    /// next step and the folder where `what` says neither.
    pub fn new(kind: Kind, title: &str, what: &str, repo: &Path, at: Timestamp) -> Self {
        let repo = plain::plain(&repo.display().to_string()).into_owned();
        let mut text = cut(plain::plain(what).trim(), TEXT - repo.len().min(1_000) - 200);
        if !text.contains("`loop ") {
            text.push_str("\nnext: ");
            text.push_str(kind.next());
        }
        text.push_str("\nin ");
        text.push_str(&cut(&repo, 1_000));
        Self { kind, title: plain::line(title, TITLE), text, repo, loop_id: None, at }
    }

    /// With the loop that it is about.
    #[must_use]
    pub fn of_loop(mut self, loop_id: &str) -> Self {
        self.loop_id = Some(loop_id.to_owned());
        self
    }

    /// The message of `loop tell --test`.
    pub fn test(folder: &Path, at: Timestamp) -> Self {
        let what = "This is how loop reaches you: when an agent asks something or meets its limit, when a loop is \
                    held, blocked or has passed, and when an agent cannot be woken. `loop status` says the same.";
        Self::new(Kind::Test, "loop: a test", what, folder, at)
    }
}

/// Cuts a text behind at most `most` bytes, at a character.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
    format!("{}…", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(what: &str) -> Message {
        Message::new(
            Kind::Asks,
            "loop waiting: shop",
            what,
            Path::new("/home/dana/shop"),
            Timestamp::UNIX_EPOCH,
        )
    }

    #[test]
    fn a_text_says_what_happened_what_to_type_and_where() {
        for (what, expected) in [
            (
                "CC asks for a permission",
                "CC asks for a permission\nnext: `loop attach` shows the agents' windows\nin /home/dana/shop",
            ),
            ("held: no turn; `loop resume`", "held: no turn; `loop resume`\nin /home/dana/shop"),
            ("CC: \u{1b}[2J\u{202e}x `loop log`", "CC: \\u{1b}[2J\\u{202e}x `loop log`\nin /home/dana/shop"),
        ] {
            assert_eq!(message(what).text, expected);
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_keeps_its_end() {
        for letter in ["x", "循", "🤖"] {
            let text = message(&letter.repeat(5_000)).text;
            assert!(text.len() <= TEXT && text.contains("…\nnext: `loop attach`"), "{}", text.len());
            assert!(text.ends_with("\nin /home/dana/shop"));
        }
        let deep = Message::new(Kind::Held, "t", "x", Path::new(&"/循环".repeat(900)), Timestamp::UNIX_EPOCH);
        assert!(deep.text.len() <= TEXT, "{}", deep.text.len());
        let title =
            Message::new(Kind::Held, &"a\nb".repeat(99), "x", Path::new("/"), Timestamp::UNIX_EPOCH).title;
        assert!(title.chars().count() <= TITLE + 1 && !title.contains('\n'));
    }

    #[test]
    fn the_kind_is_read_from_what_is_told() {
        for (title, what, expected) in [
            ("waiting", "asks 0193 may I?", Kind::Asks),
            ("waiting", "limited 0193", Kind::Limited),
            ("waiting", "waits 0193", Kind::Waiting),
            ("dead", "dead 0193", Kind::Dead),
            ("held", "held|rounds", Kind::Held),
            ("blocked", "held|blocked", Kind::Blocked),
            ("passed", "passed|3", Kind::Passed),
        ] {
            assert_eq!(Kind::of(title, what), expected, "{title} {what}");
        }
    }
}
