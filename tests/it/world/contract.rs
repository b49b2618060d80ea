//! Every answer that a test reads is held against `docs/openapi.json`.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Codes of paths that lead nowhere, which no operation has.
const NO_OPERATION: [&str; 2] = ["route_not_found", "method_not_allowed"];

static CONTRACT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../docs/openapi.json")).unwrap());

/// A compiled schema, by its text: there are some dozens.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Returns the method and the path of every operation of the contract.
pub(crate) fn operations() -> BTreeSet<(String, String)> {
    let paths = CONTRACT["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, operations)| {
        let methods = operations.as_object().unwrap().keys();
        methods.map(move |method| (method.to_uppercase(), path.clone()))
    });
    operations.collect()
}

/// Fails if the contract does not know such an answer. `method` may be unknown; then any that the path has
/// may have answered so.
#[track_caller]
pub(crate) fn check_answer(method: Option<&str>, path: &str, status: u16, text: &str) {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let body: Option<Value> = serde_json::from_str(text).ok().filter(Value::is_object);
    let code = body.as_ref().and_then(|body| body["code"].as_str());
    let Some(operations) = operations_of(path) else { return };
    if status >= 400 && code.is_none_or(|code| NO_OPERATION.contains(&code)) {
        // A page, an event of JoyAgent's, or the server's own word.
        return;
    }
    let meant = operations
        .into_iter()
        .filter(|(known, _)| method.is_none_or(|method| known.eq_ignore_ascii_case(method)))
        .collect::<Vec<_>>();
    if meant.is_empty() && status >= 400 {
        // No such operation: whoever is not known is refused before that is noticed.
        return;
    }
    let told = meant
        .iter()
        .filter_map(|(_, operation)| operation["responses"].get(status.to_string()))
        .collect::<Vec<_>>();
    assert!(
        !told.is_empty(),
        "{method:?} {path} answers {status}, which openapi.json has not: {text}"
    );
    let Some(body) = &body else { return };
    let fits = told.iter().any(|answer| {
        let codes = answer["x-codes"].as_array();
        let is_known = codes.is_some_and(|codes| codes.iter().any(|known| known.as_str() == code));
        (status < 400 || is_known) && is_valid(&answer["content"]["application/json"], body)
    });
    assert!(
        fits,
        "{method:?} {path} answers {status} in a shape or with a code that openapi.json has not: {text}"
    );
}

/// The operations of the path that is most like this one: fixed words count more than names.
fn operations_of(path: &str) -> Option<Vec<(&'static String, &'static Value)>> {
    let fits = |pattern: &str| {
        let (wanted, given) = (pattern.split('/'), path.split('/'));
        let same = |(wanted, given): (&str, &str)| wanted.starts_with('{') || wanted == given;
        wanted.clone().count() == given.clone().count() && wanted.zip(given).all(same)
    };
    let paths = CONTRACT["paths"].as_object()?.iter().filter(|(pattern, _)| fits(pattern));
    let (_, operations) = paths.min_by_key(|(pattern, _)| pattern.matches('{').count())?;
    Some(operations.as_object()?.iter().collect())
}

fn is_valid(content: &Value, body: &Value) -> bool {
    let Some(schema) = content.get("schema") else { return false };
    let compile = || {
        let whole = json!({"allOf": [schema], "components": CONTRACT["components"]});
        Arc::new(jsonschema::draft202012::new(&whole).unwrap())
    };
    let mut known = VALIDATORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let validator = Arc::clone(known.entry(schema.to_string()).or_insert_with(compile));
    drop(known);
    validator.is_valid(body)
}

#[test]
fn an_answer_that_the_contract_has_not_is_noticed() {
    check_answer(Some("GET"), "/runs?limit=1", 200, r#"{"runs": [], "next": null}"#);
    check_answer(Some("GET"), "/nowhere", 404, "");
    let refused = r#"{"code": "run_not_found", "message": "m", "field": null, "detail": "",
        "retryable": false, "retry_after": null, "run": null}"#;
    check_answer(Some("GET"), "/runs/run_1", 404, refused);
    for (path, status, text) in [
        ("/runs", 200, r#"{"runs": 1, "next": null}"#),
        ("/runs", 418, r#"{"code": "run_not_found"}"#),
        ("/runs/run_1", 404, &refused.replace("run_not_found", "file_not_found")),
    ] {
        let checked = std::panic::catch_unwind(|| check_answer(Some("GET"), path, status, text));
        assert!(checked.is_err(), "{path} {status} {text}");
    }
}
