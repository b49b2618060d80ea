//! The gateway as two functions: the first reads pages, the second holds the keys of search engines and tools.

use std::time::Duration;

use aws_sdk_lambda::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_lambda::operation::invoke::{InvokeError, InvokeOutput};
use aws_sdk_lambda::primitives::Blob;
use djinn_core::id::{TenantId, sha256_hex};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file_url::Folder;
use djinn_runtime::port::outside::wire::{
    FORMAT, MAX_STORED_ANSWER, OutsideAnswer, OutsideContent, OutsideEnvelope, OutsideJob,
    OutsideReply,
};
use djinn_runtime::port::outside::{
    Outside, OutsideContext, OutsideError, PageAnswer, ReadJob, SealJob, SearchAnswer, SearchJob,
    ToolAnswer, ToolJob,
};
use djinn_runtime::port::payload::StoreRequest;
use djinn_runtime::port::tool::BoxFuture;
use djinn_settings::table::aws::{GATEWAY_CALL, GATEWAY_FETCH};

use crate::file::{IN_TRANSIT, object_key};
use crate::settings::GatewayFunctions;
use crate::store::AwsStore;
use crate::synchronous::{FunctionJob, is_busy};

/// Maximum wait for pages and searches: their own timeouts, and a cold start.
const PATIENCE: Duration = Duration::from_secs(65);
/// Maximum wait for a tool: the function's timeout, and a cold start.
const TOOL_PATIENCE: Duration = Duration::from_secs(335);
/// Lifetime of the URL for a large response: an invocation, and the wait for an environment.
const VALID_FOR: Duration = Duration::from_secs(10 * 60);
/// The longest text of an error in a log.
const MAX_TEXT: usize = 500;

/// A gateway invoked synchronously. Each tenant's searches run in separate environments.
#[derive(Debug, Clone)]
pub struct LambdaGateway {
    functions: GatewayFunctions,
    store: AwsStore,
}

/// A function with the name of its setting.
struct NamedFunction<'a> {
    name: &'a str,
    setting: &'static str,
    patience: Duration,
}

impl LambdaGateway {
    pub(crate) fn new(functions: GatewayFunctions, store: AwsStore) -> Self {
        Self { functions, store }
    }

    async fn read(
        &self,
        context: &OutsideContext,
        job: ReadJob,
    ) -> Result<Vec<PageAnswer>, OutsideError> {
        let function = self.name_fetch()?;
        match self.invoke_with_place(&function, context, None, OutsideJob::Read(job)).await? {
            OutsideContent::Read(pages) => Ok(pages),
            OutsideContent::Search(_) | OutsideContent::Call(_) | OutsideContent::Seal(_) => {
                Err(other_answer())
            }
        }
    }

    async fn call(
        &self,
        context: &OutsideContext,
        job: ToolJob,
    ) -> Result<ToolAnswer, OutsideError> {
        let function = self.name_call(TOOL_PATIENCE)?;
        let tenant = Some(&context.session.tenant);
        match self.invoke_with_place(&function, context, tenant, OutsideJob::Call(job)).await? {
            OutsideContent::Call(answer) => Ok(answer),
            OutsideContent::Read(_) | OutsideContent::Search(_) | OutsideContent::Seal(_) => {
                Err(other_answer())
            }
        }
    }

    async fn seal(&self, job: SealJob) -> Result<String, OutsideError> {
        let function = self.name_call(PATIENCE)?;
        let tenant = job.owner.tenant.clone();
        let job = OutsideJob::Seal(job);
        let envelope = OutsideEnvelope { v: FORMAT, job, put_answer: None };
        let reply = self.invoke_function(&function, Some(&tenant), &envelope).await?;
        match read_reply(reply)? {
            OutsideContent::Seal(sealed) => Ok(sealed),
            OutsideContent::Read(_) | OutsideContent::Search(_) | OutsideContent::Call(_) => {
                Err(other_answer())
            }
        }
    }

