use super::*;
use proptest::prelude::*;

fn scan(pieces: &[&str], cut: bool) -> (String, Vec<String>) {
    let mut fences = FenceScanner::default();
    let mut text = String::new();
    for piece in pieces {
        fences.push(piece, &mut |piece| text.push_str(piece));
    }
    let calls = fences.into_calls(cut, &mut |piece| text.push_str(piece));
    let calls = calls
        .into_iter()
        .map(|call| match call.arguments {
            ToolArguments::Parsed(object) => format!("{} {}", call.tool, Value::Object(object)),
            ToolArguments::Malformed { problem, .. } => format!("{} {problem:?}", call.tool),
        })
        .collect();
    (text, calls)
}

#[track_caller]
fn check(given: &str, text: &str, calls: &[&str]) {
    let calls: Vec<_> = calls.iter().map(|call| (*call).to_owned()).collect();
    assert_eq!(scan(&[given], false), (text.to_owned(), calls));
}

#[test]
fn blocks_with_a_function_name_are_calls_and_hide_what_follows() {
    check(
        "I look.\n\n```json\n{\"function_name\": \"f\", \"a\": 1}\n```\nand\n```json\n{\"function_name\": \"g\"}\n```\n",
        "I look.",
        &["f {\"a\":1}", "g {}"],
    );
    check("```json{\"function_name\":\"f\"}```", "", &["f {}"]);
    check("x ```JSON\n{'function_name': 'f', }\n```", "x", &["f {}"]);
    check(
        "```json\n{\"function_name\": \"f\", \"arguments\": {\"a\": 1}}\n```",
        "",
        &["f {\"a\":1}"],
    );
    check(
        "```json\n{\"function_name\": \"f\", \"md\": \"```json x```\"}\n```",
        "",
        &["f {\"md\":\"```json x```\"}"],
    );
}

#[test]
fn other_blocks_are_text() {
    for text in [
        "An example:\n```json\n{\"a\": 1}\n```\nThat is all.",
        "```python\nprint()\n```\n",
        "```json\nnot json\n```\nmore",
        "```jsonc\n{\"function_name\": \"f\"}\n```",
        "a `b` ``c`` ```",
        "``",
        "ends with spaces  \n",
    ] {
        check(text, text, &[]);
    }
    check(
        "```json\n{\"a\": 1}\n```\nnow\n```json\n{\"function_name\": \"f\"}\n```",
        "```json\n{\"a\": 1}\n```\nnow",
        &["f {}"],
    );
}

#[test]
fn a_block_that_cannot_be_read_is_a_call_that_says_so() {
    check("```json\n{\"function_name\": \"f\", \"a\": oops}\n```", "", &["f NotJson"]);
    let open = "go\n```json\n{\"function_name\": \"f\", \"a\": \"b";
    assert_eq!(scan(&[open], true).1, ["f CutOff"]);
    assert_eq!(scan(&[open], false).1, ["f NotJson"]);
    // A whole object whose fence was not closed.
    check("```json\n{\"function_name\": \"f\", \"a\": 2}", "", &["f {\"a\":2}"]);
    check("```json\n{\"a\": 2", "```json\n{\"a\": 2", &[]);
}

#[test]
fn past_calls_are_written_as_the_model_would() {
    let call = PastCall {
        id: djinn_core::id::CallId::new("t1.c1").unwrap(),
        tool: "f".to_owned(),
        arguments: Map::from_iter([("a".to_owned(), json!(1))]),
    };
    let reply = format_past_reply("I look.\n", &[call.clone(), call.clone()]);
    let block = "```json\n{\"function_name\":\"f\",\"a\":1}\n```";
    assert_eq!(reply, format!("I look.\n\n{block}\n\n{block}"));
    let (text, calls) = scan(&[&reply], false);
    assert_eq!(text, "I look.");
    assert_eq!(calls, ["f {\"a\":1}"; 2]);
    assert_eq!(format_past_reply("", &[call]), block);
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_and_no_fence_is_shown_before_a_call(
        text in "(\n| |```|```json|`|json|\\{\"function_name\":\"f\"\\}|\\{\"a\":1\\}|a|界){0,14}",
        cuts in proptest::collection::vec(0usize..90, 0..8),
    ) {
        let mut at: Vec<usize> =
            cuts.into_iter().filter(|c| text.is_char_boundary(*c)).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let pieces: Vec<&str> = at.windows(2).map(|w| &text[w[0]..w[1]]).collect();
        let whole = scan(&[&text], false);
        prop_assert_eq!(&scan(&pieces, false), &whole);
        if whole.1.is_empty() {
            prop_assert_eq!(&whole.0, &text);
        } else {
            prop_assert!(text.starts_with(&whole.0));
        }
    }
}
