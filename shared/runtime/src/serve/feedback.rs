//! What people are asked about a run, and what they answer.

use djinn_core::audit::{Audit, AuditLine};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::feedback::{Answer, Answered, Ask, Refusal, Settled};
use djinn_core::plan::{MAX_TITLE, PLANNING_TOOL, PlanCommand};
use djinn_core::run::Run;
use djinn_core::settings::{Language, RunSettings};
use serde_json::Value;

use super::word::heard;
use super::{known, unavailable};
use crate::pages::{read_journal, read_through};
use crate::port::checker::Whose;
use crate::port::mailbox::Mail;
use crate::port::{Ports, RunKey};
use crate::render::planning_tool;
use crate::sleep::wake;
use crate::texts::bounded;

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// It is what the run goes on with.
    Taken,
    /// It waits for the run, which has not been heard of within a few seconds.
    Waiting,
}

/// What people are asked about a run, its tasks included; nothing for one that has ended.
///
/// # Errors
/// `run_not_found`, `internal` for a journal that cannot be read, or `store_unavailable`.
pub async fn pending<P: Ports>(ports: &P, key: &RunKey) -> Result<Vec<Ask>, Failure> {
    if known(ports, key).await?.status.has_ended() {
        return Ok(Vec::new());
    }
    let journal = read_journal(ports, key).await.map_err(|error| unavailable(&error))?;
    Ok(journal.run().asks().cloned().collect())
}

/// What people were asked and decided in a run, and who: see [`Audit`].
///
/// # Errors
/// `run_not_found`, `run_expired`, or `store_unavailable`.
pub async fn audited<P: Ports>(ports: &P, key: &RunKey) -> Result<Vec<AuditLine>, Failure> {
    let meta = known(ports, key).await?;
    let mut audit = Audit::default();
    let read = read_through(ports, key, |record| {
        audit.record(&key.run, record);
        Ok(())
    });
    let extent = read.await.map_err(|error| unavailable(&error))?;
    match extent.is_whole(meta.status.has_ended()) {
        true => Ok(audit.into_lines()),
        false => Err(ErrorCode::RunExpired.into()),
    }
}

/// The JSON Schema of the arguments of a tool that people may be asked about, in words of this language.
#[must_use]
pub fn schema_of<P: Ports>(ports: &P, tool: &str, language: Language) -> Option<Value> {
    if tool == PLANNING_TOOL {
        return Some(planning_tool(ports.prompts(), language).schema);
    }
    ports.tools().find(tool).map(|found| found.spec(language).schema)
}

/// Answers what was asked. `answered.id` must be another for each answer.
///
/// # Errors
/// `run_not_found`, `feedback_not_found` with what is asked, `feedback_answered` with who was first,
/// `feedback_stale`, `invalid_field` for arguments that break their tool's schema, `store_unavailable`, or what
/// [`crate::content::Content::let_in`] says.
pub async fn answer<P: Ports>(
    ports: &P,
    key: &RunKey,
    mut answered: Answered,
) -> Result<Given, Failure> {
    bounded(&mut answered)?;
    let meta = known(ports, key).await?;
    let journal = read_journal(ports, key).await.map_err(|error| unavailable(&error))?;
    let asks = about(journal.run(), &answered)?;
    if meta.status.has_ended() {
        return Err(late(meta.status.as_str()));
    }
    let session = meta.session_name();
    ports.content().let_in(&mut answered, Whose::of(key, &meta.user, &session)).await?;
    check(ports, &journal.run().asked().settings, &asks, &answered.answer)?;
    let mail = Mail::Answered { answered: Box::new(answered.clone()) };
    wake(ports, key, &mail).await.map_err(|error| unavailable(&error))?;
    wait(ports, key, &answered).await
}

/// Waits for the run to take an answer up.
async fn wait<P: Ports>(ports: &P, key: &RunKey, answered: &Answered) -> Result<Given, Failure> {
    let taken = heard(ports, key, |run| {
        let has_ended = run.status().has_ended();
        if run.is_settled_by(&answered.id) {
            return Some(Ok(Given::Taken));
        }
        match run.about(answered) {
            Ok(_) | Err(Refusal::Unknown) if has_ended => Some(Err(late(run.status().as_str()))),
            Ok(_) => None,
            Err(refusal) => Some(Err(refused(run, refusal))),
        }
    });
    taken.await.unwrap_or(Ok(Given::Waiting))
}

fn about(run: &Run, answered: &Answered) -> Result<Vec<Ask>, Failure> {
    run.about(answered).map_err(|refusal| refused(run, refusal))
}

fn refused(run: &Run, refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Unknown => {
            let asked: Vec<&str> = run.asks().map(|ask| ask.id.as_str()).collect();
            let asked = if asked.is_empty() { "nothing".to_owned() } else { asked.join(", ") };
            Failure::new(ErrorCode::FeedbackNotFound, asked)
        }
        Refusal::Late(Settled { by, answer, .. }) => {
            let by = by.map_or_else(|| "nobody in time".to_owned(), |by| by.to_string());
            late(&format!("{answer} ({by})"))
        }
        Refusal::Stale => ErrorCode::FeedbackStale.into(),
    }
}

fn late(how: &str) -> Failure {
    Failure::new(ErrorCode::FeedbackAnswered, how)
}

/// Changed arguments must be such as the model could have written.
fn check<P: Ports>(
    ports: &P,
    settings: &RunSettings,
    asks: &[Ask],
    answer: &Answer,
) -> Result<(), Failure> {
    let Answer::Modify { arguments } = answer else { return Ok(()) };
    let bad = |detail: String| Failure::new(ErrorCode::InvalidField, detail);
    for ask in asks {
        let Some((_, tool, _)) = ask.about.call() else {
            ask.about.check(arguments).map_err(bad)?;
            continue;
        };
        if tool == PLANNING_TOOL {
            let no_plan = |problem| bad(format!("`parameters` make no plan: {problem}"));
            let command =
                PlanCommand::read(arguments).map_err(|error| no_plan(error.to_string()))?;
            if command.title().len() > MAX_TITLE {
                return Err(no_plan(format!("its title has at most {MAX_TITLE} bytes")));
            }
            let plan = command.apply(None, settings.plan.max_steps as usize);
            plan.map_err(|error| no_plan(error.to_string()))?;
        }
        let found = ports.tools().find(tool).map(|found| found.check(arguments));
        if let Some(Err(problem)) = found {
            let of = match settings.language {
                Language::En => "`parameters` do not fit",
                Language::Zh => "`parameters` 不符合",
            };
            return Err(bad(format!("{of} `{tool}`: {problem}")));
        }
    }
    Ok(())
}
