//! Keys of single users on their way to the gateway, and sealed on their way back to it.

use djinn_core::id::KeyName;
use serde::{Deserialize, Serialize};

use crate::port::UserKey;
use crate::port::secret::Secret;

/// A job: the sealing of a user's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealJob {
    /// The owner of the key, verified.
    pub owner: UserKey,
    /// The name in the files of tools.
    pub name: KeyName,
    /// The only origin that receives the key.
    pub origin: String,
    /// The key itself.
    #[serde(with = "revealed")]
    pub value: Secret,
}

/// A stored key for a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredUserKey {
    /// The owner: the user who asked.
    pub owner: UserKey,
    /// The sealed key in base64.
    pub sealed: String,
}

/// A secret as a text, for the way to the gateway only.
mod revealed {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::port::secret::Secret;

    pub(super) fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.reveal())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(|text| Secret::new(&text))
    }
}
