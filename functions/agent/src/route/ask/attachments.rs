//! The files of a question. Each is checked before any is written, and nothing is fetched from anywhere.

use std::collections::BTreeSet;

use axum::http::request::Parts;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::file::{IMAGE_TYPES, ProductFile, ending_of, image_type_of, media_type_of};
use djinn_core::id::{FileName, UserId};
use djinn_protocol::request::{AttachmentRequest, JoyAgentFile, JoyAgentMessage};
use djinn_runtime::port::file::NewFile;
use djinn_runtime::question::QuestionAttachment;
use djinn_runtime::serve::SessionAccess;
use djinn_runtime::world::Ports;

use super::session_file::{SessionFiles, UnknownFile};
use crate::agent::Agent;
use crate::api_error::ApiError;
use crate::data_uri::{DataUri, is_data_uri, is_media_type};
use crate::identity::Caller;

/// Maximum number of files per question.
const MAX_ATTACHMENTS: usize = 100;

/// Maximum number of images, equal to the limit of a model view.
const MAX_IMAGES: usize = 20;

/// The media type of files with an unknown type.
const ANY_TYPE: &str = "application/octet-stream";

/// A file as named in a request.
pub(super) struct NamedFile {
    /// The location in the request, such as `files[0]`.
    path: String,
    source: NamedBy,
}

enum NamedBy {
    /// A URI; errors in the URI reject the question.
    Uri(AttachmentRequest),
    /// JoyAgent's references to a file. The field is reported as ignored if no reference leads to a file.
    References(Vec<String>, &'static str),
}

/// The files of a question of our own protocol.
pub(super) fn own_files(attachments: Option<Vec<AttachmentRequest>>) -> Vec<NamedFile> {
    let files = attachments.unwrap_or_default().into_iter().enumerate();
    let file = |(at, request)| NamedFile {
        path: format!("attachments[{at}]"),
        source: NamedBy::Uri(request),
    };
    files.map(file).collect()
}

/// Returns the files of a question in JoyAgent's protocols. Also returns the name of `messages` as a field
/// without effect, if the field has content but no files.
pub(super) fn joyagent_files(
    files: Option<Vec<JoyAgentFile>>,
    attachments: Option<Vec<JoyAgentFile>>,
    messages: Option<Vec<JoyAgentMessage>>,
) -> (Vec<NamedFile>, Option<&'static str>) {
    let mut named_files = to_named(files, "files", "files");
    named_files.extend(to_named(attachments, "attachments", "attachments"));
    let count = named_files.len();
    let said_something = messages.as_ref().is_some_and(|messages| !messages.is_empty());
    for (at, message) in messages.unwrap_or_default().into_iter().enumerate() {
        named_files.extend(to_named(message.files, &format!("messages[{at}].files"), "messages"));
        let path = format!("messages[{at}].uploadFile");
        named_files.extend(to_named(message.upload_file, &path, "messages"));
    }
    let has_no_files = named_files.len() == count;
    (named_files, (said_something && has_no_files).then_some("messages"))
}

fn to_named(files: Option<Vec<JoyAgentFile>>, path: &str, member: &'static str) -> Vec<NamedFile> {
    let files = files.unwrap_or_default().into_iter().enumerate();
    let file = |(at, file): (usize, JoyAgentFile)| NamedFile {
        path: format!("{path}[{at}]"),
        source: match file.uri {
            Some(uri) => NamedBy::Uri(AttachmentRequest {
                uri,
                media_type: file.media_type,
                name: file.name,
            }),
            None => NamedBy::References(
                file.references().into_iter().map(str::to_owned).collect(),
                member,
            ),
        },
    };
    files.map(file).collect()
}

/// The files of a question, and the fields with other content.
#[derive(Default)]
pub(super) struct ReadFiles {
    pub(super) attachments: Vec<QuestionAttachment>,
    pub(super) ignored: BTreeSet<&'static str>,
}

impl ReadFiles {
    /// Reads all files without writing any.
    ///
    /// # Errors
    /// Returns `invalid_field` or `bad_file_name` for the first invalid file, or `store_unavailable`.
    pub(super) async fn read<P: Ports>(
        agent: &Agent<P>,
        parts: &Parts,
        caller: &Caller,
        access: &SessionAccess,
        named_files: Vec<NamedFile>,
    ) -> Result<Self, ApiError> {
        let session = SessionFiles { agent, parts, caller, access };
        let mut result = Self::default();
        for (at, NamedFile { path, source }) in named_files.into_iter().enumerate() {
            if at >= MAX_ATTACHMENTS {
                let problem =
                    format!("exceeds the limit: a question has at most {MAX_ATTACHMENTS} files");
                return Err(ApiError::invalid_field(path, &problem));
            }
            let attachment = match source {
                NamedBy::Uri(request) if is_data_uri(&request.uri) => {
                    read_data(&path, request, at + 1, &caller.user)?
                }
                NamedBy::Uri(request) => find_one(&session, &path, &request).await?,
                NamedBy::References(names, member) => match find_any(&session, &names).await? {
                    Some(file) => QuestionAttachment::Known(file),
                    None => {
                        result.ignored.insert(member);
                        continue;
                    }
                },
            };
            result.add(path, attachment)?;
        }
        Ok(result)
    }

