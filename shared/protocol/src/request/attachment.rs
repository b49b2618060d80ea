//! The files of a question.

use serde::Deserialize;

use super::value::{optional_text, required_text};

/// A file attached to a question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AttachmentRequest {
    /// The file as a `data:` URI, or an existing file of the session by name or by URL. Other URLs are not
    /// fetched: upload the file first.
    #[serde(deserialize_with = "required_text")]
    pub uri: String,
    /// The media type of a `data:` URI without one.
    #[serde(default, rename = "type", deserialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(rename = "type"))]
    pub media_type: Option<String>,
    /// The file's name in the session, 1 to 255 bytes, without a path. Default: `attachment-1.png`, from
    /// position and type, for a `data:` URI; the existing name for a file of the session.
    #[serde(default, deserialize_with = "optional_text")]
    pub name: Option<String>,
}

/// A file in the form of JoyAgent's clients: with `uri`, `type` and `name`, or with fields of the upload
/// response. Unknown files have no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoyAgentFile {
    /// The file as a `data:` URI, or a file of the session by name or by URL.
    #[serde(default, deserialize_with = "optional_text")]
    pub uri: Option<String>,
    /// The media type of a `data:` URI without one.
    #[serde(default, rename = "type", deserialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(rename = "type"))]
    pub media_type: Option<String>,
    /// The name in the session for the file of a `uri`.
    #[serde(default, deserialize_with = "optional_text")]
    pub name: Option<String>,
    /// The name of a file in the session.
    #[serde(default, deserialize_with = "optional_text")]
    pub file_name: Option<String>,
    /// The file's download URL.
    #[serde(default, deserialize_with = "optional_text")]
    pub oss_url: Option<String>,
    /// The same as `ossUrl`.
    #[serde(default, deserialize_with = "optional_text")]
    pub download_url: Option<String>,
    /// The file's preview URL.
    #[serde(default, deserialize_with = "optional_text")]
    pub domain_url: Option<String>,
    /// The file's name before a change by the client.
    #[serde(default, deserialize_with = "optional_text")]
    pub origin_file_name: Option<String>,
    /// The file's URLs before a change by the client.
    #[serde(default, deserialize_with = "optional_text")]
    pub origin_file_url: Option<String>,
    /// The file's download URL before a change by the client.
    #[serde(default, deserialize_with = "optional_text")]
    pub origin_oss_url: Option<String>,
    /// The file's preview URL before a change by the client.
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

/// A message of the conversation in the form of JoyAgent's clients. The text has no effect, because the
/// server knows the conversation. Named files of the session are added to the question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoyAgentMessage {
    /// The files of the message.
    pub files: Option<Vec<JoyAgentFile>>,
    /// The files uploaded with the message.
    pub upload_file: Option<Vec<JoyAgentFile>>,
}
