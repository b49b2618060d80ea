//! Human requests of a run, and the responses of users: `/runs/{run}/requests`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use djinn_core::error_code::Failure;
use djinn_core::human::{HumanRequest, HumanResponse, ResponseRecord};
use djinn_core::id::HumanRequestId;
use djinn_protocol::body::{
    HumanRequestListBody, OpenHumanRequestBody, ResponseBody, ResponseState,
};
use djinn_protocol::event::PublicHumanRequest;
use djinn_protocol::request::{NoParameters, ResponseRequest};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::serve::{
    LoadedRun, ResponseCapability, ResponseStatus, list_requests, submit_response, timeout_setting,
    tool_schema,
};
use djinn_runtime::text_response::TextResponse;
use djinn_runtime::texts::check_bounds;
use djinn_runtime::world::Ports;

use super::run::find_own_run;
use crate::agent::{Agent, SharedAgent};
use crate::api_error::{ApiError, member_error};
use crate::body::OwnBody;
use crate::identity::Caller;
use crate::link::{ConnectTime, SignedLinks};
use crate::path::{PathId, RunPath};
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};
use crate::response_parser::read_response;
use crate::session_links::sign_links;

/// The field of a response.
pub(super) const RESPONSE: &str = "response";

/// `GET /runs/{run}/requests`: lists the open human requests of a run and of all runs below it.
pub(crate) async fn list_human_requests<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    _: UrlQuery<NoParameters>,
    parts: Parts,
) -> ReplyResult {
    // Links are valid for the current time to live.
    let agent = agent.refresh().await;
    let mut run = find_own_run(&agent, &caller, &run).await?;
    let requests = list_requests(&agent.ports, &mut run).await?;
    let language = agent.settings.run.language;
    let setting = timeout_setting(&run);
    let public = public_requests(&agent, caller, &parts, &run, &requests).await;
    let requests = requests.iter().zip(public).map(|(request, public)| {
        let tool = request.subject.call().map(|(_, tool, _)| tool);
        OpenHumanRequestBody {
            request: public,
            schema: tool.and_then(|tool| tool_schema(&agent.ports, tool, language)),
            on_timeout: setting.and_then(|setting| request.timeout_action(setting)),
        }
    });
    let requests = requests.collect();
    let key = run.key();
    let body = HumanRequestListBody { run: key.run.to_string(), requests };
    Ok(JsonReply::json(&body)?.about_run(&key.run))
}

/// `POST /runs/{run}/requests/{request}/response`: responds to a human request, or to all requests of a group.
/// Returns 200 if the run has taken the response, and 202 if the run does not react within a few seconds.
pub(crate) async fn respond_to_request<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    PathId(request): PathId<HumanRequestId>,
    _: UrlQuery<NoParameters>,
    OwnBody(body): OwnBody<ResponseRequest>,
) -> ReplyResult {
    let ResponseRequest { response, parameters, comment, digest } = body;
    let text = read_response(&response, parameters, agent.settings.run.language);
    let draft = ResponseDraft { request, comment, digest };
    let mut run = find_own_run(&agent, &caller, &run).await?;
    let record = draft.complete(&agent, &mut run, &caller, &text).await?;
    submit_to_run(&agent, &mut run, record).await
}

/// `DELETE /runs/{run}/requests/{request}`: skips a human request.
pub(crate) async fn skip_request<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    PathId(request): PathId<HumanRequestId>,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let mut run = find_own_run(&agent, &caller, &run).await?;
    submit_to_run(&agent, &mut run, skip_record(request, &caller)).await
}

async fn submit_to_run<P: Ports>(
    agent: &Agent<P>,
    run: &mut LoadedRun,
    record: ResponseRecord,
) -> ReplyResult {
    let request = record.request.to_string();
    let response = record.answer.as_str();
    let capability = ResponseCapability::Everything;
    let (status, state) = submit_record(agent, run, record, capability).await?;
    let run = &run.key().run;
    let body = ResponseBody { run: run.to_string(), request, response, state };
    Ok(JsonReply::json(&body)?.with_status(status).about_run(run))
}

/// Returns the public form of open requests, with links if the deployment creates links.
pub(super) async fn public_requests<'a, P: Ports>(
    agent: &Agent<P>,
    caller: Caller,
    parts: &Parts,
    run: &LoadedRun,
    requests: &'a [HumanRequest],
) -> Vec<PublicHumanRequest<'a>> {
    let now_ms = agent.ports.clock().now_ms();
    let links = match SignedLinks::of(parts).filter(|_| !requests.is_empty()) {
        Some(links) => {
            let now = ConnectTime { ms: now_ms, is_new: false };
            let signer = sign_links(agent, parts, links, now).await;
            Some(signer.response_links(run.key(), caller.user))
        }
        None => None,
    };
    let to_public = |request| {
        let link = links.as_ref().and_then(|links| links.response_link(request, now_ms));
        PublicHumanRequest::new(request, link)
    };
    requests.iter().map(to_public).collect()
}

/// A response without the parsed text.
pub(super) struct ResponseDraft {
    pub(super) request: HumanRequestId,
    pub(super) comment: Option<String>,
    pub(super) digest: Option<String>,
}

impl ResponseDraft {
    /// Returns the record of a response. The meaning of the text depends on the subjects of the requests.
    pub(super) async fn complete<P: Ports>(
        self,
        agent: &Agent<P>,
        run: &mut LoadedRun,
        caller: &Caller,
        text: &TextResponse,
    ) -> Result<ResponseRecord, ApiError> {
        let requests = list_requests(&agent.ports, run).await?;
        let addressed = requests.iter().filter(|request| request.is_addressed_by(&self.request));
        let answer = text
            .response_to(addressed.map(|request| &request.subject))
            .map_err(|failure| ApiError::from(failure).with_field(RESPONSE))?;
        let mut record = ResponseRecord {
            request: self.request,
            id: new_response_id(),
            by: Some(caller.user.clone()),
            answer,
            comment: self.comment.unwrap_or_default(),
            digest: self.digest,
            via: None,
        };
        check_bounds(&mut record)?;
        Ok(record)
    }
}

/// Returns the record that skips a request.
pub(super) fn skip_record(request: HumanRequestId, caller: &Caller) -> ResponseRecord {
    ResponseRecord {
        request,
        id: new_response_id(),
        by: Some(caller.user.clone()),
        answer: HumanResponse::Skip,
        comment: "cancelled".to_owned(),
        digest: None,
        via: None,
    }
}

/// Submits a response, and returns the HTTP status with the state of the response.
pub(super) async fn submit_record<P: Ports>(
    agent: &Agent<P>,
    run: &mut LoadedRun,
    record: ResponseRecord,
    capability: ResponseCapability,
) -> Result<(StatusCode, ResponseState), ApiError> {
    let to_error = |failure: Failure| member_error(failure, "parameters");
    let ports = agent.ports.refresh().await;
    let status = submit_response(&ports, run, record, capability).await.map_err(to_error)?;
    Ok(match status {
        ResponseStatus::Accepted => (StatusCode::OK, ResponseState::Taken),
        ResponseStatus::Pending => (StatusCode::ACCEPTED, ResponseState::Waiting),
    })
}

pub(super) fn new_response_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}