    /// Adds a file. A repeated file of the session adds nothing.
    fn add(&mut self, path: String, attachment: QuestionAttachment) -> Result<(), ApiError> {
        let same = self.attachments.iter().find(|existing| existing.name() == attachment.name());
        match (same, &attachment) {
            (Some(QuestionAttachment::Known(_)), QuestionAttachment::Known(_)) => return Ok(()),
            (Some(_), _) => {
                let problem = "has the same name as another file of the question: give each file its own name";
                return Err(ApiError::invalid_field(format!("{path}.name"), problem));
            }
            (None, _) => {}
        }
        self.attachments.push(attachment);
        let images = self.attachments.iter().filter(|attachment| is_image(attachment)).count();
        if images > MAX_IMAGES {
            let problem = format!("exceeds the limit: a question has at most {MAX_IMAGES} images");
            return Err(ApiError::invalid_field(path, &problem));
        }
        Ok(())
    }
}

fn is_image(attachment: &QuestionAttachment) -> bool {
    let media_type = match attachment {
        QuestionAttachment::New(file, _) => &file.media_type,
        QuestionAttachment::Known(file) => &file.media_type,
    };
    IMAGE_TYPES.contains(&media_type.as_str())
}

/// Returns the session's file with this URI. An unknown file rejects the request.
async fn find_one<P: Ports>(
    session: &SessionFiles<'_, P>,
    path: &str,
    request: &AttachmentRequest,
) -> Result<QuestionAttachment, ApiError> {
    let file = session.find_file(&request.uri).await.map_err(|unknown| match unknown {
        UnknownFile::Missing(problem) => ApiError::invalid_field(format!("{path}.uri"), problem),
        UnknownFile::Refused(refusal) => refusal,
    })?;
    match &request.name {
        Some(name) if FileName::new(name).as_ref() != Ok(&file.name) => {
            let problem = "differs from the name of the file, which is kept: leave it out";
            Err(ApiError::invalid_field(format!("{path}.name"), problem))
        }
        Some(_) | None => Ok(QuestionAttachment::Known(file)),
    }
}

/// Returns the session's first file matching one of JoyAgent's references.
async fn find_any<P: Ports>(
    session: &SessionFiles<'_, P>,
    references: &[String],
) -> Result<Option<ProductFile>, ApiError> {
    for reference in references {
        match session.find_file(reference).await {
            Ok(file) => return Ok(Some(file)),
            Err(UnknownFile::Missing(_)) => {}
            Err(UnknownFile::Refused(refusal)) => return Err(refusal),
        }
    }
    Ok(None)
}

/// Returns the new file in a `data:` URI, the `nth` file of the question, written by this user.
fn read_data(
    path: &str,
    request: AttachmentRequest,
    nth: usize,
    writer: &UserId,
) -> Result<QuestionAttachment, ApiError> {
    let invalid =
        |member: &str, problem: &str| ApiError::invalid_field(format!("{path}.{member}"), problem);
    let declared_type = request.media_type.map(|declared_type| {
        declared_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    });
    if !declared_type.as_deref().is_none_or(is_media_type) {
        return Err(invalid("type", "must be a media type, such as `image/png`"));
    }
    let data = DataUri::parse(&request.uri).map_err(|problem| invalid("uri", problem))?;
    if let (Some(declared_type), Some(own)) = (&declared_type, &data.media_type)
        && declared_type != own
    {
        return Err(invalid("type", "differs from the one in the `uri`"));
    }
    let declared_type = data.media_type_or(declared_type.as_deref());
    let name =
        request.name.unwrap_or_else(|| format!("attachment-{nth}.{}", ending_of(declared_type)));
    let name = FileName::new(name).map_err(|error| {
        let field = format!("{path}.name");
        let bad = Failure::new(ErrorCode::BadFileName, format!("`{field}`: a {error}"));
        ApiError::from(bad).with_field(field)
    })?;
    let media_type = match media_type_of(name.as_str()) {
        ANY_TYPE => media_type_of(&format!("a.{}", ending_of(declared_type))),
        by_name => by_name,
    };
    let wrong = [declared_type, media_type].into_iter().find(|media_type| {
        IMAGE_TYPES.contains(media_type) && image_type_of(&data.bytes) != Some(media_type)
    });
    if let Some(wrong) = wrong {
        return Err(invalid("uri", &format!("is declared as {wrong}, but its content is not")));
    }
    let file = NewFile {
        name,
        description: String::new(),
        internal: false,
        media_type: media_type.to_owned(),
        uploaded: true,
        writer: writer.clone(),
    };
    Ok(QuestionAttachment::New(file, data.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anna() -> UserId {
        UserId::new("anna").unwrap()
    }

    fn read(uri: &str, media_type: Option<&str>, name: Option<&str>) -> Result<NewFile, String> {
        let request = AttachmentRequest {
            uri: uri.to_owned(),
            media_type: media_type.map(str::to_owned),
            name: name.map(str::to_owned),
        };
        match read_data("attachments[0]", request, 3, &anna()) {
            Ok(QuestionAttachment::New(file, _)) => Ok(file),
            Ok(QuestionAttachment::Known(_)) => unreachable!("a new file"),
            Err(refusal) => Err(refusal.failure.detail),
        }
    }

    #[test]
    fn a_file_is_named_and_typed_by_what_is_said_of_it() {
        let png = "data:image/png;base64,iVBORw0KGgo=";
        for (uri, media_type, name, wanted) in [
            ("data:text/csv,a", None, None, ("attachment-3.csv", "text/csv")),
            ("data:,a", None, None, ("attachment-3.txt", "text/plain")),
            ("data:,a", Some("text/csv"), None, ("attachment-3.csv", "text/csv")),
            ("data:,a", Some("Text/CSV; charset=gbk"), None, ("attachment-3.csv", "text/csv")),
            (png, None, None, ("attachment-3.png", "image/png")),
            (png, Some("image/png"), Some("chart"), ("chart", "image/png")),
            ("data:x/y,a", None, None, ("attachment-3.bin", ANY_TYPE)),
            ("data:x/y,a", None, Some("a.csv"), ("a.csv", "text/csv")),
            ("data:text/plain,a", None, Some("a.md"), ("a.md", "text/markdown")),
        ] {
            let file = read(uri, media_type, name).unwrap();
            assert_eq!((file.name.as_str(), file.media_type.as_str()), wanted, "{uri}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (uri, media_type, name, problem) in [
            ("data:text/csv,a", Some("text/plain"), None, "`attachments[0].type` differs"),
            ("data:text/csv,a", Some("csv"), None, "`attachments[0].type` must be"),
            ("data:image/png,a", None, None, "`attachments[0].uri` is declared as image/png"),
            (
                "data:text/csv,a",
                None,
                Some("a.png"),
                "`attachments[0].uri` is declared as image/png",
            ),
            ("data:text/csv,a", None, Some("a/b"), "`attachments[0].name`: a file name"),
        ] {
            let found = read(uri, media_type, name).unwrap_err();
            assert!(found.starts_with(problem), "{found}");
        }
    }

    #[test]
    fn no_more_images_are_taken_than_a_model_is_shown() {
        let image = |nth: usize| {
            let name = FileName::new(format!("{nth}.png")).unwrap();
            let media_type = "image/png".to_owned();
            let file = NewFile {
                name,
                description: String::new(),
                internal: false,
                media_type,
                uploaded: true,
                writer: anna(),
            };
            QuestionAttachment::New(file, Vec::new())
        };
        let mut read = ReadFiles::default();
        for nth in 0..MAX_IMAGES {
            read.add("a".to_owned(), image(nth)).unwrap();
        }
        let refusal = read.add("a".to_owned(), image(MAX_IMAGES)).unwrap_err();
        assert!(refusal.failure.detail.contains("at most 20 images"), "{refusal:?}");
        let refusal = ReadFiles::add(&mut read, "b".to_owned(), image(0)).unwrap_err();
        assert!(refusal.failure.detail.starts_with("`b.name` has the same name"), "{refusal:?}");
    }
}
