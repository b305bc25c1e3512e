//! Why a person could not be told.

use std::io;

/// Why a message did not go out. Says nothing that is secret: of an address only the host.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// What the settings lead to is not there: a variable, a file, an address.
    #[error("{key}: {why}")]
    Settings {
        /// The key, `tell.slack.url`.
        key: String,
        /// What is missing.
        why: String,
    },
    /// A program that is needed is not there, or cannot work here.
    #[error("{what}")]
    Missing {
        /// What is missing.
        what: String,
        /// What to do.
        next: String,
    },
    /// The program cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// The program failed.
    #[error("{program} {outcome}{}", colon(.words))]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        outcome: String,
        /// The end of what it printed.
        words: String,
    },
    /// The server cannot be reached, or does not answer in time.
    #[error("cannot reach {host}: {why}")]
    Unreachable {
        /// The server.
        host: String,
        /// The cause.
        why: String,
    },
    /// The server answered that it did not take the message.
    #[error("{host} answered {answer}{}", colon(.words))]
    Refused {
        /// The server.
        host: String,
        /// Its status, or its code.
        answer: String,
        /// The beginning of what it said.
        words: String,
        /// Whether the same message may be taken in a moment.
        may_pass: bool,
        /// What to do.
        next: String,
    },
}

fn colon(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

impl TellError {
    /// Whether trying again in a moment may help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Settings { .. } | Self::Missing { .. } => false,
            Self::Start { .. } | Self::Failed { .. } | Self::Unreachable { .. } => true,
            Self::Refused { may_pass, .. } => *may_pass,
        }
    }

    /// What a person can do about it.
    pub fn next(&self) -> String {
        match self {
            Self::Settings { key, .. } => format!("mend `{key}` in config.yaml, or what it leads to"),
            Self::Missing { next, .. } | Self::Refused { next, .. } => next.clone(),
            Self::Start { .. } => {
                "mend `tell.command` in config.yaml; it needs a program that exists".to_owned()
            }
            Self::Failed { program, .. } => format!("try {program} by hand with the same arguments"),
            Self::Unreachable { .. } => "look at the address, the network and its certificates".to_owned(),
        }
    }
}
