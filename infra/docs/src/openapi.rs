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

use crate::operation::{Operation, RouteAnswer};
use crate::route_list::list_operations;

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
        let entry = describe_operation(&operation, &mut requests, &mut responses)?;
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
    if !operation.request.is_empty() {
        let contents = operation.request.iter();
        let content: Map<String, Value> = contents
            .map(|content| {
                let schema = json!({"schema": content.schema(requests)});
                (content.media_type.to_owned(), schema)
            })
            .collect();
        entry.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
    }
    if !operation.has_caller {
        entry.insert("security".to_owned(), json!([]));
    }
    Ok(entry.into())
}

fn describe_parameters(operation: &Operation, requests: &mut SchemaGenerator) -> Vec<Value> {
    let in_path = operation.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
    });
    let last_event = json!({
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The cursor of the last received event; later events are sent.",
        "schema": {"type": "string"},
    });
    let header = operation.has_last_event_header.then_some(last_event);
    let mut query = (operation.query)(requests);
    RecursiveTransform(remove_null_default).transform(&mut query);
    let properties = query.remove("properties").unwrap_or_default();
    let properties = properties.as_object().cloned().unwrap_or_default().into_iter();
    let in_query = properties.map(|(name, mut schema)| {
        let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        json!({"name": name, "in": "query", "description": about, "schema": schema})
    });
    in_path.chain(header).chain(in_query).collect()
}

fn describe_answers(
    operation: &Operation,
    responses: &mut SchemaGenerator,
) -> BTreeMap<String, Value> {
    let mut codes: BTreeMap<u16, BTreeSet<ErrorCode>> = BTreeMap::new();
    for code in &operation.codes {
        codes.entry(http_status(*code)).or_default().insert(*code);
    }
    let statuses = operation.answers.iter().map(|answer| answer.status);
    let statuses: BTreeSet<u16> = statuses.chain(codes.keys().copied()).collect();
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
    let mut schemas: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for content in answers.iter().filter_map(|answer| answer.content.as_ref()) {
        schemas.entry(content.media_type).or_default().push(content.schema(responses));
    }
    let names: Vec<&str> = codes.into_iter().flatten().map(|code| code.as_str()).collect();
    if !names.is_empty() {
        sentences.push(format!("Errors: {}.", names.join(", ")));
        let error = responses.subschema_for::<ErrorBody>().to_value();
        schemas.entry("application/json").or_default().push(error);
    }
    let content: Map<String, Value> = schemas
        .into_iter()
        .map(|(kind, schemas)| (kind.to_owned(), json!({"schema": {"anyOf": schemas}})))
        .collect();
    json!({"description": sentences.join(" "), "content": content, "x-codes": names})
}

/// Removes a default of null: the type of an optional field says so already.
fn remove_null_default(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}
