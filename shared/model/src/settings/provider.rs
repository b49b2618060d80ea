//! The providers that genai knows, and how each of them is spoken to.

use std::fmt;

use genai::adapter::AdapterKind;

/// Who serves a model. `openai` stands for every endpoint that speaks OpenAI's Chat Completions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Provider(AdapterKind);

/// The form of a provider's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFormat {
    /// Chat Completions chunks, read by us.
    OpenAi,
    /// Messages API events, read by us.
    Anthropic,
    /// One JSON object a line, read by us.
    Ollama,
    /// Anything else, as genai reads it.
    Events,
}

/// How a provider is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingStyle {
    /// `reasoning_effort` in the body.
    Effort,
    /// `thinking.type` in the body, `enabled` or `disabled`.
    Switch,
    /// The body has the switch, and while thinking is on `reasoning_effort` too.
    SwitchAndEffort,
    /// By genai: an effort, or a budget of tokens.
    Budget,
    /// By genai: an effort and nothing finer.
    Level,
}

/// genai's name for Bedrock with the caller's own credentials is its feature's.
const BEDROCK: &str = "bedrock";

impl Provider {
    /// Every endpoint that speaks Chat Completions.
    pub const OPENAI: Self = Self(AdapterKind::OpenAI);
    /// The provider is Anthropic, spoken to by its Messages API.
    pub const ANTHROPIC: Self = Self(AdapterKind::Anthropic);
    /// A local Ollama, by its own API.
    pub const OLLAMA: Self = Self(AdapterKind::Ollama);

