//! Ids that are texts: labels of clients, names of deployments and users, and random or hashed ids.

mod session_name;

use std::borrow::Cow;
use std::fmt;

use icu_normalizer::ComposingNormalizerBorrowed;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use session_name::SessionName;

use crate::id::bad_id::BadId;
use crate::id::hash::encode_hex;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $check:path $(, $normalize:path)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks a text and returns the id.
            ///
            /// # Errors
            /// Returns [`BadId`] with the rule that the text breaks.
            pub fn new(text: impl Into<String>) -> Result<Self, BadId> {
                let text = text.into();
                $(let text = $normalize(text);)?
                if $check(&text) { Ok(Self(text)) } else { Err(BadId { what: $what, rule: $rule }) }
            }

            /// Returns the id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// The owner of data: the AWS account behind `AWS_IAM`, the tenant in the list of API keys, or `local` on
    /// a laptop. Every stored key starts with the tenant, in the bucket as the name of a folder. The tenant
    /// comes from the verified caller, never from a request.
    TenantId, "tenant", "1-128 of A-Z a-z 0-9 _ : . -, and not . or ..", is_tenant
);
text_id!(
    /// The user of a request, within a tenant: the caller's ARN, the holder of an API key, or a claim of a
    /// token.
    UserId, "user", "1-256 printable ASCII characters without #", is_principal
);
text_id!(
    /// The owner's label for a conversation of consecutive runs. Chosen by the client.
    SessionId, "session id", "1-128 of A-Z a-z 0-9 _ : . -, not beginning with shr_", is_own_label
);
text_id!(
    /// The client's label for one question. Chosen by the client, or generated if missing.
    RequestId, "request id", "1-128 of A-Z a-z 0-9 _ : . -, not beginning with shr_", is_own_label
);
text_id!(
    /// The name of a shared session for a guest. Random, so that it reveals nothing.
    ShareHandle, "share handle", "shr_ and 32 hexadecimal digits", is_share_handle
);
text_id!(
    /// The id of one user request, from the question to its final entry.
    RunId, "run id", "run_ and 32 hexadecimal digits", is_run_id
);
text_id!(
    /// The name of a product file in its session. In Unicode's composed form (NFC), so that a name from a Mac
    /// equals the typed name.
    FileName,
    "file name",
    "1-255 bytes without path separators or control characters, and not . or ..",
    is_file_name,
    compose_characters
);
text_id!(
    /// The id of one write. A writer that lost the response recognizes its own record by the id.
    WriteId, "write id", "1-64 of A-Z a-z 0-9 _ : . -", is_write_id
);

text_id!(
    /// The name of a user's key for tools, chosen by the operator in the files of tools.
    KeyName, "key name", "1-64 of A-Z a-z 0-9 _ -", is_key_name
);

impl FileName {
    /// Returns the name for another file beside a file of this name: `report (2).pdf` for 2. Cuts the stem if
    /// the result would be too long for a file name.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        let mark = format!(" ({number})");
        let (stem, ending) = match self.0.rfind('.') {
            Some(at) if at > 0 && self.0.len() - at <= MAX_ENDING => self.0.split_at(at),
            Some(_) | None => (self.0.as_str(), ""),
        };
        let room = MAX_FILE_NAME - mark.len() - ending.len();
        let stem = stem.get(..stem.floor_char_boundary(room)).unwrap_or_default().trim_end();
        Self(format!("{stem}{mark}{ending}"))
    }
}

impl RunId {
    /// Returns the run for `request` of `user` in the session that this user calls `session`. The same four
    /// values always return the same run. A guest's run is named by the guest and the handle, so it never
    /// equals a run of the owner or of another guest.
    ///
    /// Hashes length-prefixed parts, so that no two runs can collide by concatenation.
    #[must_use]
    pub fn of(
        tenant: &TenantId,
        user: &UserId,
        session: &SessionName,
        request: &RequestId,
    ) -> Self {
        let mut hash = Sha256::new();
        for part in [tenant.as_str(), user.as_str(), session.as_str(), request.as_str()] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let mut text = encode_hex(&hash.finalize());
        text.truncate(32);
        Self(format!("run_{text}"))
    }
}

fn is_key_name(text: &str) -> bool {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(is_name_byte)
}

fn is_label(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(is_label_byte)
}

/// The prefix of every handle; no label may begin with it.
const SHARE_PREFIX: &str = "shr_";

fn is_own_label(text: &str) -> bool {
    is_label(text) && !text.starts_with(SHARE_PREFIX)
}

fn is_share_handle(text: &str) -> bool {
    text.strip_prefix(SHARE_PREFIX).is_some_and(is_32_hex_digits)
}

fn is_tenant(text: &str) -> bool {
    is_label(text) && !matches!(text, "." | "..")
}

fn is_write_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(is_label_byte)
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.' | b'-')
}

fn is_principal(text: &str) -> bool {
    (1..=256).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b'#')
}

