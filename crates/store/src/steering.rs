//! What a person ordered (`loop resume`, `loop accept`), as JSON in a column and in `--json`.

use loop_core::Name;
use loop_core::decide::{Accept, Resume};
use serde::{Deserialize, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Resume", default = "Resume::default")]
struct ResumeShape {
    after_turn: usize,
    to: Option<Name>,
    rounds: Option<u32>,
    hours: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Accept")]
struct AcceptShape {
    after_turn: usize,
    by: String,
    why: Option<String>,
    commit: Option<String>,
}

/// A [`Resume`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredResume(#[serde(with = "ResumeShape")] pub(crate) Resume);

/// An [`Accept`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredAccept(#[serde(with = "AcceptShape")] pub(crate) Accept);

pub(crate) fn serialize_resume<S: Serializer>(
    resume: &Option<Resume>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    resume.clone().map(StoredResume).serialize(serializer)
}

pub(crate) fn serialize_accept<S: Serializer>(
    accept: &Option<Accept>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    accept.clone().map(StoredAccept).serialize(serializer)
}
