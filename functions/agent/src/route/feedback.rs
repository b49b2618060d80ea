//! What people are asked and what they answer, over the paths of the JoyAgent design.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use djinn_aws::AwsStore;
use djinn_core::code::ErrorCode;
use djinn_core::feedback::{Answer, Answered, Ask, Written};
use djinn_core::id::{FeedbackId, RequestId, RunId};
use djinn_core::session::SessionName;
use djinn_core::settings::Language;
use djinn_core::wire::native::add_answer_link;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::{Ports, RunKey};
use djinn_runtime::serve::{
    Given, Right, RunAccess, Viewer, answer, pending, run_access, unavailable,
};
use djinn_runtime::texts::bounded;
use serde_json::{Map, Value, json};

use crate::access::may;
use crate::answer_words;
use crate::fields::{Fields, id_of};
use crate::identity::Caller;
use crate::link::{Links, Moment};
use crate::refusal::{Refusal, name, of_what_is_sent};
use crate::{Agent, Shared};

/// `POST /api/feedback/{request}`: an answer. 200 once the run has taken it, 202 if the run has not
/// been heard of within a few seconds.
pub(crate) async fn give_feedback<P: Ports<Store = AwsStore>>(
    State(agent): State<Shared<P>>,
    Path(label): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, body) = request.into_parts();
        let caller = Caller::of(&parts.extensions)?;
        let fields = Fields::read(&parts.headers, body).await?;
        let language = agent.settings.run.language;
        let (feedback, written, answered) = read(&fields, caller.clone(), language)?;
        let key = run_of(&agent, &caller, &label).await?;
        let asked = pending(&agent.ports, &key).await?;
        let meant = asked.iter().filter(|ask| ask.is_named(&feedback)).map(|ask| &ask.about);
        let answer =
            written.to(meant).map_err(|failure| Refusal::from(failure).about("feedback"))?;
        let mut answered = answered(answer);
        bounded(&mut answered)?;
        given(&agent, &key, answered).await
    };
    told(&agent, answer.await)
}

/// `DELETE /api/feedback/{request}/{feedback}`: nobody is to answer that; it is as if skipped.
pub(crate) async fn cancel_feedback<P: Ports<Store = AwsStore>>(
    State(agent): State<Shared<P>>,
    Path((label, feedback)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let caller = Caller::of(&request.into_parts().0.extensions)?;
        let answered = Answered {
            feedback: id_of("feedbackId", &feedback)?,
            id: new_answer_id(),
            by: Some(caller.user.clone()),
            answer: Answer::Skip,
            comment: "cancelled".to_owned(),
            digest: None,
            via: None,
        };
        let key = run_of(&agent, &caller, &label).await?;
        given(&agent, &key, answered).await
    };
    told(&agent, answer.await)
}

/// `GET /api/feedback/pending/{request}`: what is asked and not answered, by its ids.
pub(crate) async fn pending_feedback<P: Ports<Store = AwsStore>>(
    State(agent): State<Shared<P>>,
    Path(label): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let caller = Caller::of(&parts.extensions)?;
        let key = run_of(&agent, &caller, &label).await?;
        let asks = pending(&agent.ports, &key).await?;
        let now_ms = agent.ports.clock().now_ms();
        let maker = match Links::of(&parts).filter(|_| !asks.is_empty()) {
            Some(links) => {
                let now = Moment { ms: now_ms, is_new: false };
                let signer = links.signer(&parts, &agent.settings, now).await;
                Some(signer.answers(&key, caller.user))
            }
            None => None,
        };
        let shown = |ask: &Ask| {
            let mut shown = json!(ask);
            let link = maker.as_ref().and_then(|maker| maker.link(ask, now_ms));
            add_answer_link(&mut shown, link);
            (ask.id.to_string(), shown)
        };
        let asks: Map<String, Value> = asks.iter().map(shown).collect();
        let body = json!({"success": true, "run": key.run, "data": asks});
        let mut response = axum::Json(body).into_response();
        name(response.headers_mut(), Some(&key.run), None);
        Ok(response)
    };
    told(&agent, answer.await)
}

async fn given<P: Ports<Store = AwsStore>>(
    agent: &Agent<P>,
    key: &RunKey,
    answered: Answered,
) -> Result<Response, Refusal> {
    let feedback = answered.feedback.clone();
    let word = answered.answer.as_str();
    let given = answer(&agent.ports, key, answered).await;
    let given = given.map_err(|failure| of_what_is_sent(failure, "parameters"))?;
    let (status, state) = match given {
        Given::Taken => (axum::http::StatusCode::OK, "taken"),
        Given::Waiting => (axum::http::StatusCode::ACCEPTED, "waiting"),
    };
    let body = json!({
        "success": true,
        "message": "Feedback received",
        "data": {"feedbackId": feedback, "answer": word, "state": state, "run": key.run},
    });
    let mut response = (status, axum::Json(body)).into_response();
    name(response.headers_mut(), Some(&key.run), None);
    Ok(response)
}

