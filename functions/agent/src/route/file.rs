//! Files of a session: `/v1/file_tool/*`, with the names and shapes of JoyAgent's file service.
//!
//! Its `requestId` is a session id, or any request id of that session.

mod open;
mod upload;

pub(crate) use open::{download_file, preview_file};
pub(crate) use upload::{upload_file, upload_file_data, upload_url};

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use djinn_aws::AwsStore;
use djinn_core::error_code::ErrorCode;
use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, SessionName};
use djinn_protocol::body::{FileListBody, FileLocationBody};
use djinn_protocol::link::SessionLinks;
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::serve::{Permission, SessionAccess};
use djinn_runtime::world::Ports;

use super::response::{response_or_error, store_error};
use crate::access::require_access;
use crate::agent::{Agent, SharedAgent};
use crate::api_error::ApiError;
use crate::fields::BodyFields;
use crate::identity::Caller;
use crate::query::invalid_field;
use crate::session_links::session_links;

/// Files on one page of a list unless the request says otherwise, and at most.
const PAGE_SIZE: i64 = 10;
const MAX_PAGE_SIZE: i64 = 1_000;

/// `POST /v1/file_tool/get_file` answers with the URLs, size and description of the file that
/// `fileName` names, as JSON.
pub(crate) async fn get_file<P: Ports<Store = AwsStore>>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, fields, access) = read_request(&agent, request, Permission::Read).await?;
        let name: FileName = fields.required_id("fileName")?;
        let file = find_file(&agent, &access.session, &name).await?;
        let links = file_links(&agent, &parts, &access).await;
        Ok(axum::Json(file_location(&links, &fields, &file)).into_response())
    };
    response_or_error(&agent, answer.await)
}

/// `POST /v1/file_tool/get_file_list` answers with one page of a session's files in `results`, and
/// with the number of all of them in `totalSize`.
pub(crate) async fn get_file_list<P: Ports<Store = AwsStore>>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, fields, access) = read_request(&agent, request, Permission::Read).await?;
        let page = fields.number("page")?.unwrap_or(1).max(1);
        let size = fields.number("pageSize")?.unwrap_or(PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
        let files = agent.ports.store().list_files(&access.session).await.map_err(store_error)?;
        let links = file_links(&agent, &parts, &access).await;
        let from = usize::try_from((page - 1).saturating_mul(size)).unwrap_or(usize::MAX);
        let shown = files.iter().skip(from).take(usize::try_from(size).unwrap_or_default());
        let results = shown.map(|file| file_location(&links, &fields, file)).collect();
        let body = FileListBody { results, total_size: files.len() };
        Ok(axum::Json(body).into_response())
    };
    response_or_error(&agent, answer.await)
}

/// Reads a JSON request about a session's files, by a caller who may do this in it.
async fn read_request<P: Ports<Store = AwsStore>>(
    agent: &Agent<P>,
    request: Request<Body>,
    right: Permission,
) -> Result<(Parts, BodyFields, SessionAccess), ApiError> {
    let (parts, body) = request.into_parts();
    let caller = Caller::of(&parts.extensions)?;
    let fields = BodyFields::read_body(&parts.headers, body).await?;
    let label = fields.required_id("requestId")?;
    let access = find_session(agent, &caller, label, right).await?;
    Ok((parts, fields, access))
}

/// The session that a handle names, or a label of the caller's: the one in which the request of that id
/// was asked, else the one of that id. Nothing is written into somebody else's session but under its handle.
async fn find_session<P: Ports<Store = AwsStore>>(
    agent: &Agent<P>,
    caller: &Caller,
    label: SessionName,
    right: Permission,
) -> Result<SessionAccess, ApiError> {
    let known = agent.ports.store().find_session_name(&caller.user_key(), label.as_str()).await;
    let session = known.map_err(store_error)?.unwrap_or_else(|| label.clone());
    match &session {
        SessionName::Shared(handle) if right > Permission::Read && session != label => {
            Err(invalid_field(
                "requestId",
                &format!(
                    "names a question of a shared session: to add files there, name it {handle}"
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
    let file = agent.ports.store().find_file(session, name).await.map_err(store_error)?;
    file.ok_or_else(|| ErrorCode::FileNotFound.into())
}

/// The URLs of a session's files, for a caller who may see it.
async fn file_links<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    access: &SessionAccess,
) -> SessionLinks {
    session_links(agent, parts, &access.session, access.session_name(), None).await
}

/// Where a file is, as every answer about one says it.
fn file_location(
    links: &SessionLinks,
    fields: &BodyFields,
    file: &ProductFile,
) -> FileLocationBody {
    FileLocationBody::new(file, links, fields.text("requestId").ok().flatten())
}
