//! The span of a call, in OpenTelemetry's names for generative models.

use djinn_core::input::{FinishReason, Reply};
use djinn_runtime::port::model::{ModelError, ModelRequest};
use tracing::Span;
use tracing::field::Empty;

use crate::settings::ModelSettings;

/// Opens the span of an attempt, with names and counts only, never message text.
pub(crate) fn start_span(name: &str, model: &ModelSettings, request: &ModelRequest) -> Span {
    tracing::info_span!(
        "gen_ai.chat",
        call = %request.call,
        role = request.role.as_str(),
        model = name,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = model.provider.telemetry_name(),
        gen_ai.request.model = %model.model,
        gen_ai.request.max_tokens = model.max_tokens,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.response.finish_reasons = Empty,
        took_ms = Empty,
        error.type = Empty,
    )
}

/// Records the attempt's outcome.
pub(crate) fn end_span(span: &Span, outcome: &Result<Reply, ModelError>) {
    let usage = match outcome {
        Ok(reply) => reply.usage,
        Err(error) => error.usage,
    };
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    span.record("took_ms", usage.took_ms);
    match outcome {
        Ok(reply) => {
            let reason = match (reply.finish, reply.calls.is_empty()) {
                (FinishReason::Done, true) => "stop",
                (FinishReason::Done, false) => "tool_calls",
                (FinishReason::Length, _) => "length",
                (FinishReason::Filtered, _) => "content_filter",
            };
            span.record("gen_ai.response.finish_reasons", reason);
            // A line log shows a span only if the span has an event.
            span.in_scope(|| tracing::info!("model replied"));
        }
        Err(error) => {
            span.record("error.type", error.kind.error_code().as_str());
        }
    }
}
