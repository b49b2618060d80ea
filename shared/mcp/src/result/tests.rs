use proptest::prelude::*;
use serde_json::json;

use super::*;

fn text_of(result: Value) -> String {
    read_result(result).unwrap().text
}

#[test]
fn each_kind_of_content_is_read_once() {
    for (result, text) in [
        (json!({"content": []}), ""),
        (json!({"content": [{"type": "text", "text": "a"}]}), "a"),
        (
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            "a\n\nb",
        ),
        (json!({"structuredContent": {"b": 1, "a": [2]}}), r#"{"b":1,"a":[2]}"#),
        (json!({"content": null, "structuredContent": "a"}), r#""a""#),
        (
            json!({"content": [{"type": "text", "text": "{\"a\": 1}"}], "structuredContent": {"a": 1}}),
            "{\"a\": 1}",
        ),
        (
            json!({"content": [{"type": "text", "text": "one"}], "structuredContent": {"a": 1}}),
            "one\n\n{\"a\":1}",
        ),
        (json!({"content": [], "structuredContent": null}), ""),
        // Python's SDK wraps what is no object.
        (
            json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"result": 3}}),
            "3",
        ),
        (
            json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"result": "3"}}),
            "3",
        ),
        (
            json!({
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "{\"b\": 1}"}],
                "structuredContent": {"result": ["a", {"b": 1}]},
            }),
            "a\n\n{\"b\": 1}",
        ),
        (json!({"content": [], "structuredContent": {"result": []}}), r#"{"result":[]}"#),
        (
            json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"result": ["a", "b"]}}),
            "a\n\n{\"result\":[\"a\",\"b\"]}",
        ),
        (
            json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"result": 3, "b": 1}}),
            "3\n\n{\"result\":3,\"b\":1}",
        ),
        (
            json!({"content": [{"type": "resource_link", "uri": "file:///a", "name": "A"}]}),
            "A: file:///a",
        ),
        (
            json!({"content": [{"type": "resource_link", "uri": "x:a", "title": "T", "name": "A",
                "description": "D"}]}),
            "T: x:a\nD",
        ),
        (json!({"content": [{"type": "resource", "resource": {"uri": "x:a", "text": "a"}}]}), "a"),
    ] {
        assert_eq!(text_of(result.clone()), text, "{result}");
    }
}

#[test]
fn images_sounds_and_blobs_are_files() {
    let result = read_result(json!({"isError": false, "content": [
        {"type": "image", "data": "iVBO\nRw==", "mimeType": "image/png"},
        {"type": "audio", "data": "AAE", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///d/a%20b.bin?x=1#y", "blob": "AAE="}},
        {"type": "resource", "resource": {"uri": "note:/", "blob": "", "mimeType": "text/plain"}},
    ]}));
    let file = |name: Option<&str>, media_type: Option<&str>, content: &[u8]| McpFile {
        name: name.map(str::to_owned),
        media_type: media_type.map(str::to_owned),
        content: content.to_vec(),
    };
    let files = vec![
        file(None, Some("image/png"), b"\x89PNG"),
        file(None, Some("audio/wav"), b"\x00\x01"),
        file(Some("a%20b.bin"), None, b"\x00\x01"),
        file(None, Some("text/plain"), b""),
    ];
    assert_eq!(result, Ok(McpResult { text: String::new(), files, is_error: false }));
}

#[test]
fn an_error_of_the_tool_is_a_result() {
    let result = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
    let result = read_result(result).unwrap();
    assert_eq!((result.text.as_str(), result.is_error), ("no", true));
}

#[test]
fn a_broken_result_is_an_error_with_a_reason() {
    let item = |item: Value| json!({"content": [item]});
    let image = json!({"type": "image", "data": ""});
    for (result, reason) in [
        (json!(null), "the result is no object"),
        (json!([]), "the result is no object"),
        (json!({}), "the result has no content"),
        (json!({"content": null}), "the result has no content"),
        (json!({"content": {}}), "`content` is no list"),
        (json!({"content": "a"}), "`content` is no list"),
        (json!({"content": [], "isError": "no"}), "`isError` is no boolean"),
        (item(json!("a")), "an item of `content` is no object"),
        (item(json!({})), "an item of `content` has no text as its `type`"),
        (item(json!({"type": 1})), "an item of `content` has no text as its `type`"),
        (item(json!({"type": "video"})), "`content` has an item of the unknown type \"video\""),
        (item(json!({"type": "text"})), "an item of `content` has no text as its `text`"),
        (
            item(json!({"type": "text", "text": 1})),
            "an item of `content` has no text as its `text`",
        ),
        (item(json!({"type": "image"})), "an item of `content` has no text as its `data`"),
        (
            item(json!({"type": "image", "data": "!"})),
            "the `data` of an item of `content` is no base64",
        ),
        (item(json!({"type": "resource"})), "a resource of `content` is no object"),
        (
            item(json!({"type": "resource", "resource": {"uri": "a"}})),
            "an item of `content` has no text as its `blob`",
        ),
        (item(json!({"type": "resource_link"})), "an item of `content` has no text as its `uri`"),
        (json!({"content": vec![image; MAX_FILES + 1]}), "the result has more than 20 files"),
    ] {
        assert_eq!(read_result(result.clone()), Err(reason.to_owned()), "{result}");
    }
}

proptest! {
    #[test]
    fn any_text_is_kept(texts in prop::collection::vec(".*", 0..4)) {
        let items: Vec<_> =
            texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        prop_assert_eq!(text_of(json!({"content": items})), texts.join("\n\n"));
    }
}
