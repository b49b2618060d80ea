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
use djinn_core::code::ErrorCode;
use djinn_core::file::ProductFile;
use djinn_core::id::FileName;
use djinn_core::session::SessionName;
use djinn_core::wire::link::Links;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::journal::{Journals, SessionKey};
use djinn_runtime::port::{Ports, StoreError};
use djinn_runtime::serve::{Access, Right, unavailable};
use serde_json::{Value, json};

use crate::access::may;
use crate::fields::Fields;
use crate::identity::Caller;
use crate::link::links_to_session;
use crate::query::wrong;
use crate::refusal::Refusal;
use crate::{Agent, Shared};

/// Files on one page of a list unless the request says otherwise, and at most.
const PAGE_SIZE: i64 = 10;
const MAX_PAGE_SIZE: i64 = 1_000;

/// `POST /v1/file_tool/get_file`.
pub(crate) async fn get_file<P: Ports<Store = AwsStore>>(
    State(agent): State<Shared<P>>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, fields, access) = read(&agent, request, Right::Read).await?;
        let name: FileName = fields.needed_id("fileName")?;
        let file = find(&agent, &access.session, &name).await?;
        let links = links_to(&agent, &parts, &access).await;
        Ok(axum::Json(located(&links, &fields, &file)).into_response())
    };
    answered(&agent, answer.await)
}

/// `POST /v1/file_tool/get_file_list`.
pub(crate) async fn get_file_list<P: Ports<Store = AwsStore>>(
    State(agent): State<Shared<P>>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, fields, access) = read(&agent, request, Right::Read).await?;
        let page = fields.number("page")?.unwrap_or(1).max(1);
        let size = fields.number("pageSize")?.unwrap_or(PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
        let files = agent.ports.store().list_files(&access.session).await.map_err(stored)?;
        let links = links_to(&agent, &parts, &access).await;
        let from = usize::try_from((page - 1).saturating_mul(size)).unwrap_or(usize::MAX);
        let shown = files.iter().skip(from).take(usize::try_from(size).unwrap_or_default());
        let results: Vec<Value> = shown.map(|file| located(&links, &fields, file)).collect();
        let body = json!({"results": results, "totalSize": files.len()});
        Ok(axum::Json(body).into_response())
    };
    answered(&agent, answer.await)
}

/// Reads a JSON request about a session's files, by a caller who may do this in it.
async fn read<P: Ports<Store = AwsStore>>(
    agent: &Agent<P>,
    request: Request<Body>,
    right: Right,
) -> Result<(Parts, Fields, Access), Refusal> {
    let (parts, body) = request.into_parts();
    let caller = Caller::of(&parts.extensions)?;
    let fields = Fields::read(&parts.headers, body).await?;
    let label = fields.needed_id("requestId")?;
    let access = session_named(agent, &caller, label, right).await?;
    Ok((parts, fields, access))
}

/// The session that a handle names, or a label of the caller's: the one in which the request of that id
/// was asked, else the one of that id. Nothing is written into somebody else's session but under its handle.
async fn session_named<P: Ports<Store = AwsStore>>(
    agent: &Agent<P>,
    caller: &Caller,
    label: SessionName,
    right: Right,
) -> Result<Access, Refusal> {
    let known = agent.ports.store().session_of(&caller.key(), label.as_str()).await;
    let session = known.map_err(stored)?.unwrap_or_else(|| label.clone());
    match &session {
        SessionName::Shared(handle) if right > Right::Read && session != label => Err(wrong(
            "requestId",
            &format!("names a question of a shared session: to add files there, name it {handle}"),
        )),
        SessionName::Own(_) | SessionName::Shared(_) => may(agent, caller, session, right).await,
    }
}

async fn find<P: Ports>(
    agent: &Agent<P>,
    session: &SessionKey,
    name: &FileName,
) -> Result<ProductFile, Refusal> {
    let file = agent.ports.store().find_file(session, name).await.map_err(stored)?;
    file.ok_or_else(|| ErrorCode::FileNotFound.into())
}

/// The URLs of a session's files, for a caller who may see it.
async fn links_to<P: Ports>(agent: &Agent<P>, parts: &Parts, access: &Access) -> Links {
    links_to_session(agent, parts, &access.session, access.name(), None).await
}

/// Where a file is, as every answer about one says it.
fn located(links: &Links, fields: &Fields, file: &ProductFile) -> Value {
    let download = links.download(file);
    json!({
        "ossUrl": download,
        "downloadUrl": download,
        "domainUrl": links.preview(file),
        "requestId": fields.text("requestId").ok().flatten(),
        "fileName": file.name,
        "fileSize": file.size,
        "description": file.description,
        "isInternalFile": file.internal,
    })
}

#[allow(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn stored(error: StoreError) -> Refusal {
    unavailable(&error).into()
}

fn answered<P>(agent: &Agent<P>, answer: Result<Response, Refusal>) -> Response {
    answer.unwrap_or_else(|refusal| refusal.json(agent.settings.run.language))
}
