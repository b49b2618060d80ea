//! Opens a file by a signed link, without other credentials, or as one of the caller's files.
//!
//! The bucket serves content that no browser executes. The function serves all other content in a sandbox
//! with a unique origin, without loading or sending anything.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, HeaderValue, LOCATION, REFERRER_POLICY};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::FileName;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::file_url::{Disposition, FileUrls as _, Folder};
use djinn_runtime::serve::{Permission, SessionAccess};

use super::as_text::Unreadable;
use super::presentation::{MAX_SHOWN_BYTES, Presentation, SNIFFED_BYTES};
use super::{find_file, find_session};
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::parse_id;
use crate::identity::Caller;
use crate::link::{SignedLinks, is_token, page};
use crate::route::link::preferred_language;

/// Validity of a link to an object: enough to follow a redirect.
const LINK_LIFE: Duration = Duration::from_secs(10 * 60);

/// `GET /v1/file_tool/preview/{key}/{name}`: shows a file. The key is a label or the token of a signed link.
pub(crate) async fn preview_file<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    Path((key, name)): Path<(String, String)>,
    parts: Parts,
) -> Result<Response, ApiError> {
    open_file(&agent, &parts, &key, &name, Disposition::Inline).await
}

/// `GET /v1/file_tool/download/{key}/{name}` redirects to the object, as an attachment; the key
/// is a label or the token of a signed link.
pub(crate) async fn download_file<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    Path((key, name)): Path<(String, String)>,
    parts: Parts,
) -> Result<Response, ApiError> {
    open_file(&agent, &parts, &key, &name, Disposition::Attachment).await
}

async fn open_file<P: AgentPorts>(
    agent: &Agent<P>,
    parts: &Parts,
    key: &str,
    name: &str,
    disposition: Disposition,
) -> Result<Response, ApiError> {
    let Some(links) = SignedLinks::of(parts).filter(|_| is_token(key)) else {
        let (folder, file) = find_by_label(agent, parts, key, name).await?;
        let file_response = send_file(agent, parts, &folder, &file, disposition).await?;
        return file_response.ok_or_else(|| ErrorCode::FileNotFound.into());
    };
    let response = match find_by_link(agent, &links, key, name).await {
        Ok((folder, file)) => send_file(agent, parts, &folder, &file, disposition)
            .await
            .and_then(|file_response| file_response.ok_or_else(|| ErrorCode::LinkNotFound.into())),
        Err(failure) => Err(failure.into()),
    };
    match response {
        Err(refusal) if wants_page(&parts.headers) => {
            let language =
                preferred_language(&parts.headers).unwrap_or(agent.settings.run.language);
            Ok(page::file_problem_page(&refusal.failure, language))
        }
        response => response,
    }
}

/// Returns the file granted by a signed link.
async fn find_by_link<P: AgentPorts>(
    agent: &Agent<P>,
    links: &SignedLinks,
    token: &str,
    name: &str,
) -> Result<(Folder, ProductFile), Failure> {
    let grant = links.verify_file(token, name, agent.ports.clock().now_ms()).await?;
    let file = ProductFile {
        media_type: media_type_of(grant.name.as_str()).to_owned(),
        name: grant.name,
        description: String::new(),
        size: 0,
        internal: false,
        object: grant.object,
        has_rows: None,
        uploaded: false,
    };
    Ok((grant.folder, file))
}

/// Returns the newest content of the caller's file.
async fn find_by_label<P: AgentPorts>(
    agent: &Agent<P>,
    parts: &Parts,
    label: &str,
    name: &str,
) -> Result<(Folder, ProductFile), ApiError> {
    let caller = Caller::of(&parts.extensions)?;
    let label = parse_id("requestId", label)?;
    let SessionAccess { session, .. } =
        find_session(agent, &caller, label, Permission::Read).await?;
    let name: FileName = parse_id("fileName", name)?;
    let file = find_file(agent, &session, &name).await?;
    Ok((Folder::from(&session), file))
}

/// Sends a file, or redirects to the object; `None` if the content is gone.
async fn send_file<P: AgentPorts>(
    agent: &Agent<P>,
    parts: &Parts,
    folder: &Folder,
    file: &ProductFile,
    disposition: Disposition,
) -> Result<Option<Response>, ApiError> {
    let store = agent.ports.store();
    let start = store.read_start(folder, file, SNIFFED_BYTES).await?;
    let Some(start) = start else { return Ok(None) };
    let name = file.name.as_str();
    if let Some(form) = Unreadable::of(&parts.headers, name, &start.bytes)
        && disposition == Disposition::Inline
    {
        let language = preferred_language(&parts.headers).unwrap_or(agent.settings.run.language);
        let sized_file = (file, start.size);
        return Ok(Some(form.respond(agent, parts, folder, sized_file, language).await));
    }
    let presentation = Presentation::of(name, &file.media_type, &start.bytes);
    let response = match (disposition, presentation) {
        (Disposition::Attachment, _) => redirect_to_object(agent, folder, file, disposition).await,
        (Disposition::Inline, Presentation::FromBucket(media_type)) => {
            let file = ProductFile { media_type: media_type.to_owned(), ..file.clone() };
            redirect_to_object(agent, folder, &file, disposition).await
        }
        (Disposition::Inline, _) if start.size > MAX_SHOWN_BYTES => {
            redirect_to_object(agent, folder, file, Disposition::Attachment).await
        }
        (Disposition::Inline, _) => {
            let Some(whole) = store.read_start(folder, file, MAX_SHOWN_BYTES).await? else {
                return Ok(None);
            };
            Ok(presentation.respond(&file.name, whole.bytes, wants_page(&parts.headers)))
        }
    };
    response.map(Some)
}

/// Redirects the client to the object.
async fn redirect_to_object<P: AgentPorts>(
    agent: &Agent<P>,
    folder: &Folder,
    file: &ProductFile,
    disposition: Disposition,
) -> Result<Response, ApiError> {
    let store = agent.ports.store();
    let url = store.presign_get(folder, file, disposition, LINK_LIFE).await?;
    let location = HeaderValue::from_str(&url).map_err(|_| ErrorCode::Internal)?;
    let headers = [
        (LOCATION, location),
        // The link expires, and the target may change.
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((StatusCode::FOUND, headers).into_response())
}

/// Returns true if the client is a user's browser, not a script.
fn wants_page(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.into_iter().any(|value| value.contains("text/html"))
}
