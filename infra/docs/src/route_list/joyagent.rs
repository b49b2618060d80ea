//! The routes of files, of users' links, and of JoyAgent's clients.

use djinn_core::error_code::ErrorCode::{self, *};
use djinn_protocol::body::{
    FeedbackBody, FileListBody, FileLocationBody, ModelListBody, PendingBody, UploadBody,
    UploadTargetBody,
};
use djinn_protocol::request::{
    AnnounceRequest, DataRequest, FeedbackRequest, FileListRequest, FileRequest, JoyAgentRequest,
    NoParameters, UploadRequest,
};

use super::{LAST_EVENT, QUESTION, RESPONSE, STREAM, get, json, post};
use schemars::JsonSchema as _;

use crate::operation::{
    AnswerContent as Content, Operation, RequestContent as Request, RouteAnswer as Answer,
    reference,
};

const UPLOAD: &[ErrorCode] =
    &[BadFileName, SessionNotFound, SessionReadOnly, ContentRefused, ContentUnchecked];
const PAGE: Answer = Answer { status: 200, body: Content::Bytes, about: "A web page." };
const BYTES: Answer = Answer { status: 200, body: Content::Bytes, about: "The bytes of the file." };
const REDIRECT: Answer = Answer {
    status: 302,
    body: Content::Nothing,
    about: "A redirect to the bytes, valid for a short time.",
};

const FEEDBACK_TAKEN: &[Answer] = &[
    json::<FeedbackBody>(200, "The run has the response."),
    json::<FeedbackBody>(202, "The response is stored; the run reads it soon."),
];

/// The routes of files, links and JoyAgent's clients.
pub(super) const JOYAGENT: &[Operation] = &[
    post(
        "/v1/file_tool/upload_url",
        "announceJoyAgentFile",
        "Announces a file, and returns the URL for the upload.",
        Request::Json(reference::<AnnounceRequest>),
        &[json::<UploadTargetBody>(200, "The upload target, valid for an hour.")],
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
        "/v1/file_tool/upload_file",
        "uploadJoyAgentText",
        "Creates a file from a text.",
        Request::Json(reference::<UploadRequest>),
        &[json::<UploadBody>(200, "The location of the file.")],
        UPLOAD,
    ),
    post(
        "/v1/file_tool/upload_file_data",
        "uploadJoyAgentForm",
        "Creates a file from the bytes in a form.",
        Request::Form(&[
            ("requestId", "The session, or one of the session's requests."),
            ("file", "The file with its name."),
            ("description", "A description of the content; may be absent."),
        ]),
        &[json::<UploadBody>(200, "The location of the file.")],
        UPLOAD,
    ),
    post(
        "/v1/file_tool/get_file",
        "findJoyAgentFile",
        "Finds a file of a session.",
        Request::Json(reference::<FileRequest>),
        &[json::<FileLocationBody>(200, "The location of the file.")],
        &[BadFileName, SessionNotFound, FileNotFound],
    ),
    post(
        "/v1/file_tool/get_file_list",
        "listJoyAgentFiles",
        "Lists the files of a session.",
        Request::Json(reference::<FileListRequest>),
        &[json::<FileListBody>(200, "One page of files.")],
        &[SessionNotFound],
    ),
    get(
        "/v1/file_tool/preview/{key}/{name}",
        "previewFile",
        "Shows a file; `key` is the session, one of its requests, or the token of a signed link.",
        NoParameters::json_schema,
        &[BYTES, REDIRECT],
        &[BadFileName, SessionNotFound, FileNotFound, LinkNotFound, LinkExpired],
    ),
    get(
        "/v1/file_tool/download/{key}/{name}",
        "downloadFile",
        "Downloads a file; `key` as for a preview.",
        NoParameters::json_schema,
        &[BYTES, REDIRECT],
        &[BadFileName, SessionNotFound, FileNotFound, LinkNotFound, LinkExpired],
    ),
    get(
        "/api/feedback/pending/{request}",
        "listJoyAgentRequests",
        "Lists a run's open human requests, by the run's id, request or session.",
        NoParameters::json_schema,
        &[json::<PendingBody<'static>>(200, "The open requests.")],
        &[RunNotFound, RunExpired, SessionNotFound, AskerOnly, ShareEnded],
    ),
    post(
        "/api/feedback/{request}",
        "giveJoyAgentFeedback",
        "Responds to a human request of a run.",
        Request::Json(reference::<FeedbackRequest>),
        FEEDBACK_TAKEN,
        RESPONSE,
    ),
    Operation {
        method: "delete",
        ..get(
            "/api/feedback/{request}/{feedback}",
            "cancelJoyAgentFeedback",
            "Skips a human request of a run.",
            NoParameters::json_schema,
            FEEDBACK_TAKEN,
            RESPONSE,
        )
    },
    get(
        "/respond/{token}",
        "showLink",
        "Shows the human request of a signed link to any holder of the link.",
        NoParameters::json_schema,
        &[PAGE],
        &[LinkNotFound, LinkExpired, RequestClosed, RequestResolved, RunExpired],
    ),
    post(
        "/respond/{token}",
        "answerLink",
        "Responds to the human request of a signed link.",
        Request::Page,
        &[PAGE],
        &[
            LinkNotFound,
            LinkExpired,
            RequestClosed,
            RequestResolved,
            RequestStale,
            RunExpired,
            ContentRefused,
            ContentUnchecked,
        ],
    ),
    get(
        "/web/health",
        "checkHealth",
        "Confirms that the function runs, without further checks.",
        NoParameters::json_schema,
        &[Answer { status: 200, body: Content::Text, about: "The text `ok`." }],
        &[],
    ),
    Operation {
        headers: LAST_EVENT,
        ..post(
            "/AutoAgent",
            "askJoyAgent",
            "Asks a question in JoyAgent's raw protocol.",
            Request::Json(reference::<JoyAgentRequest>),
            &[STREAM],
            QUESTION,
        )
    },
    Operation {
        headers: LAST_EVENT,
        ..post(
            "/web/api/v1/gpt/queryAgentStreamIncr",
            "askJoyAgentPage",
            "Asks a question for JoyAgent's web page; errors are also sent as events.",
            Request::Json(reference::<JoyAgentRequest>),
            &[STREAM],
            QUESTION,
        )
    },
    post(
        "/data/chatQuery",
        "askData",
        "Tells JoyAgent's web page that data questions are not supported yet.",
        Request::Json(reference::<DataRequest>),
        &[STREAM],
        &[QueryMissing, QueryTooLong],
    ),
    get(
        "/data/allModels",
        "listModels",
        "Returns an empty list of models, required by JoyAgent's web page.",
        NoParameters::json_schema,
        &[json::<ModelListBody>(200, "An empty list.")],
        &[],
    ),
];
