//! All routes, methods, parameters and responses.

use djinn_core::error_code::ErrorCode::{self, *};
use djinn_protocol::body::*;
use djinn_protocol::request::*;

use crate::client_routes::list_client_operations;
use crate::operation::{
    MediaContent, OWN_RUN, Operation, QUESTION, SCREENED, delete, get, patch, post, put,
};

/// The errors of new files, besides the errors of texts.
const UPLOAD: &[ErrorCode] = &[BadFileName, SessionNotFound, SessionReadOnly];

/// Returns all operations.
pub(crate) fn list_operations() -> Vec<Operation> {
    let subjects = [
        run_operations(),
        key_operations(),
        session_operations(),
        file_operations(),
        other_operations(),
        list_client_operations(),
    ];
    subjects.into_iter().flatten().collect()
}

/// Returns the operations of runs.
fn run_operations() -> Vec<Operation> {
    vec![
        post(
            "/runs",
            "startRun",
            "Asks a question. With `Accept: text/event-stream` the answer is a stream.",
        )
        .last_event_header()
        .body::<RunRequest>()
        .stream()
        .json::<AcceptedBody>(202, "The run is at work; look up or follow the run.")
        .errors(QUESTION),
        get(
            "/modes",
            "listModes",
            "Lists the modes that a question can name, the default mode first.",
        )
        .json::<ModeListBody>(200, "The modes."),
        get(
            "/tools",
            "listTools",
            "Lists the tools of the caller's runs, and the files that are no tools of them.",
        )
        .json::<ToolListBody>(200, "The tools."),
        get("/runs", "listRuns", "Lists the caller's runs, newest first.")
            .query::<RunListQuery<()>>()
            .json::<RunListBody>(200, "One page of runs."),
        get("/runs/{run}", "showRun", "Shows a run: its status, plan, budget, answer and files.")
            .json::<RunBody<'static>>(200, "All data of the run.")
            .errors(&[RunNotFound, ShareEnded]),
        get(
            "/runs/{run}/events",
            "followRun",
            "Streams a run's events from a cursor, or from its start.",
        )
        .last_event_header()
        .query::<FollowQuery>()
        .stream()
        .errors(&[
            RunNotFound,
            RunExpired,
            ShareEnded,
            BadCursor,
            TooManyStreams,
            TooManyUserStreams,
        ]),
        post(
            "/runs/{run}/messages",
            "sendMessage",
            "Sends a message to a run at work, which reads the message at the next turn.",
        )
        .body::<MessageRequest>()
        .json::<MessageBody>(200, "The run has the message.")
        .json::<MessageBody>(202, "The message is stored; the run reads it soon.")
        .errors(OWN_RUN)
        .errors(SCREENED)
        .errors(&[RunEnded]),
        patch(
            "/runs/{run}/plan",
            "changePlan",
            "Changes the steps of a plan that have not started.",
        )
        .body::<PlanRequest>()
        .json::<PlanVersionBody<'static>>(200, "The current plan.")
        .json::<PlanWaitingBody>(202, "The change is stored; the run reads it soon.")
        .json::<PlanConflictBody<'static>>(409, "The plan changed meanwhile, or cannot change.")
        .errors(OWN_RUN)
        .errors(SCREENED)
        .errors(&[RunEnded, NoPlan, PlanChanged]),
        get(
            "/runs/{run}/audit",
            "auditRun",
            "Lists human requests and resolutions, one per line with the hash of its \
             journal record.",
        )
        .answer(
            200,
            "JSON objects, one per line.",
            Some(MediaContent::text("application/x-ndjson")),
        )
        .errors(OWN_RUN)
        .errors(&[JournalAltered]),
        post("/runs/{run}/stop", "stopRun", "Stops a run.")
            .json::<StopBody>(200, "The run had already ended.")
            .json::<StopBody>(202, "The run stops; the end is in the run's events.")
            .errors(OWN_RUN),
        get("/runs/{run}/requests", "listRequests", "Lists a run's open human requests.")
            .json::<HumanRequestListBody<'static>>(200, "The open requests.")
            .errors(OWN_RUN),
        post(
            "/runs/{run}/requests/{request}/response",
            "respondToRequest",
            "Responds to a human request of a run, or to all requests of a group.",
        )
        .body::<ResponseRequest>()
        .response_result::<ResponseBody>(),
        delete("/runs/{run}/requests/{request}", "skipRequest", "Skips a human request of a run.")
            .response_result::<ResponseBody>(),
    ]
}

