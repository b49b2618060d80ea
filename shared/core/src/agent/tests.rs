//! The tool choice of each turn, as a table.

use serde_json::json;

use super::*;

fn agent(rule: ToolChoiceRule) -> AgentSpec {
    let file = json!({
        "name": "helper", "description": "Helps.", "prompt": "Help.", "parameters": {},
        "tools": ["read"], "model": "executor", "max_steps": 5,
    });
    AgentSpec { tool_choice: rule, ..serde_json::from_value(file).unwrap() }
}

/// The choice in this turn, with so many turns left, after a result or without one.
fn choice(agent: &AgentSpec, turn: u32, steps_left: u32, has_result: bool) -> ToolChoice {
    let state = TurnState { turn, steps_left, has_result, has_closing_call: false };
    agent.tool_choice(state)
}

#[test]
fn tool_choice_of_each_rule_and_turn() {
    use ToolChoice::{Auto, None, Required};
    // The columns: the first turn, a turn without a result, a turn after a result, and the last turn.
    let table = [
        (ToolChoiceRule::Auto, [Auto, Auto, Auto, None]),
        (ToolChoiceRule::Required, [Required, Required, Required, None]),
        (ToolChoiceRule::None, [None, None, None, None]),
        (ToolChoiceRule::Smart, [Required, Required, Auto, None]),
    ];
    for (rule, expected) in table {
        let agent = agent(rule);
        let found = [
            choice(&agent, 1, 5, false),
            choice(&agent, 2, 4, false),
            choice(&agent, 3, 3, true),
            choice(&agent, 5, 1, false),
        ];
        assert_eq!(found, expected, "{rule:?}");
        let bare = AgentSpec { tools: Vec::new(), ..agent };
        assert_eq!(choice(&bare, 1, 5, false), None, "{rule:?} without tools");
    }
}

#[test]
fn smart_choice_requires_the_tool_that_gives_the_answer() {
    let agent = AgentSpec { stop_at: vec!["read".to_owned()], ..agent(ToolChoiceRule::Smart) };
    assert_eq!(choice(&agent, 3, 3, true), ToolChoice::Required);
    assert_eq!(choice(&agent, 5, 1, true), ToolChoice::None);
}

#[test]
fn first_tool_precedes_the_rule() {
    let first_tool = Some("read".to_owned());
    for rule in [ToolChoiceRule::Auto, ToolChoiceRule::Required, ToolChoiceRule::Smart] {
        let agent = AgentSpec { first_tool: first_tool.clone(), ..agent(rule) };
        assert_eq!(choice(&agent, 1, 5, false), ToolChoice::Named("read".to_owned()), "{rule:?}");
    }
}

#[test]
fn last_turn_before_a_closing_call_is_free() {
    let last = TurnState { turn: 5, steps_left: 1, has_result: false, has_closing_call: true };
    for (rule, expected) in [
        (ToolChoiceRule::Auto, ToolChoice::Auto),
        (ToolChoiceRule::Required, ToolChoice::Auto),
        (ToolChoiceRule::Smart, ToolChoice::Auto),
        (ToolChoiceRule::None, ToolChoice::None),
    ] {
        assert_eq!(agent(rule).tool_choice(last), expected, "{rule:?}");
    }
}

#[test]
fn file_without_the_keys_is_stored_without_them() {
    let stored = serde_json::to_value(agent(ToolChoiceRule::Auto)).unwrap();
    assert!(stored.get("tool_choice").is_none() && stored.get("stop_at").is_none());
    let stored = serde_json::to_value(agent(ToolChoiceRule::Smart)).unwrap();
    assert_eq!(stored["tool_choice"], "smart");
}
