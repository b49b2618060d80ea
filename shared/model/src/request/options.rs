//! Options of a request: sampling, thinking and tool calls.

use djinn_core::effect::ToolChoice;
use djinn_core::settings::Role;
use djinn_runtime::port::model::{Message, ModelRequest};
use genai::chat::{ChatOptions, ReasoningEffort, ToolChoice as GenaiChoice};
use serde_json::{Map, Value, json};

use crate::draft::ReasoningState;
use crate::settings::{ModelSettings, StreamFormat, Temperature, Thinking, ThinkingStyle};
use crate::tool_names::ToolNames;

/// The header with a call's id.
pub(crate) const CALL_HEADER: &str = "djinn-call";
/// Low, because the closing summary must follow its material closely.
const SUMMARY_TEMPERATURE: f64 = 0.01;

/// Model name suffixes that genai strips as an effort, unless an effort is set.
const EFFORTS: &[&str] = &["zero", "none", "low", "medium", "high", "xhigh", "max", "minimal"];

/// Builds the options of a call; `choice` is `None` if no tool is offered.
pub(super) fn build_options(
    model: &ModelSettings,
    request: &ModelRequest,
    choice: Option<&ToolChoice>,
    names: &ToolNames,
    thinks: bool,
) -> ChatOptions {
    let thinking = if thinks { model.thinking } else { Some(Thinking::Off) };
    let mut extra = Map::new();
    let mut options = ChatOptions::default()
        .with_max_tokens(max_tokens(model, thinking))
        .with_capture_usage(true)
        .with_extra_headers((CALL_HEADER, header_value(&request.call)));
    options.temperature = choose_temperature(model, request.role, thinking);
    options.reasoning_effort = apply_effort(model, thinking, &mut extra);
    options.tool_choice = choice.map(|choice| match choice {
        ToolChoice::None => GenaiChoice::None,
        ToolChoice::Auto => GenaiChoice::Auto,
        ToolChoice::Required => GenaiChoice::Required,
        ToolChoice::Named(name) => GenaiChoice::tool(names.wire_name(name)),
    });
    if model.provider.stream_format(&model.model) == StreamFormat::Events {
        options.capture_tool_calls = Some(true);
        options.capture_content = Some(true);
    }
    if is_thinking_on(thinking) {
        options.capture_reasoning_content = Some(true);
    }
    extra.extend(model.extra.clone());
    if !extra.is_empty() {
        options.extra_body = Some(Value::Object(extra));
    }
    options
}

/// Returns true if the reply must call a tool.
pub(super) fn must_call(request: &ModelRequest) -> bool {
    matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_))
}

/// Returns true if the model may think in this call. Anthropic rejects thinking with a forced call, and after
/// a turn with calls and another model's thoughts.
pub(super) fn can_think(model: &ModelSettings, request: &ModelRequest) -> bool {
    let is_anthropic = model.provider.stream_format(&model.model) == StreamFormat::Anthropic;
    if !is_anthropic || !is_thinking_on(model.thinking) {
        return true;
    }
    let by = super::model_id(model);
    let newest = request.messages.iter().rev().find_map(|message| match message {
        Message::Assistant { text, reasoning, calls }
            if !(text.trim().is_empty() && calls.is_empty()) =>
        {
            Some((reasoning, !calls.is_empty()))
        }
        _ => None,
    });
    let is_foreign = newest.is_some_and(|(reasoning, has_calls)| {
        let signature = reasoning.as_ref().and_then(|reasoning| reasoning.signature.as_deref());
        has_calls && ReasoningState::from_signature(signature, &by).is_none()
    });
    !must_call(request) && !is_foreign
}

fn is_thinking_on(thinking: Option<Thinking>) -> bool {
    thinking.is_some_and(|thinking| thinking != Thinking::Off)
}

/// Returns the output limit. Providers with a thinking budget count the budget as output, so the budget is
/// added: the setting applies to the answer.
pub(crate) fn max_tokens(model: &ModelSettings, thinking: Option<Thinking>) -> u32 {
    let budget = match (model.provider.thinking_style(&model.model), thinking) {
        (ThinkingStyle::Budget, Some(Thinking::Low)) => 1_024,
        (ThinkingStyle::Budget, Some(Thinking::Medium)) => 8_000,
        (ThinkingStyle::Budget, Some(Thinking::High)) => 24_000,
        (ThinkingStyle::Budget, Some(Thinking::Tokens(tokens))) => tokens,
        (_, _) => 0,
    };
    model.max_tokens.saturating_add(budget)
}

fn choose_temperature(
    model: &ModelSettings,
    role: Role,
    thinking: Option<Thinking>,
) -> Option<f64> {
    let style = model.provider.thinking_style(&model.model);
    // With thinking, Claude accepts only the default temperature.
    if is_thinking_on(thinking) && style == ThinkingStyle::Budget {
        return None;
    }
    let of_role = |react| match role {
        Role::React
        | Role::Planner
        | Role::Executor
        | Role::Code
        | Role::Data
        | Role::Analysis
        | Role::Report
        | Role::Search
        | Role::Router
        | Role::Critic
        | Role::Second => react,
        Role::Summary | Role::Compactor | Role::Employees => SUMMARY_TEMPERATURE,
    };
    match model.temperature {
        Temperature::Never => None,
        Temperature::Fixed(fixed) => Some(of_role(fixed)),
        Temperature::Default if accepts_temperature(&model.model) => Some(of_role(0.0)),
        Temperature::Default => None,
    }
}

