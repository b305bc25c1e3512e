//! Keys that reach only the screen that was looked at.
//!
//! Between a look and a key lies the start of a program: time enough for a dialog to come up under the key, or for a
//! person to type a letter into our line. So the key is handed to tmux with a condition, and tmux itself compares
//! what it shows in the very moment in which it passes the key on.

use super::others::{is_plain, none_but};
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
///
/// tmux tells whether a line stands anywhere on the screen, not where. What the agent was told before looks like the
/// composer, with the same words in most turns: it would vouch for a composer that has changed. So there must also be
/// no other line that begins as the composer does.
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
    let prompts = seen.prompt.as_deref().and_then(|prompt| none_but(prompt, &seen.screen.lines));
    // The number of the first line that matches; 0: there is none.
    parts.extend(prompts.map(|others| format!("#{{==:#{{C/r:{others}}},0}}")));
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

/// An expression that `text` matches. What has a meaning in formats or expressions counts as any character, and so do
/// frames, of which there are so many that the command would become long.
fn pattern(text: &str) -> String {
    let is_frame = |c: char| matches!(c, '\u{2500}'..='\u{259f}');
    let is_sign = |c: char| !c.is_ascii() && !c.is_whitespace() && !c.is_control() && !is_frame(c);
    text.chars().map(|c| if is_plain(c) || is_sign(c) { c } else { '.' }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ready::Eye;
    use super::*;

    #[test]
    fn what_has_a_meaning_in_a_format_is_any_character() {
        assert_eq!(pattern("│ > /agent-loop 小明 {x},#%:"), ". . /agent-loop 小明 .x.....");
        assert_eq!(matches("pane_title", "a}b"), "#{m/r:^-?a.b$,#{pane_title}}");
        assert_eq!(shows("❯\u{a0}  "), "#{C/r:^❯[[:space:]\u{a0}]*$}");
    }

    /// A window of this kind in which the agent was told `/agent-loop CC`, with `composer` in its seventh line; the
    /// cursor always stands at the end.
    fn painted(kind: &str, composer: &str) -> String {
        let (rule, edge) = ("─".repeat(60), format!("  ╹{}", "▀".repeat(60)));
        let footer = "  ⏵⏵ bypass permissions on (shift+tab to cycle)";
        let line = |text: &str| format!("{text}\x1b[K\r\n");
        let lines = match kind {
            "opencode" => {
                let composer = format!("  ┃  {composer}");
                let told = ["  ┃  /agent-loop CC", "", "     }", "", "", "  ┃"];
                let below = ["  ┃", "  ┃  Build · stub-model Stub", &edge, "   tab agents"];
                told.into_iter().chain([composer.as_str()]).chain(below).map(line).collect::<String>()
            }
            _ => {
                let composer = format!("❯\u{a0}{composer}");
                let told = ["❯\u{a0}/agent-loop CC", "", "● }", "}", "", &rule];
                told.into_iter().chain([composer.as_str(), &rule, footer]).map(line).collect()
            }
        };
        format!("\x1b[H{lines}\x1b[J")
    }

    /// A pane that shows what stands in a file, drawn anew with every key.
    struct Shown {
        sandbox: loop_testkit::Sandbox,
        server: Server,
        id: PaneId,
    }

    impl Shown {
        fn open() -> Self {
            let sandbox = loop_testkit::Sandbox::new();
            let server = Server {
                env: Some(sandbox.env_text()),
                config: Some("/dev/null".into()),
                ..Server::at(sandbox.tmux_socket())
            };
            let screen = sandbox.write("screen", "").to_string_lossy().into_owned();
            let paint = "stty raw -echo; while IFS= read -r line; do cat \"$0\"; done";
            sandbox.tmux(&["new-session", "-d", "-x", "100", "-y", "20", "sh", "-c", paint, &screen]);
            let panes = sandbox.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
            Self { sandbox, server, id: PaneId::new(panes.trim()).expect("a pane") }
        }

        /// Draws the window and returns what is seen as soon as the composer is.
        async fn paint(&self, eye: &Eye<'_>, composer: &str) -> Seen {
            self.sandbox.write("screen", painted(&eye.profile.kind, composer));
            self.sandbox.tmux(&["send-keys", "-t", self.id.as_str(), "-H", "0a"]);
            let what = format!("`{composer}` in the composer");
            loop_testkit::eventually_async(&what, std::time::Duration::from_secs(20), || async {
                let seen = eye.see(&self.server, &self.id).await.map_err(|error| error.to_string())?;
                let drawn = seen.look.composer.as_deref() == Some(composer);
                if drawn { Ok(seen) } else { Err(format!("{:?}", seen.look)) }
            })
            .await
        }
    }

    /// A person's letter must be told also where the same words stand above, and where the cursor tells nothing.
    #[tokio::test]
    async fn a_letter_in_the_composer_changes_the_screen_whatever_stands_above_it() {
        if !loop_testkit::require_tool("tmux", "-V") {
            return;
        }
        let shown = Shown::open();
        let text = "/agent-loop CC";
        for kind in ["claude-code", "opencode"] {
            let profile = loop_core::profile::builtin(kind).expect("a profile");
            let eye = Eye::new(&profile, vec!["sh".to_owned()]);
            for (before, after, is_same) in [
                (text, text, true),
                (text, "/agent-loop CCy", false),
                (text, "/agent-loop CC y", false),
                (text, "y/agent-loop CC", false),
                (text, "/agent-loop", false),
                ("", "", true),
                ("", "y", false),
                ("", text, false),
            ] {
                // All at once what stands above, in a box of lines that are empty: only a cursor tells.
                if (kind, before, after) == ("opencode", "", text) {
                    continue;
                }
                let seen = shown.paint(&eye, before).await;
                shown.paint(&eye, after).await;
                let passed = shown.server.if_unchanged(&shown.id, &seen, "display-message -p passed", "");
                let passed = passed.await.expect("tmux");
                assert_eq!(passed, is_same, "{kind}: {before:?}, then {after:?}");
            }
        }
    }
}
