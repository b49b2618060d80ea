//! Which models there are, where their keys are, and what they cost.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

/// What a whole `DJINN_MODELS` may hold.
pub mod whole {
    use super::MEMBER;
    use crate::setting::{Setting, SettingsTable};
    use crate::table::settings_table;

    settings_table! {
        "models": "The whole:";

        /// Each model under a name of your choice.
        MODELS = Setting::form("models", "an object of models").mark_required()
            .without_parameter(MEMBER);

        /// The model of every role that names none. Of a single model nothing need be said.
        DEFAULT = Setting::form("default", "a model's name").without_parameter(MEMBER);

        /// The model of each role: `react`, `summary`, `planner`, `executor`. `compactor` sums up the older turns
        /// of long conversations, and has the model of `summary` unless it is named. `employees` names the roles
        /// of a task's tools, and has that of `executor`. So have those of agents: `code`, `report`, `search`.
        /// For later, and accepted already: `analysis`, `data`.
        ROLES = Setting::form("roles", "an object of roles").with_default("{}").without_parameter(MEMBER);

        /// The model that is asked where a role's own cannot answer: one for every role, or one for each
        /// that is named. A role that has the model of another has its fallback, too. It has to be another
        /// model than the role's own.
        FALLBACK = Setting::form("fallback", "a model's name, or an object of roles")
            .without_parameter(MEMBER);
    }
}

/// What one model of `DJINN_MODELS` may hold.
pub mod member {
    use super::MEMBER;
    use crate::setting::{Setting, SettingsTable};
    use crate::table::settings_table;

    settings_table! {
        "model": "One model:";

        /// Who serves it. `openai` is every endpoint that speaks Chat Completions; `anthropic`, `bedrock`,
        /// `ollama`, `gemini`, `deepseek` and some 35 others are known.
        PROVIDER = Setting::form("provider", "the name of a provider").mark_required()
            .without_parameter(MEMBER);

        /// Its name as the provider knows it; it is sent exactly so.
        MODEL = Setting::text("model").mark_required().without_parameter(MEMBER);

        /// Where it is served, up to and including the version (`…/v1/`). A missing last slash is added;
        /// `chat/completions` or `messages` at its end is taken off. Without it, at the provider's own.
        BASE_URL = Setting::form("base_url", "a URL").without_parameter(MEMBER);

        /// Where the API key is: in a variable, or in a secret of AWS Secrets Manager by name or ARN, read on
        /// the first call. Never the key itself. To be left out for `bedrock`, which uses the function's
        /// role; may be left out for `ollama`, `omlx`, and for `openai` with a `base_url`.
        KEY = Setting::form("key", "`env:NAME` or `secret:NAME`").mark_secret().without_parameter(MEMBER);

        /// The most tokens of one reply. Where thinking has a budget of tokens, that is added.
        MAX_TOKENS = Setting::number("max_tokens", 1, 1_000_000)
            .with_default("16384").without_parameter(MEMBER);

        /// Tokens of input. At `DJINN_COMPACT_AT` percent of it older turns are summed up; what does not fit
        /// nevertheless is shortened, oldest first.
        MAX_INPUT_TOKENS = Setting::number("max_input_tokens", 1_000, 100_000_000)
            .with_default("100000").without_parameter(MEMBER);

        /// The roles `summary`, `compactor` and `employees` always have 0.01. `null` sends none at all, for
        /// models that refuse one. Without this member none is sent to models known to, nor to Claude while it
        /// thinks. These are OpenAI's o-series and GPT-5 on, Claude from Opus 4.7 and version 5 on.
        TEMPERATURE = Setting::form("temperature", "a number between 0 and 2, or null to send none")
            .with_default("0").without_parameter(MEMBER);

        /// How much it thinks; a number of tokens for `anthropic`, `minimax`, `bedrock`, `gemini` and
        /// `vertex`. Without this member nothing is said of thinking, as is right for models that cannot:
        /// some refuse even `off`.
        THINKING = Setting::form("thinking", "off, low, medium, high or a number of tokens")
            .without_parameter(MEMBER);

        /// Whether tools go through the provider's interface, or are described in the prompt and called by
        /// fenced JSON in the answer.
        FUNCTION_CALL_TYPE =
            Setting::choice("function_call_type", &["function_call", "struct_parse"])
                .with_default("function_call").without_parameter(MEMBER);

        /// Whether it sees images that users attach and tools answer with. One that does not is told
        /// their names. Without this member it does if its name is of a family that is known to see. These are
        /// GPT-4o, GPT-4.1 and GPT-5, Claude from 3 on, Gemini, `…-vl…` and others.
        IMAGES = Setting::form("images", "true or false").without_parameter(MEMBER);

        /// Members merged into every request body, over ours. Not `messages`, `model`, `stream`, `system` or
        /// `tools`; not for `bedrock`, `bedrock_api`, `cohere`, `ollama` and `ollama_cloud`.
        EXTRA = Setting::form("extra", "an object").with_default("{}").without_parameter(MEMBER);

        /// Seconds until the first piece of a reply.
        FIRST_BYTE_TIMEOUT_S = Setting::number("first_byte_timeout_s", 1, 900)
            .with_default("60").without_parameter(MEMBER);

        /// Seconds of silence within a reply.
        CHUNK_TIMEOUT_S = Setting::number("chunk_timeout_s", 1, 900)
            .with_default("30").without_parameter(MEMBER);

        /// Seconds from the request to the last byte.
        CALL_TIMEOUT_S = Setting::number("call_timeout_s", 1, 900)
            .with_default("300").without_parameter(MEMBER);
    }
}

