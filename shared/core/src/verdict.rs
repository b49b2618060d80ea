//! Verdicts: an agent judges the answers of the agents that its file calls before its first turn.
//!
//! The judging agent sees each answer under a letter. The order of the letters depends on the run, so that no
//! agent of a file always has the first letter.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::ProductFile;
use crate::id::{ChildId, sha256_hex};
use crate::tool::{ToolArguments, ToolCall, ToolFailure, ToolOutput, ToolResult};
use djinn_text::truncate::truncate_text;

/// The tool with which an agent gives its verdict. The run itself answers the call.
pub const VERDICT_TOOL: &str = "give_verdict";

/// The choice of an agent that merges the answers instead of choosing an answer.
pub const MERGED: &str = "merged";

/// The highest score of an answer; the lowest score is 0.
pub const MAX_SCORE: u64 = 100;

/// Maximum bytes of the reason for a score.
const MAX_REASON: usize = 1_000;

/// Maximum characters of an answer that can be chosen unchanged.
pub const MAX_CANDIDATE: usize = 40_000;

/// The verdict of an agent on the answers of its ensemble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsembleVerdict {
    /// The child whose answer is the answer of the run. `None` if the agent merges the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ChildId>,
    /// The score of each answer, in the order of the letters.
    pub scores: Vec<Score>,
}

/// The score of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// The child with the answer.
    pub child: ChildId,
    /// The letter of the answer in the reasons.
    pub letter: char,
    /// The score, from 0 to [`MAX_SCORE`].
    pub score: u8,
    /// The reason for the score, at most 1 000 bytes.
    pub reason: String,
}

/// A short result that an answer is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The tool with the result, or the step of a plan.
    pub source: String,
    /// The beginning of the result.
    pub text: String,
}

/// An answer that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The child with the answer.
    pub child: ChildId,
    /// The answer, at most [`MAX_CANDIDATE`] characters.
    pub answer: String,
    /// The files that the child wrote, without internal files.
    pub files: Vec<ProductFile>,
    /// Short results that the answer is based on, oldest first.
    pub evidence: Vec<Evidence>,
}

/// The answers to judge, and the verdict on them.
#[derive(Debug, Clone, PartialEq)]
pub struct Ensemble {
    run_name: String,
    /// In the order of the letters.
    candidates: Vec<Candidate>,
    verdict: Option<EnsembleVerdict>,
}

impl Ensemble {
    /// Creates an ensemble without answers. `run_name` decides the order of the letters.
    #[must_use]
    pub fn new(run_name: String) -> Self {
        Self { run_name, candidates: Vec::new(), verdict: None }
    }

    /// Adds an answer. Blank answers cannot be chosen and receive no letter.
    pub fn add(&mut self, candidate: Candidate) {
        if candidate.answer.trim().is_empty() {
            return;
        }
        self.candidates.push(candidate);
        let run_name = &self.run_name;
        let rank = |candidate: &Candidate| {
            sha256_hex(format!("{run_name} {}", candidate.child).as_bytes())
        };
        self.candidates.sort_by_cached_key(rank);
    }

    /// Returns the answers with their letters, in the order of the letters.
    pub fn candidates(&self) -> impl Iterator<Item = (char, &Candidate)> {
        ('A'..='Z').zip(&self.candidates)
    }

    /// Returns true if there are answers without a verdict.
    #[must_use]
    pub fn needs_verdict(&self) -> bool {
        !self.candidates.is_empty() && self.verdict.is_none()
    }

    /// Returns the verdict, if it is given.
    #[must_use]
    pub fn verdict(&self) -> Option<&EnsembleVerdict> {
        self.verdict.as_ref()
    }

    /// Returns the answer that the verdict chooses.
    #[must_use]
    pub fn chosen(&self) -> Option<&Candidate> {
        let chosen = self.verdict.as_ref()?.chosen.as_ref()?;
        self.candidates.iter().find(|candidate| candidate.child == *chosen)
    }

    /// Forgets the verdict, so that the agent can give another.
    pub fn void_verdict(&mut self) {
        self.verdict = None;
    }

    /// Answers a call of [`VERDICT_TOOL`]; returns `None` for other calls. A second verdict fails.
    pub fn judge(&mut self, call: &ToolCall) -> Option<ToolResult> {
        let failure = |reason, detail: String| Some(ToolResult::Failed { reason, detail });
        if call.tool != VERDICT_TOOL {
            return None;
        }
        if self.verdict.is_some() {
            return failure(ToolFailure::TooMany, "1".to_owned());
        }
        let no_arguments = Map::new();
        let arguments = match &call.arguments {
            ToolArguments::Parsed(arguments) => arguments,
            ToolArguments::Malformed { .. } => &no_arguments,
        };
        match self.read_verdict(arguments) {
            Ok((choice, verdict)) => {
                self.verdict = Some(verdict);
                Some(ToolResult::Done(ToolOutput::from_text(choice)))
            }
            Err(problem) => failure(ToolFailure::BadArguments, problem),
        }
    }

    /// Returns the choice and the verdict in the arguments of a call, or the problem of the arguments.
    fn read_verdict(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<(String, EnsembleVerdict), String> {
        if self.candidates.is_empty() {
            return Err("there is no answer to judge".to_owned());
        }
        let choice = arguments.get("choice").and_then(Value::as_str).unwrap_or_default().trim();
        let choices: Vec<String> = self
            .candidates()
            .map(|(letter, _)| letter.to_string())
            .chain([MERGED.to_owned()])
            .collect();
        let choice = choices
            .iter()
            .find(|known| known.eq_ignore_ascii_case(choice))
            .ok_or_else(|| format!("`choice` must be one of {}", choices.join(", ")))?;
        let empty = Vec::new();
        let given = arguments.get("scores").and_then(Value::as_array).unwrap_or(&empty);
        let scores =
            self.candidates().map(|(letter, candidate)| read_score(letter, candidate, given));
        let scores = scores.collect::<Result<Vec<_>, _>>()?;
        let mut of_choice = self.candidates().filter(|(letter, _)| letter.to_string() == *choice);
        let chosen = of_choice.next().map(|(_, candidate)| candidate.child.clone());
        Ok((choice.clone(), EnsembleVerdict { chosen, scores }))
    }
}

/// Returns the score of an answer among the given scores, or the problem of the scores.
fn read_score(letter: char, candidate: &Candidate, given: &[Value]) -> Result<Score, String> {
    let is_of_letter = |score: &&Value| {
        let own = score.get("letter").and_then(Value::as_str).unwrap_or_default().trim();
        own.eq_ignore_ascii_case(letter.encode_utf8(&mut [0; 4]))
    };
    let problem = || {
        format!(
            "`scores` must have a `score` from 0 to {MAX_SCORE} and a `reason` for the letter {letter}"
        )
    };
    let entry = given.iter().find(is_of_letter).ok_or_else(problem)?;
    let number = entry.get("score").and_then(Value::as_u64).filter(|score| *score <= MAX_SCORE);
    let score = number.and_then(|score| u8::try_from(score).ok()).ok_or_else(problem)?;
    let reason = entry.get("reason").and_then(Value::as_str).map(str::trim);
    let reason = reason.filter(|reason| !reason.is_empty()).ok_or_else(problem)?;
    let reason = truncate_text(reason, MAX_REASON);
    Ok(Score { child: candidate.child.clone(), letter, score, reason })
}

#[cfg(test)]
mod tests;
