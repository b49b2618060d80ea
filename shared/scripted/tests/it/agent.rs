//! A small agent with Djinn's client library and prompts.

use std::collections::BTreeMap;

use djinn_scripted::ScriptedModel;
use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, MessageContent,
    StopReason, Tool, ToolCall, ToolResponse, Usage,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use serde_json::{Value, json};

pub(crate) struct Client {
    client: genai::Client,
    target: ServiceTarget,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop: Option<StopReason>,
    /// The number of deltas of the text.
    pub(crate) deltas: usize,
}

impl Client {
    pub(crate) fn new(server: &ScriptedModel, kind: AdapterKind) -> Self {
        let url = if kind == AdapterKind::Ollama { server.ollama_url() } else { server.base_url() };
        Self {
            client: genai::Client::new().unwrap(),
            target: ServiceTarget {
                endpoint: Endpoint::from_owned(url),
                auth: AuthData::from_single("key"),
                model: ModelIden::new(kind, "scripted-model"),
            },
        }
    }

    pub(crate) async fn ask(&self, request: ChatRequest) -> genai::Result<Reply> {
        let options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(true);
        let target = self.target.clone();
        let response = self.client.exec_chat_stream(target, request, Some(&options)).await?;
        let mut stream = response.stream;
        let mut deltas = 0;
        while let Some(event) = stream.next().await {
            let event = event?;
            deltas += usize::from(matches!(event, ChatStreamEvent::Chunk(_)));
            if let ChatStreamEvent::End(end) = event {
                let content = end.captured_content.unwrap_or_default();
                return Ok(Reply {
                    text: content.texts().concat(),
                    reasoning: end.captured_reasoning_content.unwrap_or_default(),
                    calls: content.tool_calls().into_iter().cloned().collect(),
                    usage: end.captured_usage,
                    stop: end.captured_stop_reason,
                    deltas,
                });
            }
        }
        panic!("the stream ended without its end");
    }
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool::new(name).with_description("A tool.").with_schema(json!({"type": "object"}))
}

/// Returns foreign text in Djinn's untrusted frame.
fn framed(text: &str) -> String {
    format!("<untrusted>\n{text}\n</untrusted>")
}

