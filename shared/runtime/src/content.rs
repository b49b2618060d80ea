//! What a deployment lets in and out: denied phrases, and the verdict of a checker of its own. Which texts
//! there are is [`crate::texts`]'s to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::deny::{DenyList, Gate};
use djinn_core::input::{Partial, Reply};
use djinn_core::tool::OfferedTool;

use crate::port::checker::{Check, CheckedText, Checker, Direction, NoVerdict, Verdict, Whose};
use crate::prompt::cut;
use crate::texts::{OfReply, Text, Texts, bounded, of_reply, refuse};

/// Characters of a checker's reason.
const MAX_REASON: usize = 300;

/// Bytes that are looked through before others have their turn.
const MAX_AT_ONCE: usize = 64 * 1024;

/// What is let through. Nothing is held back unless a deployment says so.
#[derive(Clone, Default)]
pub struct Content {
    /// Phrases that pass in neither direction.
    pub deny: DenyList,
    /// Who is asked besides.
    pub checks: Option<Checks>,
}

/// A checker, and what its silence means.
#[derive(Clone)]
pub struct Checks {
    /// The checker.
    pub checker: Arc<dyn Checker>,
    /// Whether texts pass about which it gives no verdict.
    pub fails_open: bool,
}

impl Content {
    /// Whether everything passes.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.deny.is_empty() && self.checks.is_none()
    }

    /// Lets in what a person tells, if each of its texts keeps its bound; a checker may put others in their
    /// places.
    ///
    /// # Errors
    /// [`bounded`]'s, `content_refused`, or `content_unchecked` without a verdict.
    pub async fn let_in(
        &self,
        told: &mut (impl Texts + Send),
        whose: Whose<'_>,
    ) -> Result<(), Failure> {
        bounded(told)?;
        self.pass(Direction::In, told.texts(), whose).await?;
        bounded(told).map_err(|_| {
            let why = "the checker replaces a text by one that is too long";
            Failure::new(ErrorCode::ContentUnchecked, why)
        })
    }

    /// Lets a reply out. A call that holds what is refused stays without its arguments, and says why.
    ///
    /// # Errors
    /// `content_refused` for what it says, `content_unchecked` without a verdict.
    pub async fn let_reply_out(
        &self,
        reply: &mut Reply,
        offered: &[OfferedTool],
        whose: Whose<'_>,
    ) -> Result<(), Failure> {
        if self.is_open() {
            return Ok(());
        }
        let thoughts = reply.reasoning.as_ref().map(|reasoning| reasoning.text.clone());
        let OfReply { said, calls } = of_reply(reply);
        let said = self.pass(Direction::Out, said, whose);
        let (said, refused) = tokio::join!(said, self.pass_calls(calls, whose));
        said?;
        for (index, why) in refused? {
            if let Some(call) = reply.calls.get_mut(index) {
                let is_known = offered.iter().any(|tool| tool.name == call.tool);
                refuse(call, &why, is_known);
            }
        }
        if let Some(reasoning) = &mut reply.reasoning
            && reasoning.signature.is_some()
            && thoughts.as_ref() != Some(&reasoning.text)
        {
            // Signed thoughts go back to their model as they came.
            reasoning.written = reasoning.written.take().or(thoughts);
        }
        Ok(())
    }

    /// Lets out what a stopped reply said; nothing of what is held back.
    pub async fn let_partial_out(&self, mut partial: Partial, whose: Whose<'_>) -> Option<Partial> {
        self.pass(Direction::Out, partial.texts(), whose).await.ok().map(|()| partial)
    }

    /// Lets an error out, without its words if these are held back.
    pub async fn let_error_out(&self, error: &mut (impl Texts + Send), whose: Whose<'_>) {
        if self.pass(Direction::Out, error.texts(), whose).await.is_err() {
            error.texts().into_iter().for_each(|text| text.replace(String::new()));
        }
    }

    async fn pass(
        &self,
        direction: Direction,
        texts: Vec<Text<'_>>,
        whose: Whose<'_>,
    ) -> Result<(), Failure> {
        self.allow(&texts).await?;
        self.ask(direction, texts, whose).await
    }

    /// The calls that are not let out, each with why.
    async fn pass_calls(
        &self,
        calls: Vec<Vec<Text<'_>>>,
        whose: Whose<'_>,
    ) -> Result<BTreeMap<usize, Failure>, Failure> {
        let (mut refused, mut asked) = (BTreeMap::new(), Vec::new());
        let mut texts = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            match self.allow(&call).await {
                Ok(()) => {
                    asked.push(index);
                    texts.extend(call);
                }
                Err(why) => _ = refused.insert(index, why),
            }
        }
        match self.ask(Direction::Out, texts, whose).await {
            Ok(()) => {}
            Err(why) if why.code == ErrorCode::ContentRefused => {
                refused.extend(asked.into_iter().map(|index| (index, why.clone())));
            }
            Err(unchecked) => return Err(unchecked),
        }
        Ok(refused)
    }

    /// Lets texts through that hold no denied phrase.
    async fn allow(&self, texts: &[Text<'_>]) -> Result<(), Failure> {
        let mut bytes = 0;
        for text in texts {
            if self.denies(text.as_str()).await {
                return Err(Failure::from(ErrorCode::ContentRefused).about(text.field));
            }
            bytes += text.as_str().len();
            if bytes > MAX_AT_ONCE {
                bytes = 0;
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Whether a text holds a denied phrase. Others have their turn while a long one is looked through.
    async fn denies(&self, text: &str) -> bool {
        if self.deny.is_empty() {
            return false;
        }
        if text.len() <= MAX_AT_ONCE {
            return self.deny.denies(text);
        }
        let mut gate = Gate::new(self.deny.clone());
        let mut rest = text;
        while !rest.is_empty() && !gate.is_shut() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(MAX_AT_ONCE));
            gate.push(piece);
            rest = behind;
            tokio::task::yield_now().await;
        }
        gate.finish();
        gate.is_shut()
    }

    /// Asks the checker about these texts, all at once.
    async fn ask(
        &self,
        direction: Direction,
        texts: Vec<Text<'_>>,
        whose: Whose<'_>,
    ) -> Result<(), Failure> {
        let Some(Checks { checker, fails_open }) = &self.checks else { return Ok(()) };
        let Some(first) = texts.first() else { return Ok(()) };
        let field = texts.iter().all(|text| text.field == first.field).then_some(first.field);
        let asked: Vec<CheckedText<'_>> = texts
            .iter()
            .map(|text| CheckedText { field: text.field, text: text.as_str() })
            .collect();
        let verdict = checker.check(Check { direction, texts: &asked, whose }).await;
        let count = asked.len();
        drop(asked);
        let about = |failure: Failure| match field {
            Some(field) => failure.about(field),
            None => failure,
        };
        let (direction, run) = (direction.as_str(), whose.run.map(ToString::to_string));
        let error = match verdict {
            Ok(Verdict::Allow) => return Ok(()),
            Ok(Verdict::Refuse { reason }) => {
                tracing::info!(direction, run_id = run, "content refused");
                let reason = cut(&reason, MAX_REASON);
                return Err(about(Failure::new(ErrorCode::ContentRefused, reason)));
            }
            Ok(Verdict::Replace { texts: others }) if others.len() == count => {
                for other in &others {
                    if self.denies(other).await {
                        return Err(about(ErrorCode::ContentRefused.into()));
                    }
                }
                if texts.iter().zip(&others).all(|(text, other)| text.may_be(other)) {
                    texts.into_iter().zip(others).for_each(|(text, other)| text.replace(other));
                    tracing::info!(direction, run_id = run, "content replaced");
                    return Ok(());
                }
                NoVerdict("the checker replaces a name".to_owned())
            }
            Ok(Verdict::Replace { .. }) => {
                NoVerdict("the checker replaces other texts than it was asked about".to_owned())
            }
            Err(error) => error,
        };
        tracing::warn!(direction, run_id = run, %error, "content not checked");
        let failure = Failure::new(ErrorCode::ContentUnchecked, error.to_string());
        if *fails_open { Ok(()) } else { Err(about(failure)) }
    }
}
