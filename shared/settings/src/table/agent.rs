//! Settings of the agent function: runs, authentication, links and limits.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

/// The reason why stacks do not limit the streams of a process.
const ONE_STREAM: &str = "a function has one stream at a time";

settings_table! {
    "agent": "Settings of the agent function only: runs, authentication, links, streams.";

    /// The default language of prompts and messages. English and Chinese questions use their own language.
    LANGUAGE = Setting::choice("DJINN_LANGUAGE", &["en", "zh"])
        .with_default("en").in_file("language");

    /// The time zone of the date in prompts. Times in tables are read, and shown, as its clocks show them.
    TIME_ZONE = Setting::form("DJINN_TIME_ZONE", "an IANA time zone, such as `Asia/Shanghai`")
        .with_default("UTC").in_file("time_zone");

    /// The mode of questions that name none: `react`, `plan_solve`, `router`, or a mode of the deployment.
    DEFAULT_MODE = Setting::form("DJINN_DEFAULT_MODE", "the name of a mode")
        .with_default("react").in_file("default_mode");

    /// The authentication method. On a laptop the default is `none`: all callers are the same user. `none` is
    /// rejected everywhere else.
    AUTH = Setting::choice("DJINN_AUTH", &["iam", "key", "jwt", "none"])
        .with_default("iam").with_parameter("Auth");

    /// For `key`, the list of API keys.
    API_KEYS = Setting::form(
        "DJINN_API_KEYS",
        "a JSON list of keys from `cargo xtask key`, or secret:NAME of a secret with this list",
    ).mark_secret().with_parameter("ApiKeys");

    /// For `iam`, the identity of a user behind a role: each session of the role, or the role itself.
    IAM_USER = Setting::choice("DJINN_IAM_USER", &["session", "role"])
        .with_default("session").with_parameter("IamUser");

    /// For `jwt`, the exact `iss` of the tokens.
    JWT_ISSUER = Setting::form(
        "DJINN_JWT_ISSUER",
        "the `iss` of your issuer's tokens",
    ).with_parameter("JwtIssuer");

    /// For `jwt`, the accepted audiences. A token needs one of them.
    JWT_AUDIENCE = Setting::form(
        "DJINN_JWT_AUDIENCE",
        "the `aud` of tokens for this deployment; several separated by commas",
    ).with_parameter("JwtAudience");

    /// For `jwt`, the URL of the issuer's keys.
    JWT_JWKS = Setting::form(
        "DJINN_JWT_JWKS",
        "the https URL of the issuer's keys (JWKS); unset: the issuer with /.well-known/jwks.json",
    ).with_parameter("JwtJwks");

    /// For `jwt`, the claim with the tenant: 1-128 of `A-Z a-z 0-9 _ : . -`.
    JWT_TENANT_CLAIM = Setting::text("DJINN_JWT_TENANT_CLAIM")
        .with_default("tenant").with_parameter("JwtClaims");

    /// For `jwt`, the claim with the user: 1-256 printable ASCII characters without spaces and `#`.
    JWT_USER_CLAIM = Setting::text("DJINN_JWT_USER_CLAIM")
        .with_default("sub").with_parameter("JwtClaims");

    /// For `jwt`, the id of the web page's client at the issuer. Unset: the page cannot sign in.
    PAGE_CLIENT_ID = Setting::text("DJINN_PAGE__CLIENT_ID").in_file("page.client_id");

    /// For `jwt`, the scopes that the web page asks for.
    PAGE_SCOPES = Setting::form(
        "DJINN_PAGE__SCOPES",
        "scopes separated by spaces, one of them `openid`",
    ).with_default("openid").in_file("page.scopes");

    /// For `jwt`, the token that the web page sends to the agent: the issuer's access token or ID token.
    PAGE_TOKEN = Setting::choice("DJINN_PAGE__TOKEN", &["access", "id"])
        .with_default("access").in_file("page.token");

    /// For `jwt`, the origin of the issuer's token endpoint, if different from the issuer's own. The web page may
    /// connect to this origin.
    PAGE_TOKEN_ORIGIN = Setting::form(
        "DJINN_PAGE__TOKEN_ORIGIN",
        "an https origin such as https://login.example.org",
    ).in_file("page.token_origin");

    /// Your own instructions for every system prompt.
    BASE_PROMPT = Setting::text("DJINN_BASE_PROMPT").in_file("base_prompt");

    /// The public URL of the agent, if different from the host of requests: the origin of a CDN or proxy,
    /// with any added path. File links begin with this URL.
    PUBLIC_URL = Setting::form("DJINN_PUBLIC_URL", "a URL").with_parameter("PublicUrl");

    /// Maximum model replies of a run's own agent. The own agent of a planned run is the planner.
    MAX_STEPS = Setting::number("DJINN_LIMITS__MAX_STEPS", 1, 1_000)
        .with_default("40").in_file("limits.max_steps");

    /// Maximum tool calls of the agent in a run without a plan, or of each task in a plan. At the limit, the
    /// run sums up its results. A repeat after an interrupt counts once.
    MAX_TOOL_CALLS = Setting::number("DJINN_LIMITS__MAX_TOOL_CALLS", 1, 100_000)
        .with_default("200").in_file("limits.max_tool_calls");

    /// Maximum input and output tokens of a run, including tasks.
    MAX_TOKENS = Setting::number("DJINN_LIMITS__MAX_TOKENS", 1_000, 1_000_000_000_000)
        .with_default("50000000").in_file("limits.max_tokens");

    /// Maximum seconds of a run. The last fifth, at most two minutes, is reserved for the summary.
    MAX_SECONDS = Setting::number("DJINN_LIMITS__MAX_SECONDS", 1, 604_800)
        .with_default("86400").in_file("limits.max_seconds");

    /// Maximum steps of a plan.
    MAX_PLAN_STEPS = Setting::number("DJINN_LIMITS__MAX_PLAN_STEPS", 1, 1_000)
        .with_default("100").in_file("limits.max_plan_steps");

    /// Maximum tasks of a run at work at the same time; other tasks wait.
    MAX_PARALLEL_TASKS = Setting::number("DJINN_LIMITS__MAX_PARALLEL_TASKS", 1, 1_000)
        .with_default("10").in_file("limits.max_parallel_tasks");

    /// Maximum model replies of one task.
    MAX_TASK_STEPS = Setting::number("DJINN_LIMITS__MAX_TASK_STEPS", 1, 1_000)
        .with_default("40").in_file("limits.max_task_steps");

    /// Maximum rounds of tasks in a planned run. At the limit, the run sums up its results.
    MAX_ROUNDS = Setting::number("DJINN_LIMITS__MAX_ROUNDS", 1, 100)
        .with_default("40").in_file("limits.max_rounds");

    /// Maximum model replies of a planned run and all tasks together.
    MAX_RUN_STEPS = Setting::number("DJINN_LIMITS__MAX_RUN_STEPS", 1, 100_000)
        .with_default("10000").in_file("limits.max_run_steps");

    /// `1` ends a planned run as soon as all steps of the plan are completed, without another call of the
    /// planner.
    CLOSE_UPDATE = Setting::switch("DJINN_MODES__CLOSE_UPDATE")
        .with_default("0").in_file("modes.close_update");

    /// The condition for a closing model call that writes the answer of a run without a plan. `when_needed`:
    /// after incomplete work, or if the last reply is blank or the end of a cut reply. `always`: also after
    /// all work of more than one reply.
    SUMMARY = Setting::choice("DJINN_MODES__SUMMARY", &["when_needed", "always"])
        .with_default("when_needed").in_file("modes.summary");

    /// The plans with digital employees for tasks: every plan (`1`), none (`0`), or plans from JoyAgent's
    /// protocols (`joyagent`). Each task costs a small model call.
    DIGITAL_EMPLOYEES = Setting::choice("DJINN_MODES__DIGITAL_EMPLOYEES", &["1", "0", "joyagent"])
        .with_default("0").in_file("modes.digital_employees");

    /// `1` keeps a task's tool calls and results out of the run's conversation; `0` adds shortened copies.
    CLEAR_TOOL_CONTEXT = Setting::switch("DJINN_MEMORY__CLEAR_TOOL_CONTEXT")
        .with_default("1").in_file("memory.clear_tool_context");

    /// Maximum tool calls of one reply at the same time.
    MAX_PARALLEL_TOOL_CALLS = Setting::number("DJINN_LIMITS__MAX_PARALLEL_TOOL_CALLS", 1, 64)
        .with_default("4").in_file("limits.max_parallel_tool_calls");

    /// Maximum calls at the same time for single tools. Other tools have no limit of their own.
    MAX_PARALLEL_PER_TOOL = Setting::form(
        "DJINN_LIMITS__MAX_PARALLEL_PER_TOOL",
        "tools with their maximum calls at the same time, 1-64, such as `file_tool=2,web_fetch=4`",
    ).in_file("limits.max_parallel_per_tool");

    /// Maximum characters of a tool result for the model. The complete result is stored in a file.
    MAX_OBSERVE = Setting::number("DJINN_LIMITS__MAX_OBSERVE", 1_000, 1_000_000)
        .with_default("10000").in_file("limits.max_observe");

    /// Percent of the model's `max_input_tokens` that a conversation may use. Above this limit, a model sums
    /// up the older turns.
    COMPACT_AT = Setting::number("DJINN_MEMORY__COMPACT_AT", 50, 95)
        .with_default("80").in_file("memory.compact_at");

    /// The number of newest turns without a summary, while they use at most half of `max_input_tokens`.
    KEEP_TURNS = Setting::number("DJINN_MEMORY__KEEP_TURNS", 1, 100)
        .with_default("4").in_file("memory.keep_turns");

    /// `1` replaces URLs of 64 bytes and more by placeholders such as `https://0` for models. Tools, answers
    /// and clients always receive the full URLs.
    COMPRESS_URLS = Setting::switch("DJINN_MEMORY__COMPRESS_URLS")
        .with_default("1").in_file("memory.compress_urls");

    /// `1` masks e-mail addresses and phone, ID and bank-card numbers in tool results. Models then receive no
    /// images, because images cannot be masked.
    MASK_PII = Setting::switch("DJINN_SAFETY__MASK_PII").with_default("0").in_file("safety.mask_pii");

    /// The conditions for human requests: for all agents, and under `agents` by kind of agent. See
    /// docs/people.md for the fields. Unset: no requests.
    HUMAN_REQUESTS = Setting::json(
        "DJINN_PEOPLE__REQUESTS",
        "a JSON object as described in docs/people.md",
    ).in_file("people.requests");

    /// The keys for signed links; the first key signs. Without a key there are no links for responses, and
    /// file links require credentials. A stack creates a key if none is given.
    LINK_KEY = Setting::form(
        "DJINN_LINK_KEY",
        "keys of at least 32 bytes, separated by commas, or secret:NAME of a secret with the keys",
    ).mark_secret().with_parameter("LinkKey");

    /// Maximum lifetime of a response link in seconds. A link ends with the human request.
    LINK_TTL_S = Setting::number("DJINN_PEOPLE__LINK_TTL_S", 60, 31_622_400)
        .with_default("604800").in_file("people.link_ttl_s");

    /// The origin and path of signed links, if different from `DJINN_PUBLIC_URL` and the host of requests.
    LINK_URL = Setting::form("DJINN_LINK_URL", "a URL that starts with https:// or http://")
        .with_parameter("LinkUrl");

    /// Maximum streams of one process at the same time.
    STREAM_SLOTS = Setting::number("DJINN_STREAM_SLOTS", 1, 100_000)
        .with_default("1024").without_parameter(ONE_STREAM);

    /// Maximum requests that wait for a stream; more requests are rejected.
    STREAM_QUEUE = Setting::number("DJINN_STREAM_QUEUE", 0, 100_000)
        .with_default("16").without_parameter(ONE_STREAM);

    /// Origins of web pages that may use `cargo dev`, besides the machine's own. `cargo dev` also accepts
    /// requests under these host names.
    LOCAL_ORIGINS = Setting::form(
        "DJINN_LOCAL_ORIGINS",
        "origins such as https://chat.example.org, separated by commas",
    ).without_parameter("on a laptop only");

    /// The folder of the built web page, which the agent serves at `/`. `cargo dev` sets this, and a stack with
    /// `WithPage`. Unset: no page.
    PAGE = Setting::form("DJINN_PAGE", "a folder that `cargo xtask page` built").with_stack_value();
}
