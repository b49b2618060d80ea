//! The front door: HTTP routes for starting, following, stopping and showing runs, and for sessions and
//! files.
//!
//! [`build_router`] is the whole function. [`run_function`] runs the router in Lambda's runtime, and
//! `infra/local` in a plain HTTP server.

mod access;
mod agent;
mod ai_stream;
mod api_error;
mod body;
mod cached_secret;
mod cors;
mod data_uri;
mod detached_run;
mod dialect;
mod fields;
mod human_settings_change;
mod identity;
mod json;
mod link;
mod local;
mod mcp_waits;
mod mcp_words;
mod middleware;
mod mode_choice;
mod origin;
mod page;
mod path;
mod projections;
mod query;
mod reply;
mod response_parser;
mod review_choice;
mod route;
mod run_stream;
mod session_links;
mod settings;
mod slots;
mod stream_protocol;
mod unknown;
mod user_stream;
mod workflow_choice;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::routing::{delete, get, patch, post, put};
use axum::{Extension, Router};
use djinn_model::Http;
use djinn_runtime::port::secret::Secrets;
use djinn_settings::{InvalidSetting, VarLookup};
use djinn_wiring::{Djinn, Variables};

use identity::Authenticator;
use link::SignedLinks;
use mcp_waits::McpWaits;
use middleware::{refuse_others, require_caller, require_utf8_path};
use page::page_routes;
use slots::StreamSlots;

pub use agent::{Agent, AgentPorts, SharedAgent};
pub use body::MAX_BODY;
pub use identity::{
    Auth, BadKeyHash, IamUser, KEY_BYTES, KeyHash, KeyHolder, KeyList, TokenSettings, format_key,
};
pub use link::{BadLink, FileGrant, LinkKey, LinkKeys, LinkSettings, MIN_KEY, ResponseGrant};
pub use local::LocalOrigins;
pub use page::{DEMO_MODEL, PageSettings};
pub use settings::Settings;
pub use slots::StreamLimits;

/// The error of the function: an invalid variable or tool, or an error of Lambda's runtime.
pub use lambda_http::Error as FunctionError;

/// Runs a deployment's function in Lambda's runtime until the process ends. Reads the environment variables,
/// creates an asynchronous runtime and logs to standard output.
///
/// # Errors
/// Returns [`FunctionError`], whose text names the variable or the tool.
pub fn run_function(djinn: &Djinn) -> Result<(), FunctionError> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    let variables: Variables = Arc::new(var);
    djinn_runtime::telemetry::init(var("AWS_LAMBDA_LOG_LEVEL").as_deref(), std::io::stdout);
    djinn_wiring::check_environment()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let djinn = djinn.clone().with_settings_check(check_settings);
        let ports = djinn_wiring::build_lambda_world(&djinn, &variables)?;
        let settings = Settings::from_vars(&*ports.variables)?;
        let secrets = ports.model.secrets().clone();
        let http = ports.model.http();
        let router = build_router(Agent { ports, settings }, secrets, http);
        lambda_http::run_with_streaming_response(router).await
    })
}

/// Checks the agent's own settings before they replace earlier settings, for `Djinn::with_settings_check`.
///
/// # Errors
/// Returns [`InvalidSetting`] with the name of the invalid variable.
pub fn check_settings(var: VarLookup<'_>) -> Result<(), InvalidSetting> {
    Settings::from_vars(var).map(drop)
}

/// Builds all routes of the function. `secrets` provides the list of API keys and the keys of links, if
/// stored as secrets. `http` fetches the keys of a token issuer.
pub fn build_router<P, S>(agent: Agent<P>, secrets: S, http: Http) -> Router
where
    P: AgentPorts,
    S: Secrets + Clone + 'static,
{
    let origins = agent.settings.local.then(|| agent.settings.origins.clone());
    let links = agent.settings.links.as_ref();
    let links = links.map(|settings| Arc::new(SignedLinks::new(settings, secrets.clone())));
    let gate = Arc::new(Authenticator::new(&agent.settings.auth, secrets, http));
    let slots = Arc::new(StreamSlots::new(agent.settings.streams));
    let agent = Arc::new(agent);
    // Routes without a caller: the health check, the web page, and the targets of links if links are enabled.
    let public_routes = Router::new()
        .route("/web/health", get(route::health))
        .route("/web/config", get(route::show_page_config::<P>))
        .route("/.well-known/oauth-protected-resource", get(route::show_resource::<P>))
        .route("/.well-known/oauth-protected-resource/mcp", get(route::show_resource::<P>));
    let public_routes = match &agent.settings.page.folder {
        Some(folder) => public_routes.merge(page_routes(folder, &agent.settings.page)),
        None => public_routes,
    };
    let public_routes = if links.is_some() {
        public_routes.route(
            "/respond/{token}",
            get(route::show_request::<P>).post(route::respond_by_link::<P>),
        )
    } else {
        public_routes
    };
    let router = authenticated_routes()
        .layer(Extension(slots))
        .layer(Extension(Arc::new(McpWaits::default())))
        .layer(from_fn(require_utf8_path))
        .layer(from_fn_with_state((Arc::clone(&agent), gate), require_caller::<P, S>))
        .merge(public_routes.method_not_allowed_fallback(route::method_not_allowed))
        // Bodies are read with a custom limit, so a large body gets Djinn's own error.
        .layer(DefaultBodyLimit::disable());
    let router = match &origins {
        Some(_) => router.layer(from_fn_with_state(Arc::clone(&agent), refuse_others::<P>)),
        None => router,
    };
    let router = router
        .layer(from_fn_with_state(Arc::clone(&agent), dialect::render_error::<P>))
        .layer(map_response(api_error::add_request_id))
        .with_state(agent);
    let router = match links {
        Some(links) => router.layer(Extension(links)),
        None => router,
    };
    match origins {
        Some(origins) => cors::add_cors(router, origins),
        None => router,
    }
}

