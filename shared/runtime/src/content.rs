//! A deployment's content policy: denied phrases, and the verdict of its own checker. [`crate::texts`] lists
//! the texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::{PartialMessage, Reply};
use djinn_core::tool::OfferedTool;
use djinn_text::deny::{DenyFilter, DenyList};

use crate::port::checker::{
    CheckError, CheckedText, Checker, ContentCheck, ContentOwner, Direction, Verdict,
};
use crate::prompt::truncate_text;
use crate::texts::{ContentText, HasTexts, ReplyTexts, check_bounds, refuse_call, reply_texts};

/// The maximum length of a checker's reason, in characters.
const MAX_REASON: usize = 300;

/// The bytes scanned between two yields to the executor.
const SCAN_CHUNK_BYTES: usize = 64 * 1024;

/// The content policy; by default every text passes.
#[derive(Clone, Default)]
pub struct ContentPolicy {
    /// Phrases denied in both directions.
    pub deny: DenyList,
    /// The checker asked in addition to the deny list.
    pub check_policy: Option<CheckPolicy>,
}

/// A checker, and the rule for missing verdicts.
#[derive(Clone)]
pub struct CheckPolicy {
    /// The checker for incoming and outgoing texts.
    pub checker: Arc<dyn Checker>,
    /// True if texts without a verdict pass.
    pub fails_open: bool,
}

impl ContentPolicy {
    /// Returns true if every text passes: no deny list and no checker is set.
    #[must_use]
    pub fn allows_all(&self) -> bool {
        self.deny.is_empty() && self.check_policy.is_none()
    }

    /// Checks a user's texts and their length; a checker may replace texts.
    ///
    /// # Errors
    /// Returns the errors of [`check_bounds`], `content_refused`, or `content_unchecked` without a verdict.
    pub async fn screen_input(
        &self,
        input: &mut (impl HasTexts + Send),
        owner: ContentOwner<'_>,
    ) -> Result<(), Failure> {
        check_bounds(input)?;
        self.screen_texts(Direction::In, input.texts(), owner).await?;
        check_bounds(input).map_err(|_| {
            let why = "the checker replaces a text by one that is too long";
            Failure::new(ErrorCode::ContentUnchecked, why)
        })
    }

    /// Checks a reply. A call with rejected content loses its arguments and states the reason.
    ///
    /// # Errors
    /// Returns `content_refused` for the reply's own words, `content_unchecked` without a verdict.
    pub async fn screen_reply(
        &self,
        reply: &mut Reply,
        offers: &[OfferedTool],
        owner: ContentOwner<'_>,
    ) -> Result<(), Failure> {
        if self.allows_all() {
            return Ok(());
        }
        let thoughts = reply.reasoning.as_ref().map(|reasoning| reasoning.text.clone());
        let ReplyTexts { message, calls } = reply_texts(reply);
        let message_check = self.screen_texts(Direction::Out, message, owner);
        let (message_check, refusals) =
            tokio::join!(message_check, self.screen_calls(calls, owner));
        message_check?;
        for (index, why) in refusals? {
            if let Some(call) = reply.calls.get_mut(index) {
                let is_known = offers.iter().any(|tool| tool.name == call.tool);
                refuse_call(call, &why, is_known);
            }
        }
        if let Some(reasoning) = &mut reply.reasoning
            && reasoning.signature.is_some()
            && thoughts.as_ref() != Some(&reasoning.text)
        {
            // Signed reasoning is returned to its model unchanged.
            reasoning.original = reasoning.original.take().or(thoughts);
        }
        Ok(())
    }

    /// Checks the text of a stopped reply; returns `None` if the text is rejected.
    pub async fn screen_partial(
        &self,
        mut partial: PartialMessage,
        owner: ContentOwner<'_>,
    ) -> Option<PartialMessage> {
        self.screen_texts(Direction::Out, partial.texts(), owner).await.ok().map(|()| partial)
    }

    /// Checks an error; empties the error's texts if these are rejected.
    pub async fn screen_error(&self, error: &mut (impl HasTexts + Send), owner: ContentOwner<'_>) {
        if self.screen_texts(Direction::Out, error.texts(), owner).await.is_err() {
            error.texts().into_iter().for_each(|text| text.replace_with(String::new()));
        }
    }

    async fn screen_texts(
        &self,
        direction: Direction,
        texts: Vec<ContentText<'_>>,
        owner: ContentOwner<'_>,
    ) -> Result<(), Failure> {
        self.check_deny_list(&texts).await?;
        self.ask_checker(direction, texts, owner).await
    }