/// Returns the operations of users' keys for tools.
fn key_operations() -> Vec<Operation> {
    vec![
        get("/keys", "listKeys", "Lists the caller's keys for tools, never with a value.")
            .json::<KeyListBody>(200, "The keys that tools need, and those that are set."),
        put("/keys/{name}", "setKey", "Stores a key of the caller for tools. No route returns it.")
            .body::<KeyRequest>()
            .stored()
            .errors(&[TooLong, KeyNotFound, TooManyKeys, KeysUnavailable]),
        delete("/keys/{name}", "deleteKey", "Deletes the caller's keys of this name.")
            .deleted()
            .errors(&[KeyNotFound]),
    ]
}

/// Returns the operations of sessions.
fn session_operations() -> Vec<Operation> {
    vec![
        get(
            "/sessions",
            "listSessions",
            "Lists the caller's sessions, the one with the newest question first.",
        )
        .query::<PageQuery<()>>()
        .json::<SessionListBody>(200, "One page of sessions."),
        get(
            "/sessions/{session}",
            "showSession",
            "Shows a session: its questions, answers and files.",
        )
        .query::<PageQuery<()>>()
        .json::<SessionBody<'static>>(200, "One page of questions, and the files.")
        .errors(&[SessionNotFound]),
        delete(
            "/sessions/{session}",
            "deleteSession",
            "Deletes a session with its runs and files.",
        )
        .deleted()
        .errors(&[SessionNotFound, SessionBusy, OwnerOnly]),
        get("/sessions/{session}/files", "listFiles", "Lists the files of a session, by name.")
            .query::<PageQuery<()>>()
            .json::<SessionFilesBody<'static>>(200, "One page of files.")
            .errors(&[SessionNotFound]),
        post(
            "/sessions/{session}/files",
            "addFile",
            "Adds a file to a session: a form with the bytes, a text, or the size of a \
             later upload.",
        )
        .body::<NewFileRequest>()
        .form(&[
            ("file", "The file with its name."),
            ("description", "A description of the content; may be absent."),
        ])
        .json::<NewFileBody<'static>>(201, "The stored file.")
        .json::<NewFileBody<'static>>(
            202,
            "The file and the URL for the upload, valid for an hour.",
        )
        .errors(UPLOAD)
        .errors(SCREENED)
        .errors(&[TooManyUploads]),
        post("/sessions/{session}/title", "nameSession", "Changes a session's title.")
            .body::<TitleRequest>()
            .json::<TitleBody>(200, "The new title.")
            .errors(SCREENED)
            .errors(&[SessionNotFound, OwnerOnly]),
        post(
            "/sessions/{session}/share",
            "shareSession",
            "Shares a session with a user of the same tenant, or all of them.",
        )
        .body::<ShareRequest>()
        .json::<ShareBody>(201, "The share and its handle.")
        .errors(&[SessionNotFound, OwnerOnly, TooManyShares]),
        delete("/sessions/{session}/share/{handle}", "endShare", "Ends a share.")
            .deleted()
            .errors(&[SessionNotFound, ShareNotFound, OwnerOnly]),
    ]
}

