//! What `loop check` and `loop notify` point out in a STATUS.md.

use serde::Serialize;

/// One thing worth pointing out, with the way to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The line of STATUS.md, from 1; 0 when it belongs to no line.
    pub line: usize,
    /// What kind of thing it is.
    pub code: Code,
    /// What is there.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// The kinds of diagnostics, in kebab case on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// A verdict's word stands in a section's last line but gives no verdict, or other text follows it.
    Mention,
    /// A level-2 heading looks like a section of a name that nobody here has.
    UnknownAgent,
    /// The section hands the turn to a name that nobody here has.
    BadTarget,
    /// A code fence is never closed.
    OpenFence,
    /// An HTML comment is never closed.
    OpenComment,
    /// Another HTML block (`<pre>`, `<script>`, CDATA, …) is never closed.
    OpenHtml,
    /// A block holds a `## Name:` line of a known name, which therefore starts no section.
    Swallowed,
    /// A setext heading looks like a section.
    Setext,
    /// A pass names a commit older than the newest change.
    StalePass,
    /// A verdict of an agent that the router had not woken for that turn.
    NotWoken,
    /// A pass that the policy does not accept (yet).
    PassNotEnough,
    /// A section that came from an agent whose turn it was not.
    OutOfTurn,
    /// The body of an older section changed after it was answered.
    OldBodyChanged,
    /// A section vanished, changed its author, or a new one is not the last.
    Rewritten,
    /// New sections of two names came in one commit.
    TwoNames,
    /// The verify command failed on a pass.
    VerifyFailed,
}

impl Code {
    /// The code as it stands on the wire, for example `open-fence`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::UnknownAgent => "unknown-agent",
            Self::BadTarget => "bad-target",
            Self::OpenFence => "open-fence",
            Self::OpenComment => "open-comment",
            Self::OpenHtml => "open-html",
            Self::Swallowed => "swallowed",
            Self::Setext => "setext",
            Self::StalePass => "stale-pass",
            Self::NotWoken => "not-woken",
            Self::PassNotEnough => "pass-not-enough",
            Self::OutOfTurn => "out-of-turn",
            Self::OldBodyChanged => "old-body-changed",
            Self::Rewritten => "rewritten",
            Self::TwoNames => "two-names",
            Self::VerifyFailed => "verify-failed",
        }
    }
}
