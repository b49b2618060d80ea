//! All routes, methods, parameters and responses.

mod joyagent;

use djinn_core::error_code::ErrorCode::{self, *};

use joyagent::JOYAGENT;

use crate::operation::{
    AnswerContent as Content, Operation, RequestContent as Request, RouteAnswer as Answer,
    RouteParameter as Parameter,
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

const LAST_EVENT: Parameter = Parameter {
    name: "Last-Event-ID",
    place: "header",
    about: "The cursor of the last received event; later events are sent.",
};
const AFTER: Parameter = Parameter {
    name: "after",
    place: "query",
    about: "The same cursor, for clients without the header. The header takes precedence.",
};
const LIMIT: Parameter =
    Parameter { name: "limit", place: "query", about: "Items per page, 1 to 100 (default 20)." };
const CURSOR: Parameter =
    Parameter { name: "cursor", place: "query", about: "The `next` of the previous page." };
const STATUS: Parameter = Parameter {
    name: "status",
    place: "query",
    about: "Only runs with this status: queued, running, paused, finished, failed or stopped.",
};

const fn json(status: u16, shape: &'static str, about: &'static str) -> Answer {
    Answer { status, body: Content::Json(shape), about }
}

const STREAM: Answer =
    Answer { status: 200, body: Content::Stream, about: "The events of the run, until it ends." };
const RESPONSE_TAKEN: &[Answer] = &[
    json(200, "ResponseBody", "The run has the response."),
    json(202, "ResponseBody", "The response is stored; the run reads it soon."),
];
const DELETED: Answer =
    Answer { status: 204, body: Content::Nothing, about: "The deletion is complete." };
const fn get(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    query: &'static [Parameter],
    answers: &'static [Answer],
    codes: &'static [ErrorCode],
) -> Operation {
    Operation { method: "get", path, id, summary, query, request: Request::Nothing, answers, codes }
}

const fn post(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    request: Request,
    answers: &'static [Answer],
    codes: &'static [ErrorCode],
) -> Operation {
    Operation { method: "post", path, id, summary, query: &[], request, answers, codes }
}

/// Returns all operations.
pub(crate) fn list_operations() -> impl Iterator<Item = &'static Operation> {
    OWN.iter().chain(JOYAGENT)
}

/// The routes of Djinn's own protocol.
const OWN: &[Operation] = &[
    Operation {
        query: &[LAST_EVENT],
        ..post(
            "/runs",
            "startRun",
            "Asks a question. With `Accept: text/event-stream` the answer is a stream.",
            Request::Json("RunRequest"),
            &[STREAM, json(202, "AcceptedBody", "The run is at work; look up or follow the run.")],
            QUESTION,
        )
    },
    get(
        "/runs",
        "listRuns",
        "Lists the caller's runs, newest first.",
        &[STATUS, LIMIT, CURSOR],
        &[json(200, "RunListBody", "One page of runs.")],
        &[],
    ),
    get(
        "/runs/{run}",
        "showRun",
        "Shows a run: its status, plan, budget, answer and files.",
        &[],
        &[json(200, "RunBody", "All data of the run.")],
        &[RunNotFound, ShareEnded],
    ),
    get(
        "/runs/{run}/events",
        "followRun",
        "Streams a run's events from a cursor, or from its start.",
        &[LAST_EVENT, AFTER],
        &[STREAM],
        &[RunNotFound, RunExpired, ShareEnded, BadCursor, TooManyStreams, TooManyUserStreams],
    ),
    post(
        "/runs/{run}/messages",
        "sendMessage",
        "Sends a message to a run at work, which reads the message at the next turn.",
        Request::Json("MessageRequest"),
        &[
            json(200, "MessageBody", "The run has the message."),
            json(202, "MessageBody", "The message is stored; the run reads it soon."),
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
            Request::Json("PlanRequest"),
            &[
                json(200, "PlanVersionBody", "The current plan."),
                json(202, "PlanWaitingBody", "The change is stored; the run reads it soon."),
                json(409, "PlanConflictBody", "The plan changed meanwhile, or cannot change."),
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
        "Lists human requests and resolutions, one per line with the hash of the previous line.",
        &[],
        &[Answer { status: 200, body: Content::Lines, about: "JSON objects, one per line." }],
        &[RunNotFound, RunExpired, AskerOnly, ShareEnded],
    ),
    post(
        "/runs/{run}/stop",
        "stopRun",
        "Stops a run.",
        Request::Nothing,
        &[
            json(200, "StopBody", "The run had already ended."),
            json(202, "StopBody", "The run stops; the end is in the run's events."),
        ],
        &[RunNotFound, RunExpired, AskerOnly, ShareEnded],
    ),
    get(
        "/runs/{run}/requests",
        "listRequests",
        "Lists a run's open human requests.",
        &[],
        &[json(200, "HumanRequestListBody", "The open requests.")],
        &[RunNotFound, RunExpired, AskerOnly, ShareEnded],
    ),
    post(
        "/runs/{run}/requests/{request}/response",
        "respondToRequest",
        "Responds to a human request of a run, or to all requests of a group.",
        Request::Json("ResponseRequest"),
        RESPONSE_TAKEN,
        RESPONSE,
    ),
    Operation {
        method: "delete",
        ..get(
            "/runs/{run}/requests/{request}",
            "skipRequest",
            "Skips a human request of a run.",
            &[],
            RESPONSE_TAKEN,
            RESPONSE,
        )
    },
    get(
        "/sessions",
        "listSessions",
        "Lists the caller's sessions, the one with the newest question first.",
        &[LIMIT, CURSOR],
        &[json(200, "SessionListBody", "One page of sessions.")],
        &[],
    ),
    get(
        "/sessions/{session}",
        "showSession",
        "Shows a session: its questions, answers and files.",
        &[LIMIT, CURSOR],
        &[json(200, "SessionBody", "One page of questions, and the files.")],
        &[SessionNotFound],
    ),
    Operation {
        method: "delete",
        ..get(
            "/sessions/{session}",
            "deleteSession",
            "Deletes a session with its runs and files.",
            &[],
            &[DELETED],
            &[SessionNotFound, SessionBusy, OwnerOnly],
        )
    },
    get(
        "/sessions/{session}/files",
        "listFiles",
        "Lists the files of a session, by name.",
        &[LIMIT, CURSOR],
        &[json(200, "SessionFilesBody", "One page of files.")],
        &[SessionNotFound],
    ),
    post(
        "/sessions/{session}/files",
        "addFile",
        "Adds a file to a session: a form with the bytes, a text, or the size of a later upload.",
        Request::JsonOrForm(
            "NewFileRequest",
            &[
                ("file", "The file with its name."),
                ("description", "A description of the content; may be absent."),
            ],
        ),
        &[
            json(201, "NewFileBody", "The stored file."),
            json(202, "NewFileBody", "The file and the URL for the upload, valid for an hour."),
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
        Request::Json("TitleRequest"),
        &[json(200, "TitleBody", "The new title.")],
        &[SessionNotFound, OwnerOnly, ContentRefused, ContentUnchecked],
    ),
    post(
        "/sessions/{session}/share",
        "shareSession",
        "Shares a session with a user of the same tenant, or all of them.",
        Request::Json("ShareRequest"),
        &[json(201, "ShareBody", "The share and its handle.")],
        &[SessionNotFound, OwnerOnly, TooManyShares],
    ),
    Operation {
        method: "delete",
        ..get(
            "/sessions/{session}/share/{handle}",
            "endShare",
            "Ends a share.",
            &[],
            &[DELETED],
            &[SessionNotFound, ShareNotFound, OwnerOnly],
        )
    },
];
