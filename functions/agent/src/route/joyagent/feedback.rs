//! Human requests and responses: `/api/feedback`. The path contains the id of the run, the request or the
//! session.

use axum::extract::{Path, State};
use axum::http::request::Parts;
use djinn_core::error_code::ErrorCode;
use djinn_core::human::ResponseRecord;
use djinn_core::id::{HumanRequestId, RequestId, RunId, SessionName};
use djinn_core::language::Language;
use djinn_protocol::body::{FeedbackBody, FeedbackReceipt, PendingBody};
use djinn_protocol::request::{FeedbackRequest, FeedbackWords};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::serve::{LoadedRun, Permission, ResponseCapability, list_requests};
use djinn_runtime::text_response::TextResponse;
use djinn_runtime::world::Ports;

use crate::access::{require_access, require_own_run};
use crate::agent::{Agent, SharedAgent};
use crate::api_error::ApiError;
use crate::body::{LenientBody, parse_id};
use crate::identity::Caller;
use crate::reply::{JsonReply, ReplyResult};
use crate::response_parser::read_response;
use crate::route::requests::{
    RESPONSE, ResponseDraft, public_requests, skip_record, submit_record,
};

/// The field of a response.
const FEEDBACK: &str = "feedback";
/// The field with the id of a human request.
const FEEDBACK_ID: &str = "feedbackId";

/// `POST /api/feedback/{request}`: responds to a human request.
pub(crate) async fn give_feedback<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    Path(label): Path<String>,
    LenientBody { request, unknown }: LenientBody<FeedbackRequest>,
) -> ReplyResult {
    let (draft, text) = parse_feedback(request, agent.settings.run.language)?;
    let mut run = find_run(&agent, &caller, &label).await?;
    let record = draft.complete(&agent, &mut run, &caller, &text).await.map_err(rename_field)?;
    let reply = submit_feedback(&agent, &mut run, record).await?;
    Ok(reply.with_ignored(&unknown.header_names()))
}

/// `DELETE /api/feedback/{request}/{feedback}`: skips a human request.
pub(crate) async fn cancel_feedback<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    Path((label, feedback)): Path<(String, String)>,
) -> ReplyResult {
    let record = skip_record(parse_id(FEEDBACK_ID, &feedback)?, &caller);
    let mut run = find_run(&agent, &caller, &label).await?;
    submit_feedback(&agent, &mut run, record).await
}

/// `GET /api/feedback/pending/{request}`: lists the open human requests by id.
pub(crate) async fn pending_feedback<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    Path(label): Path<String>,
    parts: Parts,
) -> ReplyResult {
    let mut run = find_run(&agent, &caller, &label).await?;
    let requests = list_requests(&agent.ports, &mut run).await?;
    let requests = public_requests(&agent, caller, &parts, &run, &requests).await;
    let data = requests.into_iter().map(|request| (request.id.clone(), request)).collect();
    let run = &run.key().run;
    let body = PendingBody { success: true, run: run.to_string(), data };
    Ok(JsonReply::json(&body)?.about_run(run))
}

async fn submit_feedback<P: Ports>(
    agent: &Agent<P>,
    run: &mut LoadedRun,
    record: ResponseRecord,
) -> ReplyResult {
    let feedback_id = record.request.to_string();
    let answer = record.answer.as_str();
    let submission = submit_record(agent, run, record, ResponseCapability::Everything).await;
    let (status, state) = submission.map_err(rename_field)?;
    let run = &run.key().run;
    let data = FeedbackReceipt { feedback_id, answer, state, run: run.to_string() };
    let body = FeedbackBody { success: true, message: "Feedback received", data };
    Ok(JsonReply::json(&body)?.with_status(status).about_run(run))
}

/// Parses a response: `feedback`, and `parameters` for changed arguments, which may also be in `feedback`.
fn parse_feedback(
    request: FeedbackRequest,
    language: Language,
) -> Result<(ResponseDraft, TextResponse), ApiError> {
    let FeedbackRequest { feedback_id, feedback, parameters, comment, digest } = request;
    let request: HumanRequestId = parse_id(FEEDBACK_ID, &feedback_id)?;
    let must_be = |problem| ApiError::invalid_field(FEEDBACK, problem);
    let text = match (feedback, parameters) {
        (Some(FeedbackWords::Parameters(arguments)), None) => {
            read_response("modify", Some(arguments), language)
        }
        (Some(FeedbackWords::Parameters(_)), Some(_)) => {
            return Err(must_be("must be a string where there are `parameters`"));
        }
        (Some(FeedbackWords::Words(words)), parameters) if !words.is_empty() => {
            read_response(&words, parameters, language)
        }
        (Some(FeedbackWords::Words(_)) | None, Some(parameters)) => {
            read_response("modify", Some(parameters), language)
        }
        (Some(FeedbackWords::Words(_)) | None, None) => {
            return Err(must_be("must be a non-empty string"));
        }
    };
    Ok((ResponseDraft { request, comment, digest }, text))
}

/// Renames the field of an invalid response.
fn rename_field(error: ApiError) -> ApiError {
    if error.field() == Some(RESPONSE) { error.with_member_name(FEEDBACK) } else { error }
}

/// Returns the caller's own run with this id or of this request, or the active run of the session with this
/// name.
async fn find_run<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    label: &str,
) -> Result<LoadedRun, ApiError> {
    let name: SessionName = parse_id("requestId", label)?;
    let run = match (RunId::new(label), RequestId::new(label)) {
        (Ok(run), _) => {
            LoadedRun::load(&agent.ports, &RunKey::new(caller.tenant.clone(), run)).await?
        }
        (Err(_), Ok(request)) => find_run_of_request(agent, caller, &request).await?,
        (Err(_), Err(_)) => find_active_run(agent, caller, name).await?,
    };
    require_own_run(agent, caller, run).await
}

/// Returns the run of the caller's request, or the active run of the session with this label.
async fn find_run_of_request<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    request: &RequestId,
) -> Result<LoadedRun, ApiError> {
    let store = agent.ports.store();
    let session = store.find_session_name(&caller.user_key(), request.as_str()).await;
    let session = session?.ok_or(ErrorCode::RunNotFound)?;
    let run = RunId::of(&caller.tenant, &caller.user, &session, request);
    let key = RunKey::new(caller.tenant.clone(), run);
    match LoadedRun::find(&agent.ports, &key).await? {
        Some(run) => Ok(run),
        None => find_active_run(agent, caller, session).await,
    }
}

/// Returns the active run of a session.
async fn find_active_run<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    session: SessionName,
) -> Result<LoadedRun, ApiError> {
    let access =
        require_access(agent, caller, session, Permission::Read).await.map_err(|refusal| {
            let is_unknown = refusal.failure.code == ErrorCode::SessionNotFound;
            if is_unknown { ErrorCode::RunNotFound.into() } else { refusal }
        })?;
    let active = agent.ports.store().find_active_run(&access.session).await?;
    let key = RunKey::new(caller.tenant.clone(), active.ok_or(ErrorCode::RunNotFound)?);
    Ok(LoadedRun::load(&agent.ports, &key).await?)
}