    /// Returns the rejected calls by index, each with the reason.
    async fn screen_calls(
        &self,
        calls: Vec<Vec<ContentText<'_>>>,
        owner: ContentOwner<'_>,
    ) -> Result<BTreeMap<usize, Failure>, Failure> {
        let mut refusals = BTreeMap::new();
        let mut checked_indices = Vec::new();
        let mut texts = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            match self.check_deny_list(&call).await {
                Ok(()) => {
                    checked_indices.push(index);
                    texts.extend(call);
                }
                Err(why) => _ = refusals.insert(index, why),
            }
        }
        match self.ask_checker(Direction::Out, texts, owner).await {
            Ok(()) => {}
            Err(why) if why.code == ErrorCode::ContentRefused => {
                refusals.extend(checked_indices.into_iter().map(|index| (index, why.clone())));
            }
            Err(unchecked) => return Err(unchecked),
        }
        Ok(refusals)
    }

    /// Checks texts against the deny list.
    async fn check_deny_list(&self, texts: &[ContentText<'_>]) -> Result<(), Failure> {
        let mut bytes = 0;
        for text in texts {
            if self.denies_text(text.as_str()).await {
                return Err(Failure::from(ErrorCode::ContentRefused).with_field(text.field));
            }
            bytes += text.as_str().len();
            if bytes > SCAN_CHUNK_BYTES {
                bytes = 0;
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Returns true if a text contains a denied phrase. Yields between the chunks of a long text.
    async fn denies_text(&self, text: &str) -> bool {
        if self.deny.is_empty() {
            return false;
        }
        if text.len() <= SCAN_CHUNK_BYTES {
            return self.deny.is_match(text);
        }
        let mut gate = DenyFilter::new(self.deny.clone());
        let mut rest = text;
        while !rest.is_empty() && !gate.is_blocked() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(SCAN_CHUNK_BYTES));
            gate.push(piece);
            rest = behind;
            tokio::task::yield_now().await;
        }
        gate.finish();
        gate.is_blocked()
    }

    /// Asks the checker about all texts together.
    async fn ask_checker(
        &self,
        direction: Direction,
        texts: Vec<ContentText<'_>>,
        owner: ContentOwner<'_>,
    ) -> Result<(), Failure> {
        let Some(CheckPolicy { checker, fails_open }) = &self.check_policy else { return Ok(()) };
        let Some(first) = texts.first() else { return Ok(()) };
        let field = texts.iter().all(|text| text.field == first.field).then_some(first.field);
        let checked_texts: Vec<CheckedText<'_>> = texts
            .iter()
            .map(|text| CheckedText { field: text.field, text: text.as_str() })
            .collect();
        let verdict = checker.check(ContentCheck { direction, texts: &checked_texts, owner }).await;
        let count = checked_texts.len();
        drop(checked_texts);
        let about = |failure: Failure| match field {
            Some(field) => failure.with_field(field),
            None => failure,
        };
        let direction = direction.as_str();
        let run = owner.run.map(ToString::to_string);
        let error = match verdict {
            Ok(Verdict::Allow) => return Ok(()),
            Ok(Verdict::Refuse { reason }) => {
                tracing::info!(direction, run = run, "content refused");
                let reason = truncate_text(&reason, MAX_REASON);
                return Err(about(Failure::new(ErrorCode::ContentRefused, reason)));
            }
            Ok(Verdict::Replace { texts: others }) if others.len() == count => {
                for other in &others {
                    if self.denies_text(other).await {
                        return Err(about(ErrorCode::ContentRefused.into()));
                    }
                }
                if texts.iter().zip(&others).all(|(text, other)| text.can_become(other)) {
                    texts
                        .into_iter()
                        .zip(others)
                        .for_each(|(text, other)| text.replace_with(other));
                    tracing::info!(direction, run = run, "content replaced");
                    return Ok(());
                }
                CheckError("the checker replaces a name".to_owned())
            }
            Ok(Verdict::Replace { .. }) => {
                CheckError("the checker replaces other texts than it was asked about".to_owned())
            }
            Err(error) => error,
        };
        tracing::warn!(direction, run = run, %error, "content not checked");
        let failure = Failure::new(ErrorCode::ContentUnchecked, error.to_string());
        if *fails_open { Ok(()) } else { Err(about(failure)) }
    }
}
