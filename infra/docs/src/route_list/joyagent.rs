//! The routes of files, of users' links, and of JoyAgent's clients.

use djinn_core::error_code::ErrorCode::{self, *};

use super::{LAST_EVENT, QUESTION, STREAM, get, json, post};
use crate::operation::{
    AnswerContent as Content, Operation, RequestContent as Request, RouteAnswer as Answer,
};

const UPLOAD: &[ErrorCode] =
    &[BadFileName, SessionNotFound, SessionReadOnly, ContentRefused, ContentUnchecked];
const PAGE: Answer = Answer { status: 200, body: Content::Bytes, about: "A page for a person." };
const BYTES: Answer = Answer { status: 200, body: Content::Bytes, about: "The bytes of the file." };
const REDIRECT: Answer = Answer {
    status: 302,
    body: Content::Nothing,
    about: "Where its bytes are, for a short while.",
};

/// The routes of files, links and JoyAgent's clients.
pub(super) const JOYAGENT: &[Operation] = &[
    post(
        "/v1/file_tool/upload_url",
        "announceFile",
        "Announces a file, and says where its bytes are to be put.",
        Request::Json("AnnounceRequest"),
        &[json(200, "UploadTargetBody", "Where to put it, within an hour.")],
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
        "uploadText",
        "Makes a file of a text.",
        Request::Json("UploadRequest"),
        &[json(200, "UploadBody", "Where it is.")],
        UPLOAD,
    ),
    post(
        "/v1/file_tool/upload_file_data",
        "uploadForm",
        "Makes a file of the bytes in a form.",
        Request::Form(&[
            ("requestId", "The session, or a request of it."),
            ("file", "The file with its name."),
            ("description", "What it holds; may be absent."),
        ]),
        &[json(200, "UploadBody", "Where it is.")],
        UPLOAD,
    ),
    post(
        "/v1/file_tool/get_file",
        "findFile",
        "Finds a file of a session.",
        Request::Json("FileRequest"),
        &[json(200, "FileLocationBody", "Where it is.")],
        &[BadFileName, SessionNotFound, FileNotFound],
    ),
    post(
        "/v1/file_tool/get_file_list",
        "listFiles",
        "Lists the files of a session.",
        Request::Json("FileListRequest"),
        &[json(200, "FileListBody", "One page of files.")],
        &[SessionNotFound],
    ),
    get(
        "/v1/file_tool/preview/{key}/{name}",
        "previewFile",
        "Shows a file; `key` is its session, a request of it, or the token of a signed link.",
        &[],
        &[BYTES, REDIRECT],
        &[BadFileName, SessionNotFound, FileNotFound, LinkNotFound, LinkExpired],
    ),
    get(
        "/v1/file_tool/download/{key}/{name}",
        "downloadFile",
        "Hands a file over to be saved; `key` as of a preview.",
        &[],
        &[BYTES, REDIRECT],
        &[BadFileName, SessionNotFound, FileNotFound, LinkNotFound, LinkExpired],
    ),
    get(
        "/answer/{token}",
        "showLink",
        "Shows what a signed link asks, to whoever has it.",
        &[],
        &[PAGE],
        &[LinkNotFound, LinkExpired, FeedbackOver, FeedbackAnswered, RunExpired],
    ),
    post(
        "/answer/{token}",
        "answerLink",
        "Answers what a signed link asks.",
        Request::Page,
        &[PAGE],
        &[
            LinkNotFound,
            LinkExpired,
            FeedbackOver,
            FeedbackAnswered,
            FeedbackStale,
            RunExpired,
            ContentRefused,
            ContentUnchecked,
        ],
    ),
    get(
        "/web/health",
        "checkHealth",
        "Says that the function runs, and looks at nothing else.",
        &[],
        &[Answer { status: 200, body: Content::Text, about: "The text `ok`." }],
        &[],
    ),
    Operation {
        query: &[LAST_EVENT],
        ..post(
            "/AutoAgent",
            "askJoyAgent",
            "Asks a question in JoyAgent's raw protocol.",
            Request::Json("JoyAgentRequest"),
            &[STREAM],
            QUESTION,
        )
    },
    Operation {
        query: &[LAST_EVENT],
        ..post(
            "/web/api/v1/gpt/queryAgentStreamIncr",
            "askJoyAgentPage",
            "Asks a question as JoyAgent's web page does; a refusal is an event too.",
            Request::Json("PageRequest"),
            &[STREAM],
            QUESTION,
        )
    },
    post(
        "/data/chatQuery",
        "askData",
        "Says to JoyAgent's web page that data questions have no answer yet.",
        Request::Json("DataRequest"),
        &[STREAM],
        &[QueryMissing, QueryTooLong],
    ),
    get(
        "/data/allModels",
        "listModels",
        "Lists no models, which JoyAgent's web page waits for.",
        &[],
        &[json(200, "ModelListBody", "An empty list.")],
        &[],
    ),
];
