//! Panes: finding, recognising and reading them.

use std::fmt;
use std::path::PathBuf;

use loop_core::Name;
use loop_core::screen::Screen;
use serde::{Deserialize, Serialize};

use super::server::{Server, TmuxError};

/// A pane's id, for example `%3`. tmux never gives one twice as long as it runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PaneId(String);

impl PaneId {
    /// Reads an id; `None` when it is not `%` and a number.
    pub fn new(text: &str) -> Option<Self> {
        let number = text.strip_prefix('%')?;
        let digits = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        digits.then(|| Self(text.to_owned()))
    }

    /// As tmux writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PaneId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for PaneId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text).ok_or_else(|| format!("`{text}` is no tmux pane id (`%3`)"))
    }
}

impl From<PaneId> for String {
    fn from(id: PaneId) -> Self {
        id.0
    }
}

/// To whom a pane belongs; kept in its options `@loop_id` and `@loop_agent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tags {
    /// The loop.
    pub loop_id: String,
    /// The agent.
    pub agent: Name,
}

/// One pane as tmux lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    /// Its id.
    pub id: PaneId,
    /// The session that it is in.
    pub session: String,
    /// Its window's name.
    pub window: String,
    /// The process id of its command.
    pub pid: Option<u32>,
    /// Whether its command has ended.
    pub dead: bool,
    /// How it ended (`exit 1`, `signal 9`), as far as it is known.
    pub ended: String,
    /// Whether a person looks at its history: keys would go there.
    pub in_mode: bool,
    /// The name of the program in the foreground.
    pub command: String,
    /// The foreground program's folder.
    pub path: PathBuf,
    /// Whose it is.
    pub tags: Option<Tags>,
    /// Whether it only holds a place for an agent's window.
    pub placeholder: bool,
    /// Names under which the program that was started in it runs.
    pub programs: Vec<String>,
    /// What loop started in it; `None`: nothing, it was opened by a person.
    pub started: Option<Started>,
    /// How many columns and lines it has.
    pub size: (u32, u32),
    /// The socket of its server.
    pub socket: PathBuf,
    /// Its title.
    pub title: String,
}

/// What loop started in a pane; kept in its options `@loop_kind` and `@loop_program`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The agent's kind.
    pub kind: String,
    /// The first word of its command, as it was configured.
    pub program: String,
}

/// Programs that run what is typed into them.
const SHELLS: [&str; 14] = [
    "bash", "zsh", "sh", "fish", "dash", "nu", "pwsh", "ksh", "mksh", "ash", "tcsh", "csh", "elvish", "xonsh",
];

/// Fewer columns or lines than this are not enough for every CLI to show its composer.
const ROOM: (u32, u32) = (40, 10);

impl Pane {
    /// How large it is, in words, where that is too small to be read for certain.
    pub(super) fn too_small(&self) -> Option<String> {
        let (columns, lines) = self.size;
        (columns < ROOM.0 || lines < ROOM.1).then(|| {
            format!("its window is too small to be read, {columns} columns by {lines} lines: make it larger")
        })
    }

    /// Whether it shows a shell instead of an agent. An agent that was started by a script runs under its shell's
    /// name, and is none.
    pub fn shows_shell(&self) -> bool {
        SHELLS.contains(&self.command.as_str()) && !self.programs.contains(&self.command)
    }
}

/// A character that stands in no name: other separators are changed by one version of tmux or another.
const SEPARATOR: char = '\u{241e}';

const FIELDS: [&str; 20] = [
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "pane_in_mode",
    "@loop_id",
    "@loop_agent",
    "@loop_placeholder",
    "@loop_programs",
    "@loop_kind",
    "@loop_program",
    "pane_width",
    "pane_height",
    "session_name",
    "pane_current_command",
    "socket_path",
    "window_name",
    "pane_current_path",
    "pane_title",
];

/// Stands between the list of panes and the screen of one; what follows it in its line is [`PLACE`].
const MARK: &str = "\u{241e}screen\u{241e}";

/// Where the cursor is, and what has scrolled away: moves with nearly everything that a program draws.
pub(super) const PLACE: &str = "#{cursor_x} #{cursor_y} #{history_size}";

