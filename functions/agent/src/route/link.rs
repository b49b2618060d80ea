//! The pages behind links: each page shows a human request of a run and accepts a response.
//!
//! The link is the only credential. Reading changes nothing, because mail scanners follow links too.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;
use axum::response::Response;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{HumanRequest, HumanResponse, ResponseChannel, ResponseRecord, Subject};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_protocol::link::SessionLinks as Urls;
use djinn_protocol::refusal::http_status;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::{RunKey, UserKey};
use djinn_runtime::serve::{
    HumanRequestState, HumanRequestView, LoadedRun, ResponseCapability, describe_request,
    set_user_key, store_failure, submit_response,
};
use djinn_runtime::world::Ports;

use super::requests::new_response_id;
use crate::agent::{Agent, SharedAgent};
use crate::link::form::ResponseForm;
use crate::link::page::{self, RequestPage};
use crate::link::{ConnectTime, ResponseGrant, SignedLinks};
use crate::origin::request_origin;
use crate::session_links::sign_links;

/// The target of a link.
struct LinkTarget {
    grant: ResponseGrant,
    run: LoadedRun,
    request: HumanRequestView,
    /// The URLs of the request's files.
    files: BTreeMap<FileName, String>,
    language: Language,
}

/// `GET /respond/{token}`: shows a human request, or the resolution.
pub(crate) async fn show_request<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    parts: Parts,
) -> Response {
    match resolve_link(&agent, &parts).await {
        Ok(linked) => linked.render_state(None),
        Err(response) => response,
    }
}

/// `POST /respond/{token}`: responds as filled in on the form.
pub(crate) async fn respond_by_link<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    parts: Parts,
    body: Body,
) -> Response {
    let mut target = match resolve_link(&agent, &parts).await {
        Ok(target) => target,
        Err(response) => return response,
    };
    let HumanRequestState::Open(ask) = target.request.state.clone() else {
        return target.render_state(Some(&ErrorCode::RequestResolved.into()));
    };
    let form = match ResponseForm::from_body(&parts.headers, body).await {
        Ok(form) => form,
        Err(failure) => {
            return target
                .request_page(&ask)
                .render_with_problem(&failure, &ResponseForm::default());
        }
    };
    let response = match target.set_key(&agent, &form, &ask.subject).await {
        Ok(()) => form.to_response(&ask.subject, target.language),
        Err(failure) => Err(failure),
    };
    let result = match response {
        Ok((human_response, comment)) => {
            let word = human_response.as_str();
            let record = target.response_record(human_response, comment);
            let ports = agent.ports.refresh().await;
            submit_response(&ports, &mut target.run, record, ResponseCapability::Everything)
                .await
                .map(|status| (status, word))
        }
        Err(failure) => Err(failure),
    };
    match result {
        Ok((status, word)) => page::receipt_page(status, word, target.language),
        // Another response came first.
        Err(failure) if http_status(failure.code) == 409 || is_gone(&failure) => {
            match load_request(&agent, &mut target.run, &target.grant).await {
                Ok(now) => target.request = now,
                Err(failure) => return page::problem_page(&failure, target.language),
            }
            target.render_state(Some(&failure))
        }
        Err(failure) => target.request_page(&ask).render_with_problem(&failure, &form),
    }
}

/// Returns the target of the request's link, else a page with the error.
async fn resolve_link<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Result<LinkTarget, Response> {
    let preference = preferred_language(&parts.headers);
    let unknown = preference.unwrap_or(agent.settings.run.language);
    let to_page = |failure: Failure| page::problem_page(&failure, unknown);
    let grant = verify_grant(agent, parts).await.map_err(to_page)?;
    let key = RunKey::new(grant.tenant.clone(), grant.run.clone());
    let run = LoadedRun::load(&agent.ports, &key).await.map_err(hide_failure);
    let mut run = run.map_err(to_page)?;
    let request = load_request(agent, &mut run, &grant).await.map_err(to_page)?;
    let files = find_files(agent, parts, &run, &request.state).await.map_err(to_page)?;
    let language = preference.unwrap_or(request.language);
    Ok(LinkTarget { grant, run, request, files, language })
}

