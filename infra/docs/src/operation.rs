//! An operation of the contract: a route with a method.

use djinn_core::error_code::ErrorCode;
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Returns a type's schema, and adds referenced schemas to the contract.
pub(crate) type SchemaFunction = fn(&mut SchemaGenerator) -> Schema;

/// Adds a type's schema to the contract, and returns the reference to the schema.
pub(crate) fn reference<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A route with a method.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The operation's id in the contract.
    pub(crate) id: &'static str,
    /// A summary in one sentence.
    pub(crate) summary: &'static str,
    /// An object with the query parameters.
    pub(crate) query: SchemaFunction,
    pub(crate) headers: &'static [RouteHeader],
    pub(crate) request: RequestContent,
    pub(crate) answers: &'static [RouteAnswer],
    /// The error codes, besides the codes of every route and of the request's body.
    pub(crate) codes: &'static [ErrorCode],
}

/// An optional header: name and meaning.
pub(crate) type RouteHeader = (&'static str, &'static str);

/// The content of a request's body.
pub(crate) enum RequestContent {
    Nothing,
    /// A JSON object of this shape.
    Json(SchemaFunction),
    /// A form with these parts: name and meaning.
    Form(&'static [(&'static str, &'static str)]),
    /// A JSON object of this shape, or a form with these parts.
    JsonOrForm(SchemaFunction, &'static [(&'static str, &'static str)]),
    /// A web form sent by one of Djinn's own pages.
    Page,
}

/// A response of an operation.
pub(crate) struct RouteAnswer {
    pub(crate) status: u16,
    pub(crate) body: AnswerContent,
    pub(crate) about: &'static str,
}

/// The content of a response's body.
pub(crate) enum AnswerContent {
    Nothing,
    /// A JSON object of this shape.
    Json(SchemaFunction),
    /// JSON objects, one per line.
    Lines,
    /// A stream of events, or of JoyAgent's frames.
    Stream,
    Text,
    /// A web page, or the bytes of a file.
    Bytes,
}