fn format() -> String {
    FIELDS.map(|field| format!("#{{{field}}}")).join(&SEPARATOR.to_string())
}

fn read(line: &str) -> Option<Pane> {
    let fields: Vec<&str> = line.splitn(FIELDS.len(), SEPARATOR).collect();
    let [
        id,
        pid,
        dead,
        status,
        signal,
        mode,
        loop_id,
        agent,
        place,
        programs,
        kind,
        program,
        width,
        height,
        session,
        command,
        socket,
        window,
        path,
        title,
    ] = fields.as_slice()
    else {
        return None;
    };
    let ended = match (*dead, *signal, *status) {
        // The terminal is closed before the status is known, and tmux 3.3 sometimes never learns it.
        ("1", "", "") => "how is not known".to_owned(),
        ("1", "", status) => format!("exit {status}"),
        ("1", signal, _) => format!("signal {signal}"),
        _ => String::new(),
    };
    let tags = Name::new(agent).ok().map(|agent| Tags { loop_id: (*loop_id).to_owned(), agent });
    Some(Pane {
        id: PaneId::new(id)?,
        session: (*session).to_owned(),
        window: (*window).to_owned(),
        pid: pid.parse().ok(),
        dead: *dead == "1",
        ended,
        in_mode: !matches!(*mode, "" | "0"),
        command: command.trim_start_matches('-').to_owned(),
        path: PathBuf::from(path),
        tags,
        placeholder: *place == "1",
        programs: programs.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        started: (!kind.is_empty())
            .then(|| Started { kind: (*kind).to_owned(), program: (*program).to_owned() }),
        size: (width.parse().unwrap_or_default(), height.parse().unwrap_or_default()),
        socket: PathBuf::from(socket),
        title: (*title).to_owned(),
    })
}

