//! The environment that git gets.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// The `GIT_*` variables that git may keep. All others are dropped.
///
/// Kept is what says how git works for this user: where its configuration is, how it reaches a remote, and in
/// whose name it commits (in containers often the only identity there is). Dropped is what says *where* or *when*:
/// everything in `git rev-parse --local-env-vars` (hooks inherit `GIT_DIR`, a relative `GIT_INDEX_FILE`, …), dates
/// (hooks inherit their commit's), traces, pathspec modes and whatever comes after this list was written.
const KEPT: [&str; 13] = [
    "GIT_ASKPASS",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
];

/// What no run of git may wait for: an editor or a password.
const SET: [(&str, &str); 4] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", ":"), ("GIT_SEQUENCE_EDITOR", ":"), ("GIT_PAGER", "cat")];

/// The environment that the `git` program gets: the caller's, without the `GIT_*` variables that lead it astray.
#[derive(Clone, Default)]
pub struct GitEnv {
    pairs: Vec<(OsString, OsString)>,
}

impl GitEnv {
    /// Takes an environment (for example `std::env::vars_os()`) and leaves out what git must not inherit.
    pub fn from_vars<K, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { pairs: pairs.filter(|(name, _)| may_keep(name)).collect() }
    }

    /// Returns the environment with one variable set, whatever its name.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.pairs.retain(|(other, _)| *other != name);
        self.pairs.push((name, value.into()));
        self
    }

    /// The variables as the `git` program gets them.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let own = SET.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)));
        self.pairs.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).chain(own)
    }
}

/// Names only: an environment holds secrets.
impl fmt::Debug for GitEnv {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.pairs.iter().map(|(name, _)| name)).finish()
    }
}

fn may_keep(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(b"GIT_") || KEPT.iter().any(|kept| name == *kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_git_astray_is_dropped() {
        let local = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT \
            GIT_OBJECT_DIRECTORY GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE \
            GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE GIT_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR GIT_AUTHOR_DATE \
            GIT_COMMITTER_DATE GIT_TRACE GIT_LITERAL_PATHSPECS GIT_NAMESPACE GIT_DEFAULT_HASH";
        let env = GitEnv::from_vars(local.split_whitespace().map(|name| (name, "x")));
        assert_eq!(env.pairs().count(), SET.len());
        let env =
            GitEnv::from_vars([("PATH", "/bin"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_EDITOR", "vi")]);
        let seen: Vec<_> = env.pairs().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert_eq!(seen[..2], ["PATH", "GIT_CONFIG_GLOBAL"]);
        assert_eq!(format!("{env:?}"), r#"["PATH", "GIT_CONFIG_GLOBAL"]"#, "no values");
        assert_eq!(
            env.pairs().find(|(name, _)| *name == "GIT_EDITOR").map(|(_, value)| value),
            Some(OsStr::new(":"))
        );
    }
}
