//! The record of a finished loop, kept beside its STATUS.md in the archive.