    /// Reads a provider's name as the settings write it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().find(|provider| provider.as_str() == word)
    }

    /// The providers are all that genai knows, in its order.
    pub fn all() -> impl Iterator<Item = Self> {
        AdapterKind::all().iter().copied().map(Self)
    }

    /// The name as the settings write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        if self.is_signed() { BEDROCK } else { self.0.as_lower_str() }
    }

    /// The name is OpenTelemetry's `gen_ai.provider.name`, or the settings' where it has none.
    pub(crate) fn telemetry_name(self) -> &'static str {
        match self.as_str() {
            "bedrock" | "bedrock_api" => "aws.bedrock",
            "gemini" | "gemini_ix" => "gcp.gemini",
            "mistral" => "mistral_ai",
            "openai_resp" => "openai",
            "vertex" => "gcp.vertex_ai",
            "xai" => "x_ai",
            other => other,
        }
    }

    /// The adapter whose default endpoint is meant.
    pub(crate) fn adapter_kind(self) -> AdapterKind {
        self.0
    }

    /// The adapter that writes the request. Chat Completions are written by one adapter whoever
    /// serves them: the others change model names, effort or endpoint on their own account.
    /// Mistral's takes thoughts back in a form of its own, GitHub's needs a header.
    pub(crate) fn request_adapter(self, model: &str) -> AdapterKind {
        match (self.stream_format(model), self.0) {
            (StreamFormat::OpenAi, AdapterKind::GithubCopilot | AdapterKind::Mistral) => self.0,
            (StreamFormat::OpenAi, _) => AdapterKind::OpenAI,
            (StreamFormat::Anthropic | StreamFormat::Ollama | StreamFormat::Events, kind) => kind,
        }
    }

    pub(crate) fn stream_format(self, model: &str) -> StreamFormat {
        match self.0 {
            AdapterKind::OpenAI
            | AdapterKind::Fireworks
            | AdapterKind::Together
            | AdapterKind::Groq
            | AdapterKind::Aihubmix
            | AdapterKind::Kimi
            | AdapterKind::Mimo
            | AdapterKind::Moonshot
            | AdapterKind::Nebius
            | AdapterKind::Xai
            | AdapterKind::DeepSeek
            | AdapterKind::Mistral
            | AdapterKind::Zai
            | AdapterKind::BigModel
            | AdapterKind::Aliyun
            | AdapterKind::QwenCloud
            | AdapterKind::Baidu
            | AdapterKind::Omlx
            | AdapterKind::GithubCopilot
            | AdapterKind::OpenRouter
            | AdapterKind::AtlasCloud
            | AdapterKind::Requesty
            | AdapterKind::ApiRoute
            | AdapterKind::Heabsy
            | AdapterKind::Runcrate
            | AdapterKind::CloudGpu => StreamFormat::OpenAi,
            AdapterKind::OpenCodeGo if model.to_lowercase().starts_with("minimax-") => {
                StreamFormat::Anthropic
            }
            AdapterKind::OpenCodeGo => StreamFormat::OpenAi,
            AdapterKind::Anthropic | AdapterKind::MiniMax => StreamFormat::Anthropic,
            AdapterKind::Vertex if model.starts_with("claude") => StreamFormat::Anthropic,
            AdapterKind::Ollama | AdapterKind::OllamaCloud => StreamFormat::Ollama,
            AdapterKind::OpenAIResp
            | AdapterKind::Gemini
            | AdapterKind::GeminiIx
            | AdapterKind::Cohere
            | AdapterKind::Vertex
            | AdapterKind::BedrockApi
            | AdapterKind::BedrockSigv4
            | AdapterKind::Custom(_) => StreamFormat::Events,
        }
    }

    pub(crate) fn thinking_style(self, model: &str) -> ThinkingStyle {
        match self.as_str() {
            "deepseek" => ThinkingStyle::SwitchAndEffort,
            "bigmodel" | "kimi" | "moonshot" | "zai" => ThinkingStyle::Switch,
            "cohere" | "ollama" | "ollama_cloud" | "openai_resp" => ThinkingStyle::Level,
            _ if self.stream_format(model) == StreamFormat::OpenAi => ThinkingStyle::Effort,
            _ => ThinkingStyle::Budget,
        }
    }

    /// Whether requests are signed with the caller's own AWS credentials.
    pub(crate) fn is_signed(self) -> bool {
        self.0 == AdapterKind::BedrockSigv4
    }

    /// Whether it is Bedrock, whose API has one form for all models.
    pub(crate) fn is_bedrock(self) -> bool {
        matches!(self.0, AdapterKind::BedrockSigv4 | AdapterKind::BedrockApi)
    }

    /// Whether it answers without a key, at an address of the user's or at its own.
    pub(crate) fn is_keyless(self, has_base_url: bool) -> bool {
        match self.as_str() {
            "bedrock" | "ollama" | "omlx" => true,
            "openai" => has_base_url,
            _ => false,
        }
    }

    /// Whether genai can merge anything into its request bodies.
    pub(crate) fn accepts_extra(self) -> bool {
        !self.is_bedrock() && !matches!(self.as_str(), "cohere" | "ollama" | "ollama_cloud")
    }

    /// Whether genai can offer it tools.
    pub(crate) fn accepts_tools(self) -> bool {
        self.0 != AdapterKind::Cohere
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_and_bedrock_is_called_bedrock() {
        for provider in Provider::all() {
            assert_eq!(Provider::parse(provider.as_str()), Some(provider));
        }
        assert!(Provider::parse("bedrock").is_some_and(Provider::is_signed));
        assert_eq!(Provider::parse("OpenAI"), None);
        assert_eq!(Provider::parse("genai_1"), None);
    }

    #[test]
    fn chat_completions_are_written_by_one_adapter() {
        let writer = |name: &str| Provider::parse(name).unwrap().request_adapter("m");
        for name in ["openai", "deepseek", "fireworks", "zai", "baidu", "groq"] {
            assert_eq!(writer(name), AdapterKind::OpenAI, "{name}");
        }
        assert_eq!(writer("mistral"), AdapterKind::Mistral);
        assert_eq!(writer("minimax"), AdapterKind::MiniMax);
    }
}
