//! What a person ordered (`loop resume`, `loop accept`), as JSON in a column and in `--json`.

use loop_core::Name;
use loop_core::decide::{Accept, Resume};
use serde::{Deserialize, Serialize};

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

/// An optional [`Resume`] as a field of a row in JSON.
pub(crate) mod resume {
    use loop_core::decide::Resume;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::StoredResume;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Resume>, serializer: S) -> Result<S::Ok, S::Error> {
        value.clone().map(StoredResume).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Resume>, D::Error> {
        Ok(Option::<StoredResume>::deserialize(deserializer)?.map(|stored| stored.0))
    }
}

/// An optional [`Accept`] as a field of a row in JSON.
pub(crate) mod accept {
    use loop_core::decide::Accept;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::StoredAccept;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Accept>, serializer: S) -> Result<S::Ok, S::Error> {
        value.clone().map(StoredAccept).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Accept>, D::Error> {
        Ok(Option::<StoredAccept>::deserialize(deserializer)?.map(|stored| stored.0))
    }
}
