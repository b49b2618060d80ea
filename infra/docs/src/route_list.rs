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
    FeedbackNotFound,
    FeedbackAnswered,
    FeedbackStale,
    RateLimited,
    TooManyRuns,
    TooManyStreams,
    TooManyUserStreams,
    ContentRefused,
    ContentUnchecked,
    NoModel,
];
const ANSWER: &[ErrorCode] = &[
    RunNotFound,
    RunExpired,
    AskerOnly,
    ShareEnded,
    FeedbackNotFound,
    FeedbackAnswered,
    FeedbackStale,
    ContentRefused,
    ContentUnchecked,
];

const LAST_EVENT: Parameter = Parameter {
    name: "Last-Event-ID",
    place: "header",
    about: "The cursor of the last event that was seen: what follows it is sent.",
};
const AFTER: Parameter = Parameter {
    name: "after",
    place: "query",
    about: "The same, for clients that cannot send the header, which counts if both are there.",
};
const LIMIT: Parameter =
    Parameter { name: "limit", place: "query", about: "How many stand on a page, 1 to 100; 20." };
const CURSOR: Parameter =
    Parameter { name: "cursor", place: "query", about: "The `next` of the page before." };
const STATUS: Parameter = Parameter {
    name: "status",
    place: "query",
    about: "Runs of this status alone: queued, running, paused, finished, failed or stopped.",
};

const fn json(status: u16, shape: &'static str, about: &'static str) -> Answer {
    Answer { status, body: Content::Json(shape), about }
}

const STREAM: Answer =
    Answer { status: 200, body: Content::Stream, about: "The events of the run, until it ends." };
const DELETED: Answer =
    Answer { status: 204, body: Content::Nothing, about: "Nothing of it is left." };
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
            &[STREAM, json(202, "AcceptedBody", "The run is at work; look it up or follow it.")],
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
        &[json(200, "RunBody", "All that is known of it.")],
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
        "Says something to a run at work, which reads it at its next turn.",
        Request::Json("MessageRequest"),
        &[
            json(200, "MessageBody", "The run has it."),
            json(202, "MessageBody", "It is stored; the run reads it soon."),
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
            "Changes the steps of a plan that have not begun.",
            Request::Json("PlanRequest"),
            &[
                json(200, "PlanVersionBody", "The plan as it is now."),
                json(202, "PlanWaitingBody", "It is stored; the run reads it soon."),
                json(409, "PlanConflictBody", "The plan is another by now, or cannot be changed."),
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
        "Lists what people were asked and decided, a line each that vouches for the one before.",
        &[],
        &[Answer { status: 200, body: Content::Lines, about: "JSON objects, one a line." }],
        &[RunNotFound, RunExpired, AskerOnly, ShareEnded],
    ),
    post(
        "/runs/{run}/stop",
        "stopRun",
        "Stops a run.",
        Request::Nothing,
        &[
            json(200, "StopBody", "It had ended before."),
            json(202, "StopBody", "It stops; its end is in its events."),
        ],
        &[RunNotFound, RunExpired, AskerOnly, ShareEnded],
    ),
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
        &[json(200, "SessionBody", "One page of its questions, and its files.")],
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
    post(
        "/sessions/{session}/title",
        "nameSession",
        "Gives a session another title.",
        Request::Json("TitleRequest"),
        &[json(200, "TitleBody", "The title as it is now.")],
        &[SessionNotFound, OwnerOnly, ContentRefused, ContentUnchecked],
    ),
    post(
        "/sessions/{session}/share",
        "shareSession",
        "Shares a session with somebody of the same tenant.",
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
    get(
        "/api/feedback/pending/{request}",
        "listRequests",
        "Lists what a run asks people, by the run's id, its request or its session.",
        &[],
        &[json(200, "PendingBody", "What is asked and not answered.")],
        &[RunNotFound, RunExpired, SessionNotFound, AskerOnly, ShareEnded],
    ),
    post(
        "/api/feedback/{request}",
        "answerRequest",
        "Answers something that a run asks.",
        Request::Json("FeedbackRequest"),
        &[
            json(200, "FeedbackBody", "It is decided."),
            json(202, "FeedbackBody", "It is stored; the run reads it soon."),
        ],
        ANSWER,
    ),
    Operation {
        method: "delete",
        ..get(
            "/api/feedback/{request}/{feedback}",
            "skipRequest",
            "Skips something that a run asks.",
            &[],
            &[
                json(200, "FeedbackBody", "It is decided."),
                json(202, "FeedbackBody", "It is stored; the run reads it soon."),
            ],
            ANSWER,
        )
    },
];
