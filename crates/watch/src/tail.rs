//! Reading what is new in a file of lines that somebody else writes.
//!
//! A transcript may hold two gigabytes, and a look must cost nothing while nothing has changed. So the first reading
//! starts near the end, and each further one where the last stopped. Half a line at the end is kept until the rest has
//! come.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// A longer line is left out.
const LONGEST_LINE: usize = 32 << 20;

const CHUNK: usize = 256 << 10;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    /// Bytes.
    pub(crate) size: u64,
    /// Seconds and nanoseconds since 1970.
    pub(crate) modified: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// The state of the file at `path`, which must be a regular one: to open a pipe would block.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        Ok(Self::of(&metadata))
    }

    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }

    fn is_of_the_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Opens the regular file at `path`. Whatever else lies there, a pipe without a writer too, is an error at once: a
/// thread that waits in `open` never comes back.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    Ok(file)
}

/// How far a file has been read.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    stamp: Option<Stamp>,
    offset: u64,
    /// The line whose end has not come yet.
    half: Vec<u8>,
    /// Within a line that is too long, or one whose beginning was not read.
    skipping: bool,
    whole: bool,
}

impl Tail {
    /// Starts at most `reach` bytes before the end of a file of this `stamp`.
    pub(crate) fn near_the_end(stamp: Stamp, reach: u64) -> Self {
        let offset = stamp.size.saturating_sub(reach);
        // From the byte before: where that ends a line, none is cut.
        let offset = offset.saturating_sub(1);
        Self { stamp: Some(stamp), offset, half: Vec::new(), skipping: offset > 0, whole: offset == 0 }
    }

    /// Whether it has been read from its first byte.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// The state in which the file was last read.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// How many bytes of a file of this `stamp` have not been read.
    pub(crate) fn left(&self, stamp: Stamp) -> u64 {
        stamp.size.saturating_sub(self.offset)
    }

    /// Whether a file of this `stamp` is the one that was read, with nothing taken from it.
    pub(crate) fn continues(&self, stamp: Stamp) -> bool {
        self.stamp.is_some_and(|old| old.is_of_the_same_file(&stamp)) && stamp.size >= self.offset
    }

    /// Gives every line that has been completed since, without its end, and returns how many bytes were read. `None`
    /// stands for a line that is too long.
    pub(crate) fn read(&mut self, path: &Path, mut line: impl FnMut(Option<&[u8]>)) -> io::Result<u64> {
        let mut file = open(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        if !self.continues(stamp) {
            return Err(io::Error::other("it was replaced while it was read"));
        }
        file.seek(SeekFrom::Start(self.offset))?;
        // What is written meanwhile is for the next look: a fast writer must not keep this one here.
        let mut left = stamp.size - self.offset;
        let mut chunk = vec![0; CHUNK.min(usize::try_from(left).unwrap_or(CHUNK))];
        let mut total = 0;
        while left > 0 {
            let most = chunk.len().min(usize::try_from(left).unwrap_or(CHUNK));
            let count = match file.read(&mut chunk[..most]) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.take(&chunk[..count], &mut line);
            self.offset += count as u64;
            left -= count as u64;
            total += count as u64;
        }
        self.stamp = Some(stamp);
        Ok(total)
    }

    fn take(&mut self, mut bytes: &[u8], line: &mut impl FnMut(Option<&[u8]>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let piece = &bytes[..end];
            bytes = &bytes[end + 1..];
            if self.skipping {
                self.skipping = false;
            } else if self.half.is_empty() {
                line(Some(piece));
            } else {
                self.half.extend_from_slice(piece);
                line(Some(&self.half));
            }
            self.half.clear();
        }
        if self.skipping {
            return;
        }
        if self.half.len() + bytes.len() > LONGEST_LINE {
            self.half = Vec::new();
            self.skipping = true;
            line(None);
        } else {
            self.half.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
#[path = "tail/tests.rs"]
mod tests;
