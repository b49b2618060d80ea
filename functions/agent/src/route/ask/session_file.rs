//! Finds a session's files in a question, by name or by a URL of Djinn's.

use axum::http::request::Parts;
use djinn_core::error_code::ErrorCode;
use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, SessionName};
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::file::Files as _;
use djinn_runtime::port::file_url::Folder;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::serve::SessionAccess;
use djinn_runtime::world::Ports;
use percent_encoding::percent_decode_str;

use crate::agent::Agent;
use crate::api_error::ApiError;
use crate::identity::Caller;
use crate::link::{SignedLinks, is_token, split_file_path};
use crate::origin::request_origin;

/// The error for a URI that leads to no file of the session.
const ELSEWHERE: &str = "is not a file of this session. Files are not fetched from elsewhere: upload the file first \
                         (`POST /sessions/{session}/files`), then name it here";

/// The error for a link to a file of another session.
const OF_ANOTHER: &str =
    "is a link to a file of another session: upload the file to this one first";

/// The error for an expired link.
const EXPIRED: &str = "is an expired link: use the name of the file instead";

/// The reason a file is not accepted.
pub(super) enum UnknownFile {
    /// No file of the session; the text completes a sentence about the reference.
    Missing(&'static str),
    /// The whole question is rejected, because the file cannot be looked up now.
    Refused(ApiError),
}

/// The session of a question, and the caller.
pub(super) struct SessionFiles<'a, P> {
    pub(super) agent: &'a Agent<P>,
    pub(super) parts: &'a Parts,
    pub(super) caller: &'a Caller,
    pub(super) access: &'a SessionAccess,
}

impl<P: Ports> SessionFiles<'_, P> {
    /// Returns the file with this name, or of this URL of Djinn's.
    pub(super) async fn find_file(&self, reference: &str) -> Result<ProductFile, UnknownFile> {
        let name = match FileName::new(reference) {
            Ok(name) => name,
            Err(_) => self.read_link(reference).await?,
        };
        let file = self.agent.ports.store().find_file(&self.access.session, &name).await;
        let file = file.map_err(|error| UnknownFile::Refused(error.into()))?;
        file.ok_or(UnknownFile::Missing(ELSEWHERE))
    }

    /// Returns the file name in a URL of this session's file. The URL stands for the file of this name,
    /// regardless of the current content.
    async fn read_link(&self, url: &str) -> Result<FileName, UnknownFile> {
        let links = SignedLinks::of(self.parts);
        let origin = request_origin(self.parts, &self.agent.settings);
        let bases = [Some(origin.as_str()), links.as_ref().and_then(|links| links.url())];
        let path = bases.into_iter().flatten().find_map(|base| url.strip_prefix(base));
        let path = path.and_then(|path| path.split(['?', '#']).next());
        let (key, name) = path.and_then(split_file_path).ok_or(UnknownFile::Missing(ELSEWHERE))?;
        let decode = |part| percent_decode_str(part).decode_utf8().ok();
        let (Some(key), Some(name)) = (decode(key), decode(name)) else {
            return Err(UnknownFile::Missing(ELSEWHERE));
        };
        let of_this = match links.filter(|_| is_token(&key)) {
            Some(links) => self.is_linked(&links, &key, &name).await?,
            None => self.is_named(&key).await?,
        };
        if !of_this {
            return Err(UnknownFile::Missing(OF_ANOTHER));
        }
        FileName::new(name).map_err(|_| UnknownFile::Missing(ELSEWHERE))
    }

    /// Returns true if a signed link opens a file of this name in this session.
    async fn is_linked(
        &self,
        links: &SignedLinks,
        token: &str,
        name: &str,
    ) -> Result<bool, UnknownFile> {
        let now_ms = self.agent.ports.clock().now_ms();
        match links.verify_file(token, name, now_ms).await {
            Ok(grant) => Ok(grant.folder == Folder::from(&self.access.session)),
            Err(failure) if failure.code == ErrorCode::LinkExpired => {
                Err(UnknownFile::Missing(EXPIRED))
            }
            Err(failure) if failure.code == ErrorCode::LinkNotFound => {
                Err(UnknownFile::Missing(ELSEWHERE))
            }
            Err(failure) => Err(UnknownFile::Refused(failure.into())),
        }
    }

    /// Returns true if a label names this session: the session's own label, or the label of one of its
    /// requests.
    async fn is_named(&self, label: &str) -> Result<bool, UnknownFile> {
        let session = self.access.session_name();
        if SessionName::new(label).is_ok_and(|name| name == session) {
            return Ok(true);
        }
        let resolved_name =
            self.agent.ports.store().find_session_name(&self.caller.user_key(), label).await;
        let resolved_name = resolved_name.map_err(|error| UnknownFile::Refused(error.into()))?;
        Ok(resolved_name.is_some_and(|resolved_name| resolved_name == session))
    }
}
