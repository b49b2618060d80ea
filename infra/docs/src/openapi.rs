//! `openapi.json`: the HTTP contract, in OpenAPI 3.1.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use djinn_core::error_code::ErrorCode;
use djinn_protocol::body::ErrorBody;
use djinn_protocol::refusal::http_status;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::operation::{AnswerContent, Operation, RequestContent, RouteAnswer, reference};
use crate::route_list::{ANY_BODY, ANY_ROUTE, list_operations};

const ABOUT: &str = "\
The routes of a deployment of Djinn. Events of streams are described in `events.schema.json`, error codes in \
`errors.md`. The deployment's `DJINN_AUTH` selects the authentication: an API key or a token as \
`Authorization: Bearer`, or the signature of an IAM identity.";

pub(crate) fn write_openapi() -> Result<String> {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    let settings = || {
        SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.transforms.push(Box::new(RecursiveTransform(remove_null_default)));
        })
    };
    let mut requests = settings().for_deserialize().into_generator();
    let mut responses = settings().for_serialize().into_generator();
    for operation in list_operations() {
        let path_item = paths.entry(operation.path).or_default();
        let entry = describe_operation(operation, &mut requests, &mut responses)?;
        ensure!(path_item.insert(operation.method.to_owned(), entry).is_none(), "doubled route");
    }
    let mut schemas = BTreeMap::from_iter(responses.take_definitions(true));
    schemas.extend(requests.take_definitions(true));
    let contract = json!({
        "openapi": "3.1.0",
        "info": {"title": "Djinn", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT},
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    });
    Ok(serde_json::to_string_pretty(&contract)? + "\n")
}

fn describe_operation(
    operation: &Operation,
    requests: &mut SchemaGenerator,
    responses: &mut SchemaGenerator,
) -> Result<Value> {
    ensure!(operation.summary.split_whitespace().count() >= 3, "{} says nothing", operation.id);
    let mut entry = Map::from_iter([
        ("operationId".to_owned(), operation.id.into()),
        ("summary".to_owned(), operation.summary.into()),
        ("parameters".to_owned(), describe_parameters(operation, requests).into()),
        ("responses".to_owned(), json!(describe_answers(operation, responses))),
    ]);
    if let Some(request) = describe_request(&operation.request, requests) {
        entry.insert("requestBody".to_owned(), request);
    }
    if matches!(operation.path, "/web/health" | "/respond/{token}") {
        entry.insert("security".to_owned(), json!([]));
    }
    Ok(entry.into())
}

fn describe_parameters(operation: &Operation, requests: &mut SchemaGenerator) -> Vec<Value> {
    let in_path = operation.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
    });
    let headers = operation.headers.iter().map(|(name, about)| {
        json!({"name": name, "in": "header", "description": about, "schema": {"type": "string"}})
    });
    let mut query = (operation.query)(requests);
    RecursiveTransform(remove_null_default).transform(&mut query);
    let properties = query.remove("properties").unwrap_or_default();
    let properties = properties.as_object().cloned().unwrap_or_default().into_iter();
    let in_query = properties.map(|(name, mut schema)| {
        let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        json!({"name": name, "in": "query", "description": about, "schema": schema})
    });
    in_path.chain(headers).chain(in_query).collect()
}

fn describe_request(request: &RequestContent, requests: &mut SchemaGenerator) -> Option<Value> {
    match request {
        RequestContent::Nothing => None,
        RequestContent::Json(shape) => Some(json!({
            "required": true,
            "content": {"application/json": {"schema": shape(requests)}},
        })),
        RequestContent::Form(parts) => Some(json!({
            "required": true,
            "content": {"multipart/form-data": {"schema": form_schema(parts)}},
        })),
        RequestContent::JsonOrForm(shape, parts) => Some(json!({
            "required": true,
            "content": {
                "application/json": {"schema": shape(requests)},
                "multipart/form-data": {"schema": form_schema(parts)},
            },
        })),
        RequestContent::Page => Some(json!({
            "required": true,
            "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}},
        })),
    }
}

fn form_schema(parts: &[(&str, &str)]) -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let parts: Map<String, Value> =
        parts.iter().map(|(name, about)| ((*name).to_owned(), text(about))).collect();
    json!({"type": "object", "properties": parts})
}

fn describe_answers(
    operation: &Operation,
    responses: &mut SchemaGenerator,
) -> BTreeMap<String, Value> {
    let codes = codes_by_status(operation);
    let own = operation.answers.iter().map(|answer| answer.status);
    let statuses: BTreeSet<u16> = own.chain(codes.keys().copied()).collect();
    let mut describe = |status: u16| {
        let answers = operation.answers.iter().filter(|answer| answer.status == status);
        describe_status(&answers.collect::<Vec<_>>(), codes.get(&status), responses)
    };
    statuses.into_iter().map(|status| (status.to_string(), describe(status))).collect()
}

/// Describes the responses with one status: a result, an error, or either.
fn describe_status(
    answers: &[&RouteAnswer],
    codes: Option<&BTreeSet<ErrorCode>>,
    responses: &mut SchemaGenerator,
) -> Value {
    let mut sentences: Vec<String> = answers.iter().map(|answer| answer.about.to_owned()).collect();
    let mut shapes: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (kind, shape) in answers.iter().filter_map(|answer| content_of(&answer.body, responses)) {
        shapes.entry(kind).or_default().push(shape);
    }
    let names: Vec<&str> = codes.into_iter().flatten().map(|code| code.as_str()).collect();
    if !names.is_empty() {
        sentences.push(format!("Errors: {}.", names.join(", ")));
        shapes
            .entry("application/json")
            .or_default()
            .push(reference::<ErrorBody>(responses).to_value());
    }
    let content: Map<String, Value> = shapes
        .into_iter()
        .map(|(kind, shapes)| (kind.to_owned(), json!({"schema": {"anyOf": shapes}})))
        .collect();
    json!({"description": sentences.join(" "), "content": content, "x-codes": names})
}

/// Returns an operation's error codes by status.
fn codes_by_status(operation: &Operation) -> BTreeMap<u16, BTreeSet<ErrorCode>> {
    let any = if operation.path == "/web/health" { &[][..] } else { ANY_ROUTE };
    let body =
        if matches!(operation.request, RequestContent::Nothing) { &[][..] } else { ANY_BODY };
    let mut codes: BTreeMap<u16, BTreeSet<ErrorCode>> = BTreeMap::new();
    for code in any.iter().chain(body).chain(operation.codes) {
        codes.entry(http_status(*code)).or_default().insert(*code);
    }
    codes
}

fn content_of(
    body: &AnswerContent,
    responses: &mut SchemaGenerator,
) -> Option<(&'static str, Value)> {
    match body {
        AnswerContent::Nothing => None,
        AnswerContent::Json(shape) => Some(("application/json", shape(responses).to_value())),
        AnswerContent::Lines => Some(("application/x-ndjson", json!({"type": "string"}))),
        AnswerContent::Stream => Some(("text/event-stream", json!({"type": "string"}))),
        AnswerContent::Text => Some(("text/plain", json!({"type": "string"}))),
        AnswerContent::Bytes => Some(("*/*", json!({}))),
    }
}

/// Removes a default of null: the type of an optional field says so already.
fn remove_null_default(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}
