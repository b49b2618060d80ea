//! Models, the locations of their keys, and prices.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

/// The fields of `DJINN_MODELS`.
pub mod whole {
    use super::MEMBER;
    use crate::setting::{Setting, SettingsTable};
    use crate::table::settings_table;

    settings_table! {
        "models": "The whole:";

        /// Each model under a name of your choice.
        MODELS = Setting::form("models", "an object of models").mark_required()
            .without_parameter(MEMBER);

        /// The model of every role without a model in `roles`. Optional if there is a single model.
        DEFAULT = Setting::form("default", "a model's name").without_parameter(MEMBER);

        /// The model of each role: `react`, `summary`, `planner`, `executor`. `compactor` sums up the older
        /// turns of long conversations (default: the model of `summary`). `employees` names the roles of a
        /// task's tools (default: the model of `executor`). The roles of agents also default to the model of
        /// `executor`: `code`, `data`, `analysis`, `report`, `search`. `router` chooses who answers
        /// (default: the model of `react`). `critic` judges the answers of others (default: the model of `react`).
        /// `second` is a second model for agents that work side by side (default: no model).
        ROLES = Setting::form("roles", "an object of roles").with_default("{}").without_parameter(MEMBER);

        /// The model for calls that a role's own model cannot make: one for every role, or one for each named
        /// role. A role that uses another role's model also uses that role's fallback. The fallback must
        /// differ from the role's own model.
        FALLBACK = Setting::form("fallback", "a model's name, or an object of roles")
            .without_parameter(MEMBER);
    }
}

/// The fields of one model in `DJINN_MODELS`.
pub mod member {
    use super::MEMBER;
    use crate::setting::{Setting, SettingsTable};
    use crate::table::settings_table;

    settings_table! {
        "model": "One model:";

        /// The provider of the model. `openai` is any endpoint with Chat Completions; `anthropic`, `bedrock`,
        /// `ollama`, `gemini`, `deepseek` and some 35 others are supported.
        PROVIDER = Setting::form("provider", "the name of a provider").mark_required()
            .without_parameter(MEMBER);

        /// The provider's name for the model, sent unchanged.
        MODEL = Setting::text("model").mark_required().without_parameter(MEMBER);

        /// The URL of the API, up to and including the version (`…/v1/`). A missing last slash is added;
        /// `chat/completions` or `messages` at the end is removed. Default: the provider's own.
        BASE_URL = Setting::form("base_url", "a URL").without_parameter(MEMBER);

        /// The location of the API key: a variable, or a secret of AWS Secrets Manager by name or ARN, read
        /// on the first call. Never the key itself. Leave out for `bedrock`, which uses the function's role.
        /// Optional for `ollama`, `omlx`, and for `openai` with a `base_url`.
        KEY = Setting::form("key", "`env:NAME` or `secret:NAME`").mark_secret().without_parameter(MEMBER);

        /// Maximum tokens of one reply. A thinking budget in tokens is added.
        MAX_TOKENS = Setting::number("max_tokens", 1, 1_000_000)
            .with_default("16384").without_parameter(MEMBER);

        /// Maximum input tokens. At `memory.compact_at` percent, older turns are summed up. Longer requests
        /// are shortened, oldest parts first.
        MAX_INPUT_TOKENS = Setting::number("max_input_tokens", 1_000, 100_000_000)
            .with_default("100000").without_parameter(MEMBER);

        /// The temperature, always 0.01 for the roles `summary`, `compactor` and `employees`. `null` sends
        /// none, for models that reject one. By default, none is sent to models known to reject one, nor to
        /// Claude while thinking. Known are OpenAI's o-series and GPT-5 on, Claude from Opus 4.7 and version
        /// 5 on.
        TEMPERATURE = Setting::form("temperature", "a number between 0 and 2, or null to send none")
            .with_default("0").without_parameter(MEMBER);

        /// The amount of thinking; a number of tokens for `anthropic`, `minimax`, `bedrock`, `gemini` and
        /// `vertex`. Without this field, requests say nothing about thinking. Leave out for models without
        /// thinking: some models reject even `off`.
        THINKING = Setting::form("thinking", "off, low, medium, high or a number of tokens")
            .without_parameter(MEMBER);

        /// The way of calling tools: through the provider's interface, or described in the prompt and called
        /// by fenced JSON in the answer.
        FUNCTION_CALL_TYPE =
            Setting::choice("function_call_type", &["function_call", "struct_parse"])
                .with_default("function_call").without_parameter(MEMBER);

        /// True if the model receives images from users and tools. Other models receive the names of images.
        /// Default: by the model's name. Families with image input are GPT-4o, GPT-4.1 and GPT-5, Claude from
        /// 3 on, Gemini, `…-vl…` and others.
        IMAGES = Setting::form("images", "true or false").without_parameter(MEMBER);

        /// Fields merged into every request body, with precedence. Not `messages`, `model`, `stream`,
        /// `system` or `tools`; not for `bedrock`, `bedrock_api`, `cohere`, `ollama` and `ollama_cloud`.
        EXTRA = Setting::form("extra", "an object").with_default("{}").without_parameter(MEMBER);

        /// Maximum seconds until the first piece of a reply.
        FIRST_BYTE_TIMEOUT_S = Setting::number("first_byte_timeout_s", 1, 900)
            .with_default("60").without_parameter(MEMBER);

        /// Maximum seconds of silence within a reply.
        CHUNK_TIMEOUT_S = Setting::number("chunk_timeout_s", 1, 900)
            .with_default("30").without_parameter(MEMBER);

        /// Maximum seconds from the request to the last byte.
        CALL_TIMEOUT_S = Setting::number("call_timeout_s", 1, 900)
            .with_default("300").without_parameter(MEMBER);
    }
}

