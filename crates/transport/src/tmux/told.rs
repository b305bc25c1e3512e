//! What the agent was told, as its screen shows it: whether our text has come to stand there.

use loop_core::screen::Screen;

use super::composer::{bare, echoes, is_frame};

/// What stood on the screen before our text was submitted.
#[derive(Debug, Clone)]
pub(super) struct Told {
    /// The ways in which the CLI shows what it was told; our text itself first.
    shown: Vec<Shown>,
    /// Whether the CLI shows it in one of these ways for sure.
    surely: bool,
}

/// One of them.
#[derive(Debug, Clone)]
struct Shown {
    words: String,
    /// How often they stand there.
    times: usize,
    /// What stands below the newest of them.
    below: Option<String>,
}

impl Told {
    /// `screen` is what was seen before our text was put in: a composer that is empty again leaves room for an older
    /// prompt. `top`: the composer's first line there; what it suggests changes by itself, and says nothing of the
    /// prompt above it. `ways`: how this CLI shows what it was told; none: nobody knows.
    pub(super) fn new(screen: &Screen, top: Option<usize>, text: &str, ways: &[String]) -> Self {
        let above = &screen.lines[..top.unwrap_or(screen.lines.len()).min(screen.lines.len())];
        let others = ways.iter().map(String::as_str).filter(|words| *words != text);
        let shown = std::iter::once(text).chain(others).map(|words| Shown {
            words: words.to_owned(),
            times: echoes(screen, words),
            below: below_newest(above, words),
        });
        Self { shown: shown.collect(), surely: !ways.is_empty() }
    }

    /// The same where our text stood in the composer already.
    pub(super) fn standing(screen: &Screen, text: &str, ways: &[String]) -> Self {
        let mut told = Self::new(screen, None, text, ways);
        for shown in &mut told.shown {
            shown.below = None;
        }
        told.shown[0].times = told.shown[0].times.saturating_sub(1);
        told
    }

    /// The same, once our text stands in the composer. A program may have drawn a resized window only after the text
    /// was put in: then older prompts came into sight with it. The composer's own is one too many.
    pub(super) fn with_standing(&self, screen: &Screen) -> Self {
        let mut told = self.clone();
        for (at, shown) in told.shown.iter_mut().enumerate() {
            let standing = echoes(screen, &shown.words).saturating_sub(usize::from(at == 0));
            shown.times = shown.times.max(standing);
        }
        told
    }

    /// Whether it stands there anew: once more, or below an older one that has scrolled away.
    pub(super) fn has_come(&self, screen: &Screen) -> bool {
        self.shown.iter().any(|shown| {
            let below = below_newest(&screen.lines, &shown.words);
            echoes(screen, &shown.words) > shown.times
                || (shown.below.is_some() && below.is_some() && below != shown.below)
        })
    }

    /// Whether an agent that works cannot have been told: its CLI would show it, or the newest prompt is still the old
    /// one, with the same words below it.
    pub(super) fn is_missing(&self, screen: &Screen) -> bool {
        let is_unchanged =
            |shown: &Shown| shown.below.is_some() && below_newest(&screen.lines, &shown.words) == shown.below;
        !self.has_come(screen) && (self.surely || self.shown.iter().any(is_unchanged))
    }
}

