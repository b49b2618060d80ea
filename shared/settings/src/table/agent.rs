//! What the agent function reads: how runs work, who asks, links and limits.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

settings_table! {
    "agent": "What only the agent function reads: how runs work, who asks, links, streams.";

    /// The language of the prompts and of our sentences, unless a question is English or Chinese itself.
    LANGUAGE = Setting::choice("DJINN_LANGUAGE", &["en", "zh"])
        .with_default("en").with_parameter("Language");

    /// How callers are told apart. On a laptop the default is `none`, which makes everybody the same user
    /// and is refused anywhere else.
    AUTH = Setting::choice("DJINN_AUTH", &["iam", "key", "jwt", "none"])
        .with_default("iam").with_parameter("Auth");

    /// For `key`, the list of keys.
    API_KEYS = Setting::form(
        "DJINN_API_KEYS",
        "a JSON list of what `cargo xtask key` prints, or secret:NAME of one that holds it",
    ).mark_secret().with_parameter("ApiKeys");

    /// For `iam`, who a user is behind a role: each session of it, or whoever holds it.
    IAM_USER = Setting::choice("DJINN_IAM_USER", &["session", "role"])
        .with_default("session").with_parameter("IamUser");

    /// For `jwt`, the `iss` of the tokens, to the letter.
    JWT_ISSUER = Setting::form(
        "DJINN_JWT_ISSUER",
        "what your issuer's tokens have as their `iss`",
    ).with_parameter("JwtIssuer");

    /// For `jwt`, whom the tokens must be meant for; one of several will do.
    JWT_AUDIENCE = Setting::form(
        "DJINN_JWT_AUDIENCE",
        "what tokens for this deployment have as their `aud`, several with commas",
    ).with_parameter("JwtAudience");

    /// For `jwt`, where the issuer publishes its keys.
    JWT_JWKS = Setting::form(
        "DJINN_JWT_JWKS",
        "an https URL of the issuer's keys (JWKS), or unset if it is the issuer's with \
         /.well-known/jwks.json",
    ).with_parameter("JwtJwks");

    /// For `jwt`, the claim that names the tenant: 1-128 of `A-Z a-z 0-9 _ : . -`.
    JWT_TENANT_CLAIM = Setting::text("DJINN_JWT_TENANT_CLAIM")
        .with_default("tenant").with_parameter("JwtTenantClaim");

    /// For `jwt`, the claim that names the user: 1-256 printable ASCII characters without spaces and `#`.
    JWT_USER_CLAIM = Setting::text("DJINN_JWT_USER_CLAIM")
        .with_default("sub").with_parameter("JwtUserClaim");

    /// Your own instructions, put into every system prompt.
    BASE_PROMPT = Setting::text("DJINN_BASE_PROMPT").with_parameter("BasePrompt");

    /// Where clients reach the agent, when that is not the host they ask. It is a CDN's or a proxy's origin, with
    /// a path if it adds one. Links to files begin with it.
    PUBLIC_URL = Setting::form("DJINN_PUBLIC_URL", "a URL").with_parameter("PublicUrl");

    /// Model replies that a run's own agent may use for its work; a planned run's is the planner.
    MAX_STEPS = Setting::number("DJINN_MAX_STEPS", 1, 1_000)
        .with_default("40").with_parameter("MaxSteps");

    /// Tool calls that the agent of a run without a plan may make, or that of each task of a plan. Then what
    /// there is is summed up. An interrupt does not count anew.
    MAX_TOOL_CALLS = Setting::number("DJINN_MAX_TOOL_CALLS", 1, 100_000)
        .with_default("200").with_parameter("MaxToolCalls");

    /// Tokens that a run may read and write, its tasks included.
    MAX_TOKENS = Setting::number("DJINN_MAX_TOKENS", 1_000, 1_000_000_000_000)
        .with_default("50000000").with_parameter("MaxTokens");

    /// Seconds that a run may take; the last fifth, at most two minutes, is for the summary.
    MAX_SECONDS = Setting::number("DJINN_MAX_SECONDS", 1, 604_800)
        .with_default("86400").with_parameter("MaxSeconds");

    /// Steps of a plan.
    MAX_PLAN_STEPS = Setting::number("DJINN_MAX_PLAN_STEPS", 1, 1_000)
        .with_default("100").with_parameter("MaxPlanSteps");

    /// Tasks of a run that are at work at once; the others wait.
    MAX_PARALLEL_TASKS = Setting::number("DJINN_MAX_PARALLEL_TASKS", 1, 1_000)
        .with_default("10").with_parameter("MaxParallelTasks");

    /// Model replies that one task may use.
    MAX_TASK_STEPS = Setting::number("DJINN_MAX_TASK_STEPS", 1, 1_000)
        .with_default("40").with_parameter("MaxTaskSteps");

    /// Rounds of tasks of a planned run; then what there is is summed up.
    MAX_ROUNDS = Setting::number("DJINN_MAX_ROUNDS", 1, 100)
        .with_default("40").with_parameter("MaxRounds");

    /// Model replies that a planned run and its tasks may use together.
    MAX_RUN_STEPS = Setting::number("DJINN_MAX_RUN_STEPS", 1, 100_000)
        .with_default("10000").with_parameter("MaxRunSteps");

    /// Whether a planned run ends as soon as all steps of its plan are completed, without asking the planner
    /// again.
    CLOSE_UPDATE = Setting::switch("DJINN_CLOSE_UPDATE")
        .with_default("0").with_parameter("CloseUpdate");

    /// When a closing model call writes the answer of a run without a plan. It is needed where the work was
    /// broken off, or the last reply is blank or the end of one that was cut off. `always` has it after all
    /// work that took more than one reply.
    SUMMARY = Setting::choice("DJINN_SUMMARY", &["when_needed", "always"])
        .with_default("when_needed").with_parameter("Summary");

    /// Whose tasks have digital employees: those of every plan, of none, or of plans asked for in JoyAgent's
    /// protocols. Each costs a small model call.
    DIGITAL_EMPLOYEES = Setting::choice("DJINN_DIGITAL_EMPLOYEES", &["1", "0", "joyagent"])
        .with_default("0").with_parameter("DigitalEmployees");

    /// Whether a task's tool calls and results stay out of its run's conversation; `0` lets them join it,
    /// cut short.
    CLEAR_TOOL_CONTEXT = Setting::switch("DJINN_CLEAR_TOOL_CONTEXT")
        .with_default("1").with_parameter("ClearToolContext");

    /// Tool calls of one reply that run at once.
    MAX_PARALLEL_TOOL_CALLS = Setting::number("DJINN_MAX_PARALLEL_TOOL_CALLS", 1, 64)
        .with_default("4").with_parameter("MaxParallelToolCalls");

    /// Calls of single tools that run at once; others have no bound of their own.
    MAX_PARALLEL_PER_TOOL = Setting::form(
        "DJINN_MAX_PARALLEL_PER_TOOL",
        "tools with the calls that may run at once, 1-64, such as `file_tool=2,web_fetch=4`",
    ).with_parameter("MaxParallelPerTool");

    /// Characters of a tool's result that the model sees; the whole stays in a file.
    MAX_OBSERVE = Setting::number("DJINN_MAX_OBSERVE", 1_000, 1_000_000)
        .with_default("10000").with_parameter("MaxObserve");

    /// Percent of its model's `max_input_tokens` that a conversation may take up before its older turns are
    /// summed up by a model.
    COMPACT_AT = Setting::number("DJINN_COMPACT_AT", 50, 95)
        .with_default("80").with_parameter("CompactAt");

    /// The newest turns that are never summed up, as long as they take up no more than half of
    /// `max_input_tokens`.
    KEEP_TURNS = Setting::number("DJINN_KEEP_TURNS", 1, 100)
        .with_default("4").with_parameter("KeepTurns");

    /// Whether models see placeholders such as `https://0` for URLs of 64 bytes and more. Tools, answers and
    /// clients always get the URLs themselves.
    COMPRESS_URLS = Setting::switch("DJINN_COMPRESS_URLS")
        .with_default("1").with_parameter("CompressUrls");

    /// Whether e-mail addresses, phone, ID and bank-card numbers are masked in tool results. Models are shown no
    /// images then: nothing masks these.
    MASK_PII = Setting::switch("DJINN_MASK_PII").with_default("0").with_parameter("MaskPii");

    /// When people are asked, everywhere and under `agents` by kind of agent: docs/people.md has its members. Unset:
    /// never.
    HUMAN_FEEDBACK = Setting::form(
        "DJINN_HUMAN_FEEDBACK",
        "a JSON object as docs/people.md says",
    ).with_parameter("HumanFeedback");

    /// What links to files and for answers are signed with; the first of several keys signs. Without one
    /// there are no links for answers, and links to files are for callers who are known. A stack makes one
    /// if it is given none.
    LINK_KEY = Setting::form(
        "DJINN_LINK_KEY",
        "keys of at least 32 bytes with commas between them, or secret:NAME of a secret that holds them",
    ).mark_secret().with_parameter("LinkKey");

    /// Seconds that a link for an answer counts at most; it ends with its question.
    LINK_TTL_S = Setting::number("DJINN_LINK_TTL_S", 60, 31_622_400)
        .with_default("604800").with_parameter("LinkTtlSeconds");

    /// The origin and path that signed links begin with, when that is not `DJINN_PUBLIC_URL` or the host
    /// that is asked.
    LINK_URL = Setting::form("DJINN_LINK_URL", "a URL that starts with https:// or http://")
        .with_parameter("LinkUrl");

    /// Responses that one process streams at once.
    STREAM_SLOTS = Setting::number("DJINN_STREAM_SLOTS", 1, 100_000)
        .with_default("1024").with_parameter("StreamSlots");

    /// Requests that wait for a place among these; more are refused.
    STREAM_QUEUE = Setting::number("DJINN_STREAM_QUEUE", 0, 100_000)
        .with_default("16").with_parameter("StreamQueue");

    /// Origins whose pages may use `cargo dev`, and under whose names it answers, besides the machine's own.
    LOCAL_ORIGINS = Setting::form(
        "DJINN_LOCAL_ORIGINS",
        "origins such as https://chat.example.org, with commas",
    ).without_parameter("on a laptop only");
}
