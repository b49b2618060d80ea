//! Parses the fields of a JSON object into a request type. Errors name the field's path and the expected
//! value, and never repeat the input.

use std::fmt;

use djinn_core::error_code::{ErrorCode, Failure};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, Deserializer, Error, Expected, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value};

use crate::api_error::ApiError;
use crate::unknown::{UnknownMembers, describe_unknown};

/// Maximum length of a field's path in an error, in characters.
const MAX_PATH: usize = 100;

/// Maximum length of a type's error text, in characters.
const MAX_PROBLEM: usize = 300;

/// Parses a request from the fields of its type, and returns the names of unknown fields.
pub(crate) fn read_members<T: DeserializeOwned>(
    members: Map<String, Value>,
) -> (Result<T, ApiError>, UnknownMembers) {
    let mut unknown = UnknownMembers::default();
    let request = Request { members, unknown: &mut unknown };
    let result = serde_path_to_error::deserialize(request).map_err(|error| {
        let path = error.path().to_string();
        error.into_inner().into_refusal(path)
    });
    (result, unknown)
}

/// The fields of a request. Fields unknown to the type are set aside.
struct Request<'a> {
    members: Map<String, Value>,
    unknown: &'a mut UnknownMembers,
}

impl<'de> Deserializer<'de> for Request<'_> {
    type Error = MemberProblem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MemberProblem> {
        Member(Value::Object(self.members)).deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, MemberProblem> {
        let is_known = |name: &str| fields.contains(&name);
        let (known_members, others): (Map<_, _>, Map<_, _>) =
            self.members.into_iter().partition(|(name, _)| is_known(name));
        *self.unknown = UnknownMembers::new(fields, &others);
        Member(Value::Object(known_members)).deserialize_struct(name, fields, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A value in a request. Structs are read only from objects, never from lists of values.
struct Member(Value);

impl<'de> IntoDeserializer<'de, MemberProblem> for Member {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Member {
    fn visit_list<'de, V: Visitor<'de>>(
        items: Vec<Value>,
        visitor: V,
    ) -> Result<V::Value, MemberProblem> {
        visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Self)))
    }

    fn visit_object<'de, V: Visitor<'de>>(
        members: Map<String, Value>,
        visitor: V,
    ) -> Result<V::Value, MemberProblem> {
        let members = members.into_iter().map(|(name, value)| (name, Self(value)));
        visitor.visit_map(MapDeserializer::new(members))
    }

    fn visit_number<'de, V: Visitor<'de>>(
        number: &Number,
        visitor: V,
    ) -> Result<V::Value, MemberProblem> {
        match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => visitor.visit_u64(number),
            (None, Some(number), _) => visitor.visit_i64(number),
            (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
        }
    }
}

/// Reads a whole number, or returns an error about the expected type.
macro_rules! read_whole_numbers {
    ($($read:ident)*) => {$(
        fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MemberProblem> {
            let expectation = "a whole number, neither negative nor too large";
            let Value::Number(number) = self.0 else { return Err(MemberProblem::must_be(expectation)) };
            Self::visit_number(&number, visitor).map_err(|_| MemberProblem::must_be(expectation))
        }
    )*};
}

impl<'de> Deserializer<'de> for Member {
    type Error = MemberProblem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MemberProblem> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(flag),
            Value::Number(number) => Self::visit_number(&number, visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => Self::visit_list(items, visitor),
            Value::Object(members) => Self::visit_object(members, visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MemberProblem> {
        let Value::Bool(flag) = self.0 else {
            return Err(MemberProblem::must_be("true or false"));
        };
        visitor.visit_bool(flag)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MemberProblem> {
        let Value::String(text) = self.0 else {
            return Err(MemberProblem::must_be("a string"));
        };
        visitor.visit_string(text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MemberProblem> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, MemberProblem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MemberProblem> {
        let Value::Array(items) = self.0 else {
            return Err(MemberProblem::must_be("a list"));
        };
        Self::visit_list(items, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MemberProblem> {
        let Value::Object(members) = self.0 else {
            return Err(MemberProblem::must_be("an object"));
        };
        Self::visit_object(members, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, MemberProblem> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, MemberProblem> {
        let Value::String(word) = self.0 else {
            return Err(MemberProblem::must_be("a string"));
        };
        visitor.visit_enum(word.into_deserializer())
    }

    read_whole_numbers! { deserialize_u32 deserialize_u64 }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str bytes byte_buf unit unit_struct tuple tuple_struct
        identifier ignored_any
    }
}

/// The problem of a field.
#[derive(Debug)]
struct MemberProblem {
    sentence: String,
    /// The invalid field inside the value; `None` for the value itself.
    member: Option<&'static str>,
}

impl MemberProblem {
    fn must_be(what: impl fmt::Display) -> Self {
        Self::custom(format_args!("must be {what}"))
    }

    fn into_refusal(self, mut path: String) -> ApiError {
        if path == "." {
            path.clear();
        }
        if let Some(member) = self.member {
            let dot = if path.is_empty() { "" } else { "." };
            path = format!("{path}{dot}{member}");
        }
        let path: String = path.chars().take(MAX_PATH).collect();
        if path.is_empty() {
            Failure::new(ErrorCode::InvalidField, self.sentence).into()
        } else {
            ApiError::invalid_field(path, &self.sentence)
        }
    }
}

impl fmt::Display for MemberProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for MemberProblem {}

impl Error for MemberProblem {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        let sentence = problem.to_string().chars().take(MAX_PROBLEM).collect();
        Self { sentence, member: None }
    }

    fn invalid_type(_: Unexpected<'_>, expectation: &dyn Expected) -> Self {
        Self::must_be(expectation)
    }

    fn invalid_value(_: Unexpected<'_>, expectation: &dyn Expected) -> Self {
        Self::must_be(expectation)
    }

    fn unknown_variant(_: &str, words: &'static [&'static str]) -> Self {
        Self::must_be(format_args!("one of {}", words.join(", ")))
    }

    fn unknown_field(name: &str, fields: &'static [&'static str]) -> Self {
        Self::custom(describe_unknown(name, "member", fields))
    }

    fn missing_field(name: &'static str) -> Self {
        Self { sentence: "is missing".to_owned(), member: Some(name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_protocol::request::{AnnounceRequest, PlanRequest, RunRequest, ShareRequest};
    use serde_json::json;

    fn refusal<T: DeserializeOwned>(request: Value) -> (String, String) {
        let Value::Object(members) = request else { unreachable!("an object") };
        let Err(refusal) = read_members::<T>(members).0 else { return Default::default() };
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
    fn members_that_a_type_does_not_have_are_put_aside() {
        let members = json!({"question": "a", "mode": null, "more": 1, "less": null, "rest": []});
        let Value::Object(members) = members else { unreachable!("an object") };
        let (request, unknown) = read_members::<RunRequest>(members);
        assert_eq!(request.unwrap().question.as_deref(), Some("a"));
        assert_eq!(unknown.header_names(), ["more"]);
        let refusal = unknown.require_none().unwrap_err();
        assert_eq!(refusal.field(), Some("more"));
    }
}
