//! Who is still writing a file, where that can be known.

use std::fs;
use std::path::Path;

/// The process that has `path` open for writing. `None` also where the system does not tell: without `/proc`, and
/// for processes of other users.
pub(super) fn writer(path: &Path) -> Option<u32> {
    let names = fs::read_dir("/proc").ok()?;
    let pids = names.flatten().filter_map(|name| name.file_name().to_str()?.parse().ok());
    let real = real(path)?;
    pids.into_iter().find(|pid| has_open(*pid, &real))
}

/// Whether this process still has it open for writing.
pub(super) fn still_writes(pid: u32, path: &Path) -> bool {
    real(path).is_some_and(|real| has_open(pid, &real))
}

/// The path as the kernel shows it.
fn real(path: &Path) -> Option<std::path::PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

fn has_open(pid: u32, real: &Path) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    open.flatten().any(|descriptor| {
        // The name is compared, not the file behind it: a look at that could hang on a dead network folder.
        fs::read_link(descriptor.path()).is_ok_and(|open| open == real)
            && is_for_writing(pid, &descriptor.file_name().to_string_lossy())
    })
}

/// The lowest two bits of `flags:` (octal) are 1 for write-only and 2 for both.
fn is_for_writing(pid: u32, descriptor: &str) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & 0b11 != 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_open_file_has_its_writer() {
        if !Path::new("/proc/self/fdinfo").exists() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let file = fs::File::create(&path).unwrap();
        let me = std::process::id();
        assert_eq!(writer(&path), Some(me));
        assert!(still_writes(me, &path));
        drop(file);
        let reader = fs::File::open(&path).unwrap();
        assert_eq!(writer(&path), None);
        assert!(!still_writes(me, &path));
        drop(reader);
    }
}
