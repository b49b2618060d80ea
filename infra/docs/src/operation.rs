//! An operation of the contract: a route with a method.

use djinn_core::error_code::ErrorCode::{self, *};
use djinn_protocol::request::NoParameters;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Returns a type's schema, and adds referenced schemas to the contract.
pub(crate) type SchemaFunction = fn(&mut SchemaGenerator) -> Schema;

/// The error codes of every route except the health check.
const ANY_ROUTE: &[ErrorCode] = &[
    OriginRefused,
    HostRefused,
    CredentialsMissing,
    CredentialsRefused,
    NoIdentity,
    IdentityUnavailable,
    InvalidField,
    BadId,
    StoreUnavailable,
    Internal,
];

/// The error codes of every route with a body.
const ANY_BODY: &[ErrorCode] = &[InvalidJson, BodyTooLarge, UnsupportedBody, TooLong, TooLarge];

/// The errors of questions.
pub(crate) const QUESTION: &[ErrorCode] = &[
    BadFileName,
    QueryMissing,
    QueryTooLong,
    UnknownAgent,
    UnknownStyle,
    BadCursor,
    SessionNotFound,
    SessionReadOnly,
    RequestIdReused,
    SessionBusy,
    NothingToContinue,
    RunExpired,
    RequestNotFound,
    RequestResolved,
    RequestStale,
    RateLimited,
    TooManyRuns,
    TooManyStreams,
    TooManyUserStreams,
    ContentRefused,
    ContentUnchecked,
    NoModel,
];

/// The errors of the caller's own run.
pub(crate) const OWN_RUN: &[ErrorCode] = &[RunNotFound, RunExpired, AskerOnly, ShareEnded];
/// The errors of texts from users.
pub(crate) const SCREENED: &[ErrorCode] = &[ContentRefused, ContentUnchecked];

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
    /// True if the route accepts a stream's cursor as a header.
    pub(crate) has_last_event_header: bool,
    /// The accepted forms of the request's body.
    pub(crate) request: Vec<MediaContent>,
    pub(crate) answers: Vec<RouteAnswer>,
    pub(crate) codes: Vec<ErrorCode>,
    /// False for a route without a caller.
    pub(crate) has_caller: bool,
}

/// A response of an operation.
pub(crate) struct RouteAnswer {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    pub(crate) content: Option<MediaContent>,
}

/// The content of a body.
pub(crate) struct MediaContent {
    pub(crate) media_type: &'static str,
    schema: ContentSchema,
}

enum ContentSchema {
    Type(SchemaFunction),
    Value(Value),
}

impl MediaContent {
    fn json<T: JsonSchema>() -> Self {
        let schema = ContentSchema::Type(SchemaGenerator::subschema_for::<T>);
        Self { media_type: "application/json", schema }
    }

    fn new(media_type: &'static str, schema: Value) -> Self {
        Self { media_type, schema: ContentSchema::Value(schema) }
    }

    pub(crate) fn text(media_type: &'static str) -> Self {
        Self::new(media_type, json!({"type": "string"}))
    }

    /// Returns the content's schema, and adds referenced schemas to the contract.
    pub(crate) fn schema(&self, generator: &mut SchemaGenerator) -> Value {
        match &self.schema {
            ContentSchema::Type(schema) => schema(generator).to_value(),
            ContentSchema::Value(schema) => schema.clone(),
        }
    }
}

pub(crate) fn get(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation {
        method: "get",
        path,
        id,
        summary,
        query: NoParameters::json_schema,
        has_last_event_header: false,
        request: Vec::new(),
        answers: Vec::new(),
        codes: ANY_ROUTE.to_vec(),
        has_caller: true,
    }
}

pub(crate) fn post(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { method: "post", ..get(path, id, summary) }
}

pub(crate) fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { method: "delete", ..get(path, id, summary) }
}

pub(crate) fn put(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { method: "put", ..get(path, id, summary) }
}

pub(crate) fn patch(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { method: "patch", ..get(path, id, summary) }
}

impl Operation {
    /// Accepts query parameters.
    pub(crate) fn query<T: JsonSchema>(self) -> Self {
        Self { query: T::json_schema, ..self }
    }

    /// Accepts a stream's cursor as a header.
    pub(crate) fn last_event_header(self) -> Self {
        Self { has_last_event_header: true, ..self }
    }

    /// Needs no caller.
    pub(crate) fn without_caller(self) -> Self {
        Self { has_caller: false, ..self }
    }

    /// Accepts a JSON object.
    pub(crate) fn body<T: JsonSchema>(self) -> Self {
        self.request(MediaContent::json::<T>())
    }

    /// Accepts a form with these parts: name and meaning.
    pub(crate) fn form(self, parts: &[(&str, &str)]) -> Self {
        let text = |about: &str| json!({"type": "string", "description": about});
        let parts: Map<String, Value> =
            parts.iter().map(|(name, about)| ((*name).to_owned(), text(about))).collect();
        let schema = json!({"type": "object", "properties": parts});
        self.request(MediaContent::new("multipart/form-data", schema))
    }

    /// Accepts the web form of one of Djinn's own pages.
    pub(crate) fn page_form(self) -> Self {
        let schema = json!({"type": "object"});
        self.request(MediaContent::new("application/x-www-form-urlencoded", schema))
    }

    fn request(mut self, content: MediaContent) -> Self {
        self.request.push(content);
        self.errors(ANY_BODY)
    }

    /// Returns a JSON object.
    pub(crate) fn json<T: JsonSchema>(self, status: u16, about: &'static str) -> Self {
        self.answer(status, about, Some(MediaContent::json::<T>()))
    }

    /// Returns the result of a response to a human request.
    pub(crate) fn response_result<T: JsonSchema>(self) -> Self {
        self.json::<T>(200, "The run has the response.")
            .json::<T>(202, "The response is stored; the run reads it soon.")
            .errors(OWN_RUN)
            .errors(SCREENED)
            .errors(&[RequestNotFound, RequestResolved, RequestStale])
    }

    /// Returns a stream of events, or of JoyAgent's frames.
    pub(crate) fn stream(self) -> Self {
        let events = MediaContent::text("text/event-stream");
        self.answer(200, "The events of the run, until it ends.", Some(events))
    }

    /// Returns a web page.
    pub(crate) fn page(self) -> Self {
        self.answer(200, "A web page.", Some(MediaContent::new("*/*", json!({}))))
    }

    /// Returns a file, or redirects to its bytes.
    pub(crate) fn file(self) -> Self {
        self.answer(200, "The bytes of the file.", Some(MediaContent::new("*/*", json!({}))))
            .answer(302, "A redirect to the bytes, valid for a short time.", None)
    }

    /// Adds a response without content, with its meaning.
    pub(crate) fn no_content(self, meaning: &'static str) -> Self {
        self.answer(204, meaning, None)
    }

    /// Returns nothing once the value is stored.
    pub(crate) fn stored(self) -> Self {
        self.answer(204, "The value is stored.", None)
    }

    /// Returns nothing once the deletion is complete.
    pub(crate) fn deleted(self) -> Self {
        self.answer(204, "The deletion is complete.", None)
    }

    /// Returns this content.
    pub(crate) fn answer(
        mut self,
        status: u16,
        about: &'static str,
        content: Option<MediaContent>,
    ) -> Self {
        self.answers.push(RouteAnswer { status, about, content });
        self
    }

    /// Adds error codes to the codes of every route and of every body.
    pub(crate) fn errors(mut self, codes: &[ErrorCode]) -> Self {
        self.codes.extend(codes);
        self
    }
}
