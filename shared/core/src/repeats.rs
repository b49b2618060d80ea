//! Detection of repeated calls with the same tool, arguments and result.

use std::collections::VecDeque;

use crate::id::sha256_hex;
use crate::tool::{ResultView, ToolArguments, ToolCall, ToolOutput, ToolResult, canonical_json};

/// The number of newest calls that are searched for repeats.
const WINDOW: usize = 12;

/// The number of equal calls in the window that counts as a repeat.
const MIN_REPEATS: usize = 3;

/// The newest calls with their results, and whether the model received a hint about repeats.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RepeatDetector {
    recent_calls: VecDeque<String>,
    has_hinted: bool,
}

/// The result of a turn's check for repeats.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// The turn repeats no earlier result.
    None,
    /// The model must receive a hint, once.
    Hint,
    /// The model repeats calls of this tool despite the hint.
    Persists(String),
}

impl RepeatDetector {
    /// Records the calls of a complete turn. A hint is valid until the repeated call has left the window.
    pub(crate) fn observe_calls(&mut self, calls: &[(ToolCall, ToolResult)]) -> Repetition {
        let mut repeated_tool = None;
        for (call, outcome) in calls {
            self.recent_calls.push_back(call_signature(call, outcome));
            if self.recent_calls.len() > WINDOW {
                self.recent_calls.pop_front();
            }
            if self.recent_calls.back().is_some_and(|newest| self.is_repeated(newest)) {
                repeated_tool = Some(call.tool.clone());
            }
        }
        self.has_hinted &= self.recent_calls.iter().any(|signature| self.is_repeated(signature));
        match repeated_tool {
            None => Repetition::None,
            Some(tool) if self.has_hinted => Repetition::Persists(tool),
            Some(_) => {
                self.has_hinted = true;
                Repetition::Hint
            }
        }
    }

    /// Discards the hint, so that the model receives another hint before repeats end the work.
    pub(crate) fn forget_hint(&mut self) {
        self.has_hinted = false;
    }

    fn is_repeated(&self, signature: &String) -> bool {
        self.recent_calls.iter().filter(|other| *other == signature).count() >= MIN_REPEATS
    }
}

/// Returns a text that is equal for calls with the same tool, arguments and result.
fn call_signature(call: &ToolCall, outcome: &ToolResult) -> String {
    let arguments = match &call.arguments {
        ToolArguments::Parsed(arguments) => {
            canonical_json(&serde_json::Value::Object(arguments.clone()))
        }
        ToolArguments::Malformed { raw, .. } => raw.clone(),
    };
    // The text of a long result is a part and its length; the file with the whole result has a unique name.
    let result = match outcome {
        ToolResult::Done(ToolOutput { view: ResultView::Plan { plan }, .. }) => {
            serde_json::to_string(plan).unwrap_or_default()
        }
        ToolResult::Done(ToolOutput { text, full_output: whole, .. }) => {
            format!("{:?} {text}", whole.as_ref().map(|whole| whole.characters))
        }
        ToolResult::Failed { reason, detail } => format!("{} {detail}", reason.as_str()),
        ToolResult::PlanRefused { error } => format!("plan_refused {error}"),
    };
    sha256_hex(format!("{}\n{arguments}\n{result}", call.tool).as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::id::{CallId, MessageId};

    fn turn(calls: &[(&str, &str)]) -> Vec<(ToolCall, ToolResult)> {
        let call = |(tool, result): &(&str, &str)| {
            let arguments = json!({"of": tool}).as_object().cloned().unwrap_or_default();
            let call = ToolCall {
                id: CallId::nth_of(&MessageId::for_turn(1), 1),
                tool: (*tool).to_owned(),
                arguments: ToolArguments::Parsed(arguments),
                edit_comment: None,
            };
            (call, ToolResult::Done(ToolOutput::from_text(*result)))
        };
        calls.iter().map(call).collect()
    }

    /// What each of these turns shows: `.` nothing, `?` a hint, `!` the end.
    fn shown(turns: &[&[(&str, &str)]]) -> String {
        let mut repeats = RepeatDetector::default();
        let show = |calls: &&[(&str, &str)]| match repeats.observe_calls(&turn(calls)) {
            Repetition::None => '.',
            Repetition::Hint => '?',
            Repetition::Persists(_) => '!',
        };
        turns.iter().map(show).collect()
    }

    #[test]
    fn a_repeat_is_told_once_and_then_is_the_end() {
        let (a, b): (&[_], &[_]) = (&[("a", "1")], &[("b", "2")]);
        assert_eq!(shown(&[a, a, a, a]), "..?!");
        assert_eq!(shown(&[a, b, a, b, a, b]), "....?!");
        assert_eq!(shown(&[a, b, a, b, a, &[("c", "3")], a]), "....?.!");
        // Several in one reply are one turn.
        assert_eq!(shown(&[&[("a", "1"), ("a", "1"), ("a", "1")], a]), "?!");
    }

    #[test]
    fn another_result_is_no_repeat() {
        let texts: Vec<String> = (0..20).map(|nth| format!("{nth} %")).collect();
        let turns: Vec<[(&str, &str); 1]> =
            texts.iter().map(|text| [("a", text.as_str())]).collect();
        let turns: Vec<&[(&str, &str)]> = turns.iter().map(<[_; 1]>::as_slice).collect();
        assert_eq!(shown(&turns), ".".repeat(20));
    }

    #[test]
    fn an_old_result_is_no_repeat_and_a_later_repeat_is_hinted_at_anew() {
        let names: Vec<String> = (0..12).map(|nth| format!("n{nth}")).collect();
        let others: Vec<[(&str, &str); 1]> =
            names.iter().map(|name| [(name.as_str(), "")]).collect();
        let others: Vec<&[(&str, &str)]> = others.iter().map(<[_; 1]>::as_slice).collect();
        let a: &[_] = &[("a", "1")];
        let turns = [&[a, a], others.as_slice(), &[a]].concat();
        assert_eq!(shown(&turns), ".".repeat(15));
        let turns = [&[a, a, a], others.as_slice(), &[a, a, a]].concat();
        assert_eq!(shown(&turns), format!("..?{}..?", ".".repeat(12)));
    }
}