/// Reads an answer as the design has it: `feedbackId`, `feedback`, and `parameters` for changed ones,
/// which may stand in `feedback` too. Returns what it answers, what it says, and what makes an answer of that.
fn read(
    fields: &Fields,
    caller: Caller,
    language: Language,
) -> Result<(FeedbackId, Written, impl FnOnce(Answer) -> Answered + use<>), Refusal> {
    let feedback: FeedbackId = fields.needed_id("feedbackId")?;
    let written = match (fields.object("parameters")?, fields.is_object("feedback")) {
        (None, true) => {
            let arguments = fields.object("feedback")?.unwrap_or_default();
            answer_words::read("modify", Some(arguments), language)
        }
        (None, false) => answer_words::read(fields.needed("feedback")?, None, language),
        (parameters @ Some(_), _) => {
            let words = fields.text("feedback")?.unwrap_or("modify");
            answer_words::read(words, parameters, language)
        }
    };
    let comment = fields.text("comment")?.unwrap_or_default();
    let digest = fields.text("digest")?.map(str::to_owned);
    let (about, comment) = (feedback.clone(), comment.to_owned());
    let answered = move |answer| {
        let (id, by) = (new_answer_id(), Some(caller.user));
        Answered { feedback: about, id, by, answer, comment, digest, via: None }
    };
    Ok((feedback, written, answered))
}

pub(super) fn new_answer_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// The caller's own run of that id, of that request, or the one that a session of that name answers.
async fn run_of<P: Ports<Store = AwsStore>>(
    agent: &Agent<P>,
    caller: &Caller,
    label: &str,
) -> Result<RunKey, Refusal> {
    let name: SessionName = id_of("requestId", label)?;
    let key = match (RunId::new(label), RequestId::new(label)) {
        (Ok(run), _) => RunKey::new(caller.tenant.clone(), run),
        (Err(_), Ok(request)) => run_of_request(agent, caller, &request).await?,
        (Err(_), Err(_)) => active_run(agent, caller, name).await?,
    };
    own(agent, caller, &key).await?;
    Ok(key)
}

/// The run of a request of the caller's, or the one that a session of that label answers.
async fn run_of_request<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    request: &RequestId,
) -> Result<RunKey, Refusal> {
    let store = agent.ports.store();
    let session = store.session_of(&caller.key(), request.as_str()).await;
    let session = session.map_err(|error| unavailable(&error))?.ok_or(ErrorCode::RunNotFound)?;
    let run = RunId::of(&caller.tenant, &caller.user, &session, request);
    let named = RunKey::new(caller.tenant.clone(), run);
    match store.meta(&named).await.map_err(|error| unavailable(&error))? {
        Some(_) => Ok(named),
        None => active_run(agent, caller, session).await,
    }
}

/// The run that a session is answering.
async fn active_run<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    session: SessionName,
) -> Result<RunKey, Refusal> {
    let access = may(agent, caller, session, Right::Read).await.map_err(|refusal| {
        let is_unknown = refusal.failure.code == ErrorCode::SessionNotFound;
        if is_unknown { ErrorCode::RunNotFound.into() } else { refusal }
    })?;
    let active = agent.ports.store().active(&access.session).await;
    let active = active.map_err(|error| unavailable(&error))?;
    Ok(RunKey::new(caller.tenant.clone(), active.ok_or(ErrorCode::RunNotFound)?))
}

/// Another user's run does not exist for this one, unless its session is shared: then it can be seen. One
/// that a guest asked is the guest's while the share counts.
pub(crate) async fn own<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    key: &RunKey,
) -> Result<(), Refusal> {
    let RunAccess { viewer, share_ended, .. } =
        run_access(&agent.ports, &caller.key(), key).await?;
    match viewer {
        Viewer::Asker if share_ended => Err(ErrorCode::ShareEnded.into()),
        Viewer::Asker => Ok(()),
        Viewer::SessionOwner | Viewer::Guest => Err(ErrorCode::AskerOnly.into()),
    }
}

fn told<P>(agent: &Agent<P>, answer: Result<Response, Refusal>) -> Response {
    answer.unwrap_or_else(|refusal| refusal.json(agent.settings.run.language))
}
