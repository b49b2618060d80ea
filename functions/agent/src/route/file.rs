//! Files of a session: `/sessions/{session}/files`, and the pages that open a file.

mod as_text;
mod encoded_word;
mod open;
mod presentation;
mod upload;

pub(crate) use open::{download_file, preview_file};
pub(super) use upload::{FormFile, UPLOAD_LIFE, announce_file, new_file, screen_file, store_file};

use axum::body::Body;
use axum::extract::{FromRequest, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use djinn_core::error_code::ErrorCode;
use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, SessionName};
use djinn_protocol::body::{FileUpload, NewFileBody, SessionFilesBody};
use djinn_protocol::event::PublicFile;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::request::{NewFileRequest, NoParameters, PageQuery};
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::catalog::Catalog;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::file_url::PresignedPut;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::serve::{Permission, SessionAccess};
use djinn_runtime::world::Ports;

use crate::access::require_access;
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::{OwnBody, unsupported_body};
use crate::identity::Caller;
use crate::path::PathId;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};
use crate::session_links::session_links;
use crate::unknown::unknown_name;

/// The field with the session's name in JoyAgent's requests, and in the paths of files.
pub(super) const SESSION: &str = "requestId";

/// `GET /sessions/{session}/files`: returns one page of a session's files, by name.
pub(crate) async fn list_files<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(session): PathId<SessionName>,
    UrlQuery(PageQuery { limit, after }): UrlQuery<PageQuery<FileName>>,
    parts: Parts,
) -> ReplyResult {
    let access = require_access(&agent, &caller, session, Permission::Read).await?;
    let session = &access.session;
    let store = agent.ports.store();
    let mut files = store.list_files(session).await?;
    // Files can be added before the first question, which creates the session.
    if files.is_empty()
        && store.find_session(&session.owner_key(), &session.session).await?.is_none()
    {
        return Err(ErrorCode::SessionNotFound.into());
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.retain(|file| after.as_ref().is_none_or(|after| file.name > *after));
    let has_more = files.len() > limit;
    files.truncate(limit);
    let next = files.last().filter(|_| has_more).map(|file| file.name.to_string());
    let links = file_links(&agent, &parts, &access).await;
    JsonReply::json(&SessionFilesBody { files: PublicFile::list(&files, &links), next })
}

/// `POST /sessions/{session}/files`: returns 201 with the stored file, or 202 with the URL for the upload of
/// the bytes.
pub(crate) async fn add_file<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(session): PathId<SessionName>,
    _: UrlQuery<NoParameters>,
    parts: Parts,
    content: NewFileContent,
) -> ReplyResult {
    let access = require_access(&agent, &caller, session, Permission::Write).await?;
    let (file, upload) = match content {
        NewFileContent::Form(FormFile { name, description, content }) => {
            let mut file = new_file(&caller, "file", &name, Some(description), None)?;
            let screened = screen_file(&agent, &caller, &access, &mut file).await;
            screened.map_err(|error| match error.field() {
                Some("name") => error.with_member_name("file"),
                Some(_) | None => error,
            })?;
            (store_file(&agent, &access, &file, &content).await?, None)
        }
        NewFileContent::Json(NewFileRequest { name, content, size, description, internal }) => {
            let mut file = new_file(&caller, "name", &name, description, internal)?;
            match (content, size) {
                (Some(content), None) => {
                    screen_file(&agent, &caller, &access, &mut file).await?;
                    (store_file(&agent, &access, &file, content.as_bytes()).await?, None)
                }
                (None, Some(size)) => {
                    let target = announce_file(&agent, &caller, &access, &mut file, size).await?;
                    (target.file.clone(), Some(file_upload(target)))
                }
                (Some(_), Some(_)) => {
                    let problem = "is only for a file without `content`";
                    return Err(ApiError::invalid_field("size", problem));
                }
                (None, None) => {
                    let problem = "is missing; send the text of the file, or its `size`";
                    return Err(ApiError::invalid_field("content", problem));
                }
            }
        }
    };
    let links = file_links(&agent, &parts, &access).await;
    let status = if upload.is_some() { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    let body = NewFileBody { file: PublicFile::new(&file, &links), upload };
    Ok(JsonReply::json(&body)?.with_status(status))
}

fn file_upload(target: PresignedPut) -> FileUpload {
    FileUpload {
        url: target.url,
        method: "PUT",
        headers: target.headers.into_iter().collect(),
        expires_in_s: UPLOAD_LIFE.as_secs(),
    }
}

/// The body of a new file, by the media type: a multipart form, or JSON.
pub(crate) enum NewFileContent {
    Form(FormFile),
    Json(NewFileRequest),
}

impl<S: Sync> FromRequest<S> for NewFileContent {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, state: &S) -> Result<Self, ApiError> {
        let media_type = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if media_type.is_none_or(|kind| !kind.starts_with("multipart/form-data")) {
            let OwnBody(request) = OwnBody::from_request(request, state).await?;
            return Ok(Self::Json(request));
        }
        let form_error = || unsupported_body("send a multipart form with the part `file`");
        let (file, others) = FormFile::read(request, &[], form_error).await?;
        match others.keys().next() {
            Some(name) => Err(unknown_name(name, "part", &FormFile::PARTS)),
            None => Ok(Self::Form(file)),
        }
    }
}

/// Returns the session of a handle, or of one of the caller's labels. A request's id leads to the session of
/// the request, and any other label is a session's id. Another user's session is writable only by handle.
pub(super) async fn find_session<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    label: SessionName,
    right: Permission,
) -> Result<SessionAccess, ApiError> {
    let existing_name =
        agent.ports.store().find_session_name(&caller.user_key(), label.as_str()).await?;
    let session = existing_name.unwrap_or_else(|| label.clone());
    match &session {
        SessionName::Shared(handle) if right > Permission::Read && session != label => {
            Err(ApiError::invalid_field(
                SESSION,
                &format!(
                    "is a question of a shared session: to add files to the session, use {handle}"
                ),
            ))
        }
        SessionName::Own(_) | SessionName::Shared(_) => {
            require_access(agent, caller, session, right).await
        }
    }
}

pub(super) async fn find_file<P: Ports>(
    agent: &Agent<P>,
    session: &SessionKey,
    name: &FileName,
) -> Result<ProductFile, ApiError> {
    let file = agent.ports.store().find_file(session, name).await?;
    file.ok_or_else(|| ErrorCode::FileNotFound.into())
}

/// Returns the URLs of a session's files, for a caller with access.
pub(super) async fn file_links<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    access: &SessionAccess,
) -> SessionLinks {
    session_links(agent, parts, &access.session, access.session_name(), None).await
}
