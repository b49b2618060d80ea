//! The files of a question.

use serde::Deserialize;

use super::value::{optional_text, required_text};

/// A file that comes with a question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AttachmentRequest {
    /// The file itself as a `data:` URI; or a file that the session has, by its name or by a URL that it was
    /// given when it was added. Nothing is fetched from anywhere else: upload it first.
    #[serde(deserialize_with = "required_text")]
    pub uri: String,
    /// The media type of a `data:` URI that does not say it itself.
    #[serde(default, rename = "type", deserialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(rename = "type"))]
    pub media_type: Option<String>,
    /// The name that the file has in the session, 1 to 255 bytes, without a path. Without one a `data:` URI is
    /// called `attachment-1.png`, by its place and its type; a file of the session keeps its own.
    #[serde(default, deserialize_with = "optional_text")]
    pub name: Option<String>,
}

/// A file as JoyAgent's clients name it: with `uri`, `type` and `name` as our own protocol does, or by what was
/// answered when it was added. One of these that is no file of the session has no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoyAgentFile {
    /// The file itself as a `data:` URI, or a file of the session by its name or by a URL of it.
    #[serde(default, deserialize_with = "optional_text")]
    pub uri: Option<String>,
    /// The media type of a `data:` URI that does not say it itself.
    #[serde(default, rename = "type", deserialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(rename = "type"))]
    pub media_type: Option<String>,
    /// The name that the file of a `uri` has in the session.
    #[serde(default, deserialize_with = "optional_text")]
    pub name: Option<String>,
    /// The name of a file of the session.
    #[serde(default, deserialize_with = "optional_text")]
    pub file_name: Option<String>,
    /// Where it is saved from.
    #[serde(default, deserialize_with = "optional_text")]
    pub oss_url: Option<String>,
    /// The same as `ossUrl`.
    #[serde(default, deserialize_with = "optional_text")]
    pub download_url: Option<String>,
    /// Where a browser shows it.
    #[serde(default, deserialize_with = "optional_text")]
    pub domain_url: Option<String>,
    /// Its name before the client changed it.
    #[serde(default, deserialize_with = "optional_text")]
    pub origin_file_name: Option<String>,
    /// Its URLs before the client changed it.
    #[serde(default, deserialize_with = "optional_text")]
    pub origin_file_url: Option<String>,
    /// Where it was saved from before that.
    #[serde(default, deserialize_with = "optional_text")]
    pub origin_oss_url: Option<String>,
    /// Where a browser showed it before that.
    #[serde(default, deserialize_with = "optional_text")]
    pub origin_domain_url: Option<String>,
}

impl JoyAgentFile {
    /// Returns the possible references to a session file, most likely first: names, then URLs.
    #[must_use]
    pub fn references(&self) -> Vec<&str> {
        let names = [&self.file_name, &self.origin_file_name];
        let urls = [&self.oss_url, &self.download_url, &self.domain_url];
        let origins = [&self.origin_oss_url, &self.origin_domain_url, &self.origin_file_url];
        names.into_iter().chain(urls).chain(origins).flatten().map(String::as_str).collect()
    }
}

/// A message of the conversation as JoyAgent's clients send it. What was said before is known here, and has no
/// effect; files of the session that it names come with the question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoyAgentMessage {
    /// The files of the message.
    pub files: Option<Vec<JoyAgentFile>>,
    /// The files that were added with it.
    pub upload_file: Option<Vec<JoyAgentFile>>,
}