/// The repository's prompts in one language.
#[derive(Clone, Copy)]
pub(crate) struct Prompts(pub(crate) &'static str);

impl Prompts {
    pub(crate) fn render(self, name: &str, values: Value) -> String {
        let root = env!("CARGO_MANIFEST_DIR");
        let path = format!("{root}/../../prompts/{}/{name}.md", self.0);
        let template = std::fs::read_to_string(path).unwrap();
        let values = minijinja::Value::from(minijinja::value::Serde(values));
        let mut environment = minijinja::Environment::new();
        environment.add_filter("framed", |text: String| framed(&text));
        let text = environment.render_str(&template, values).unwrap();
        text.trim().to_owned()
    }
}

/// A run of the agent, with its results.
pub(crate) struct Agent {
    pub(crate) client: Client,
    pub(crate) prompts: Prompts,
    pub(crate) files: BTreeMap<String, String>,
    /// The characters of a file returned by one read.
    pub(crate) part: usize,
    /// The characters lost at the end of each read.
    pub(crate) lost: usize,
    /// True if writing always fails.
    pub(crate) read_only: bool,
    /// The name that the user gives to written files in their approval; `None` without a change.
    pub(crate) renamed: Option<&'static str>,
    /// The texts and calls of the agent, a line each.
    pub(crate) lines: Vec<String>,
    /// Questions and answers of earlier runs.
    pub(crate) history: Vec<ChatMessage>,
    written: Vec<(String, String)>,
}

impl Agent {
    pub(crate) fn new(server: &ScriptedModel, kind: AdapterKind, language: &'static str) -> Self {
        Self {
            client: Client::new(server, kind),
            prompts: Prompts(language),
            files: BTreeMap::new(),
            part: 30_000,
            lost: 0,
            read_only: false,
            renamed: None,
            lines: Vec::new(),
            history: Vec::new(),
            written: Vec::new(),
        }
    }

    pub(crate) fn with_file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.to_owned(), text.to_owned());
        self
    }

    /// Works on a question and returns the closing summary.
    pub(crate) async fn run(&mut self, question: &str) -> genai::Result<String> {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|(name, text)| {
                json!({"name": name, "size": text.len(), "internal": false, "description": "Sums"})
            })
            .collect();
        let system = json!({
            "date": "2025-01-01", "time_zone": "UTC", "files": files, "output_style": "", "base_prompt": "",
        });
        let system = self.prompts.render("react/system", system);
        let next_step = self.prompts.render("react/next_step", json!({"query": question}));
        let mut messages = self.history.clone();
        messages.push(ChatMessage::user(question));
        let mut record = Vec::new();
        loop {
            let mut sent = messages.clone();
            if !record.is_empty() {
                sent.push(ChatMessage::user(next_step.as_str()));
            }
            let request = ChatRequest::new(sent).with_system(system.as_str());
            let reply = self.client.ask(request.with_tools(vec![tool("file_tool")])).await?;
            self.lines.push(format!("says {}", reply.text));
            record.push(json!({"role": "assistant", "text": framed(&reply.text)}));
            if reply.calls.is_empty() {
                return self.summary(question, &record).await;
            }
            let mut content = MessageContent::from_text(reply.text);
            let mut responses = Vec::new();
            for mut call in reply.calls {
                let is_upload = call.fn_arguments["command"] == "upload";
                let renamed = self.renamed.filter(|_| is_upload);
                if let Some(name) = renamed {
                    call.fn_arguments["filename"] = name.into();
                }
                let mut result = self.file_tool(&call.fn_arguments);
                if renamed.is_some() {
                    result.push_str("\n\n");
                    result.push_str(&self.prompts.render("outcome/changed", json!({"text": ""})));
                }
                record.push(json!({"role": "tool file_tool", "text": framed(&result)}));
                responses.push(ToolResponse::from_tool_call(&call, result));
                content.push(ContentPart::ToolCall(call));
            }
            messages.push(ChatMessage::assistant(content));
            messages.extend(responses.into_iter().map(ChatMessage::from));
        }
    }

    async fn summary(&mut self, question: &str, record: &[Value]) -> genai::Result<String> {
        let files: Vec<Value> = self
            .written
            .iter()
            .map(|(name, description)| json!({"name": name, "description": description}))
            .collect();
        let values = json!({"query": question, "history": record, "files": files});
        let prompt = self.prompts.render("react/summary", values);
        let request = ChatRequest::new(vec![ChatMessage::user(prompt)]);
        Ok(self.client.ask(request).await?.text)
    }

    fn file_tool(&mut self, arguments: &Value) -> String {
        let text = |key: &str| arguments[key].as_str().unwrap().to_owned();
        let name = text("filename");
        if arguments["command"] == "upload" {
            if self.read_only {
                let values = json!({"problem": "name"});
                return self.failure("tool/file_refused", values);
            }
            let content = text("content");
            self.lines.push(format!("uploads {name}"));
            let size = content.len();
            self.files.insert(name.clone(), content);
            self.written.push((name.clone(), text("description")));
            let values = json!({"name": name, "size": size});
            return self.done("tool/file_written", values);
        }
        let start = usize::try_from(arguments["offset"].as_u64().unwrap_or(0)).unwrap();
        self.lines.push(format!("gets {name} from {start}"));
        let Some(file) = self.files.get(&name) else {
            let files: Vec<_> = self.files.keys().cloned().collect();
            let values = json!({"name": name, "files": files.join(", ")});
            return self.failure("tool/file_missing", values);
        };
        let characters: Vec<char> = file.chars().collect();
        let end = characters.len().min(start + self.part);
        let values = json!({
            "name": name, "start": start, "end": end, "total": characters.len(),
            "more": end < characters.len(),
            "text": characters[start..end - self.lost].iter().collect::<String>(),
        });
        self.done("tool/file_read", values)
    }

    fn done(&self, prompt: &str, values: Value) -> String {
        let text = self.prompts.render(prompt, values);
        self.prompts.render("outcome/done", json!({"text": text}))
    }

    fn failure(&self, prompt: &str, values: Value) -> String {
        let detail = self.prompts.render(prompt, values);
        self.prompts.render("outcome/error", json!({"tool": "file_tool", "detail": detail}))
    }
}
