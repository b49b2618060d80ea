//! What a deployment lets in and out: denied phrases, and the verdict of a checker of its own.

use std::sync::Arc;

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::deny::DenyList;
use djinn_core::feedback::Answer;
use djinn_core::input::Reply;
use djinn_core::tool::Arguments;
use serde_json::{Map, Value};

use crate::port::checker::{Check, Checker, Verdict};
use crate::prompt::cut;

/// Characters of a checker's reason.
const MAX_REASON: usize = 300;

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
    /// Whether a text passes about which it gives no verdict.
    pub fails_open: bool,
}

impl Content {
    /// Whether everything passes.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.deny.is_empty() && self.checks.is_none()
    }

    /// Lets a text in or out: what passes, which a checker may have replaced.
    ///
    /// # Errors
    /// `content_refused`, or `content_unchecked` without a verdict.
    pub async fn pass(&self, check: Check<'_>) -> Result<Option<String>, Failure> {
        self.allow(check.text)?;
        let Some(Checks { checker, fails_open }) = &self.checks else { return Ok(None) };
        let direction = check.direction.as_str();
        match checker.check(check).await {
            Ok(Verdict::Allow) => Ok(None),
            Ok(Verdict::Replace { text }) => {
                self.allow(&text)?;
                tracing::info!(direction, run_id = %check.run, "content replaced");
                Ok(Some(text))
            }
            Ok(Verdict::Refuse { reason }) => {
                tracing::info!(direction, run_id = %check.run, "content refused");
                Err(Failure::new(ErrorCode::ContentRefused, cut(&reason, MAX_REASON)))
            }
            Err(error) => {
                tracing::warn!(direction, run_id = %check.run, %error, "content not checked");
                let failure = Failure::new(ErrorCode::ContentUnchecked, error.to_string());
                if *fails_open { Ok(None) } else { Err(failure) }
            }
        }
    }

    /// Lets a text through that holds no denied phrase.
    ///
    /// # Errors
    /// `content_refused`.
    pub fn allow(&self, text: &str) -> Result<(), Failure> {
        if self.deny.denies(text) { Err(ErrorCode::ContentRefused.into()) } else { Ok(()) }
    }

    /// Lets a reply through that holds no denied phrase in anything that viewers are shown of it.
    ///
    /// # Errors
    /// `content_refused`.
    pub fn allow_reply(&self, reply: &Reply) -> Result<(), Failure> {
        if self.deny.is_empty() {
            return Ok(());
        }
        self.allow(&reply.text)?;
        reply.reasoning.iter().try_for_each(|reasoning| self.allow(&reasoning.text))?;
        reply.calls.iter().try_for_each(|call| match &call.arguments {
            Arguments::Parsed(members) => self.allow_members(members),
            Arguments::Malformed { raw, .. } => self.allow(raw),
        })
    }

    /// Lets a person's answer in that holds no denied phrase.
    ///
    /// # Errors
    /// `content_refused`.
    pub fn allow_answer(&self, answer: &Answer) -> Result<(), Failure> {
        match answer {
            Answer::Modify { arguments } => self.allow_members(arguments),
            Answer::Say { words } => self.allow(words),
            Answer::Confirm | Answer::Skip | Answer::Stop => Ok(()),
        }
    }

    fn allow_members(&self, members: &Map<String, Value>) -> Result<(), Failure> {
        members.iter().try_for_each(|(name, value)| {
            self.allow(name)?;
            self.allow_value(value)
        })
    }

    fn allow_value(&self, value: &Value) -> Result<(), Failure> {
        match value {
            Value::String(text) => self.allow(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.allow_value(item)),
            Value::Object(members) => self.allow_members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
}
