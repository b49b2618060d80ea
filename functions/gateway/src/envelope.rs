//! Handles one job of the function: unpacks the envelope, runs the job, and packs the answer.

mod fitting;

use std::time::Duration;

use djinn_runtime::port::outside::OutsideError;
use djinn_runtime::port::outside::wire::{
    FORMAT, MAX_ANSWER, MAX_STORED_ANSWER, OutsideAnswer, OutsideContent, OutsideEnvelope,
    OutsideJob, OutsideReply,
};
use djinn_runtime::port::payload::StoreRequest;
use djinn_runtime::port::secret::Secrets;
use reqwest::{Client, StatusCode, redirect};

use crate::handler::GatewayHandler;
use crate::settings::GatewayRole;
use fitting::{fit_answer, json_size};

/// Timeouts for connecting to the store and for uploading an answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const PUT_TIMEOUT: Duration = Duration::from_secs(15);

/// Handles the function's jobs in their envelopes.
pub(crate) struct EnvelopeHandler<S> {
    handler: GatewayHandler<S>,
    role: GatewayRole,
}

impl<S: Secrets> EnvelopeHandler<S> {
    pub(crate) fn new(handler: GatewayHandler<S>, role: GatewayRole) -> Self {
        Self { handler, role }
    }

    /// Runs a job and returns the answer, or the reason for not running the job. `tenant` is the tenant of the
    /// environment, in which no other tenant's key may be opened.
    pub(crate) async fn handle_job(
        &self,
        envelope: OutsideEnvelope,
        tenant: Option<&str>,
    ) -> OutsideReply {
        let OutsideEnvelope { v, job, put_answer } = envelope;
        if v != FORMAT {
            let why = "the gateway's function is of another version: deploy the whole stack";
            return OutsideReply::Unavailable(why.to_owned());
        }
        let owner = job.key_owner().map(|owner| owner.tenant.as_str());
        if owner.is_some_and(|owner| tenant.is_some_and(|tenant| tenant != owner)) {
            return OutsideReply::Refused("the key belongs to another tenant".to_owned());
        }
        match self.answer(job).await {
            Ok(content) => fit_reply(OutsideAnswer { v: FORMAT, content }, put_answer).await,
            Err(OutsideError::Disabled(why)) => OutsideReply::Disabled(why),
            Err(OutsideError::Refused(why)) => OutsideReply::Refused(why),
            Err(OutsideError::Unavailable(why)) => {
                tracing::warn!(why, "a job was not done");
                OutsideReply::Unavailable(why)
            }
        }
    }

    async fn answer(&self, job: OutsideJob) -> Result<OutsideContent, OutsideError> {
        let refuse = |why: &str| Err(OutsideError::Refused(why.to_owned()));
        match (job, self.role) {
            (OutsideJob::Read(_), GatewayRole::Call) => {
                refuse("this function holds keys and reads no pages: ask the one that fetches")
            }
            (OutsideJob::Search(_), GatewayRole::Fetch) => {
                refuse("this function reads pages and asks no engines: ask the one that calls")
            }
            (OutsideJob::Call(_), GatewayRole::Fetch) => {
                refuse("this function reads pages and calls no tools: ask the one that calls")
            }
            (OutsideJob::Seal(_), GatewayRole::Fetch) => {
                refuse("this function reads pages and seals no keys: ask the one that calls")
            }
            (OutsideJob::Read(job), GatewayRole::Fetch | GatewayRole::Both) => {
                self.handler.read_pages(job).await.map(OutsideContent::Read)
            }
            (OutsideJob::Search(job), GatewayRole::Call | GatewayRole::Both) => {
                self.handler.search_web(job).await.map(OutsideContent::Search)
            }
            (OutsideJob::Call(job), GatewayRole::Call | GatewayRole::Both) => {
                Ok(OutsideContent::Call(self.handler.call_tool(job).await))
            }
            (OutsideJob::Seal(job), GatewayRole::Call | GatewayRole::Both) => {
                self.handler.seal_key(job).await.map(OutsideContent::Seal)
            }
        }
    }
}

/// Returns the answer inline if a payload can hold the answer. A larger answer goes to the store. If the
/// upload fails, content is left out, and each affected page says so.
async fn fit_reply(answer: OutsideAnswer, put_answer: Option<StoreRequest>) -> OutsideReply {
    let size = json_size(&answer);
    if let Some(put_answer) = put_answer.filter(|_| size > MAX_ANSWER) {
        let short_answer = fit_answer(answer.clone(), MAX_STORED_ANSWER);
        let body = serde_json::to_vec(&short_answer).unwrap_or_default();
        match put_object(&put_answer, body).await {
            Ok(()) => return OutsideReply::Stored,
            Err(error) => tracing::warn!(%error, size, "a large answer was not stored"),
        }
    }
    OutsideReply::Answer(fit_answer(answer, MAX_ANSWER))
}

/// The reason an upload failed. No message contains the URL, because the URL grants access.
#[derive(Debug, thiserror::Error)]
enum PutError {
    #[error("the store could not be reached: {0}")]
    Network(#[source] reqwest::Error),
    #[error("the store answered {0}")]
    Refused(StatusCode),
}

impl From<reqwest::Error> for PutError {
    fn from(error: reqwest::Error) -> Self {
        Self::Network(error.without_url())
    }
}

/// Uploads an object with a request signed elsewhere. Uses a client of its own, so the client for pages never
/// reaches the store.
async fn put_object(request: &StoreRequest, body: Vec<u8>) -> Result<(), PutError> {
    let client = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(PUT_TIMEOUT)
        .build()?;
    let upload = request.headers.iter().fold(client.put(&request.url), |upload, (name, value)| {
        // reqwest sets this header from the body.
        if name.eq_ignore_ascii_case("content-length") {
            upload
        } else {
            upload.header(name, value)
        }
    });
    let status = upload.body(body).send().await?.status();
    if status.is_success() { Ok(()) } else { Err(PutError::Refused(status)) }
}

#[cfg(test)]
mod tests;
