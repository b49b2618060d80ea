//! Parses the fields of a request with serde. Errors name the field's path and the expected value, and
//! never repeat the sent value.

use std::fmt::Display;

use djinn_core::error_code::{ErrorCode, Failure};
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::api_error::ApiError;
use crate::unknown::{UnknownMembers, describe_unknown};

/// Maximum length of a field's path in an error, in characters.
const MAX_PATH: usize = 100;

/// Parses a request from the fields of its type, and returns the names of unknown fields.
pub(crate) fn parse_fields<T: DeserializeOwned>(
    fields: Map<String, Value>,
) -> (Result<T, ApiError>, UnknownMembers) {
    let mut unknown = UnknownMembers::default();
    let request = RequestFields { fields, unknown: &mut unknown };
    let result = serde_path_to_error::deserialize(request);
    (result.map_err(|error| field_error(&error, "member")), unknown)
}

/// The fields of a request. Fields unknown to the type are set aside.
struct RequestFields<'a> {
    fields: Map<String, Value>,
    unknown: &'a mut UnknownMembers,
}

impl<'de> Deserializer<'de> for RequestFields<'_> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.fields.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        known_names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let is_known = |name: &str| known_names.contains(&name);
        let (known_fields, others): (Map<_, _>, Map<_, _>) =
            self.fields.into_iter().partition(|(name, _)| is_known(name));
        *self.unknown = UnknownMembers::new(known_names, &others);
        known_fields.deserialize_struct(name, known_names, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Converts serde's error to a sentence about the field. `kind` is the kind of the request's names.
pub(crate) fn field_error(
    error: &serde_path_to_error::Error<impl Display>,
    kind: &str,
) -> ApiError {
    let problem = error.inner().to_string();
    if problem.starts_with("duplicate field ") {
        let sentence = format!("the request has the same {kind} twice; send one");
        return Failure::new(ErrorCode::InvalidField, sentence).into();
    }
    let path = error.path().to_string();
    let missing = problem.strip_prefix("missing field ").map(|name| name.trim_matches('`'));
    let segments = [path.as_str()].into_iter().filter(|path| *path != ".").chain(missing);
    let path: String = segments.collect::<Vec<_>>().join(".").chars().take(MAX_PATH).collect();
    let sentence = match missing {
        Some(_) => "is missing".to_owned(),
        None => describe_problem(&problem, kind),
    };
    if path.is_empty() {
        Failure::new(ErrorCode::InvalidField, sentence).into()
    } else {
        ApiError::invalid_field(path, &sentence)
    }
}

/// Describes serde's problem in the terms of JSON, without the sent value.
fn describe_problem(problem: &str, kind: &str) -> String {
    let (found, expectation) = problem.rsplit_once(", expected ").unwrap_or((problem, ""));
    if let Some(name) = found.strip_prefix("unknown field `") {
        let name = name.split('`').next().unwrap_or_default();
        let known_names: Vec<&str> = expectation.split('`').skip(1).step_by(2).collect();
        return describe_unknown(name, kind, &known_names);
    }
    let expectation = match expectation {
        "" => return problem.to_owned(),
        "a boolean" => "true or false",
        "a map" => "an object",
        "a sequence" => "a list",
        "string or map" | "map with a single key" => "a string",
        "u32" | "u64" => "a whole number, neither negative nor too large",
        expectation if expectation.starts_with("struct ") => "an object",
        expectation => expectation,
    };
    format!("must be {}", expectation.replace('`', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_protocol::request::{AnnounceRequest, PlanRequest, RunRequest, ShareRequest};
    use serde_json::json;

    fn refusal<T: DeserializeOwned>(request: Value) -> (String, String) {
        let Value::Object(fields) = request else { unreachable!("an object") };
        let Err(refusal) = parse_fields::<T>(fields).0 else { return Default::default() };
        assert_eq!(refusal.failure.code, ErrorCode::InvalidField);
        (refusal.field().unwrap_or_default().to_owned(), refusal.failure.detail)
    }

    #[test]
    fn a_member_is_named_by_its_path_with_what_it_must_be() {
        let step = |step: Value| json!({"version": 1, "steps": [{"details": "a"}, step]});
        let settings = |change: Value| json!({"question": "a", "human_requests": change});
        for ((path, problem), (field, sentence)) in [
            (("question", "a string"), refusal::<RunRequest>(json!({"question": 7}))),
            (("human_requests", "an object"), refusal::<RunRequest>(settings(json!([true])))),
            (
                ("human_requests.timeout", "a whole number"),
                refusal::<RunRequest>(settings(json!({"timeout": -1}))),
            ),
            (
                ("human_requests.risk", "one of low, medium, high"),
                refusal::<RunRequest>(settings(json!({"risk": "huge"}))),
            ),
            (
                ("human_requests.confirm_steps[1]", "a string"),
                refusal::<RunRequest>(settings(json!({"confirm_steps": ["a", 3]}))),
            ),
            (
                ("human_requests.confirm_results", "true or false"),
                refusal::<RunRequest>(settings(json!({"confirm_results": "yes"}))),
            ),
            (("version", "is missing"), refusal::<PlanRequest>(json!({"steps": []}))),
            (("steps", "a list"), refusal::<PlanRequest>(json!({"version": 1, "steps": {}}))),
            (("steps[1]", "an object"), refusal::<PlanRequest>(step(json!(["s1"])))),
            (("steps[1].details", "is missing"), refusal::<PlanRequest>(step(json!({})))),
            (("steps[1].detail", "`details`"), refusal::<PlanRequest>(step(json!({"detail": 1})))),
            (
                ("steps[1].depends_on[0]", "a string"),
                refusal::<PlanRequest>(step(json!({"details": "b", "depends_on": [1]}))),
            ),
            (("with", "a user's id"), refusal::<ShareRequest>(json!({"with": {"user": 7}}))),
            (
                ("fileSize", "must be a whole number"),
                refusal::<AnnounceRequest>(
                    json!({"requestId": "s1", "fileName": "a", "fileSize": "b"}),
                ),
            ),
            (
                ("fileName", "a non-empty string"),
                refusal::<AnnounceRequest>(json!({"requestId": "s1", "fileName": ""})),
            ),
        ] {
            assert_eq!(field, path, "{sentence}");
            assert!(
                sentence.starts_with(&format!("`{path}` ")) && sentence.contains(problem),
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_refusal_says_little_of_what_was_sent() {
        let long = "x".repeat(100_000);
        for change in [json!({&long: 1}), json!({"risk": &long}), json!({"timeout": &long})] {
            let (field, sentence) = refusal::<RunRequest>(json!({"human_requests": change}));
            assert!(field.len() <= MAX_PATH && sentence.len() < 600, "{sentence}");
        }
    }

    #[test]
    fn fields_that_a_type_does_not_have_are_put_aside() {
        let fields = json!({"question": "a", "mode": null, "more": 1, "less": null, "rest": []});
        let Value::Object(fields) = fields else { unreachable!("an object") };
        let (request, unknown) = parse_fields::<RunRequest>(fields);
        assert_eq!(request.unwrap().question.as_deref(), Some("a"));
        assert_eq!(unknown.header_names(), ["more"]);
        let refusal = unknown.require_none().unwrap_err();
        assert_eq!(refusal.field(), Some("more"));
    }
}
