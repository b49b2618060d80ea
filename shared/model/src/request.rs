//! Conversion of the port's request into genai's.

mod history;
mod options;

use std::collections::BTreeSet;

use djinn_core::effect::ToolChoice;
use djinn_runtime::port::model::{Message, ModelRequest};
use djinn_runtime::prompt::Prompts;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, Tool};
use serde_json::json;

use crate::settings::{FunctionCallType, ModelSettings, StreamFormat};
use crate::struct_parse;
use crate::tool_names::ToolNames;
pub(crate) use options::max_tokens;

/// A request ready to be sent.
pub(crate) struct PreparedRequest {
    pub(crate) chat: ChatRequest,
    pub(crate) options: ChatOptions,
    /// The names of the request's tools, to restore the originals.
    pub(crate) names: ToolNames,
    /// The way to find calls in the reply.
    pub(crate) call_type: FunctionCallType,
}

/// Returns `provider/model`, the id stored with thoughts to send back.
pub(crate) fn model_id(model: &ModelSettings) -> String {
    format!("{}/{}", model.provider.as_str(), model.model)
}

pub(crate) fn prepare_request(
    model: &ModelSettings,
    request: &ModelRequest,
    prompts: &Prompts,
) -> PreparedRequest {
    match model.function_call_type {
        FunctionCallType::FunctionCall => prepare_native(model, request),
        FunctionCallType::StructParse => prepare_struct_parse(model, request, prompts),
    }
}

/// Prepares a request for the provider's own tool interface.
fn prepare_native(model: &ModelSettings, request: &ModelRequest) -> PreparedRequest {
    let past_calls = request.messages.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        Message::User(_) | Message::ToolResults(_) | Message::Images { .. } => &[],
    });
    let past: BTreeSet<&str> = past_calls.map(|call| call.tool.as_str()).collect();
    let tool_names = request.tools.iter().map(|tool| tool.name.as_str());
    let names = ToolNames::new(tool_names.chain(past.iter().copied()));
    let offered = request.tools.iter().map(|tool| {
        Tool::new(names.wire_name(&tool.name))
            .with_description(tool.description.clone())
            .with_schema(tool.schema.clone())
    });
    let mut tools: Vec<Tool> = offered.collect();
    let mut choice = request.tool_choice.clone();
    let format = model.provider.stream_format(&model.model);
    let is_bedrock = model.provider.is_bedrock();
    // genai cannot send a tool choice to these providers, so a model that must not call gets no tools.
    if choice == ToolChoice::None && (format == StreamFormat::Ollama || is_bedrock) {
        tools.clear();
    }
    // These providers reject past calls of tools missing from the request.
    if tools.is_empty() && (format == StreamFormat::Anthropic || is_bedrock) {
        let schema = json!({"type": "object", "properties": {}});
        let placeholder =
            |name: &&str| Tool::new(names.wire_name(name)).with_schema(schema.clone());
        tools.extend(past.iter().map(placeholder));
        choice = ToolChoice::None;
    }
    let thinks = options::can_think(model, request);
    let mut chat = ChatRequest::new(history::native_messages(model, request, &names, thinks))
        .with_system(request.system.clone());
    let has_tools = !tools.is_empty();
    if has_tools {
        chat = chat.with_tools(tools);
    }
    PreparedRequest {
        chat,
        options: options::build_options(
            model,
            request,
            has_tools.then_some(&choice),
            &names,
            thinks,
        ),
        names,
        call_type: FunctionCallType::FunctionCall,
    }
}

/// Prepares a request with fenced JSON in the text.
fn prepare_struct_parse(
    model: &ModelSettings,
    request: &ModelRequest,
    prompts: &Prompts,
) -> PreparedRequest {
    let may_call = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
    let mut system = request.system.clone();
    if may_call {
        let must_call = options::must_call(request);
        let language = request.language;
        let tools = struct_parse::render_instructions(prompts, language, &request.tools, must_call);
        system = format!("{system}\n\n{tools}");
    }
    let messages: Vec<ChatMessage> = history::text_messages(request, prompts);
    let names = ToolNames::default();
    let thinks = options::can_think(model, request);
    PreparedRequest {
        chat: ChatRequest::new(messages).with_system(system),
        options: options::build_options(model, request, None, &names, thinks),
        names,
        call_type: if may_call {
            FunctionCallType::StructParse
        } else {
            FunctionCallType::FunctionCall
        },
    }
}
