use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::id::{CallId, MessageId};

fn candidate(index: u32, answer: &str) -> Candidate {
    Candidate {
        child: ChildId::CallBefore { turn: None, index },
        answer: answer.to_owned(),
        files: Vec::new(),
        evidence: Vec::new(),
    }
}

fn ensemble(run_name: &str, order_of_ends: &[u32]) -> Ensemble {
    let mut ensemble = Ensemble::new(run_name.to_owned());
    order_of_ends.iter().for_each(|index| ensemble.add(candidate(*index, "42")));
    ensemble
}

/// The children in the order of their letters.
fn letters(ensemble: &Ensemble) -> String {
    let pairs = ensemble.candidates().map(|(letter, own)| format!("{letter}={}", own.child));
    pairs.collect::<Vec<_>>().join(" ")
}

#[test]
fn letters_depend_on_the_run_and_not_on_the_file_or_on_the_time_of_an_end() {
    let ends = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
    for nth in 0..50 {
        let name = format!("s1/r{nth}/");
        let orders: BTreeSet<String> =
            ends.iter().map(|order| letters(&ensemble(&name, order))).collect();
        assert_eq!(orders.len(), 1, "{name}: {orders:?}");
    }
    let first = |nth: u32| letters(&ensemble(&format!("s1/r{nth}/"), &[1, 2, 3]));
    let orders: Vec<String> = (0..600).map(first).collect();
    for index in 1..=3 {
        let is_first = |order: &&String| order.starts_with(&format!("A=before.c{index}"));
        let count = orders.iter().filter(is_first).count();
        assert!((150..250).contains(&count), "child {index} is first in {count} of 600 runs");
    }
    let different: BTreeSet<&String> = orders.iter().collect();
    assert_eq!(different.len(), 6, "every order exists");
}

#[test]
fn blank_answers_have_no_letter() {
    let mut ensemble = ensemble("s1/r1/", &[2]);
    ensemble.add(candidate(1, " \n"));
    assert_eq!(letters(&ensemble), "A=before.c2");
}

fn judge(ensemble: &mut Ensemble, arguments: &Value) -> Option<ToolResult> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    ensemble.judge(&ToolCall {
        id: CallId::nth_of(&MessageId::for_turn(1), 1),
        tool: VERDICT_TOOL.to_owned(),
        arguments: ToolArguments::Parsed(arguments),
        edit_comment: None,
    })
}

#[test]
fn verdicts_are_read_as_this_table_says() {
    let score =
        |letter: &str, score: Value| json!({"letter": letter, "score": score, "reason": "why"});
    let both = json!([score("B", json!(0)), score("a", json!(100))]);
    let scores_of_a = "`scores` must have a `score` from 0 to 100 and a `reason` for the letter A";
    let scores_of_b = "`scores` must have a `score` from 0 to 100 and a `reason` for the letter B";
    let choices = "`choice` must be one of A, B, merged";
    let cases = [
        (json!({"choice": "A", "scores": both}), Ok("A")),
        (json!({"choice": " b ", "scores": both}), Ok("B")),
        (json!({"choice": "Merged", "scores": both}), Ok("merged")),
        (json!({"choice": "C", "scores": both}), Err(choices)),
        (json!({"choice": "", "scores": both}), Err(choices)),
        (json!({"choice": 1, "scores": both}), Err(choices)),
        (json!({}), Err(choices)),
        (json!({"choice": "A"}), Err(scores_of_a)),
        (json!({"choice": "A", "scores": {"A": 1}}), Err(scores_of_a)),
        (json!({"choice": "A", "scores": [score("A", json!(1))]}), Err(scores_of_b)),
        (
            json!({"choice": "A", "scores": [score("A", json!(101)), score("B", json!(1))]}),
            Err(scores_of_a),
        ),
        (
            json!({"choice": "A", "scores": [score("A", json!(-1)), score("B", json!(1))]}),
            Err(scores_of_a),
        ),
        (
            json!({"choice": "A", "scores": [score("A", json!("9")), score("B", json!(1))]}),
            Err(scores_of_a),
        ),
        (
            json!({"choice": "A", "scores": [{"letter": "A", "score": 9, "reason": " "}]}),
            Err(scores_of_a),
        ),
    ];
    for (arguments, expected) in cases {
        let mut ensemble = ensemble("s1/r1/", &[1, 2]);
        let result = judge(&mut ensemble, &arguments).unwrap();
        let read = match &result {
            ToolResult::Done(output) => Ok(output.text.as_str()),
            ToolResult::Failed { reason: ToolFailure::BadArguments, detail } => {
                Err(detail.as_str())
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(read, expected, "{arguments}");
        assert_eq!(ensemble.verdict().is_some(), expected.is_ok());
        assert_eq!(ensemble.needs_verdict(), expected.is_err());
    }
}

#[test]
fn a_verdict_names_the_chosen_child_and_each_score_once() {
    let mut ensemble = ensemble("s1/r1/", &[1, 2]);
    let long = "é".repeat(2_000);
    let scores = json!([
        {"letter": "A", "score": 70, "reason": "complete"},
        {"letter": "B", "score": 30, "reason": long},
    ]);
    judge(&mut ensemble, &json!({"choice": "A", "scores": scores})).unwrap();
    let first = ensemble.candidates().next().unwrap().1.child.clone();
    assert_eq!(ensemble.chosen().unwrap().child, first);
    let verdict = ensemble.verdict().unwrap();
    let pairs: Vec<_> = verdict.scores.iter().map(|own| (own.letter, own.score)).collect();
    assert_eq!((&verdict.chosen, pairs), (&Some(first), vec![('A', 70), ('B', 30)]));
    assert_eq!(verdict.scores[1].reason.len(), 1_000);
}

#[test]
fn one_verdict_is_given_and_another_tool_is_not_answered() {
    let mut ensemble = ensemble("s1/r1/", &[1]);
    let verdict =
        json!({"choice": "merged", "scores": [{"letter": "A", "score": 5, "reason": "x"}]});
    assert!(matches!(judge(&mut ensemble, &verdict), Some(ToolResult::Done(_))));
    assert_eq!(ensemble.chosen(), None, "a merged answer is the agent's own");
    let again = judge(&mut ensemble, &verdict);
    assert!(matches!(again, Some(ToolResult::Failed { reason: ToolFailure::TooMany, .. })));
    ensemble.void_verdict();
    assert!(matches!(judge(&mut ensemble, &verdict), Some(ToolResult::Done(_))));
    let other = ToolCall {
        id: CallId::nth_of(&MessageId::for_turn(1), 1),
        tool: "look".to_owned(),
        arguments: ToolArguments::Parsed(Map::new()),
        edit_comment: None,
    };
    assert_eq!(ensemble.judge(&other), None);
}

#[test]
fn without_answers_there_is_nothing_to_judge() {
    let mut ensemble = ensemble("s1/r1/", &[]);
    assert!(!ensemble.needs_verdict());
    let result = judge(&mut ensemble, &json!({"choice": "A", "scores": []}));
    assert!(matches!(result, Some(ToolResult::Failed { .. })));
}
