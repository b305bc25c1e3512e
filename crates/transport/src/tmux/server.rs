//! Running the tmux program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::process::Command;

use crate::neutral;
use crate::process::{NotRun, run};

/// The longest that tmux may take to answer.
const DEADLINE: Duration = Duration::from_secs(10);

/// A tmux server: the program, and the socket on which it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The tmux program.
    pub program: PathBuf,
    /// Its socket; `None`: the user's default one, also inside another tmux.
    pub socket: Option<PathBuf>,
    /// The environment of the tmux program; `None`: that of this process.
    pub env: Option<BTreeMap<String, String>>,
    /// tmux's configuration file instead of the user's.
    pub config: Option<PathBuf>,
}

impl Default for Server {
    fn default() -> Self {
        Self { program: PathBuf::from("tmux"), socket: None, env: None, config: None }
    }
}

/// Why tmux did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    /// There is no such program.
    #[error("cannot run `{}`: {source}; install tmux, or use the transport `exec`", program.display())]
    Missing {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No server listens on the socket.
    #[error("no tmux server is running: {0}")]
    NoServer(String),
    /// tmux refused.
    #[error("tmux refused `{command}`: {words}")]
    Refused {
        /// What it was asked, without arguments.
        command: String,
        /// What it said.
        words: String,
    },
    /// tmux did not answer in time.
    #[error("tmux did not answer `{command}` within {} s", DEADLINE.as_secs())]
    TimedOut {
        /// What it was asked, without arguments.
        command: String,
    },
    /// The pane is not there any more.
    #[error("there is no tmux pane {0} any more")]
    NoPane(String),
    /// The agent's command cannot be started in a window.
    #[error("{0}")]
    Window(String),
}

/// tmux's version, for example 3.3a.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The number before the dot.
    pub major: u32,
    /// The number behind it.
    pub minor: u32,
    /// As tmux says it.
    pub text: String,
}

impl Version {
    /// The oldest version that this crate can work with: 3.2 gave `-e` to `new-session`.
    pub const OLDEST: (u32, u32) = (3, 2);

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().strip_prefix("tmux ")?;
        let number = text.trim_start_matches("next-").trim_start_matches("openbsd-");
        let (major, rest) = number.split_once('.')?;
        let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()?, text: text.to_owned() })
    }

    /// Whether it is not too old.
    pub fn works(&self) -> bool {
        (self.major, self.minor) >= Self::OLDEST
    }
}

impl Server {
    /// The server on the socket at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { socket: Some(path.into()), ..Self::default() }
    }

    /// Returns the version of the tmux program.
    ///
    /// # Errors
    /// Fails when there is no such program or it says something else.
    pub async fn version(&self) -> Result<Version, TmuxError> {
        let said = self.tmux(&["-V"]).await?;
        Version::parse(&said)
            .ok_or_else(|| TmuxError::Refused { command: "-V".to_owned(), words: neutral(&said) })
    }

    /// Runs tmux with these arguments and returns what it prints.
    pub(crate) async fn tmux(&self, arguments: &[&str]) -> Result<String, TmuxError> {
        self.run(arguments, None).await
    }

    /// Lets tmux read commands from its stdin: what stands there is in no process's arguments.
    pub(super) async fn source(&self, commands: &str) -> Result<String, TmuxError> {
        self.run(&["source-file", "-"], Some(commands.as_bytes())).await
    }

    pub(crate) async fn run(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<String, TmuxError> {
        let mut command = Command::new(&self.program);
        // Without -u tmux replaces every letter beyond ASCII where the locale is not UTF-8.
        command.arg("-u");
        if let Some(config) = &self.config {
            command.arg("-f").arg(config);
        }
        if let Some(socket) = &self.socket {
            command.arg("-S").arg(socket);
        }
        if let Some(env) = &self.env {
            command.env_clear().envs(env);
        }
        // Inside a tmux these two would choose its server instead of ours.
        command.args(arguments).env_remove("TMUX").env_remove("TMUX_PANE");
        let asked = || arguments.first().copied().unwrap_or_default().to_owned();
        let ran = run(command, input, DEADLINE).await.map_err(|problem| match problem {
            NotRun::Start(source) => TmuxError::Missing { program: self.program.clone(), source },
            NotRun::TimedOut => TmuxError::TimedOut { command: asked() },
            NotRun::Wait(error) => TmuxError::Refused { command: asked(), words: error.to_string() },
        })?;
        if ran.status.success() {
            return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
        }
        let words = neutral(&String::from_utf8_lossy(&ran.stderr));
        // The last is what a server that is just exiting says to `list-panes`.
        let no_server = [
            "no server running",
            "error connecting to",
            "server exited",
            "lost server",
            "no sessions",
            "no current target",
        ];
        if no_server.iter().any(|sign| words.contains(sign)) {
            return Err(TmuxError::NoServer(words));
        }
        Err(TmuxError::Refused { command: asked(), words })
    }

    /// The arguments by which a person reaches this server (`tmux -S path attach`).
    pub fn arguments(&self) -> Vec<OsString> {
        let socket = self.socket.iter().flat_map(|socket| [OsString::from("-S"), socket.into()]);
        std::iter::once(self.program.clone().into()).chain(socket).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, expected) in [
            ("tmux 3.3a\n", Some((3, 3, true))),
            ("tmux 3.2", Some((3, 2, true))),
            ("tmux next-3.7", Some((3, 7, true))),
            ("tmux 2.9a", Some((2, 9, false))),
            ("tmux 10.0", Some((10, 0, true))),
            ("screen 4", None),
        ] {
            let version = Version::parse(text);
            assert_eq!(version.map(|v| (v.major, v.minor, v.works())), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn a_missing_program_says_what_to_do() {
        let server = Server { program: "no-such-tmux".into(), ..Server::default() };
        let error = server.version().await.unwrap_err();
        assert!(matches!(error, TmuxError::Missing { .. }));
        assert!(error.to_string().contains("install tmux"), "{error}");
    }
}
