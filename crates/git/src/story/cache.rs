//! What was found out about commits and contents before.

use std::collections::HashMap;
use std::sync::Arc;

use git2::Oid;
use loop_core::Cast;

use super::sections::{Read, Sections};
use super::walk::{Spot, Step};

/// Keeps what a story found out about its commits, so that the next one reads only those that are new. One cache
/// serves one loop; another status file or another cast empties it.
#[derive(Debug, Default)]
pub struct StoryCache {
    status_file: String,
    cast: Cast,
    spots: HashMap<Oid, Kept<Arc<Spot>>>,
    steps: HashMap<Oid, Kept<Arc<Step>>>,
    /// `None`: the content is no STATUS.md.
    contents: HashMap<Oid, Kept<Option<Arc<Sections>>>>,
    trees: HashMap<Oid, Kept<String>>,
    /// The content that was parsed last.
    pub(super) last_read: Option<Read>,
}

#[derive(Debug)]
struct Kept<T> {
    value: T,
    used: bool,
}

impl StoryCache {
    pub(super) fn fit(&mut self, status_file: &str, cast: &Cast) {
        if self.status_file == status_file && self.cast == *cast {
            return;
        }
        *self = Self { status_file: status_file.to_owned(), cast: cast.clone(), ..Self::default() };
    }

    pub(super) fn status_file(&self) -> &str {
        &self.status_file
    }

    pub(super) fn cast(&self) -> &Cast {
        &self.cast
    }

    pub(super) fn spot(&mut self, commit: Oid) -> Option<Arc<Spot>> {
        get(&mut self.spots, commit)
    }

    pub(super) fn keep_spot(&mut self, commit: Oid, spot: &Arc<Spot>) {
        self.spots.insert(commit, Kept { value: Arc::clone(spot), used: true });
    }

    pub(super) fn step(&mut self, commit: Oid) -> Option<Arc<Step>> {
        get(&mut self.steps, commit)
    }

    pub(super) fn keep_step(&mut self, commit: Oid, step: &Arc<Step>) {
        self.steps.insert(commit, Kept { value: Arc::clone(step), used: true });
    }

    pub(super) fn sections(&mut self, content: Oid) -> Option<Option<Arc<Sections>>> {
        get(&mut self.contents, content)
    }

    pub(super) fn keep_sections(&mut self, content: Oid, sections: &Option<Arc<Sections>>) {
        self.contents.insert(content, Kept { value: sections.clone(), used: true });
    }

    pub(super) fn tree_hash(&mut self, tree: Oid) -> Option<String> {
        get(&mut self.trees, tree)
    }

    pub(super) fn keep_tree_hash(&mut self, tree: Oid, hash: &str) {
        self.trees.insert(tree, Kept { value: hash.to_owned(), used: true });
    }

    /// Lets go of what the last story did not need, so that rewritten history does not pile up.
    pub(super) fn forget_unused(&mut self) {
        sweep(&mut self.spots);
        sweep(&mut self.steps);
        sweep(&mut self.contents);
        sweep(&mut self.trees);
    }
}

fn get<T: Clone>(kept: &mut HashMap<Oid, Kept<T>>, key: Oid) -> Option<T> {
    let kept = kept.get_mut(&key)?;
    kept.used = true;
    Some(kept.value.clone())
}

fn sweep<T>(kept: &mut HashMap<Oid, Kept<T>>) {
    kept.retain(|_, kept| std::mem::take(&mut kept.used));
}