fn is_run_id(text: &str) -> bool {
    text.strip_prefix("run_").is_some_and(is_32_hex_digits)
}

fn is_32_hex_digits(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Maximum bytes of a file name.
const MAX_FILE_NAME: usize = 255;

/// Maximum bytes of a file extension with its dot, after a number. A longer suffix is no extension.
const MAX_ENDING: usize = 32;

fn is_file_name(text: &str) -> bool {
    (1..=MAX_FILE_NAME).contains(&text.len())
        && text != "."
        && text != ".."
        && !text.chars().any(|c| matches!(c, '/' | '\\') || c.is_control() || is_bidi_override(c))
        && text.trim() == text
}

fn compose_characters(text: String) -> String {
    match ComposingNormalizerBorrowed::new_nfc().normalize(&text) {
        Cow::Borrowed(composed) if composed.len() == text.len() => text,
        composed @ (Cow::Borrowed(_) | Cow::Owned(_)) => composed.into_owned(),
    }
}

/// Returns true for characters that change the display order of a name (`U+202E` turns `gnp.exe` around).
fn is_bidi_override(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_take_what_the_original_client_sends_and_nothing_that_could_leave_a_key() {
        for good in ["session-1763600000000-12", "a:b.c_d-e", "1"] {
            assert!(SessionId::new(good).is_ok(), "{good}");
        }
        let long = "x".repeat(129);
        for bad in ["", "a/b", "../x", "a b", "a#b", "é", "%2e", "a\0", "shr_x", long.as_str()] {
            assert!(SessionId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_tenant_is_a_folder_of_its_own() {
        for good in ["local", "123456789012", "a..b", "...", ".a"] {
            assert!(TenantId::new(good).is_ok(), "{good}");
        }
        for bad in [".", "..", "../x", ""] {
            assert!(TenantId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn file_names_have_no_path_no_control_characters_and_at_most_255_bytes() {
        for good in ["growth.md", "金价 报告.html", "a..b", "-rf", "con"] {
            assert!(FileName::new(good).is_ok(), "{good}");
        }
        let long = "界".repeat(86);
        for bad in ["", ".", "..", "a/b", "a\\b", "a\nb", "a\u{202e}b", " a", long.as_str()] {
            assert!(FileName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn file_name_is_the_same_however_its_characters_are_written() {
        let composed = FileName::new("Zürich 한국.csv").unwrap();
        let decomposed = "Zu\u{308}rich \u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}.csv";
        assert_eq!(FileName::new(decomposed).unwrap(), composed);
        let json = serde_json::to_string(decomposed).unwrap();
        assert_eq!(serde_json::from_str::<FileName>(&json).unwrap(), composed);
        assert_eq!(FileName::new("北京①½.csv").unwrap().as_str(), "北京①½.csv");
    }

    #[test]
    fn numbered_file_name_keeps_its_ending_and_stays_valid() {
        let long = "界".repeat(85);
        let ending = ".x".repeat(20);
        for (name, numbered) in [
            ("report.pdf", "report (12).pdf".to_owned()),
            ("report", "report (12)".to_owned()),
            ("a.tar.gz", "a.tar (12).gz".to_owned()),
            (".env", ".env (12)".to_owned()),
            ("report (2).pdf", "report (2) (12).pdf".to_owned()),
            (long.as_str(), format!("{} (12)", "界".repeat(83))),
            (&format!("{}.pdf", "a ".repeat(125)), format!("{}a (12).pdf", "a ".repeat(122))),
            (ending.as_str(), ".x".repeat(19) + " (12).x"),
            (&format!("a.{}", "b".repeat(250)), format!("a.{} (12)", "b".repeat(248))),
        ] {
            let found = FileName::new(name).unwrap().numbered(12);
            assert_eq!(found.as_str(), numbered, "{name}");
            assert!(FileName::new(found.as_str()).is_ok(), "{found}");
        }
    }

    #[test]
    fn a_run_id_depends_on_each_part_and_on_where_one_ends() {
        let run = |t: &str, u: &str, s: &str, r: &str| {
            RunId::of(
                &TenantId::new(t).unwrap(),
                &UserId::new(u).unwrap(),
                &SessionName::new(s).unwrap(),
                &RequestId::new(r).unwrap(),
            )
        };
        let known = run("t", "u", "s", "r");
        assert_eq!(known, run("t", "u", "s", "r"));
        assert_ne!(run("t", "u", "s", "r"), run("t", "u", "sr", "r"));
        assert_ne!(run("tu", "u", "s", "r"), run("t", "uu", "s", "r"));
        assert_ne!(run("t", "us", "s", "r"), run("t", "u", "ss", "r"));
        assert_ne!(known, run("t", "v", "s", "r"), "of another user");
        let handle = format!("shr_{}", "0".repeat(32));
        assert_ne!(known, run("t", "u", &handle, "r"), "in a session that is shared");
        assert_eq!(RunId::new(known.as_str()), Ok(known));
    }
}