/// Returns true for a path in the function's namespace, even without a route. A web UI on the same origin
/// serves only other paths.
#[must_use]
pub fn is_own_path(path: &str) -> bool {
    const OWN: [&str; 15] = [
        ".well-known",
        "AutoAgent",
        "agui",
        "ai",
        "api",
        "data",
        "keys",
        "mcp",
        "modes",
        "respond",
        "runs",
        "sessions",
        "tools",
        "v1",
        "web",
    ];
    let first = path.split('/').nth(1).unwrap_or_default();
    OWN.contains(&first)
}

/// Returns all other routes, for verified callers. A signed link to a file needs no caller.
fn authenticated_routes<P: AgentPorts>() -> Router<SharedAgent<P>> {
    Router::new()
        .route("/AutoAgent", post(route::auto_agent::<P>))
        .route(route::QUERY_AGENT, post(route::query_agent::<P>))
        .route("/v1/chat/completions", post(route::complete_chat::<P>))
        .route("/v1/responses", post(route::create_response::<P>))
        .route("/v1/responses/{run}", get(route::show_response::<P>))
        .route("/v1/responses/{run}/cancel", post(route::cancel_response::<P>))
        .route("/v1/models", get(route::list_chat_models::<P>))
        .route("/ai/chat", post(route::answer_ai_chat::<P>))
        .route("/ai/chat/{chat}/stream", get(route::resume_ai_chat::<P>))
        .route("/agui", post(route::serve_ag_ui::<P>))
        .route("/mcp", post(route::serve_mcp::<P>))
        .route("/data/chatQuery", post(route::ask_data::<P>))
        .route("/data/allModels", get(route::list_models::<P>))
        .route("/data/previewData", get(route::preview_data::<P>))
        .route("/modes", get(route::list_modes::<P>))
        .route("/tools", get(route::list_tools::<P>))
        .route("/keys", get(route::list_keys::<P>))
        .route("/keys/{name}", put(route::put_key::<P>).delete(route::remove_key::<P>))
        .route("/runs", post(route::start_run::<P>).get(route::list_runs::<P>))
        .route("/runs/{run}", get(route::show_run::<P>))
        .route("/runs/{run}/events", get(route::follow_run::<P>))
        .route("/runs/{run}/messages", post(route::post_message::<P>))
        .route("/runs/{run}/plan", patch(route::patch_plan::<P>))
        .route("/runs/{run}/audit", get(route::audit_run::<P>))
        .route("/runs/{run}/stop", post(route::post_stop::<P>))
        .route("/runs/{run}/requests", get(route::list_human_requests::<P>))
        .route("/runs/{run}/requests/{request}", delete(route::skip_request::<P>))
        .route("/runs/{run}/requests/{request}/response", post(route::respond_to_request::<P>))
        .route("/api/feedback/{request}", post(route::give_feedback::<P>))
        .route("/api/feedback/pending/{request}", get(route::pending_feedback::<P>))
        .route("/api/feedback/{request}/{feedback}", delete(route::cancel_feedback::<P>))
        .route("/sessions", get(route::list_sessions::<P>))
        .route(
            "/sessions/{session}",
            get(route::show_session::<P>).delete(route::forget_session::<P>),
        )
        .route("/sessions/{session}/files", get(route::list_files::<P>).post(route::add_file::<P>))
        .route("/sessions/{session}/title", post(route::name_session::<P>))
        .route("/sessions/{session}/share", post(route::share_session::<P>))
        .route("/sessions/{session}/share/{handle}", delete(route::end_share::<P>))
        .route("/v1/file_tool/upload_url", post(route::upload_url::<P>))
        .route("/v1/file_tool/upload_file", post(route::upload_file::<P>))
        .route("/v1/file_tool/upload_file_data", post(route::upload_file_data::<P>))
        .route("/v1/file_tool/get_file", post(route::get_file::<P>))
        .route("/v1/file_tool/get_file_list", post(route::get_file_list::<P>))
        .route("/v1/file_tool/preview/{key}/{name}", get(route::preview_file::<P>))
        .route("/v1/file_tool/download/{key}/{name}", get(route::download_file::<P>))
        .fallback(route::not_found)
        .method_not_allowed_fallback(route::method_not_allowed)
}
