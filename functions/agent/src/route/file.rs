//! Files of a session: `/v1/file_tool/*`, in the format of JoyAgent's file service.
//!
//! The field `requestId` is a session id, or any request id of the session.

mod as_text;
mod encoded_word;
mod open;
mod presentation;
mod upload;

pub(crate) use open::{download_file, preview_file};
pub(crate) use upload::{upload_file, upload_file_data, upload_url};

use axum::extract::State;
use axum::http::request::Parts;
use djinn_core::error_code::ErrorCode;
use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, SessionName};
use djinn_protocol::body::{FileListBody, FileLocationBody};
use djinn_protocol::link::SessionLinks;
use djinn_protocol::request::{FileListRequest, FileRequest, WholeNumber};
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::serve::{Permission, SessionAccess};
use djinn_runtime::world::Ports;

use crate::access::require_access;
use crate::agent::{Agent, SharedAgent};
use crate::api_error::ApiError;
use crate::body::{LenientBody, parse_id};
use crate::identity::Caller;
use crate::reply::{JsonReply, ReplyResult};
use crate::session_links::session_links;

/// The field with the session's name.
const SESSION: &str = "requestId";

/// Default and maximum number of files per page.
const PAGE_SIZE: i64 = 10;
const MAX_PAGE_SIZE: i64 = 1_000;

/// `POST /v1/file_tool/get_file`: returns URLs, size and description of the file `fileName` as JSON.
pub(crate) async fn get_file<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    LenientBody { request, unknown }: LenientBody<FileRequest>,
) -> ReplyResult {
    let label = &request.request_id;
    let access = find_named_session(&agent, &caller, label, Permission::Read).await?;
    let name: FileName = parse_id("fileName", &request.file_name)?;
    let file = find_file(&agent, &access.session, &name).await?;
    let links = file_links(&agent, &parts, &access).await;
    let reply = JsonReply::json(&FileLocationBody::new(&file, &links, Some(label)))?;
    Ok(reply.with_ignored(&unknown.header_names()))
}

/// `POST /v1/file_tool/get_file_list`: returns one page of a session's files in `results`, and the total
/// number in `totalSize`.
pub(crate) async fn get_file_list<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    LenientBody { request, unknown }: LenientBody<FileListRequest>,
) -> ReplyResult {
    let label = &request.request_id;
    let access = find_named_session(&agent, &caller, label, Permission::Read).await?;
    let page = request.page.map_or(1, |WholeNumber(page)| page).max(1);
    let size = request.page_size.map_or(PAGE_SIZE, |WholeNumber(size)| size);
    let size = size.clamp(1, MAX_PAGE_SIZE);
    let files = agent.ports.store().list_files(&access.session).await?;
    let links = file_links(&agent, &parts, &access).await;
    let from = usize::try_from((page - 1).saturating_mul(size)).unwrap_or(usize::MAX);
    let page_files = files.iter().skip(from).take(usize::try_from(size).unwrap_or_default());
    let results = page_files.map(|file| FileLocationBody::new(file, &links, Some(label))).collect();
    let reply = JsonReply::json(&FileListBody { results, total_size: files.len() })?;
    Ok(reply.with_ignored(&unknown.header_names()))
}

/// Returns the session of a file request, if the caller has this right.
async fn find_named_session<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    label: &str,
    right: Permission,
) -> Result<SessionAccess, ApiError> {
    find_session(agent, caller, parse_id(SESSION, label)?, right).await
}

/// Returns the session of a handle, or of one of the caller's labels. A request's id leads to the session of
/// the request, and any other label is a session's id. Another user's session is writable only by handle.
async fn find_session<P: Ports>(
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

async fn find_file<P: Ports>(
    agent: &Agent<P>,
    session: &SessionKey,
    name: &FileName,
) -> Result<ProductFile, ApiError> {
    let file = agent.ports.store().find_file(session, name).await?;
    file.ok_or_else(|| ErrorCode::FileNotFound.into())
}

/// Returns the URLs of a session's files, for a caller with access.
async fn file_links<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    access: &SessionAccess,
) -> SessionLinks {
    session_links(agent, parts, &access.session, access.session_name(), None).await
}