/// Returns true unless the model is known to reject a temperature: OpenAI's reasoning models, Claude since
/// Opus 4.7, and Claude since version 5.
fn accepts_temperature(model: &str) -> bool {
    let name = model.rsplit(['/', ':']).next().unwrap_or(model);
    if ["o1", "o3", "o4", "gpt-5", "gpt-6"].iter().any(|start| name.starts_with(start)) {
        return false;
    }
    let Some((_, claude)) = model.split_once("claude-") else {
        return true;
    };
    let mut words = claude.split(['-', '.']);
    let family = words.next().unwrap_or_default();
    let mut number = || words.next().and_then(|word| word.parse::<u32>().ok());
    // A longer number is a date.
    let version = (number().unwrap_or(0), number().filter(|minor| *minor < 100).unwrap_or(0));
    match family {
        "opus" => version < (4, 7),
        "sonnet" | "haiku" => version.0 < 5,
        "fable" | "mythos" => false,
        _ => true,
    }
}

/// Sets the effort for genai and the thinking fields of the body.
fn apply_effort(
    model: &ModelSettings,
    thinking: Option<Thinking>,
    extra: &mut Map<String, Value>,
) -> Option<ReasoningEffort> {
    let style = model.provider.thinking_style(&model.model);
    let word = thinking.map(|thinking| match thinking {
        Thinking::Off => "none",
        Thinking::Low => "low",
        Thinking::Medium | Thinking::Tokens(_) => "medium",
        Thinking::High => "high",
    });
    let switch = if is_thinking_on(thinking) { "enabled" } else { "disabled" };
    match style {
        ThinkingStyle::Effort => {
            extra.extend(word.map(|word| ("reasoning_effort".to_owned(), word.into())));
        }
        ThinkingStyle::Switch | ThinkingStyle::SwitchAndEffort => {
            extra.extend(word.map(|_| ("thinking".to_owned(), json!({"type": switch}))));
            if style == ThinkingStyle::SwitchAndEffort && is_thinking_on(thinking) {
                extra.extend(word.map(|word| ("reasoning_effort".to_owned(), word.into())));
            }
        }
        ThinkingStyle::Budget | ThinkingStyle::Level => {}
    }
    match (style, thinking) {
        // Chat Completions ignores a budget, and a set budget keeps the name whole.
        (ThinkingStyle::Effort | ThinkingStyle::Switch | ThinkingStyle::SwitchAndEffort, _) => {
            Some(ReasoningEffort::Budget(0))
        }
        (_, Some(Thinking::Off)) => Some(ReasoningEffort::Zero),
        (_, Some(Thinking::Low)) => Some(ReasoningEffort::Low),
        (_, Some(Thinking::Medium)) => Some(ReasoningEffort::Medium),
        (_, Some(Thinking::High)) => Some(ReasoningEffort::High),
        (_, Some(Thinking::Tokens(tokens))) => Some(ReasoningEffort::Budget(tokens)),
        // A neutral effort only keeps genai from stripping the name's suffix.
        (_, None) => match model.provider.as_str() {
            "openai_resp" => Some(ReasoningEffort::Budget(0)),
            "ollama" | "ollama_cloud" | "cohere" => None,
            _ if model.provider.is_bedrock() => None,
            _ => {
                let ending = model.model.rsplit_once('-').map(|(_, ending)| ending);
                let ends_in_effort = ending.is_some_and(|ending| EFFORTS.contains(&ending));
                ends_in_effort.then_some(ReasoningEffort::Zero)
            }
        },
    }
}

/// Returns a header value: every character except visible ASCII becomes `_`.
fn header_value(call: &str) -> String {
    call.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_refuse_a_temperature_are_known() {
        for name in [
            "gpt-4.1",
            "gpt-4o-mini",
            "claude-3-5-sonnet-20241022",
            "claude-sonnet-4-6",
            "claude-opus-4-20250514",
            "us.anthropic.claude-opus-4-6-v1:0",
            "anthropic/claude-sonnet-4.5",
            "qwen-max",
            "openai/gpt-oss-120b",
        ] {
            assert!(accepts_temperature(name), "{name}");
        }
        for name in [
            "gpt-5",
            "openai/gpt-5-mini",
            "o3-mini",
            "o1",
            "claude-opus-4-7",
            "claude-opus-5",
            "claude-sonnet-5",
            "claude-sonnet-5-5",
            "anthropic/claude-opus-4.8",
            "us.anthropic.claude-haiku-5-20260101-v1:0",
        ] {
            assert!(!accepts_temperature(name), "{name}");
        }
    }
}