const MEMBER: &str = "a member of `DJINN_MODELS`";
const NAMED: &str = "`DJINN_MODELS` names every model of a deployment";

settings_table! {
    "model": "Which models there are and what they cost.";

    /// Every model, and which role has which. Or where that stands as a text: a file, `./models.json`, or an object
    /// of the bucket, `@config/models.json`. A text is read anew while the function runs, at most every 5 s. If it is
    /// set, the keys below only count where a `key` of it names them.
    MODELS = Setting::form(
        "DJINN_MODELS",
        "a JSON object, or a path that begins with `@config/`, `./`, `../` or `/`",
    ).with_parameter("Models");

    /// What models cost besides the listed ones. A price may also say its `source`, a URL, and its `date`,
    /// `2026-11-25` or `2026-11`.
    PRICES = Setting::form(
        "DJINN_PRICES",
        "an object of models, each with `input`, `cached_input` and `output` in whole millionths of a \
         dollar per million tokens",
    ).with_parameter("Prices");

    /// Makes one model of OpenAI's, or of whoever speaks Chat Completions, that of every role.
    OPENAI_API_KEY = Setting::text("OPENAI_API_KEY").mark_secret().without_parameter(NAMED);

    /// The name of that model.
    OPENAI_MODEL = Setting::text("OPENAI_MODEL").with_default("gpt-4.1").without_parameter(NAMED);

    /// Where it is served. Unset: at OpenAI.
    OPENAI_BASE_URL = Setting::form("OPENAI_BASE_URL", "a URL").without_parameter(NAMED);

    /// Makes one model of Anthropic's that of every role, unless there is a key of OpenAI's.
    ANTHROPIC_API_KEY = Setting::text("ANTHROPIC_API_KEY").mark_secret().without_parameter(NAMED);

    /// The name of that model.
    ANTHROPIC_MODEL = Setting::text("ANTHROPIC_MODEL")
        .with_default("claude-sonnet-5").without_parameter(NAMED);

    /// Where it is served. Unset: at Anthropic.
    ANTHROPIC_BASE_URL = Setting::form("ANTHROPIC_BASE_URL", "a URL").without_parameter(NAMED);
}
