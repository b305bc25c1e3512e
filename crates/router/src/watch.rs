//! Watching references: a commit that no hook rang for is seen when its reference file changes, and at the latest
//! by the sweep. Only the git folder itself and its `refs/heads` are watched, never the object folders.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::desk::Desk;

impl Desk {
    /// Follows references and sweeps, until the router stops.
    pub(crate) async fn watch(self: Arc<Self>) {
        let (seen, mut changes) = mpsc::unbounded_channel::<PathBuf>();
        let made = self.options.watch.then(|| {
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if let Ok(event) = event
                    && !event.kind.is_access()
                {
                    for path in event.paths {
                        // The receiver is gone only while the router stops.
                        let _ = seen.send(path);
                    }
                }
            })
        });
        let mut watcher = match made {
            Some(Err(error)) => {
                tracing::warn!(%error, "references cannot be watched; the sweep finds commits instead");
                None
            }
            made => made.and_then(Result::ok),
        };
        let mut watched: HashMap<PathBuf, Vec<String>> = HashMap::new();
        loop {
            if let Some(watcher) = watcher.as_mut() {
                self.follow_new_loops(watcher, &mut watched).await;
            }
            let sweep = tokio::time::sleep(self.options.sweep);
            tokio::pin!(sweep);
            loop {
                tokio::select! {
                    () = self.stop.cancelled() => return,
                    () = &mut sweep => break,
                    Some(path) = changes.recv() => {
                        let mut loops: Vec<String> = rung_by(&path, &watched);
                        // One commit touches several files: take what came with it in one go.
                        while let Ok(path) = changes.try_recv() {
                            loops.extend(rung_by(&path, &watched));
                        }
                        loops.sort();
                        loops.dedup();
                        for loop_id in loops {
                            self.ring(&loop_id, "refs");
                        }
                    }
                    () = self.loops_changed.notified() => break,
                }
            }
            if !self.place.is_found() {
                tracing::error!(
                    state = %self.place.folder().display(),
                    "the state folder is gone, or another router's now: nothing could find this router any more, so \
                     it stops; `loop up` starts one that is found"
                );
                self.stop.cancel();
                return;
            }
            self.sweep().await;
        }
    }

    /// Rings for every loop at which something may be new.
    async fn sweep(&self) {
        if let Err(error) = self.unskip().await {
            tracing::error!(%error, "usage limits cannot be read");
        }
        let open = self.store.open_deliveries(None).await;
        match (self.store.loops(false).await, open) {
            (Ok(loops), Ok(open)) => {
                self.counters.loops.set(i64::try_from(loops.len()).unwrap_or(i64::MAX));
                self.counters.open.set(i64::try_from(open.len()).unwrap_or(i64::MAX));
                for loop_id in self.seats.with_news(loops, &open).await {
                    self.ring(&loop_id, "sweep");
                }
            }
            (Err(error), _) | (_, Err(error)) => tracing::error!(%error, "loops cannot be read"),
        }
    }

    async fn follow_new_loops(
        &self,
        watcher: &mut impl Watcher,
        watched: &mut HashMap<PathBuf, Vec<String>>,
    ) {
        let Ok(loops) = self.store.loops(false).await else { return };
        for folder in watched.values_mut() {
            folder.clear();
        }
        for row in &loops {
            for (folder, mode) in folders_of(&row.common_dir) {
                if let Some(rung) = watched.get_mut(&folder) {
                    rung.push(row.id.clone());
                    continue;
                }
                match watcher.watch(&folder, mode) {
                    Ok(()) => drop(watched.insert(folder, vec![row.id.clone()])),
                    // Tried again with the next sweep, which finds commits meanwhile.
                    Err(error) => tracing::debug!(folder = %folder.display(), %error, "not watched"),
                }
            }
        }
        watched.retain(|folder, loops| {
            if loops.is_empty() {
                // It may be gone already, which ends the watch too.
                let _ = watcher.unwatch(folder);
            }
            !loops.is_empty()
        });
    }
}

/// `packed-refs` and HEAD lie in the git folder itself; branches below `refs/heads`.
fn folders_of(common_dir: &Path) -> [(PathBuf, RecursiveMode); 2] {
    [
        (common_dir.to_owned(), RecursiveMode::NonRecursive),
        (common_dir.join("refs").join("heads"), RecursiveMode::Recursive),
    ]
}

fn rung_by(path: &Path, watched: &HashMap<PathBuf, Vec<String>>) -> Vec<String> {
    if path.extension().is_some_and(|extension| extension == "lock") {
        return Vec::new();
    }
    let in_git_folder = |folder: &Path| {
        let names = [
            "HEAD",
            "packed-refs",
            "ORIG_HEAD",
            "MERGE_HEAD",
            "CHERRY_PICK_HEAD",
            "rebase-merge",
            "rebase-apply",
        ];
        path.parent() == Some(folder)
            && path.file_name().is_some_and(|name| names.iter().any(|known| name == *known))
    };
    watched
        .iter()
        .filter(|(folder, _)| {
            in_git_folder(folder) || (folder.ends_with("refs/heads") && path.starts_with(folder))
        })
        .flat_map(|(_, loops)| loops.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_ring() {
        let git = PathBuf::from("/r/.git");
        let watched: HashMap<PathBuf, Vec<String>> =
            folders_of(&git).into_iter().map(|(folder, _)| (folder, vec!["a".to_owned()])).collect();
        let rings = |path: &str| !rung_by(Path::new(path), &watched).is_empty();
        assert!(rings("/r/.git/refs/heads/loop/shop"));
        assert!(rings("/r/.git/packed-refs"));
        assert!(rings("/r/.git/HEAD"));
        assert!(!rings("/r/.git/refs/heads/main.lock"));
        assert!(!rings("/r/.git/index"));
        assert!(!rings("/r/.git/COMMIT_EDITMSG"));
        assert!(!rings("/other/.git/refs/heads/main"));
    }
}
