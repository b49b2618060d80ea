//! The providers known to genai, and their API differences.

use std::fmt;

use genai::adapter::AdapterKind;

/// The provider of a model. `openai` means every endpoint with OpenAI's Chat Completions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Provider(AdapterKind);

/// The form of a provider's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFormat {
    /// Chat Completions chunks, read by us.
    OpenAi,
    /// Messages API events, read by us.
    Anthropic,
    /// A JSON object per line, read by our own reader.
    Ollama,
    /// Any other format, read by genai.
    Events,
}

/// The form of a provider's thinking option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingStyle {
    /// `reasoning_effort` in the body.
    Effort,
    /// `thinking.type` in the body, `enabled` or `disabled`.
    Switch,
    /// The body has the switch, and while thinking is on `reasoning_effort` too.
    SwitchAndEffort,
    /// Set by genai: an effort, or a budget of tokens.
    Budget,
    /// Set by genai, as an effort level only.
    Level,
}

/// genai's name for Bedrock with the caller's own credentials; the feature of genai has the same name.
const BEDROCK: &str = "bedrock";

impl Provider {
    /// Every endpoint with the Chat Completions API.
    pub const OPENAI: Self = Self(AdapterKind::OpenAI);
    /// Anthropic, over the Messages API.
    pub const ANTHROPIC: Self = Self(AdapterKind::Anthropic);
    /// A local Ollama, over Ollama's own API.
    pub const OLLAMA: Self = Self(AdapterKind::Ollama);

    /// Parses a provider's name from the settings.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().find(|provider| provider.as_str() == word)
    }

    /// Returns all providers known to genai, in genai's order.
    pub fn all() -> impl Iterator<Item = Self> {
        AdapterKind::all().iter().copied().map(Self)
    }

    /// Returns the provider's name in the settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        if self.is_signed() { BEDROCK } else { self.0.as_lower_str() }
    }

    /// Returns OpenTelemetry's `gen_ai.provider.name`, or the settings' name if OpenTelemetry defines none.
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

    /// Returns the adapter with the provider's default endpoint.
    pub(crate) fn adapter_kind(self) -> AdapterKind {
        self.0
    }

    /// Returns the adapter for requests. Chat Completions providers share one adapter, because the
    /// specific adapters change model names, effort or endpoint. Two keep their own adapter: Mistral requires
    /// thoughts in another form, and GitHub a header.
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

    /// Returns true if requests are signed with the caller's own AWS credentials.
    pub(crate) fn is_signed(self) -> bool {
        self.0 == AdapterKind::BedrockSigv4
    }

    /// Returns true for Bedrock, with one API for all models.
    pub(crate) fn is_bedrock(self) -> bool {
        matches!(self.0, AdapterKind::BedrockSigv4 | AdapterKind::BedrockApi)
    }

    /// Returns true if the provider needs no key, at a custom or default address.
    pub(crate) fn is_keyless(self, has_base_url: bool) -> bool {
        match self.as_str() {
            "bedrock" | "ollama" | "omlx" => true,
            "openai" => has_base_url,
            _ => false,
        }
    }

    /// Returns true if genai can merge extra fields into the request body.
    pub(crate) fn accepts_extra(self) -> bool {
        !self.is_bedrock() && !matches!(self.as_str(), "cohere" | "ollama" | "ollama_cloud")
    }

    /// Returns true if genai can send tools to the provider.
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
