//! What the agent was told, as its screen shows it: whether our text has come to stand there.

use loop_core::screen::Screen;

use super::composer::{bare, echoes, is_frame};

/// What stood on the screen before our text was submitted.
#[derive(Debug, Clone)]
pub(super) struct Told {
    /// How often our text.
    echoes: usize,
    /// What stood below the newest of them.
    below: Option<String>,
}

impl Told {
    /// `screen` is what was seen before our text was put in: a composer that is empty again leaves room for an older
    /// prompt.
    pub(super) fn new(screen: &Screen, text: &str) -> Self {
        Self { echoes: echoes(screen, text), below: below_newest(screen, text) }
    }

    /// The same, once our text stands in the composer. A program may have drawn a resized window only after the text
    /// was put in: then older prompts came into sight with it. The composer's own is one too many.
    pub(super) fn with_standing(&self, screen: &Screen, text: &str) -> Self {
        let standing = echoes(screen, text).saturating_sub(1);
        Self { echoes: self.echoes.max(standing), below: self.below.clone() }
    }

    /// Our text stands there once more.
    pub(super) fn has_more(&self, screen: &Screen, text: &str) -> bool {
        echoes(screen, text) > self.echoes
    }

    /// The newest prompt is still the old one, with the same words below it: whatever the agent does, it was not told.
    /// (That it stands there no more often tells nothing where the older ones scroll away.)
    pub(super) fn is_unchanged(&self, screen: &Screen, text: &str) -> bool {
        self.below.is_some() && !self.has_more(screen, text) && below_newest(screen, text) == self.below
    }
}

/// The first words below the newest place where `text` stands, however it is broken; `None` where it does not.
fn below_newest(screen: &Screen, text: &str) -> Option<String> {
    let lines = screen.lines.iter();
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

    #[test]
    fn work_below_the_old_prompt_is_no_work_of_ours() {
        let before = ["❯ /agent-", "  loop CC", "● All done.", "────", "❯", "────"];
        let told = Told::new(&screen(&before), TEXT);
        let by_itself = ["❯ /agent-", "  loop CC", "● All done.", "● A task has ended.", "✳ Working…", "❯"];
        assert!(told.is_unchanged(&screen(&by_itself), TEXT));
        let ours = ["❯ /agent-", "  loop CC", "● All done.", "❯ /agent-", "  loop CC", "✳ Working…", "❯"];
        assert!(told.has_more(&screen(&ours), TEXT) && !told.is_unchanged(&screen(&ours), TEXT));
        // The older one has scrolled away.
        let scrolled = ["● All done.", "❯ /agent-loop CC", "✳ Working…", "────", "❯", "────"];
        assert!(!told.has_more(&screen(&scrolled), TEXT) && !told.is_unchanged(&screen(&scrolled), TEXT));
        assert!(!told.is_unchanged(&screen(&["✳ Working…", "❯"]), TEXT));
    }

    #[test]
    fn without_an_older_prompt_nothing_is_unchanged() {
        let told = Told::new(&screen(&["welcome", "❯"]), TEXT);
        assert!(!told.is_unchanged(&screen(&["welcome", "✳ Working…", "❯"]), TEXT));
    }

    #[test]
    fn older_prompts_that_come_into_sight_with_our_text_count() {
        let told = Told::new(&screen(&["❯ /agent-loop CC", "❯"]), TEXT);
        let larger = ["❯ /agent-loop CC", "● a", "❯ /agent-loop CC", "● b"];
        let standing = told.with_standing(&screen(&[&larger[..], &["❯ /agent-loop CC"]].concat()), TEXT);
        let emptied = screen(&[&larger[..], &["❯"]].concat());
        assert!(told.has_more(&emptied, TEXT) && !standing.has_more(&emptied, TEXT));
    }
}