/// Returns the URLs of the files under review: a result must be visible to be accepted.
async fn find_files<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    run: &LoadedRun,
    state: &HumanRequestState,
) -> Result<BTreeMap<FileName, String>, Failure> {
    let names = match state {
        HumanRequestState::Open(ask) => match &ask.subject {
            Subject::ResultReview { files, .. } => files.as_slice(),
            Subject::Call { .. }
            | Subject::CallInterrupt { .. }
            | Subject::ModelInterrupt { .. }
            | Subject::BudgetExtension { .. }
            | Subject::StepReview { .. } => &[],
        },
        HumanRequestState::Replaced
        | HumanRequestState::Resolved(_)
        | HumanRequestState::Closed => &[],
    };
    let Some(links) = SignedLinks::of(parts).filter(|_| !names.is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let session = run.meta().session_key(&run.key().tenant);
    let files = agent.ports.store().list_files(&session).await;
    let files = files.map_err(|error| store_failure(&error))?;
    let now = ConnectTime { ms: agent.ports.clock().now_ms(), is_new: false };
    let signer = sign_links(agent, parts, links, now).await;
    let urls = Urls::new(request_origin(parts, &agent.settings), run.meta().session_name());
    let urls = urls.with_file_links(signer.file_links(&session), now.ms);
    let reviewed_files = files.iter().filter(|file| names.contains(&file.name));
    Ok(reviewed_files.map(|file| (file.name.clone(), urls.preview_url(file))).collect())
}

async fn verify_grant<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Result<ResponseGrant, Failure> {
    let token = parts.uri.path().rsplit('/').next().unwrap_or_default();
    let links = SignedLinks::of(parts).ok_or(ErrorCode::LinkNotFound)?;
    links.verify_response(token, agent.ports.clock().now_ms()).await
}

/// Returns the human request. A missing run, or a run of another user than the link's, counts as unknown.
async fn load_request<P: Ports>(
    agent: &Agent<P>,
    run: &mut LoadedRun,
    grant: &ResponseGrant,
) -> Result<HumanRequestView, Failure> {
    match describe_request(&agent.ports, run, &grant.human_request, &grant.digest).await {
        Ok(request) if request.user == grant.user => Ok(request),
        Ok(_) => Err(ErrorCode::LinkNotFound.into()),
        Err(failure) => Err(hide_failure(failure)),
    }
}

/// Hides the details of errors in loading a run: all but server errors become `link_not_found`.
fn hide_failure(failure: Failure) -> Failure {
    if http_status(failure.code) >= 500 { failure } else { ErrorCode::LinkNotFound.into() }
}

fn is_gone(failure: &Failure) -> bool {
    failure.code == ErrorCode::RequestNotFound
}

impl LinkTarget {
    /// Renders the page of the current state. `late` is the error of a rejected response.
    fn render_state(&self, late: Option<&Failure>) -> Response {
        match &self.request.state {
            HumanRequestState::Open(ask) => match late {
                Some(problem) => {
                    self.request_page(ask).render_with_problem(problem, &ResponseForm::default())
                }
                None => self.request_page(ask).render(),
            },
            HumanRequestState::Resolved(settled) => {
                let late = late.map(|_| Failure::from(ErrorCode::RequestResolved));
                page::resolution_page(settled, late.as_ref(), self.language)
            }
            HumanRequestState::Replaced => {
                page::problem_page(&ErrorCode::RequestStale.into(), self.language)
            }
            HumanRequestState::Closed => {
                page::problem_page(&ErrorCode::RequestClosed.into(), self.language)
            }
        }
    }

    fn request_page<'a>(&'a self, ask: &'a HumanRequest) -> RequestPage<'a> {
        let Self { request, files, language, grant, .. } = self;
        let reasoning = request.reasoning.as_str();
        let until_ms = grant.expires_at_ms;
        RequestPage { request: ask, reasoning, files, until_ms, language: *language }
    }

    /// Stores the key of a form that has one, as the key of the user who asked. The key reaches no journal.
    async fn set_key<P: Ports>(
        &self,
        agent: &Agent<P>,
        form: &ResponseForm,
        subject: &Subject,
    ) -> Result<(), Failure> {
        let Some(value) = form.key() else { return Ok(()) };
        let needed = subject.interrupt().and_then(|interrupt| interrupt.key.clone());
        let needed = needed.ok_or_else(|| {
            Failure::new(ErrorCode::InvalidField, "this request needs no key".to_owned())
        })?;
        let ResponseGrant { tenant, user, .. } = &self.grant;
        let user = UserKey { tenant: tenant.clone(), user: user.clone() };
        set_user_key(&agent.ports, &user, needed, &value).await
    }

    /// Returns the response's record for the run: by the link, in the user's name.
    fn response_record(&self, answer: HumanResponse, comment: String) -> ResponseRecord {
        ResponseRecord {
            request: self.grant.human_request.clone(),
            id: new_response_id(),
            by: Some(self.grant.user.clone()),
            answer,
            comment,
            digest: Some(self.grant.digest.clone()),
            via: Some(ResponseChannel::Link),
        }
    }
}

/// Returns the browser's preferred language, if supported.
pub(super) fn preferred_language(headers: &HeaderMap) -> Option<Language> {
    let header = headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
    let ours = header.split(',').filter_map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let language = match parts.next()?.split('-').next()?.to_ascii_lowercase().as_str() {
            "en" => Language::En,
            "zh" => Language::Zh,
            _ => return None,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.trim().parse::<f32>().ok());
        Some((language, weight.unwrap_or(1.0)))
    });
    // Of equal preferences, the first.
    let best = ours
        .filter(|(_, weight)| *weight > 0.0)
        .reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(language, _)| language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_languages_that_a_browser_knows_the_best_of_ours_is_spoken() {
        for (wanted, language) in [
            ("en-GB,en;q=0.9", Some(Language::En)),
            ("zh-CN,zh;q=0.9,en;q=0.8", Some(Language::Zh)),
            ("fr, en;q=0.3, zh;q=0.7", Some(Language::Zh)),
            ("zh;q=0.5, en;q=0.5", Some(Language::Zh)),
            ("ZH-Hant", Some(Language::Zh)),
            ("en;q=0, de", None),
            ("de", None),
            ("", None),
            ("en;q=x", Some(Language::En)),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, wanted.parse().unwrap())]);
            assert_eq!(preferred_language(&headers), language, "{wanted:?}");
        }
        assert_eq!(preferred_language(&HeaderMap::new()), None);
    }
}
