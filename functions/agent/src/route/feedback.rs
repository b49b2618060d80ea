//! Human requests and responses over the paths of the JoyAgent design.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use djinn_core::error_code::ErrorCode;
use djinn_core::human::{HumanResponse, ResponseRecord};
use djinn_core::id::{HumanRequestId, RequestId, RunId, SessionName};
use djinn_core::language::Language;
use djinn_protocol::body::{FeedbackBody, FeedbackReceipt, FeedbackState, PendingBody};
use djinn_protocol::event::PublicHumanRequest;
use djinn_protocol::request::{FeedbackRequest, FeedbackWords};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::serve::{
    AccessLevel, LoadedRun, Permission, ResponseStatus, RunAccess, authorize_run, list_requests,
    submit_response,
};
use djinn_runtime::text_response::TextResponse;
use djinn_runtime::texts::check_bounds;
use djinn_runtime::world::Ports;

use crate::access::require_access;
use crate::agent::{Agent, SharedAgent};
use crate::answer_parser;
use crate::api_error::{ApiError, member_error};
use crate::body::{LenientBody, parse_id};
use crate::identity::Caller;
use crate::link::{ConnectTime, SignedLinks};
use crate::origin::request_origin;
use crate::reply::{JsonReply, ReplyResult};

/// `POST /api/feedback/{request}`: responds to a human request. Returns 200 if the run has taken the
/// response, and 202 if the run does not react within a few seconds.
pub(crate) async fn give_feedback<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    Path(label): Path<String>,
    LenientBody { request, unknown }: LenientBody<FeedbackRequest>,
) -> ReplyResult {
    let language = agent.settings.run.language;
    let (feedback, response, to_record) = read_answer(request, caller.clone(), language)?;
    let mut run = find_run(&agent, &caller, &label).await?;
    let requests = list_requests(&agent.ports, &mut run).await?;
    let subjects =
        requests.iter().filter(|ask| ask.is_addressed_by(&feedback)).map(|ask| &ask.subject);
    let answer = response
        .response_to(subjects)
        .map_err(|failure| ApiError::from(failure).with_field("feedback"))?;
    let mut record = to_record(answer);
    check_bounds(&mut record)?;
    let reply = submit_answer(&agent, &mut run, record).await?;
    Ok(reply.with_ignored(&unknown.header_names()))
}

/// `DELETE /api/feedback/{request}/{feedback}`: cancels a human request, with the effect of `skip`.
pub(crate) async fn cancel_feedback<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    Path((label, feedback)): Path<(String, String)>,
) -> ReplyResult {
    let record = ResponseRecord {
        request: parse_id("feedbackId", &feedback)?,
        id: new_answer_id(),
        by: Some(caller.user.clone()),
        answer: HumanResponse::Skip,
        comment: "cancelled".to_owned(),
        digest: None,
        via: None,
    };
    let mut run = find_run(&agent, &caller, &label).await?;
    submit_answer(&agent, &mut run, record).await
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
    let key = run.key();
    let now_ms = agent.ports.clock().now_ms();
    let maker = match SignedLinks::of(&parts).filter(|_| !requests.is_empty()) {
        Some(links) => {
            let now = ConnectTime { ms: now_ms, is_new: false };
            let signer = links.link_signer(request_origin(&parts, &agent.settings), now).await;
            Some(signer.answer_links(key, caller.user))
        }
        None => None,
    };
    let to_public = |ask| {
        let link = maker.as_ref().and_then(|maker| maker.response_link(ask, now_ms));
        PublicHumanRequest::new(ask, link)
    };
    let data = requests.iter().map(|ask| (ask.id.to_string(), to_public(ask))).collect();
    let body = PendingBody { success: true, run: key.run.to_string(), data };
    Ok(JsonReply::json(&body)?.about_run(&key.run))
}

async fn submit_answer<P: Ports>(
    agent: &Agent<P>,
    run: &mut LoadedRun,
    record: ResponseRecord,
) -> ReplyResult {
    let feedback = record.request.clone();
    let word = record.answer.as_str();
    let result = submit_response(&agent.ports, run, record).await;
    let result = result.map_err(|failure| member_error(failure, "parameters"))?;
    let (status, state) = match result {
        ResponseStatus::Accepted => (StatusCode::OK, FeedbackState::Taken),
        ResponseStatus::Pending => (StatusCode::ACCEPTED, FeedbackState::Waiting),
    };
    let run = &run.key().run;
    let data = FeedbackReceipt {
        feedback_id: feedback.to_string(),
        answer: word,
        state,
        run: run.to_string(),
    };
    let reply =
        JsonReply::json(&FeedbackBody { success: true, message: "Feedback received", data })?;
    Ok(reply.with_status(status).about_run(run))
}

/// Parses a response in JoyAgent's format: `feedbackId`, `feedback`, and `parameters` for changed arguments,
/// which may also be in `feedback`. Returns the human request's id, the response, and a function for the
/// response's record.
fn read_answer(
    request: FeedbackRequest,
    caller: Caller,
    language: Language,
) -> Result<
    (HumanRequestId, TextResponse, impl FnOnce(HumanResponse) -> ResponseRecord + use<>),
    ApiError,
> {
    let FeedbackRequest { feedback_id, feedback, parameters, comment, digest } = request;
    let about: HumanRequestId = parse_id("feedbackId", &feedback_id)?;
    let must_be = |what| ApiError::invalid_field("feedback", what);
    let words = match &feedback {
        Some(FeedbackWords::Words(words)) => Some(words.as_str()).filter(|words| !words.is_empty()),
        Some(FeedbackWords::Parameters(_)) | None => None,
    };
    let response = match (parameters, feedback.clone()) {
        (None, Some(FeedbackWords::Parameters(arguments))) => {
            answer_parser::parse_answer("modify", Some(arguments), language)
        }
        (Some(_), Some(FeedbackWords::Parameters(_))) => {
            return Err(must_be("must be a string where there are `parameters`"));
        }
        (None, Some(FeedbackWords::Words(_)) | None) => {
            let words = words.ok_or_else(|| must_be("must be a non-empty string"))?;
            answer_parser::parse_answer(words, None, language)
        }
        (parameters @ Some(_), Some(FeedbackWords::Words(_)) | None) => {
            answer_parser::parse_answer(words.unwrap_or("modify"), parameters, language)
        }
    };
    let feedback = about.clone();
    let comment = comment.unwrap_or_default();
    let to_record = move |answer| {
        let id = new_answer_id();
        let by = Some(caller.user);
        ResponseRecord { request: about, id, by, answer, comment, digest, via: None }
    };
    Ok((feedback, response, to_record))
}

pub(super) fn new_answer_id() -> String {
    format!("{:016x}", fastrand::u64(..))
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

/// Returns the run if the caller asked the question.
///
/// # Errors
/// Returns `asker_only` if another user asked and the caller is the session's owner or a guest. Returns
/// `run_not_found` for other users, and `share_ended` for a guest's own run after the end of the share.
pub(crate) async fn require_own_run<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    run: LoadedRun,
) -> Result<LoadedRun, ApiError> {
    let RunAccess { run, level: viewer, share_ended, .. } =
        authorize_run(&agent.ports, &caller.user_key(), run).await?;
    match viewer {
        AccessLevel::Asker if share_ended => Err(ErrorCode::ShareEnded.into()),
        AccessLevel::Asker => Ok(run),
        AccessLevel::SessionOwner | AccessLevel::Guest => Err(ErrorCode::AskerOnly.into()),
    }
}
