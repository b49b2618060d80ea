//! Logs: one JSON object per line, with the ids of the run and the call.
//!
//! Spans carry `run_id` and OpenTelemetry's `gen_ai.*` names. No prompt, no text of a model, a file or a
//! user, and no key is logged above DEBUG.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The log levels of third-party crates. `genai` and `rmcp` log texts of models and servers, so they are off.
const OTHERS: &str = "genai=off,aws_config=warn,aws_runtime=warn,aws_sdk_dynamodb=warn,\
aws_sdk_lambda=warn,aws_sdk_s3=warn,aws_sdk_scheduler=warn,aws_smithy_runtime=warn,dynoxide=error,h2=warn,\
hyper=warn,hyper_util=warn,reqwest=warn,rmcp=off,rustls=warn,s3s=warn,s3s_fs=warn";

/// Starts logging to `writer` at `level` (default `info`; `debug` logs the start of effects). No effect if
/// logging is already started.
pub fn init<W>(level: Option<&str>, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // No effect if a subscriber is already set.
    let _ = subscriber(level, writer).try_init();
}

/// Returns the subscriber that [`init`] installs.
pub fn subscriber<W>(
    level: Option<&str>,
    writer: W,
) -> impl tracing::Subscriber + Send + Sync + 'static
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = level.map_or_else(|| "info".to_owned(), str::to_lowercase);
    let filter = EnvFilter::new(format!("{level},{OTHERS}"));
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(true)
        .with_env_filter(filter)
        .with_writer(writer)
        .finish()
}
