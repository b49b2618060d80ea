use djinn_outside::HttpTool;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{GOOD, read};

/// Texts with the characters that separate the parts of URLs, headers and JSON.
fn hostile_text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        "/",
        "\\",
        "..",
        ".",
        "%2e",
        "%2F",
        "%",
        "?",
        "#",
        "&",
        "=",
        "@",
        ":",
        "//",
        "\r\n",
        "\t",
        "\0",
        "\"",
        "'",
        "{",
        "}",
        "{id}",
        "{key:ROOMS}",
        ",",
        ";",
        " ",
        "\u{202e}",
        "热",
        "a",
        "https://evil.test/",
    ]);
    let special = prop::collection::vec(special, 0..8).prop_map(|parts| parts.concat());
    prop_oneof![special, ".{0,40}"]
}

/// Any JSON, not deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        hostile_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(hostile_text(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Removes what the arguments may decide: the texts of a body.
fn check_body(tool: &HttpTool, arguments: &Value) -> Result<(), TestCaseError> {
    let Ok(request) = tool.fill(arguments) else { return Ok(()) };
    let body: Value = serde_json::from_str(&request.body.unwrap()).unwrap();
    let members = body.as_object().unwrap();
    for (name, value) in members {
        match name.as_str() {
            "note" => prop_assert!(value.as_str().unwrap().starts_with("Note: ")),
            "size" => prop_assert_eq!(value, &arguments["size"]),
            "nested" => prop_assert_eq!(value, &json!([{"id": arguments["id"]}])),
            "brace" => prop_assert_eq!(value, "{x}"),
            name => prop_assert!(false, "another field: {}", name),
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_value_changes_the_structure_of_a_request(
        id in any_json(), part in any_json(), units in any_json(), tags in any_json(),
        note in any_json(), size in any_json(),
    ) {
        let tool = read(GOOD).unwrap();
        let arguments = json!({
            "id": id, "part": part, "units": units, "tags": tags, "note": note, "size": size,
        });
        if let Ok(request) = tool.fill(&arguments) {
            let url = url::Url::parse(&request.url).unwrap();
            prop_assert_eq!(url.as_str(), &request.url);
            prop_assert_eq!(url.origin().ascii_serialization(), "https://api.example.com:8443");
            prop_assert_eq!((url.username(), url.password(), url.fragment()), ("", None, None));
            let segments: Vec<_> = url.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), 4, "{}", url);
            prop_assert_eq!(&segments[..2], ["v1", "rooms"]);
            prop_assert!(segments[3].starts_with("x-"));
            for (name, value) in url.query_pairs() {
                match &*name {
                    "units" => prop_assert!(!value.is_empty() || units == "" ),
                    "tag" => prop_assert!(tags.is_array() || !tags.is_object()),
                    "limit" => prop_assert_eq!(value, "10"),
                    name => prop_assert!(false, "another field: {}", name),
                }
            }
            let others = tool.fill(&json!({"id": "a", "part": "b"})).unwrap();
            prop_assert_eq!((request.method, request.headers), (others.method, others.headers));
        }
        check_body(&tool, &arguments)?;
    }

    #[test]
    fn texts_arrive_as_they_were_written(id in hostile_text(), units in hostile_text()) {
        let tool = read(GOOD).unwrap();
        let arguments = json!({"id": id, "part": "b", "units": units});
        if let Ok(request) = tool.fill(&arguments) {
            let url = url::Url::parse(&request.url).unwrap();
            let segment = url.path_segments().unwrap().nth(2).unwrap();
            let decoded = percent_encoding::percent_decode_str(segment).decode_utf8().unwrap();
            prop_assert_eq!(&*decoded, &id);
            let (_, value) = url.query_pairs().find(|(name, _)| name == "units").unwrap();
            prop_assert_eq!(&*value, &units);
        }
    }

    #[test]
    fn any_answer_is_read(
        status in 100_u16..600, kind in ".{0,30}", body in prop::collection::vec(any::<u8>(), 0..200),
        json in any_json(),
    ) {
        let tool = read(GOOD).unwrap();
        let _ = tool.read_answer(status, Some(&kind), &body);
        let _ = tool.read_answer(status, Some("application/json"), json.to_string().as_bytes());
    }

    #[test]
    fn any_text_is_a_file_or_a_problem(text in ".{0,200}", at in 0_usize..GOOD.len(), other in any::<char>()) {
        let _ = read(&text);
        let at = (0..=at).rev().find(|at| GOOD.is_char_boundary(*at)).unwrap_or_default();
        let (before, after) = GOOD.split_at(at);
        if let Err(problems) = read(&format!("{before}{other}{after}")) {
            prop_assert!(problems.iter().all(|it| it.starts_with("tools/rooms.toml:")), "{:?}", problems);
        }
    }
}
