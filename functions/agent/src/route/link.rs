//! What a link leads to: a page that shows one thing that a run asks, and takes an answer.
//!
//! The link is all the credentials there are. Looking changes nothing, whoever looks: those who check
//! mail for others follow links.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request};
use axum::response::Response;
use djinn_aws::AwsStore;
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::feedback::{Answer, Answered, Ask, Via};
use djinn_core::settings::Language;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::{Ports, RunKey};
use djinn_runtime::serve::{AskState, Asked, answer, asked};

use super::feedback::new_answer_id;
use crate::link::form::Form;
use crate::link::page::{self, Question};
use crate::link::{Grant, Links};
use crate::{Agent, Shared};

/// What a link leads to.
struct Linked {
    grant: Grant,
    key: RunKey,
    asked: Asked,
    language: Language,
}

/// `GET /answer/{token}`: what is asked, or how it was answered.
pub(crate) async fn show_ask<P: Ports<Store = AwsStore>>(
    State(agent): State<Shared<P>>,
    request: Request<Body>,
) -> Response {
    let parts = request.into_parts().0;
    match linked(&agent, &parts).await {
        Ok(linked) => linked.shown(None),
        Err(response) => response,
    }
}

/// `POST /answer/{token}`: answers as the form says.
pub(crate) async fn answer_ask<P: Ports<Store = AwsStore>>(
    State(agent): State<Shared<P>>,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    let mut linked = match linked(&agent, &parts).await {
        Ok(linked) => linked,
        Err(response) => return response,
    };
    let AskState::Open(ask) = linked.asked.state.clone() else {
        return linked.shown(Some(&ErrorCode::FeedbackAnswered.into()));
    };
    let form = match Form::read(&parts.headers, body).await {
        Ok(form) => form,
        Err(failure) => return linked.question(&ask).again(&failure, &Form::default()),
    };
    let given = match form.answer(&ask.about, linked.language) {
        Ok((said, comment)) => {
            let word = said.as_str();
            let answered = linked.answered(said, comment);
            answer(&agent.ports, &linked.key, answered).await.map(|given| (given, word))
        }
        Err(failure) => Err(failure),
    };
    match given {
        Ok((given, word)) => page::given(given, word, linked.language),
        // Somebody or something else was first.
        Err(failure) if failure.code.http_status() == 409 || is_gone(&failure) => {
            match look(&agent, &linked.key, &linked.grant).await {
                Ok(now) => linked.asked = now,
                Err(failure) => return page::problem(&failure, linked.language),
            }
            linked.shown(Some(&failure))
        }
        Err(failure) => linked.question(&ask).again(&failure, &form),
    }
}

/// What the link of this request leads to; else the page that says why it leads nowhere.
async fn linked<P: Ports<Store = AwsStore>>(
    agent: &Agent<P>,
    parts: &Parts,
) -> Result<Linked, Response> {
    let preferred = preferred(&parts.headers);
    let unknown = preferred.unwrap_or(agent.settings.run.language);
    let refused = |failure: Failure| page::problem(&failure, unknown);
    let grant = granted(agent, parts).await.map_err(refused)?;
    let key = RunKey::new(grant.tenant.clone(), grant.run.clone());
    let asked = look(agent, &key, &grant).await.map_err(refused)?;
    let language = preferred.unwrap_or(asked.language);
    Ok(Linked { grant, key, asked, language })
}

async fn granted<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Result<Grant, Failure> {
    let token = parts.uri.path().rsplit('/').next().unwrap_or_default();
    let links = Links::of(parts).ok_or(ErrorCode::LinkNotFound)?;
    links.granted(token, agent.ports.clock().now_ms()).await
}

/// A run that is gone, or is not of the user that the link names, does not exist for it.
async fn look<P: Ports>(agent: &Agent<P>, key: &RunKey, grant: &Grant) -> Result<Asked, Failure> {
    match asked(&agent.ports, key, &grant.feedback, &grant.digest).await {
        Ok(asked) if asked.user == grant.user => Ok(asked),
        Err(failure) if failure.code.http_status() >= 500 => Err(failure),
        Ok(_) | Err(_) => Err(ErrorCode::LinkNotFound.into()),
    }
}

fn is_gone(failure: &Failure) -> bool {
    failure.code == ErrorCode::FeedbackNotFound
}

impl Linked {
    /// The page of how things stand now. `late` is what an answer was refused with.
    fn shown(&self, late: Option<&Failure>) -> Response {
        match &self.asked.state {
            AskState::Open(ask) => match late {
                Some(problem) => self.question(ask).again(problem, &Form::default()),
                None => self.question(ask).page(),
            },
            AskState::Settled(settled) => {
                let late = late.map(|_| Failure::from(ErrorCode::FeedbackAnswered));
                page::settled(settled, late.as_ref(), self.language)
            }
            AskState::Changed => page::problem(&ErrorCode::FeedbackStale.into(), self.language),
            AskState::Over => page::problem(&ErrorCode::FeedbackOver.into(), self.language),
        }
    }

    fn question<'a>(&'a self, ask: &'a Ask) -> Question<'a> {
        let (reasoning, language) = (self.asked.reasoning.as_str(), self.language);
        Question { ask, reasoning, until_ms: self.grant.expires_at_ms, language }
    }

    /// The answer as the run takes it: in the name of its user, by the link.
    fn answered(&self, answer: Answer, comment: String) -> Answered {
        Answered {
            feedback: self.grant.feedback.clone(),
            id: new_answer_id(),
            by: Some(self.grant.user.clone()),
            answer,
            comment,
            digest: Some(self.grant.digest.clone()),
            via: Some(Via::Link),
        }
    }
}

/// The language that a browser asks for, if it is one of ours.
pub(super) fn preferred(headers: &HeaderMap) -> Option<Language> {
    let wanted = headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
    let ours = wanted.split(',').filter_map(|wanted| {
        let mut parts = wanted.split(';').map(str::trim);
        let language = match parts.next()?.split('-').next()?.to_ascii_lowercase().as_str() {
            "en" => Language::En,
            "zh" => Language::Zh,
            _ => return None,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.trim().parse::<f32>().ok());
        Some((language, weight.unwrap_or(1.0)))
    });
    // Of equals the first.
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
            assert_eq!(preferred(&headers), language, "{wanted:?}");
        }
        assert_eq!(preferred(&HeaderMap::new()), None);
    }
}
