//! The routes for clients of other protocols.

use djinn_core::error_code::ErrorCode::*;
use djinn_protocol::body::*;
use djinn_protocol::request::*;

use crate::operation::{OWN_RUN, Operation, QUESTION, get, post};

/// Returns the operations of other protocols.
pub(crate) fn list_client_operations() -> Vec<Operation> {
    let mut operations = vec![
        post("/AutoAgent", "askJoyAgent", "Asks a question in JoyAgent's raw protocol.")
            .body::<JoyAgentRequest>()
            .stream()
            .last_event_header()
            .errors(QUESTION),
        post(
            "/web/api/v1/gpt/queryAgentStreamIncr",
            "askJoyAgentPage",
            "Asks a question for JoyAgent's web page; errors are also sent as events.",
        )
        .body::<JoyAgentRequest>()
        .stream()
        .last_event_header()
        .errors(QUESTION),
        post(
            "/ai/chat",
            "answerAiChat",
            "Answers a question of the AI SDK's `useChat`, or takes the responses to its approvals. Streams UI message \
             chunks. An error is a sentence as plain text.",
        )
        .body::<AiChatRequest>()
        .stream()
        .errors(QUESTION),
        get(
            "/ai/chat/{chat}/stream",
            "resumeAiChat",
            "Streams the active run of a chat from its beginning.",
        )
        .query::<AiStreamQuery>()
        .stream()
        .no_content("No run of the chat is active.")
        .errors(&[RunNotFound, RunExpired, AskerOnly, ShareEnded, TooManyStreams, TooManyUserStreams]),
        post(
            "/agui",
            "serveAgUi",
            "Answers a question of a client of AG-UI, joins the run of a repeated request, or takes the responses to \
             interrupts. Streams events. An error is a sentence as plain text.",
        )
        .body::<AgUiRequest>()
        .stream()
        .errors(QUESTION)
        .errors(&[RequestNotFound, RequestStale, AskerOnly, ShareEnded]),
        post(
            "/mcp",
            "serveMcp",
            "Answers a message of a client of the Model Context Protocol. The result of a tool is an event, or JSON for a \
             client that accepts no events. An error has the form of JSON-RPC 2.0, with the usual fields in `data`.",
        )
        .body::<McpMessageRequest>()
        .answer(202, "The message was a notification.", None)
        .stream()
        .json::<McpAnswerBody>(200, "The result, or the error of an older client's request.")
        .errors(QUESTION)
        .errors(OWN_RUN),
        get(
            "/.well-known/oauth-protected-resource",
            "showResource",
            "Names the issuer of the tokens that the MCP server accepts. Exists only with `Auth=jwt`.",
        )
        .without_caller()
        .json::<ProtectedResourceBody<'_>>(200, "The issuer."),
        get(
            "/.well-known/oauth-protected-resource/mcp",
            "showMcpResource",
            "The same, at the place that follows from the URL of the MCP server.",
        )
        .without_caller()
        .json::<ProtectedResourceBody<'_>>(200, "The issuer."),
    ];
    operations.extend(list_openai_operations());
    operations.extend(list_data_operations());
    operations
}

/// Returns the operations of OpenAI's APIs.
fn list_openai_operations() -> Vec<Operation> {
    vec![
        post(
            "/v1/chat/completions",
            "completeChat",
            "Asks a question in the form of OpenAI's Chat Completions, with `stream` in chunks. An error has an object \
             `error`.",
        )
        .body::<ChatCompletionsRequest>()
        .stream()
        .json::<ChatCompletionBody<'_>>(200, "The answer, without `stream`.")
        .errors(QUESTION),
        post(
            "/v1/responses",
            "createResponse",
            "Asks a question in the form of OpenAI's Responses API, with `stream` in events. An error has an object `error`.",
        )
        .body::<ResponsesRequest>()
        .stream()
        .json::<ResponseObjectBody<'_>>(200, "The response, without `stream`.")
        .errors(QUESTION)
        .errors(&[RunNotFound, AskerOnly, ShareEnded]),
        get(
            "/v1/responses/{run}",
            "showResponse",
            "Returns a run as a response, or with `stream` its events after a place.",
        )
        .query::<ResponsesQuery>()
        .stream()
        .json::<ResponseObjectBody<'_>>(200, "The response so far, without `stream`.")
        .errors(OWN_RUN)
        .errors(&[BadCursor, TooManyStreams, TooManyUserStreams]),
        post("/v1/responses/{run}/cancel", "cancelResponse", "Stops a run, and returns its response.")
            .json::<ResponseObjectBody<'_>>(200, "The response, `cancelled` unless it had ended.")
            .errors(OWN_RUN)
            .errors(&[TooManyStreams, TooManyUserStreams]),
        get(
            "/v1/models",
            "listChatModels",
            "Lists the modes that need only a question, in the form of OpenAI's models.",
        )
        .json::<ChatModelListBody>(200, "The modes, the default mode first."),
    ]
}

/// Returns the operations of JoyAgent's data page.
fn list_data_operations() -> Vec<Operation> {
    vec![
        post(
            "/data/chatQuery",
            "askData",
            "Answers a question over the tables of the deployment with the events of JoyAgent's web page: `DEBUG`, `THINK` \
             with all text so far, `finished_stream`, `CHART_DATA`, `ERROR`, and `READY` last.",
        )
        .body::<DataRequest>()
        .stream()
        .last_event_header()
        .errors(QUESTION),
        get(
            "/data/allModels",
            "listModels",
            "Lists the caller's tables for JoyAgent's web page.",
        )
        .json::<ModelListBody>(200, "The tables in the order of their names."),
        get(
            "/data/previewData",
            "previewData",
            "Returns the first 100 rows of a table for JoyAgent's web page.",
        )
        .query::<DataPreviewQuery>()
        .json::<DataPreviewBody>(200, "The rows, or the reason for missing rows.")
        .errors(&[TableNotFound]),
    ]
}