    /// Invokes a function that may store its answer as an object.
    async fn invoke_with_place(
        &self,
        function: &NamedFunction<'_>,
        context: &OutsideContext,
        tenant: Option<&TenantId>,
        job: OutsideJob,
    ) -> Result<OutsideContent, OutsideError> {
        // Without a URL for a large response, the function omits the parts above the limit.
        let place = self.prepare_answer(context).await.inspect_err(|error| {
            tracing::warn!(%error, "a large answer would have no place");
        });
        let (key, put_answer) = place.ok().unzip();
        let envelope = OutsideEnvelope { v: FORMAT, job, put_answer };
        let reply = self.invoke_function(function, tenant, &envelope).await?;
        let reply = match (reply, key) {
            (OutsideReply::Stored, Some(key)) => {
                OutsideReply::Answer(self.collect_answer(&key).await?)
            }
            (reply, _) => reply,
        };
        read_reply(reply)
    }

    fn name_fetch(&self) -> Result<NamedFunction<'_>, OutsideError> {
        name_function(self.functions.fetch.as_deref(), GATEWAY_FETCH.name, PATIENCE)
    }

    fn name_call(&self, patience: Duration) -> Result<NamedFunction<'_>, OutsideError> {
        name_function(self.functions.call.as_deref(), GATEWAY_CALL.name, patience)
    }

    async fn search(
        &self,
        context: &OutsideContext,
        job: SearchJob,
    ) -> Result<SearchAnswer, OutsideError> {
        let function = self.name_call(PATIENCE)?;
        let job = OutsideJob::Search(job);
        let envelope = OutsideEnvelope { v: FORMAT, job, put_answer: None };
        let tenant = Some(&context.session.tenant);
        let reply = self.invoke_function(&function, tenant, &envelope).await?;
        match read_reply(reply)? {
            OutsideContent::Search(answer) => Ok(answer),
            OutsideContent::Read(_) | OutsideContent::Call(_) | OutsideContent::Seal(_) => {
                Err(other_answer())
            }
        }
    }

    async fn invoke_function(
        &self,
        function: &NamedFunction<'_>,
        tenant: Option<&TenantId>,
        envelope: &OutsideEnvelope,
    ) -> Result<OutsideReply, OutsideError> {
        let payload = serde_json::to_vec(envelope);
        let payload = payload.map_err(|error| unavailable(&error.to_string()))?;
        let NamedFunction { name, patience, .. } = *function;
        let job = FunctionJob { function: name, tenant, payload, patience };
        match job.invoke(&self.store.clients).await {
            Ok(output) => parse_output(&output),
            Err(error) => Err(explain_failure(function, &error)),
        }
    }

    /// Returns the key and the presigned request for a response too large for the payload.
    async fn prepare_answer(
        &self,
        context: &OutsideContext,
    ) -> Result<(String, StoreRequest), StoreError> {
        let chance = sha256_hex(&fastrand::u128(..).to_be_bytes());
        let folder = Folder::from(&context.session);
        let key = object_key(&folder, &format!("{IN_TRANSIT}{chance}"))?;
        let (url, headers) = self.store.presign_write(&key, VALID_FOR).await?;
        Ok((key, StoreRequest { url, headers }))
    }

    /// Reads the response from the bucket, and deletes the object. A remaining object is deleted with its
    /// session, or expires.
    async fn collect_answer(&self, key: &str) -> Result<OutsideAnswer, OutsideError> {
        // The writer of the response parses untrusted text and could store any amount, so the read is
        // limited.
        let json = self.store.get_object(key, Some(MAX_STORED_ANSWER as u64 + 1)).await;
        if let Err(error) = self.store.delete_object(key).await {
            tracing::warn!(%error, "an answer of the gateway is left");
        }
        let json = json.map_err(|error| {
            tracing::warn!(%error, "an answer of the gateway was not read");
            unavailable("what was read could not be fetched: try again in a minute")
        })?;
        if json.len() > MAX_STORED_ANSWER {
            return Err(unavailable("what was read is more than an answer of the gateway may be"));
        }
        let result = tokio::task::spawn_blocking(move || serde_json::from_slice(&json)).await;
        let result = result.map_err(|error| unavailable(&error.to_string()))?;
        result.map_err(|error| unavailable(&error.to_string()))
    }
}

