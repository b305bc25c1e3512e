//! Where an agent runs, and where its CLI therefore records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// Where an agent runs.
#[derive(Debug, Clone)]
pub struct Place {
    /// The home folder.
    pub home: PathBuf,
    /// The agent's own environment.
    pub env: BTreeMap<String, String>,
    /// Its working tree.
    pub folder: PathBuf,
    /// When its process began, where that is known: what ran in the background of an earlier one ended with that.
    pub since: Option<Timestamp>,
}

impl Place {
    /// Returns the first of the places `at` whose variables are all set. `~` at the start is the home folder, `$NAME`
    /// and `${NAME}` are variables, `{repo}` is the working tree; what is relative lies in the working tree.
    fn resolve(&self, at: &[String]) -> Option<PathBuf> {
        at.iter().find_map(|at| self.filled(at.trim()))
    }

    fn filled(&self, at: &str) -> Option<PathBuf> {
        if at.is_empty() {
            return None;
        }
        let mut path = String::new();
        let mut rest = at;
        if at == "~" || at.starts_with("~/") {
            path.push_str(self.home.to_str()?);
            rest = &at[1..];
        }
        let folder = self.folder.to_str()?;
        while let Some(start) = rest.find(['$', '{']) {
            path.push_str(&rest[..start]);
            rest = &rest[start..];
            if let Some(after) = rest.strip_prefix("{repo}") {
                path.push_str(folder);
                rest = after;
                continue;
            }
            match variable(rest) {
                Some((name, after)) => {
                    path.push_str(self.env.get(name).filter(|value| !value.is_empty())?);
                    rest = after;
                }
                None => {
                    path.push_str(&rest[..1]);
                    rest = &rest[1..];
                }
            }
        }
        path.push_str(rest);
        Some(self.folder.join(path))
    }

    /// The working tree as it was given, and as the system names it: a CLI asks the system, which resolves symlinks.
    fn folders(self) -> Vec<PathBuf> {
        let real = self.folder.canonicalize().ok().filter(|real| *real != self.folder);
        [Some(self.folder), real].into_iter().flatten().collect()
    }

    /// Where the records named by `at` lie, and whose they must be.
    pub(crate) fn site(self, at: &[String]) -> Option<Site> {
        Some(Site { at: self.resolve(at)?, since: self.since, folders: self.folders() })
    }
}

/// Records of one agent.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// The folder or file that holds them.
    pub(crate) at: PathBuf,
    /// The names of the agent's working tree.
    pub(crate) folders: Vec<PathBuf>,
    /// When the agent's process began.
    pub(crate) since: Option<Timestamp>,
}

impl Site {
    /// Whether `path`, as a CLI wrote it down, is the agent's working tree.
    pub(crate) fn is_ours(&self, path: &str) -> bool {
        self.folders.iter().any(|folder| folder == Path::new(path))
    }
}

/// The variable at the start of `text`, and what follows it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let name = text.strip_prefix('$')?;
    if let Some(braced) = name.strip_prefix('{') {
        let (name, after) = braced.split_once('}')?;
        return Some((name, after));
    }
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    (end > 0).then(|| name.split_at(end))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_first_place_whose_variables_are_set() {
        let place = Place {
            home: "/home/me".into(),
            env: [("CODEX_HOME", "/srv/codex"), ("EMPTY", "")].map(|(k, v)| (k.into(), v.into())).into(),
            folder: "/srv/repo".into(),
            since: None,
        };
        let cases: &[(&[&str], Option<&str>)] = &[
            (&["$CODEX_HOME/sessions", "~/.codex/sessions"], Some("/srv/codex/sessions")),
            (&["$OTHER/sessions", "~/.codex/sessions"], Some("/home/me/.codex/sessions")),
            (&["$EMPTY/sessions", "~"], Some("/home/me")),
            (&["${CODEX_HOME}_2/x"], Some("/srv/codex_2/x")),
            (&["{repo}/.zcode/db.sqlite"], Some("/srv/repo/.zcode/db.sqlite")),
            (&[".zcode/db.sqlite"], Some("/srv/repo/.zcode/db.sqlite")),
            (&["/a/$/{b}/~x"], Some("/a/$/{b}/~x")),
            (&["~x/y"], Some("/srv/repo/~x/y")),
            (&["$OTHER", "", "  "], None),
            (&["/a/${OPEN"], Some("/a/${OPEN")),
        ];
        for (at, expected) in cases {
            let at: Vec<String> = at.iter().map(|at| (*at).to_owned()).collect();
            assert_eq!(place.resolve(&at), expected.map(PathBuf::from), "{at:?}");
        }
    }

    #[test]
    fn a_folder_behind_a_symlink_has_two_names() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let place = Place { home: PathBuf::new(), env: BTreeMap::new(), folder: link, since: None };
        let site = place.clone().site(&["x".to_owned()]).unwrap();
        assert!(site.is_ours(real.to_str().unwrap()) && site.is_ours(place.folder.to_str().unwrap()));
        assert!(!site.is_ours(dir.path().to_str().unwrap()));
    }
}