/// The first words below the newest place where `text` stands, however it is broken; `None` where it does not.
fn below_newest(lines: &[String], text: &str) -> Option<String> {
    let lines = lines.iter();
    let solid: Vec<String> = lines.map(|line| line.chars().filter(|c| !is_frame(*c)).collect()).collect();
    let ours = bare(text);
    let end = solid.concat().rfind(&ours)? + ours.len();
    let mut begins = 0;
    solid.iter().find_map(|line| {
        let rest = line.get(end.saturating_sub(begins).min(line.len())..).unwrap_or_default();
        begins += line.len();
        (begins > end && !rest.is_empty()).then(|| rest.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "/agent-loop CC";

    fn screen(lines: &[&str]) -> Screen {
        Screen { lines: lines.iter().map(|line| (*line).to_owned()).collect(), ..Screen::default() }
    }

    fn told(lines: &[&str], ways: &[&str]) -> Told {
        let ways: Vec<String> = ways.iter().map(|words| (*words).to_owned()).collect();
        let top = lines.iter().rposition(|line| line.starts_with('❯'));
        Told::new(&screen(lines), top, TEXT, &ways)
    }

    #[test]
    fn work_below_the_old_prompt_is_no_work_of_ours() {
        let before = ["❯ /agent-", "  loop CC", "● All done.", "────", "❯", "────"];
        for ways in [&[][..], &[TEXT]] {
            let told = told(&before, ways);
            let by_itself =
                ["❯ /agent-", "  loop CC", "● All done.", "● A task has ended.", "✳ Working…", "❯"];
            assert!(told.is_missing(&screen(&by_itself)) && !told.has_come(&screen(&by_itself)));
            let ours = ["❯ /agent-", "  loop CC", "● All done.", "❯ /agent-", "  loop CC", "✳ Working…", "❯"];
            assert!(told.has_come(&screen(&ours)) && !told.is_missing(&screen(&ours)));
            // The older one has scrolled away, or will.
            for scrolled in
                [["● All done.", "❯ /agent-loop CC", "✳ Working…", "❯"], ["❯ /agent-loop CC", "✳ W", "", "❯"]]
            {
                assert!(told.has_come(&screen(&scrolled)) && !told.is_missing(&screen(&scrolled)));
            }
        }
    }

    #[test]
    fn without_an_older_prompt_only_a_cli_that_shows_it_tells_that_ours_is_missing() {
        let works = screen(&["welcome", "✳ Working…", "❯"]);
        assert!(!told(&["welcome", "❯"], &[]).is_missing(&works));
        assert!(told(&["welcome", "❯"], &[TEXT]).is_missing(&works));
        assert!(!told(&["welcome", "❯"], &[TEXT]).is_missing(&screen(&[
            "❯ /agent-loop CC",
            "✳ Working…",
            "❯"
        ])));
    }

    #[test]
    fn a_skill_that_is_shown_as_its_body_counts_by_its_last_words() {
        let ways = [TEXT, "to this base directory. CC"];
        let body = [
            "  ┃  to this base",
            "  ┃  directory.",
            "  ┃",
            "  ┃  CC",
            "",
            "     Hello.",
            "  ┃",
            "  ┃  Build",
        ];
        let told = told(&body, &ways);
        let again = [
            "  ┃  to this base",
            "  ┃  directory.",
            "  ┃",
            "  ┃  CC",
            "",
            "     ▣  Build",
            "  ┃",
            "  ┃  Build",
        ];
        assert!(told.has_come(&screen(&again)) && !told.is_missing(&screen(&again)));
        assert!(told.is_missing(&screen(&body)));
    }

    #[test]
    fn older_prompts_that_come_into_sight_with_our_text_count() {
        let told = told(&["❯ /agent-loop CC", "❯"], &[TEXT]);
        let larger = ["❯ /agent-loop CC", "❯", "❯ /agent-loop CC", "❯"];
        let standing = told.with_standing(&screen(&[&larger[..], &["❯ /agent-loop CC"]].concat()));
        let emptied = screen(&[&larger[..], &["❯"]].concat());
        assert!(told.has_come(&emptied) && !standing.has_come(&emptied));
    }

    #[test]
    fn another_suggestion_below_an_unanswered_prompt_is_no_new_prompt() {
        let told = told(&["❯ /agent-loop CC", "", "❯ Try something"], &[TEXT]);
        let emptied = screen(&["❯ /agent-loop CC", "", "❯ write the tests first"]);
        assert!(!told.has_come(&emptied) && told.is_missing(&emptied));
        let taken = screen(&["❯ /agent-loop CC", "", "❯ /agent-loop CC", "✳ Working…", "❯"]);
        assert!(told.has_come(&taken) && !told.is_missing(&taken));
    }

    #[test]
    fn a_text_that_stood_in_the_composer_already_is_no_prompt() {
        let stood = Told::standing(&screen(&["welcome", "❯ /agent-loop CC"]), TEXT, &[TEXT.to_owned()]);
        assert!(stood.is_missing(&screen(&["welcome", "✳ Working…", "❯"])));
        assert!(stood.has_come(&screen(&["❯ /agent-loop CC", "✳ Working…", "❯"])));
    }
}
