//! Keys that reach only the screen that was looked at.
//!
//! Between a look and a key lies the start of a program: time enough for a dialog to come up under the key, or for a
//! person to type a letter into our line. So the key is handed to tmux with a condition, and tmux itself compares
//! what it shows in the very moment in which it passes the key on.

use super::pane::{PLACE, PaneId};
use super::quote::quote;
use super::ready::Seen;
use super::server::{Server, TmuxError};

/// How many of the last lines are compared.
const LINES: usize = 10;

/// What tmux says where the condition did not hold.
const CHANGED: &str = "loop-changed";

impl Server {
    /// Runs tmux's `command` if the pane still shows what was `seen`, else `otherwise`; returns whether it did.
    pub(super) async fn if_unchanged(
        &self,
        id: &PaneId,
        seen: &Seen,
        command: &str,
        otherwise: &str,
    ) -> Result<bool, TmuxError> {
        let condition = condition(seen);
        let otherwise = format!("{otherwise}display-message -p {CHANGED}");
        let words = ["if-shell", "-F", "-t", id.as_str(), &condition, command, &otherwise];
        let said = self.tmux(&words).await?;
        Ok(!said.contains(CHANGED))
    }

    /// tmux's command that presses `keys` in the pane.
    pub(super) fn keys(id: &PaneId, keys: &[&str]) -> String {
        let keys: Vec<String> = keys.iter().filter_map(|key| quote(key)).collect();
        format!("send-keys -t {} {}", id.as_str(), keys.join(" "))
    }
}

/// Holds as long as program, title, cursor and the last lines are those that were seen, and keys reach the program.
fn condition(seen: &Seen) -> String {
    let mut parts = vec![
        "#{?pane_dead,0,1}".to_owned(),
        "#{?pane_in_mode,0,1}".to_owned(),
        format!("#{{==:{PLACE},{}}}", seen.place),
        matches("pane_current_command", &seen.pane.command),
        matches("pane_title", &seen.pane.title),
    ];
    let lines = seen.screen.lines.iter().rev().filter(|line| !line.trim().is_empty()).take(LINES);
    parts.extend(lines.map(|line| shows(line)));
    parts.into_iter().reduce(|all, part| format!("#{{&&:{all},{part}}}")).unwrap_or_default()
}

/// Holds where the pane shows `line`, which was read without the blanks at its end. They are of any kind: in Claude
/// Code's empty composer stands a space that does not break, which no class of expressions has.
fn shows(line: &str) -> String {
    format!("#{{C/r:^{}[[:space:]\u{a0}]*$}}", pattern(line.trim_end()))
}

fn matches(name: &str, value: &str) -> String {
    format!("#{{m/r:^-?{}$,#{{{name}}}}}", pattern(value))
}

/// An expression that `text` matches. What has a meaning in formats or expressions counts as any character.
fn pattern(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '/' | '_' | '-');
    text.chars().map(|c| if plain(c) { c } else { '.' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_in_a_format_is_any_character() {
        assert_eq!(pattern("│ > /agent-loop 小明 {x},#%:"), ". . /agent-loop 小明 .x.....");
        assert_eq!(matches("pane_title", "a}b"), "#{m/r:^-?a.b$,#{pane_title}}");
        assert_eq!(shows("❯\u{a0}  "), "#{C/r:^.[[:space:]\u{a0}]*$}");
    }
}