/// The tables of `djinn.toml` that together are `DJINN_MODELS`.
pub mod file {
    use crate::setting::{Setting, SettingsTable};
    use crate::table::settings_table;

    settings_table! {
        "models of djinn.toml": "The models in `djinn.toml`:";

        /// Each model under a name of your choice, with the fields of one model: `[models.main]`.
        MODELS = Setting::json("models", "a table of models").in_file("models");

        /// The model of each role, and under `default` the model of every other role.
        ROLES = Setting::json("roles", "a table of roles").in_file("roles");

        /// The model for calls that a role's own model cannot make: a model's name, or a table of roles.
        FALLBACK = Setting::json("fallback", "a model's name, or a table of roles")
            .in_file("fallback");
    }
}

const MEMBER: &str = "a field of `DJINN_MODELS`";
const NAMED: &str = "`DJINN_MODELS` names every model of a deployment";

settings_table! {
    "model": "Models and prices.";

    /// All models and their roles, for a deployment without models in `djinn.toml`. If set, the keys below only
    /// apply if a `key` field names them.
    MODELS = Setting::form("DJINN_MODELS", "a JSON object")
        .without_parameter("the tables of `djinn.toml`");

    /// Prices of models outside the built-in list. A price may also have a `source`, a URL, and a `date`,
    /// `2026-11-25` or `2026-11`.
    PRICES = Setting::json(
        "DJINN_PRICES",
        "an object of models, each with `input`, `cached_input` and `output` in whole millionths of a \
         dollar per million tokens",
    ).in_file("prices");

    /// Selects a model of OpenAI, or of any Chat Completions endpoint, for every role.
    OPENAI_API_KEY = Setting::text("OPENAI_API_KEY").mark_secret().without_parameter(NAMED);

    /// The name of the selected model.
    OPENAI_MODEL = Setting::text("OPENAI_MODEL").with_default("gpt-4.1").without_parameter(NAMED);

    /// The URL of the endpoint. Unset: OpenAI.
    OPENAI_BASE_URL = Setting::form("OPENAI_BASE_URL", "a URL").without_parameter(NAMED);

    /// Selects a model of Anthropic for every role, unless `OPENAI_API_KEY` is set.
    ANTHROPIC_API_KEY = Setting::text("ANTHROPIC_API_KEY").mark_secret().without_parameter(NAMED);

    /// The name of the selected model.
    ANTHROPIC_MODEL = Setting::text("ANTHROPIC_MODEL")
        .with_default("claude-sonnet-5").without_parameter(NAMED);

    /// The URL of the endpoint. Unset: Anthropic.
    ANTHROPIC_BASE_URL = Setting::form("ANTHROPIC_BASE_URL", "a URL").without_parameter(NAMED);
}
