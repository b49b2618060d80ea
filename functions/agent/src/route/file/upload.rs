//! Uploads of users' files.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, State};
use axum::http::Request;
use axum::http::request::Parts;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::file::media_type_of;
use djinn_protocol::body::{UploadBody, UploadTargetBody};
use djinn_protocol::request::{AnnounceRequest, UploadRequest};
use djinn_runtime::port::checker::ContentOwner;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::file_url::{FileUrls as _, MAX_ANNOUNCED};
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::mailbox::Mail;
use djinn_runtime::port::{RunKey, SessionKey};
use djinn_runtime::serve::{Permission, SessionAccess};
use djinn_runtime::sleep::wake_run;
use djinn_runtime::world::Ports;

use super::encoded_word::decode_name;
use super::{SESSION, file_links, find_named_session, find_session};
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::{LenientBody, parse_id, read_bytes, unsupported_body};
use crate::identity::Caller;
use crate::reply::{JsonReply, ReplyResult};

/// Validity of an upload URL.
const UPLOAD_LIFE: Duration = Duration::from_secs(60 * 60);
/// Maximum size of a direct upload, in bytes.
const MAX_UPLOAD: i64 = 5 * 1024 * 1024 * 1024;

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
    let mut file = new_file(&caller, "fileName", &file_name, description, is_internal_file)?;
    let size = Some(file_size.0).filter(|size| (1..=MAX_UPLOAD).contains(size));
    let size = size.and_then(|size| u64::try_from(size).ok()).ok_or_else(|| {
        let problem = format!("must be the file's size in bytes, 1 to {MAX_UPLOAD}");
        ApiError::invalid_field("fileSize", &problem)
    })?;
    screen_file(&agent, &caller, &access, &mut file).await?;
    let upload = agent.ports.store().presign_put(&access.session, &file, size, UPLOAD_LIFE).await?;
    let too_many = || Failure::new(ErrorCode::TooManyUploads, MAX_ANNOUNCED.to_string());
    let upload = upload.ok_or_else(too_many)?;
    let mail = Mail::FileAnnounced { file: upload.file.clone() };
    notify_active_run(&agent, &access.session, mail).await?;
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
    let mut file = new_file(&caller, "fileName", &file_name, description, is_internal_file)?;
    let content = content.unwrap_or_default();
    screen_file(&agent, &caller, &access, &mut file).await?;
    let reply = write_upload(&agent, &parts, &access, &file, content.as_bytes()).await?;
    Ok(reply.with_ignored(&unknown.header_names()))
}

/// `POST /v1/file_tool/upload_file_data`: stores a file from a multipart form with `requestId` and `file`.
pub(crate) async fn upload_file_data<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    form: UploadForm,
) -> ReplyResult {
    let label = parse_id(SESSION, &form.label)?;
    let access = find_session(&agent, &caller, label, Permission::Write).await?;
    let mut file = new_file(&caller, "file", &form.name, Some(form.description), None)?;
    let let_in = screen_file(&agent, &caller, &access, &mut file).await;
    let_in.map_err(|refusal| match refusal.field() {
        Some("fileName") => refusal.with_member_name("file"),
        Some(_) | None => refusal,
    })?;
    write_upload(&agent, &parts, &access, &file, &form.content).await
}

/// Screens a file's name and description.
async fn screen_file<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    access: &SessionAccess,
    file: &mut NewFile,
) -> Result<(), ApiError> {
    let Caller { tenant, user, .. } = caller;
    let whose = ContentOwner { tenant, user, session: &access.session_name(), run: None };
    Ok(agent.ports.content().screen_input(file, whose).await?)
}

/// Stores a file and notifies the session's active run, so the agent sees the file in the next step.
async fn write_upload<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    access: &SessionAccess,
    file: &NewFile,
    content: &[u8],
) -> ReplyResult {
    let store = agent.ports.store();
    let product_file = store.write_file(&access.session, file, content).await?;
    let id = format!("{:x}-{:x}", agent.ports.clock().now_ms(), fastrand::u64(..));
    let mail = Mail::FileAdded { id, file: product_file.clone() };
    notify_active_run(agent, &access.session, mail).await?;
    let links = file_links(agent, parts, access).await;
    JsonReply::json(&UploadBody::new(&product_file, &links))
}

async fn notify_active_run<P: Ports>(
    agent: &Agent<P>,
    session: &SessionKey,
    mail: Mail,
) -> Result<(), ApiError> {
    let active = agent.ports.store().find_active_run(session).await?;
    let Some(run) = active else { return Ok(()) };
    let key = RunKey::new(session.tenant.clone(), run);
    wake_run(&agent.ports, &key, &mail).await?;
    Ok(())
}

/// Returns the new file of a request; `member` is the field with the file's name.
fn new_file(
    caller: &Caller,
    member: &'static str,
    name: &str,
    description: Option<String>,
    internal: Option<bool>,
) -> Result<NewFile, ApiError> {
    Ok(NewFile {
        name: parse_id(member, name)?,
        media_type: media_type_of(name).to_owned(),
        description: description.unwrap_or_default(),
        internal: internal.unwrap_or(false),
        uploaded: true,
        writer: caller.user.clone(),
    })
}

/// The accepted parts of an upload form.
const FORM_PARTS: [&str; 3] = ["requestId", "description", "file"];

/// The fields of an upload form: `label` is `requestId`, and `content` the bytes of `file`.
#[derive(Default)]
pub(crate) struct UploadForm {
    label: String,
    name: String,
    description: String,
    content: Vec<u8>,
}

impl<S: Sync> FromRequest<S> for UploadForm {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        Self::read_body(&parts, body).await
    }
}

impl UploadForm {
    async fn read_body(parts: &Parts, body: Body) -> Result<Self, ApiError> {
        let content = read_bytes(&parts.headers, body).await?;
        let mut request = Request::new(Body::from(content));
        *request.headers_mut() = parts.headers.clone();
        // The body's size is already limited; axum's own limit is 2 MB.
        DefaultBodyLimit::disable().apply(&mut request);
        let mut multipart =
            Multipart::from_request(request, &()).await.map_err(|_| form_error())?;
        let mut form = Self::default();
        let mut names = BTreeSet::new();
        while let Some(part) = multipart.next_field().await.map_err(|_| form_error())? {
            let name = part.name().unwrap_or_default().to_owned();
            if FORM_PARTS.contains(&name.as_str()) && !names.insert(name.clone()) {
                return Err(unsupported_body("the form has the same part twice; send one of each"));
            }
            let file_name = part.file_name().map(decode_name);
            let bytes = part.bytes().await.map_err(|_| form_error())?;
            let text = || String::from_utf8_lossy(&bytes).into_owned();
            match name.as_str() {
                "requestId" => form.label = text(),
                "description" => form.description = text(),
                "file" => {
                    form.name = file_name.unwrap_or_default();
                    form.content = bytes.to_vec();
                }
                _ => {}
            }
        }
        if names.contains("file") { Ok(form) } else { Err(form_error().with_field("file")) }
    }
}

fn form_error() -> ApiError {
    unsupported_body("send a multipart form with the parts `requestId` and `file`")
}
