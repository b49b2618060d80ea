//! Every route, and where ids go in it.

use std::collections::BTreeSet;
use std::fs;

use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall, Lit};

use crate::layout::{files_below, root};
use crate::world::Protocol;

/// One place for an id: `{id}` in what is sent. `{own}` is a run of the sender's.
pub(super) struct Case {
    pub(super) kinds: &'static [&'static str],
    pub(super) path: &'static str,
    pub(super) sent: Sent,
    pub(super) status: u16,
}

#[derive(Clone, Copy)]
pub(super) enum Sent {
    Nothing,
    Json(&'static str),
    /// A question: its stream is the sender's own, and what the model was told counts.
    Question(&'static str),
    Form(&'static str),
}

type Route = (&'static str, &'static str, &'static [Case]);

const LABELS: &[&str] = &["session", "request", "run"];
const NAMES: &[&str] = &["file", "upload"];
const SHARE: &[&str] = &["share"];

const fn case(kinds: &'static [&'static str], path: &'static str, sent: Sent, status: u16) -> Case {
    Case { kinds, path, sent, status }
}

/// First what only looks and what must not be there; then what makes something of the sender's own.
pub(super) const ROUTES: &[Route] = &[
    ("GET", "/web/health", &[]),
    ("GET", "/web/config", &[]),
    ("GET", "/.well-known/oauth-protected-resource", &[]),
    ("GET", "/.well-known/oauth-protected-resource/mcp", &[]),
    ("GET", "/data/allModels", &[]),
    (
        "GET",
        "/data/previewData",
        &[case(LABELS, "/data/previewData?modelCode={id}", Sent::Nothing, 404)],
    ),
    ("POST", "/data/chatQuery", &[]),
    ("GET", "/modes", &[]),
    ("GET", "/v1/models", &[]),
    ("GET", "/tools", &[]),
    ("GET", "/keys", &[]),
    (
        "PUT",
        "/keys/{name}",
        &[case(&["run", "share"], "/keys/{id}", Sent::Json(r#"{"value": "Mine"}"#), 404)],
    ),
    ("DELETE", "/keys/{name}", &[case(&["run", "share"], "/keys/{id}", Sent::Nothing, 404)]),
    ("GET", "/respond/{token}", &[case(LABELS, "/respond/{id}", Sent::Nothing, 404)]),
    ("POST", "/respond/{token}", &[case(LABELS, "/respond/{id}", Sent::Json("{}"), 404)]),
    ("GET", "/runs", &[case(&["run"], "/runs?cursor=1000.{id}", Sent::Nothing, 200)]),
    ("GET", "/sessions", &[case(LABELS, "/sessions?cursor=1000.{id}", Sent::Nothing, 200)]),
    ("GET", "/runs/{run}", &[case(LABELS, "/runs/{id}", Sent::Nothing, 404)]),
    (
        "GET",
        "/runs/{run}/events",
        &[
            case(LABELS, "/runs/{id}/events", Sent::Nothing, 404),
            case(&["run"], "/runs/{id}/events?after={id}:0", Sent::Nothing, 404),
            case(&["run"], "/runs/{own}/events?after={id}:0", Sent::Nothing, 400),
        ],
    ),
    (
        "GET",
        "/v1/responses/{run}",
        &[
            case(LABELS, "/v1/responses/{id}", Sent::Nothing, 404),
            case(&["run"], "/v1/responses/{id}?stream=true&starting_after=0", Sent::Nothing, 404),
        ],
    ),
    (
        "POST",
        "/v1/responses/{run}/cancel",
        &[case(LABELS, "/v1/responses/{id}/cancel", Sent::Nothing, 404)],
    ),
    ("GET", "/runs/{run}/audit", &[case(LABELS, "/runs/{id}/audit", Sent::Nothing, 404)]),
    (
        "POST",
        "/runs/{run}/messages",
        &[case(LABELS, "/runs/{id}/messages", Sent::Json(r#"{"text": "Mine"}"#), 404)],
    ),
    (
        "PATCH",
        "/runs/{run}/plan",
        &[case(
            LABELS,
            "/runs/{id}/plan",
            Sent::Json(r#"{"version": 1, "steps": [{"details": "Mine"}]}"#),
            404,
        )],
    ),
    ("GET", "/runs/{run}/requests", &[case(LABELS, "/runs/{id}/requests", Sent::Nothing, 404)]),
    (
        "POST",
        "/runs/{run}/requests/{request}/response",
        &[case(
            LABELS,
            "/runs/{id}/requests/t1.c1/response",
            Sent::Json(r#"{"response": "confirm"}"#),
            404,
        )],
    ),
    (
        "DELETE",
        "/runs/{run}/requests/{request}",
        &[case(LABELS, "/runs/{id}/requests/t1.c1", Sent::Nothing, 404)],
    ),
    (
        "POST",
        "/api/feedback/{request}",
        &[
            case(LABELS, "/api/feedback/{id}", Sent::Json(FEEDBACK), 404),
            case(SHARE, "/api/feedback/{id}", Sent::Json(FEEDBACK), 404),
        ],
    ),
    (
        "GET",
        "/api/feedback/pending/{request}",
        &[
            case(LABELS, "/api/feedback/pending/{id}", Sent::Nothing, 404),
            case(SHARE, "/api/feedback/pending/{id}", Sent::Nothing, 404),
        ],
    ),
    (
        "DELETE",
        "/api/feedback/{request}/{feedback}",
        &[
            case(LABELS, "/api/feedback/{id}/t1.c1", Sent::Nothing, 404),
            case(SHARE, "/api/feedback/{id}/t1.c1", Sent::Nothing, 404),
        ],
    ),
    ("POST", "/runs/{run}/stop", &[case(LABELS, "/runs/{id}/stop", Sent::Nothing, 404)]),
    (
        "GET",
        "/sessions/{session}",
        &[
            case(LABELS, "/sessions/{id}", Sent::Nothing, 404),
            case(SHARE, "/sessions/{id}", Sent::Nothing, 404),
        ],
    ),
    (
        "DELETE",
        "/sessions/{session}",
        &[
            case(LABELS, "/sessions/{id}", Sent::Nothing, 404),
            case(SHARE, "/sessions/{id}", Sent::Nothing, 404),
        ],
    ),
    (
        "POST",
        "/sessions/{session}/title",
        &[
            case(LABELS, "/sessions/{id}/title", Sent::Json(r#"{"title": "Mine"}"#), 404),
            case(SHARE, "/sessions/{id}/title", Sent::Json(r#"{"title": "Mine"}"#), 404),
        ],
    ),
    (
        "POST",
        "/sessions/{session}/share",
        &[
            case(LABELS, "/sessions/{id}/share", Sent::Json(r#"{"with": "carol"}"#), 404),
            case(SHARE, "/sessions/{id}/share", Sent::Json(r#"{"with": "carol"}"#), 404),
        ],
    ),
    (
        "DELETE",
        "/sessions/{session}/share/{handle}",
        &[
            case(
                LABELS,
                "/sessions/{id}/share/shr_00000000000000000000000000000001",
                Sent::Nothing,
                404,
            ),
            case(SHARE, "/sessions/s-secret/share/{id}", Sent::Nothing, 404),
            case(SHARE, "/sessions/{id}/share/{id}", Sent::Nothing, 404),
        ],
    ),
    (
        "GET",
        "/sessions/{session}/files",
        &[
            case(LABELS, "/sessions/{id}/files", Sent::Nothing, 404),
            case(NAMES, "/sessions/s-secret/files?cursor={id}", Sent::Nothing, 404),
            case(SHARE, "/sessions/{id}/files", Sent::Nothing, 404),
        ],
    ),
    (
        "POST",
        "/v1/file_tool/get_file",
        &[
            case(
                LABELS,
                "/v1/file_tool/get_file",
                Sent::Json(r#"{"requestId": "{id}", "fileName": "secret.md"}"#),
                404,
            ),
            case(
                NAMES,
                "/v1/file_tool/get_file",
                Sent::Json(r#"{"requestId": "s-secret", "fileName": "{id}"}"#),
                404,
            ),
        ],
    ),
    (
        "POST",
        "/v1/file_tool/get_file_list",
        &[
            case(
                LABELS,
                "/v1/file_tool/get_file_list",
                Sent::Json(r#"{"requestId": "{id}"}"#),
                200,
            ),
            case(SHARE, "/v1/file_tool/get_file_list", Sent::Json(r#"{"requestId": "{id}"}"#), 404),
        ],
    ),
    (
        "GET",
        "/v1/file_tool/preview/{key}/{name}",
        &[
            case(LABELS, "/v1/file_tool/preview/{id}/secret.md", Sent::Nothing, 404),
            case(NAMES, "/v1/file_tool/preview/s-secret/{id}", Sent::Nothing, 404),
            case(SHARE, "/v1/file_tool/preview/{id}/secret.md", Sent::Nothing, 404),
        ],
    ),
    (
        "GET",
        "/v1/file_tool/download/{key}/{name}",
        &[
            case(LABELS, "/v1/file_tool/download/{id}/secret.md", Sent::Nothing, 404),
            case(NAMES, "/v1/file_tool/download/q-secret/{id}", Sent::Nothing, 404),
            case(SHARE, "/v1/file_tool/download/{id}/secret.md", Sent::Nothing, 404),
        ],
    ),
    (
        "POST",
        "/v1/file_tool/upload_url",
        &[
            case(
                LABELS,
                "/v1/file_tool/upload_url",
                Sent::Json(r#"{"requestId": "{id}", "fileName": "secret.md", "fileSize": 1}"#),
                200,
            ),
            case(
                NAMES,
                "/v1/file_tool/upload_url",
                Sent::Json(r#"{"requestId": "s-secret", "fileName": "{id}", "fileSize": 1}"#),
                200,
            ),
            case(
                SHARE,
                "/v1/file_tool/upload_url",
                Sent::Json(r#"{"requestId": "{id}", "fileName": "secret.md", "fileSize": 1}"#),
                404,
            ),
        ],
    ),
    (
        "POST",
        "/v1/file_tool/upload_file",
        &[
            case(
                LABELS,
                "/v1/file_tool/upload_file",
                Sent::Json(r#"{"requestId": "{id}", "fileName": "secret.md", "content": "x"}"#),
                200,
            ),
            case(
                NAMES,
                "/v1/file_tool/upload_file",
                Sent::Json(r#"{"requestId": "s-secret", "fileName": "{id}", "content": "x"}"#),
                200,
            ),
            case(
                SHARE,
                "/v1/file_tool/upload_file",
                Sent::Json(r#"{"requestId": "{id}", "fileName": "secret.md", "content": "x"}"#),
                404,
            ),
        ],
    ),
    (
        "POST",
        "/sessions/{session}/files",
        &[
            case(
                LABELS,
                "/sessions/{id}/files",
                Sent::Json(r#"{"name": "secret.md", "content": "x"}"#),
                201,
            ),
            case(
                NAMES,
                "/sessions/s-secret/files",
                Sent::Json(r#"{"name": "{id}", "size": 1}"#),
                202,
            ),
            case(NAMES, "/sessions/s-secret/files", Sent::Form(OWN_NAME_FORM), 201),
            case(
                SHARE,
                "/sessions/{id}/files",
                Sent::Json(r#"{"name": "secret.md", "content": "x"}"#),
                404,
            ),
        ],
    ),
    (
        "POST",
        "/v1/file_tool/upload_file_data",
        &[
            case(LABELS, "/v1/file_tool/upload_file_data", Sent::Form(LABEL_FORM), 200),
            case(NAMES, "/v1/file_tool/upload_file_data", Sent::Form(NAME_FORM), 200),
            case(SHARE, "/v1/file_tool/upload_file_data", Sent::Form(LABEL_FORM), 404),
        ],
    ),
    (
        "POST",
        "/runs",
        &[
            case(
                LABELS,
                "/runs",
                Sent::Question(r#"{"question": "Mine?", "session_id": "{id}"}"#),
                200,
            ),
            case(
                LABELS,
                "/runs",
                Sent::Question(r#"{"question": "Mine?", "request_id": "{id}"}"#),
                200,
            ),
            case(SHARE, "/runs", Sent::Json(r#"{"question": "Mine?", "session_id": "{id}"}"#), 404),
        ],
    ),
    (
        "POST",
        "/v1/chat/completions",
        &[
            case(
                LABELS,
                "/v1/chat/completions",
                Sent::Question(
                    r#"{"messages": [{"role": "user", "content": "Mine?"}], "metadata": {"session_id": "{id}"}, "stream": true}"#,
                ),
                200,
            ),
            // An answer that names a run leads to no session of anybody else.
            case(
                &["run"],
                "/v1/chat/completions",
                Sent::Question(
                    r#"{"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "`{id}`"}, {"role": "user", "content": "Mine?"}], "stream": true}"#,
                ),
                200,
            ),
            case(
                SHARE,
                "/v1/chat/completions",
                Sent::Json(
                    r#"{"messages": [{"role": "user", "content": "Mine?"}], "metadata": {"session_id": "{id}"}}"#,
                ),
                404,
            ),
        ],
    ),
    (
        "POST",
        "/v1/responses",
        &[
            case(
                LABELS,
                "/v1/responses",
                Sent::Question(r#"{"input": "Mine?", "conversation": "{id}", "stream": true}"#),
                200,
            ),
            case(
                LABELS,
                "/v1/responses",
                Sent::Json(r#"{"input": "Mine?", "previous_response_id": "{id}"}"#),
                404,
            ),
            case(
                SHARE,
                "/v1/responses",
                Sent::Json(r#"{"input": "Mine?", "conversation": {"id": "{id}"}}"#),
                404,
            ),
        ],
    ),
    (
        "POST",
        "/ai/chat",
        &[
            case(
                LABELS,
                "/ai/chat",
                Sent::Question(
                    r#"{"id": "{id}", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "Mine?"}]}]}"#,
                ),
                200,
            ),
            case(
                &["run"],
                "/ai/chat",
                Sent::Json(
                    r#"{"id": "c", "messages": [{"id": "{id}", "role": "assistant", "parts": [{"type": "dynamic-tool", "state": "approval-responded", "approval": {"id": "t1.c1", "approved": true}}]}]}"#,
                ),
                404,
            ),
            case(
                SHARE,
                "/ai/chat",
                Sent::Json(
                    r#"{"id": "{id}", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "Mine?"}]}]}"#,
                ),
                404,
            ),
        ],
    ),
    (
        "POST",
        "/agui",
        &[
            case(
                LABELS,
                "/agui",
                Sent::Question(
                    r#"{"threadId": "{id}", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "Mine?"}]}"#,
                ),
                200,
            ),
            case(
                &["run"],
                "/agui",
                Sent::Json(
                    r#"{"threadId": "t", "runId": "r", "messages": [], "resume": [{"interruptId": "{id}:0:t1.c1", "status": "cancelled"}]}"#,
                ),
                404,
            ),
            case(
                SHARE,
                "/agui",
                Sent::Json(
                    r#"{"threadId": "{id}", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "Mine?"}]}"#,
                ),
                404,
            ),
        ],
    ),
    (
        "GET",
        "/ai/chat/{chat}/stream",
        &[
            case(LABELS, "/ai/chat/{id}/stream", Sent::Nothing, 204),
            case(&["run"], "/ai/chat/{id}:0/stream", Sent::Nothing, 404),
            case(SHARE, "/ai/chat/{id}/stream", Sent::Nothing, 404),
        ],
    ),
    (
        "POST",
        "/mcp",
        &[
            case(
                LABELS,
                "/mcp",
                Sent::Json(
                    r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "arguments": {"run": "{id}", "wait_s": 0}}}"#,
                ),
                200,
            ),
            case(
                LABELS,
                "/mcp",
                Sent::Json(
                    r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "say", "arguments": {"run": "{id}", "text": "Mine"}}}"#,
                ),
                200,
            ),
            case(
                LABELS,
                "/mcp",
                Sent::Json(
                    r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "stop", "arguments": {"run": "{id}"}}}"#,
                ),
                200,
            ),
            case(
                SHARE,
                "/mcp",
                Sent::Json(
                    r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"question": "Mine?", "session": "{id}"}}}"#,
                ),
                200,
            ),
        ],
    ),
    (
        "POST",
        "/AutoAgent",
        &[
            case(
                LABELS,
                "/AutoAgent",
                Sent::Question(r#"{"query": "Mine?", "sessionId": "{id}"}"#),
                200,
            ),
            case(
                LABELS,
                "/AutoAgent",
                Sent::Question(r#"{"query": "Mine?", "sessionId": "auto", "requestId": "{id}"}"#),
                200,
            ),
            case(
                SHARE,
                "/AutoAgent",
                Sent::Json(r#"{"query": "Mine?", "sessionId": "{id}"}"#),
                404,
            ),
        ],
    ),
    (
        "POST",
        "/web/api/v1/gpt/queryAgentStreamIncr",
        &[
            case(
                LABELS,
                "/web/api/v1/gpt/queryAgentStreamIncr",
                Sent::Question(r#"{"query": "Mine?", "sessionId": "{id}"}"#),
                200,
            ),
            // Its page reads no refusal but as an event.
            case(
                SHARE,
                "/web/api/v1/gpt/queryAgentStreamIncr",
                Sent::Json(r#"{"query": "Mine?", "sessionId": "{id}", "requestId": "q-mine"}"#),
                404,
            ),
        ],
    ),
];

const FEEDBACK: &str = r#"{"feedbackId": "t1.c1", "feedback": "confirm"}"#;

const LABEL_FORM: &str = "--b0\nContent-Disposition: form-data; name=\"requestId\"\n\n{id}\n--b0\n\
     Content-Disposition: form-data; name=\"file\"; filename=\"secret.md\"\n\nx\n--b0--\n";
const NAME_FORM: &str = "--b0\nContent-Disposition: form-data; name=\"requestId\"\n\ns-secret\n--b0\n\
     Content-Disposition: form-data; name=\"file\"; filename=\"{id}\"\n\nx\n--b0--\n";

const OWN_NAME_FORM: &str = "--b0\nContent-Disposition: form-data; name=\"file\"; filename=\"{id}\"\n\nx\n\
     --b0--\n";

/// The files of the web page: everybody may read them, and `tests/it/page.rs` tests them.
const PAGE: &str = "functions/agent/src/page.rs";

/// The methods and routes that the agent's sources name.
pub(crate) fn of_the_agent() -> BTreeSet<(String, String)> {
    let mut found = Found::default();
    let files = files_below("functions/agent/src").into_iter();
    for path in files.filter(|path| path.ends_with(".rs") && path != PAGE) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        found.visit_file(&syn::parse_file(&text).unwrap());
    }
    found.0
}

#[derive(Default)]
struct Found(BTreeSet<(String, String)>);

impl Visit<'_> for Found {
    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if call.method == "route" {
            let mut arguments = call.args.iter();
            let route = match arguments.next().unwrap() {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => text.value(),
                    _ => panic!("a route is a text"),
                },
                // The one that has a name of its own.
                _ => Protocol::Ui.path().to_owned(),
            };
            let mut methods = Methods(Vec::new());
            methods.visit_expr(arguments.next().unwrap());
            assert!(!methods.0.is_empty(), "{route} has no method");
            self.0.extend(methods.0.into_iter().map(|method| (method, route.clone())));
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// The methods of one route: `get(…).delete(…)`.
struct Methods(Vec<String>);

impl Methods {
    fn note(&mut self, name: &str) {
        if ["any", "delete", "get", "head", "on", "patch", "post", "put"].contains(&name) {
            self.0.push(name.to_uppercase());
        }
    }
}

impl Visit<'_> for Methods {
    fn visit_expr_call(&mut self, call: &ExprCall) {
        if let Expr::Path(function) = &*call.func {
            self.note(&function.path.segments.last().unwrap().ident.to_string());
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        self.note(&call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }
}
