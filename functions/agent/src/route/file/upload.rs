//! New files of users.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart};
use axum::http::Request;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::file::{ProductFile, media_type_of};
use djinn_protocol::request::WholeNumber;
use djinn_runtime::port::checker::ContentOwner;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::file_url::{FileUrls as _, MAX_ANNOUNCED, PresignedPut};
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::mailbox::Mail;
use djinn_runtime::port::{RunKey, SessionKey};
use djinn_runtime::serve::SessionAccess;
use djinn_runtime::sleep::wake_run;
use djinn_runtime::world::Ports;

use super::encoded_word::decode_name;
use crate::agent::{Agent, AgentPorts};
use crate::api_error::ApiError;
use crate::body::{parse_id, read_bytes, unsupported_body};
use crate::identity::Caller;

/// Validity of an upload URL.
pub(in crate::route) const UPLOAD_LIFE: Duration = Duration::from_secs(60 * 60);
/// Maximum size of a direct upload, in bytes.
const MAX_UPLOAD: i64 = 5 * 1024 * 1024 * 1024;

/// Announces a file of exactly this size to the session's active run, and returns the URL for one upload.
pub(in crate::route) async fn announce_file<P: AgentPorts>(
    agent: &Agent<P>,
    caller: &Caller,
    access: &SessionAccess,
    file: &mut NewFile,
    WholeNumber(size): WholeNumber,
) -> Result<PresignedPut, ApiError> {
    let size = Some(size).filter(|size| (1..=MAX_UPLOAD).contains(size));
    let size = size.and_then(|size| u64::try_from(size).ok()).ok_or_else(|| {
        let problem = format!("must be the file's size in bytes, 1 to {MAX_UPLOAD}");
        ApiError::invalid_field("size", &problem)
    })?;
    screen_file(agent, caller, access, file).await?;
    let upload = agent.ports.store().presign_put(&access.session, file, size, UPLOAD_LIFE).await?;
    let too_many = || Failure::new(ErrorCode::TooManyUploads, MAX_ANNOUNCED.to_string());
    let upload = upload.ok_or_else(too_many)?;
    let mail = Mail::FileAnnounced { file: upload.file.clone() };
    notify_active_run(agent, &access.session, mail).await?;
    Ok(upload)
}

/// Screens a file's name and description.
pub(in crate::route) async fn screen_file<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    access: &SessionAccess,
    file: &mut NewFile,
) -> Result<(), ApiError> {
    let Caller { tenant, user, .. } = caller;
    let whose = ContentOwner { tenant, user, session: &access.session_name(), run: None };
    let ports = agent.ports.refresh().await;
    Ok(ports.content().screen_input(file, whose).await?)
}

/// Stores a file and notifies the session's active run, so the agent sees the file in the next step.
pub(in crate::route) async fn store_file<P: Ports>(
    agent: &Agent<P>,
    access: &SessionAccess,
    file: &NewFile,
    content: &[u8],
) -> Result<ProductFile, ApiError> {
    let product_file = agent.ports.store().write_file(&access.session, file, content).await?;
    let id = format!("{:x}-{:x}", agent.ports.clock().now_ms(), fastrand::u64(..));
    let mail = Mail::FileAdded { id, file: product_file.clone() };
    notify_active_run(agent, &access.session, mail).await?;
    Ok(product_file)
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

/// Returns the new file of a request. `field` has the file's name.
pub(in crate::route) fn new_file(
    caller: &Caller,
    field: &'static str,
    name: &str,
    description: Option<String>,
    internal: Option<bool>,
) -> Result<NewFile, ApiError> {
    Ok(NewFile {
        name: parse_id(field, name)?,
        media_type: media_type_of(name).to_owned(),
        description: description.unwrap_or_default(),
        internal: internal.unwrap_or(false),
        uploaded: true,
        writer: caller.user.clone(),
    })
}

/// The file of a multipart form.
#[derive(Default)]
pub(crate) struct FormFile {
    pub(in crate::route) name: String,
    pub(in crate::route) description: String,
    pub(in crate::route) content: Vec<u8>,
}

impl FormFile {
    /// The parts with a file.
    pub(in crate::route) const PARTS: [&str; 2] = ["file", "description"];

    /// Reads a form of at most [`MAX_BODY`](crate::body::MAX_BODY) bytes. Returns the file, and all other parts
    /// as texts.
    ///
    /// # Errors
    /// Returns `form_error` for a body of another form or without a file, and `unsupported_body` for a repeated
    /// part, which is one of the file's or of `more_parts`.
    pub(in crate::route) async fn read(
        request: Request<Body>,
        more_parts: &[&str],
        form_error: impl Fn() -> ApiError,
    ) -> Result<(Self, BTreeMap<String, String>), ApiError> {
        let (parts, body) = request.into_parts();
        let content = read_bytes(&parts.headers, body).await?;
        let mut request = Request::new(Body::from(content));
        *request.headers_mut() = parts.headers;
        // The body's size is already limited; axum's own limit is 2 MB.
        DefaultBodyLimit::disable().apply(&mut request);
        let multipart = Multipart::from_request(request, &()).await;
        let mut multipart = multipart.map_err(|_| form_error())?;
        let mut file = Self::default();
        let mut others = BTreeMap::new();
        let mut names = BTreeSet::new();
        while let Some(part) = multipart.next_field().await.map_err(|_| form_error())? {
            let name = part.name().unwrap_or_default().to_owned();
            let is_known = Self::PARTS.iter().chain(more_parts).any(|known| *known == name);
            if is_known && !names.insert(name.clone()) {
                return Err(unsupported_body("the form has the same part twice; send one of each"));
            }
            let file_name = part.file_name().map(decode_name);
            let bytes = part.bytes().await.map_err(|_| form_error())?;
            match name.as_str() {
                "description" => {
                    file.description = String::from_utf8_lossy(&bytes).into_owned();
                }
                "file" => {
                    file.name = file_name.unwrap_or_default();
                    file.content = bytes.to_vec();
                }
                _ => {
                    others.insert(name, String::from_utf8_lossy(&bytes).into_owned());
                }
            }
        }
        if names.contains("file") {
            Ok((file, others))
        } else {
            Err(form_error().with_field("file"))
        }
    }
}