/// Returns the operations of JoyAgent's file service.
fn file_operations() -> Vec<Operation> {
    vec![
        post(
            "/v1/file_tool/upload_url",
            "announceJoyAgentFile",
            "Announces a file, and returns the URL for the upload.",
        )
        .body::<AnnounceRequest>()
        .json::<UploadTargetBody>(200, "The upload target, valid for an hour.")
        .errors(UPLOAD)
        .errors(SCREENED)
        .errors(&[TooManyUploads]),
        post("/v1/file_tool/upload_file", "uploadJoyAgentText", "Creates a file from a text.")
            .body::<UploadRequest>()
            .json::<UploadBody>(200, "The location of the file.")
            .errors(UPLOAD)
            .errors(SCREENED),
        post(
            "/v1/file_tool/upload_file_data",
            "uploadJoyAgentForm",
            "Creates a file from the bytes in a form.",
        )
        .form(&[
            ("requestId", "The session, or one of the session's requests."),
            ("file", "The file with its name."),
            ("description", "A description of the content; may be absent."),
        ])
        .json::<UploadBody>(200, "The location of the file.")
        .errors(UPLOAD)
        .errors(SCREENED),
        post("/v1/file_tool/get_file", "findJoyAgentFile", "Finds a file of a session.")
            .body::<FileRequest>()
            .json::<FileLocationBody>(200, "The location of the file.")
            .errors(&[BadFileName, SessionNotFound, FileNotFound]),
        post("/v1/file_tool/get_file_list", "listJoyAgentFiles", "Lists the files of a session.")
            .body::<FileListRequest>()
            .json::<FileListBody>(200, "One page of files.")
            .errors(&[SessionNotFound]),
        get(
            "/v1/file_tool/preview/{key}/{name}",
            "previewFile",
            "Shows a file; `key` is the session, one of its requests, or the token of \
             a signed link.",
        )
        .file()
        .errors(&[BadFileName, SessionNotFound, FileNotFound, LinkNotFound, LinkExpired]),
        get(
            "/v1/file_tool/download/{key}/{name}",
            "downloadFile",
            "Downloads a file; `key` as for a preview.",
        )
        .file()
        .errors(&[BadFileName, SessionNotFound, FileNotFound, LinkNotFound, LinkExpired]),
    ]
}

/// Returns the operations of JoyAgent's other clients, of links, and of the deployment.
fn other_operations() -> Vec<Operation> {
    vec![
        get(
            "/api/feedback/pending/{request}",
            "listJoyAgentRequests",
            "Lists a run's open human requests, by the run's id, request or session.",
        )
        .json::<PendingBody<'static>>(200, "The open requests.")
        .errors(OWN_RUN)
        .errors(&[SessionNotFound]),
        post(
            "/api/feedback/{request}",
            "giveJoyAgentFeedback",
            "Responds to a human request of a run.",
        )
        .body::<FeedbackRequest>()
        .response_result::<FeedbackBody>(),
        delete(
            "/api/feedback/{request}/{feedback}",
            "cancelJoyAgentFeedback",
            "Skips a human request of a run.",
        )
        .response_result::<FeedbackBody>(),
        get(
            "/respond/{token}",
            "showLink",
            "Shows the human request of a signed link to any holder of the link.",
        )
        .page()
        .without_caller()
        .errors(&[LinkNotFound, LinkExpired, RequestClosed, RequestResolved, RunExpired]),
        post("/respond/{token}", "answerLink", "Responds to the human request of a signed link.")
            .page_form()
            .page()
            .without_caller()
            .errors(SCREENED)
            .errors(&[
                LinkNotFound,
                LinkExpired,
                RequestClosed,
                RequestResolved,
                RequestStale,
                RunExpired,
                TooManyKeys,
                KeysUnavailable,
            ]),
        Operation {
            codes: Vec::new(),
            ..get(
                "/web/health",
                "checkHealth",
                "Confirms that the function runs, without further checks.",
            )
            .answer(200, "The text `ok`.", Some(MediaContent::text("text/plain")))
            .without_caller()
        },
        Operation {
            codes: vec![InvalidField],
            ..get(
                "/web/config",
                "showPageConfig",
                "Returns the facts that the web page needs before a user signs in.",
            )
            .json::<PageConfigBody<'_>>(200, "The facts.")
            .without_caller()
        },
    ]
}
