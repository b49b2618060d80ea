//! The handlers of all routes, a module per subject, and the handler of unknown paths.

mod ask;
mod data;
mod file;
mod joyagent;
mod key;
mod link;
mod mode;
mod page;
mod requests;
mod run;
mod session;
mod share;
mod tool;

pub(crate) use ask::ag_ui::serve_ag_ui;
pub(crate) use ask::ai_sdk::{answer_ai_chat, resume_ai_chat};
pub(crate) use ask::chat_completions::{complete_chat, list_chat_models};
pub(crate) use ask::data_question::{ASK_DATA, ask_data};
pub(crate) use ask::mcp::{serve_mcp, show_resource};
pub(crate) use ask::responses_api::{cancel_response, create_response, show_response};
pub(crate) use ask::{auto_agent, query_agent, start_run};
pub(crate) use data::{list_models, preview_data};
pub(crate) use file::{add_file, download_file, list_files, preview_file};
pub(crate) use joyagent::{
    cancel_feedback, get_file, get_file_list, give_feedback, pending_feedback, upload_file,
    upload_file_data, upload_url,
};
pub(crate) use key::{list_keys, put_key, remove_key};
pub(crate) use link::{respond_by_link, show_request};
pub(crate) use mode::list_modes;
pub(crate) use page::show_page_config;
pub(crate) use requests::{list_human_requests, respond_to_request, skip_request};
pub(crate) use run::{
    audit_run, follow_run, list_runs, patch_plan, post_message, post_stop, show_run,
};
pub(crate) use session::{forget_session, list_sessions, name_session, show_session};
pub(crate) use share::{end_share, share_session};
pub(crate) use tool::list_tools;

use djinn_core::error_code::ErrorCode;

use crate::api_error::ApiError;

/// The path of questions from JoyAgent's UI. The UI reads only events.
pub(crate) const QUERY_AGENT: &str = "/web/api/v1/gpt/queryAgentStreamIncr";

/// `GET /web/health` returns 200 with the text `ok`, without any checks.
pub(crate) async fn health() -> &'static str {
    "ok"
}

/// Returns [`ErrorCode::RouteNotFound`] as JSON, for every path without a route.
pub(crate) async fn not_found() -> ApiError {
    ErrorCode::RouteNotFound.into()
}

/// Returns the error for a known path with another method; axum adds `Allow`.
pub(crate) async fn method_not_allowed() -> ApiError {
    ErrorCode::MethodNotAllowed.into()
}
