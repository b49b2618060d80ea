//! From the port's request to genai's.

mod history;
mod options;

use std::collections::BTreeSet;

use djinn_core::effect::ToolChoice;
use djinn_core::tool::ToolSpec;
use djinn_runtime::port::model::{Message, ModelRequest};
use djinn_runtime::prompt::Prompts;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, Tool};
use serde_json::json;

use crate::names::Names;
use crate::settings::{FunctionCallType, ModelSettings, Shape};
use crate::struct_parse;
pub(crate) use options::max_tokens;

/// A request ready to be sent.
pub(crate) struct Outgoing {
    pub(crate) chat: ChatRequest,
    pub(crate) options: ChatOptions,
    /// What tells the names of its tools back.
    pub(crate) names: Names,
    /// How calls are looked for in the reply.
    pub(crate) how: FunctionCallType,
}

/// `provider/model`: whose thoughts are sent back to whom.
pub(crate) fn by(model: &ModelSettings) -> String {
    format!("{}/{}", model.provider.as_str(), model.model)
}

pub(crate) fn outgoing(
    model: &ModelSettings,
    request: &ModelRequest,
    prompts: &Prompts,
) -> Outgoing {
    match model.function_call_type {
        FunctionCallType::FunctionCall => native(model, request),
        FunctionCallType::StructParse => written(model, request, prompts),
    }
}

/// By the provider's own interface for tools.
fn native(model: &ModelSettings, request: &ModelRequest) -> Outgoing {
    let past: BTreeSet<&str> = past_tools(&request.messages).collect();
    let offered = request.tools.iter().map(|tool| tool.name.as_str());
    let names = Names::new(offered.chain(past.iter().copied()));
    let mut tools: Vec<Tool> = request.tools.iter().map(|tool| offer(tool, &names)).collect();
    let mut choice = request.tool_choice.clone();
    // What cannot be told not to call is offered nothing to call.
    if choice == ToolChoice::None && !takes_choice(model) {
        tools.clear();
    }
    if tools.is_empty() && must_name_past_tools(model) {
        tools.extend(past.iter().map(|name| bare(name, &names)));
        choice = ToolChoice::None;
    }
    let thinks = options::thinks(model, request);
    let mut chat = ChatRequest::new(history::native(model, request, &names, thinks))
        .with_system(request.system.clone());
    let has_tools = !tools.is_empty();
    if has_tools {
        chat = chat.with_tools(tools);
    }
    Outgoing {
        chat,
        options: options::options(model, request, has_tools.then_some(&choice), &names, thinks),
        names,
        how: FunctionCallType::FunctionCall,
    }
}

/// By fenced JSON in the text.
fn written(model: &ModelSettings, request: &ModelRequest, prompts: &Prompts) -> Outgoing {
    let may_call = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
    let mut system = request.system.clone();
    if may_call {
        let tools = struct_parse::instructions(prompts, request.language, &request.tools);
        system = format!("{system}\n\n{tools}");
    }
    let messages: Vec<ChatMessage> = history::written(request, prompts);
    let names = Names::default();
    let thinks = options::thinks(model, request);
    Outgoing {
        chat: ChatRequest::new(messages).with_system(system),
        options: options::options(model, request, None, &names, thinks),
        names,
        how: if may_call { FunctionCallType::StructParse } else { FunctionCallType::FunctionCall },
    }
}

fn past_tools(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages
        .iter()
        .flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            Message::User(_) | Message::ToolResults(_) => &[],
        })
        .map(|call| call.tool.as_str())
}

/// Whether a provider refuses past calls of tools that the request does not name.
fn must_name_past_tools(model: &ModelSettings) -> bool {
    model.provider.shape(&model.model) == Shape::Anthropic || model.provider.is_bedrock()
}

/// Whether genai tells the provider to call or not to.
fn takes_choice(model: &ModelSettings) -> bool {
    model.provider.shape(&model.model) != Shape::Ollama && !model.provider.is_bedrock()
}

fn offer(tool: &ToolSpec, names: &Names) -> Tool {
    Tool::new(names.wire(&tool.name))
        .with_description(tool.description.clone())
        .with_schema(tool.schema.clone())
}

fn bare(name: &str, names: &Names) -> Tool {
    Tool::new(names.wire(name)).with_schema(json!({"type": "object", "properties": {}}))
}