impl Outside for LambdaGateway {
    fn read_pages<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: ReadJob,
    ) -> BoxFuture<'a, Result<Vec<PageAnswer>, OutsideError>> {
        Box::pin(self.read(context, job))
    }

    fn search_web<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: SearchJob,
    ) -> BoxFuture<'a, Result<SearchAnswer, OutsideError>> {
        Box::pin(self.search(context, job))
    }

    fn call_tool<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: ToolJob,
    ) -> BoxFuture<'a, Result<ToolAnswer, OutsideError>> {
        Box::pin(self.call(context, job))
    }

    fn seal_key(&self, job: SealJob) -> BoxFuture<'_, Result<String, OutsideError>> {
        Box::pin(self.seal(job))
    }
}

fn name_function<'a>(
    function: Option<&'a str>,
    setting: &'static str,
    patience: Duration,
) -> Result<NamedFunction<'a>, OutsideError> {
    let to_error = || OutsideError::Disabled(format!("no function does that: set {setting}"));
    function.map(|name| NamedFunction { name, setting, patience }).ok_or_else(to_error)
}

fn unavailable(why: &str) -> OutsideError {
    OutsideError::Unavailable(why.to_owned())
}

fn other_answer() -> OutsideError {
    unavailable("the gateway's function answered another question: deploy the whole stack")
}

fn explain_failure(function: &NamedFunction<'_>, error: &SdkError<InvokeError>) -> OutsideError {
    let NamedFunction { name, setting, patience } = function;
    let code = error.code().unwrap_or_default();
    let detail = DisplayErrorContext(error).to_string();
    let detail: String = detail.chars().take(MAX_TEXT).collect();
    tracing::warn!(function = name, code, detail, "the gateway was not invoked");
    match code {
        _ if is_busy(error) => unavailable("the gateway is at work: try again in a minute"),
        "AccessDeniedException" | "ResourceNotFoundException" => OutsideError::Disabled(format!(
            "the function {name} cannot be invoked: check {setting} and the policy"
        )),
        _ if matches!(error, SdkError::TimeoutError(_)) => {
            let seconds = patience.as_secs();
            unavailable(&format!("the gateway did not answer within {seconds} seconds"))
        }
        "" => unavailable("the gateway could not be reached"),
        code => unavailable(&format!("the gateway could not be reached: {code}")),
    }
}

/// Parses the function's response, or returns the function's error.
fn parse_output(output: &InvokeOutput) -> Result<OutsideReply, OutsideError> {
    let payload = output.payload().map(Blob::as_ref).unwrap_or_default();
    if let Some(kind) = output.function_error() {
        let text: String = String::from_utf8_lossy(payload).chars().take(MAX_TEXT).collect();
        tracing::error!(kind, text, "the gateway's function failed");
        let is_late = text.contains("Timedout") || text.contains("timed out");
        let why = if is_late { "its time was over" } else { "see its log" };
        return Err(unavailable(&format!("the gateway's function failed: {why}")));
    }
    serde_json::from_slice(payload).map_err(|error| {
        tracing::error!(%error, "the gateway's function answered what is no answer");
        unavailable("the gateway's function answered what is no answer: deploy the whole stack")
    })
}

fn read_reply(reply: OutsideReply) -> Result<OutsideContent, OutsideError> {
    match reply {
        OutsideReply::Answer(answer) if answer.v == FORMAT => Ok(answer.content),
        OutsideReply::Answer(_) => {
            Err(unavailable("the gateway's function is of another version: deploy the stack"))
        }
        OutsideReply::Stored => Err(unavailable("the gateway's answer is not where it was put")),
        OutsideReply::Disabled(why) => Err(OutsideError::Disabled(why)),
        OutsideReply::Refused(why) => Err(OutsideError::Refused(why)),
        OutsideReply::Unavailable(why) => Err(OutsideError::Unavailable(why)),
    }
}

#[cfg(test)]
mod tests;