impl Server {
    /// Returns every pane of the server; none when no server runs.
    ///
    /// # Errors
    /// Fails when tmux cannot be run or does not answer.
    pub async fn panes(&self) -> Result<Vec<Pane>, TmuxError> {
        match self.tmux(&["list-panes", "-a", "-F", &format()]).await {
            Ok(list) => Ok(list.lines().filter_map(read).collect()),
            Err(TmuxError::NoServer(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Returns the pane with this id.
    ///
    /// # Errors
    /// Fails when there is none any more.
    pub async fn pane(&self, id: &PaneId) -> Result<Pane, TmuxError> {
        let panes = self.panes().await?;
        panes.into_iter().find(|pane| pane.id == *id).ok_or_else(|| TmuxError::NoPane(id.to_string()))
    }

    /// Returns the pane that belongs to this loop and agent, a living one before a dead one.
    ///
    /// # Errors
    /// Fails when tmux cannot be run or does not answer.
    pub async fn find(&self, tags: &Tags) -> Result<Option<Pane>, TmuxError> {
        Ok(self.all_of(tags).await?.into_iter().next())
    }

    /// Returns every pane that belongs to this loop and agent, living ones before dead ones.
    ///
    /// # Errors
    /// Fails when tmux cannot be run or does not answer.
    pub async fn all_of(&self, tags: &Tags) -> Result<Vec<Pane>, TmuxError> {
        let mut panes = self.panes().await?;
        panes.retain(|pane| pane.tags.as_ref() == Some(tags));
        // A window that is linked into several sessions is listed for each.
        panes.sort_by_key(|pane| (pane.dead, pane.id.clone()));
        panes.dedup_by(|one, other| one.id == other.id);
        Ok(panes)
    }

    /// Writes into the pane's options to whom it belongs.
    ///
    /// # Errors
    /// Fails when there is no such pane.
    pub async fn tag(&self, id: &PaneId, tags: &Tags) -> Result<(), TmuxError> {
        self.pane(id).await?;
        for (option, value) in [("@loop_id", tags.loop_id.as_str()), ("@loop_agent", tags.agent.as_str())] {
            self.tmux(&["set-option", "-p", "-t", id.as_str(), option, value]).await?;
        }
        Ok(())
    }

    /// Takes those options away again; the pane stays.
    ///
    /// # Errors
    /// Fails when there is no such pane.
    pub async fn untag(&self, id: &PaneId) -> Result<(), TmuxError> {
        self.pane(id).await?;
        for option in ["@loop_id", "@loop_agent"] {
            self.tmux(&["set-option", "-p", "-u", "-t", id.as_str(), option]).await?;
        }
        Ok(())
    }

    /// Returns a pane with its visible lines, how they are drawn, and its [`PLACE`], all of one moment.
    ///
    /// Lines that the terminal broke stay broken. tmux could join them (`-J`), but what it takes for broken is wrong
    /// in a window that was made narrower: the mark stays with the row, whatever a program draws there afterwards,
    /// and then a composer's line hangs on the line above it, out of every rule's sight.
    pub(crate) async fn look_at(&self, id: &PaneId) -> Result<(Pane, Screen, String), TmuxError> {
        let format = format();
        let mark = format!("{MARK}{PLACE}");
        let target = id.as_str();
        let seen = self
            .tmux(&[
                "list-panes",
                "-a",
                "-F",
                &format,
                ";",
                "display-message",
                "-p",
                "-t",
                target,
                &mark,
                ";",
                "capture-pane",
                "-e",
                "-p",
                "-t",
                target,
            ])
            .await;
        let text = match seen {
            Ok(text) => text,
            // Says which of the two it was: the pane, or tmux.
            Err(error) => return self.pane(id).await.and(Err(error)),
        };
        let mut lines = text.lines();
        let mut pane = None;
        let mut place = String::new();
        for line in lines.by_ref() {
            if let Some(found) = line.strip_prefix(MARK) {
                place = found.to_owned();
                break;
            }
            pane = pane.or_else(|| read(line).filter(|pane| pane.id == *id));
        }
        let pane = pane.ok_or_else(|| TmuxError::NoPane(id.to_string()))?;
        let screen = Screen::drawn(pane.title.clone(), &lines.collect::<Vec<_>>().join("\n"));
        Ok((pane, screen, place))
    }

    /// Returns the last lines of a pane as harmless text.
    ///
    /// # Errors
    /// Fails when there is no such pane.
    pub async fn last_lines(&self, id: &PaneId) -> Result<String, TmuxError> {
        // With some history: what a program says at its end, tmux's own last line pushes off the screen.
        let text = self.tmux(&["capture-pane", "-p", "-J", "-S", "-40", "-t", id.as_str()]).await?;
        Ok(crate::neutral(&text))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn ids_are_checked() {
        for (text, good) in
            [("%0", true), ("%12", true), ("%", false), ("3", false), ("%1;kill-server", false)]
        {
            assert_eq!(PaneId::new(text).is_some(), good, "{text}");
        }
    }

    #[test]
    fn a_listed_pane_is_read() {
        let line = |fields: [&str; 20]| fields.join(&SEPARATOR.to_string());
        let pane = read(&line([
            "%3", "42", "0", "", "", "1", "l1", "小明", "", "a bash", "generic", "./a", "120", "30",
            "loop-x", "-bash", "/tmp/s", "CC", "/a b", "t␞x",
        ]))
        .unwrap();
        assert_eq!(pane.tags.as_ref().unwrap().agent.as_str(), "小明");
        assert_eq!((pane.command.as_str(), pane.in_mode, pane.title.as_str()), ("bash", true, "t␞x"));
        assert_eq!(pane.programs, ["a", "bash"]);
        let started = Started { kind: "generic".into(), program: "./a".into() };
        assert_eq!(pane.started, Some(started));
        // The agent is a script; in a window of another program the same would be a shell.
        assert!(!pane.shows_shell());
        assert!(Pane { programs: vec!["a".into()], ..pane }.shows_shell());
        let ended =
            ["%3", "42", "1", "7", "", "0", "", "", "", "", "", "", "9", "4", "s", "", "", "", "", ""];
        let dead = read(&line(ended)).unwrap();
        assert_eq!((dead.started, dead.size), (None, (9, 4)));
        assert_eq!((dead.dead, dead.ended.as_str(), dead.tags), (true, "exit 7", None));
        assert_eq!(read("%3"), None);
    }
}
