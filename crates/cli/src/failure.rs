//! What goes wrong at the edge: what happened, why, what to do next, and the exit code.

use std::fmt::Display;
use std::process::ExitCode;

use loop_core::plain::plain;

/// Done.
pub(crate) const DONE: u8 = 0;
/// The user's: a wrong name, a missing file, a held loop.
pub(crate) const USERS: u8 = 1;
/// The command line.
pub(crate) const COMMAND_LINE: u8 = 2;
/// Nothing to do, or not your turn.
pub(crate) const NOTHING: u8 = 3;
/// A limit, or a timeout.
pub(crate) const LIMIT: u8 = 4;
/// Ours: the router cannot be reached, the store is broken.
pub(crate) const OURS: u8 = 5;

/// What to do when the state folder refuses.
const STATE_FOLDER: &str = "see to it that you can write there; `loop store where` names the place, XDG_STATE_HOME in the environment moves it";

/// The result of a command.
pub(crate) type Done = Result<ExitCode, Failure>;

/// A command that could not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    error: anyhow::Error,
    next: Option<String>,
}

impl Failure {
    /// The user can mend it.
    pub(crate) fn users(error: impl Into<anyhow::Error>) -> Self {
        Self { code: USERS, error: error.into(), next: None }
    }

    /// The user can mend it: in words.
    pub(crate) fn say(what: impl Display) -> Self {
        Self::users(anyhow::anyhow!("{what}"))
    }

    /// Something of ours is broken.
    pub(crate) fn ours(error: impl Into<anyhow::Error>) -> Self {
        Self { code: OURS, error: error.into(), next: None }
    }

    /// With another exit code.
    pub(crate) fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// What to do next.
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Whether something of ours is to blame, and not the user's.
    pub(crate) fn is_ours(&self) -> bool {
        self.code == OURS
    }

    /// What happened, in one line.
    pub(crate) fn words(&self) -> String {
        plain(&format!("{:#}", self.error)).into_owned()
    }

    /// Prints to stderr and gives the exit code.
    pub(crate) fn print(&self, color: bool) -> ExitCode {
        let (red, cyan, off) = if color { ("\x1b[31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
        let mut chain = self.error.chain();
        let what = chain.next().map(ToString::to_string).unwrap_or_default();
        let mut text = format!("{red}error:{off} {}\n", plain(what.trim_end()));
        let mut said = what;
        for cause in chain {
            let cause = cause.to_string();
            if !said.contains(&cause) {
                text.push_str(&format!("  because: {}\n", plain(&cause)));
                said.push_str(&cause);
            }
        }
        if let Some(next) = &self.next {
            text.push_str(&format!("{cyan}next:{off} {}\n", plain(next)));
        }
        // Where nobody reads stderr any more, nothing is to be said.
        let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), text.as_bytes());
        ExitCode::from(self.code)
    }
}

impl From<loop_store::StoreError> for Failure {
    fn from(error: loop_store::StoreError) -> Self {
        use loop_store::StoreError;
        match error {
            // They say themselves what to do.
            StoreError::Corrupt { .. } | StoreError::Newer { .. } | StoreError::Busy { .. } => {
                Self::ours(error)
            }
            StoreError::UnknownScheme { .. } | StoreError::BadUrl { .. } => {
                Self::users(error).next("mend `store:` in your config.yaml, or leave it out")
            }
            StoreError::Io { .. } | StoreError::ReadOnly { .. } | StoreError::Full { .. } => {
                Self::ours(error).next(STATE_FOLDER)
            }
            error => {
                Self::ours(error).next("`loop store check` looks at the store; `loop doctor` at everything")
            }
        }
    }
}

impl From<loop_git::GitError> for Failure {
    fn from(error: loop_git::GitError) -> Self {
        let hint = error.hint();
        let failure = Self::users(error);
        match hint {
            Some(hint) => failure.next(hint),
            None => failure,
        }
    }
}

impl From<loop_router::key::KeyError> for Failure {
    fn from(error: loop_router::key::KeyError) -> Self {
        match error {
            loop_router::key::KeyError::Io { .. } => Self::ours(error).next(STATE_FOLDER),
            error => Self::users(error),
        }
    }
}

impl From<loop_router::reading::ReadError> for Failure {
    fn from(error: loop_router::reading::ReadError) -> Self {
        match error {
            loop_router::reading::ReadError::Git(error) => error.into(),
            none @ loop_router::reading::ReadError::NoConfig(_) => {
                Self::users(none).next("`loop init` writes one")
            }
            error => Self::users(error),
        }
    }
}
