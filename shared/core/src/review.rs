//! Reviews: an agent judges the answer of a run before the answer is final.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::workflow::parse_result;

/// The argument of a reviewer with the question.
pub const QUESTION_ARGUMENT: &str = "question";

/// The answer field of a reviewer with the judgement: `accept`, or true.
pub const VERDICT_FIELD: &str = "verdict";

/// The answer field of a reviewer with the faults of the answer.
pub const PROBLEMS_FIELD: &str = "problems";

/// The answer field of a reviewer with the missing parts of the answer.
pub const MISSING_FIELD: &str = "missing";

/// The verdict of a reviewer that accepts an answer.
pub const ACCEPT: &str = "accept";

/// The highest value for the rounds of a review.
pub const MAX_ROUNDS: u32 = 3;

/// Maximum entries in each list of a verdict, and bytes of an entry.
const MAX_ENTRIES: usize = 20;
const MAX_ENTRY: usize = 2_000;

/// The review of a run's answers: the key `review` of an agent file, or the field of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewPolicy {
    /// The name of the reviewer, an agent.
    pub agent: String,
    /// Maximum revisions of an answer, 0-3. With 0 there is no review.
    pub rounds: u32,
}

/// The judgement of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewVerdict {
    /// True if the answer can be final.
    pub accepted: bool,
    /// The faults of the answer, most serious first.
    pub problems: Vec<String>,
    /// The parts of the question without an answer.
    pub missing: Vec<String>,
}

impl ReviewVerdict {
    /// Parses the answer of a reviewer. `None` for a text without a verdict.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let value = parse_result(text);
        let accepted = match value.get(VERDICT_FIELD)? {
            Value::Bool(accepted) => *accepted,
            Value::String(word) => word.trim() == ACCEPT,
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        let problems = list_texts(value.get(PROBLEMS_FIELD));
        let missing = list_texts(value.get(MISSING_FIELD));
        Some(Self { accepted, problems, missing })
    }
}

fn list_texts(list: Option<&Value>) -> Vec<String> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    let texts = entries.filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    texts
        .take(MAX_ENTRIES)
        .map(|text| djinn_text::truncate::truncate_text(text, MAX_ENTRY))
        .collect()
}

/// The result of the review of a final answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReviewOutcome {
    /// The reviewer accepted the answer.
    Accepted,
    /// The reviewer did not accept the answer, and no further round or no better answer followed.
    NotAccepted,
    /// The answer was not judged: the reviewer failed, or the budget was used up.
    NotReviewed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(bool, Vec<String>, Vec<String>)> {
        ReviewVerdict::parse(text).map(|read| (read.accepted, read.problems, read.missing))
    }

    #[test]
    fn a_verdict_is_read_from_words_and_flags() {
        let none = Vec::<String>::new;
        assert_eq!(parse(r#"{"verdict": "accept"}"#), Some((true, none(), none())));
        assert_eq!(parse(r#"{"verdict": true, "problems": []}"#), Some((true, none(), none())));
        let fenced = "```json\n{\"verdict\": \"revise\", \"problems\": [\" a \", \"\", 7], \"missing\": [\"b\"]}\n```";
        assert_eq!(parse(fenced), Some((false, vec!["a".to_owned()], vec!["b".to_owned()])));
        assert_eq!(parse(r#"{"verdict": "Accepted"}"#), Some((false, none(), none())));
        for text in ["", "accept", "[]", "{}", r#"{"verdict": 1}"#, r#"{"verdict": "accept""#] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_verdict_is_cut_to_its_limits() {
        let problems: Vec<_> = (0..30).map(|_| "x".repeat(3_000)).collect();
        let text = serde_json::json!({"verdict": false, "problems": problems}).to_string();
        let (accepted, problems, _) = parse(&text).unwrap();
        assert!(!accepted);
        assert_eq!((problems.len(), problems[0].len()), (MAX_ENTRIES, MAX_ENTRY));
    }
}
