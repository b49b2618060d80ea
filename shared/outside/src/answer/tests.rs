use serde_json::json;

use super::*;

fn rules() -> ResultRules {
    ResultRules {
        pointer: Some("/data".to_owned()),
        error_pointer: Some("/error".to_owned()),
        interrupts: vec![InterruptRule {
            pointer: "/code".to_owned(),
            value: json!(20006),
            message: "Out of credits.".to_owned(),
        }],
        file: None,
    }
}

fn read(rules: &ResultRules, status: u16, kind: &str, body: &str) -> String {
    match rules.read_answer(status, Some(kind).filter(|kind| !kind.is_empty()), body.as_bytes()) {
        ToolReading::Done { content: AnswerContent::Text(text), .. } => format!("text {text}"),
        ToolReading::Done { content: AnswerContent::Json(value), .. } => {
            format!("json {value}")
        }
        ToolReading::Failed(ToolProblem { code, status, detail }) => {
            format!("{code:?} {} {detail}", status.unwrap_or_default())
        }
        ToolReading::Interrupted(Interrupt { code, message, .. }) => {
            format!("{code}: {message}")
        }
    }
}

#[test]
fn an_answer_is_a_result_an_error_or_an_interrupt() {
    let json = "application/json; charset=utf-8";
    for (status, kind, body, reading) in [
        (200, json, r#"{"data": {"a": [1]}}"#, r#"json {"a":[1]}"#),
        (201, "", r#"{"data": "x", "error": ""}"#, r#"json "x""#),
        (200, "text/plain", "\u{feff}{\"data\": null, \"error\": null}", "json null"),
        (200, "application/problem+json", r#"{"data": 1, "error": 0}"#, "json 1"),
        (200, json, r#"{"data": 1, "error": "no city"}"#, "Reported 200 no city"),
        (200, json, r#"{"data": 1, "error": {"a": 1}}"#, r#"Reported 200 {"a":1}"#),
        (200, json, r#"{"other": 1}"#, "NoResult 200 /data"),
        (200, json, "[]", "NoResult 200 /data"),
        (200, json, "{", "NotJson 200 {"),
        (200, json, "", "NotJson 200 "),
        (200, "text/plain", "hello", "NotJson 200 hello"),
        (200, "text/html", "{\"data\": 1}", "Unsupported 200 text/html"),
        (200, "", " <!DOCTYPE html><p>", "Unsupported 200 text/html"),
        (200, json, "<html><p>", "Unsupported 200 text/html"),
        (200, "image/png", "x", "Unsupported 200 image/png"),
        (500, json, r#"{"error": "down"}"#, "Status 500 down"),
        (404, json, r#"{"message": "none"}"#, r#"Status 404 {"message":"none"}"#),
        (502, "text/html", "<h1>Bad gateway", "Status 502 "),
        (302, "", "", "Status 302 "),
        (200, json, r#"{"code": 20006, "error": "x"}"#, "20006: Out of credits."),
        (402, "", r#"{"code": "20006"}"#, "20006: Out of credits."),
        (200, json, r#"{"code": 2000, "data": 1}"#, "json 1"),
    ] {
        assert_eq!(read(&rules(), status, kind, body), reading, "{status} {kind} {body}");
    }
}

#[test]
fn without_rules_the_whole_answer_is_the_result() {
    let rules = ResultRules::default();
    for (kind, body, reading) in [
        ("text/plain", r#"{"a": 1}"#, r#"text {"a": 1}"#),
        ("text/csv; charset=utf-8", "a,b", "text a,b"),
        ("application/json", r#"{"a": 1}"#, r#"json {"a":1}"#),
        ("", "hello", "text hello"),
        ("application/json", "", "text "),
        ("application/octet-stream", "", "text "),
        ("application/json", "hello", "NotJson 200 hello"),
    ] {
        assert_eq!(read(&rules, 200, kind, body), reading, "{kind} {body}");
    }
    let bytes = rules.read_answer(200, Some("text/plain"), b"a\xff");
    let ToolReading::Done { content, .. } = bytes else { panic!("{bytes:?}") };
    assert_eq!(content.into_text(), "a\u{fffd}");
    let long = read(&rules, 500, "", &"x".repeat(10_000));
    assert!(long.ends_with("x…") && long.len() < 600, "{long}");
}

#[test]
fn a_file_is_taken_out_of_the_answer() {
    let with_file = |source| ResultRules {
        file: Some(FileRule { source, name: "chart.png".to_owned(), media_type: None }),
        ..ResultRules::default()
    };
    let base64 = with_file(FileSource::Base64("/image".to_owned()));
    let url = with_file(FileSource::Url("/image".to_owned()));
    let read = |rules: &ResultRules, image: Value| {
        let body = json!({"image": image, "title": "t"}).to_string();
        rules.read_answer(200, Some("application/json"), body.as_bytes())
    };
    let done = |file: Option<(Option<&str>, FoundFileContent)>| {
        let image = if file.is_some() { json!("chart.png") } else { Value::Null };
        let file = file.map(|(media_type, content)| FoundFile {
            name: "chart.png".to_owned(),
            media_type: media_type.map(str::to_owned),
            content,
        });
        let content = AnswerContent::Json(json!({"image": image, "title": "t"}));
        ToolReading::Done { content, file }
    };
    let bytes = |media_type| Some((media_type, FoundFileContent::Bytes(b"png".to_vec())));
    assert_eq!(read(&base64, json!("cG5n")), done(bytes(None)));
    assert_eq!(read(&base64, json!("cG\r\n5n")), done(bytes(None)));
    let data_url = "data:image/png;base64,cG5n";
    assert_eq!(read(&base64, json!(data_url)), done(bytes(Some("image/png"))));
    assert_eq!(read(&base64, Value::Null), done(None));
    let link = FoundFileContent::Url("https://a.test/x".to_owned());
    assert_eq!(read(&url, json!("https://a.test/x")), done(Some((None, link))));
    for (rules, image) in
        [(&base64, json!("no base64!")), (&base64, json!(1)), (&url, json!("")), (&url, json!([]))]
    {
        let ToolReading::Failed(problem) = read(rules, image) else { panic!("no problem") };
        assert_eq!((problem.code, &*problem.detail), (ToolProblemCode::BrokenFile, "/image"));
    }
}
