//! Opening and closing agents' windows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::pane::{Pane, PaneId, Tags};
use super::quote::{literal, quote};
use super::server::{Server, TmuxError};
use crate::process::{end_group, end_leftovers, hang_up};
use crate::search_path::{find, names};

/// A window to be opened for an agent.
#[derive(Clone)]
pub struct OpenWindow {
    /// The tmux session; made when it is not there.
    pub session: String,
    /// The window's name.
    pub name: String,
    /// The agent's kind.
    pub kind: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its whole environment. tmux adds `TMUX`, `TMUX_PANE` and its `TERM`; nothing else of the server's gets in.
    pub env: BTreeMap<String, String>,
    /// Its folder.
    pub cwd: PathBuf,
    /// Whose it is.
    pub tags: Tags,
}

/// Holds a new window open until its options are set; replaced at once.
const PLACEHOLDER: &str = "cat";

/// What tmux itself puts into a pane's environment.
const OF_TMUX: [&str; 5] = ["TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"];

impl Server {
    /// Whether there is a session of exactly this name.
    ///
    /// # Errors
    /// Fails when tmux cannot be run or does not answer.
    pub async fn session_exists(&self, name: &str) -> Result<bool, TmuxError> {
        // Without `=` a prefix of the name would do.
        match self.tmux(&["has-session", "-t", &format!("={name}")]).await {
            Ok(_) => Ok(true),
            Err(TmuxError::NoServer(_) | TmuxError::Refused { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes the session unless it is there. Its first window only holds a place until [`Self::open_window`] takes
    /// it. Returns whether it was made.
    ///
    /// # Errors
    /// Fails when tmux refuses.
    pub async fn ensure_session(&self, name: &str, cwd: &Path) -> Result<bool, TmuxError> {
        if self.session_exists(name).await? {
            return Ok(false);
        }
        let cwd = literal(&cwd.display().to_string());
        // The size holds until somebody attaches: enough for dialogs, which CLIs fold in narrow windows.
        let made = self
            .tmux(&[
                "new-session",
                "-d",
                "-P",
                "-F",
                "#{pane_id}",
                "-s",
                name,
                "-c",
                &cwd,
                "-x",
                "160",
                "-y",
                "50",
                "--",
                PLACEHOLDER,
            ])
            .await;
        match made {
            Ok(id) => {
                self.tmux(&["set-option", "-p", "-t", id.trim(), "@loop_placeholder", "1"]).await?;
                Ok(true)
            }
            // Another process was faster.
            Err(TmuxError::Refused { words, .. }) if words.contains("duplicate session") => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens a window in which the agent's program runs as the pane's own command.
    ///
    /// The pane has its tags before the program starts, and stays when it ends. [`Self::wait_ready`] says when the
    /// agent takes input.
    ///
    /// # Errors
    /// Fails when tmux refuses, or the folder or the program is not there.
    pub async fn open_window(&self, window: &OpenWindow) -> Result<PaneId, TmuxError> {
        if !window.cwd.is_dir() {
            return Err(TmuxError::Window(format!("the folder {} is not there", window.cwd.display())));
        }
        // A window would only show that it is dead: what ends at once may be gone before tmux has read its words.
        if let Some(program) = window.argv.first().filter(|_| window.env.contains_key("PATH"))
            && find(program, &window.env, &window.cwd).is_none()
        {
            return Err(TmuxError::Window(format!(
                "cannot find `{program}` for {} in its PATH; install it, or set `command:` in loop.yaml",
                window.tags.agent
            )));
        }
        self.ensure_session(&window.session, &window.cwd).await?;
        let name = literal(&window.name);
        let place =
            self.panes().await?.into_iter().find(|pane| pane.placeholder && pane.session == window.session);
        let id = match place {
            Some(pane) => {
                let id = pane.id.as_str();
                self.tmux(&["set-option", "-p", "-u", "-t", id, "@loop_placeholder"]).await?;
                self.tmux(&["rename-window", "-t", id, &name]).await?;
                pane.id
            }
            None => {
                let session = format!("={}:", window.session);
                let made = self
                    .tmux(&[
                        "new-window",
                        "-d",
                        "-P",
                        "-F",
                        "#{pane_id}",
                        "-t",
                        &session,
                        "-n",
                        &name,
                        "--",
                        PLACEHOLDER,
                    ])
                    .await?;
                PaneId::new(made.trim())
                    .ok_or_else(|| TmuxError::Window(format!("tmux answered {made:?}")))?
            }
        };
        self.tag(&id, &window.tags).await?;
        for (option, value) in
            [("remain-on-exit", "on"), ("automatic-rename", "off"), ("allow-rename", "off")]
        {
            self.tmux(&["set-option", "-w", "-t", id.as_str(), option, value]).await?;
        }
        match self.respawn(&id, window).await {
            Ok(()) => Ok(id),
            Err(error) => {
                // The window was only opened for this; the first error is the one that counts.
                let _ = self.kill_window(&id).await;
                Err(error)
            }
        }
    }

    /// Starts the agent's program (again) in a window that is there. What runs in it has ended before, also what
    /// would stay when its terminal goes: two must not write one conversation.
    ///
    /// # Errors
    /// Fails when tmux refuses or there is no such pane.
    pub async fn respawn(&self, id: &PaneId, window: &OpenWindow) -> Result<(), TmuxError> {
        let pane = self.pane(id).await?;
        // Its window must not close with it.
        self.tmux(&["set-option", "-w", "-t", id.as_str(), "remain-on-exit", "on"]).await?;
        end(&pane).await;
        let strip = self.names_to_strip(&pane.session, &window.env).await?;
        let command = respawn_command(id, window, &strip).ok_or_else(|| {
            TmuxError::Window(format!(
                "the command or an environment variable of {} cannot be used",
                window.tags.agent
            ))
        })?;
        let programs = window.argv.first().map(|program| names(program, &window.env, &window.cwd));
        let programs = programs.unwrap_or_default().join(" ");
        let program = window.argv.first().cloned().unwrap_or_default();
        for (option, value) in
            [("@loop_programs", &programs), ("@loop_kind", &window.kind), ("@loop_program", &program)]
        {
            self.tmux(&["set-option", "-p", "-t", id.as_str(), "--", option, value]).await?;
        }
        self.source(&command).await?;
        Ok(())
    }

    /// The variables of the server and the session that the program must not inherit.
    async fn names_to_strip(
        &self,
        session: &str,
        env: &BTreeMap<String, String>,
    ) -> Result<BTreeSet<String>, TmuxError> {
        let server = self.tmux(&["show-environment", "-g"]).await?;
        let session = self.tmux(&["show-environment", "-t", &format!("={session}")]).await?;
        let names = server.lines().chain(session.lines()).filter_map(|line| Some(line.split_once('=')?.0));
        // A value of several lines looks like more names; taking away what is not there does no harm.
        let plain =
            |name: &&str| !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace);
        let ours = |name: &&str| env.contains_key(*name) || OF_TMUX.contains(name);
        Ok(names.filter(plain).filter(|name| !ours(name)).map(str::to_owned).collect())
    }

    /// Closes the pane's window and ends what runs in it, also what stays when its terminal goes (Gemini CLI does).
    ///
    /// # Errors
    /// Fails when tmux cannot be run; a window that is gone is no error.
    pub async fn kill_window(&self, id: &PaneId) -> Result<(), TmuxError> {
        let Some(pane) = self.panes().await?.into_iter().find(|pane| pane.id == *id) else {
            return Ok(());
        };
        match self.tmux(&["kill-pane", "-t", id.as_str()]).await {
            Ok(_) | Err(TmuxError::NoServer(_)) => {}
            Err(error) => return Err(error),
        }
        // The kill has hung up already.
        match pane.pid {
            Some(leader) if pane.dead => end_leftovers(leader).await,
            Some(leader) => end_group(leader).await,
            None => {}
        }
        Ok(())
    }

    /// Returns the panes that belong to a loop.
    ///
    /// # Errors
    /// Fails when tmux cannot be run or does not answer.
    pub async fn panes_of(&self, loop_id: &str) -> Result<Vec<Pane>, TmuxError> {
        let mut panes = self.panes().await?;
        panes.retain(|pane| pane.tags.as_ref().is_some_and(|tags| tags.loop_id == loop_id));
        Ok(panes)
    }

    /// Waits until the foreground program of a pane runs in `cwd`, where tmux can tell.
    pub(super) fn runs_elsewhere(pane: &Pane, cwd: &Path) -> bool {
        let same = |left: &Path, right: &Path| left.canonicalize().ok() == right.canonicalize().ok();
        !pane.path.as_os_str().is_empty() && !same(&pane.path, cwd)
    }
}

/// Ends what runs in a pane, whose window stays.
async fn end(pane: &Pane) {
    match pane.pid {
        Some(leader) if pane.dead => end_leftovers(leader).await,
        Some(leader) => hang_up(leader).await,
        None => {}
    }
}

/// tmux's command that starts the program. `env -u NAME` takes away what must not be inherited: names only, so the
/// arguments tell nothing; the values go the other way, by `-e`.
fn respawn_command(id: &PaneId, window: &OpenWindow, strip: &BTreeSet<String>) -> Option<String> {
    let cwd = literal(&window.cwd.display().to_string());
    let mut words: Vec<String> =
        ["respawn-pane", "-k", "-t", id.as_str(), "-c", &cwd].map(str::to_owned).into();
    for (name, value) in &window.env {
        (!name.is_empty() && !name.contains('=')).then_some(())?;
        words.extend(["-e".to_owned(), format!("{name}={value}")]);
    }
    words.extend(["--".to_owned(), "env".to_owned()]);
    words.extend(strip.iter().flat_map(|name| ["-u".to_owned(), name.clone()]));
    // tmux gives a program the PATH of whoever ran tmux, whatever `-e` says.
    words.extend(window.env.get("PATH").map(|path| format!("PATH={path}")));
    (!window.argv.first()?.is_empty()).then_some(())?;
    words.extend(window.argv.iter().cloned());
    let quoted: Option<Vec<String>> = words.iter().map(|word| quote(word)).collect();
    Some(format!("{}\n", quoted?.join(" ")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use loop_core::Name;

    use super::*;

    #[test]
    fn values_go_by_option_and_names_are_stripped() {
        let mut window = OpenWindow {
            session: "loop-x".into(),
            name: "CC".into(),
            kind: "claude-code".into(),
            argv: vec!["claude".into(), "it's; $x".into()],
            env: BTreeMap::from([("KEY".into(), "a\nb".into())]),
            cwd: "/a#b".into(),
            tags: Tags { loop_id: "l".into(), agent: Name::new("CC").unwrap() },
        };
        let id = PaneId::new("%4").unwrap();
        let strip = BTreeSet::from(["SSH_TTY".to_owned()]);
        assert_eq!(
            respawn_command(&id, &window, &strip).unwrap(),
            "\"respawn-pane\" \"-k\" \"-t\" \"%4\" \"-c\" \"/a##b\" \"-e\" \"KEY=a\\nb\" \"--\" \"env\" \"-u\" \
             \"SSH_TTY\" \"claude\" \"it's; \\$x\"\n"
        );
        window.env = BTreeMap::from([("PATH".into(), "/own".into())]);
        let command = respawn_command(&id, &window, &strip).unwrap();
        assert!(command.contains("\"env\" \"-u\" \"SSH_TTY\" \"PATH=/own\" \"claude\""), "{command}");
        window.argv.clear();
        assert_eq!(respawn_command(&id, &window, &strip), None);
    }
}
