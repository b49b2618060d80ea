//! Files of a session: `/v1/file_tool/*`, in the format of JoyAgent's file service.
//!
//! The field `requestId` is a session id, or any request id of the session.

use axum::body::Body;
use axum::extract::{FromRequest, State};
use axum::http::Request;
use axum::http::request::Parts;
use djinn_core::id::FileName;
use djinn_protocol::body::{FileListBody, FileLocationBody, UploadBody, UploadTargetBody};
use djinn_protocol::request::{
    AnnounceRequest, FileListRequest, FileRequest, UploadRequest, WholeNumber,
};
use djinn_runtime::port::file::Files;
use djinn_runtime::serve::{Permission, SessionAccess};
use djinn_runtime::world::Ports;

use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::{LenientBody, parse_id, unsupported_body};
use crate::identity::Caller;
use crate::reply::{JsonReply, ReplyResult};
use crate::route::file::{
    FormFile, SESSION, UPLOAD_LIFE, announce_file, file_links, find_file, find_session, new_file,
    screen_file, store_file,
};

/// Default and maximum number of files per page.
const PAGE_SIZE: i64 = 10;
const MAX_PAGE_SIZE: i64 = 1_000;

/// The field with a file's name.
const FILE_NAME: &str = "fileName";

/// `POST /v1/file_tool/get_file`: returns URLs, size and description of the file `fileName` as JSON.
pub(crate) async fn get_file<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    LenientBody { request, unknown }: LenientBody<FileRequest>,
) -> ReplyResult {
    let label = &request.request_id;
    let access = find_named_session(&agent, &caller, label, Permission::Read).await?;
    let name: FileName = parse_id(FILE_NAME, &request.file_name)?;
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

/// `POST /v1/file_tool/upload_url`: returns a URL for one `PUT` of exactly the announced size.
pub(crate) async fn upload_url<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    LenientBody { request, unknown }: LenientBody<AnnounceRequest>,
) -> ReplyResult {
    let AnnounceRequest { request_id, file_name, file_size, description, is_internal_file } =
        request;
    let access = find_named_session(&agent, &caller, &request_id, Permission::Write).await?;
    let mut file = new_file(&caller, FILE_NAME, &file_name, description, is_internal_file)?;
    let upload = announce_file(&agent, &caller, &access, &mut file, file_size).await;
    let upload = upload.map_err(rename_field)?;
    let reply = JsonReply::json(&UploadTargetBody {
        location: UploadBody::new(&upload.file, &file_links(&agent, &parts, &access).await),
        upload_url: upload.url,
        method: "PUT",
        headers: upload.headers.into_iter().collect(),
        expires_in_seconds: UPLOAD_LIFE.as_secs(),
    })?;
    Ok(reply.with_ignored(&unknown.header_names()))
}

/// `POST /v1/file_tool/upload_file`: stores a text from the request.
pub(crate) async fn upload_file<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    LenientBody { request, unknown }: LenientBody<UploadRequest>,
) -> ReplyResult {
    let UploadRequest { request_id, file_name, content, description, is_internal_file } = request;
    let access = find_named_session(&agent, &caller, &request_id, Permission::Write).await?;
    let mut file = new_file(&caller, FILE_NAME, &file_name, description, is_internal_file)?;
    let content = content.unwrap_or_default();
    screen_file(&agent, &caller, &access, &mut file).await.map_err(rename_field)?;
    let file = store_file(&agent, &access, &file, content.as_bytes()).await?;
    let links = file_links(&agent, &parts, &access).await;
    let reply = JsonReply::json(&UploadBody::new(&file, &links))?;
    Ok(reply.with_ignored(&unknown.header_names()))
}

/// `POST /v1/file_tool/upload_file_data`: stores a file from a multipart form with `requestId` and `file`.
pub(crate) async fn upload_file_data<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    UploadForm { label, file: form }: UploadForm,
) -> ReplyResult {
    let label = parse_id(SESSION, &label)?;
    let access = find_session(&agent, &caller, label, Permission::Write).await?;
    let mut file = new_file(&caller, "file", &form.name, Some(form.description), None)?;
    let screened = screen_file(&agent, &caller, &access, &mut file).await;
    screened.map_err(|error| match error.field() {
        Some("name") => error.with_member_name("file"),
        Some(_) | None => error,
    })?;
    let file = store_file(&agent, &access, &file, &form.content).await?;
    let links = file_links(&agent, &parts, &access).await;
    JsonReply::json(&UploadBody::new(&file, &links))
}

/// A file in a multipart form. `label` is the part `requestId`; other parts have no effect.
pub(crate) struct UploadForm {
    label: String,
    file: FormFile,
}

impl<S: Sync> FromRequest<S> for UploadForm {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let form_error =
            || unsupported_body("send a multipart form with the parts `requestId` and `file`");
        let (file, mut others) = FormFile::read(request, &[SESSION], form_error).await?;
        Ok(Self { label: others.remove(SESSION).unwrap_or_default(), file })
    }
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

/// Renames the invalid field of a new file.
fn rename_field(error: ApiError) -> ApiError {
    match error.field() {
        Some("name") => error.with_member_name(FILE_NAME),
        Some("size") => error.with_member_name("fileSize"),
        Some(_) | None => error,
    }
}
