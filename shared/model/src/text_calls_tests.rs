use std::collections::BTreeMap;

use djinn_core::tool::{EffectClass, ToolPolicy};
use serde_json::{Value, json};

use super::*;

fn tool() -> ToolSpec {
    let properties = json!({"command": {"type": "string"}, "filename": {"type": "string"}, "lines": {"type": "integer"}});
    let schema = json!({"type": "object", "properties": properties});
    ToolSpec {
        name: "file_tool".to_owned(),
        description: String::new(),
        schema,
        effect: EffectClass::Read,
        policy: ToolPolicy::default(),
        timeout_ms: 1_000,
        visible: false,
    }
}

/// The text and the calls of a reply that arrives in pieces of so many characters.
fn scan(text: &str, size: usize) -> (String, Vec<RequestedCall>) {
    let tools = [tool()];
    let names = ToolNames::new(tools.iter().map(|tool| tool.name.as_str()));
    let mut scanner = TextCallScanner::default();
    let mut told = String::new();
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(size) {
        let piece: String = piece.iter().collect();
        scanner.push(&piece, &mut |text| told.push_str(text));
    }
    let calls = scanner.into_calls(&tools, &names, &mut |text| told.push_str(text));
    (told, calls)
}

#[test]
fn calls_that_are_written_as_text_are_made_in_each_dialect_however_they_arrive() {
    let cases = include_str!("../../../tests/corpora/calls-as-text.json");
    let cases: BTreeMap<String, String> = serde_json::from_str(cases).unwrap();
    let wanted = json!({"command": "get", "filename": "sales.csv"});
    assert_eq!(cases.len(), 10);
    for (name, text) in &cases {
        for size in [1, 3, 7, 10_000] {
            let (told, calls) = scan(text, size);
            let [RequestedCall { tool, arguments: ToolArguments::Parsed(arguments), .. }] =
                &calls[..]
            else {
                panic!("{name} in pieces of {size}: {told:?} {calls:?}")
            };
            assert_eq!((tool.as_str(), &Value::Object(arguments.clone())), ("file_tool", &wanted));
            let before = if name == "T1" { "我先读文件。" } else { "" };
            assert_eq!(told.trim_end(), before, "{name} in pieces of {size}");
        }
    }
}

#[test]
fn parameters_are_of_the_type_that_the_tool_wants() {
    let text = "<function=file_tool><parameter=filename>2024</parameter><parameter=lines>3</parameter></function>";
    let (_, calls) = scan(text, 5);
    let arguments = json!({"filename": "2024", "lines": 3});
    assert_eq!(
        json!(calls[0].arguments),
        json!(ToolArguments::Parsed(arguments.as_object().unwrap().clone()))
    );
}

#[test]
fn what_cannot_be_read_is_told_to_the_model_and_what_is_no_call_is_text() {
    let (told, calls) = scan("<tool_call>{\"name\": \"file_tool\", \"arguments\": {\"command\"", 4);
    assert_eq!(told, "");
    assert!(matches!(
        &calls[..],
        [RequestedCall { arguments: ToolArguments::Malformed { .. }, .. }]
    ));
    for text in [
        "A plain answer.",
        "{\"total\": 3}",
        "{\"name\": \"Anna\", \"age\": 3}",
        "{\"name\": \"other_tool\", \"arguments\": {}}",
        "Hermes models write `<tool_call>` before a call.",
        "a < b and [TOOL",
        "<function",
        "{",
        "x <|im_start|> y",
    ] {
        for size in [1, 4, 100] {
            assert_eq!(scan(text, size), (text.to_owned(), vec![]), "{text}");
        }
    }
}

#[test]
fn marks_that_end_a_turn_are_dropped() {
    for (text, told) in [
        ("Done.<｜end▁of▁sentence｜>", "Done."),
        ("Done.<|im_end|>", "Done."),
        ("Done. <|im_end|>\n<|endoftext|>", "Done."),
        ("One<｜end▁of▁sentence｜> two", "One two"),
        (
            "Qwen ends turns with <|im_end|>, Llama with <|eot_id|>.",
            "Qwen ends turns with <|im_end|>, Llama with <|eot_id|>.",
        ),
    ] {
        for size in [1, 4, 100] {
            assert_eq!(scan(text, size).0.trim_end(), told, "in pieces of {size}");
        }
    }
}

#[test]
fn each_mark_starts_with_a_character_that_a_text_is_searched_for() {
    for mark in [CALL_MARKS, END_MARKS, TRAILING_MARKS].concat() {
        assert!(mark.starts_with(MARK_STARTS), "{mark}");
    }
}
