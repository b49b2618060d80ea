use djinn_core::human::Interrupt;
use djinn_core::tool::{EffectClass, Risk};
use djinn_outside::{
    FillError, HeaderPart, HttpTool, OutsideHeader, OutsideRequest, RequestMethod, ToolOffer,
    ToolReading, ToolTrust,
};
use serde_json::{Value, json};

use super::{GOOD, read};

const SHORT: &str = "description = \"a\"\ntrust = \"none\"\nrequest = { method = \"GET\", url = \"http://a.test\" }\n";

#[test]
fn fields_have_defaults() {
    let tool = read(SHORT).unwrap();
    assert_eq!(
        (tool.terms.effect, tool.terms.risk, tool.terms.timeout_s),
        (EffectClass::Once, Risk::High, 30)
    );
    assert_eq!((tool.terms.is_visible, tool.terms.is_enabled), (false, true));
    assert_eq!(tool.terms.offer, ToolOffer::default());
    assert_eq!(tool.parameters, json!({"type": "object", "properties": {}}));
    let request = tool.fill(&json!({})).unwrap();
    assert_eq!((request.url.as_str(), request.body), ("http://a.test", None));
}

#[test]
fn every_field_is_read() {
    let more = "effect = \"read\"\nrisk = \"low\"\ntimeout_s = 300\nvisible = true\nenabled = false\n\
        offer = { tenants = [\"acme\"], modes = [\"react\"], agents = [\"pricing\"] }\n";
    let short = SHORT.replace("\"none\"", "\"reads\"");
    let parameters = "parameters = '{\"type\": \"object\"}'\n";
    let tool = read(&format!("{more}{parameters}{short}")).unwrap();
    assert_eq!(
        (tool.terms.effect, tool.terms.risk, tool.terms.timeout_s),
        (EffectClass::Read, Risk::Low, 300)
    );
    assert_eq!((tool.terms.is_visible, tool.terms.is_enabled), (true, false));
    assert_eq!(tool.terms.trust, ToolTrust::Reads);
    let offer = ["acme", "react", "pricing"].map(|name| vec![name.to_owned()]);
    let [tenants, modes, agents] = offer;
    assert_eq!(tool.terms.offer, ToolOffer { tenants, modes, agents });
}

#[test]
fn a_request_is_filled_with_arguments() {
    let tool = read(GOOD).unwrap();
    let arguments = json!({
        "id": "a/b c", "part": 3, "units": "m&x", "tags": ["x", "y"], "note": "hi", "size": {"w": 1},
    });
    let text = |text: &str| HeaderPart::Text(text.to_owned());
    let header = |name: &str, value| OutsideHeader { name: name.to_owned(), value };
    let mut request = tool.fill(&arguments).unwrap();
    request.headers.sort_by(|one, other| one.name.cmp(&other.name));
    let key = HeaderPart::Key("ROOMS".to_owned());
    assert!(request.has_key());
    let body: Value = serde_json::from_str(&request.body.take().unwrap()).unwrap();
    let expected = json!({
        "note": "Note: hi", "size": {"w": 1}, "nested": [{"id": "a/b c"}], "brace": "{x}",
    });
    assert_eq!(body, expected);
    let (path, query) = request.url.split_once('?').unwrap();
    assert_eq!(path, "https://api.example.com:8443/v1/rooms/a%2Fb%20c/x-3");
    let mut pairs: Vec<&str> = query.split('&').collect();
    pairs.sort_unstable();
    assert_eq!(pairs, ["limit=10", "tag=x", "tag=y", "units=m%26x"]);
    let expected = OutsideRequest {
        method: RequestMethod::Put,
        url: request.url.clone(),
        headers: vec![
            header("accept", vec![text("application/json")]),
            header("authorization", vec![text("Bearer "), key]),
        ],
        body: None,
    };
    assert_eq!(request, expected);
    assert_eq!(tool.key_names(), ["ROOMS"]);
}

#[test]
fn arguments_that_fit_into_no_request_are_rejected() {
    let tool = read(GOOD).unwrap();
    let [id, part] = ["id", "part"].map(str::to_owned);
    for (arguments, error) in [
        (json!([]), FillError::NoObject),
        (json!({"part": "x"}), FillError::Missing(id.clone())),
        (json!({"id": null, "part": "x"}), FillError::Missing(id.clone())),
        (json!({"id": "..", "part": "x"}), FillError::Segment(id.clone())),
        (json!({"id": ".", "part": "x"}), FillError::Segment(id.clone())),
        (json!({"id": "", "part": "x"}), FillError::Segment(id.clone())),
        (json!({"id": ["a"], "part": "x"}), FillError::Kind(id)),
        (json!({"id": "a", "part": {}}), FillError::Kind(part)),
        (json!({"id": "a", "part": "x", "units": {}}), FillError::Kind("units".to_owned())),
        (json!({"id": "a", "part": "x", "tags": [[]]}), FillError::Kind("tags".to_owned())),
        (json!({"id": "a".repeat(3_000), "part": "x"}), FillError::TooLong),
    ] {
        assert_eq!(tool.fill(&arguments), Err(error), "{arguments}");
    }
    let escape = tool.fill(&json!({"id": "%2e%2e", "part": "x"})).unwrap();
    assert!(escape.url.contains("/rooms/%252e%252e/x-x"), "{}", escape.url);
}

#[test]
fn an_answer_is_read_by_the_rules_of_the_file() {
    let tool = read(GOOD).unwrap();
    let read =
        |body: Value| tool.read_answer(200, Some("application/json"), body.to_string().as_bytes());
    let ToolReading::Done { content, file: None } = read(json!({"data": [1]})) else { panic!() };
    assert_eq!(content.into_text(), "[1]");
    let interrupt = Interrupt {
        code: "20006".to_owned(),
        message: "The credits are used up.".to_owned(),
        key: None,
    };
    assert_eq!(read(json!({"code": 20006})), ToolReading::Interrupted(interrupt));
    let ToolReading::Failed(problem) = read(json!({"error": {"message": "no"}})) else { panic!() };
    assert_eq!(problem.detail, "no");
}

#[test]
fn a_hash_changes_with_every_field_and_not_with_comments() {
    let hash = |text: &str| read(text).unwrap().sha256().to_owned();
    let first = hash(SHORT);
    assert_eq!(first.len(), 64);
    assert_eq!(hash(&format!("# A comment.\n\n{SHORT}# Another.\n")), first);
    for other in ["b.test", "a.test:81", "a.test/v1"] {
        assert_ne!(hash(&SHORT.replace("a.test", other)), first, "{other}");
    }
    assert_ne!(hash(&format!("visible = false\n{SHORT}")), first);
    let renamed = HttpTool::read("halls", "tools/halls.toml", SHORT).unwrap();
    assert_ne!(renamed.sha256(), first);
}

#[test]
fn the_example_is_a_valid_file() {
    let text = include_str!("../../../../examples/tools/weather.toml");
    let tool = HttpTool::read("weather", "weather.toml", text).unwrap();
    let request = tool.fill(&json!({"city": "Oslo", "units": "fahrenheit"})).unwrap();
    assert_eq!(request.url, "http://127.0.0.1:9180/cities/Oslo/weather?units=fahrenheit");
    assert_eq!((tool.terms.effect, tool.terms.trust), (EffectClass::Read, ToolTrust::Reads));
}
