//! All routes, methods, parameters and responses.

mod joyagent;

use djinn_core::error_code::ErrorCode::{self, *};
use djinn_protocol::body::{
    AcceptedBody, HumanRequestListBody, MessageBody, NewFileBody, PlanConflictBody,
    PlanVersionBody, PlanWaitingBody, ResponseBody, RunBody, RunListBody, SessionBody,
    SessionFilesBody, SessionListBody, ShareBody, StopBody, TitleBody,
};
use djinn_protocol::request::{
    FollowQuery, MessageRequest, NewFileRequest, NoParameters, PageQuery, PlanRequest,
    ResponseRequest, RunListQuery, RunRequest, ShareRequest, TitleRequest,
};
use schemars::JsonSchema;

use joyagent::JOYAGENT;

use crate::operation::{
    AnswerContent as Content, Operation, RequestContent as Request, RouteAnswer as Answer,
    RouteHeader as Header, SchemaFunction, reference,
};

/// The error codes of every route except the health check.
pub(crate) const ANY_ROUTE: &[ErrorCode] = &[
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
pub(crate) const ANY_BODY: &[ErrorCode] =
    &[InvalidJson, BodyTooLarge, UnsupportedBody, TooLong, TooLarge];

const QUESTION: &[ErrorCode] = &[
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
const RESPONSE: &[ErrorCode] = &[
    RunNotFound,
    RunExpired,
    AskerOnly,
    ShareEnded,
    RequestNotFound,
    RequestResolved,
    RequestStale,
    ContentRefused,
    ContentUnchecked,
];

/// The header with the cursor of a stream.
const LAST_EVENT: &[Header] =
    &[("Last-Event-ID", "The cursor of the last received event; later events are sent.")];

const fn json<T: JsonSchema>(status: u16, about: &'static str) -> Answer {
    Answer { status, body: Content::Json(reference::<T>), about }
}

const STREAM: Answer =
    Answer { status: 200, body: Content::Stream, about: "The events of the run, until it ends." };
const RESPONSE_TAKEN: &[Answer] = &[
    json::<ResponseBody>(200, "The run has the response."),
    json::<ResponseBody>(202, "The response is stored; the run reads it soon."),
];
const DELETED: Answer =
    Answer { status: 204, body: Content::Nothing, about: "The deletion is complete." };
const fn get(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    query: SchemaFunction,
    answers: &'static [Answer],
    codes: &'static [ErrorCode],
) -> Operation {
    Operation {
        method: "get",
        path,
        id,
        summary,
        query,
        headers: &[],
        request: Request::Nothing,
        answers,
        codes,
    }
}

const fn post(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    request: Request,
    answers: &'static [Answer],
    codes: &'static [ErrorCode],
) -> Operation {
    Operation {
        method: "post",
        path,
        id,
        summary,
        query: NoParameters::json_schema,
        headers: &[],
        request,
        answers,
        codes,
    }
}

/// Returns all operations.
pub(crate) fn list_operations() -> impl Iterator<Item = &'static Operation> {
    OWN.iter().chain(JOYAGENT)
}

/// The routes of Djinn's own protocol.
const OWN: &[Operation] = &[
    Operation {
        headers: LAST_EVENT,
        ..post(
            "/runs",
            "startRun",
            "Asks a question. With `Accept: text/event-stream` the answer is a stream.",
            Request::Json(reference::<RunRequest>),
            &[STREAM, json::<AcceptedBody>(202, "The run is at work; look up or follow the run.")],
            QUESTION,
        )
    },
    get(
        "/runs",
        "listRuns",
        "Lists the caller's runs, newest first.",
        RunListQuery::<()>::json_schema,
        &[json::<RunListBody>(200, "One page of runs.")],
        &[],
    ),
    get(
        "/runs/{run}",
        "showRun",
        "Shows a run: its status, plan, budget, answer and files.",
        NoParameters::json_schema,
        &[json::<RunBody<'static>>(200, "All data of the run.")],
        &[RunNotFound, ShareEnded],
    ),
    Operation {
        headers: LAST_EVENT,
        ..get(
            "/runs/{run}/events",
            "followRun",
            "Streams a run's events from a cursor, or from its start.",
            FollowQuery::json_schema,
            &[STREAM],
            &[RunNotFound, RunExpired, ShareEnded, BadCursor, TooManyStreams, TooManyUserStreams],
        )
    },
    post(
        "/runs/{run}/messages",
        "sendMessage",
        "Sends a message to a run at work, which reads the message at the next turn.",
        Request::Json(reference::<MessageRequest>),
        &[
            json::<MessageBody>(200, "The run has the message."),
            json::<MessageBody>(202, "The message is stored; the run reads it soon."),
        ],
        &[
            RunNotFound,
            RunEnded,
            RunExpired,
            AskerOnly,
            ShareEnded,
            ContentRefused,
            ContentUnchecked,
        ],
    ),
    Operation {
        method: "patch",
        ..post(
            "/runs/{run}/plan",
            "changePlan",
            "Changes the steps of a plan that have not started.",
            Request::Json(reference::<PlanRequest>),
            &[
                json::<PlanVersionBody<'static>>(200, "The current plan."),
                json::<PlanWaitingBody>(202, "The change is stored; the run reads it soon."),
                json::<PlanConflictBody<'static>>(
                    409,
                    "The plan changed meanwhile, or cannot change.",
                ),
            ],
            &[
                RunNotFound,
                RunEnded,
                RunExpired,
                AskerOnly,
                ShareEnded,
                NoPlan,
                PlanChanged,
                ContentRefused,
                ContentUnchecked,
            ],
        )
    },
    get(
        "/runs/{run}/audit",
        "auditRun",
        "Lists human requests and resolutions, one per line with the hash of its journal record.",
        NoParameters::json_schema,
        &[Answer { status: 200, body: Content::Lines, about: "JSON objects, one per line." }],
        &[RunNotFound, RunExpired, AskerOnly, ShareEnded, JournalAltered],
    ),
    post(
        "/runs/{run}/stop",
        "stopRun",
        "Stops a run.",
        Request::Nothing,
        &[
            json::<StopBody>(200, "The run had already ended."),
            json::<StopBody>(202, "The run stops; the end is in the run's events."),
        ],
        &[RunNotFound, RunExpired, AskerOnly, ShareEnded],
    ),
    get(
        "/runs/{run}/requests",
        "listRequests",
        "Lists a run's open human requests.",
        NoParameters::json_schema,
        &[json::<HumanRequestListBody<'static>>(200, "The open requests.")],
        &[RunNotFound, RunExpired, AskerOnly, ShareEnded],
    ),
    post(
        "/runs/{run}/requests/{request}/response",
        "respondToRequest",
        "Responds to a human request of a run, or to all requests of a group.",
        Request::Json(reference::<ResponseRequest>),
        RESPONSE_TAKEN,
        RESPONSE,
    ),
    Operation {
        method: "delete",
        ..get(
            "/runs/{run}/requests/{request}",
            "skipRequest",
            "Skips a human request of a run.",
            NoParameters::json_schema,
            RESPONSE_TAKEN,
            RESPONSE,
        )
    },
    get(
        "/sessions",
        "listSessions",
        "Lists the caller's sessions, the one with the newest question first.",
        PageQuery::<()>::json_schema,
        &[json::<SessionListBody>(200, "One page of sessions.")],
        &[],
    ),
    get(
        "/sessions/{session}",
        "showSession",
        "Shows a session: its questions, answers and files.",
        PageQuery::<()>::json_schema,
        &[json::<SessionBody<'static>>(200, "One page of questions, and the files.")],
        &[SessionNotFound],
    ),
    Operation {
        method: "delete",
        ..get(
            "/sessions/{session}",
            "deleteSession",
            "Deletes a session with its runs and files.",
            NoParameters::json_schema,
            &[DELETED],
            &[SessionNotFound, SessionBusy, OwnerOnly],
        )
    },
    get(
        "/sessions/{session}/files",
        "listFiles",
        "Lists the files of a session, by name.",
        PageQuery::<()>::json_schema,
        &[json::<SessionFilesBody<'static>>(200, "One page of files.")],
        &[SessionNotFound],
    ),
    post(
        "/sessions/{session}/files",
        "addFile",
        "Adds a file to a session: a form with the bytes, a text, or the size of a later upload.",
        Request::JsonOrForm(
            reference::<NewFileRequest>,
            &[
                ("file", "The file with its name."),
                ("description", "A description of the content; may be absent."),
            ],
        ),
        &[
            json::<NewFileBody<'static>>(201, "The stored file."),
            json::<NewFileBody<'static>>(
                202,
                "The file and the URL for the upload, valid for an hour.",
            ),
        ],
        &[
            BadFileName,
            SessionNotFound,
            SessionReadOnly,
            ContentRefused,
            ContentUnchecked,
            TooManyUploads,
        ],
    ),
    post(
        "/sessions/{session}/title",
        "nameSession",
        "Changes a session's title.",
        Request::Json(reference::<TitleRequest>),
        &[json::<TitleBody>(200, "The new title.")],
        &[SessionNotFound, OwnerOnly, ContentRefused, ContentUnchecked],
    ),
    post(
        "/sessions/{session}/share",
        "shareSession",
        "Shares a session with a user of the same tenant, or all of them.",
        Request::Json(reference::<ShareRequest>),
        &[json::<ShareBody>(201, "The share and its handle.")],
        &[SessionNotFound, OwnerOnly, TooManyShares],
    ),
    Operation {
        method: "delete",
        ..get(
            "/sessions/{session}/share/{handle}",
            "endShare",
            "Ends a share.",
            NoParameters::json_schema,
            &[DELETED],
            &[SessionNotFound, ShareNotFound, OwnerOnly],
        )
    },
];
