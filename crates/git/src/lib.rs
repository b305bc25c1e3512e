//! Everything that opens a repository: tip, blob, changes between turns, commits
