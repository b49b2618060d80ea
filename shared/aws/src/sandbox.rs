//! The sandbox as two functions: small data is sent in the payload, large data through the bucket.

mod parcel;

use std::time::Duration;

use aws_sdk_lambda::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_lambda::operation::invoke::{InvokeError, InvokeOutput};
use aws_sdk_lambda::primitives::Blob;
use djinn_core::id::TenantId;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::sandbox::wire::{AnswerEnvelope, FORMAT, FunctionReply, PackedProduct};
use djinn_runtime::port::sandbox::{
    JobContext, MAX_JOB_BYTES, MAX_PRODUCT, MAX_PRODUCT_BYTES, Sandbox, SandboxAnswer,
    SandboxError, SandboxFile, SandboxJob, SandboxKind,
};
use djinn_runtime::port::tool::BoxFuture;
use djinn_settings::table::aws::{SANDBOX, SANDBOX_DOCUMENTS};

use crate::settings::SandboxFunctions;
use crate::store::AwsStore;
use crate::synchronous::{FunctionJob, is_busy};
use parcel::Parcel;

/// Maximum wait for an invocation: the function's timeout, and a cold start.
const PATIENCE: Duration = Duration::from_secs(65);
/// The most bytes of the variables of a block.
const MAX_STATE: u64 = 64 * 1024 * 1024;
/// The longest text of an error in a log.
const MAX_TEXT: usize = 500;

/// A sandbox whose functions are invoked synchronously, with separate environments for each tenant.
#[derive(Debug, Clone)]
pub struct LambdaSandbox {
    functions: SandboxFunctions,
    store: AwsStore,
}

impl LambdaSandbox {
    pub(crate) fn new(functions: SandboxFunctions, store: AwsStore) -> Self {
        Self { functions, store }
    }

    /// Returns the function for a kind of jobs.
    fn function(&self, kind: SandboxKind) -> Result<&str, SandboxError> {
        let function = match kind {
            SandboxKind::Code => &self.functions.code,
            SandboxKind::Documents => &self.functions.documents,
        };
        function.as_deref().ok_or_else(|| {
            let setting = variable_of(kind);
            SandboxError::Disabled(format!("the setting {setting} names no function"))
        })
    }

    async fn answer(
        &self,
        context: &JobContext,
        job: SandboxJob,
    ) -> Result<SandboxAnswer, SandboxError> {
        let kind = job.work.sandbox();
        self.function(kind)?;
        let mut parcel = Parcel::pack_job(&self.store, context, job).await?;
        let reply = self.invoke_function(kind, &context.session.tenant, parcel.to_payload()?).await;
        let reply = match reply {
            Ok(FunctionReply::Stored) => parcel.read_answer(&self.store).await,
            reply => reply,
        };
        parcel.clear_away(&self.store).await;
        match reply? {
            FunctionReply::Answer(answer) => unpack_answer(*answer).await,
            FunctionReply::Disabled(why) => Err(SandboxError::Disabled(why)),
            FunctionReply::Unavailable(why) => Err(SandboxError::Unavailable(why)),
            FunctionReply::Stored => {
                Err(unavailable("the sandbox's answer is not where it was put"))
            }
        }
    }

    async fn invoke_function(
        &self,
        kind: SandboxKind,
        tenant: &TenantId,
        payload: Vec<u8>,
    ) -> Result<FunctionReply, SandboxError> {
        let function = self.function(kind)?;
        let tenant = Some(tenant);
        let job = FunctionJob { function, tenant, payload, patience: PATIENCE };
        match job.invoke(&self.store.clients).await {
            Ok(output) => parse_output(&output),
            Err(error) => Err(explain_failure(kind, function, &error)),
        }
    }
}

impl Sandbox for LambdaSandbox {
    fn max_bytes(&self) -> u64 {
        MAX_JOB_BYTES
    }

    fn reads_files(&self) -> bool {
        true
    }

    fn run_job<'a>(
        &'a self,
        context: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(self.answer(context, job))
    }
}

/// Returns the name of the setting with the function for a kind of jobs.
fn variable_of(kind: SandboxKind) -> &'static str {
    match kind {
        SandboxKind::Code => SANDBOX.name,
        SandboxKind::Documents => SANDBOX_DOCUMENTS.name,
    }
}

fn explain_failure(
    kind: SandboxKind,
    function: &str,
    error: &SdkError<InvokeError>,
) -> SandboxError {
    let code = error.code().unwrap_or_default();
    let detail = DisplayErrorContext(error).to_string();
    let detail: String = detail.chars().take(MAX_TEXT).collect();
    tracing::warn!(function, code, detail, "the sandbox was not invoked");
    match code {
        _ if is_busy(error) => unavailable("all sandboxes are at work: try again in a minute"),
        "AccessDeniedException" | "ResourceNotFoundException" => {
            let setting = variable_of(kind);
            SandboxError::Disabled(format!(
                "the function {function} cannot be invoked: check {setting} and the policy"
            ))
        }
        _ if matches!(error, SdkError::TimeoutError(_)) => {
            let seconds = PATIENCE.as_secs();
            unavailable(&format!("the sandbox did not answer within {seconds} seconds"))
        }
        "" => unavailable("the sandbox could not be reached"),
        code => unavailable(&format!("the sandbox could not be reached: {code}")),
    }
}

fn unavailable(why: &str) -> SandboxError {
    SandboxError::Unavailable(why.to_owned())
}

#[allow(clippy::needless_pass_by_value, reason = "what map_err hands over")]
fn store_unavailable(error: StoreError) -> SandboxError {
    tracing::warn!(%error, "a job's files were not passed on");
    unavailable("the files could not be read: try again in a minute")
}

/// Parses the function's response, or returns the function's error.
fn parse_output(output: &InvokeOutput) -> Result<FunctionReply, SandboxError> {
    let payload = output.payload().map(Blob::as_ref).unwrap_or_default();
    if let Some(kind) = output.function_error() {
        let text: String = String::from_utf8_lossy(payload).chars().take(MAX_TEXT).collect();
        tracing::error!(kind, text, "the sandbox's function failed");
        let is_late = text.contains("Timedout") || text.contains("timed out");
        let why = if is_late { "its time was over" } else { "see its log" };
        return Err(unavailable(&format!("the sandbox's function failed: {why}")));
    }
    serde_json::from_slice(payload).map_err(|error| {
        tracing::error!(%error, "the sandbox's function answered what is no answer");
        unavailable("the sandbox's function answered what is no answer: deploy the whole stack")
    })
}

async fn unpack_answer(envelope: AnswerEnvelope) -> Result<SandboxAnswer, SandboxError> {
    if envelope.v != FORMAT {
        return Err(unavailable("the sandbox's function is of another version: deploy the stack"));
    }
    let result = tokio::task::spawn_blocking(move || {
        let AnswerEnvelope { end, seconds, output, value, products, left_out, state, .. } =
            envelope;
        let mut room = MAX_PRODUCT_BYTES;
        let unpack = |PackedProduct { name, content }| {
            let content = content.unpack(MAX_PRODUCT.min(room))?;
            room = room.saturating_sub(content.len() as u64);
            Ok::<_, std::io::Error>(SandboxFile { name, content })
        };
        let products = products.into_iter().map(unpack).collect::<Result<_, _>>()?;
        let state = state.unpack(MAX_STATE)?;
        Ok(SandboxAnswer { end, seconds, output, value, products, left_out, state })
    });
    let result = result.await.map_err(|error| unavailable(&error.to_string()))?;
    result.map_err(|error: std::io::Error| unavailable(&error.to_string()))
}

#[cfg(test)]
mod tests;
