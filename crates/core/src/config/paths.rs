//! Paths that must stay in the repository.

use super::error::ConfigError;
use super::tree::{Node, Source};

/// Reads a path relative to the repository that does not lead out of it, nor into git's own folder.
pub(crate) fn inside(source: &Source<'_>, node: &Node, what: &str) -> Result<String, ConfigError> {
    let path = source.text(node, what)?;
    let refuse = |why: &str| {
        let message = format!("`{path}` cannot be `{what}`: {why}");
        Err(source.error(node.place, message).hint("give a path below the repository's top folder"))
    };
    let drive = path.as_bytes().get(1) == Some(&b':');
    if path.starts_with(['/', '\\', '~']) || drive {
        return refuse("it must be relative to the repository");
    }
    if path.chars().any(char::is_control) {
        return refuse("it holds a control character");
    }
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.is_empty() {
        return refuse("it names nothing");
    }
    if parts.contains(&"..") {
        return refuse("it leads out of the folder");
    }
    if parts[0].eq_ignore_ascii_case(".git") {
        return refuse("that folder is git's own");
    }
    Ok(parts.join("/"))
}
